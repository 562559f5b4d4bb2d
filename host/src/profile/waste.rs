//! The waste of a reduction. All kinds of waste are measured in one currency, issue slots.

use std::fmt;

use simt::{Counters, InstructionCounters};

use super::{
    cost::{REMAINDER, SECTOR, WAVEFRONT, cost, wavefronts},
    measures::{ideal_sectors, instructions_per_32_elements, is_predicated, opcode, sectors},
};
use crate::{launch::Plan, output::grouped, variant::Variant};

/// A waste is worth a name if it is at least this share of the cost.
const NOTABLE: f64 = 0.05;

/// A kind of waste.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasteKind {
    /// Some lanes sit out while other lanes of their warp work.
    Divergence,
    /// Integer remainders, which take a sequence of machine instructions each.
    Remainders,
    /// Accesses to shared memory ask a bank for several words.
    BankConflicts,
    /// Warps come to barriers again and again and have nothing to do in between.
    IdleThreads,
    /// More sectors move than hold the input and a result.
    GlobalTraffic,
}

impl WasteKind {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Divergence => "divergence",
            Self::Remainders => "remainders",
            Self::BankConflicts => "bank_conflicts",
            Self::IdleThreads => "idle_threads",
            Self::GlobalTraffic => "global_traffic",
        }
    }
}

impl fmt::Display for WasteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Divergence => "divergence",
            Self::Remainders => "integer remainders",
            Self::BankConflicts => "bank conflicts",
            Self::IdleThreads => "idle threads",
            Self::GlobalTraffic => "global traffic",
        })
    }
}

/// One kind of waste and its price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waste {
    /// The kind.
    pub kind: WasteKind,
    /// Its price, in issue slots.
    pub slots: u64,
    /// The price divided by the cost of everything.
    pub share: f64,
}

/// The cost and the waste of a reduction, in issue slots. [`CURRENCY`](super::CURRENCY) says what
/// counts how much. The instructions are those of the PTX.
///
/// - Divergence: the lanes that sat out while others of their warp ran an instruction, counted as
///   whole warp instructions. A lane without a thread, in a block that does not fill its warps,
///   counts too. Instructions with a predicate are left out, because a predicate may switch off all
///   lanes.
/// - Remainders: the machine instructions of integer remainders and divisions beyond the first one.
/// - Bank conflicts: the wavefronts beyond those that would be needed without conflicts.
/// - Idle threads: how often, at least, a warp came to a barrier without a store since its last one
///   (the arrivals less the stores), times the instructions that every thread runs on its way to
///   such a barrier.
/// - Global traffic: the sectors beyond the input, read once, and one result.
#[derive(Clone, Debug, PartialEq)]
pub struct Wastes {
    /// The estimated cost of everything.
    pub cost: u64,
    /// The kinds of waste, the most expensive first.
    pub wastes: Vec<Waste>,
    /// The integer remainders and divisions whose divisor is not a constant, in warp instructions.
    pub divisions: u64,
    variant: Variant,
    counters: Counters,
    turns: Turns,
    ideal_sectors: u64,
    instructions_per_32_elements: f64,
}

/// Arrivals of warps at barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Turns {
    /// How many warps arrived. A warp that arrives in parts counts once.
    all: u64,
    /// How many of them, at least, had stored nothing since their last barrier.
    idle: u64,
    /// How many instructions a warp runs for one arrival.
    instructions: u64,
}

impl Turns {
    fn new(counters: &Counters, instructions: &[InstructionCounters]) -> Self {
        // A warp that comes to a barrier in parts is counted once for each part, but it goes on as
        // a whole. So the instruction after the barrier tells how many threads went through. It
        // must be one without a predicate, because an instruction with a predicate counts only the
        // threads that it acts on.
        let plain = || instructions.iter().filter(|instruction| !is_predicated(&instruction.text));
        let threads = |instruction: &InstructionCounters| instruction.counters.thread_instructions;
        let passages: Vec<u64> = plain()
            .zip(plain().skip(1))
            .filter(|(barrier, _)| barrier.counters.barriers > 0)
            .map(|(barrier, next)| threads(barrier).min(threads(next)))
            .collect();
        let Some(&busiest) = passages.iter().max() else { return Self::default() };
        let all = passages.iter().sum::<u64>() / 32;
        let stores =
            counters.global.store.requests + counters.shared.store.requests + counters.atomics();
        // Instructions that run on as many threads as go through the barrier are on the way to it.
        // A branch or another instruction with a predicate belongs to the instruction before it.
        let mut is_alike = false;
        let alike = instructions.iter().filter(|instruction| {
            let is_barrier = instruction.counters.barriers > 0;
            is_alike = if is_predicated(&instruction.text) {
                is_alike
            } else {
                is_barrier || threads(instruction) == busiest
            };
            is_alike && !is_barrier
        });
        let barriers = passages.iter().filter(|&&passed| passed == busiest).count() as u64;
        Self {
            all,
            idle: all.saturating_sub(stores),
            instructions: alike.count() as u64 / barriers + 1,
        }
    }
}

impl Wastes {
    pub(super) fn new(
        plan: &Plan,
        counters: &Counters,
        instructions: &[InstructionCounters],
    ) -> Self {
        let divisions = instructions
            .iter()
            .filter(|instruction| divides(&instruction.text))
            .map(|instruction| instruction.counters.warp_instructions)
            .sum();
        let cost = cost(counters, divisions);
        let turns = Turns::new(counters, instructions);
        let ideal_sectors = ideal_sectors(plan);
        let waste = |kind, slots| Waste { kind, slots, share: slots as f64 / cost.max(1) as f64 };
        let mut wastes = vec![
            waste(WasteKind::Divergence, idle_lanes(instructions) / 32),
            waste(WasteKind::Remainders, REMAINDER * divisions),
            waste(WasteKind::BankConflicts, WAVEFRONT * counters.bank_conflicts()),
            waste(WasteKind::IdleThreads, turns.idle * turns.instructions),
            waste(
                WasteKind::GlobalTraffic,
                SECTOR * sectors(counters).saturating_sub(ideal_sectors),
            ),
        ];
        wastes.sort_by_key(|waste| std::cmp::Reverse(waste.slots));
        Self {
            cost,
            wastes,
            divisions,
            variant: plan.problem.variant,
            counters: *counters,
            turns,
            ideal_sectors,
            instructions_per_32_elements: instructions_per_32_elements(plan, counters),
        }
    }

    /// Two sentences on the greatest waste, with its figures.
    pub fn sentence(&self) -> String {
        let Self { variant, counters, turns, .. } = self;
        let Waste { kind, slots, share } = self.wastes[0];
        let percent = 100.0 * share;
        let figures = match kind {
            _ if share < NOTABLE => {
                return format!(
                    "Rung {variant} wastes little: no kind of waste reaches {:.0} % of the cost, and the greatest, {kind}, is \
                     {percent:.1} %. The rung runs {:.1} warp instructions for each 32 elements.",
                    100.0 * NOTABLE,
                    self.instructions_per_32_elements,
                );
            }
            WasteKind::Divergence => format!(
                "{} of {} branches split their warp, and the lanes that were idle meanwhile add up to {} warp instructions",
                grouped(counters.divergent_branches),
                grouped(counters.branches),
                grouped(slots)
            ),
            WasteKind::Remainders => format!(
                "each of its {} remainders is one PTX instruction, but takes the machine about {REMAINDER} instructions more",
                grouped(self.divisions)
            ),
            WasteKind::BankConflicts => format!(
                "{} of {} wavefronts of shared memory are needed only because of bank conflicts",
                grouped(counters.bank_conflicts()),
                grouped(wavefronts(counters))
            ),
            WasteKind::IdleThreads => format!(
                "warps came to a barrier {} times, and at least {} times the warp had stored nothing since its previous barrier",
                grouped(turns.all),
                grouped(turns.idle)
            ),
            WasteKind::GlobalTraffic => format!(
                "{} sectors of global memory move, but the input and one result take only {}",
                grouped(sectors(counters)),
                grouped(self.ideal_sectors)
            ),
        };
        let next = self
            .wastes
            .get(1)
            .filter(|next| next.share >= NOTABLE)
            .map_or_else(String::new, |next| {
                format!(", and the next waste is {} ({:.0} %)", next.kind, 100.0 * next.share)
            });
        format!(
            "Rung {variant} wastes most on {kind}: {figures}. This is {percent:.0} % of the cost{next}."
        )
    }

    /// How often, at least, a warp came to a barrier and had stored nothing since its last one.
    pub(super) fn idle_turns(&self) -> u64 {
        self.turns.idle
    }
}

/// The number of lanes that were left out, summed over the instructions without a predicate.
fn idle_lanes(instructions: &[InstructionCounters]) -> u64 {
    let counters = instructions.iter().filter(|instruction| !is_predicated(&instruction.text));
    counters
        .map(|instruction| {
            32 * instruction.counters.warp_instructions - instruction.counters.thread_instructions
        })
        .sum()
}

/// Whether a PTX instruction is an integer division or remainder whose divisor is not a constant.
/// Divisions by constants become products.
fn divides(text: &str) -> bool {
    let integer = ["rem.", "div.u", "div.s"].iter().any(|prefix| opcode(text).starts_with(prefix));
    integer && text.split_whitespace().last().is_some_and(|divisor| divisor.starts_with('%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_by_a_register_are_told_from_others() {
        for text in
            ["rem.u32 %r6, %r5, %r2;", "div.s64 %rd1, %rd2, %rd3;", "@%p1 rem.s32 %r1, %r2, %r3;"]
        {
            assert!(divides(text), "{text}");
        }
        for text in [
            "rem.u32 %r6, %r5, 7;",
            "div.rn.f32 %f1, %f2, %f3;",
            "mul.lo.s32 %r1, %r2, %r3;",
            "ret;",
            "",
        ] {
            assert!(!divides(text), "{text}");
        }
    }

    fn ran(text: &str, warps: u64, threads: u64) -> InstructionCounters {
        let counters = Counters {
            warp_instructions: warps,
            thread_instructions: threads,
            ..Counters::default()
        };
        InstructionCounters { line: 1, text: text.into(), frames: Vec::new(), counters }
    }

    #[test]
    fn a_predicate_that_is_off_is_no_divergence() {
        let instructions = [ran("add", 10, 320), ran("@%p1 bra", 10, 0), ran("st", 10, 40)];
        assert_eq!(idle_lanes(&instructions), 280);
    }

    /// Eight warps pass a barrier nine times each. One of these times, a warp comes in two parts.
    /// Twenty of these times, there was a store.
    #[test]
    fn turns_without_a_store_are_idle() {
        let mut counters = Counters::default();
        counters.shared.store.requests = 20;
        let mut first = ran("bar.sync 0;", 8, 8 * 32);
        first.counters.barriers = 8;
        let mut looped = ran("bar.sync 0;", 65, 64 * 32 + 16);
        looped.counters.barriers = 65;
        let turns = Turns::new(
            &counters,
            &[
                ran("mov", 8, 8 * 32),
                first,
                ran("shr", 8, 8 * 32),
                looped,
                ran("setp", 64, 64 * 32),
                ran("@%p1 bra", 64, 56 * 32),
                ran("ld", 12, 12 * 32),
                ran("@%p2 bra", 12, 0),
            ],
        );
        assert_eq!(turns, Turns { all: 72, idle: 52, instructions: 3 });
        assert_eq!(Turns::new(&counters, &[ran("ret", 8, 256)]), Turns::default());
    }
}
