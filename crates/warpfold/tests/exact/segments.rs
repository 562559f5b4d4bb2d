//! Segments: by offsets, by keys, by flags, by lengths, and spans.

use rand::Rng;
use warpfold::{
    Array, Device, ReproducibleSum, SegmentOperation, SegmentStatus,
    device::DeviceClass,
    half::{bf16, f16},
    testing::{Instrument, Seen},
};

use super::{
    elements::{Element, check_sum, check_whole, sources},
    seed,
    support::devices,
};

/// Lengths of every kind, with empty segments.
const LENGTHS: [usize; 22] =
    [0, 1, 2, 3, 31, 32, 33, 0, 0, 129, 1000, 1023, 1024, 1025, 4, 5, 9001, 1, 2, 3, 4099, 0];

fn offsets(lengths: &[usize]) -> Vec<u32> {
    let mut end = 0;
    let ends = lengths.iter().map(|length| {
        end += length;
        end as u32
    });
    std::iter::once(0).chain(ends).collect()
}

fn check_segments<T: Element>()
where
    ReproducibleSum: SegmentOperation<T, Output = T::Sum, RowRaw = T::Sum>,
{
    let mut random = seed::random();
    let (offsets, total) = (offsets(&LENGTHS), LENGTHS.iter().sum::<usize>());
    for device in &devices() {
        for (name, source) in sources::<T>() {
            let elements: Vec<T> = (0..total).map(|_| source(&mut random)).collect();
            let what = || format!("{} of {name}", T::NAME);
            let sums = device.reduce_segments(&elements, &offsets, ReproducibleSum).unwrap();
            for (i, &sum) in sums.iter().enumerate() {
                let segment = &elements[offsets[i] as usize..offsets[i + 1] as usize];
                check_sum(sum, segment, &what);
                if i % 5 == 0 {
                    check_whole(device, sum, segment);
                }
            }
            let same = |others: &[T::Sum]| {
                let (sums, others): (&[u8], &[u8]) =
                    (bytemuck::cast_slice(&sums), bytemuck::cast_slice(others));
                assert_eq!(sums, others, "{}", what());
            };
            let lengths = LENGTHS.map(|length| length as u64);
            same(&device.reduce_by_length(&lengths, &elements, ReproducibleSum).unwrap());
            // Spans backwards.
            let begins: Vec<u32> = offsets[..LENGTHS.len()].iter().rev().copied().collect();
            let ends: Vec<u32> = offsets[1..].iter().rev().copied().collect();
            let mut spans =
                device.reduce_spans(&elements, &begins, &ends, ReproducibleSum).unwrap();
            spans.reverse();
            same(&spans);

            let mut keys = Vec::new();
            for (key, &length) in LENGTHS.iter().enumerate() {
                keys.extend(std::iter::repeat_n(key as u16, length));
            }
            let runs = device.reduce_by_key(&keys, &elements, ReproducibleSum).unwrap();
            let flags: Vec<u8> =
                (0..total).map(|i| u8::from(i == 0 || keys[i] != keys[i - 1])).collect();
            let by_flag = device.reduce_by_flag(&flags, &elements, ReproducibleSum).unwrap();
            let filled = sums.iter().zip(LENGTHS).filter(|(_, length)| *length > 0);
            let filled: Vec<T::Sum> = filled.map(|(&sum, _)| sum).collect();
            let filled: &[u8] = bytemuck::cast_slice(&filled);
            assert_eq!(bytemuck::cast_slice::<_, u8>(&runs.results), filled, "{}", what());
            assert_eq!(bytemuck::cast_slice::<_, u8>(&by_flag.results), filled, "{}", what());
        }
    }
}

#[test]
fn segments_of_f16() {
    check_segments::<f16>();
}

#[test]
fn segments_of_bf16() {
    check_segments::<bf16>();
}

#[test]
fn segments_of_f32() {
    check_segments::<f32>();
}

#[test]
fn segments_of_f64() {
    check_segments::<f64>();
}

/// Segments of several chunks, and rows of the same elements.
#[test]
fn long_segments_that_must_be_summed_again() {
    let mut random = seed::random();
    let source = sources::<f64>()[1].1;
    let elements: Vec<f64> = (0..400_000).map(|_| source(&mut random)).collect();
    let ends = [7u64, 7, 150_000, 150_100, 399_999];
    for device in &devices() {
        let sums = device.reduce_segments(&elements, &ends, ReproducibleSum).unwrap();
        let spans =
            device.reduce_spans(&elements, &ends[..4], &ends[1..], ReproducibleSum).unwrap();
        assert_eq!(sums, spans);
        for (i, &sum) in sums.iter().enumerate() {
            let segment = &elements[ends[i] as usize..ends[i + 1] as usize];
            check_sum(sum, segment, &|| format!("segment {i}"));
            let row = Array::new(segment, &[1, segment.len() as u64]).unwrap();
            assert_eq!(device.reduce_rows(&row, ReproducibleSum).unwrap(), [sum]);
        }
    }
}

/// Each launch of a graph leaves the workspace clean, also behind sums that were made again.
#[test]
fn a_graph_captures_them() {
    for device in &devices() {
        let n = 140_000;
        let hard: Vec<f32> =
            (0..n).map(|i| [1e38, 1e-45, -1e38, 0.5][i % 4] * (i % 11) as f32 / 11.0).collect();
        let easy: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut values = device.upload(&easy).unwrap();
        let offsets = [0u64, 3, 100_000, 140_000];
        let places = device.upload(&offsets).unwrap();
        let mut status = device.upload(&[SegmentStatus::default()]).unwrap();
        let mut output = device.alloc(3).unwrap();
        let sums = device.segment_reducer::<f32, _>(ReproducibleSum).unwrap();
        let (graph, pending) = device
            .capture(|stream| {
                sums.reduce_segments_into(&values, &places, &mut output, &mut status, stream)
            })
            .unwrap();
        let stream = device.stream().unwrap();
        for elements in [&hard, &hard, &easy, &hard, &easy] {
            values.copy_from_host(elements).unwrap();
            graph.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            pending.check(status.copy_to_host().unwrap()[0], &stream).unwrap();
            for (i, raw) in output.copy_to_host().unwrap().into_iter().enumerate() {
                let segment = &elements[offsets[i] as usize..offsets[i + 1] as usize];
                let sum = pending.finish(raw, i as u64, segment.len() as u64).unwrap();
                check_sum(sum, segment, &|| format!("segment {i}"));
            }
        }
    }
}

/// Wrong offsets are told, and the next call is right.
#[test]
fn wrong_offsets_are_told() {
    let mut random = seed::random();
    for device in &devices() {
        let source = sources::<f32>()[1].1;
        let elements: Vec<f32> = (0..200_000).map(|_| source(&mut random)).collect();
        for wrong in [[0u32, 150_000, 100, 200_000], [0, 5, 200_001, 200_000], [9, 3, 2, 1]] {
            let error = device.reduce_segments(&elements, &wrong, ReproducibleSum).unwrap_err();
            assert!(error.to_string().contains("segment"), "{error}");
            let begin = random.random_range(0..1000);
            let right = [begin, 150_000, 200_000];
            let sums = device.reduce_segments(&elements, &right, ReproducibleSum).unwrap();
            check_sum(sums[0], &elements[begin as usize..150_000], &|| "the first".to_owned());
            check_sum(sums[1], &elements[150_000..], &|| "the second".to_owned());
        }
    }
}

/// The kernels under the simulator's checks, with sums that must be made again.
#[test]
fn no_check_finds_anything() {
    fn check<T: Element>(device: &Device)
    where
        ReproducibleSum: SegmentOperation<T, Output = T::Sum, RowRaw = T::Sum>,
    {
        let mut random = seed::random();
        let lengths = [&LENGTHS[..], &[66_000, 3, 1]].concat();
        let offsets = offsets(&lengths);
        for kind in [0, 1] {
            let source = sources::<T>()[kind].1;
            let total = *offsets.last().unwrap();
            let elements: Vec<T> = (0..total).map(|_| source(&mut random)).collect();
            device.reduce_segments(&elements, &offsets, ReproducibleSum).unwrap();
            let (begins, ends) = (&offsets[..lengths.len()], &offsets[1..]);
            device.reduce_spans(&elements, begins, ends, ReproducibleSum).unwrap();
            for observation in device.take_observations() {
                let Seen::Checked(checked) = &observation.seen else { panic!("it checks") };
                let is_clean = checked.reports.is_empty() && checked.fault.is_none();
                assert!(is_clean, "{}: {observation:?}", T::NAME);
            }
        }
    }
    let device = Device::simulator_with(Instrument::Check);
    let old = device.with_class(DeviceClass::new(16, false, (7, 5))).unwrap();
    for device in [device, old] {
        check::<bf16>(&device);
        check::<f32>(&device);
        check::<f64>(&device);
    }
}
