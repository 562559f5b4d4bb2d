//! Random elements, of which each device holds a copy, and the parts of them that calls reduce.

use std::ops::Range;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    Array, Buffer, Device, Group, View,
    device::Pod,
    reducer::{Arity, DeviceArrays, DeviceInput, Pair, Single},
};

use super::known::Drawn;

/// Random elements, of which the host and each device hold a copy.
pub(crate) struct Pool<T> {
    pub(crate) values: Vec<T>,
    pub(crate) buffers: Vec<Buffer<T>>,
}

impl<T: Drawn> Pool<T> {
    pub(crate) fn new(group: &Group, len: usize, rng: &mut ChaCha8Rng) -> anyhow::Result<Self> {
        let values: Vec<T> = (0..len).map(|_| T::draw(rng)).collect();
        let devices = group.devices().iter();
        let buffers = devices.map(|device| device.upload(&values)).collect::<Result<_, _>>()?;
        Ok(Self { values, buffers })
    }

    /// The parts of a shard of `len` elements, for the first input and for the second one.
    pub(crate) fn part(&self, len: usize, rng: &mut ChaCha8Rng) -> [Range<usize>; 2] {
        [(); 2].map(|()| {
            let start = rng.random_range(0..=self.values.len() - len);
            start..start + len
        })
    }
}

/// Memory for `len` results on each device, full of bytes that no kernel has written.
pub(crate) fn outputs<R: Pod>(group: &Group, len: usize) -> anyhow::Result<Vec<Buffer<R>>> {
    let output = |device: &Device| {
        let mut output = device.alloc(len)?;
        output.fill_bytes(0xa5)?;
        Ok(output)
    };
    group.devices().iter().map(output).collect()
}

/// The inputs of operations with so many of them, made of two parts.
pub(crate) trait Route<T: Drawn>: Arity {
    type Shard<'a>: DeviceInput<Item = T, Arity = Self> + Sync;
    type Arrays<'a>: DeviceArrays<Item = T, Arity = Self>;
    fn shard(parts: [View<'_, T>; 2]) -> Self::Shard<'_>;
    fn arrays<'a>(parts: &'a [Array<View<'a, T>>; 2]) -> Self::Arrays<'a>;
}

impl<T: Drawn> Route<T> for Single {
    type Shard<'a> = View<'a, T>;
    type Arrays<'a> = &'a Array<View<'a, T>>;
    fn shard([first, _]: [View<'_, T>; 2]) -> View<'_, T> {
        first
    }
    fn arrays<'a>([first, _]: &'a [Array<View<'a, T>>; 2]) -> &'a Array<View<'a, T>> {
        first
    }
}

impl<T: Drawn> Route<T> for Pair {
    type Shard<'a> = (View<'a, T>, View<'a, T>);
    type Arrays<'a> = (&'a Array<View<'a, T>>, &'a Array<View<'a, T>>);
    fn shard([first, second]: [View<'_, T>; 2]) -> Self::Shard<'_> {
        (first, second)
    }
    fn arrays<'a>([first, second]: &'a [Array<View<'a, T>>; 2]) -> Self::Arrays<'a> {
        (first, second)
    }
}

/// The lengths of the shards of a call. Many are 0, and most are short. They are not all
/// 0 if `has_identity` is not set.
pub(crate) fn lengths(
    devices: usize,
    most: usize,
    has_identity: bool,
    rng: &mut ChaCha8Rng,
) -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..devices)
        .map(|_| {
            if rng.random_ratio(1, 6) {
                return 0;
            }
            let power = 1 << rng.random_range(0..=most.max(1).ilog2());
            rng.random_range(0..=power).min(most)
        })
        .collect();
    if !has_identity && lengths.iter().all(|&len| len == 0) {
        lengths[rng.random_range(0..devices)] = 1;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn lengths_are_within_the_limits_and_often_0() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut zeros = 0;
        for _ in 0..1000 {
            let lengths = lengths(2, 4096, false, &mut rng);
            assert!(lengths.iter().all(|&len| len <= 4096) && lengths != [0, 0], "{lengths:?}");
            zeros += lengths.iter().filter(|&&len| len == 0).count();
        }
        assert!((200..1000).contains(&zeros), "{zeros}");
        let none: Vec<_> = (0..1000).map(|_| super::lengths(2, 4096, true, &mut rng)).collect();
        assert!(none.contains(&vec![0, 0]));
    }
}
