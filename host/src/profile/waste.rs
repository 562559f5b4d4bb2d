//! What a reduction wastes, in one currency.

use std::fmt;

use simt::{Counters, InstructionCounters};

use super::measures::{ideal_sectors, instructions_per_32_elements, is_predicated, sectors};
use crate::{launch::Plan, output::grouped};

/// Issue slots of a wavefront of shared memory. A multiprocessor issues four warp instructions a
/// cycle, one from each of its schedulers, and serves one wavefront.
const WAVEFRONT: u64 = 4;
/// Issue slots of a sector of global memory. DRAM gives each multiprocessor about 16 bytes a cycle
/// (an H100: 3.35 TB/s over 132 at 1.7 GHz is 15), so 32 bytes take two cycles.
const SECTOR: u64 = 8;
/// What the currency is, for people.
pub const CURRENCY: &str = "The cost is an estimate in issue slots: 1 for a warp instruction, 4 for a wavefront of shared memory, 8 for a sector of \
     global memory; instructions and branches are counted at PTX level.";

/// The share of the cost from which a waste is worth a name.
const NOTABLE: f64 = 0.05;

/// What a reduction costs that wastes nothing, in the currency of [`Wastes`]: the sectors of its
/// input and of one result, and a load and an operation for each 32 elements.
pub fn ideal_cost(plan: &Plan) -> u64 {
    2 * plan.problem.n.div_ceil(32) + SECTOR * ideal_sectors(plan)
}

/// A way to waste.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasteKind {
    /// Lanes sit out while others of their warp work.
    Divergence,
    /// Accesses to shared memory ask a bank for several words.
    BankConflicts,
    /// Warps come to a barrier, again and again, and have nothing to do.
    IdleThreads,
    /// More sectors move than hold the input and a result.
    GlobalTraffic,
}

impl WasteKind {
    /// As JSON spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Divergence => "divergence",
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
            Self::BankConflicts => "bank conflicts",
            Self::IdleThreads => "idle threads",
            Self::GlobalTraffic => "global traffic",
        })
    }
}

/// One way and its price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waste {
    /// The way.
    pub kind: WasteKind,
    /// Its price, in issue slots.
    pub slots: u64,
    /// The price over the cost of everything.
    pub share: f64,
}

/// What a reduction costs and wastes, in issue slots: a warp instruction is 1, a wavefront of
/// shared memory 4, a sector of global memory 8. Instructions are the PTX's.
///
/// - Divergence: the lanes that sat out (or have no thread, in a block that does not fill its
///   warps) while others of their warp ran an instruction without a predicate, which may switch off
///   all of them; as whole warp instructions.
/// - Bank conflicts: the wavefronts beyond those without conflicts.
/// - Idle threads: how often at least a warp came to a barrier without a store since its last one
///   (arrivals less stores), times the instructions that every thread which comes to that barrier
///   runs for it.
/// - Global traffic: the sectors beyond the input, read once, and one result.
#[derive(Clone, Debug, PartialEq)]
pub struct Wastes {
    /// The estimated cost of everything.
    pub cost: u64,
    /// The most expensive first.
    pub wastes: Vec<Waste>,
    /// Integer remainders and divisions by what is no constant, in warp instructions: one
    /// instruction in PTX, about twenty in the machine, which `cost` does not know.
    pub divisions: u64,
    counters: Counters,
    turns: Turns,
    ideal_sectors: u64,
    instructions_per_32_elements: f64,
}

/// Arrivals of warps at barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Turns {
    /// Threads that arrived, as whole warps: a warp that comes in parts is one.
    all: u64,
    /// Those with nothing stored since the last, at least.
    idle: u64,
    /// Instructions of one.
    instructions: u64,
}

impl Turns {
    fn new(counters: &Counters, instructions: &[InstructionCounters]) -> Self {
        // A warp that comes to a barrier in parts is counted again with each, but goes on once:
        // what follows tells how many threads went through. Of a predicated instruction only those
        // count that it acts on.
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
        // What as many threads run as go through the barrier, they run on the way to it, with the
        // branches behind.
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
        let shared = &counters.shared;
        let wavefronts =
            shared.load.wavefronts + shared.store.wavefronts + shared.atomic.wavefronts;
        let cost = counters.warp_instructions + WAVEFRONT * wavefronts + SECTOR * sectors(counters);
        let turns = Turns::new(counters, instructions);
        let ideal_sectors = ideal_sectors(plan);
        let waste = |kind, slots| Waste { kind, slots, share: slots as f64 / cost.max(1) as f64 };
        let mut wastes = vec![
            waste(WasteKind::Divergence, idle_lanes(instructions) / 32),
            waste(WasteKind::BankConflicts, WAVEFRONT * counters.bank_conflicts()),
            waste(WasteKind::IdleThreads, turns.idle * turns.instructions),
            waste(
                WasteKind::GlobalTraffic,
                SECTOR * sectors(counters).saturating_sub(ideal_sectors),
            ),
        ];
        wastes.sort_by_key(|waste| std::cmp::Reverse(waste.slots));
        let divisions = instructions
            .iter()
            .filter(|instruction| divides(&instruction.text))
            .map(|instruction| instruction.counters.warp_instructions)
            .sum();
        Self {
            cost,
            wastes,
            divisions,
            counters: *counters,
            turns,
            ideal_sectors,
            instructions_per_32_elements: instructions_per_32_elements(plan, counters),
        }
    }

    /// What is wasted most, with its figures, in one sentence.
    pub fn sentence(&self) -> String {
        let Self { counters, turns, .. } = self;
        let Waste { kind, slots, share } = self.wastes[0];
        let (percent, slots) = (100.0 * share, grouped(slots));
        let figures = match kind {
            _ if share < NOTABLE => {
                return format!(
                    "It wastes nothing much: its largest excess, {kind}, is {percent:.1} % of the cost; it runs {:.1} warp \
                     instructions for each 32 elements, of which a load and an operation are 2{}.",
                    self.instructions_per_32_elements,
                    self.describe_divisions()
                );
            }
            WasteKind::Divergence => format!(
                "{} of {} branches split their warp, and the lanes that sat out would fill {slots} warp instructions",
                grouped(counters.divergent_branches),
                grouped(counters.branches)
            ),
            WasteKind::BankConflicts => format!(
                "{} of {} wavefronts ask a bank of shared memory again",
                grouped(counters.bank_conflicts()),
                grouped(
                    counters.shared.load.wavefronts
                        + counters.shared.store.wavefronts
                        + counters.shared.atomic.wavefronts
                )
            ),
            WasteKind::IdleThreads => format!(
                "of the {} times that a warp came to a barrier, it had stored nothing since its last one at least {} times",
                grouped(turns.all),
                grouped(turns.idle)
            ),
            WasteKind::GlobalTraffic => format!(
                "{} sectors of global memory move, and {} hold the input and a result",
                grouped(sectors(counters)),
                grouped(self.ideal_sectors)
            ),
        };
        let next = self
            .wastes
            .get(1)
            .filter(|next| next.share >= NOTABLE)
            .map_or_else(String::new, |next| {
                format!(", and next on {} ({:.0} %)", next.kind, 100.0 * next.share)
            });
        format!(
            "It wastes most on {kind}: {figures}, {percent:.0} % of the cost{next}{}.",
            self.describe_divisions()
        )
    }

    fn describe_divisions(&self) -> String {
        if self.divisions == 0 {
            return String::new();
        }
        let count = grouped(self.divisions);
        format!(
            "; besides, each of its {count} integer remainders is one instruction in PTX and some 20 in the machine"
        )
    }
}

/// Lanes that instructions without a predicate left out.
fn idle_lanes(instructions: &[InstructionCounters]) -> u64 {
    let counters = instructions.iter().filter(|instruction| !is_predicated(&instruction.text));
    counters
        .map(|instruction| {
            32 * instruction.counters.warp_instructions - instruction.counters.thread_instructions
        })
        .sum()
}

/// Whether a PTX instruction is an integer division or remainder by what is no constant: those by
/// constants become products.
fn divides(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| word.starts_with('@'));
    let opcode = words.next().unwrap_or_default();
    let integer = ["rem.", "div.u", "div.s"].iter().any(|prefix| opcode.starts_with(prefix));
    integer && words.last().is_some_and(|divisor| divisor.starts_with('%'))
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

    /// Eight warps pass a barrier nine times, one of them in two parts; twenty of these times there
    /// was a store.
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
