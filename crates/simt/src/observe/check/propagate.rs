//! Arithmetic on undefined bits.
//!
//! [`Rule`] says for each function how the bits of its result depend on those of its sources. For
//! bitwise functions the answer is exact, because the function itself is run on all values that the
//! undefined bits may have: each undefined bit of a source as 0 and as 1.

use super::undefined::{From, Register, Undefined, WarpValues};
use crate::registers::{ALL, File, LANES, Lifted, Operands, Registers, Rule, Shape, lanes_of};

/// How many registers of each file the experiments need: the destination and four sources.
const SCRATCH: usize = 5;

/// A source of a function: the register, its number among the experiment's registers, and its
/// undefined bits.
struct Source<'a> {
    register: Register,
    number: usize,
    undefined: Option<&'a Undefined>,
}

fn width(shape: Shape) -> u64 {
    u64::MAX >> (64 - u32::from(shape.bits))
}

/// The undefined bits of the result of `f` in the lanes of `mask`; `None` if all are defined.
pub(super) fn result(
    values: &WarpValues,
    (f, shape, operands): (Lifted, Shape, &Operands),
    mask: u32,
    registers: &Registers,
) -> Option<Undefined> {
    let numbers = [operands.a, operands.b, operands.c, operands.x];
    let sources: Vec<Source<'_>> = (0..4)
        .filter_map(|i| {
            let register = (shape.reads[i]?, numbers[i]);
            Some(Source { register, number: i + 1, undefined: values.within(register, mask) })
        })
        .collect();
    if sources.iter().all(|source| source.undefined.is_none()) {
        return None;
    }
    let (bitwise, moves) = match shape.rule {
        Rule::Whole | Rule::Upward => (&sources[..0], false),
        Rule::Copy => (&sources[..1], true),
        Rule::Bitwise { sources: count } => (&sources[..usize::from(count)], true),
    };
    let others = &sources[bitwise.len()..];
    let exact = if moves { vary(f, shape, operands, bitwise, registers) } else { [0; LANES] };
    let mut out = Undefined::default();
    for lane in lanes_of(mask) {
        let bits = |source: &Source<'_>| source.undefined.map_or(0, |of| of.bits[lane]);
        let seen = others.iter().fold(0, |seen, source| seen | bits(source));
        let undefined = match shape.rule {
            _ if seen == 0 => exact[lane],
            Rule::Upward => u64::MAX << seen.trailing_zeros() & width(shape),
            _ => width(shape),
        };
        if undefined == 0 {
            continue;
        }
        let (from, computed) = first(&sources, lane);
        // What moves bytes keeps them whole.
        let whole = undefined.to_le_bytes().iter().all(|byte| matches!(byte, 0 | 0xff));
        out.mark(lane, undefined, from, computed || seen != 0 || !whole);
    }
    Some(out)
}

/// The origin of the first undefined source of a lane, and whether the bits of any were computed.
fn first(sources: &[Source<'_>], lane: usize) -> (From, bool) {
    let mut all = sources.iter().filter_map(|source| source.undefined);
    let from =
        all.clone().find(|of| of.bits[lane] != 0).map_or(From::default(), |of| of.from[lane]);
    (from, all.any(|of| of.computed >> lane & 1 == 1))
}

/// The bits of the result that change if the undefined bits of `sources` change.
fn vary(
    f: Lifted,
    shape: Shape,
    operands: &Operands,
    sources: &[Source<'_>],
    registers: &Registers,
) -> [u64; LANES] {
    let mut scratch = Registers {
        words: vec![[0; LANES]; SCRATCH],
        doubles: vec![[0; LANES]; SCRATCH],
        predicates: vec![0; SCRATCH],
    };
    // All sources have the values that they have now, and the first ones are varied.
    let numbers = [operands.a, operands.b, operands.c, operands.x];
    for (i, number) in numbers.into_iter().enumerate() {
        let number = number as usize;
        match shape.reads[i] {
            Some(File::Words) => scratch.words[i + 1] = registers.words[number],
            Some(File::Doubles) => scratch.doubles[i + 1] = registers.doubles[number],
            Some(File::Predicates) => scratch.predicates[i + 1] = registers.predicates[number],
            None => {}
        }
    }
    let x = if shape.reads[3].is_some() { 4 } else { operands.x };
    let placed = Operands { d: 0, a: 1, b: 2, c: 3, x };
    // A register that is read twice has the same bits both times.
    let mut different: Vec<Register> = Vec::new();
    for source in sources.iter().filter(|source| source.undefined.is_some()) {
        if !different.contains(&source.register) {
            different.push(source.register);
        }
    }
    let (mut ones, mut zeros) = ([0; LANES], [0; LANES]);
    for trial in 0..1u32 << different.len() {
        for source in sources {
            let Some(undefined) = source.undefined else { continue };
            let position = different.iter().position(|of| *of == source.register);
            let filled = position.is_some_and(|bit| trial >> bit & 1 == 1);
            let vary = |old: u64, lane: usize| {
                let bits = undefined.bits[lane];
                if filled { old | bits } else { old & !bits }
            };
            for lane in 0..LANES {
                match source.register.0 {
                    File::Words => {
                        let word = &mut scratch.words[source.number][lane];
                        *word = vary(u64::from(*word), lane) as u32;
                    }
                    File::Doubles => {
                        let double = &mut scratch.doubles[source.number][lane];
                        *double = vary(*double, lane);
                    }
                    File::Predicates => {
                        let all = &mut scratch.predicates[source.number];
                        let bit = vary(u64::from(*all >> lane & 1), lane) as u32;
                        *all = *all & !(1 << lane) | bit << lane;
                    }
                }
            }
        }
        f(&mut scratch, ALL, &placed);
        for lane in 0..LANES {
            let result = match shape.writes {
                File::Words => u64::from(scratch.words[0][lane]),
                File::Doubles => scratch.doubles[0][lane],
                File::Predicates => u64::from(scratch.predicates[0] >> lane & 1),
            };
            ones[lane] |= result;
            zeros[lane] |= !result;
        }
    }
    std::array::from_fn(|lane| ones[lane] & zeros[lane])
}
