//! Which kernel a reduction takes, and how its results are made of the raw ones. Nothing here
//! touches a device.

use smallvec::{SmallVec, smallvec};
use warpfold::reducer::Make;

use crate::{
    dtype::{Dtype, Kind},
    op::{Method, Op, Order},
};

use super::{
    calls::Wanted,
    finish::{Finish, Load, Step},
    kernels::Reduction,
};

/// The number of an output, and how its results are made.
pub(super) type Finishes = SmallVec<[(usize, Finish); 2]>;

/// How the results of one kernel become outputs.
#[derive(Clone, Debug)]
pub(super) enum Made {
    /// The raw results are the results.
    Direct { output: usize },
    /// Each output is made by a launch of its own.
    By(Finishes),
}

/// One kernel, and what is made of its raw results.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) reduction: Reduction,
    pub(super) made: Made,
    /// Results of each raw result, and how far one is from the next.
    pub(super) inner: (u32, u32),
}

impl Part {
    /// What a kernel that makes results itself is asked for, and the number of the output. `None`
    /// if there is no such kernel, for whatever type.
    pub(super) fn wanted(&self) -> Option<(usize, Wanted)> {
        let Made::By(finishes) = &self.made else { return None };
        let &[(output, finish)] = &finishes[..] else { return None };
        let make = match (self.reduction, finish.step) {
            (Reduction::Sum, Step::Divide) | (Reduction::Moments, Step::Copy) => Make::Mean,
            (Reduction::Sum | Reduction::ArgMinimum | Reduction::ArgMaximum, Step::Copy) => {
                Make::Value
            }
            (Reduction::Moments, Step::Variance) => Make::Variance { correction: finish.a },
            (Reduction::Moments, Step::Deviation) => Make::Deviation { correction: finish.a },
            (Reduction::SumSquares, Step::Root) => Make::Root,
            (Reduction::CountNonzero, Step::IsAny) => Make::Any,
            (Reduction::CountNonzero, Step::IsAll) => Make::All,
            _ => return None,
        };
        let store = finish.store;
        let is_there = store.is_float() || matches!(store.bytes(), 1 | 8);
        is_there.then_some((output, Wanted { make, store }))
    }
}

/// The type in which the library sums elements of this type.
pub(super) fn wide(dtype: Dtype) -> Dtype {
    match dtype.kind() {
        Kind::Bool | Kind::Signed => Dtype::I64,
        Kind::Unsigned => Dtype::U64,
        Kind::Float if dtype == Dtype::F64 => Dtype::F64,
        Kind::Float => Dtype::F32,
        Kind::Complex => Dtype::whole_complex(),
    }
}

fn load(float: Dtype) -> Load {
    if float == Dtype::F64 { Load::F64 } else { Load::F32 }
}

/// The result of a raw result that is one number of the type `raw`.
pub(super) fn converted(raw: Dtype, result: Dtype) -> Option<Finish> {
    let of = |load, step| Finish { load, step, fields: [0, 0], a: 0.0, store: result };
    match (raw.kind(), result.kind()) {
        _ if raw == result => None,
        (Kind::Float, _) => Some(of(load(raw), Step::Copy)),
        (Kind::Unsigned, Kind::Float) => Some(of(Load::U64, Step::Unsigned)),
        (_, Kind::Float) => Some(of(Load::U64, Step::Signed)),
        // The lowest bits of an integer are those of a narrower one.
        _ if result.bytes() == 8 => None,
        _ => Some(of(Load::U64, Step::Copy)),
    }
}

/// The plan for a reduction of elements of this type. `results` are the types of the outputs, and
/// `length` is the number of elements of each result.
pub(super) fn plan(
    op: Op,
    correction: f64,
    dtype: Dtype,
    results: [Dtype; 2],
    length: u64,
) -> SmallVec<[Part; 2]> {
    let wide = wide(dtype);
    let bytes = wide.bytes() as u32;
    let part = |reduction, made| Part { reduction, made, inner: (1, 0) };
    let one =
        |reduction, finish: Finish| smallvec![part(reduction, Made::By(smallvec![(0, finish)]))];
    let direct = |reduction| smallvec![part(reduction, Made::Direct { output: 0 })];
    let number = |reduction, raw| match converted(raw, results[0]) {
        None => direct(reduction),
        Some(finish) => one(reduction, finish),
    };
    let of = |load, step, fields| Finish { load, step, fields, a: correction, store: results[0] };
    match op {
        Op::Sum(Method::Wide) => number(Reduction::Wide, Dtype::F64),
        // A sum that is asked for in 64 bits is computed in them.
        Op::Sum(Method::Fast) if wide == Dtype::F32 && results[0] == Dtype::F64 => {
            number(Reduction::Wide, Dtype::F64)
        }
        Op::Sum(Method::Compensated) => {
            one(Reduction::Compensated, of(load(wide), Step::Correct, [0, bytes]))
        }
        // The raw result of a whole array is long, and that of a row is the sum alone. In both, the
        // sum comes first.
        Op::Sum(Method::Reproducible) => one(Reduction::Exact, of(load(wide), Step::Copy, [0, 0])),
        Op::Sum(Method::Checked) => {
            let finish = converted(wide, results[0]);
            one(Reduction::Checked, finish.unwrap_or(Finish::copy(results[0], 0)))
        }
        Op::Sum(Method::Fast) | Op::Dot => number(Reduction::Sum, wide),
        Op::Prod => number(Reduction::Product, wide),
        Op::Min => direct(Reduction::Minimum),
        Op::Max => direct(Reduction::Maximum),
        Op::NanMin => direct(Reduction::Min),
        Op::NanMax => direct(Reduction::Max),
        Op::ArgMin => one(Reduction::ArgMinimum, Finish::copy(Dtype::I64, 8)),
        Op::ArgMax => one(Reduction::ArgMaximum, Finish::copy(Dtype::I64, 8)),
        Op::CountNonzero => direct(Reduction::CountNonzero),
        Op::Any => one(Reduction::CountNonzero, of(Load::U64, Step::IsAny, [0, 0])),
        Op::All => one(Reduction::CountNonzero, of(Load::U64, Step::IsAll, [0, 0])),
        Op::Mean if dtype.is_float() => {
            let finish = of(load(wide), Step::Divide, [0, 0]);
            one(Reduction::Sum, Finish { a: length as f64, ..finish })
        }
        Op::Mean => one(Reduction::Moments, of(Load::F64, Step::Copy, [8, 0])),
        Op::Var => one(Reduction::Moments, of(Load::F64, Step::Variance, [16, 0])),
        Op::Std => one(Reduction::Moments, of(Load::F64, Step::Deviation, [16, 0])),
        Op::Moments => {
            let mean = of(Load::F64, Step::Copy, [8, 0]);
            let variance = of(Load::F64, Step::Variance, [16, 0]);
            smallvec![part(Reduction::Moments, Made::By(smallvec![(0, mean), (1, variance)]))]
        }
        // The kernel for both ignores NaNs, which an extreme of floats may not.
        Op::MinMax if dtype.is_float() => smallvec![
            part(Reduction::Minimum, Made::Direct { output: 0 }),
            part(Reduction::Maximum, Made::Direct { output: 1 }),
        ],
        Op::MinMax => {
            let of = |field| Finish::copy(dtype, field);
            let made = Made::By(smallvec![(0, of(0)), (1, of(dtype.bytes() as u32))]);
            smallvec![part(Reduction::MinMax, made)]
        }
        Op::Norm(Order::One) => number(Reduction::SumAbs, wide),
        Op::Norm(Order::Two) => one(Reduction::SumSquares, of(load(wide), Step::Root, [0, 0])),
        Op::Norm(Order::Infinity) => direct(Reduction::MaxAbs),
        Op::LogSumExp => one(Reduction::Exponentials, of(load(wide), Step::Logarithm, [0, bytes])),
        Op::NanSum => one(Reduction::Numbers, of(Load::F64, Step::Copy, [8, 0])),
        Op::NanMean => one(Reduction::Numbers, of(Load::F64, Step::OfCount, [8, 0])),
        Op::Top { k, is_largest } => {
            let reduction = match (is_largest, k) {
                (true, ..=4) => Reduction::Top4,
                (true, _) => Reduction::Top8,
                (false, ..=4) => Reduction::Bottom4,
                (false, _) => Reduction::Bottom8,
            };
            let (values, indices) = (Finish::copy(dtype, 0), Finish::copy(Dtype::I64, 8));
            let made = Made::By(smallvec![(0, values), (1, indices)]);
            smallvec![Part { reduction, made, inner: (k, 16) }]
        }
    }
}
