//! Inputs that are too large for a reference in plain Rust. Their elements repeat, so a formula
//! gives the result.

use anyhow::ensure;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{ArgMax, Buffer, CountNonzero, Device, MinMax, Sum};

use crate::{
    call::Worker,
    sample::{Sample, Whole as _},
};

/// One buffer for each of several element types. All threads share the buffers.
#[derive(Debug)]
pub(crate) struct Large {
    bytes: Repeating<u8>,
    ints: Repeating<i32>,
    longs: Repeating<u64>,
    floats: Repeating<f32>,
    doubles: Repeating<f64>,
}

impl Large {
    /// Allocates buffers of `bytes` bytes each.
    pub(crate) fn new(device: &Device, bytes: usize) -> anyhow::Result<Self> {
        Ok(Self {
            bytes: Repeating::new(device, bytes, 251, 0)?,
            ints: Repeating::new(device, bytes, 1021, -510)?,
            longs: Repeating::new(device, bytes, 1021, 0)?,
            // The elements are small and of both signs, so sums in any order stay small and exact.
            floats: Repeating::new(device, bytes, 3, -1)?,
            doubles: Repeating::new(device, bytes, 1021, -510)?,
        })
    }

    /// Reduces a random part of one of the buffers.
    pub(crate) fn call(&self, worker: &Worker<'_>, rng: &mut ChaCha8Rng) -> anyhow::Result<()> {
        match rng.random_range(0..5) {
            0 => self.bytes.call(worker, rng),
            1 => self.ints.call(worker, rng),
            2 => self.longs.call(worker, rng),
            3 => self.floats.call(worker, rng),
            _ => self.doubles.call(worker, rng),
        }
    }
}

/// A buffer in which element i is `i % period + least`.
#[derive(Debug)]
struct Repeating<T> {
    buffer: Buffer<T>,
    period: usize,
    least: i128,
}

impl<T: Sample> Repeating<T> {
    fn new(device: &Device, bytes: usize, period: usize, least: i128) -> anyhow::Result<Self> {
        let value = |i: usize| T::of((i % period) as i128 + least);
        let values: Vec<T> = (0..bytes / size_of::<T>()).map(value).collect();
        Ok(Self { buffer: device.upload(&values)?, period, least })
    }

    fn call(&self, worker: &Worker<'_>, rng: &mut ChaCha8Rng) -> anyhow::Result<()>
    where
        Sum: warpfold::Operation<T, Output = T::Wide, Arity = warpfold::reducer::Single>,
        MinMax: warpfold::Operation<
                T,
                Output = warpfold::Extremes<T>,
                Arity = warpfold::reducer::Single,
            >,
        ArgMax: warpfold::Operation<T, Output = warpfold::Indexed<T>, Arity = warpfold::reducer::Single>,
        CountNonzero: warpfold::Operation<T, Output = u64, Arity = warpfold::reducer::Single>,
    {
        let len = self.buffer.len();
        let start = rng.random_range(0..self.period);
        let n = rng.random_range(self.period..=len - start);
        let view = self.buffer.view(start..start + n);
        let value = |i: usize| ((start + i) % self.period) as i128 + self.least;
        // The total is the sum over the whole periods plus the sum over the rest.
        let total = |of: &dyn Fn(i128) -> i128| {
            let some = |count: usize| (0..count).map(|i| of(value(i))).sum::<i128>();
            some(self.period) * (n / self.period) as i128 + some(n % self.period)
        };
        let greatest = self.period as i128 - 1 + self.least;
        let (op, right) = match rng.random_range(0..4) {
            0 => {
                let sum = worker.device.reducer::<T, _>(Sum)?.reduce(view)?;
                ("Sum", sum.exact() == Some(total(&|x| x)))
            }
            1 => {
                let both = worker.device.reducer::<T, _>(MinMax)?.reduce(view)?;
                (
                    "MinMax",
                    both.min.exact() == Some(self.least) && both.max.exact() == Some(greatest),
                )
            }
            2 => {
                let found = worker.device.reducer::<T, _>(ArgMax)?.reduce(view)?;
                let first = (0..self.period).find(|i| value(*i) == greatest);
                (
                    "ArgMax",
                    found.value.exact() == Some(greatest) && Some(found.index as usize) == first,
                )
            }
            _ => {
                let count = worker.device.reducer::<T, _>(CountNonzero)?.reduce(view)?;
                ("CountNonzero", i128::from(count) == total(&|x| i128::from(x != 0)))
            }
        };
        ensure!(
            right,
            "{op} of {n} elements of {} from {start} on, which are i % {} + {}, is wrong",
            T::NAME,
            self.period,
            self.least
        );
        Ok(())
    }
}
