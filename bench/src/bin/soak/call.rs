//! One call of the library. Its operation, element type, length, position in memory and kind of
//! call are random, and its result is checked.

use std::ops::Range;

use anyhow::{Context, ensure};
use half::{bf16, f16};
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, CheckedSum,
    CompensatedSum, CountNonzero, Device, Dot, Error, Input, Max, MaxAbs, Maximum, Min, MinMax,
    Minimum, Moments, Norm2, Operation, Product, RawSlice, Reducer, SquaredDistance, Stream, Sum,
    SumAbs, SumSquares, View, WideSum, WrappingSum,
    reducer::{Arity, DeviceInput, Pair, Single},
};

use crate::{expect::Expect, sample::Sample};

/// The device, the stream and the limits with which a thread works.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    pub(crate) device: &'a Device,
    pub(crate) stream: Stream,
    /// The base-2 logarithm of the most elements of an input.
    pub(crate) most_bits: u32,
}

/// An operation over an element type, with the function that calls it.
pub(crate) struct Kind {
    pub(crate) op: &'static str,
    pub(crate) item: &'static str,
    pub(crate) call: fn(&Worker<'_>, &mut ChaCha8Rng) -> anyhow::Result<()>,
}

macro_rules! kinds {
    ($($op:ident: $($type:ident)*;)*) => {
        /// Each operation, with each element type for which it is defined.
        pub(crate) const KINDS: &[Kind] = &[$($(
            Kind { op: stringify!($op), item: stringify!($type), call: call::<$type, $op> },
        )*)*];
    };
}

kinds! {
    Sum: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    WrappingSum: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128;
    CheckedSum: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128;
    Product: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    Min: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    Max: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    Minimum: i32 f16 bf16 f32 f64;
    Maximum: i32 f16 bf16 f32 f64;
    MinMax: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    ArgMin: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    ArgMax: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    ArgMinimum: i32 f16 bf16 f32 f64;
    ArgMaximum: i32 f16 bf16 f32 f64;
    CountNonzero: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    Any: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    All: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    BitAnd: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128;
    BitOr: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128;
    BitXor: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128;
    SumAbs: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    SumSquares: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    Norm2: i8 u8 i16 u16 f16 bf16 f32 f64;
    MaxAbs: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    Dot: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    SquaredDistance: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    Moments: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    CompensatedSum: f16 bf16 f32 f64;
    WideSum: f16 bf16 f32;
}

/// The conversion of two arrays to the input of an operation. An operation with a single input
/// takes only the first array.
pub(crate) trait Route<T: Sample>: Arity {
    type OnDevice<'a>: DeviceInput<Item = T, Arity = Self>;
    type OnHost<'a>: Input<Item = T, Arity = Self>;
    fn on_device<'a>(a: View<'a, T>, b: View<'a, T>) -> Self::OnDevice<'a>;
    fn on_host<'a>(a: &'a [T], b: &'a [T]) -> Self::OnHost<'a>;
}

impl<T: Sample> Route<T> for Single {
    type OnDevice<'a> = View<'a, T>;
    type OnHost<'a> = &'a [T];
    fn on_device<'a>(a: View<'a, T>, _: View<'a, T>) -> View<'a, T> {
        a
    }
    fn on_host<'a>(a: &'a [T], _: &'a [T]) -> &'a [T] {
        a
    }
}

impl<T: Sample> Route<T> for Pair {
    type OnDevice<'a> = (View<'a, T>, RawSlice<T>);
    type OnHost<'a> = (&'a [T], &'a [T]);
    fn on_device<'a>(a: View<'a, T>, b: View<'a, T>) -> (View<'a, T>, RawSlice<T>) {
        // SAFETY: the memory of the view lives for `'a`, like that of the first view of the pair.
        (a, unsafe { RawSlice::new(b.address(), b.len()) })
    }
    fn on_host<'a>(a: &'a [T], b: &'a [T]) -> (&'a [T], &'a [T]) {
        (a, b)
    }
}

/// The same elements in three forms: on the host, on the device, and as integers.
struct Elements<T> {
    integers: Vec<i64>,
    values: Vec<T>,
    buffer: warpfold::Buffer<T>,
}

impl<T: Sample> Elements<T> {
    fn draw<O: Expect<T>>(
        device: &Device,
        len: usize,
        rng: &mut ChaCha8Rng,
    ) -> anyhow::Result<Self> {
        let integers = integers::<T, O>(len, rng);
        let values: Vec<T> = integers.iter().map(|value| T::of(i128::from(*value))).collect();
        let buffer = device.upload(&values)?;
        Ok(Self { integers, values, buffer })
    }
}

fn integers<T: Sample, O: Expect<T>>(len: usize, rng: &mut ChaCha8Rng) -> Vec<i64> {
    let sign = |rng: &mut ChaCha8Rng| if T::SIGNED && rng.random() { -1 } else { 1 };
    if O::FACTORS {
        let mut factors: Vec<i64> = (0..len).map(|_| sign(rng)).collect();
        for _ in 0..rng.random_range(0..=8) {
            if let Some(index) = (0..len).collect::<Vec<_>>().choose(rng) {
                factors[*index] *= if factors[*index].abs() == 1 { 2 } else { 1 };
            }
        }
        return factors;
    }
    // There are few distinct values, so that zeros and equal minima occur in several places.
    let most = *[1, 3, T::MOST].choose(rng).expect("there are three");
    (0..len).map(|_| sign(rng) * rng.random_range(0..=most)).collect()
}

/// A random length. All magnitudes are equally likely. Numbers next to powers of two are frequent.
fn length(most_bits: u32, rng: &mut ChaCha8Rng) -> usize {
    let power = 1usize << rng.random_range(0..=most_bits);
    if rng.random() {
        (power + 1).saturating_sub(rng.random_range(0..3))
    } else {
        rng.random_range(0..=power)
    }
}

/// One part of each of two arrays. Both parts have the same length and begin at any element.
struct Part {
    first: Range<usize>,
    second: Range<usize>,
}

impl Part {
    fn draw(len: usize, rng: &mut ChaCha8Rng) -> Self {
        let n = len - rng.random_range(0..=len.min(40));
        let mut range = || {
            let start = rng.random_range(0..=len - n);
            start..start + n
        };
        Self { first: range(), second: range() }
    }
}

fn call<T, O>(worker: &Worker<'_>, rng: &mut ChaCha8Rng) -> anyhow::Result<()>
where
    T: Sample,
    O: Expect<T, Arity: Route<T>>,
{
    let len = length(worker.most_bits, rng);
    let reducer = worker.device.reducer::<T, _>(O::default())?;
    let a = Elements::<T>::draw::<O>(worker.device, len, rng)?;
    let b = Elements::<T>::draw::<O>(worker.device, len, rng)?;
    let test = Test { worker, reducer, a, b };
    match rng.random_range(0..8) {
        0 | 1 => test.at_once(rng).context("reduced at once"),
        2..=4 => test.queued(rng).context("reduced on a stream"),
        5 | 6 => test.captured(rng).context("reduced in a graph"),
        _ => test.on_the_host(rng).context("reduced from the host"),
    }
}

struct Test<'a, T, O> {
    worker: &'a Worker<'a>,
    reducer: Reducer<T, O>,
    a: Elements<T>,
    b: Elements<T>,
}

impl<T, O> Test<'_, T, O>
where
    T: Sample,
    O: Expect<T, Arity: Route<T>>,
{
    fn input(&self, part: &Part) -> <O::Arity as Route<T>>::OnDevice<'_> {
        O::Arity::on_device(
            self.a.buffer.view(part.first.clone()),
            self.b.buffer.view(part.second.clone()),
        )
    }

    fn len(&self) -> usize {
        self.a.integers.len()
    }

    fn judge(&self, part: &Part, result: &Result<O::Output, Error>) -> anyhow::Result<()> {
        let (a, b) = (&self.a.integers[part.first.clone()], &self.b.integers[part.second.clone()]);
        let agrees = if a.is_empty() && O::identity().is_none() {
            matches!(result, Err(Error::Empty { .. }))
        } else {
            O::agrees(result, a, b)
        };
        let error = result.as_ref().err().map(|error| format!(": {error}")).unwrap_or_default();
        let Part { first, second } = part;
        ensure!(
            agrees,
            "elements {first:?} (and {second:?}) of {} give a wrong result{error}",
            self.len()
        );
        Ok(())
    }

    fn at_once(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<()> {
        let part = Part::draw(self.len(), rng);
        self.judge(&part, &self.reducer.reduce(self.input(&part)))
    }

    fn on_the_host(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<()> {
        let part = Part::draw(self.len(), rng);
        let (a, b) = (&self.a.values[part.first.clone()], &self.b.values[part.second.clone()]);
        // The limit is smaller than the memory of the elements, so that they are copied in chunks.
        let reducer = self.reducer.clone();
        let reducer = if rng.random() {
            reducer
        } else {
            reducer.with_memory_limit(1 << rng.random_range(8..16))
        };
        self.judge(&part, &reducer.reduce(O::Arity::on_host(a, b)))
    }

    /// A few random parts, all of lengths for which the operation has a result.
    fn parts(&self, rng: &mut ChaCha8Rng) -> Vec<Part> {
        let parts = (0..rng.random_range(1..=4)).map(|_| Part::draw(self.len(), rng));
        parts.filter(|part| !part.first.is_empty() || O::identity().is_some()).collect()
    }

    fn judge_all(&self, parts: &[Part], raws: Vec<O::Raw>) -> anyhow::Result<()> {
        for (part, raw) in parts.iter().zip(raws) {
            self.judge(part, &<O as Operation<T>>::finish(raw, part.first.len() as u64))?;
        }
        Ok(())
    }

    fn queued(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<()> {
        let parts = self.parts(rng);
        let mut outputs = self.worker.device.alloc::<O::Raw>(parts.len())?;
        for (i, part) in parts.iter().enumerate() {
            self.reducer.reduce_into(
                self.input(part),
                outputs.view_mut(i..=i),
                &self.worker.stream,
            )?;
        }
        self.worker.stream.synchronize()?;
        self.judge_all(&parts, outputs.copy_to_host()?)
    }

    fn captured(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<()> {
        let parts = self.parts(rng);
        if parts.is_empty() {
            return Ok(());
        }
        let mut outputs = self.worker.device.alloc::<O::Raw>(parts.len())?;
        let (graph, ()) = self.worker.device.capture(|stream| {
            for (i, part) in parts.iter().enumerate() {
                self.reducer.reduce_into(self.input(part), outputs.view_mut(i..=i), stream)?;
            }
            Ok::<(), Error>(())
        })?;
        for _ in 0..rng.random_range(1..=3) {
            outputs.fill_bytes(0xa5)?;
            for _ in 0..rng.random_range(1..=10) {
                graph.launch(&self.worker.stream)?;
            }
            self.worker.stream.synchronize()?;
            self.judge_all(&parts, outputs.copy_to_host()?)?;
        }
        Ok(())
    }
}
