//! The raw results on all ranks, beside those of one device.

use bytemuck::bytes_of;
use half::{bf16, f16};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    All, AllWhere, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, BottomK,
    Buffer, CheckedSum, CompensatedSum, CountNonzero, CountWhere, Device, Dot, Group, Input, Is,
    Item, LogSumExp, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, NanMean, NanSum, Norm2,
    Operation, Partial, Product, RankTransport, Ranks, ReproducibleSum, SoftmaxStats,
    SquaredDistance, Sum, SumAbs, SumSquares, TopK, WideSum, WrappingSum,
    reducer::{DeviceInput, Single},
};

use crate::{
    meet::{self, Place},
    parts::cut,
    seed,
};

/// Lengths at the edges of warps, blocks and packs, and one of several blocks.
const LENGTHS: [usize; 9] = [33, 0, 1, 2, 31, 1023, 1025, 4097, 20_001];

/// A type of elements that has random values.
pub(crate) trait Random: Item {
    /// Any number but NaN, among them special ones.
    fn any(random: &mut ChaCha8Rng) -> Self;
    /// A small number.
    fn small(random: &mut ChaCha8Rng) -> Self;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Random for $t {
            fn any(random: &mut ChaCha8Rng) -> Self {
                if random.random_range(0..8) == 0 { $t::MIN } else { random.random() }
            }
            fn small(random: &mut ChaCha8Rng) -> Self {
                random.random_range(0..3)
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ident: $from:expr;)*) => {$(
        impl Random for $t {
            fn any(random: &mut ChaCha8Rng) -> Self {
                let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
                $from(match random.random_range(0..40) {
                    number @ 0..4 => special[number],
                    _ => random.random_range(-1e3..1e3),
                })
            }
            fn small(random: &mut ChaCha8Rng) -> Self {
                $from(random.random_range(-1.0..1.0))
            }
        }
    )*};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 }
floats! { f16: f16::from_f32; bf16: bf16::from_f32; f32: |x: f32| x; f64: f64::from; }

/// A rank, and a source of random numbers that is the same on all ranks.
struct Rank {
    ranks: Ranks<meet::Any>,
    alone: Device,
    random: ChaCha8Rng,
    calls: usize,
}

/// Whether the result of the whole array depends on the order in which elements are combined.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Matters,
    DoesNotMatter,
}
use Order::{DoesNotMatter, Matters};

impl Rank {
    /// The raw results are those that the host makes of the results of the shards, bit for bit; and
    /// the result is that of one device that has the whole array.
    fn same<T, O>(&mut self, operation: O, order: Order, value: fn(&mut ChaCha8Rng) -> T)
    where
        T: Item,
        O: Operation<T, Arity = Single, Output: std::fmt::Debug>,
        for<'a> &'a Buffer<T>: DeviceInput + Input<Item = T, Arity = Single>,
    {
        let device = self.ranks.device();
        let stream = device.stream().unwrap();
        let mut output = device.alloc(1).unwrap();
        // Each operation has some of the lengths, because there are many operations.
        for n in [0, 1, 2].map(|more| LENGTHS[(self.calls + more) % LENGTHS.len()]) {
            let values: Vec<T> = (0..n).map(|_| value(&mut self.random)).collect();
            let shards = cut(&mut self.random, &values, self.ranks.ranks() as usize);
            let shard = shards[self.ranks.rank() as usize];
            let made = self.ranks.all_reducer::<T, O>(operation, shard.len());
            if n == 0 && O::identity().is_none() {
                assert_eq!(
                    made.unwrap_err().to_string(),
                    format!("the {} of no elements is not defined", O::NAME)
                );
                continue;
            }
            let mut all = made.unwrap();
            assert_eq!(all.transport(), RankTransport::Host);
            let shard = device.upload(shard).unwrap();
            let pending = all.reduce_into(&shard, &mut output, &stream).unwrap();
            all.check().unwrap();
            let raw = output.copy_to_host().unwrap()[0];

            let reducer = self.alone.reducer::<T, O>(operation).unwrap();
            let mut folded = Partial::EMPTY;
            for shard in &shards {
                let shard = self.alone.upload(shard).unwrap();
                folded = folded.append(reducer.partial(&shard).unwrap());
            }
            let expected = folded.raw().or_else(O::identity).unwrap();
            assert_eq!(bytes_of(&raw), bytes_of(&expected), "{} of {}", O::NAME, T::NAME);
            let result = format!("{:?}", pending.finish(raw));
            assert_eq!(result, format!("{:?}", folded.finish()));
            if order == Order::DoesNotMatter {
                let whole = self.alone.upload(&values).unwrap();
                assert_eq!(result, format!("{:?}", reducer.reduce(&whole)), "{}", O::NAME);
            }
        }
        self.calls += 1;
    }
}

macro_rules! each_type {
    ($rank:ident, $operation:expr, $order:expr, $value:ident: $($t:ident)*) => {
        $($rank.same::<$t, _>($operation, $order, $t::$value);)*
    };
}

/// Runs `work` on 1 to 4 ranks, over TCP and through files.
fn on_ranks(work: impl Fn(&mut Rank) + Sync) {
    let seed: u64 = seed::random().random();
    for count in 1..=4 {
        let [tcp, folder] = Place::both();
        let place = if count % 2 == 0 { folder } else { tcp };
        place.all(count, |rank, meeting| {
            let device = Device::simulator();
            let ranks = Ranks::join(&device, meeting).unwrap();
            assert_eq!((ranks.rank(), ranks.ranks()), (rank, count));
            assert_eq!(ranks.transport(), RankTransport::Host);
            let random = ChaCha8Rng::seed_from_u64(seed);
            work(&mut Rank { ranks, alone: device, random, calls: count as usize });
        });
    }
}

#[test]
fn sums_and_products() {
    on_ranks(|rank| {
        each_type!(rank, Sum, DoesNotMatter, any: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128);
        each_type!(rank, Sum, Matters, small: f16 bf16 f32 f64);
        each_type!(rank, Product, DoesNotMatter, any: i8 u16 i32 u64 i128);
        each_type!(rank, Product, Matters, small: bf16 f32 f64);
        each_type!(rank, WrappingSum, DoesNotMatter, any: i32 u32);
        each_type!(rank, CheckedSum, DoesNotMatter, any: i8 i64 u64 i128 u128);
        each_type!(rank, ReproducibleSum, DoesNotMatter, any: f16 bf16 f32 f64);
        each_type!(rank, CompensatedSum, Matters, small: f16 bf16 f32 f64);
        each_type!(rank, WideSum, Matters, small: f16 bf16 f32);
        each_type!(rank, NanSum, Matters, small: f16 f64);
        each_type!(rank, NanMean, Matters, small: f32);
    });
}

#[test]
fn norms_counts_and_moments() {
    on_ranks(|rank| {
        each_type!(rank, SumAbs, DoesNotMatter, any: i8 i64 i128 u32);
        each_type!(rank, SumSquares, DoesNotMatter, any: i16 u64);
        each_type!(rank, Norm2, Matters, small: u8 f32);
        each_type!(rank, MaxAbs, DoesNotMatter, any: i8 i16 i32 i64 i128 f16 f64);
        each_type!(rank, CountNonzero, DoesNotMatter, any: i8 u64 i128 f16 f64);
        each_type!(rank, Any, DoesNotMatter, any: u8 f32);
        each_type!(rank, All, DoesNotMatter, any: i32 f64);
        each_type!(rank, CountWhere(Is::Greater(1)), DoesNotMatter, any: i64);
        each_type!(rank, AllWhere(Is::Less(3.0)), DoesNotMatter, any: f32);
        each_type!(rank, Moments, Matters, small: i8 u32 f16 f64);
        each_type!(rank, LogSumExp, Matters, small: f32 f64);
        each_type!(rank, SoftmaxStats, Matters, small: f16 f32);
    });
}

#[test]
fn extremes_and_where_they_are() {
    on_ranks(|rank| {
        each_type!(rank, Min, DoesNotMatter, any: i8 u8 i16 u16 i32 f16 bf16 f32 f64);
        each_type!(rank, Max, DoesNotMatter, any: u32 i64 u64 i128 u128 f64);
        each_type!(rank, MinMax, DoesNotMatter, any: i8 u16 i64 u128 f32);
        each_type!(rank, Minimum, DoesNotMatter, any: f16 bf16 f32 f64);
        each_type!(rank, Maximum, DoesNotMatter, any: i16 f16 f64);
        // Many equal elements, of which the first one counts.
        each_type!(rank, ArgMin, DoesNotMatter, small: i8 u8 i16 u32 i64 u128 f32 f64);
        each_type!(rank, ArgMax, DoesNotMatter, small: i8 u8 u16 i32 u64 i128 f16 bf16 f64);
        each_type!(rank, ArgMinimum, DoesNotMatter, small: u8 f16 f32);
        each_type!(rank, ArgMaximum, DoesNotMatter, small: bf16 f64);
        each_type!(rank, TopK::<5>, DoesNotMatter, small: u8 i64 f32);
        each_type!(rank, BottomK::<3>, DoesNotMatter, small: i32 f16);
        each_type!(rank, BitAnd, DoesNotMatter, any: i8 u16 i32 u64 i128);
        each_type!(rank, BitOr, DoesNotMatter, any: u8 i16 u32 i64 u128);
        each_type!(rank, BitXor, DoesNotMatter, any: u8 u16 u32 u64 u128);
    });
}

#[test]
fn pairs() {
    on_ranks(|Rank { ranks, random, .. }| {
        let device = ranks.device();
        let stream = device.stream().unwrap();
        for n in LENGTHS {
            let values: Vec<i32> = (0..n).map(|_| random.random_range(-9..9)).collect();
            let mine = cut(random, &values, ranks.ranks() as usize)[ranks.rank() as usize];
            let more: Vec<i32> = mine.iter().map(|x| x + 1).collect();
            let [first, second] = [mine, &more].map(|shard| device.upload(shard).unwrap());
            let mut dot = ranks.all_reducer::<i32, _>(Dot, mine.len()).unwrap();
            let mut output = device.alloc(1).unwrap();
            let pending = dot.reduce_into((&first, &second), &mut output, &stream).unwrap();
            let found = pending.finish(output.copy_to_host().unwrap()[0]).unwrap();
            let expected: i64 = values.iter().map(|&x| i64::from(x) * i64::from(x + 1)).sum();
            assert_eq!(found, expected);

            let [first, second] = [mine, &more].map(|shard| {
                let floats: Vec<f64> = shard.iter().map(|&x| x.into()).collect();
                device.upload(&floats).unwrap()
            });
            let mut distance = ranks.all_reducer::<f64, _>(SquaredDistance, mine.len()).unwrap();
            let mut output = device.alloc(1).unwrap();
            distance.reduce_into((&first, &second), &mut output, &stream).unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [n as f64]);
        }
    });
}

/// A group of devices in one process has the same bits.
#[test]
fn bits_are_those_of_a_group() {
    let seed: u64 = seed::random().random();
    for count in 2..=4u32 {
        let place = Place::tcp();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let values: Vec<f32> = (0..30_001).map(|_| random.random_range(-1.0..1.0)).collect();
        let shards = cut(&mut random, &values, count as usize);
        let raws = place.all(count, |rank, meeting| {
            let device = Device::simulator();
            let ranks = Ranks::join(&device, meeting).unwrap();
            let shard = device.upload(shards[rank as usize]).unwrap();
            let (mut total, stream) = (device.alloc(1).unwrap(), device.stream().unwrap());
            let mut sum = ranks.all_reducer::<f32, _>(Sum, shard.len()).unwrap();
            let mut raws = Vec::new();
            // The same reducer serves many calls.
            for _ in 0..3 {
                sum.reduce_into(&shard, &mut total, &stream).unwrap();
                raws.push(total.copy_to_host().unwrap()[0]);
            }
            raws
        });
        let devices: Vec<_> = (0..count).map(|_| Device::simulator()).collect();
        let group = Group::of(&devices).unwrap();
        let shards: Vec<_> =
            devices.iter().zip(&shards).map(|(d, s)| d.upload(s).unwrap()).collect();
        let mut totals: Vec<_> = devices.iter().map(|device| device.alloc(1).unwrap()).collect();
        let mut sum = group.all_reducer::<f32, _>(Sum).unwrap();
        sum.reduce_into(&shards, &mut totals, &group.streams().unwrap()).unwrap();
        let expected = totals[0].copy_to_host().unwrap()[0];
        for raw in raws.into_iter().flatten() {
            assert_eq!(f32::to_bits(raw), f32::to_bits(expected));
        }
    }
}
