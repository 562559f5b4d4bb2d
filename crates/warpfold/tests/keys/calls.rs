//! What callers may pass, what they get, and where they get it.

use warpfold::{Buffer, Device, Error, Key, RawSlice, SegmentStatus, Sum, device::DeviceError};

use super::{assert_clean, support::devices};

/// Outputs for at most so many runs.
struct Outputs<K> {
    unique: Buffer<K>,
    output: Buffer<f32>,
    offsets: Buffer<u32>,
    runs: Buffer<u64>,
}

impl<K: Key> Outputs<K> {
    fn new(device: &Device, n: usize) -> Self {
        Self {
            unique: device.alloc(n).unwrap(),
            output: device.alloc(n).unwrap(),
            offsets: device.alloc(n + 1).unwrap(),
            runs: device.alloc(1).unwrap(),
        }
    }

    /// The keys, sums and offsets that were found.
    fn found(&self) -> (Vec<K>, Vec<f32>, Vec<u32>) {
        let runs = self.runs.copy_to_host().unwrap()[0] as usize;
        (
            self.unique.view(..runs).copy_to_host().unwrap(),
            self.output.view(..runs).copy_to_host().unwrap(),
            self.offsets.view(..=runs).copy_to_host().unwrap(),
        )
    }
}

#[test]
fn a_graph_captures_them_and_leaves_no_word() {
    let n = 20_000;
    for device in devices() {
        let keys_of = |length: usize| (0..n).map(|i| (i / length) as u32).collect::<Vec<_>>();
        let mut keys = device.upload(&keys_of(3)).unwrap();
        let values = device.upload(&vec![1.0f32; n]).unwrap();
        let mut out = Outputs::<u32>::new(&device, n);
        let sums = device.key_reducer::<u32, f32, _>(Sum).unwrap();
        let Outputs { unique, output, offsets, runs } = &mut out;
        let (graph, pending) = device
            .capture(|stream| {
                sums.reduce_by_key_into(&keys, &values, unique, output, offsets, runs, stream)
            })
            .unwrap();
        let stream = device.stream().unwrap();
        for length in [3, 1, 7000] {
            keys.copy_from_host(&keys_of(length)).unwrap();
            for _ in 0..2 {
                graph.launch(&stream).unwrap();
                stream.synchronize().unwrap();
                let (unique, sums, offsets) = out.found();
                let runs = n.div_ceil(length);
                assert_eq!(unique, (0..runs as u32).collect::<Vec<_>>());
                let ends: Vec<_> = (0..=runs).map(|i| (i * length).min(n) as u32).collect();
                assert_eq!(offsets, ends);
                for (i, sum) in sums.into_iter().enumerate() {
                    let count = u64::from(ends[i + 1] - ends[i]);
                    let sum = pending.finish(sum, count).unwrap();
                    assert_eq!(sum.to_bits(), (count as f32).to_bits());
                }
            }
        }
    }
}

#[test]
fn two_streams_at_a_time() {
    let n = 30_000;
    for device in devices() {
        let keys = device.upload(&(0..n).map(|i| i / 5).collect::<Vec<u32>>()).unwrap();
        let values = device.upload(&vec![2.0f32; n as usize]).unwrap();
        let sums = device.key_reducer::<u32, f32, _>(Sum).unwrap();
        let streams = [device.stream().unwrap(), device.stream().unwrap()];
        let mut outs = [0, 1].map(|_| Outputs::<u32>::new(&device, n as usize));
        for _ in 0..3 {
            for (stream, out) in streams.iter().zip(&mut outs) {
                let Outputs { unique, output, offsets, runs } = out;
                sums.reduce_by_key_into(&keys, &values, unique, output, offsets, runs, stream)
                    .unwrap();
            }
        }
        for (stream, out) in streams.iter().zip(&outs) {
            stream.synchronize().unwrap();
            let (unique, sums, _) = out.found();
            assert_eq!(unique, (0..n / 5).collect::<Vec<_>>());
            assert_eq!(sums, [10.0].repeat(sums.len()));
            assert_clean(&device, stream);
        }
    }
}

#[test]
fn keys_and_values_of_any_place() {
    for device in devices() {
        let (keys, values) = ([9u8, 1, 1, 2, 2], [7.0f32, 1.0, 2.0, 4.0, 8.0]);
        let (keys_there, values_there) =
            (device.upload(&keys).unwrap(), device.upload(&values).unwrap());
        let expected = device.reduce_by_key(&keys, &values, Sum).unwrap();
        assert_eq!(expected.results, [7.0, 3.0, 12.0]);
        assert_eq!(device.reduce_by_key(&keys_there, &values, Sum).unwrap(), expected);
        assert_eq!(device.reduce_by_key(&keys[..], &values_there, Sum).unwrap(), expected);
        let (keys, values) = (keys_there.view(1..4), values_there.view(1..4));
        let part = device.reduce_by_key(keys, values, Sum).unwrap();
        assert_eq!((&part.keys[..], &part.results[..]), (&[1, 2][..], &[3.0, 4.0][..]));
        // SAFETY: the buffer lives longer than the slice.
        let raw = unsafe { RawSlice::<u8>::new(keys.address(), keys.len()) };
        assert_eq!(device.reduce_by_key(raw, values, Sum).unwrap(), part);
    }
}

#[test]
fn outputs_that_are_too_short_are_refused_and_nothing_is_written() {
    let device = Device::simulator();
    let keys = device.upload(&[1u32, 1, 2]).unwrap();
    let values = device.upload(&[1.0f32; 3]).unwrap();
    let stream = device.stream().unwrap();
    let sums = device.key_reducer::<u32, f32, _>(Sum).unwrap();
    let mut out = Outputs::<u32>::new(&device, 4);
    let mut call = |unique: usize, output: usize, offsets: usize| {
        sums.reduce_by_key_into(
            &keys,
            &values,
            out.unique.view_mut(..unique),
            out.output.view_mut(..output),
            out.offsets.view_mut(..offsets),
            &mut out.runs,
            &stream,
        )
        .map(|_| ())
    };
    assert!(matches!(call(2, 3, 4), Err(Error::Room { what: "keys", most: 3, len: 2 })));
    assert!(matches!(call(3, 2, 4), Err(Error::Room { what: "results", most: 3, len: 2 })));
    assert!(matches!(call(3, 3, 3), Err(Error::Room { what: "offsets", most: 4, len: 3 })));
    stream.synchronize().unwrap();
    assert_eq!(out.runs.copy_to_host().unwrap(), [0]);
    assert!(out.offsets.copy_to_host().unwrap().iter().all(|&offset| offset == 0));
    // More room than is needed is left as it is.
    let Outputs { unique, output, offsets, runs } = &mut out;
    sums.reduce_by_key_into(&keys, &values, unique, output, offsets, runs, &stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(out.offsets.copy_to_host().unwrap(), [0, 2, 3, 0, 0]);
    assert_eq!(out.unique.copy_to_host().unwrap(), [1, 2, 0, 0]);
}

#[test]
fn lengths_that_differ_and_other_devices_are_refused() {
    let (device, other) = (Device::simulator(), Device::simulator());
    let error = device.reduce_by_key(&[1u32, 2], &[1.0f32], Sum).unwrap_err();
    assert!(matches!(error, Error::Lengths { first: 2, second: 1 }), "{error}");
    let error = device.reduce_by_flag(&[1u8], &[1.0f32; 3], Sum).unwrap_err();
    assert!(matches!(error, Error::Lengths { first: 1, second: 3 }), "{error}");
    let (keys, values) = (device.upload(&[1u32]).unwrap(), device.upload(&[1.0f32]).unwrap());
    let error = other.reduce_by_key(&keys, &[1.0f32], Sum).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");
    let error = other.reduce_by_length(&[1u32], &values, Sum).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");
}

/// The simulator's memory is not touched, because the call is refused before.
#[test]
fn offsets_that_cannot_count_the_elements_are_refused() {
    let device = Device::simulator();
    let some = device.upload(&[1u64]).unwrap();
    let n = 1 << 31;
    // SAFETY: the slices are longer than the buffer, but no launch reads them.
    let (keys, values, lengths) = unsafe {
        (
            RawSlice::<u8>::new(some.address(), n),
            RawSlice::<f32>::new(some.address(), n),
            RawSlice::<u32>::new(some.address(), 1),
        )
    };
    let (mut unique, mut output) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
    let (mut offsets, mut runs) = (device.alloc::<i32>(2).unwrap(), device.alloc(1).unwrap());
    let mut status = device.upload(&[SegmentStatus::default()]).unwrap();
    let stream = device.stream().unwrap();
    let sums = device.key_reducer::<u8, f32, _>(Sum).unwrap();
    let error = sums
        .reduce_by_key_into(
            keys,
            values,
            &mut unique,
            &mut output,
            &mut offsets,
            &mut runs,
            &stream,
        )
        .unwrap_err();
    assert!(matches!(error, Error::NarrowOffsets { item: "i32", n: 0x8000_0000 }), "{error}");
    let sums = device.length_reducer::<u32, f32, _>(Sum).unwrap();
    let error = sums
        .reduce_by_length_into(lengths, values, &mut output, &mut offsets, &mut status, &stream)
        .unwrap_err();
    assert!(matches!(error, Error::NarrowOffsets { item: "i32", n: 0x8000_0000 }), "{error}");
}
