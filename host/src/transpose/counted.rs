//! The counters of a variant on a matrix of any size.
//!
//! A small matrix is counted whole. Of a large one, the counters follow from smaller matrices, and
//! this is exact. [`PERIOD`] elements are whole tiles of every variant, and they are a multiple of
//! every alignment that a sector knows. So if a matrix grows by `PERIOD` rows, the added tiles do
//! the same as tiles that were there before, and each counter grows by the same amount for each
//! `PERIOD` rows: each is linear in the number of periods, both of the rows and of the columns. In
//! place, the pairs of tiles are counted, and each counter is a polynomial of degree two in the
//! number of periods of the square.
//!
//! So a few small matrices decide the polynomial. One more matrix, which is larger than all of
//! them, tests it. A variant that failed this test would be counted whole.

use simt::Counters;

use super::{CompareError, Matrix, Moves, Plan, Problem, compare::verify, plan};
use crate::{
    device::{Device, Instrument},
    experiment::{RunError, Runner, Runs, counters},
    ptx::PtxLibrary,
};

/// The most rows or columns of a matrix that is counted whole. Beyond them the simulator would take
/// seconds or minutes for all variants.
const MOST_WHOLE: u64 = 1024;

/// Whole tiles of every variant, and a multiple of the elements after which rows are aligned to
/// sectors in the same way again.
const PERIOD: u64 = 128;

/// The counters of one launch of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The counters of the whole matrix.
    pub counters: Counters,
    /// Whether the counters follow from smaller matrices, and were not counted on the whole matrix.
    pub scaled: bool,
}

/// A number of rows or of columns: the part that every smaller matrix has too, and the number of
/// periods beyond that part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    least: u64,
    periods: u64,
}

impl Extent {
    /// The smallest matrix has at least two periods, so that it has tiles of each kind: tiles at
    /// the edges and tiles inside.
    fn of(extent: u64) -> Self {
        if extent <= MOST_WHOLE {
            return Self { least: extent, periods: 0 };
        }
        let least = 2 * PERIOD + extent % PERIOD;
        Self { least, periods: (extent - least) / PERIOD }
    }

    /// The number of rows or of columns.
    fn extent(self) -> u64 {
        self.with(self.periods)
    }

    fn with(self, periods: u64) -> u64 {
        self.least + periods * PERIOD
    }
}

/// The rows and the columns of a matrix, and the weight of its counters in a sum.
type Term = (u64, u64, i128);

/// The sum of a polynomial that is linear both in the periods of the rows and in those of the
/// columns.
fn free_terms(rows: Extent, cols: Extent) -> Vec<Term> {
    let line = |extent: Extent| {
        let periods = i128::from(extent.periods);
        match periods {
            0 => vec![(extent.least, 1)],
            _ => vec![(extent.with(0), 1 - periods), (extent.with(1), periods)],
        }
    };
    let (rows, cols) = (line(rows), line(cols));
    let row = |&(rows, weight): &(u64, i128)| {
        cols.iter().map(move |&(cols, by)| (rows, cols, weight * by)).collect::<Vec<_>>()
    };
    rows.iter().flat_map(row).collect()
}

/// The sum of a polynomial of degree two in the periods of a square.
fn square_terms(extent: Extent) -> Vec<Term> {
    let periods = i128::from(extent.periods);
    let weights =
        [(periods - 1) * (periods - 2) / 2, periods * (2 - periods), periods * (periods - 1) / 2];
    let square = |(periods, weight)| (extent.with(periods), extent.with(periods), weight);
    (0..).zip(weights).map(square).collect()
}

/// Counts variants on a simulator of its own.
pub(super) struct Counter<'a> {
    device: &'a Device,
    runner: Runner<'a>,
    before: &'a mut dyn FnMut(String),
}

/// Counts one launch of each plan. `before` is called before each step with a description of the
/// step.
pub(super) fn count_all(
    library: &PtxLibrary,
    plans: &[Plan],
    before: &mut dyn FnMut(String),
) -> Result<Vec<Counted>, CompareError> {
    let device = Device::simulator_with(Instrument::Count);
    let mut counter = Counter { device: &device, runner: Runner::new(&device, library), before };
    plans.iter().map(|plan| counter.count(plan)).collect()
}

impl Counter<'_> {
    fn count(&mut self, of: &Plan) -> Result<Counted, CompareError> {
        let Problem { rows, cols, .. } = of.problem;
        // A grid with layers has blocks without a tile, and their number is no polynomial.
        let layers = of.shape.map_or(1, |shape| shape.grid.z);
        let scaled = if layers == 1 { self.scale(of)? } else { None };
        match scaled {
            Some(counters) => Ok(Counted { counters, scaled: true }),
            None => Ok(Counted { counters: self.whole(of, rows, cols)?, scaled: false }),
        }
    }

    /// The counters that follow from smaller matrices. `None` if the matrix is small itself, or if
    /// the smaller matrices do not predict a larger one.
    fn scale(&mut self, of: &Plan) -> Result<Option<Counters>, CompareError> {
        let [rows, cols] = [of.problem.rows, of.problem.cols].map(Extent::of);
        if rows.periods == 0 && cols.periods == 0 {
            return Ok(None);
        }
        let is_square = of.problem.variant.facts().moves == Moves::TransposesInPlace;
        let terms = |[rows, cols]: [Extent; 2]| {
            if is_square { square_terms(rows) } else { free_terms(rows, cols) }
        };
        let wanted = terms([rows, cols]);
        let mut counted = Vec::new();
        for &(rows, cols, _) in &wanted {
            counted.push(self.whole(of, rows, cols)?);
        }
        let sum = |terms: &[Term]| {
            let weights = terms.iter().map(|&(.., weight)| weight);
            Counters::weighted(&weights.zip(counted.iter().copied()).collect::<Vec<_>>())
        };
        // The test has one period more than the largest matrix of the sum.
        let beyond = if is_square { 3 } else { 2 };
        let test =
            [rows, cols].map(|extent| Extent { periods: extent.periods.min(beyond), ..extent });
        let found = self.whole(of, test[0].extent(), test[1].extent())?;
        Ok(sum(&wanted).filter(|_| sum(&terms(test)) == Some(found)))
    }

    /// Counts the variant on a matrix of this size, and checks its result.
    fn whole(&mut self, of: &Plan, rows: u64, cols: u64) -> Result<Counters, CompareError> {
        let problem = Problem { rows, cols, ..of.problem };
        (self.before)(format!("counting {} over {rows} x {cols}", of.kernel));
        let memory = self.device.free_memory().map_err(RunError::from)?;
        let plan = plan(&problem, Some(of.tile.into()), memory)?;
        let matrix = Matrix::generate(problem.element, rows, cols, 1)?;
        let outcome = self.runner.transpose(&plan, &matrix, Runs::ONCE, |_| ())?;
        let counters = counters(self.device).ok_or(CompareError::Nothing { rows, cols })?;
        verify(self.device.info(), &plan, &matrix, &outcome.result)?;
        Ok(counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transpose::{ElementType, Variant};

    /// The counters of a variant, and its counters on the whole matrix.
    fn both(variant: Variant, element: ElementType, rows: u64, cols: u64) -> (Counted, Counters) {
        let library = PtxLibrary::embedded().unwrap();
        let plan = plan(&Problem { variant, element, rows, cols }, None, u64::MAX).unwrap();
        let device = Device::simulator_with(Instrument::Count);
        let runner = Runner::new(&device, &library);
        let mut counter = Counter { device: &device, runner, before: &mut |_| () };
        (counter.count(&plan).unwrap(), counter.whole(&plan, rows, cols).unwrap())
    }

    #[test]
    fn scaled_counters_are_those_of_the_whole_matrix() {
        for variant in Variant::all() {
            for element in [ElementType::U8, ElementType::F32, ElementType::U128] {
                for (rows, cols) in [(1025, 1025), (1200, 1111), (1280, 7), (33, 1153)] {
                    if variant.facts().moves == Moves::TransposesInPlace && rows != cols {
                        continue;
                    }
                    let (found, whole) = both(variant, element, rows, cols);
                    let context = format!("{variant} {element} {rows} x {cols}");
                    assert!(found.scaled, "{context}");
                    assert_eq!(found.counters, whole, "{context}");
                }
            }
        }
    }

    #[test]
    fn small_matrices_are_counted_whole() {
        let (found, whole) = both(Variant::Tiled, ElementType::F32, 1024, 100);
        assert_eq!(found, Counted { counters: whole, scaled: false });
    }

    /// A column of a tile lies in one bank, so each of its reads has 31 conflicts.
    #[test]
    fn the_conflicts_of_whole_tiles_are_known() {
        let library = PtxLibrary::embedded().unwrap();
        for extent in [2048, 4096, 16_384] {
            let variant = Variant::Tiled;
            let problem =
                Problem { variant, element: ElementType::F32, rows: extent, cols: extent };
            let plans = [plan(&problem, None, u64::MAX).unwrap()];
            let counted = count_all(&library, &plans, &mut |_| ()).unwrap();
            assert_eq!(counted[0].counters.bank_conflicts(), extent * extent / 32 * 31);
            assert_eq!(counted[0].counters.global.load.bytes, extent * extent * 4);
        }
    }

    #[test]
    fn extents_are_taken_apart() {
        for extent in [1025, 1152, 4000, 4096, 1_000_003] {
            let taken = Extent::of(extent);
            assert_eq!(taken.with(taken.periods), extent);
            assert_eq!(taken.least % PERIOD, extent % PERIOD);
        }
        assert_eq!(Extent::of(1024), Extent { least: 1024, periods: 0 });
    }
}
