//! The cases that are measured: operations, element types, sizes and alignments.

use std::{fmt, ops::RangeInclusive};

/// An operation of warpfold, and the function of CUB with which it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `Sum`, compared with `DeviceReduce::Sum` into the type that C++ gives a sum of two elements.
    Sum,
    /// `Sum`, compared with `DeviceReduce::Sum` into 64 bits. For the 16-bit floats, CUB sums into
    /// `float` instead.
    SumWide,
    /// `WrappingSum`, compared with `DeviceReduce::Sum`.
    Wrapping,
    /// `Sum`, which is deterministic, compared with `DeviceReduce::Sum` with the determinism
    /// `not_guaranteed`.
    AnyOrder,
    /// `ReproducibleSum`, compared with `DeviceReduce::Sum` with the determinism `gpu_to_gpu`.
    Exact,
    /// `Min`, compared with `DeviceReduce::Min`.
    Min,
    /// `Max`, compared with `DeviceReduce::Max`.
    Max,
    /// `ArgMin`, compared with `DeviceReduce::ArgMin`.
    ArgMin,
    /// `ArgMax`, compared with `DeviceReduce::ArgMax`.
    ArgMax,
    /// `MinMax`, compared with one `TransformReduce` that reduces pairs of minimum and maximum.
    MinMax,
    /// `Dot`, compared with `TransformReduce` of two zipped inputs.
    Dot,
    /// `SquaredDistance`, compared with `TransformReduce` of two zipped inputs.
    SquaredDistance,
    /// `SumAbs`, compared with `TransformReduce`.
    SumAbs,
    /// `SumSquares`, compared with `TransformReduce`.
    SumSquares,
    /// `MaxAbs`, compared with `TransformReduce`.
    MaxAbs,
    /// `Moments`, compared with a `TransformReduce` that combines means and squared deviations in
    /// `f64`.
    Moments,
}

use Operation as Op;

impl Operation {
    /// The name of the operation as a part of the names of cases.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Op::Sum => "sum",
            Op::SumWide => "sum_wide",
            Op::Wrapping => "wrapping",
            Op::AnyOrder => "any_order",
            Op::Exact => "exact",
            Op::Min => "min",
            Op::Max => "max",
            Op::ArgMin => "argmin",
            Op::ArgMax => "argmax",
            Op::MinMax => "minmax",
            Op::Dot => "dot",
            Op::SquaredDistance => "ssd",
            Op::SumAbs => "sumabs",
            Op::SumSquares => "sumsq",
            Op::MaxAbs => "maxabs",
            Op::Moments => "moments",
        }
    }

    /// The name of the operation as a part of the names of the peers' functions. CUB's function is
    /// `cub_<this name>_<type>`.
    pub(crate) fn peer_name(self) -> &'static str {
        match self {
            Op::Wrapping => "sum",
            Op::AnyOrder => "sum_not_guaranteed",
            Op::Exact => "sum_gpu_to_gpu",
            other => other.name(),
        }
    }

    /// Whether the operation takes two inputs.
    pub(crate) fn takes_pairs(self) -> bool {
        matches!(self, Op::Dot | Op::SquaredDistance)
    }
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
    U128,
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    pub(crate) const ALL: [Self; 14] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::I128,
        Self::U128,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::I128 => "i128",
            Self::U128 => "u128",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The number of bytes that one element takes.
    pub(crate) fn size(self) -> u64 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::I128 | Self::U128 => 16,
        }
    }
}

/// The two kinds of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Way {
    /// The time of reductions alone: of single calls, and of ten back to back in a graph
    Calls,
    /// The time that a reduction adds between the kernel that writes its input and the kernel that
    /// reads its result
    Place,
}

/// One reduction to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) op: Operation,
    pub(crate) element: Element,
    pub(crate) n: u64,
    /// The number of elements between an aligned address and the first element.
    pub(crate) offset: u64,
}

impl Case {
    /// The number of bytes that any reduction must read.
    pub(crate) fn bytes(&self) -> u64 {
        self.n * self.element.size() * if self.op.takes_pairs() { 2 } else { 1 }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_", self.op.name(), self.element.name())?;
        if self.n.is_power_of_two() {
            write!(f, "2^{}", self.n.ilog2())
        } else {
            write!(f, "{}", self.n)
        }?;
        if self.offset > 0 { write!(f, "+{}", self.offset) } else { Ok(()) }
    }
}

/// Rows of operations, element types, exponents of 2 and an offset. A row stands for all
/// combinations of them.
type Rows<'a> = &'a [(&'a [Operation], &'a [Element], &'a [u32], u64)];

const LADDER: &[u32] = &[10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const WIDE_LADDER: &[u32] = &[10, 12, 14, 16, 18, 20, 22, 24, 26, 28];
const STEPS: &[u32] = &[12, 16, 20, 24, 28];
const LARGE: &[u32] = &[20, 24, 28];

const FULL: Rows<'static> = {
    use Element::{Bf16, F16, F32, F64, I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
    &[
        (&[Op::Sum], &[I32, U32, F32], LADDER, 0),
        (&[Op::Sum], &[I64, F64], WIDE_LADDER, 0),
        (&[Op::Sum], &[U64], LARGE, 0),
        (&[Op::Sum], &[I8, U8, I16, U16, F16, Bf16], STEPS, 0),
        (&[Op::Sum], &[I128, U128], &[16, 20, 24, 26], 0),
        (&[Op::Wrapping], &[I32], LADDER, 0),
        (&[Op::Wrapping], &[U32], STEPS, 0),
        (&[Op::SumWide], &[I8, U8, I16, U16, I32, F16, Bf16], LARGE, 0),
        (&[Op::AnyOrder], &[F32], LADDER, 0),
        (&[Op::AnyOrder], &[F64], STEPS, 0),
        (&[Op::Exact], &[F32, F64], STEPS, 0),
        (&[Op::Min], &[F32], LADDER, 0),
        (&[Op::Min], &[I32, F64], STEPS, 0),
        (&[Op::Max], &[F32, I32], STEPS, 0),
        (&[Op::Min, Op::Max], &[I8, F16, Bf16], &[28], 0),
        (&[Op::ArgMin], &[F32, I32, F64, I64], STEPS, 0),
        (&[Op::ArgMin], &[I8, F16], &[28], 0),
        (&[Op::ArgMax], &[F32], STEPS, 0),
        (&[Op::MinMax], &[F32, I32, F64], STEPS, 0),
        (&[Op::Dot, Op::SumAbs, Op::SumSquares, Op::MaxAbs], &[F32, F64], STEPS, 0),
        (&[Op::SquaredDistance], &[F32], STEPS, 0),
        (&[Op::Dot], &[F16, Bf16], &[28], 0),
        (&[Op::Sum], &[F32, I32], &[12, 16, 20, 24, 26, 28], 1),
        (&[Op::Sum], &[I8, F16, F64], &[24, 28], 1),
        (&[Op::Min, Op::ArgMin, Op::Dot], &[F32], &[24, 28], 1),
    ]
};

/// Further sizes of sums of `f32` in the cases `full`, as four times the exponent of 2: 2^22.25 to
/// 2^25. On an H100, inputs of 33 to 44 MiB lie between those that its L2 cache holds and those
/// that it does not.
const DIP_QUARTERS: RangeInclusive<u32> = 89..=100;

const QUICK: Rows<'static> = {
    use Element::{F16, F32, F64, I8, I32};
    &[
        (&[Op::Sum], &[I32, F32], &[10, 12, 16, 20, 22, 24, 28], 0),
        (&[Op::Sum], &[F64], &[20, 28], 0),
        (&[Op::Sum], &[I8, F16], &[28], 0),
        (&[Op::Min, Op::ArgMin, Op::MinMax, Op::Dot], &[F32], &[20, 28], 0),
        (&[Op::AnyOrder, Op::Exact, Op::SumSquares], &[F32], &[28], 0),
        (&[Op::Sum], &[F32], &[20, 28], 1),
    ]
};

/// The sizes of sums of `f32` that are measured in place.
pub(crate) const PLACE_SIZES: [u64; 12] = [
    1000, 4096, 10_000, 30_000, 65_536, 131_072, 200_000, 400_000, 1_000_000, 3_000_017,
    10_000_019, 50_000_017,
];

/// The sizes of the other reductions that are measured in place.
const FEW_PLACE_SIZES: [u64; 5] = [4096, 30_000, 200_003, 1_000_000, 10_000_019];

/// The other reductions that are measured in place, each with the number of elements between an
/// aligned address and the first element.
const OTHERS_IN_PLACE: [(Operation, Element, u64); 8] = [
    (Op::ArgMin, Element::F32, 0),
    (Op::MinMax, Element::F32, 0),
    (Op::Dot, Element::F32, 0),
    (Op::Moments, Element::F32, 0),
    (Op::Sum, Element::F64, 0),
    (Op::Sum, Element::I8, 0),
    (Op::Sum, Element::F16, 0),
    (Op::Sum, Element::F32, 1),
];

/// Further sizes of sums of `f32` that the cases `full` measure in place, as four times the
/// exponent of 2: 2^8 to 2^28.
const PLACE_QUARTERS: RangeInclusive<u32> = 32..=112;

/// 2^(quarters / 4), rounded.
fn quarter_octave(quarters: u32) -> u64 {
    (f64::from(quarters) / 4.0).exp2().round() as u64
}

fn sum_f32(n: u64) -> Case {
    Case { op: Op::Sum, element: Element::F32, n, offset: 0 }
}

fn full() -> Vec<Case> {
    let mut cases = expand(FULL);
    for case in DIP_QUARTERS.map(quarter_octave).map(sum_f32) {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

fn quick_in_place() -> Vec<Case> {
    let mut cases: Vec<Case> = PLACE_SIZES.into_iter().map(sum_f32).collect();
    for (op, element, offset) in OTHERS_IN_PLACE {
        cases.extend(FEW_PLACE_SIZES.map(|n| Case { op, element, n, offset }));
    }
    cases
}

fn full_in_place() -> Vec<Case> {
    let mut cases = quick_in_place();
    for case in PLACE_QUARTERS.map(quarter_octave).map(sum_f32) {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

fn expand(rows: Rows) -> Vec<Case> {
    let mut cases = Vec::new();
    for &(ops, elements, exponents, offset) in rows {
        for &op in ops {
            for &element in elements {
                cases.extend(exponents.iter().map(|exponent| Case {
                    op,
                    element,
                    n: 1 << exponent,
                    offset,
                }));
            }
        }
    }
    cases
}

/// The cases that `words` chooses: those of `quick`, those of `full`, or those of `full` whose
/// names contain one of several words, which are separated by commas, such as `argmin` or
/// `sum_f32_2^2`. `way` decides which cases `quick` and `full` are. Cases of one element type
/// follow each other, because they share an input.
///
/// # Errors
///
/// No name contains one of the words.
pub(crate) fn choose(words: &str, way: Way) -> anyhow::Result<Vec<Case>> {
    let all = || match way {
        Way::Calls => full(),
        Way::Place => full_in_place(),
    };
    let chosen = match (words, way) {
        ("quick", Way::Calls) => expand(QUICK),
        ("quick", Way::Place) => quick_in_place(),
        ("full", _) => all(),
        (words, _) => {
            let named = |case: &Case| words.split(',').any(|word| case.to_string().contains(word));
            all().into_iter().filter(named).collect()
        }
    };
    anyhow::ensure!(
        !chosen.is_empty(),
        "no case is called {words}: quick, full, or a part of a name such as sum_f32_2^20"
    );
    let of = |element| chosen.iter().copied().filter(move |case| case.element == element);
    Ok(Element::ALL.into_iter().flat_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_all() {
        let case = Case { op: Op::ArgMin, element: Element::Bf16, n: 1 << 20, offset: 1 };
        assert_eq!(case.to_string(), "argmin_bf16_2^20+1");
        assert_eq!(Case { n: 1000, offset: 0, ..case }.to_string(), "argmin_bf16_1000");
        assert_eq!(Case { op: Op::Dot, ..case }.bytes(), 4 << 20);
    }

    #[test]
    fn no_case_is_measured_twice_and_quick_is_part_of_full() {
        for way in [Way::Calls, Way::Place] {
            let full = choose("full", way).unwrap();
            for (index, case) in full.iter().enumerate() {
                assert!(!full[..index].contains(case), "{case} is there twice");
            }
            for case in choose("quick", way).unwrap() {
                assert!(full.contains(&case), "{case} is in quick alone");
            }
        }
    }

    #[test]
    fn cases_are_chosen_by_parts_of_their_names() {
        let names = |words| {
            choose(words, Way::Calls).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names("sum_i32_2^10,sum_f64_2^10"), ["sum_i32_2^10", "sum_f64_2^10"]);
        assert!(choose("sum_f80", Way::Calls).unwrap_err().to_string().contains("sum_f80"));
    }

    #[test]
    fn quarter_octaves_surround_the_dip() {
        let sizes: Vec<u64> = choose("full", Way::Calls)
            .unwrap()
            .iter()
            .filter(|case| case.op == Op::Sum && case.element == Element::F32 && case.offset == 0)
            .map(|case| case.n)
            .filter(|n| (1 << 22..=1 << 25).contains(n))
            .collect();
        assert_eq!(sizes.len(), 13);
        assert!(sizes.contains(&(1 << 23)) && sizes.contains(&9_975_792));
        let in_place = choose("full", Way::Place).unwrap();
        assert_eq!(in_place.len(), 12 + 8 * 5 + 81 - 3);
        assert!(in_place.contains(&sum_f32(1 << 8)) && in_place.contains(&sum_f32(1 << 28)));
    }
}
