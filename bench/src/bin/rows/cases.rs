//! The cases: arrays, and what is done with them.

use anyhow::ensure;

/// An operation over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Sum,
    Min,
    Max,
    ArgMin,
    ArgMax,
    MinMax,
    Moments,
    LogSumExp,
    NanSum,
}

impl Operation {
    /// The name in the names of cases and of CUB's functions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::ArgMin => "argmin",
            Self::ArgMax => "argmax",
            Self::MinMax => "minmax",
            Self::Moments => "moments",
            Self::LogSumExp => "logsumexp",
            Self::NanSum => "nansum",
        }
    }
}

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    F32,
    F16,
    F64,
    I32,
    U8,
}

impl Element {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::U8 => "u8",
        }
    }

    pub(crate) fn size(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::F16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 => 8,
        }
    }
}

/// The place of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One after another; the last index changes fastest.
    Dense,
    /// One after another; the first index changes fastest.
    Transposed,
    /// Every second element of a dense array.
    EverySecond,
}

/// A reduction to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) op: Operation,
    pub(crate) element: Element,
    pub(crate) shape: Vec<u64>,
    pub(crate) layout: Layout,
    /// The axes that are reduced.
    pub(crate) axes: Vec<usize>,
    pub(crate) name: String,
}

impl Case {
    pub(crate) fn new(
        op: Operation,
        element: Element,
        shape: &[u64],
        layout: Layout,
        axes: &[usize],
    ) -> Self {
        let sizes: Vec<_> = shape.iter().map(u64::to_string).collect();
        let sizes = sizes.join("x");
        let layout_name = match layout {
            Layout::Dense => "",
            Layout::Transposed => "transposed ",
            Layout::EverySecond => "alternate ",
        };
        let what = if (shape.len(), layout, axes) == (2, Layout::Dense, &[1]) {
            format!("rows {sizes}")
        } else {
            let axes: Vec<_> = axes.iter().map(usize::to_string).collect();
            format!("{layout_name}{sizes} over {}", axes.join(" "))
        };
        let name = format!("{} {} {what}", element.name(), op.name());
        Self { op, element, shape: shape.to_vec(), layout, axes: axes.to_vec(), name }
    }

    /// The number of elements in the array.
    pub(crate) fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The bytes of the elements of the array, without gaps.
    pub(crate) fn bytes(&self) -> u64 {
        self.elements() * self.element.size()
    }

    /// The distance of neighbours along each axis, in elements.
    pub(crate) fn strides(&self) -> Vec<i64> {
        let mut strides = vec![0; self.shape.len()];
        let mut stride = if self.layout == Layout::EverySecond { 2 } else { 1 };
        let mut place = |axis: usize| {
            strides[axis] = stride;
            stride *= self.shape[axis] as i64;
        };
        if self.layout == Layout::Transposed {
            (0..self.shape.len()).for_each(&mut place);
        } else {
            (0..self.shape.len()).rev().for_each(&mut place);
        }
        strides
    }

    /// The number of elements from the first to the last, with the gaps.
    pub(crate) fn span(&self) -> u64 {
        let reach = |(&size, stride): (&u64, i64)| (size - 1) * stride as u64;
        self.shape.iter().zip(self.strides()).map(reach).sum::<u64>() + 1
    }

    /// The number of elements for each result.
    pub(crate) fn length(&self) -> u64 {
        self.axes.iter().map(|&axis| self.shape[axis]).product()
    }

    /// The number of results.
    pub(crate) fn rows(&self) -> u64 {
        self.elements() / self.length()
    }

    /// Whether each row lies in one piece, and the rows lie one after another.
    pub(crate) fn is_rows(&self) -> bool {
        self.layout == Layout::Dense && self.shape.len() == 2 && self.axes == [1]
    }

    /// Halves the longest axis until the array has no more than so many bytes.
    pub(crate) fn scale_down(&mut self, bytes: u64) {
        while self.bytes() > bytes {
            match self.shape.iter_mut().max() {
                Some(longest) if *longest > 1 => *longest /= 2,
                _ => break,
            }
        }
    }
}

/// The bytes of most arrays.
const BYTES: u64 = 256 << 20;

/// The cases that `--cases` names: `quick`, `full`, or parts of names. With `bytes`, arrays are
/// scaled down to about so many bytes. Cases of one element type stand together.
pub(crate) fn choose(wanted: &str, bytes: Option<u64>) -> anyhow::Result<Vec<Case>> {
    let mut cases = quick();
    if wanted != "quick" {
        for case in more() {
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    retain(&mut cases, wanted, |case| &case.name)?;
    cases.sort_by_key(|case| case.element);
    if let Some(bytes) = bytes {
        for case in &mut cases {
            case.scale_down(bytes);
        }
    }
    Ok(cases)
}

/// Keeps the cases whose names have one of these parts, or all for `quick` and `full`.
pub(crate) fn retain<T>(
    cases: &mut Vec<T>,
    wanted: &str,
    name: fn(&T) -> &str,
) -> anyhow::Result<()> {
    if ["quick", "full"].contains(&wanted) {
        return Ok(());
    }
    let parts: Vec<&str> = wanted.split(',').map(str::trim).collect();
    for part in &parts {
        let is_known = cases.iter().any(|case| name(case).contains(part));
        ensure!(!part.is_empty() && is_known, "no case has {part:?} in its name");
    }
    cases.retain(|case| parts.iter().any(|part| name(case).contains(part)));
    Ok(())
}

/// As many rows of this length as fill [`BYTES`].
fn rows(op: Operation, element: Element, length: u64) -> Case {
    let rows = (BYTES / element.size() / length).max(1);
    Case::new(op, element, &[rows, length], Layout::Dense, &[1])
}

/// A dense array.
fn dense(op: Operation, element: Element, shape: &[u64], axes: &[usize]) -> Case {
    Case::new(op, element, shape, Layout::Dense, axes)
}

/// An array of 1024 columns, which are reduced.
fn columns(op: Operation, element: Element) -> Case {
    dense(op, element, &[BYTES / element.size() / 1024, 1024], &[0])
}

fn quick() -> Vec<Case> {
    use Element::{F16, F32, F64, I32, U8};
    use Operation::{ArgMax, LogSumExp, Max, MinMax, Moments, NanSum, Sum};
    let lengths = [
        1,
        2,
        3,
        4,
        7,
        8,
        16,
        17,
        32,
        33,
        64,
        100,
        128,
        257,
        512,
        1000,
        1024,
        1025,
        4096,
        4097,
        65536,
        65537,
        1 << 20,
        1 << 26,
    ];
    let mut cases: Vec<_> = lengths.map(|length| rows(Sum, F32, length)).to_vec();
    for op in [ArgMax, Moments, MinMax, LogSumExp, NanSum] {
        cases.extend([16, 1024].map(|length| rows(op, F32, length)));
    }
    for element in [F16, U8, F64, I32] {
        cases.extend([100, 1024].map(|length| rows(Sum, element, length)));
    }
    let small = [
        [32, 32],
        [1000, 10],
        [1, 1_000_000],
        [1_000_000, 1],
        [128, 128],
        [1024, 1024],
        [4096, 1024],
        [262_144, 16],
    ];
    cases.extend(small.map(|shape| dense(Sum, F32, &shape, &[1])));
    let over_first = [
        [16_777_216, 4],
        [22_369_621, 3],
        [4_194_304, 16],
        [1_048_576, 64],
        [65536, 1024],
        [4096, 16384],
        [1024, 65536],
        [256, 262_144],
        [16, 4_194_304],
        [4, 16_777_216],
        [8192, 8192],
    ];
    cases.extend(over_first.map(|shape| dense(Sum, F32, &shape, &[0])));
    cases.push(dense(Sum, F32, &[64, 256, 64, 64], &[0, 2, 3]));
    cases.push(dense(Sum, F32, &[512, 512, 256], &[1]));
    for axis in [0, 1] {
        cases.push(Case::new(Sum, F32, &[8192, 8192], Layout::Transposed, &[axis]));
    }
    cases.push(Case::new(Sum, F32, &[8192, 4096], Layout::EverySecond, &[0]));
    cases.extend([Max, ArgMax, Moments, LogSumExp, NanSum].map(|op| columns(op, F32)));
    cases.extend([F16, U8, F64].map(|element| columns(Sum, element)));
    cases
}

/// The cases of `full` that are not among those of `quick`, and some that are.
fn more() -> Vec<Case> {
    use Element::{F16, F32, F64, I32, U8};
    use Operation::{ArgMax, LogSumExp, Max, MinMax, Moments, NanSum, Sum};
    let mut cases = Vec::new();
    for length in [5, 6, 9, 12, 15, 24, 31, 48, 63, 65, 96, 127, 129, 200, 255, 256, 384, 511] {
        cases.push(rows(Sum, F32, length));
    }
    for length in [513, 768, 2000, 2048, 3000, 8192, 10000, 16384, 32768, 131_072, 1 << 22] {
        cases.push(rows(Sum, F32, length));
    }
    for op in [Max, ArgMax, Moments, MinMax, LogSumExp, NanSum] {
        for length in [1, 3, 16, 33, 100, 257, 1024, 4097, 65536, 1 << 20] {
            cases.push(rows(op, F32, length));
        }
        cases.push(columns(op, F32));
        cases.push(dense(op, F32, &[4_194_304, 16], &[0]));
    }
    for (op, element) in [(LogSumExp, F16), (LogSumExp, F64), (NanSum, F16)] {
        cases.extend([100, 1024].map(|length| rows(op, element, length)));
    }
    for element in [F16, U8, F64, I32] {
        for length in [1, 3, 8, 16, 17, 33, 257, 1025, 4096, 65536, 1 << 20] {
            cases.push(rows(Sum, element, length));
        }
        for op in [Max, ArgMax, Moments, MinMax] {
            cases.extend([16, 1024].map(|length| rows(op, element, length)));
        }
        cases.push(columns(Sum, element));
        cases.push(dense(Sum, element, &[4_194_304, BYTES / element.size() / 4_194_304], &[0]));
    }
    cases
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_choose_cases() {
        let (quick, full) = (choose("quick", None).unwrap(), choose("full", None).unwrap());
        assert!(quick.len() < full.len());
        let names: HashSet<_> = full.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), full.len());
        let chosen = choose("f32 sum rows 65536x1024,transposed", None).unwrap();
        assert_eq!(chosen.len(), 3);
        assert!(choose("no such case", None).is_err());
        assert!(choose("rows,", None).is_err());
    }

    #[test]
    fn strides_and_spans() {
        let case = |layout| Case::new(Operation::Sum, Element::F32, &[6, 4], layout, &[0]);
        assert_eq!(case(Layout::Dense).strides(), [4, 1]);
        assert_eq!(case(Layout::Transposed).strides(), [1, 6]);
        assert_eq!(case(Layout::EverySecond).strides(), [8, 2]);
        assert_eq!(case(Layout::Transposed).span(), 24);
        assert_eq!(case(Layout::EverySecond).span(), 47);
        assert_eq!((case(Layout::Dense).rows(), case(Layout::Dense).length()), (4, 6));
        let small = choose("65536x1024 over 0", Some(4096)).unwrap();
        assert!(small.iter().all(|case| case.bytes() <= 4096 && case.bytes() > 1024));
    }
}
