//! The best few elements of segments and spans, compared with a stable sort on the CPU.

use proptest::prelude::*;
use rand::{Rng, SeedableRng as _, rngs::StdRng};
use warpfold::{
    Array, BottomK, Device, Error, Operation, Ranked, SegmentOperation, SegmentStatus, TopK,
    device::DeviceClass,
    half::{bf16, f16},
};

use super::{
    best::{Ordered, expected, found},
    offsets,
    seed::random,
    segments,
    support::devices,
};

/// An operation of this file.
trait Top<T: Ordered, const K: usize>:
    SegmentOperation<T, Raw = Ranked<T, K>, Output = Ranked<T, K>>
{
}
impl<T: Ordered, const K: usize, O> Top<T, K> for O where
    O: SegmentOperation<T, Raw = Ranked<T, K>, Output = Ranked<T, K>>
{
}

/// Checks both operations on the segments between these offsets.
fn check<T: Ordered, const K: usize>(device: &Device, values: &[T], offsets: &[u32], name: &str)
where
    TopK<K>: Top<T, K>,
    BottomK<K>: Top<T, K>,
{
    fn of<T: Ordered, const K: usize, O: Top<T, K>>(
        device: &Device,
        (values, offsets): (&[T], &[u32]),
        (operation, is_largest): (O, bool),
        name: &str,
    ) {
        let results = device.reduce_segments(values, offsets, operation).unwrap();
        assert_eq!(results.len(), offsets.len() - 1);
        for (i, (segment, best)) in segments(values, offsets).zip(&results).enumerate() {
            let name = format!("{} {K} of {}, {name}", <O as Operation<T>>::NAME, T::NAME);
            let length = segment.len();
            let expected = expected(segment, K, is_largest);
            assert_eq!(found(best), expected, "{name}: segment {i} of {length}");
            assert_eq!(best.len(), K.min(length));
        }
    }
    of(device, (values, offsets), (TopK::<K>, true), name);
    of(device, (values, offsets), (BottomK::<K>, false), name);
}

/// Lengths of segments in three orders: neighbours in a tile, mixed with longer ones, and with
/// segments of several tiles.
const LENGTHS: [&[usize]; 3] = [
    &[1, 0, 1, 2, 3, 7, 8, 9, 0, 0, 31, 32, 33, 5, 5, 5, 4, 1],
    &[40, 700, 1, 257, 0, 130, 64, 65, 2],
    &[3, 2049, 0, 5000, 1023, 1024, 1025, 1],
];

/// The counts at which something changes, for both kernels of a type.
fn check_all<T: Ordered>(device: &Device, make: impl FnMut() -> T)
where
    TopK<1>: Top<T, 1>,
    TopK<4>: Top<T, 4>,
    TopK<5>: Top<T, 5>,
    TopK<8>: Top<T, 8>,
    BottomK<1>: Top<T, 1>,
    BottomK<4>: Top<T, 4>,
    BottomK<5>: Top<T, 5>,
    BottomK<8>: Top<T, 8>,
{
    let values: Vec<T> = std::iter::repeat_with(make).take(12_000).collect();
    for (first, lengths) in LENGTHS.into_iter().enumerate() {
        // A segment of less than a word may begin anywhere in one.
        let offsets = offsets(first, lengths);
        let name = format!("{lengths:?}");
        check::<T, 1>(device, &values, &offsets, &name);
        check::<T, 4>(device, &values, &offsets, &name);
        check::<T, 5>(device, &values, &offsets, &name);
        check::<T, 8>(device, &values, &offsets, &name);
    }
}

macro_rules! of_types {
    ($($test:ident: $type:ty, $make:expr;)*) => {$(
        #[test]
        fn $test() {
            let make: fn(u32) -> $type = $make;
            let mut random = random();
            for device in devices() {
                check_all(&device, || make(random.random()));
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

/// Segments of many tasks, which meet in the workspace, beside others; on devices that divide the
/// work differently, and with both kinds of PTX.
#[test]
fn long_segments_on_each_class_of_device() {
    let mut random = random();
    let values: Vec<f64> =
        (0..170_000).map(|_| random.random_range(0.0..1e6_f64).floor()).collect();
    let offsets = offsets(1, &[2, 70_000, 3, 0, 90_001, 1, 1000]);
    for device in devices() {
        for multiprocessors in [1, 132, 1000] {
            for generation in [(7, 5), (9, 0)] {
                let class = DeviceClass::new(multiprocessors, false, generation);
                let Ok(device) = device.with_class(class) else { continue };
                let name = format!("{multiprocessors} of {generation:?}");
                check::<f64, 8>(&device, &values, &offsets, &name);
                check::<f64, 2>(&device, &values, &offsets, &name);
            }
        }
    }
}

/// NaNs come behind all numbers, of equal elements the first one comes first, and the worst value
/// of a type is an element like any other.
#[test]
fn special_values() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let values = [9.0, -0.0, nan, 0.0, -inf, inf, nan, -0.0, 0.0, nan, 5.0];
    let indices = |best: &Ranked<f32, 8>| best.iter().map(|best| best.index).collect::<Vec<_>>();
    for device in devices() {
        let offsets = [1u32, 9, 9, 10];
        let greatest = device.reduce_segments(&values, &offsets, TopK::<8>).unwrap();
        assert_eq!(indices(&greatest[0]), [4, 2, 7, 0, 6, 3, 1, 5]);
        assert!(greatest[1].is_empty() && greatest[2][0].value.is_nan());
        assert_eq!(greatest[2].len(), 1);
        let least = device.reduce_segments(&values, &offsets, BottomK::<8>).unwrap();
        assert_eq!(indices(&least[0]), [3, 0, 6, 2, 7, 4, 1, 5]);
        let worst = [i32::MIN; 5];
        let best = device.reduce_segments(&worst, &[0u32, 2, 5], TopK::<4>).unwrap();
        assert_eq!((best[0].len(), best[1].len()), (2, 3));
        // A number in the whole is that in the segment, moved.
        assert_eq!(best[1][2].moved(2).index, 4);
    }
}

/// Spans overlap, lie in any order, and are empty or short.
#[test]
fn spans() {
    let mut random = random();
    let values: Vec<f16> =
        (0..20_001).map(|_| f16::from_f32(random.random_range(-99i8..99).into())).collect();
    let mut spans = vec![(0, 20_001), (0, 20_001), (20_000, 20_001), (7, 7), (3, 9), (5, 6)];
    for _ in 0..60 {
        let begin = random.random_range(0..20_000);
        let most = if random.random_range(0..10) == 0 { 9000 } else { 70 };
        let length = random.random_range(0..most);
        spans.push((begin, (begin + length).min(20_001)));
    }
    let (begins, ends): (Vec<u32>, Vec<u32>) = spans.iter().copied().unzip();
    for device in devices() {
        let greatest = device.reduce_spans(&values, &begins, &ends, TopK::<6>).unwrap();
        let least = device.reduce_spans(&values, &begins, &ends, BottomK::<3>).unwrap();
        assert_eq!((greatest.len(), least.len()), (spans.len(), spans.len()));
        for (i, &(begin, end)) in spans.iter().enumerate() {
            let span = &values[begin as usize..end as usize];
            assert_eq!(found(&greatest[i]), expected(span, 6, true), "span {begin}..{end}");
            assert_eq!(found(&least[i]), expected(span, 3, false), "span {begin}..{end}");
        }
    }
}

/// The results of a launch that the caller reads from the device itself: `K` pairs for each
/// segment. A wrong offset is named.
#[test]
fn raw_results_lie_side_by_side() {
    for device in devices() {
        let scores = device.upload(&[1i64, 9, 3, -4, 0, 9]).unwrap();
        let (mut output, stream) = (device.alloc(3).unwrap(), device.stream().unwrap());
        let reducer = device.segment_reducer::<i64, _>(TopK::<3>).unwrap();
        let mut call = |offsets: &[u32]| {
            let offsets = device.upload(offsets).unwrap();
            let mut status = device.upload(&[SegmentStatus::default()]).unwrap();
            let pending = reducer
                .reduce_segments_into(&scores, &offsets, &mut output, &mut status, &stream)
                .unwrap();
            stream.synchronize().unwrap();
            pending.check(status.copy_to_host().unwrap()[0], &stream)?;
            Ok((pending, output.copy_to_host().unwrap()))
        };
        let (pending, raw) = call(&[0, 2, 2, 6]).unwrap();
        let words: &[u64] = bytemuck::cast_slice(&raw);
        let none = u64::MAX;
        assert_eq!(words, [9, 1, 1, 0, 0, none, 0, none, 0, none, 0, none, 9, 3, 3, 0, 0, 2]);
        assert_eq!(pending.finish(raw[0], 0, 2).unwrap().len(), 2);
        assert!(pending.finish(raw[1], 1, 0).unwrap().is_empty());
        let error = call(&[0, 2, 7, 6]).unwrap_err();
        assert!(matches!(error, Error::Segment { segment: 1, elements: 6 }), "{error}");
        assert!(call(&[0, 2, 2, 6]).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Segments between random offsets give what a row of the same elements gives.
    #[test]
    fn a_segment_is_as_a_row(
        seed in any::<u64>(), count in 1usize..200, most in 0usize..90, values in 1u32..1000
    ) {
        let mut random = StdRng::seed_from_u64(seed);
        let lengths: Vec<usize> = (0..count)
            .map(|i| if i % 64 == 1 { random.random_range(0..5000) } else { random.random_range(0..=most) })
            .collect();
        let offsets = offsets(random.random_range(0..9), &lengths);
        let n = *offsets.last().unwrap() as usize;
        let all: Vec<u32> = (0..n).map(|_| random.random_range(0..values)).collect();
        let device = Device::simulator();
        let results = device.reduce_segments(&all, &offsets, BottomK::<8>).unwrap();
        for (segment, best) in segments(&all, &offsets).zip(&results) {
            prop_assert_eq!(found(best), expected(segment, 8, false));
        }
        let longest = segments(&all, &offsets).zip(&results).max_by_key(|(segment, _)| segment.len());
        let (segment, best) = longest.unwrap();
        let row = Array::new(segment, &[1, segment.len() as u64]).unwrap();
        prop_assert_eq!(&device.reduce_rows(&row, BottomK::<8>).unwrap()[0], best);
    }
}
