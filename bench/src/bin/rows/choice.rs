//! The lists of cases, and the choice among them.

use anyhow::ensure;

use crate::cases::{Case, Element, Layout, Operation};

/// The number of elements of most arrays of 32-bit elements. Their 256 MiB are more than a cache
/// holds.
const ELEMENTS: u64 = 1 << 26;

/// The other numbers of elements.
const SIZES: [u64; 4] = [1 << 14, 1 << 18, 1 << 22, 1 << 28];

/// The bytes of most arrays.
const BYTES: u64 = 4 * ELEMENTS;

/// The cases that `--cases` names: `quick`, `full`, or parts of names. With `bytes`, arrays are
/// scaled down to about so many bytes. Cases of one element type stand together.
pub(crate) fn choose(wanted: &str, bytes: Option<u64>) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    let all = if wanted == "quick" { quick() } else { [quick(), more()].concat() };
    for case in all {
        if !cases.contains(&case) {
            cases.push(case);
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

/// An array of `n` elements with rows of this length; at least one row.
fn rows_of(n: u64, op: Operation, element: Element, length: u64) -> Case {
    dense(op, element, &[(n / length).max(1), length], &[1])
}

/// As many rows of this length as fill [`BYTES`].
fn rows(op: Operation, element: Element, length: u64) -> Case {
    rows_of(BYTES / element.size(), op, element, length)
}

/// A dense array.
fn dense(op: Operation, element: Element, shape: &[u64], axes: &[usize]) -> Case {
    Case::new(op, element, shape, Layout::Dense, axes)
}

/// A matrix of so many rows and columns, whose first index changes fastest, along an axis.
fn transposed(op: Operation, shape: [u64; 2], axis: usize) -> Case {
    Case::new(op, Element::F32, &shape, Layout::Transposed, &[axis])
}

/// The columns of `width` elements of a matrix whose rows have `pitch` elements.
fn apart(op: Operation, width: u64, pitch: u64) -> Case {
    Case::new(op, Element::F32, &[ELEMENTS / pitch, width], Layout::Apart(pitch), &[0])
}

/// An array of 1024 columns, which are reduced.
fn columns(op: Operation, element: Element) -> Case {
    dense(op, element, &[BYTES / element.size() / 1024, 1024], &[0])
}

/// The matrices whose columns are reduced.
const COLUMNS: [[u64; 2]; 11] = [
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

/// The cases of `quick`: some of each kind.
fn quick() -> Vec<Case> {
    use Element::{F16, F32, F64, I32, U8};
    use Operation::{
        ArgMax, ArgMin, Exact, LogSumExp, Max, Min, MinMax, Moments, NanSum, Sum, SumSquares, Top1,
        Top5, Top8,
    };
    let lengths = [
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        16,
        17,
        32,
        33,
        64,
        65,
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
    for n in SIZES {
        cases.extend([4, 64, 1024, n].map(|length| rows_of(n, Sum, F32, length)));
    }
    for op in [ArgMax, Moments, MinMax, LogSumExp, NanSum] {
        cases.extend([16, 1024].map(|length| rows(op, F32, length)));
    }
    cases.extend([16, 32, 64, 128, 256, 512].map(|length| rows(ArgMin, F32, length)));
    cases.extend([Min, SumSquares].map(|op| rows(op, F32, 1024)));
    cases.extend([F32, F64].map(|element| rows(Exact, element, 1024)));
    for element in [F16, U8, F64, I32] {
        cases.extend([100, 1024].map(|length| rows(Sum, element, length)));
    }
    cases.extend([(F16, ArgMin), (I32, Min), (F64, Moments)].map(|(of, op)| rows(op, of, 64)));
    cases.extend([(F16, Sum), (U8, Max)].map(|(of, op)| rows_of(ELEMENTS, op, of, 1024)));
    cases.extend([Top1, Top5, Top8].map(|op| rows(op, F32, 1024)));
    cases.extend([64, 65536].map(|length| rows(Top8, F32, length)));
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
    cases.extend(COLUMNS.map(|shape| dense(Sum, F32, &shape, &[0])));
    cases.push(dense(Sum, F32, &[64, 256, 64, 64], &[0, 2, 3]));
    cases.push(dense(Sum, F32, &[512, 512, 256], &[1]));
    cases.push(dense(Sum, F32, &[65536, 256, 4], &[1]));
    // Short runs: the two parts of complex numbers, the channels of images, and the means that a
    // batch normalization needs.
    for shape in [[32, 32, 2], [1_048_576, 32, 2], [32768, 1024, 2]] {
        cases.push(dense(Sum, F32, &shape, &[1]));
    }
    cases.push(dense(Sum, F16, &[43690, 1024, 3], &[1]));
    cases.push(dense(Sum, U8, &[87381, 1024, 3], &[1]));
    cases.push(dense(Sum, F32, &[1370, 1000, 7, 7], &[0, 2, 3]));
    for axis in [0, 1] {
        cases.push(transposed(Sum, [8192, 8192], axis));
    }
    cases.push(transposed(Sum, [65536, 1024], 1));
    cases.push(Case::new(Sum, F32, &[8192, 4096], Layout::EverySecond, &[0]));
    cases.push(apart(Sum, 8, 16));
    cases.extend([Max, ArgMax, Moments, LogSumExp, NanSum, Exact].map(|op| columns(op, F32)));
    cases.extend([F16, U8, F64].map(|element| columns(Sum, element)));
    cases
}

/// The cases of `full`. Some of them are among those of `quick`.
fn more() -> Vec<Case> {
    use Element::{F16, F32, F64, I32, U8};
    use Operation::{
        ArgMax, ArgMin, Exact, LogSumExp, Max, Min, MinMax, Moments, NanSum, Sum, SumSquares, Top1,
        Top5, Top8,
    };
    let mut cases = Vec::new();
    let lengths = [
        6,
        9,
        12,
        15,
        24,
        31,
        48,
        63,
        96,
        127,
        129,
        200,
        255,
        256,
        384,
        511,
        513,
        768,
        2000,
        2048,
        3000,
        8192,
        10000,
        16384,
        32768,
        131_072,
        1 << 22,
    ];
    cases.extend(lengths.map(|length| rows(Sum, F32, length)));
    let lengths = [
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        16,
        17,
        31,
        32,
        33,
        64,
        100,
        255,
        256,
        257,
        512,
        1000,
        1024,
        1025,
        4096,
        4097,
        16384,
        65536,
        65537,
        1 << 20,
        1 << 22,
        1 << 26,
        1 << 28,
    ];
    for n in SIZES {
        let lengths = lengths.into_iter().filter(|&length| length <= n);
        cases.extend(lengths.map(|length| rows_of(n, Sum, F32, length)));
    }
    let all = [Min, Max, ArgMin, ArgMax, Moments, MinMax, LogSumExp, NanSum];
    for op in all {
        for length in [1, 3, 16, 33, 100, 257, 1024, 4097, 65536, 1 << 20] {
            cases.push(rows(op, F32, length));
        }
        for n in SIZES {
            cases.extend([16, 1024, n].map(|length| rows_of(n, op, F32, length)));
        }
        cases.push(columns(op, F32));
        cases.push(dense(op, F32, &[4_194_304, 16], &[0]));
    }
    cases.extend([64, 65536].map(|length| rows(SumSquares, F32, length)));
    for element in [F32, F64] {
        cases.extend([1, 16, 100, 65536].map(|length| rows(Exact, element, length)));
    }
    for (op, element) in [(LogSumExp, F16), (LogSumExp, F64), (NanSum, F16)] {
        cases.extend([100, 1024].map(|length| rows(op, element, length)));
    }
    for element in [F16, U8, F64, I32] {
        for length in [1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 257, 1025, 4096, 65536, 1 << 20] {
            cases.push(rows(Sum, element, length));
        }
        for op in [Sum, Min, Max, ArgMin, ArgMax, Moments, MinMax] {
            cases.extend([16, 1024].map(|length| rows(op, element, length)));
            for n in SIZES {
                cases.extend([64, n].map(|length| rows_of(n, op, element, length)));
            }
        }
        cases.push(columns(Sum, element));
        cases.push(dense(Sum, element, &[4_194_304, BYTES / element.size() / 4_194_304], &[0]));
    }
    for op in [Top1, Top5, Top8] {
        cases.extend([64, 1024, 65536].map(|length| rows(op, F32, length)));
    }
    // The transposes, whose columns and rows lie in memory as the rows and columns above.
    for shape in COLUMNS {
        cases.extend([0, 1].map(|axis| transposed(Sum, shape, axis)));
        cases.push(dense(Sum, F32, &shape, &[1]));
    }
    for op in [ArgMax, Moments, LogSumExp] {
        cases.extend([0, 1].map(|axis| transposed(op, [65536, 1024], axis)));
    }
    for shape in [[64, 256, 64, 64], [64, 64, 64, 256]] {
        cases.extend([vec![0, 2, 3], vec![1], vec![2]].map(|axes| dense(Sum, F32, &shape, &axes)));
    }
    for width in [2, 4, 8, 16] {
        let rows = ELEMENTS / 256 / width;
        cases.extend([Sum, ArgMax].map(|op| dense(op, F32, &[rows, 256, width], &[1])));
    }
    cases.extend([2, 8, 12].map(|width| dense(Sum, F32, &[ELEMENTS / width, width], &[0])));
    cases.extend([(2, 8), (4, 8), (4, 16), (12, 16)].map(|(width, of)| apart(Sum, width, of)));
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
        let chosen = choose("f32 sum rows 65536x1024,transposed 8192x8192", None).unwrap();
        assert_eq!(chosen.len(), 3);
        assert!(choose("no such case", None).is_err());
        assert!(choose("rows,", None).is_err());
    }

    #[test]
    fn small_cases_are_those_of_the_same_names() {
        let small = choose("65536x1024 over 0", Some(4096)).unwrap();
        assert!(small.iter().all(|case| case.bytes() <= 4096 && case.bytes() > 1024));
    }
}
