//! Collectives that lanes of a warp execute together, at one instruction or at several.
//!
//! A lane waits at a collective until all lanes of its member mask that have not exited execute a
//! collective with the same qualifiers and the same mask (PTX ISA, "shfl.sync", "vote.sync",
//! "match.sync" and "redux.sync"; "elect.sync" has no qualifiers). It need not be the same
//! instruction, so lanes on two sides of a branch meet. Each lane then gives and takes what the
//! operands of its own instruction say.

use std::mem::discriminant;

use super::collective::execute;
use crate::ir::{Collective, Slot};
use crate::ptx::ast::VoteMode;
use crate::registers::{File, LANES, Lane, Registers};

/// A register of a warp.
pub(crate) type Register = (File, u32);

pub(crate) const fn register(slot: Slot) -> Register {
    match slot {
        Slot::Word(number) => (File::Words, number),
        Slot::Double(number) => (File::Doubles, number),
    }
}

impl Collective {
    /// Whether lanes at the two instructions execute them together if their member masks are equal.
    pub(super) fn meets(&self, other: &Collective) -> bool {
        use Collective::{Elect, Match, Redux, Shuffle, Vote};
        match (self, other) {
            (Shuffle { mode, .. }, Shuffle { mode: other, .. }) => mode == other,
            (Vote { mode, .. }, Vote { mode: other, .. }) => mode == other,
            (Match { mode, a, .. }, Match { mode: other, a: b, .. }) => {
                mode == other && discriminant(a) == discriminant(b)
            }
            (Redux { op, signed, .. }, Redux { op: other, signed: too, .. }) => {
                op == other && signed == too
            }
            (Elect { .. }, Elect { .. }) => true,
            _ => false,
        }
    }

    /// The registers that the instruction reads beside the member mask.
    fn sources(&self) -> Vec<Register> {
        match *self {
            Collective::Shuffle { a, lane, clamp, .. } => {
                [a, lane, clamp].map(|word| (File::Words, word)).to_vec()
            }
            Collective::Vote { source, .. } => vec![(File::Predicates, source)],
            Collective::Match { a, .. } => vec![register(a)],
            Collective::Redux { a, .. } => vec![(File::Words, a)],
            Collective::Elect { .. } => Vec::new(),
        }
    }

    /// The register that receives the result, and the predicate beside it.
    pub(crate) fn targets(&self) -> [Option<Register>; 2] {
        let word = |number| Some((File::Words, number));
        let predicate = |number| (File::Predicates, number);
        match *self {
            Collective::Shuffle { target, predicate: inside, .. } => {
                [word(target), inside.map(predicate)]
            }
            Collective::Vote { mode: VoteMode::Ballot, target, .. }
            | Collective::Redux { target, .. } => [word(target), None],
            Collective::Vote { target, .. } => [Some(predicate(target)), None],
            Collective::Match { target, predicate: same, .. } => {
                [target.and_then(word), same.map(predicate)]
            }
            Collective::Elect { target, predicate: elected } => {
                [target.and_then(word), Some(predicate(elected))]
            }
        }
    }

    /// The same collective with all its results, and with [`SCRATCH`] registers of its own in each
    /// file. No source is a target.
    fn renumbered(&self) -> Collective {
        match *self {
            Collective::Shuffle { mode, .. } => {
                Collective::Shuffle { mode, target: 3, predicate: Some(3), a: 0, lane: 1, clamp: 2 }
            }
            Collective::Vote { mode, .. } => {
                Collective::Vote { mode, target: 3, source: 0, negated: false }
            }
            Collective::Match { mode, a, .. } => {
                let a = match a {
                    Slot::Word(_) => Slot::Word(0),
                    Slot::Double(_) => Slot::Double(0),
                };
                Collective::Match { mode, target: Some(3), predicate: Some(3), a }
            }
            Collective::Redux { op, signed, .. } => {
                Collective::Redux { op, signed, target: 3, a: 0 }
            }
            Collective::Elect { .. } => Collective::Elect { target: Some(3), predicate: 3 },
        }
    }
}

/// How many registers of each file [`Collective::renumbered`] needs.
const SCRATCH: usize = 4;

/// The lanes that execute a collective at one instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) pc: u32,
    pub(crate) lanes: u32,
    pub(crate) collective: &'a Collective,
}

/// A collective whose lanes have all arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange<'a> {
    /// The warp's number in the block.
    pub(crate) warp: u32,
    /// The instructions at which the lanes stand. There is at least one, and each of them
    /// [`meets`](Collective::meets) the others.
    pub(crate) parts: &'a [Part<'a>],
    /// The lanes of all parts.
    pub(crate) lanes: u32,
    /// The member mask of each lane.
    pub(crate) members: &'a [u32; LANES],
}

impl Exchange<'_> {
    /// The collective as one instruction, and the registers in which it finds its sources.
    pub(crate) fn gather(&self, registers: &Registers) -> (Collective, Registers) {
        let collective = self.parts[0].collective.renumbered();
        let mut gathered = Registers {
            words: vec![[0; LANES]; SCRATCH],
            doubles: vec![[0; LANES]; SCRATCH],
            predicates: vec![0; SCRATCH],
        };
        for part in self.parts {
            for (own, to) in part.sources() {
                copy((registers, own), (&mut gathered, to), part.lanes);
            }
            if let Collective::Vote { negated: true, .. } = part.collective {
                gathered.predicates[0] ^= part.lanes;
            }
        }
        (collective, gathered)
    }

    /// Executes the collective. Returns the lanes to which a shuffle gave an undefined value.
    pub(super) fn execute(&self, registers: &mut Registers) -> u32 {
        let (collective, mut gathered) = self.gather(registers);
        let strays = execute(&collective, &mut gathered, self.lanes, self.members);
        for part in self.parts {
            for (from, own) in collective.targets().into_iter().zip(part.collective.targets()) {
                if let (Some(from), Some(own)) = (from, own) {
                    copy((&gathered, from), (registers, own), part.lanes);
                }
            }
        }
        strays
    }
}

impl Part<'_> {
    /// The instruction's own sources, and the registers to which [`Exchange::gather`] copies them.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (Register, Register)> {
        self.collective.sources().into_iter().zip(self.collective.renumbered().sources())
    }
}

/// Copies the lanes of `mask` of one register to another of the same file.
fn copy(
    (from, (file, source)): (&Registers, Register),
    (to, (_, target)): (&mut Registers, Register),
    mask: u32,
) {
    match file {
        File::Words => u32::put(to, target, mask, from.words[source as usize]),
        File::Doubles => u64::put(to, target, mask, from.doubles[source as usize]),
        File::Predicates => to.set_predicate(target, mask, from.predicates[source as usize]),
    }
}
