//! Warp-level instructions that move values across lanes.

use crate::ir::{Collective, Slot};
use crate::ptx::ast::{MatchMode, ReduxOp, ShflMode, VoteMode};
use crate::registers::{LANES, Lane, Registers, lanes_of};

/// Executes a collective in the lanes of `mask`, which have all arrived; `members` holds the member
/// mask of each lane. Returns the lanes to which a shuffle gave an undefined value, because the
/// lane that they read does not take part.
pub(crate) fn execute(
    collective: &Collective,
    registers: &mut Registers,
    mask: u32,
    members: &[u32; LANES],
) -> u32 {
    let mut strays = 0;
    let lanes = || lanes_of(mask);
    match *collective {
        Collective::Shuffle { mode, target, predicate, a, lane, clamp } => {
            let word = |register: u32| &registers.words[register as usize];
            let (values, bounds, strayed) = shuffle(mode, word(a), word(lane), word(clamp), mask);
            strays = strayed & mask;
            <u32 as Lane>::put(registers, target, mask, values);
            if let Some(predicate) = predicate {
                registers.set_predicate(predicate, mask, bounds);
            }
        }
        Collective::Vote { mode, target, source, negated } => {
            let bits = registers.predicates[source as usize] ^ if negated { u32::MAX } else { 0 };
            if mode == VoteMode::Ballot {
                let values = std::array::from_fn(|lane| bits & mask & members[lane]);
                <u32 as Lane>::put(registers, target, mask, values);
                return strays;
            }
            let vote = |lane: usize| {
                let voters = mask & members[lane];
                match mode {
                    VoteMode::All => bits & voters == voters,
                    VoteMode::Any | VoteMode::Ballot => bits & voters != 0,
                    VoteMode::Uni => bits & voters == voters || bits & voters == 0,
                }
            };
            let result = lanes().fold(0, |result, lane| result | u32::from(vote(lane)) << lane);
            registers.set_predicate(target, mask, result);
        }
        Collective::Match { mode, target, predicate, a } => {
            let values: [u64; LANES] = match a {
                Slot::Word(a) => registers.words[a as usize].map(u64::from),
                Slot::Double(a) => registers.doubles[a as usize],
            };
            let same = |lane: usize| {
                lanes()
                    .fold(0, |same, other| same | u32::from(values[other] == values[lane]) << other)
                    & members[lane]
            };
            let mut result = [0; LANES];
            let mut all = 0;
            for lane in lanes() {
                let (same, voters) = (same(lane), mask & members[lane]);
                all |= u32::from(same == voters) << lane;
                result[lane] = match mode {
                    MatchMode::Any => same,
                    MatchMode::All if same == voters => voters,
                    MatchMode::All => 0,
                };
            }
            if let Some(target) = target {
                <u32 as Lane>::put(registers, target, mask, result);
            }
            if let Some(predicate) = predicate {
                registers.set_predicate(predicate, mask, all);
            }
        }
        Collective::Redux { op, signed, target, a } => {
            let values = registers.words[a as usize];
            let combine = |x: u32, y: u32| match (op, signed) {
                (ReduxOp::Add, _) => x.wrapping_add(y),
                (ReduxOp::Min, false) => x.min(y),
                (ReduxOp::Max, false) => x.max(y),
                (ReduxOp::Min, true) => (x as i32).min(y as i32) as u32,
                (ReduxOp::Max, true) => (x as i32).max(y as i32) as u32,
                (ReduxOp::And, _) => x & y,
                (ReduxOp::Or, _) => x | y,
                (ReduxOp::Xor, _) => x ^ y,
            };
            let mut result = [0; LANES];
            for lane in lanes() {
                let voters = lanes().filter(|other| members[lane] >> other & 1 == 1);
                result[lane] =
                    voters.map(|other| values[other]).reduce(combine).unwrap_or_default();
            }
            <u32 as Lane>::put(registers, target, mask, result);
        }
        Collective::Elect { target, predicate } => {
            let mut elected = 0;
            for lane in lanes() {
                let leader = (mask & members[lane]).trailing_zeros();
                elected |= u32::from(leader == lane as u32) << lane;
                if let Some(target) = target {
                    registers.put_word(target, 1 << lane, leader);
                }
            }
            registers.set_predicate(predicate, mask, elected);
        }
    }
    strays
}

/// `shfl.sync` by the formulas of the PTX ISA (9.7.9.6). Returns the values, the lanes whose source
/// lane is in their segment, and the lanes whose source lane does not take part.
///
/// A read from a lane that does not take part is undefined on hardware. Here the reading lane gets
/// its own value.
fn shuffle(
    mode: ShflMode,
    a: &[u32; LANES],
    b: &[u32; LANES],
    c: &[u32; LANES],
    mask: u32,
) -> ([u32; LANES], u32, u32) {
    let (mut bounds, mut strays) = (0, 0);
    let values = std::array::from_fn(|own| {
        let lane = own as u32;
        let distance = b[own] & 0x1f;
        let clamp = c[own] & 0x1f;
        let segment = c[own] >> 8 & 0x1f;
        let max = (lane & segment) | (clamp & !segment);
        let min = lane & segment;
        let (source, inside) = match mode {
            // The comparison is signed, because a source below lane 0 is negative and must count as
            // outside.
            ShflMode::Up => {
                let source = lane as i32 - distance as i32;
                (source as u32, source >= max as i32)
            }
            ShflMode::Down => (lane + distance, lane + distance <= max),
            ShflMode::Bfly => (lane ^ distance, lane ^ distance <= max),
            ShflMode::Idx => {
                let source = min | (distance & !segment);
                (source, source <= max)
            }
        };
        bounds |= u32::from(inside) << own;
        let there = mask >> (source & 0x1f) & 1 == 1;
        strays |= u32::from(inside && !there) << own;
        a[if inside && there { source & 0x1f } else { lane } as usize]
    });
    (values, bounds, strays)
}
