//! The targets of the benchmark: the least ratio of CUB's time to ours, and the most time that a
//! reduction may add when it is measured in place.

use crate::{
    cases::{Case, Element, Operation as Op},
    measure::Calls,
};

/// The kind of GPU. Kinds are distinguished only where targets differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gpu {
    H100,
    H200,
    Other,
}

impl Gpu {
    /// Finds the kind from the name that the driver gives the GPU.
    pub(crate) fn from_name(name: &str) -> Self {
        if name.contains("H100") {
            Self::H100
        } else if name.contains("H200") {
            Self::H200
        } else {
            Self::Other
        }
    }
}

/// The least ratio of CUB's time to ours, if one was set for this case.
pub(crate) fn target(case: &Case, calls: Calls, gpu: Gpu) -> Option<f64> {
    use Element::{Bf16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let exponent = case.n.ilog2();
    if case.offset > 0 {
        return Some(1.3);
    }
    match (case.op, case.element) {
        (Op::Sum | Op::Wrapping, I32 | U32) => Some(match (calls, exponent) {
            (Calls::Graph, ..=13) => 1.2,
            (_, ..=23) => 1.4,
            (_, 24..=25) => 1.15,
            (_, 26..=27) => 1.05,
            (_, 28..=29) => 1.02,
            _ if gpu == Gpu::H200 => 1.016,
            _ => 1.025,
        }),
        (Op::Sum | Op::Min | Op::Max, F32) | (Op::Min | Op::Max, I32 | F64) => {
            Some(match (calls, exponent) {
                (Calls::Single, ..=23) => 1.4,
                (Calls::Graph, ..=13) => 1.25,
                (Calls::Graph, ..=23) => 1.35,
                (Calls::Single, 24..=25) => 1.15,
                (Calls::Single, 26..=27) => 1.05,
                (Calls::Graph, 24..=25) => 1.1,
                (Calls::Graph, 26..=27) => 1.04,
                _ if gpu == Gpu::H100 => 1.02,
                _ => 1.01,
            })
        }
        (Op::Sum, F64 | I64 | U64) => Some(if (14..=20).contains(&exponent) { 1.25 } else { 1.01 }),
        (Op::Sum | Op::Min | Op::Max, I8 | U8 | I16 | U16 | F16 | Bf16) => {
            (exponent >= 28).then_some(1.1)
        }
        (Op::AnyOrder | Op::Exact, _) => Some(1.0),
        (Op::ArgMin | Op::ArgMax | Op::MinMax, _) => Some(1.5),
        (Op::Dot | Op::SquaredDistance | Op::SumAbs | Op::SumSquares | Op::MaxAbs, _) => Some(1.02),
        _ => None,
    }
}

/// The target for the time that a reduction adds in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AddedTarget {
    /// The most microseconds that the reduction may add.
    Us(f64),
    /// The least ratio of the time that CUB adds to the time that ours adds.
    Ratio(f64),
}

/// The targets for sums of `f32` in a graph, between a kernel that writes the input and a kernel
/// that reads the result. A row has the number of elements, the most microseconds that the sum may
/// add on an H100, and the ratio of the time that CUB adds on that H100 to these microseconds. The
/// ratio is the target for the H200. It is `None` until CUB has been measured in place on an H100.
const ADDED: [(u64, f64, Option<f64>); 12] = [
    (1000, 1.22, None),
    (4096, 1.22, None),
    (10_000, 1.60, None),
    (30_000, 2.0, None),
    (65_536, 2.05, None),
    (131_072, 2.1, None),
    (200_000, 2.2, None),
    (400_000, 2.3, None),
    (1_000_000, 2.65, None),
    (3_000_017, 3.8, None),
    (10_000_019, 10.8, None),
    (50_000_017, 66.0, None),
];

/// The target for the time that a reduction adds in place, if one was set for this case. Apart from
/// this target, no reduction may add more time than CUB.
pub(crate) fn added_target(case: &Case, gpu: Gpu) -> Option<AddedTarget> {
    if (case.op, case.element, case.offset) != (Op::Sum, Element::F32, 0) {
        return None;
    }
    let (_, us, ratio) = ADDED.into_iter().find(|(n, ..)| *n == case.n)?;
    match gpu {
        Gpu::H100 => Some(AddedTarget::Us(us)),
        Gpu::H200 => ratio.map(AddedTarget::Ratio),
        Gpu::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{self, Way};

    fn of(name: &str, calls: Calls, gpu: Gpu) -> Option<f64> {
        let cases = cases::choose(name, Way::Calls).unwrap();
        target(cases.iter().find(|case| case.to_string() == name).unwrap(), calls, gpu)
    }

    #[test]
    fn sums_have_a_target_for_each_size() {
        for (exponent, graph) in
            [(10, 1.2), (12, 1.2), (14, 1.4), (22, 1.4), (24, 1.15), (26, 1.05), (28, 1.02)]
        {
            assert_eq!(of(&format!("sum_i32_2^{exponent}"), Calls::Graph, Gpu::H100), Some(graph));
        }
        for (exponent, graph) in
            [(10, 1.25), (14, 1.35), (22, 1.35), (24, 1.1), (26, 1.04), (28, 1.02), (30, 1.02)]
        {
            assert_eq!(of(&format!("sum_f32_2^{exponent}"), Calls::Graph, Gpu::H100), Some(graph));
        }
        for (exponent, single) in [(10, 1.4), (22, 1.4), (24, 1.15), (26, 1.05), (30, 1.02)] {
            assert_eq!(
                of(&format!("sum_f32_2^{exponent}"), Calls::Single, Gpu::H100),
                Some(single)
            );
        }
    }

    #[test]
    fn the_largest_sums_have_targets_of_the_device() {
        let gpus = [Gpu::H100, Gpu::H200];
        assert_eq!(
            gpus.map(|gpu| of("sum_i32_2^30", Calls::Graph, gpu)),
            [Some(1.025), Some(1.016)]
        );
        assert_eq!(
            gpus.map(|gpu| of("sum_f32_2^28", Calls::Single, gpu)),
            [Some(1.02), Some(1.01)]
        );
        assert_eq!(["NVIDIA H100 80GB HBM3", "NVIDIA H200"].map(Gpu::from_name), gpus);
    }

    #[test]
    fn a_misaligned_start_has_its_own() {
        assert_eq!(of("sum_f32_2^28+1", Calls::Graph, Gpu::H200), Some(1.3));
        assert_eq!(of("sum_i8_2^28", Calls::Graph, Gpu::H200), Some(1.1));
        assert_eq!(of("sum_i8_2^20", Calls::Graph, Gpu::H200), None);
        assert_eq!(of("sum_f64_2^14", Calls::Graph, Gpu::H200), Some(1.25));
    }

    #[test]
    fn sums_in_place_have_a_target_for_each_quick_size() {
        assert_eq!(ADDED.map(|(n, ..)| n), cases::PLACE_SIZES);
        assert!(ADDED.is_sorted_by_key(|(_, us, _)| *us));
        let case = Case { op: Op::Sum, element: Element::F32, n: 1_000_000, offset: 0 };
        assert_eq!(added_target(&case, Gpu::H100), Some(AddedTarget::Us(2.65)));
        assert_eq!(added_target(&Case { offset: 1, ..case }, Gpu::H100), None);
        assert_eq!(added_target(&case, Gpu::Other), None);
    }
}
