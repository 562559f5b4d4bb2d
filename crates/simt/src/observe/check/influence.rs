//! The instructions over which a loaded value decides, and the loads that wait for a value.
//!
//! The analysis is static and does not know the order of instructions. It follows a value through
//! registers, local variables, shared memory, shuffles and votes.

use std::collections::{HashMap, HashSet};

use super::operands::targets;
use super::undefined::register;
use crate::ir::{Address, BarrierKind, Collective, Guard, Init, Op, Program, Slot, Space};
use crate::ptx::ast::{AtomOp, VoteMode};
use crate::registers::File;

/// A place that holds a value or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Word(u32),
    Double(u32),
    Predicate(u32),
    /// Memory of the thread or of the block, by the register and the offset of its address.
    Memory(Slot, i64),
    /// Shared memory at a constant address.
    Shared(u64),
    /// Shared memory at any other address.
    SomeShared,
}

/// The influence of a loaded value on what its thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Influence {
    /// The value decides over no instruction.
    None,
    /// The value decides whether an instruction runs, or it is compared with memory.
    Decides,
    /// The thread repeats the access, with no other effect on memory, until the value is right.
    Waits,
}

fn of_file((file, number): (File, u32)) -> Place {
    match file {
        File::Words => Place::Word(number),
        File::Doubles => Place::Double(number),
        File::Predicates => Place::Predicate(number),
    }
}

fn of_slot(slot: Slot) -> Place {
    of_file(register(slot))
}

fn memory(program: &Program, space: Space, address: Address) -> Option<Place> {
    match space {
        Space::Local | Space::Generic => Some(Place::Memory(address.base, address.offset)),
        Space::Shared | Space::Cluster => {
            let constant = match address.base {
                Slot::Word(base) => program.word_values.iter().find(|(word, _)| *word == base),
                Slot::Double(base) => program.double_values.iter().find(|(word, _)| *word == base),
            };
            Some(match constant {
                Some((_, Init::Const(base))) => {
                    Place::Shared(base.wrapping_add_signed(address.offset))
                }
                _ => Place::SomeShared,
            })
        }
        Space::Global | Space::Param => None,
    }
}

/// The places from which an instruction computes, and the places that receive the results.
pub(super) fn flow(program: &Program, pc: usize) -> (Vec<Place>, Vec<Place>) {
    let op = &program.code[pc].op;
    let results = || targets(op).into_iter().map(of_file).collect::<Vec<_>>();
    let (word, predicate) = (Place::Word, Place::Predicate);
    match op {
        Op::Alu { operands, .. } => {
            let Some(shape) = program.shapes[pc] else { return (Vec::new(), Vec::new()) };
            let numbers = [operands.a, operands.b, operands.c, operands.x];
            let sources = shape.reads.into_iter().zip(numbers);
            let sources = sources.filter_map(|(file, number)| Some(of_file((file?, number))));
            (sources.collect(), vec![of_file((shape.writes, operands.d))])
        }
        Op::Load(load) => {
            (memory(program, load.space, load.address).into_iter().collect(), results())
        }
        Op::Store(store) => (
            store.sources.iter().map(|slot| of_slot(*slot)).collect(),
            memory(program, store.space, store.address).into_iter().collect(),
        ),
        Op::Barrier(barrier) => match barrier.kind {
            BarrierKind::Reduce { source, .. } => (vec![predicate(source)], results()),
            BarrierKind::Plain(_) => (Vec::new(), Vec::new()),
        },
        Op::Collective { collective, .. } => match &**collective {
            Collective::Shuffle { target, a, .. } | Collective::Redux { target, a, .. } => {
                (vec![word(*a)], vec![word(*target)])
            }
            // A vote writes a word or a predicate.
            Collective::Vote { mode, target, source, .. } => {
                let ballot = matches!(mode, VoteMode::Ballot);
                let target = if ballot { word(*target) } else { predicate(*target) };
                (vec![predicate(*source)], vec![target])
            }
            Collective::Match { target, predicate: all, a, .. } => {
                let targets = target.map(word).into_iter().chain(all.map(predicate));
                (vec![of_slot(*a)], targets.collect())
            }
            Collective::Elect { .. } => (Vec::new(), Vec::new()),
        },
        _ => (Vec::new(), Vec::new()),
    }
}

/// The program counters to which an instruction may lead.
fn next(program: &Program, pc: u32) -> Vec<u32> {
    let inst = &program.code[pc as usize];
    let guarded = inst.guard.register != Guard::ALWAYS.register;
    let mut next = match &inst.op {
        Op::Bra { target, .. } => vec![*target],
        Op::BrxIdx { targets, .. } => targets.clone(),
        Op::Exit | Op::Trap { .. } | Op::Return { .. } => Vec::new(),
        _ => return vec![pc + 1],
    };
    if guarded {
        next.push(pc + 1);
    }
    next
}

/// The program counters that can be reached from the end of the instruction at `pc`, on ways whose
/// instructions all satisfy `passes`. The instruction that ends a way need not satisfy it.
pub(super) fn reachable(program: &Program, pc: u32, passes: impl Fn(u32) -> bool) -> HashSet<u32> {
    let mut seen = HashSet::new();
    let mut open = next(program, pc);
    while let Some(pc) = open.pop() {
        if (pc as usize) < program.code.len() && seen.insert(pc) && passes(pc) {
            open.extend(next(program, pc));
        }
    }
    seen
}

/// The program counters from which the instruction at `pc` can be reached.
pub(super) fn leading_to(program: &Program, pc: u32) -> HashSet<u32> {
    let mut before: HashMap<u32, Vec<u32>> = HashMap::new();
    for from in 0..program.code.len() as u32 {
        for to in next(program, from) {
            before.entry(to).or_default().push(from);
        }
    }
    let (mut seen, mut open) = (HashSet::new(), vec![pc]);
    while let Some(pc) = open.pop() {
        open.extend(before.get(&pc).into_iter().flatten().filter(|from| seen.insert(**from)));
    }
    seen
}

/// Whether the access at `pc` may be repeated with no other effect on memory in between.
fn repeats_alone(program: &Program, pc: u32) -> bool {
    let quiet = |pc: u32| match &program.code[pc as usize].op {
        Op::Store(store) => matches!(store.space, Space::Local | Space::Param),
        Op::Atomic(_) | Op::Barrier(_) | Op::Async(_) | Op::Cluster { .. } => false,
        _ => true,
    };
    reachable(program, pc, |at| at == pc || quiet(at)).contains(&pc)
}

/// Whether the access at `pc` may be repeated.
pub(super) fn repeats(program: &Program, pc: u32) -> bool {
    reachable(program, pc, |_| true).contains(&pc)
}

/// The ways of values through a program.
#[derive(Debug)]
pub(super) struct Influences<'a> {
    program: &'a Program,
    /// By place: the places whose values are computed from its value.
    results: HashMap<Place, Vec<Place>>,
    /// The places whose values decide over an instruction.
    deciding: HashSet<Place>,
}

impl Influences<'_> {
    pub(super) fn new(program: &Program) -> Influences<'_> {
        let (mut results, mut deciding) = (HashMap::<_, Vec<_>>::new(), HashSet::new());
        for (pc, inst) in program.code.iter().enumerate() {
            let (sources, targets) = flow(program, pc);
            for source in sources {
                results.entry(source).or_default().extend(&targets);
            }
            deciding.insert(Place::Predicate(inst.guard.register));
            match &inst.op {
                Op::BrxIdx { index, .. } => drop(deciding.insert(Place::Word(*index))),
                Op::Atomic(atomic) if atomic.op == AtomOp::Cas => {
                    deciding.insert(of_slot(atomic.a));
                }
                _ => {}
            }
        }
        Influences { program, results, deciding }
    }

    /// The places whose values are computed from the value that the load or atomic at `pc` returns.
    pub(super) fn held(&self, pc: u32) -> HashSet<Place> {
        let targets = targets(&self.program.code[pc as usize].op);
        let mut open: Vec<Place> = targets.into_iter().map(of_file).collect();
        let mut held: HashSet<Place> = open.iter().copied().collect();
        while let Some(place) = open.pop() {
            let results = self.results.get(&place).into_iter().flatten();
            open.extend(results.filter(|result| held.insert(**result)));
        }
        held
    }

    /// The influence of the value that the load or atomic at `pc` returns.
    pub(super) fn of(&self, pc: u32) -> Influence {
        match self.held(pc).is_disjoint(&self.deciding) {
            true => Influence::None,
            false if repeats_alone(self.program, pc) => Influence::Waits,
            false => Influence::Decides,
        }
    }
}
