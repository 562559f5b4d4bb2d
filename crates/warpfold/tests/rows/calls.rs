//! Ways to call, empty arrays, and what is refused.

use warpfold::{Array, Device, Error, Max, Moments, Product, Sum, device::DeviceError};

use super::support::devices;

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let values = [1.0f32; 12];
    for shape in [&[12u64, 2][..], &[5], &[], &[u64::MAX, u64::MAX], &[12, 0]] {
        let result = Array::new(&values, shape);
        assert!(matches!(result, Err(Error::Shape { len: 12, .. })), "{shape:?}");
    }
    let refused: [(&[u64], &[i64], u64); 7] = [
        (&[3, 4], &[4], 0),
        (&[3, 4], &[4, 1], 1),
        (&[3, 4], &[-4, 1], 7),
        (&[3, 4], &[5, 1], 0),
        (&[1], &[1], 12),
        (&[u64::MAX, u64::MAX], &[i64::MAX, i64::MIN], 3),
        (&[2], &[i64::MIN], u64::MAX),
    ];
    for (shape, strides, offset) in refused {
        let result = Array::with_strides(&values, shape, strides, offset);
        assert!(matches!(result, Err(Error::Strides { len: 12, .. })), "{shape:?} {strides:?}");
    }
    let error = Array::with_strides(&values, &[3, 4], &[5, 1], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an array of shape [3, 4] with the strides [5, 1] does not lie within 12 elements"
    );
}

#[test]
fn axes_that_are_not_there_are_refused() {
    let device = Device::simulator();
    let array = Array::new(&[1u32; 24], &[2, 3, 4]).unwrap();
    for axis in [3, -4, isize::MAX, isize::MIN] {
        let error = device.reduce_axes(&array, &[0, axis], Sum).unwrap_err();
        assert!(matches!(error, Error::Axis { rank: 3, .. }), "{axis}");
        assert_eq!(error.to_string(), format!("axis {axis} is none of an array of 3 dimensions"));
    }
    for axes in [&[1, 1][..], &[1, -2], &[0, 2, -1]] {
        let error = device.reduce_axes(&array, axes, Sum).unwrap_err();
        assert!(matches!(error, Error::AxisTwice { .. }), "{axes:?}");
    }
    let error = device.reduce_rows(&array, Sum).unwrap_err();
    assert_eq!(error.to_string(), "rows are those of an array of 2 dimensions, not of 3");
}

#[test]
fn an_output_of_another_length_is_refused_and_stays() {
    for device in devices() {
        let buffer = device.upload(&[1.0f32; 12]).unwrap();
        let matrix = Array::new(&buffer, &[3, 4]).unwrap();
        let sums = device.row_reducer::<f32, _>(Sum).unwrap();
        let stream = device.stream().unwrap();
        for len in [2, 4] {
            let mut output = device.upload(&vec![7.0f32; len]).unwrap();
            let error = sums.reduce_rows_into(&matrix, &mut output, &stream).unwrap_err();
            assert!(matches!(error, Error::Outputs { results: 3, .. }), "{error}");
            stream.synchronize().unwrap();
            assert_eq!(output.copy_to_host().unwrap(), vec![7.0; len]);
        }
    }
}

#[test]
fn memory_of_another_device_is_refused() {
    for device in devices() {
        let other = Device::simulator();
        let buffer = other.upload(&[1.0f32; 12]).unwrap();
        let matrix = Array::new(&buffer, &[3, 4]).unwrap();
        let error = device.reduce_rows(&matrix, Sum).unwrap_err();
        assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");
    }
}

#[test]
fn empty_rows_give_the_identity_or_are_refused() {
    for device in devices() {
        let none: [f32; 0] = [];
        let empty = |shape: &[u64]| Array::new(&none, shape).unwrap();
        assert_eq!(device.reduce_rows(&empty(&[3, 0]), Sum).unwrap(), [0.0; 3]);
        assert_eq!(device.reduce_rows(&empty(&[2, 0]), Product).unwrap(), [1.0; 2]);
        assert_eq!(device.reduce_axes(&empty(&[4, 0, 2]), &[1], Sum).unwrap(), [0.0; 8]);
        assert_eq!(device.reduce_rows(&empty(&[0, 3]), Sum).unwrap(), [0.0; 0]);
        assert_eq!(device.reduce_rows(&empty(&[0, 3]), Max).unwrap(), [0.0; 0]);
        let error = device.reduce_rows(&empty(&[3, 0]), Max).unwrap_err();
        assert!(matches!(error, Error::Empty { op: "maximum" }), "{error}");
    }
}

#[test]
fn more_results_than_there_is_memory_are_an_error() {
    let device = Device::simulator();
    let none: [f32; 0] = [];
    let array = Array::new(&none, &[u64::MAX, 3, 0]).unwrap();
    let error = device.reduce_axes(&array, &[2], Sum).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error}");
}

/// A graph of two reductions gives the results of new data in each launch.
#[test]
fn a_graph_captures_them() {
    for device in devices() {
        let (rows, length) = (50u64, 3000u64);
        let mut buffer = device.upload(&vec![1.0f64; (rows * length) as usize]).unwrap();
        let mut sums = device.alloc::<f64>(rows as usize).unwrap();
        let mut moments = device.alloc(length as usize).unwrap();
        let stream = device.stream().unwrap();
        let (sum, moment) = (
            device.row_reducer::<f64, _>(Sum).unwrap(),
            device.row_reducer::<f64, _>(Moments).unwrap(),
        );
        let matrix = Array::new(&buffer, &[rows, length]).unwrap();
        let (graph, pending) = device
            .capture(|stream| -> Result<_, Error> {
                sum.reduce_rows_into(&matrix, &mut sums, stream)?;
                moment.reduce_axes_into(&matrix, &[0], &mut moments, stream)
            })
            .unwrap();
        for value in [1.0, 2.5, -3.0] {
            let values = vec![value; (rows * length) as usize];
            buffer.view_mut(..).copy_from_host(&values).unwrap();
            graph.launch(&stream).unwrap();
            graph.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(sums.copy_to_host().unwrap(), vec![value * length as f64; rows as usize]);
            for raw in moments.copy_to_host().unwrap() {
                let moments = pending.finish(raw).unwrap();
                assert_eq!((moments.count, moments.mean()), (rows, value));
            }
        }
    }
}

/// Results that need more partial results than a stream has room for take several launches.
#[test]
fn many_long_rows_take_several_launches() {
    for device in devices() {
        // One multiprocessor's worth of warps is soon busy, so that each task is one tile and the
        // rows have many tasks.
        let (rows, length) = (700u64, 100 * 1024u64);
        let row: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let buffer = device.upload(&row).unwrap();
        // The same row again and again, by a stride of 0.
        let matrix = Array::with_strides(&buffer, &[rows, length], &[0, 1], 0).unwrap();
        let expected: u64 = row.iter().map(|&x| u64::from(x)).sum();
        assert_eq!(device.reduce_rows(&matrix, Sum).unwrap(), vec![expected; rows as usize]);
    }
}
