//! The best few elements of rows, axes and whole arrays, compared with a stable sort on the CPU.

use proptest::prelude::*;
use rand::Rng;
use warpfold::{
    ArgMax, ArgMin, Array, BottomK, Device, Error, Item, Operation, Ranked, RowOperation, TopK,
    half::{bf16, f16},
};

use super::{
    LENGTHS,
    best::{Ordered, expected, found, text},
    seed::random,
    support::devices,
};

/// An operation of this file.
trait Top<T: Item, const K: usize>:
    RowOperation<T, RowRaw = Ranked<T, K>, Output = Ranked<T, K>>
{
}
impl<T: Item, const K: usize, O> Top<T, K> for O where
    O: RowOperation<T, RowRaw = Ranked<T, K>, Output = Ranked<T, K>>
{
}

/// Rows that lie one behind the other, and the whole array.
fn check<T: Ordered, const K: usize>(device: &Device, values: &[T], length: usize)
where
    TopK<K>: Top<T, K>,
    BottomK<K>: Top<T, K>,
{
    fn of<T: Ordered, const K: usize, O: Top<T, K>>(
        device: &Device,
        values: &[T],
        length: usize,
        (operation, is_largest): (O, bool),
    ) {
        let rows = values.len() / length;
        let values = &values[..rows * length];
        let matrix = Array::new(values, &[rows as u64, length as u64]).unwrap();
        let results = device.reduce_rows(&matrix, operation).unwrap();
        let name = format!("{} {K} of {}", <O as Operation<T>>::NAME, T::NAME);
        for (number, (row, best)) in values.chunks(length).zip(&results).enumerate() {
            let expected = expected(row, K, is_largest);
            assert_eq!(found(best), expected, "{name}: row {number} of {rows} of {length}");
            assert_eq!(best.len(), K.min(length));
        }
        let whole = device.reduce(values, operation).unwrap();
        assert_eq!(found(&whole), expected(values, K, is_largest), "{name}: {}", values.len());
    }
    of(device, values, length, (TopK::<K>, true));
    of(device, values, length, (BottomK::<K>, false));
}

/// All counts in turn, because each of them needs a kernel to be loaded.
fn check_all<T: Ordered>(device: &Device, values: &[T])
where
    TopK<1>: Top<T, 1>,
    TopK<3>: Top<T, 3>,
    TopK<4>: Top<T, 4>,
    TopK<5>: Top<T, 5>,
    TopK<8>: Top<T, 8>,
    BottomK<1>: Top<T, 1>,
    BottomK<3>: Top<T, 3>,
    BottomK<4>: Top<T, 4>,
    BottomK<5>: Top<T, 5>,
    BottomK<8>: Top<T, 8>,
{
    for (turn, length) in LENGTHS.into_iter().enumerate() {
        // Long rows take long on the simulator, so there are fewer of them.
        let values = &values[..(length * 20).clamp(2 * length, values.len())];
        match turn % 5 {
            0 => check::<T, 1>(device, values, length),
            1 => check::<T, 3>(device, values, length),
            2 => check::<T, 4>(device, values, length),
            3 => check::<T, 5>(device, values, length),
            _ => check::<T, 8>(device, values, length),
        }
        check::<T, 8>(device, values, length);
    }
}

macro_rules! of_types {
    ($($test:ident: $type:ty, $make:expr;)*) => {$(
        #[test]
        fn $test() {
            let make: fn(u32) -> $type = $make;
            for device in devices() {
                let mut random = random();
                let values: Vec<$type> = (0..18_000).map(|_| make(random.random())).collect();
                check_all(&device, &values);
            }
        }
    )*};
}

// Some types have few values, so that there are ties; floats have NaNs, infinities and zeros.
of_types! {
    bytes: u8, |x| x as u8;
    signed_integers: i32, |x| x.cast_signed() >> (x & 31);
    unsigned_integers: u32, |x| x % 50;
    long_signed_integers: i64, |x| i64::from(x.cast_signed()) << (x & 31);
    long_unsigned_integers: u64, |x| u64::from(x) << (x & 31);
    halves: f16, |x| f16::from_bits(x as u16);
    bfloats: bf16, |x| bf16::from_bits((x as u16) & 0xff80);
    floats: f32, |x| f32::from_bits(if x % 3 == 0 { x } else { x & 0xff80_0000 });
    doubles: f64, |x| f64::from_bits(u64::from(x) << 32);
}

/// Every count, at rows that are shorter and longer than it.
#[test]
fn every_count() {
    fn of<const K: usize>(device: &Device, values: &[f32])
    where
        TopK<K>: Top<f32, K>,
        BottomK<K>: Top<f32, K>,
    {
        for length in [1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 64] {
            check::<f32, K>(device, values, length);
        }
    }
    let mut random = random();
    let values: Vec<f32> = (0..512).map(|_| random.random_range(-9..9) as f32 / 2.0).collect();
    for device in devices() {
        of::<1>(&device, &values);
        of::<2>(&device, &values);
        of::<3>(&device, &values);
        of::<4>(&device, &values);
        of::<5>(&device, &values);
        of::<6>(&device, &values);
        of::<7>(&device, &values);
        of::<8>(&device, &values);
    }
}

/// Rows whose tasks meet in the workspace, on two levels.
#[test]
fn long_rows() {
    let mut random = random();
    let values: Vec<f64> =
        (0..150_000).map(|_| random.random_range(0.0..1e9_f64).floor()).collect();
    for device in devices() {
        check::<f64, 8>(&device, &values, 75_000);
        check::<f64, 2>(&device, &values[1..], 149_999);
    }
}

/// NaNs come behind all numbers, infinities are numbers, and +0 is greater than -0.
#[test]
fn special_values() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let row = [-0.0, nan, 0.0, -inf, inf, nan, -0.0, 0.0];
    let indices = |best: Ranked<f32, 8>| best.iter().map(|best| best.index).collect::<Vec<_>>();
    for device in devices() {
        let greatest = device.reduce(&row, TopK::<8>).unwrap();
        assert_eq!(indices(greatest), [4, 2, 7, 0, 6, 3, 1, 5]);
        assert!(greatest[7].value.is_nan());
        let least = device.reduce(&row, BottomK::<8>).unwrap();
        assert_eq!(indices(least), [3, 0, 6, 2, 7, 4, 1, 5]);
        // The worst value of a type is an element like any other.
        let worst = [i32::MIN; 3];
        assert_eq!(device.reduce(&worst, TopK::<8>).unwrap().len(), 3);
        assert_eq!(device.reduce(&[u64::MAX; 2], BottomK::<4>).unwrap()[1].index, 1);
    }
}

/// The best one element is that of `ArgMax` and `ArgMin`.
#[test]
fn one_is_the_extreme() {
    let mut random = random();
    let values: Vec<f16> = (0..6000).map(|_| f16::from_bits(random.random())).collect();
    for device in devices() {
        for length in [1u64, 3, 60, 200] {
            let matrix = Array::new(&values, &[6000 / length, length]).unwrap();
            let (top, max) =
                (device.reduce_rows(&matrix, TopK::<1>), device.reduce_rows(&matrix, ArgMax));
            let (bottom, min) =
                (device.reduce_rows(&matrix, BottomK::<1>), device.reduce_rows(&matrix, ArgMin));
            for (best, one) in top.unwrap().iter().zip(max.unwrap()) {
                assert_eq!(found(best), text([(one.value, one.index)].into_iter()));
            }
            for (best, one) in bottom.unwrap().iter().zip(min.unwrap()) {
                assert_eq!(found(best), text([(one.value, one.index)].into_iter()));
            }
        }
    }
}

/// Arrays with any strides give the rows that plain loops find.
#[test]
fn strided_and_permuted_arrays() {
    let mut random = random();
    let values: Vec<u32> = (0..60_000).map(|_| random.random_range(0..3000)).collect();
    for device in devices() {
        let buffer = device.upload(&values).unwrap();
        for (shape, strides, offset) in [
            ([1, 7, 900], [0, 1, 7], 0),
            ([2, 40, 300], [9, 1, 40], 5),
            ([3, 5, 33], [1000, 2, 10], 1),
            ([4, 6, 700], [-5, 7, -41], 29_000),
            ([1, 70, 130], [0, 0, 2], 3),
            ([33, 2, 64], [64, 20_000, 1], 0),
            ([1, 2, 9001], [0, 4, 6], 11),
        ] {
            let array = Array::with_strides(&buffer, &shape, &strides, offset).unwrap();
            let results = device.reduce_axes(&array, &[-1], TopK::<5>).unwrap();
            for (row, best) in results.iter().enumerate() {
                let (i, j) = (row as i64 / shape[1] as i64, row as i64 % shape[1] as i64);
                let start = offset as i64 + i * strides[0] + j * strides[1];
                let row: Vec<u32> = (0..shape[2] as i64)
                    .map(|k| values[(start + k * strides[2]) as usize])
                    .collect();
                assert_eq!(found(best), expected(&row, 5, true), "{shape:?} {strides:?} {i} {j}");
            }
        }
    }
}

/// The results of a launch that the caller reads from the device itself: `K` pairs for each row.
#[test]
fn raw_results_lie_side_by_side() {
    for device in devices() {
        let scores = device.upload(&[1i64, 9, 3, -4, 0, 9]).unwrap();
        let (mut output, stream) = (device.alloc(3).unwrap(), device.stream().unwrap());
        let reducer = device.row_reducer::<i64, _>(TopK::<3>).unwrap();
        let matrix = Array::new(&scores, &[3, 2]).unwrap();
        let pending = reducer.reduce_rows_into(&matrix, &mut output, &stream).unwrap();
        stream.synchronize().unwrap();
        let raw = output.copy_to_host().unwrap();
        let words: &[u64] = bytemuck::cast_slice(&raw);
        let none = u64::MAX;
        assert_eq!(words[..12], [9, 1, 1, 0, 0, none, 3, 0, (-4i64).cast_unsigned(), 1, 0, none]);
        assert_eq!(pending.finish(raw[2]).unwrap().len(), 2);
    }
}

/// Without elements there is nothing to find, which is no error.
#[test]
fn no_elements() {
    for device in devices() {
        assert!(device.reduce(&[0f32; 0], TopK::<2>).unwrap().is_empty());
        let empty = device.upload(&[0f64; 0]).unwrap();
        let rows = Array::new(&empty, &[5, 0]).unwrap();
        let results = device.reduce_rows(&rows, BottomK::<7>).unwrap();
        assert_eq!(results.len(), 5);
        assert!(results.iter().all(|best| best.is_empty()));
        let none = Array::new(&empty, &[0, 5]).unwrap();
        assert!(device.reduce_rows(&none, TopK::<7>).unwrap().is_empty());
    }
}

/// Indices have 32 bits in the kernel, so a longer row is refused.
#[test]
fn a_row_that_is_too_long_is_refused() {
    for device in devices() {
        let one = device.upload(&[1u8]).unwrap();
        for (length, is_refused) in [(1 << 32, true), (10, false)] {
            let repeated = Array::with_strides(&one, &[1, length], &[0, 0], 0).unwrap();
            match device.reduce_rows(&repeated, TopK::<2>) {
                Ok(results) => assert!(!is_refused && results[0].len() == 2),
                Err(Error::TooLong { n, most, .. }) => {
                    assert!(is_refused && (n, most) == (1 << 32, (1 << 32) - 1));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// An array on the host that is reduced in chunks gives the same, because the chunks' lists are
/// merged and their indices moved.
#[test]
fn chunks_of_the_host() {
    let mut random = random();
    let values: Vec<f32> = (0..5000).map(|_| random.random_range(0..400) as f32).collect();
    for device in devices() {
        let reducer = device.reducer::<f32, _>(TopK::<6>).unwrap().with_memory_limit(1000);
        assert_eq!(found(&reducer.reduce(&values).unwrap()), expected(&values, 6, true));
        let reducer = device.reducer::<f32, _>(BottomK::<2>).unwrap().with_memory_limit(64);
        assert_eq!(found(&reducer.reduce(&values).unwrap()), expected(&values, 2, false));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A row gives the same alone and among others, whatever they are.
    #[test]
    fn a_row_is_the_same_alone_and_among_others(
        seed in any::<u64>(), rows in 1usize..40, length in 1usize..2500, values in 1u32..100
    ) {
        use rand::{SeedableRng as _, rngs::StdRng};
        let mut random = StdRng::seed_from_u64(seed);
        let length = if rows > 3 { length % 200 + 1 } else { length };
        let all: Vec<i32> = (0..rows * length).map(|_| random.random_range(0..values) as i32).collect();
        let device = Device::simulator();
        let matrix = Array::new(&all, &[rows as u64, length as u64]).unwrap();
        let among = device.reduce_rows(&matrix, TopK::<8>).unwrap();
        let row = random.random_range(0..rows);
        let alone = &all[row * length..][..length];
        let alone = Array::new(alone, &[1, length as u64]).unwrap();
        prop_assert_eq!(&device.reduce_rows(&alone, TopK::<8>).unwrap()[0], &among[row]);
        prop_assert_eq!(found(&among[row]), expected(&all[row * length..][..length], 8, true));
    }
}
