//! Measures other operations than sums over segments whose offsets are given. CUB has no call for
//! most of them, so the twin is their only peer.

use anyhow::ensure;
use warpfold::{ArgMin, LogSumExp, Min, MinMax, Moments, SegmentOperation};

use crate::{
    cases::Lengths,
    measure::{Lab, Row, Values},
};

/// What is made of each segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Min,
    ArgMin,
    MinMax,
    Moments,
    LogSumExp,
}

/// A case: the operation, and the lengths of the segments.
pub(crate) type Case = (Work, Lengths);

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let works = [Work::Min, Work::ArgMin, Work::MinMax, Work::Moments, Work::LogSumExp];
    let lengths = [
        Lengths::Equal(4),
        Lengths::Equal(16),
        Lengths::Equal(64),
        Lengths::Equal(1024),
        Lengths::UpToTwice(256),
    ];
    works.into_iter().flat_map(|work| lengths.map(|lengths| (work, lengths))).collect()
}

/// The name of a case.
pub(crate) fn name((work, lengths): Case) -> String {
    let operation = match work {
        Work::Min => "min",
        Work::ArgMin => "argmin",
        Work::MinMax => "minmax",
        Work::Moments => "moments",
        Work::LogSumExp => "logsumexp",
    };
    format!("f32 {operation} of segments, {}", lengths.name())
}

impl Lab {
    /// Measures a case.
    pub(crate) fn of_operation(&self, case: Case, values: &Values<f32>) -> anyhow::Result<Row> {
        let floats = |segment: &[u8]| segment.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let least = |segment: &[u8]| segment.iter().copied().min().map(f64::from);
        let first = |segment: &[u8]| {
            let places = segment.iter().zip(0u32..);
            places.min_by_key(|&(&x, _)| x).map(|(_, place)| f64::from(place))
        };
        let range = |segment: &[u8]| {
            let (min, max) = (segment.iter().min()?, segment.iter().max()?);
            Some(f64::from(max - min))
        };
        let squares = |segment: &[u8]| {
            let all = floats(segment);
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            (!all.is_empty()).then(|| all.iter().map(|x| (x - mean).powi(2)).sum())
        };
        let exponentials = |segment: &[u8]| {
            let sum: f64 = floats(segment).into_iter().map(f64::exp).sum();
            (sum > 0.0).then(|| sum.ln())
        };
        match case.0 {
            Work::Min => self.of_case(case, values, Min, least, f64::from),
            Work::ArgMin => self.of_case(case, values, ArgMin, first, |found| found.index as f64),
            Work::MinMax => self.of_case(case, values, MinMax, range, |found| {
                f64::from(found.max) - f64::from(found.min)
            }),
            Work::Moments => {
                self.of_case(case, values, Moments, squares, |found| found.squared_deviations())
            }
            Work::LogSumExp => self.of_case(case, values, LogSumExp, exponentials, f64::from),
        }
    }

    /// Measures an operation. `expected` says what is right for a segment, unless it has no
    /// elements, and `number` is the same of a result.
    fn of_case<O: SegmentOperation<f32>>(
        &self,
        case: Case,
        values: &Values<f32>,
        operation: O,
        expected: impl Fn(&[u8]) -> Option<f64>,
        number: impl Fn(O::Output) -> f64,
    ) -> anyhow::Result<Row> {
        let name = name(case);
        let offsets = case.1.offsets(self.n);
        let check = |found: &[O::RowRaw]| {
            for (i, (&raw, pair)) in found.iter().zip(offsets.windows(2)).enumerate() {
                let segment = &values.small()[pair[0] as usize..pair[1] as usize];
                let Some(expected) = expected(segment) else { continue };
                let found = number(O::finish_row(raw, segment.len() as u64)?);
                ensure!(
                    (found - expected).abs() <= 1e-5 * expected.abs(),
                    "{name}: result {i} is {found} and must be {expected}"
                );
            }
            Ok(())
        };
        self.over_segments(&name, operation, &offsets, values, None, check)
    }
}
