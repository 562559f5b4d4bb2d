//! The two contenders that are warpfold's own: its reducer as a user calls it, and its twin. The
//! twin is the production kernels in CUDA C++, launched in the same shapes.

use std::cell::RefCell;

use half::{bf16, f16};
use warpfold::{
    ArgMax, ArgMin, Dot, Max, MaxAbs, Min, MinMax, Moments, Reducer, ReproducibleSum,
    SquaredDistance, Sum, SumAbs, SumSquares, WrappingSum,
    device::{Arg, Buffer, Device, DeviceError, Kernel, Module, RawSlice, Stream},
    reducer::{DeviceInput, Item, Operation, Pair, Single},
};

use crate::{
    cases::{Case, Element, Operation as Op},
    contender::{Call, Contender, Layout, RESULT_BYTES, numbers},
    data::{Number, Value},
    report::OURS,
};

/// The reducer for the operation and the type of a case and, if there is one, its twin. The list is
/// empty if warpfold has no such reduction.
pub(crate) fn open(
    device: &Device,
    case: &Case,
    twin: Option<&Module>,
) -> anyhow::Result<Vec<Box<dyn Contender>>> {
    macro_rules! of_types {
        ($op:ty, $input:expr, $($t:ty)*) => {{
            $(if case.element == <$t as Value>::ELEMENT {
                return both::<$t, $op, _>(device, case, twin, $input);
            })*
            Ok(Vec::new())
        }};
    }
    macro_rules! single {
        ($op:ty: $($t:ty)*) => { of_types!($op, |call| slice(call.input, call.n), $($t)*) };
    }
    macro_rules! pair {
        ($op:ty: $($t:ty)*) => { of_types!($op, |call| (slice(call.input, call.n), slice(call.right, call.n)), $($t)*) };
    }
    match case.op {
        Op::Sum | Op::SumWide | Op::AnyOrder => {
            single!(Sum: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64)
        }
        Op::Wrapping => single!(WrappingSum: i32 u32),
        Op::Exact => single!(ReproducibleSum: f32 f64),
        Op::Min => single!(Min: i8 i32 f16 bf16 f32 f64),
        Op::Max => single!(Max: i8 i32 f16 bf16 f32),
        Op::ArgMin => single!(ArgMin: i8 i32 i64 f16 f32 f64),
        Op::ArgMax => single!(ArgMax: f32),
        Op::MinMax => single!(MinMax: i32 f32 f64),
        Op::Dot => pair!(Dot: f16 bf16 f32 f64),
        Op::SquaredDistance => pair!(SquaredDistance: f32),
        Op::SumAbs => single!(SumAbs: f32 f64),
        Op::SumSquares => single!(SumSquares: f32 f64),
        Op::MaxAbs => single!(MaxAbs: f32 f64),
        Op::Moments => single!(Moments: f32 f64),
    }
}

fn slice<T: Item>(address: u64, n: u64) -> RawSlice<T> {
    // SAFETY: the address lies in the case's input, which has this type and outlives all calls;
    // nobody writes it meanwhile.
    unsafe { RawSlice::new(address, n as usize) }
}

fn both<T: Item, O: Operation<T> + Default, I>(
    device: &Device,
    case: &Case,
    twin: Option<&Module>,
    input: fn(Call) -> I,
) -> anyhow::Result<Vec<Box<dyn Contender>>>
where
    I: Input<T, O> + 'static,
{
    let reducer = device.reducer::<T, _>(O::default())?;
    let twin = match twin.map(|module| module.kernel(reducer.kernel().name())) {
        Some(Err(DeviceError::NoKernel { .. })) | None => None,
        Some(kernel) => Some(kernel?),
    };
    let contender = |twin: Option<Kernel>| -> anyhow::Result<Box<dyn Contender>> {
        let out = RefCell::new(device.alloc(RESULT_BYTES.div_ceil(size_of::<O::Raw>()))?);
        Ok(Box::new(Ours {
            reducer: reducer.clone(),
            twin,
            input,
            out,
            layout: layout(case.op, case.element),
        }))
    };
    let mut contenders = vec![contender(None)?];
    if twin.is_some() {
        contenders.push(contender(twin)?);
    }
    Ok(contenders)
}

/// The input of an operation: one slice, or two for operations on pairs.
trait Input<T: Item, O: Operation<T>>: DeviceInput<Item = T, Arity = O::Arity> {
    /// The addresses of the slices, as arguments of a kernel.
    fn addresses(&self) -> Vec<Arg>;
}

impl<T: Item, O: Operation<T, Arity = Single>> Input<T, O> for RawSlice<T> {
    fn addresses(&self) -> Vec<Arg> {
        vec![Arg::Pointer(self.address())]
    }
}

impl<T: Item, O: Operation<T, Arity = Pair>> Input<T, O> for (RawSlice<T>, RawSlice<T>) {
    fn addresses(&self) -> Vec<Arg> {
        vec![Arg::Pointer(self.0.address()), Arg::Pointer(self.1.address())]
    }
}

/// The reducer or its twin, as a contender.
struct Ours<T: Item, O: Operation<T>, I> {
    reducer: Reducer<T, O>,
    /// A kernel to launch instead of the reducer's own.
    twin: Option<Kernel>,
    input: fn(Call) -> I,
    /// The output. Its first value is the result. It has as many values as fill [`RESULT_BYTES`],
    /// because a consumer of results reads so many bytes.
    out: RefCell<Buffer<O::Raw>>,
    layout: Layout,
}

impl<T: Item, O: Operation<T>, I: Input<T, O>> Contender for Ours<T, O, I> {
    fn name(&self) -> &'static str {
        if self.twin.is_some() { "twin" } else { OURS }
    }

    fn call(&self, call: Call, stream: &Stream) -> anyhow::Result<()> {
        let mut out = self.out.borrow_mut();
        let Some(twin) = &self.twin else {
            self.reducer.reduce_into((self.input)(call), out.view_mut(..1), stream)?;
            return Ok(());
        };
        let mut args = (self.input)(call).addresses();
        let shape = self.reducer.shape((self.input)(call));
        args.extend([
            Arg::U64(call.n),
            Arg::U64(shape.chunk),
            Arg::U32(shape.keep.to_bits()),
            Arg::Pointer(out.address()),
            Arg::Pointer(stream.workspace()),
        ]);
        // SAFETY: the twin has the parameters of the kernel that it imitates. Inputs and output
        // belong to the case, and the stream's workspace holds the slots of this shape.
        let _: () = unsafe { stream.launch(twin, shape.launch(), &args)? };
        Ok(())
    }

    fn result(&self) -> anyhow::Result<Vec<Number>> {
        let raw = self.out.borrow().copy_to_host()?;
        Ok(numbers(bytemuck::cast_slice(&raw), &self.layout))
    }

    fn output(&self) -> Option<(u64, &Layout)> {
        Some((self.out.borrow().address(), &self.layout))
    }
}

/// The places and types of the numbers in a raw result.
fn layout(op: Op, element: Element) -> Layout {
    use Element::{Bf16, F16, F32, F64, I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
    let size = element.size() as usize;
    let wide = match element {
        I8 | I16 | I32 | I64 => I64,
        U8 | U16 | U32 | U64 => U64,
        F16 | Bf16 | F32 => F32,
        I128 | U128 | F64 => element,
    };
    match op {
        Op::Sum
        | Op::SumWide
        | Op::AnyOrder
        | Op::Dot
        | Op::SquaredDistance
        | Op::SumAbs
        | Op::SumSquares => {
            vec![(0, wide)]
        }
        // 32-bit elements have kernels of their own; the other types use those of Sum.
        Op::Wrapping if matches!(element, I32 | U32) => vec![(0, element)],
        Op::Wrapping => vec![(0, wide)],
        Op::Exact | Op::Min | Op::Max | Op::MaxAbs => vec![(0, element)],
        Op::ArgMin | Op::ArgMax => vec![(0, element), (size.max(8), U64)],
        Op::MinMax => vec![(0, element), (size, element)],
        Op::Moments => vec![(0, U64), (8, F64), (16, F64)],
    }
}
