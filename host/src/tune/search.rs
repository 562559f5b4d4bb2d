//! The shapes of a rung, and the search for the fastest. The search measures nothing by itself: the
//! caller passes a function that does.

use std::time::Duration;

use crate::launch::{DeviceLimits, Plan, PlanError, Problem, Request, plan};

/// The numbers of blocks for each multiprocessor that are tried if a rung takes any grid.
const BLOCKS_PER_MULTIPROCESSOR: [u32; 7] = [1, 2, 3, 4, 8, 16, 32];
/// The fewest threads of a block that are tried: those of a warp. Smaller blocks leave lanes
/// without a thread.
const WARP: u32 = 32;
/// A candidate comes into the second round if it takes at most this many times as long as the
/// fastest of the first round.
const NEAR: f64 = 1.05;
/// The greatest number of candidates in the second round, beside the default.
const FINALISTS: usize = 5;
/// A candidate is better than the default only if it takes at most this share of the default's
/// time. In the ladder that `bench/results/2026-11-22-h100` keeps, quartiles of the same launch are
/// within 0.7 % of their median.
const GAIN: f64 = 0.99;

/// The part of the shape of a rung's first launch that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Threads of a block.
    pub block: u32,
    /// The number of blocks for each multiprocessor, if the input needs that many. `None` stands
    /// for the grid that the rung takes by itself.
    pub blocks_per_multiprocessor: Option<u32>,
}

/// A shape that may be the best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The choice.
    pub choice: Choice,
    /// The launches that follow from it.
    pub plan: Plan,
}

/// A round of the search. In the first one all candidates are measured quickly, and in the second
/// one the best of them thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// All candidates are measured.
    First,
    /// The best candidates are measured again.
    Second,
}

/// The result of measuring a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// The time of the candidate.
    Took(Duration),
    /// The device does not take this shape.
    Refused,
    /// The measurement was interrupted, so the search ends.
    Interrupted,
}

/// The result of a search: the candidates that were tried, and the best one.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// The candidates, each with the time that was measured last. The default is the first.
    pub tried: Vec<(&'a Candidate, Option<Duration>)>,
    /// Whether the search was interrupted before it found the best candidate.
    pub interrupted: bool,
    winner: Option<usize>,
}

impl<'a> Search<'a> {
    /// The best candidate. It is the default, unless another candidate is faster by more than
    /// measurements differ. `None` if none was measured, or if the search was interrupted.
    pub fn winner(&self) -> Option<&'a Candidate> {
        self.winner.map(|winner| self.tried[winner].0)
    }

    /// The winner's time.
    pub fn time(&self) -> Option<Duration> {
        self.winner.and_then(|winner| self.tried[winner].1)
    }

    /// The time of the default shape, if the device takes it.
    pub fn default_time(&self) -> Option<Duration> {
        self.tried.first().and_then(|&(_, time)| time)
    }
}

impl Choice {
    /// The request that gives `problem` this shape on a device with these limits.
    pub fn request(self, problem: &Problem, limits: &DeviceLimits) -> Request {
        let request = Request { block: Some(self.block.into()), ..Request::default() };
        let grid = self.blocks_per_multiprocessor.and_then(|blocks| {
            let full = u64::from(blocks) * u64::from(limits.multiprocessors.max(1));
            // If there is no limit to the multiprocessors, the grid is the one that the input
            // needs.
            let endless = DeviceLimits { multiprocessors: u32::MAX, ..*limits };
            let needed = plan(problem, &request, &endless).ok()?.stages.first()?.shape.grid.x;
            Some(full.min(needed.into()))
        });
        Request { grid, ..request }
    }
}

/// The shapes of a rung that differ, with the default first. [`plan`] says which blocks and grids
/// the rung can have within the limits of the device. `default` are the limits for the default
/// request. `limits` gives those for each other request, because the number of blocks that can wait
/// for each other depends on their size. A request for which it gives `None` is left out.
///
/// # Errors
///
/// The error of [`plan`], if the rung has no plan with its default shape.
pub fn candidates(
    problem: &Problem,
    default: &DeviceLimits,
    mut limits: impl FnMut(&Request) -> Option<DeviceLimits>,
) -> Result<Vec<Candidate>, PlanError> {
    let default = plan(problem, &Request::default(), default)?;
    let choice = Choice { block: default.block, blocks_per_multiprocessor: None };
    let mut candidates = vec![Candidate { choice, plan: default }];
    let bounds = problem.variant.facts().blocks;
    for block in
        (0..=bounds.max.ilog2()).map(|log| 1 << log).filter(|&block| block >= bounds.min.max(WARP))
    {
        let Some(limits) = limits(&Request { block: Some(block.into()), ..Request::default() })
        else {
            continue;
        };
        for blocks in [None].into_iter().chain(BLOCKS_PER_MULTIPROCESSOR.map(Some)) {
            let choice = Choice { block, blocks_per_multiprocessor: blocks };
            let Ok(plan) = plan(problem, &choice.request(problem, &limits), &limits) else {
                continue;
            };
            if candidates.iter().all(|other| other.plan.stages != plan.stages) {
                candidates.push(Candidate { choice, plan });
            }
        }
    }
    Ok(candidates)
}

/// Measures all candidates, then the best again, and finds the winner.
///
/// # Errors
///
/// The first error of `measure`.
pub fn search<E>(
    candidates: &[Candidate],
    mut measure: impl FnMut(&Plan, Round) -> Result<Trial, E>,
) -> Result<Search<'_>, E> {
    let mut search = Search {
        tried: candidates.iter().map(|candidate| (candidate, None)).collect(),
        interrupted: false,
        winner: None,
    };
    let mut round = |search: &mut Search<'_>, indices: &[usize], round| {
        for &index in indices {
            let (candidate, time) = &mut search.tried[index];
            match measure(&candidate.plan, round)? {
                Trial::Took(took) => *time = Some(took),
                Trial::Refused => *time = None,
                Trial::Interrupted => {
                    search.interrupted = true;
                    break;
                }
            }
        }
        Ok(())
    };
    let all: Vec<usize> = (0..candidates.len()).collect();
    round(&mut search, &all, Round::First)?;
    if search.interrupted {
        return Ok(search);
    }
    let finalists = finalists(&search.tried);
    round(&mut search, &finalists, Round::Second)?;
    if !search.interrupted {
        search.winner = winner(&search.tried, &finalists);
    }
    Ok(search)
}

/// The candidates of the second round: the default, and those near the fastest.
fn finalists(tried: &[(&Candidate, Option<Duration>)]) -> Vec<usize> {
    let mut timed: Vec<(Duration, usize)> =
        tried.iter().enumerate().filter_map(|(index, &(_, time))| Some((time?, index))).collect();
    timed.sort_unstable();
    let Some(&(best, _)) = timed.first() else {
        return Vec::new();
    };
    let near = |&(time, _): &(Duration, usize)| time <= best.mul_f64(NEAR);
    let mut finalists: Vec<usize> =
        timed.into_iter().take_while(near).take(FINALISTS).map(|(_, index)| index).collect();
    if !finalists.contains(&0) && tried[0].1.is_some() {
        finalists.push(0);
    }
    finalists
}

fn winner(tried: &[(&Candidate, Option<Duration>)], finalists: &[usize]) -> Option<usize> {
    let (best, fastest) =
        finalists.iter().filter_map(|&index| Some((tried[index].1?, index))).min()?;
    match tried[0].1 {
        Some(default) if best > default.mul_f64(GAIN) => Some(0),
        _ => Some(fastest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{element::ElementType, op::Op, variant::Variant};

    const LIMITS: DeviceLimits = DeviceLimits {
        multiprocessors: 132,
        max_threads_per_block: 1024,
        shared_bytes_per_block: 48 << 10,
        memory_bytes: 80 << 30,
        compute_capability: (9, 0),
        resident_blocks: Some(4),
    };

    fn all(problem: &Problem) -> Result<Vec<Candidate>, PlanError> {
        candidates(problem, &LIMITS, |_| Some(LIMITS))
    }

    fn problem(variant: Variant, n: u64) -> Problem {
        Problem { variant, op: Op::Sum, element: ElementType::I32, n }
    }

    const fn micros(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    fn took(micros: u64) -> Trial {
        Trial::Took(Duration::from_micros(micros))
    }

    #[test]
    fn candidates_differ_and_begin_with_the_default() {
        for variant in Variant::all() {
            let problem = problem(variant, 1 << 20);
            let Ok(candidates) = all(&problem) else {
                continue;
            };
            assert_eq!(
                candidates[0].plan,
                plan(&problem, &Request::default(), &LIMITS).unwrap(),
                "{variant}"
            );
            for (index, candidate) in candidates.iter().enumerate() {
                let others = &candidates[..index];
                assert!(
                    others.iter().all(|other| other.plan.stages != candidate.plan.stages),
                    "{variant}"
                );
                // A choice that is kept must lead to the same launches again.
                let again =
                    plan(&problem, &candidate.choice.request(&problem, &LIMITS), &LIMITS).unwrap();
                assert_eq!(again, candidate.plan, "{variant}");
            }
        }
    }

    #[test]
    fn a_fixed_grid_leaves_blocks_to_choose_and_an_open_one_more() {
        let shapes = |variant, n| {
            let candidates = all(&problem(variant, n)).unwrap();
            candidates
                .into_iter()
                .map(|candidate| (candidate.plan.block, candidate.plan.stages[0].shape.grid.x))
                .collect()
        };
        let mut fixed: Vec<_> = shapes(Variant::CompletelyUnrolled, 1 << 20);
        fixed.sort_unstable();
        assert_eq!(fixed, [(64, 8192), (128, 4096), (256, 2048), (512, 1024), (1024, 512)]);
        let open: Vec<_> = shapes(Variant::MultipleElements, 1 << 24);
        assert_eq!(open[0], (256, 1056));
        assert!(open.contains(&(64, 132)) && open.contains(&(1024, 132 * 32)), "{open:?}");
        assert_eq!(open.len(), 5 * 7);
        // Few elements need few blocks, whatever is asked for.
        let few: Vec<_> = shapes(Variant::MultipleElements, 100);
        assert!(few.iter().all(|&(_, grid)| grid == 1), "{few:?}");
    }

    #[test]
    fn what_cannot_run_has_no_candidates() {
        assert!(all(&problem(Variant::Sequential, 1 << 40)).is_err());
        let nothing = Problem { op: Op::Max, ..problem(Variant::Sequential, 0) };
        assert!(all(&nothing).is_err());
    }

    #[test]
    fn the_second_round_decides() {
        let candidates = all(&problem(Variant::CompletelyUnrolled, 1 << 20)).unwrap();
        let time = |plan: &Plan, round| match (plan.block, round) {
            (512, Round::First) => 100,
            (512, Round::Second) => 110,
            (128, Round::First) => 104,
            (128, Round::Second) => 101,
            (256, _) => 120,
            _ => 300,
        };
        let mut measured = Vec::new();
        let found = search(&candidates, |plan, round| {
            measured.push((plan.block, round));
            Ok::<_, ()>(took(time(plan, round)))
        })
        .unwrap();
        assert_eq!(
            found.winner().unwrap().choice,
            Choice { block: 128, blocks_per_multiprocessor: None }
        );
        assert_eq!((found.time(), found.default_time()), (Some(micros(101)), Some(micros(120))));
        let second: Vec<_> = measured
            .iter()
            .filter(|(_, round)| *round == Round::Second)
            .map(|&(block, _)| block)
            .collect();
        // The second round measures those within 5 % of the fastest, and the default.
        assert_eq!(second, [512, 128, 256]);
        assert_eq!(measured.len(), 5 + 3);
    }

    #[test]
    fn a_gain_within_the_noise_is_none() {
        let candidates = all(&problem(Variant::CompletelyUnrolled, 1 << 20)).unwrap();
        for (best, winner) in [(9950, 256), (9850, 64)] {
            let found = search(&candidates, |plan, _| {
                Ok::<_, ()>(took(if plan.block == 64 { best } else { 10_000 }))
            })
            .unwrap();
            assert_eq!(found.winner().unwrap().plan.block, winner);
        }
    }

    #[test]
    fn refusals_and_interruptions_are_no_times() {
        let candidates = all(&problem(Variant::CompletelyUnrolled, 1 << 20)).unwrap();
        let found = search(&candidates, |plan, _| match plan.block {
            256 => Ok::<_, ()>(Trial::Refused),
            block => Ok(took(block.into())),
        })
        .unwrap();
        assert_eq!((found.winner().unwrap().plan.block, found.default_time()), (64, None));
        let none = search(&candidates, |_, _| Ok::<_, ()>(Trial::Refused)).unwrap();
        assert!(none.winner().is_none() && !none.interrupted);

        for end in 0..=candidates.len() {
            let mut left = end;
            let found = search(&candidates, |_, _| {
                if left == 0 {
                    return Ok::<_, ()>(Trial::Interrupted);
                }
                left -= 1;
                Ok(took(5))
            })
            .unwrap();
            assert!(found.interrupted && found.winner().is_none());
            assert_eq!(
                found.tried.iter().filter(|(_, time)| time.is_some()).count(),
                end.min(candidates.len())
            );
        }
        assert_eq!(search(&candidates, |_, _| Err("broken")).unwrap_err(), "broken");
    }
}
