//! An operation over one type of elements, as the library has it: which reduction it is, how it is
//! called, and what its result means.

use half::{bf16, f16};
use warpfold::{
    All, AllWhere, Any, AnyWhere, ArgMax, ArgMaximum, ArgMin, ArgMinimum, ArraysOperation,
    BinOperation, BitAnd, BitOr, BitXor, BottomK, Buffer, CheckedSum, CompensatedSum, CountNonzero,
    CountWhere, Device, Dot, Error, LogSumExp, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments,
    NanMean, NanSum, Norm2, Product, Reducer, ReproducibleSum, SegmentOperation, SquaredDistance,
    Stream, Sum, SumAbs, SumSquares, TopK, View, WideSum,
    reducer::{Item, Operation as Reduction, Pair, Single},
};
use warpfold_tools::{arrays::Dtype, terminal::Failure};

use crate::{
    answer::{Answer, IntoAnswer as _},
    axes::{self, Axes},
    condition::Condition,
    keyed::{self, Keyed},
    meaning::{Meaning, deviation, exact_sum, mean, plain, ranked, root, truth, variance},
    operation::Operation,
    parts::{PartBench, Parts},
    reference::Number,
    run::{Job, Outcome, run},
    segments::{self, Segments},
};

/// A reduction of the library over elements of type `T`, whose operation is forgotten, so that the
/// code that runs it exists once for each type of elements. Raw results are bytes here.
pub(crate) trait Task<T: Item>: Sync {
    fn operation(&self) -> Operation;
    fn dtype(&self) -> Dtype;
    /// The number of `--ddof`, which is subtracted from the number of elements in the divisor of a
    /// variance; or that of `-k`, the most elements that `topk` finds.
    fn setting(&self) -> u64;
    /// The condition for elements that count, if there is one.
    fn condition(&self) -> Option<&Condition>;
    /// The most elements of one launch.
    fn most(&self) -> u64;
    /// The number of roundings between an element and the result.
    fn depth(&self, device: &Device, n: u64) -> Result<u64, Error>;
    /// Reduces elements of the host.
    fn reduce(
        &self,
        device: &Device,
        operands: Operands<'_, T>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Answer, Error>;
    /// A bench on the device for operands of at most `len` elements.
    fn bench(&self, device: &Device, len: usize) -> Result<Box<dyn Bench<T>>, Error>;
    /// A bench on the device that holds the elements of the operands and reduces each of their
    /// parts.
    fn parts<'a>(
        &'a self,
        device: &Device,
        operands: Operands<'_, T>,
        parts: &'a Parts,
    ) -> Result<Box<dyn PartBench + 'a>, Error>;
    /// Adds the raw result of the elements from number `start` on to that of the elements before,
    /// if there are any.
    fn combine(&self, before: Option<&[u8]>, raw: &[u8], start: u64) -> Vec<u8>;
    /// The answer of a raw result over `n` elements; `None` is that of no elements.
    fn answer(&self, raw: Option<&[u8]>, n: u64) -> Result<Answer, Error>;
}

/// One or two operands. Those of a whole reduction have the same length.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a, T> {
    pub(crate) first: &'a [T],
    pub(crate) second: Option<&'a [T]>,
}

/// What a device needs to reduce operands one after the other: a loaded kernel, buffers and an
/// output.
pub(crate) trait Bench<T> {
    /// Copies the operands to the device.
    fn load(&mut self, operands: Operands<'_, T>) -> Result<(), Error>;
    /// Launches the reduction of what was loaded last, and does not wait.
    fn launch(&mut self) -> Result<(), Error>;
    /// The bytes of the raw result of the last launch.
    fn raw(&mut self) -> Result<Vec<u8>, Error>;
}

/// A [`Task`] whose operation is known.
struct Typed<T: Item, O: Reduction<T>> {
    operation: Operation,
    dtype: Dtype,
    reduction: O,
    condition: Option<Condition>,
    calls: Calls<T, O>,
    meaning: Meaning<O::Output>,
}

/// The calls that reduce, with one input or with a pair. The second slice or view is there if the
/// operation takes pairs.
#[derive(Clone, Copy)]
struct Calls<T: Item, O: Reduction<T>> {
    from_host: FromHost<T, O>,
    on_device: OnDevice<T, O>,
    /// Opens a bench for rows. `None` if the task has no rows.
    rows: Option<OpenRows<T, O>>,
    /// Opens a bench for segments. `None` if the task has no segments.
    segments: Option<OpenBench<T, O, Segments>>,
    /// Opens a bench for runs of keys. `None` if the task has no runs.
    runs: Option<OpenBench<T, O, Keyed>>,
    /// Opens a bench for bins. `None` if the task is not one of bins.
    bins: Option<OpenBench<T, O, Keyed>>,
}

type FromHost<T, O> = fn(
    &Reducer<T, O>,
    Operands<'_, T>,
    &mut dyn FnMut(u64, u64),
) -> Result<<O as Reduction<T>>::Output, Error>;

type OnDevice<T, O> = fn(
    &Reducer<T, O>,
    View<'_, T>,
    Option<View<'_, T>>,
    &mut Buffer<<O as Reduction<T>>::Raw>,
    &Stream,
) -> Result<(), Error>;

type OpenRows<T, O> = for<'a> fn(
    &Device,
    O,
    Operands<'_, T>,
    &'a Axes,
    &'a Meaning<<O as Reduction<T>>::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error>;

type OpenBench<T, O, P> = for<'a> fn(
    &Device,
    O,
    &[T],
    &'a P,
    &'a Meaning<<O as Reduction<T>>::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error>;

impl<T: Item, O: SegmentOperation<T>> Calls<T, O> {
    const fn single() -> Self {
        Self {
            rows: Some(axes::bench::<T, O>),
            segments: Some(segments::bench::<T, O>),
            runs: Some(keyed::bench_of_runs::<T, O>),
            ..Self::without_parts()
        }
    }
}

impl<T: Item, O: BinOperation<T>> Calls<T, O> {
    const fn binned() -> Self {
        Self { bins: Some(keyed::bench_of_bins::<T, O>), ..Self::without_parts() }
    }
}

impl<T: Item, O: Reduction<T, Arity = Single>> Calls<T, O> {
    const fn without_parts() -> Self {
        Self {
            rows: None,
            segments: None,
            runs: None,
            bins: None,
            from_host: |reducer, operands, progress| {
                reducer.reduce_with_progress(operands.first, progress)
            },
            on_device: |reducer, first, _, output, stream| {
                reducer.reduce_into(first, output, stream).map(drop)
            },
        }
    }
}

impl<T: Item, O: ArraysOperation<T, Arity = Pair>> Calls<T, O> {
    const fn pair() -> Self {
        Self {
            rows: Some(axes::bench_of_pairs::<T, O>),
            segments: None,
            runs: None,
            bins: None,
            from_host: |reducer, operands, progress| {
                let second = operands.second.expect("a pair has a second input");
                reducer.reduce_with_progress((operands.first, second), progress)
            },
            on_device: |reducer, first, second, output, stream| {
                let second = second.expect("a pair has a second input");
                reducer.reduce_into((first, second), output, stream).map(drop)
            },
        }
    }
}

impl<T: Item, O: Reduction<T>> Task<T> for Typed<T, O> {
    fn operation(&self) -> Operation {
        self.operation
    }

    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn setting(&self) -> u64 {
        self.meaning.setting
    }

    fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    fn most(&self) -> u64 {
        O::MOST
    }

    fn depth(&self, device: &Device, n: u64) -> Result<u64, Error> {
        Ok(device.reducer::<T, O>(self.reduction)?.depth(n))
    }

    fn reduce(
        &self,
        device: &Device,
        operands: Operands<'_, T>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Answer, Error> {
        let reducer = device.reducer::<T, O>(self.reduction)?;
        let result = (self.calls.from_host)(&reducer, operands, progress);
        self.meaning.answer(result)
    }

    fn bench(&self, device: &Device, len: usize) -> Result<Box<dyn Bench<T>>, Error> {
        Ok(Box::new(TypedBench::<T, O> {
            reducer: device.reducer(self.reduction)?,
            launch: self.calls.on_device,
            first: device.alloc(len)?,
            second: if self.operation.is_pair() { Some(device.alloc(len)?) } else { None },
            loaded: 0,
            output: device.alloc(1)?,
            stream: device.own_stream()?,
        }))
    }

    fn parts<'a>(
        &'a self,
        device: &Device,
        operands: Operands<'_, T>,
        parts: &'a Parts,
    ) -> Result<Box<dyn PartBench + 'a>, Error> {
        const CHECKED: &str = "the arguments ask for no parts that are not there";
        match parts {
            Parts::Rows(axes) => self.calls.rows.expect(CHECKED)(
                device,
                self.reduction,
                operands,
                axes,
                &self.meaning,
            ),
            Parts::Segments(segments) => self.calls.segments.expect(CHECKED)(
                device,
                self.reduction,
                operands.first,
                segments,
                &self.meaning,
            ),
            Parts::Keyed(keyed) => {
                let open = if keyed.bins.is_some() { self.calls.bins } else { self.calls.runs };
                open.expect(CHECKED)(device, self.reduction, operands.first, keyed, &self.meaning)
            }
        }
    }

    fn combine(&self, before: Option<&[u8]>, raw: &[u8], start: u64) -> Vec<u8> {
        let raw = O::moved(bytemuck::pod_read_unaligned(raw), start);
        let raw = match before {
            Some(before) => O::combine(bytemuck::pod_read_unaligned(before), raw),
            None => raw,
        };
        bytemuck::bytes_of(&raw).to_vec()
    }

    fn answer(&self, raw: Option<&[u8]>, n: u64) -> Result<Answer, Error> {
        let result = match raw.map(bytemuck::pod_read_unaligned).or_else(O::identity) {
            Some(raw) => O::finish(raw, n),
            None => Err(Error::Empty { op: O::NAME }),
        };
        self.meaning.answer(result)
    }
}

struct TypedBench<T: Item, O: Reduction<T>> {
    reducer: Reducer<T, O>,
    launch: OnDevice<T, O>,
    first: Buffer<T>,
    second: Option<Buffer<T>>,
    /// The number of elements that were loaded.
    loaded: usize,
    output: Buffer<O::Raw>,
    stream: Stream,
}

impl<T: Item, O: Reduction<T>> Bench<T> for TypedBench<T, O> {
    fn load(&mut self, Operands { first, second }: Operands<'_, T>) -> Result<(), Error> {
        self.loaded = first.len();
        self.first.view_mut(..first.len()).copy_from_host(first)?;
        if let (Some(buffer), Some(values)) = (&mut self.second, second) {
            buffer.view_mut(..values.len()).copy_from_host(values)?;
        }
        Ok(())
    }

    fn launch(&mut self) -> Result<(), Error> {
        let first = self.first.view(..self.loaded);
        let second = self.second.as_ref().map(|second| second.view(..self.loaded));
        (self.launch)(&self.reducer, first, second, &mut self.output, &self.stream)
    }

    fn raw(&mut self) -> Result<Vec<u8>, Error> {
        let raw = self.output.copy_to_host()?;
        Ok(bytemuck::cast_slice(&raw).to_vec())
    }
}

/// A task whose types are forgotten.
pub(crate) trait AnyTask {
    /// Reduces the arrays of the job.
    fn run(&self, job: Job<'_>) -> Result<Outcome, Failure>;
}

impl<T: Item + Number, O: Reduction<T>> AnyTask for Typed<T, O> {
    fn run(&self, job: Job<'_>) -> Result<Outcome, Failure> {
        run::<T>(self, job)
    }
}

/// Chooses the task among the types that an operation has: `choose!(at, all, op, calls, answer)`.
/// Truth values are reduced as bytes.
macro_rules! choose {
    ($at:expr, all, $op:ident, $calls:ident, $answer:expr) => {
        choose!(@ $at, $op, $calls, $answer, Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64,
            U64 u64, I128 i128, U128 u128, F16 f16, Bf16 bf16, F32 f32, F64 f64)
    };
    ($at:expr, integers, $op:ident, $calls:ident, $answer:expr) => {
        choose!(@ $at, $op, $calls, $answer, Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64,
            U64 u64, I128 i128, U128 u128)
    };
    ($at:expr, floats, $op:ident, $calls:ident, $answer:expr) => {
        choose!(@ $at, $op, $calls, $answer, F16 f16, Bf16 bf16, F32 f32, F64 f64)
    };
    ($at:expr, narrow_floats, $op:ident, $calls:ident, $answer:expr) => {
        choose!(@ $at, $op, $calls, $answer, F16 f16, Bf16 bf16, F32 f32)
    };
    ($at:expr, with_root, $op:ident, $calls:ident, $answer:expr) => {
        choose!(@ $at, $op, $calls, $answer, Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, F16 f16, Bf16 bf16, F32 f32,
            F64 f64)
    };
    ($at:expr, narrow, $op:ident, $calls:ident, $answer:expr) => {
        choose!(@ $at, $op, $calls, $answer, Bool u8, U8 u8, I32 i32, U32 u32, I64 i64, U64 u64,
            F16 f16, Bf16 bf16, F32 f32, F64 f64)
    };
    (@ $at:expr, $op:ident, $calls:ident, $answer:expr, $($dtype:ident $type:ident),*) => {
        match $at.1 {
            $(Dtype::$dtype => Some(Box::new(Typed::<$type, $op> {
                operation: $at.0,
                dtype: $at.1,
                reduction: <$op>::default(),
                condition: None,
                calls: Calls::$calls(),
                meaning: Meaning { answer: $answer, setting: $at.2 },
            }) as Box<dyn AnyTask>),)*
            #[allow(unreachable_patterns, reason = "some operations have all types")]
            _ => None,
        }
    };
}

// One operation for each kernel. The answer leaves out what was not asked for.
type Top4 = TopK<4>;
type Top8 = TopK<8>;
type Bottom4 = BottomK<4>;
type Bottom8 = BottomK<8>;

/// The task of an operation over a type: of whole arrays, and, if the operation takes one array, of
/// rows, segments and runs of keys. `None` if the operation does not have that type.
pub(crate) fn task(operation: Operation, dtype: Dtype, setting: u64) -> Option<Box<dyn AnyTask>> {
    use Operation as O;
    let at = (operation, dtype, setting);
    match operation {
        O::Sum if dtype.is_float() => choose!(at, floats, Sum, single, plain),
        O::Sum | O::WrappingSum | O::CheckedSum => {
            choose!(at, integers, CheckedSum, single, exact_sum)
        }
        O::Exact => choose!(at, floats, ReproducibleSum, single, plain),
        O::Compensated => choose!(at, floats, CompensatedSum, single, plain),
        O::Wide => choose!(at, narrow_floats, WideSum, single, plain),
        O::Product => choose!(at, all, Product, single, plain),
        O::Mean => choose!(at, all, Moments, single, mean),
        O::Var => choose!(at, all, Moments, single, variance),
        O::Std => choose!(at, all, Moments, single, deviation),
        O::NanSum => choose!(at, floats, NanSum, single, plain),
        O::NanMean => choose!(at, floats, NanMean, single, plain),
        O::LogSumExp => choose!(at, floats, LogSumExp, single, plain),
        O::Min if dtype == Dtype::Bool => choose!(at, all, Min, single, truth),
        O::Min => choose!(at, all, Min, single, plain),
        O::Max if dtype == Dtype::Bool => choose!(at, all, Max, single, truth),
        O::Max => choose!(at, all, Max, single, plain),
        O::MinMax if dtype == Dtype::Bool => choose!(at, all, MinMax, single, truth),
        O::MinMax => choose!(at, all, MinMax, single, plain),
        O::Minimum if dtype == Dtype::Bool => choose!(at, all, Minimum, single, truth),
        O::Minimum => choose!(at, all, Minimum, single, plain),
        O::Maximum if dtype == Dtype::Bool => choose!(at, all, Maximum, single, truth),
        O::Maximum => choose!(at, all, Maximum, single, plain),
        O::ArgMin => choose!(at, all, ArgMin, single, plain),
        O::ArgMax => choose!(at, all, ArgMax, single, plain),
        O::ArgMinimum => choose!(at, all, ArgMinimum, single, plain),
        O::ArgMaximum => choose!(at, all, ArgMaximum, single, plain),
        O::TopK if setting <= 4 => choose!(at, narrow, Top4, single, ranked),
        O::TopK => choose!(at, narrow, Top8, single, ranked),
        O::BottomK if setting <= 4 => choose!(at, narrow, Bottom4, single, ranked),
        O::BottomK => choose!(at, narrow, Bottom8, single, ranked),
        O::Count => choose!(at, all, CountNonzero, single, plain),
        O::Any => choose!(at, all, Any, single, plain),
        O::All => choose!(at, all, All, single, plain),
        O::Norm1 => choose!(at, all, SumAbs, single, plain),
        O::Norm2 => choose!(at, with_root, Norm2, single, plain),
        O::SumSquares => choose!(at, all, SumSquares, single, plain),
        O::MaxAbs => choose!(at, all, MaxAbs, single, plain),
        O::Dot => choose!(at, all, Dot, pair, plain),
        O::Distance => {
            choose!(at, with_root, SquaredDistance, pair, |raw, _| raw
                .map(|sum| root(sum.answer())))
        }
        O::SquaredDistance => choose!(at, all, SquaredDistance, pair, plain),
        O::BitAnd if dtype == Dtype::Bool => choose!(at, integers, BitAnd, single, truth),
        O::BitAnd => choose!(at, integers, BitAnd, single, plain),
        O::BitOr if dtype == Dtype::Bool => choose!(at, integers, BitOr, single, truth),
        O::BitOr => choose!(at, integers, BitOr, single, plain),
        O::BitXor if dtype == Dtype::Bool => choose!(at, integers, BitXor, single, truth),
        O::BitXor => choose!(at, integers, BitXor, single, plain),
    }
}

/// The task of an operation over the elements for which a condition holds. The operation has
/// conditions. Truth values are reduced as bytes.
pub(crate) fn condition_task(
    operation: Operation,
    dtype: Dtype,
    condition: &Condition,
) -> Result<Box<dyn AnyTask>, Failure> {
    macro_rules! of_types {
        ($op:ident: $($dtype:ident $type:ident),*) => {
            match dtype {
                $(Dtype::$dtype => Box::new(Typed::<$type, $op<$type>> {
                    operation,
                    dtype,
                    reduction: $op(condition.of(dtype)?),
                    condition: Some(condition.clone()),
                    calls: Calls::single(),
                    meaning: Meaning { answer: plain, setting: 0 },
                }) as Box<dyn AnyTask>,)*
            }
        };
        ($op:ident) => {
            of_types!($op: Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64,
                U64 u64, I128 i128, U128 u128, F16 f16, Bf16 bf16, F32 f32, F64 f64)
        };
    }
    Ok(match operation {
        Operation::Any => of_types!(AnyWhere),
        Operation::All => of_types!(AllWhere),
        _ => of_types!(CountWhere),
    })
}

/// The task of an operation into bins over an array of a type. `None` if the operation does not
/// have that type.
pub(crate) fn bin_task(
    operation: Operation,
    dtype: Dtype,
    setting: u64,
) -> Option<Box<dyn AnyTask>> {
    use Operation as O;
    let at = (operation, dtype, setting);
    match operation {
        // The library has no checked sums of bins. `keyed::exact_sum` makes up for that.
        O::Sum => choose!(at, narrow, Sum, binned, plain),
        O::Mean => choose!(at, narrow, Moments, binned, mean),
        O::Var => choose!(at, narrow, Moments, binned, variance),
        O::Std => choose!(at, narrow, Moments, binned, deviation),
        O::Min if dtype == Dtype::Bool => choose!(at, narrow, Min, binned, truth),
        O::Min => choose!(at, narrow, Min, binned, plain),
        O::Max if dtype == Dtype::Bool => choose!(at, narrow, Max, binned, truth),
        O::Max => choose!(at, narrow, Max, binned, plain),
        O::MinMax if dtype == Dtype::Bool => choose!(at, narrow, MinMax, binned, truth),
        O::MinMax => choose!(at, narrow, MinMax, binned, plain),
        O::ArgMin => choose!(at, narrow, ArgMin, binned, plain),
        O::ArgMax => choose!(at, narrow, ArgMax, binned, plain),
        _ => None,
    }
}
