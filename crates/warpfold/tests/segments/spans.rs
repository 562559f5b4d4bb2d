//! Spans: segments that overlap, lie in any order and leave elements out, right and wrong ones.

use rand::Rng;
use warpfold::{
    ArgMax, Array, Device, Error, Moments, Offset, RawSlice, SegmentStatus, Stream, Sum, TopK,
    device::{Arg, DeviceClass, LaunchShape, WORKSPACE_BYTES},
    half::f16,
    testing::{Instrument, Seen},
};

use super::{
    seed::random,
    support::{Launch, devices, production_kernel},
    tree, values,
};

/// A span of an array: its begin and its end.
type Span = (usize, usize);

/// Spans of these lengths, anywhere among `elements` elements.
fn anywhere(random: &mut impl Rng, lengths: &[usize], elements: usize) -> Vec<Span> {
    let begin = |&length: &usize| random.random_range(0..=elements - length);
    let begins: Vec<usize> = lengths.iter().map(begin).collect();
    begins.into_iter().zip(lengths).map(|(begin, length)| (begin, begin + length)).collect()
}

/// Begins and ends as numbers of type `B`.
fn apart<B>(spans: &[Span], of: impl Fn(usize) -> B) -> (Vec<B>, Vec<B>) {
    spans.iter().map(|&(begin, end)| (of(begin), of(end))).unzip()
}

/// Checks the sums of spans against the documented tree, with begins and ends of two types.
fn check(device: &Device, values: &[f32], spans: &[Span], name: &str) {
    let (begins, ends) = apart(spans, |place| place as i32);
    let narrow = device.reduce_spans(values, &begins, &ends, Sum).unwrap();
    let (begins, ends) = apart(spans, |place| place as u64);
    let wide = device.reduce_spans(values, &begins, &ends, Sum).unwrap();
    assert_eq!((narrow.len(), wide.len()), (spans.len(), spans.len()));
    for (i, &(begin, end)) in spans.iter().enumerate() {
        let expected = tree::sum(&values[begin..end]).to_bits();
        assert_eq!(narrow[i].to_bits(), expected, "{name}: span {i}, {begin}..{end}");
        assert_eq!(wide[i].to_bits(), expected, "{name}: span {i}, {begin}..{end}");
    }
}

#[test]
fn spans_of_one_length() {
    let mut random = random();
    let values = values(60_000);
    for device in devices() {
        for length in [0, 1, 2, 31, 32, 33, 127, 1023, 1024, 1025, 2048, 4097, 20_001] {
            for count in [1, 2, 31, 33, 300] {
                let count = if length > 2000 { count.min(5) } else { count };
                let spans = anywhere(&mut random, &vec![length; count], values.len());
                check(&device, &values, &spans, &format!("{count} of {length}"));
            }
        }
    }
}

#[test]
fn spans_of_many_lengths() {
    let mut random = random();
    let values = values(100_000);
    for device in devices() {
        let lengths: Vec<usize> = (0..2500)
            .map(|i| match i % 100 {
                0 => random.random_range(0..30_000),
                _ => random.random_range(0..90),
            })
            .collect();
        let mut spans = anywhere(&mut random, &lengths, values.len());
        check(&device, &values, &spans, "anywhere");
        spans.sort_unstable();
        check(&device, &values, &spans, "sorted");
        spans.reverse();
        check(&device, &values, &spans, "sorted backwards");
        // The whole array again and again, which is many times its elements, and the same span.
        check(&device, &values, &[(0, 100_000); 7], "the whole");
        check(&device, &values, &[(5, 6); 100], "one element");
        let windows: Vec<Span> = (0..99_900).step_by(211).map(|i| (i, i + 100)).collect();
        check(&device, &values, &windows, "windows");
    }
}

/// The number of multiprocessors decides how many warps there are, and the generation which PTX
/// runs.
#[test]
fn no_class_of_device_changes_a_bit_of_a_span() {
    let mut random = random();
    let values = values(50_000);
    let lengths: Vec<usize> = (0..300).map(|i| random.random_range(0..=i * i / 4)).collect();
    let spans = anywhere(&mut random, &lengths, values.len());
    for device in devices() {
        for multiprocessors in [1, 132, 1000] {
            for generation in [(7, 5), (9, 0)] {
                let class = DeviceClass::new(multiprocessors, false, generation);
                let Ok(device) = device.with_class(class) else { continue };
                check(&device, &values, &spans, &format!("{multiprocessors} of {generation:?}"));
            }
        }
    }
}

/// Elements of less than a word begin anywhere in one, and an index counts from its span.
#[test]
fn a_span_is_as_a_row() {
    let mut random = random();
    let bytes: Vec<u8> = (0..30_001).map(|_| random.random()).collect();
    let halves: Vec<f16> =
        (0..30_001).map(|_| f16::from_f32(random.random_range(-9i8..9).into())).collect();
    let doubles: Vec<f64> = (0..30_001).map(|_| random.random_range(-1.0..1.0)).collect();
    let lengths: Vec<usize> =
        (0..200).map(|i| if i % 20 == 0 { random.random_range(1..9000) } else { i }).collect();
    let mut spans = anywhere(&mut random, &lengths, bytes.len());
    spans.retain(|span| span.0 < span.1);
    // The first and the last elements of the array, whose words may be cut.
    spans.extend([(0, 1), (0, 3), (30_000, 30_001), (29_990, 30_001), (0, 30_001)]);
    let (begins, ends) = apart(&spans, |place| place as u32);
    for device in devices() {
        let rows = |i: usize| spans[i].0..spans[i].1;
        let sums = device.reduce_spans(&bytes, &begins, &ends, Sum).unwrap();
        let best = device.reduce_spans(&halves, &begins, &ends, ArgMax).unwrap();
        let moments = device.reduce_spans(&doubles, &begins, &ends, Moments).unwrap();
        for i in 0..spans.len() {
            let sum: u64 = bytes[rows(i)].iter().map(|&byte| u64::from(byte)).sum();
            assert_eq!(sums[i], sum, "span {i}");
            let shape = [1, (spans[i].1 - spans[i].0) as u64];
            let row = Array::new(&halves[rows(i)], &shape).unwrap();
            let expected = device.reduce_rows(&row, ArgMax).unwrap();
            assert_eq!(format!("{:?}", best[i]), format!("{:?}", expected[0]), "span {i}");
            let row = Array::new(&doubles[rows(i)], &shape).unwrap();
            let expected = device.reduce_rows(&row, Moments).unwrap();
            assert_eq!(format!("{:?}", moments[i]), format!("{:?}", expected[0]), "span {i}");
        }
    }
}

/// The first span that begins behind its end, or ends behind the elements.
fn first_wrong(spans: &[(i64, i64)], elements: usize) -> Option<u64> {
    let is_wrong = |&(begin, end): &(i64, i64)| begin < 0 || begin > end || end > elements as i64;
    spans.iter().position(is_wrong).map(|i| i as u64)
}

fn check_wrong<B: Offset>(
    device: &Device,
    elements: usize,
    spans: &[(B, B)],
    expected: Option<u64>,
) {
    let values = vec![1.0f32; elements];
    let (begins, ends): (Vec<B>, Vec<B>) = spans.iter().copied().unzip();
    match device.reduce_spans(&values, &begins, &ends, Sum) {
        Ok(_) => assert_eq!(expected, None),
        Err(Error::Span { span, elements: n }) => {
            assert_eq!((Some(span), n), (expected, elements as u64));
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_first_wrong_span_is_named() {
    for device in devices() {
        check_wrong(&device, 10, &[(0u32, 10), (10, 10), (3, 3)], None);
        check_wrong(&device, 10, &[(0u32, 5), (3, 2), (11, 11)], Some(1));
        check_wrong(&device, 10, &[(0u32, 5), (0, 11), (2, 1)], Some(1));
        check_wrong(&device, 10, &[(-1i32, 3), (0, 1)], Some(0));
        check_wrong(&device, 10, &[(0i64, 3), (-4, -2)], Some(1));
        check_wrong(&device, 10, &[(i64::MIN, i64::MAX)], Some(0));
        check_wrong(&device, 10, &[(u64::MAX, u64::MAX)], Some(0));
        check_wrong(&device, 0, &[(0u64, 0), (0, 1)], Some(1));
    }
}

#[test]
fn wrong_spans_anywhere() {
    let mut random = random();
    for device in devices() {
        for _ in 0..20 {
            let count = random.random_range(1..3000);
            let elements = 20_000;
            let lengths: Vec<usize> = (0..count).map(|_| random.random_range(0..9)).collect();
            let spans = anywhere(&mut random, &lengths, elements);
            let mut spans: Vec<(i64, i64)> =
                spans.into_iter().map(|(begin, end)| (begin as i64, end as i64)).collect();
            for _ in 0..random.random_range(0..4) {
                let other = random.random_range(-10..2 * elements as i64);
                let span = &mut spans[random.random_range(0..count)];
                *(if random.random() { &mut span.0 } else { &mut span.1 }) = other;
            }
            check_wrong(&device, elements, &spans, first_wrong(&spans, elements));
            let narrow: Vec<(i32, i32)> =
                spans.iter().map(|&(begin, end)| (begin as i32, end as i32)).collect();
            check_wrong(&device, elements, &narrow, first_wrong(&spans, elements));
        }
    }
}

/// All words of a stream's workspace, one or-ed to the other. The stream has no work left.
fn is_clean(device: &Device, stream: &Stream) -> bool {
    let len = (WORKSPACE_BYTES / 8) as usize;
    // SAFETY: the workspace lives as long as the stream, and nothing else uses it now.
    let words = unsafe { RawSlice::<u64>::new(stream.workspace(), len) };
    device.reduce(words, warpfold::BitOr).unwrap() == 0
}

/// Too many elements are an error, which a wrong span comes before. A launch takes so many that the
/// test calls the first kernel alone, with a smaller limit.
#[test]
fn the_first_span_that_is_too_much_is_named() {
    let most = 1000;
    for device in devices() {
        let kernel = production_kernel(&device, "runs_spans_u32");
        let find = |spans: &[(u32, u32)]| {
            let (begins, ends): (Vec<u32>, Vec<u32>) = spans.iter().copied().unzip();
            let (begins, ends) = (device.upload(&begins).unwrap(), device.upload(&ends).unwrap());
            let offsets = device.alloc::<u64>(spans.len() + 1).unwrap();
            let status = device.upload(&[0u64]).unwrap();
            let blocks = spans.len().div_ceil(2048) as u32;
            let words = device.upload(&vec![0u64; blocks as usize + 1]).unwrap();
            let args = [
                Arg::Pointer(begins.address()),
                Arg::Pointer(ends.address()),
                Arg::U64(spans.len() as u64),
                Arg::U64(500),
                Arg::U64(most + 1),
                Arg::Pointer(status.address()),
                Arg::Pointer(offsets.address()),
                Arg::U32(3),
                Arg::Pointer(words.address()),
            ];
            device.start(&kernel, LaunchShape::linear(blocks, 256, 0), &args).unwrap();
            (offsets.copy_to_host().unwrap(), status.copy_to_host().unwrap()[0])
        };
        let is_wrong = 1u64 << 63;
        let too_much = |span: u64| !span & !is_wrong;
        let (offsets, status) = find(&[(0, 500), (0, 499), (3, 4), (7, 7)]);
        assert_eq!((&offsets[..], status), (&[0, 500, 999, 1000, 1000][..], 0));
        let (offsets, status) = find(&[(0, 500), (0, 499), (3, 5), (7, 7), (0, 9)]);
        assert_eq!((offsets[4], offsets[5], status), (1001, 1001, too_much(2)));
        // A wrong span has no elements, and is what is told.
        let (offsets, status) = find(&[(0, 500), (0, 500), (3, 5), (8, 7), (0, 501)]);
        assert_eq!((offsets[3], offsets[5], status), (1001, 1001, !3));
        // The last span, that of a block that is not the first one, and all blocks at once.
        assert_eq!(find(&[(0, 500), (0, 500), (499, 500)]).1, too_much(2));
        let mut many = vec![(9, 9); 10_000];
        (many[3000], many[5000], many[9000]) = ((0, 500), (0, 500), (0, 1));
        assert_eq!(find(&many).1, too_much(9000));
        assert_eq!(find(&vec![(0, 500); 20_000]).1, too_much(2));
    }
}

#[test]
fn a_graph_captures_spans_and_the_workspace_stays_clean() {
    for device in devices() {
        let mut values = device.upload(&[1i32, 2, 3, 4, 5, 6]).unwrap();
        let mut begins = device.upload(&[4u32, 0]).unwrap();
        let ends = device.upload(&[6u32, 5]).unwrap();
        let mut status = device.upload(&[SegmentStatus::default()]).unwrap();
        let (mut output, mut offsets) = (device.alloc(2).unwrap(), device.alloc(3).unwrap());
        let sums = device.span_reducer::<u32, i32, _>(Sum).unwrap();
        let (graph, pending) = device
            .capture(|stream| {
                sums.reduce_spans_into(
                    &values,
                    &begins,
                    &ends,
                    &mut output,
                    &mut offsets,
                    &mut status,
                    stream,
                )
            })
            .unwrap();
        let stream = device.stream().unwrap();
        for add in [0, 10] {
            values.copy_from_host(&[1 + add, 2, 3, 4, 5, 6]).unwrap();
            graph.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            pending.check(status.copy_to_host().unwrap()[0], &stream).unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [11, i64::from(15 + add)]);
            assert_eq!(offsets.copy_to_host().unwrap(), [0, 2, 7]);
        }
        begins.copy_from_host(&[4, 9]).unwrap();
        graph.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        assert!(is_clean(&device, &stream));
        let status = status.copy_to_host().unwrap()[0];
        assert_eq!(status.first_wrong(), Some(1));
        let error = pending.check(status, &stream).unwrap_err();
        assert!(matches!(error, Error::Span { span: 1, elements: 6 }), "{error}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let device = Device::simulator();
    let none: [u32; 0] = [];
    assert!(device.reduce_spans(&[1.0f32], &none, &none, Sum).unwrap().is_empty());
    let error = device.reduce_spans(&[1.0f32], &[0u32, 0], &[1u32], Sum).unwrap_err();
    assert!(matches!(error, Error::Lengths { first: 2, second: 1 }), "{error}");
    let error = device.reduce_spans(&[f16::ONE], &[0u32, 1], &[1u32, 1], ArgMax).unwrap_err();
    assert!(matches!(error, Error::EmptySegment { segment: 1, .. }), "{error}");
    let values = device.upload(&[1.0f32, 2.0]).unwrap();
    let begins = device.upload(&[0u32, 1]).unwrap();
    let ends = device.upload(&[1u32, 2]).unwrap();
    let stream = device.stream().unwrap();
    let sums = device.span_reducer::<u32, f32, _>(Sum).unwrap();
    let mut status = device.upload(&[SegmentStatus::default(); 2]).unwrap();
    let mut call = |results: usize, places: usize, states: usize| {
        let mut output = device.alloc(results).unwrap();
        let mut offsets = device.alloc(places).unwrap();
        let status = status.view_mut(..states);
        sums.reduce_spans_into(&values, &begins, &ends, &mut output, &mut offsets, status, &stream)
            .map(|_| ())
    };
    assert!(call(2, 3, 1).is_ok());
    assert!(matches!(call(1, 3, 1), Err(Error::Room { what: "results", most: 2, len: 1 })));
    assert!(matches!(call(2, 2, 1), Err(Error::Room { what: "offsets", most: 3, len: 2 })));
    assert!(matches!(call(2, 3, 2), Err(Error::Outputs { results: 1, len: 2 })));
}

/// No data race, and no read of memory that nobody wrote or that is not there.
#[test]
fn no_check_finds_anything_in_spans() {
    let mut random = random();
    let device = Device::simulator_with(Instrument::Check);
    let lengths: Vec<usize> = (0..150).map(|i| if i % 50 == 0 { 9000 } else { i }).collect();
    let spans = anywhere(&mut random, &lengths, 20_003);
    let (begins, ends) = apart(&spans, |place| place as u32);
    device.reduce_spans(&vec![1u8; 20_003], &begins, &ends, Sum).unwrap();
    let (begins, ends) = apart(&spans, |place| place as i64);
    device.reduce_spans(&vec![1.0f32; 20_003], &begins, &ends, Sum).unwrap();
    device.reduce_spans(&vec![1.0f32; 20_003], &begins, &ends, TopK::<5>).unwrap();
    let wrong = [(0u32, 20_003), (5, 3), (u32::MAX, 7), (20_000, 20_004), (20_000, 20_003)];
    let (begins, ends): (Vec<u32>, Vec<u32>) = wrong.into_iter().unzip();
    let values = vec![1u8; 20_003];
    let error = device.reduce_spans(&values, &begins, &ends, Sum).unwrap_err();
    assert!(matches!(error, Error::Span { span: 1, .. }), "{error}");
    let observations = device.take_observations();
    assert!(observations.len() >= 8, "two launches each");
    for observation in observations {
        let Seen::Checked(checked) = observation.seen else { panic!("the device checks") };
        let reports: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{}", reports.join("\n"));
    }
}
