//! What callers may pass, and what they get.

use warpfold::{ArgMin, Device, Error, Max, SegmentStatus, Sum, device::DeviceError};

use super::support::devices;

#[test]
fn empty_segments_give_the_identity_or_are_refused() {
    for device in devices() {
        let (values, offsets) = ([3.0f32, 1.0, 2.0], [0u32, 2, 2, 3]);
        assert_eq!(device.reduce_segments(&values, &offsets, Sum).unwrap(), [4.0, 0.0, 2.0]);
        let error = device.reduce_segments(&values, &offsets, Max).unwrap_err();
        assert!(matches!(error, Error::EmptySegment { op: _, segment: 1 }), "{error}");
        let max = device.segment_reducer::<f32, _>(Max).unwrap();
        let results = max.reduce_segments_or(&values, &offsets, f32::NEG_INFINITY).unwrap();
        assert_eq!(results, [3.0, f32::NEG_INFINITY, 2.0]);
    }
}

#[test]
fn no_segments() {
    for device in devices() {
        assert!(device.reduce_segments(&[1.0f32], &[0u32], Sum).unwrap().is_empty());
        let none: [u32; 0] = [];
        let error = device.reduce_segments(&[1.0f32], &none, Sum).unwrap_err();
        assert!(matches!(error, Error::NoOffsets), "{error}");
        let empty: [f32; 0] = [];
        assert_eq!(device.reduce_segments(&empty, &[0u64, 0, 0], Sum).unwrap(), [0.0, 0.0]);
    }
}

#[test]
fn values_and_offsets_of_any_place() {
    for device in devices() {
        let (values, offsets) = ([9u8, 7, 8, 1, 5], [1i32, 3, 5]);
        let (on_device, offsets_there) =
            (device.upload(&values).unwrap(), device.upload(&offsets).unwrap());
        let sums = [15u64, 6];
        assert_eq!(device.reduce_segments(&values, &offsets_there, Sum).unwrap(), sums);
        assert_eq!(device.reduce_segments(&on_device, &offsets, Sum).unwrap(), sums);
        assert_eq!(device.reduce_segments(&on_device, &offsets_there, Sum).unwrap(), sums);
        // Parts of buffers, which begin anywhere.
        let (part, part_of_offsets) = (on_device.view(1..), offsets_there.view(..2));
        let results = device.reduce_segments(part, part_of_offsets, ArgMin).unwrap();
        assert_eq!((results[0].value, results[0].index), (1, 1));
    }
}

#[test]
fn a_graph_captures_them() {
    for device in devices() {
        let mut values = device.upload(&[1i32, 2, 3, 4, 5, 6]).unwrap();
        let offsets = device.upload(&[0u64, 1, 6]).unwrap();
        let mut status = device.upload(&[SegmentStatus::default()]).unwrap();
        let mut output = device.alloc::<i64>(2).unwrap();
        let sums = device.segment_reducer::<i32, _>(Sum).unwrap();
        let (graph, pending) = device
            .capture(|stream| {
                sums.reduce_segments_into(&values, &offsets, &mut output, &mut status, stream)
            })
            .unwrap();
        let stream = device.stream().unwrap();
        for add in [0, 10] {
            values.copy_from_host(&[1 + add, 2, 3, 4, 5, 6]).unwrap();
            graph.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            pending.check(status.copy_to_host().unwrap()[0], &stream).unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [i64::from(1 + add), 20]);
            assert_eq!(pending.finish(20, 1, 5).unwrap(), 20);
        }
    }
}

#[test]
fn outputs_of_a_wrong_length_and_buffers_of_another_device_are_refused() {
    let (device, other) = (Device::simulator(), Device::simulator());
    let values = device.upload(&[1.0f32, 2.0]).unwrap();
    let offsets = device.upload(&[0u32, 1, 2]).unwrap();
    let stream = device.stream().unwrap();
    let sums = device.segment_reducer::<f32, _>(Sum).unwrap();
    let mut status = device.upload(&[SegmentStatus::default(); 2]).unwrap();
    let mut call = |places: usize, states: usize| {
        let mut output = device.alloc(places).unwrap();
        let status = status.view_mut(..states);
        sums.reduce_segments_into(&values, &offsets, &mut output, status, &stream).map(|_| ())
    };
    assert!(call(2, 1).is_ok());
    assert!(matches!(call(3, 1), Err(Error::Outputs { results: 2, len: 3 })));
    assert!(matches!(call(2, 2), Err(Error::Outputs { results: 1, len: 2 })));
    let error = other.reduce_segments(&values, &[0u32, 2], Sum).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");
    let error = other.reduce_segments(&[1.0f32], &offsets, Sum).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");
}
