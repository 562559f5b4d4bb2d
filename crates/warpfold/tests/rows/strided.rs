//! Results in outputs with strides.

use bytemuck::Zeroable;
use warpfold::{
    ArgMax, Array, Device, Error, Indexed, Item, Max, MinMax, Moments, RowOperation, StridedOutput,
    Sum,
    testing::{Instrument, Seen},
};

use super::support::devices;

/// Reduces an array along its middle axis into an output with strides, and compares each place with
/// the contiguous results. No other place may change.
fn check<T: Item, O: RowOperation<T> + Default>(device: &Device, values: &[T], filler: O::RowRaw)
where
    O::RowRaw: Zeroable,
{
    let array = Array::new(values, &[4, 5, 6]).unwrap();
    let on_device = device.upload(values).unwrap();
    let array_there = Array::new(&on_device, array.shape()).unwrap();
    let stream = device.stream().unwrap();
    let rows = device.row_reducer::<T, O>(O::default()).unwrap();
    let strided = rows.strided().unwrap();
    // C order, its transpose, every second place, gaps between lines, and axes that run backwards.
    for (strides, offset, len) in [
        ([6, 1], 0, 24),
        ([1, 4], 0, 24),
        ([12, 2], 1, 48),
        ([9, 1], 5, 40),
        ([-6, 1], 18, 24),
        ([1, -5], 30, 34),
        ([-1, -4], 23, 24),
    ] {
        let (mut scratch, mut output) =
            (device.alloc(24).unwrap(), device.upload(&vec![filler; len]).unwrap());
        let places = StridedOutput::new(&mut output, &strides, offset);
        strided.reduce_axes_into(&array_there, &[1], &mut scratch, places, &stream).unwrap();
        stream.synchronize().unwrap();
        let mut expected = vec![filler; len];
        for (i, raw) in scratch.copy_to_host().unwrap().into_iter().enumerate() {
            let (first, second) = (i as i64 / 6, i as i64 % 6);
            expected[(offset as i64 + first * strides[0] + second * strides[1]) as usize] = raw;
        }
        let (found, expected): (Vec<u8>, Vec<u8>) = (
            bytemuck::cast_slice(&output.copy_to_host().unwrap()).to_vec(),
            bytemuck::cast_slice(&expected).to_vec(),
        );
        assert_eq!(found, expected, "{} of {}: {strides:?}", O::NAME, T::NAME);
    }
}

#[test]
fn each_result_has_its_place() {
    let bytes: Vec<u8> = (0..120).map(|i| (i * 37 % 251) as u8).collect();
    let shorts: Vec<i16> = bytes.iter().map(|&x| i16::from(x) - 99).collect();
    let floats: Vec<f32> = bytes.iter().map(|&x| f32::from(x) / 8.0).collect();
    let wide: Vec<i128> = bytes.iter().map(|&x| i128::from(x) << 90).collect();
    for device in devices() {
        // Raw results of 1, 2, 4, 8, 24 and 32 bytes.
        check::<u8, Max>(&device, &bytes, 255);
        check::<i16, Max>(&device, &shorts, -1);
        check::<i16, MinMax>(&device, &shorts, Zeroable::zeroed());
        check::<u8, Sum>(&device, &bytes, u64::MAX);
        check::<f32, Moments>(&device, &floats, Zeroable::zeroed());
        check::<i128, ArgMax>(&device, &wide, Indexed::new(7, 9));
    }
}

#[test]
fn many_results_and_many_dimensions() {
    for device in devices() {
        let n = 70_000usize;
        let values: Vec<i32> = (0..2 * n as i32).collect();
        let buffer = device.upload(&values).unwrap();
        let (mut scratch, stream) = (device.alloc(n).unwrap(), device.stream().unwrap());
        let mut output = device.upload(&vec![-1i32; 2 * n]).unwrap();
        let max = device.row_reducer::<i32, _>(Max).unwrap().strided().unwrap();
        let matrix = Array::new(&buffer, &[n as u64, 2]).unwrap();
        let places = StridedOutput::new(&mut output, &[-2], 2 * n as u64 - 1);
        max.reduce_axes_into(&matrix, &[1], &mut scratch, places, &stream).unwrap();
        stream.synchronize().unwrap();
        let expected: Vec<i32> =
            (0..2 * n as i32).map(|i| if i % 2 == 0 { -1 } else { 2 * n as i32 - i }).collect();
        assert_eq!(output.copy_to_host().unwrap(), expected);
        // Without axes, each element is a result. The output has its axes in the opposite order.
        let (shape, mut scratch) = ([2; 8], device.alloc(256).unwrap());
        let cube = Array::new(buffer.view(..256), &shape).unwrap();
        let strides: Vec<i64> = (0..8).map(|axis| 1 << axis).collect();
        let places = StridedOutput::new(output.view_mut(..256), &strides, 0);
        max.reduce_axes_into(&cube, &[], &mut scratch, places, &stream).unwrap();
        stream.synchronize().unwrap();
        let turned: Vec<i32> = (0..=255u8).map(|i| i32::from(i.reverse_bits())).collect();
        assert_eq!(output.copy_to_host().unwrap()[..256], turned);
    }
}

#[test]
fn places_that_overlap_or_are_not_there_are_refused() {
    let device = Device::simulator();
    let buffer = device.upload(&[1.0f32; 24]).unwrap();
    let array = Array::new(&buffer, &[2, 3, 4]).unwrap();
    let sums = device.row_reducer::<f32, _>(Sum).unwrap().strided().unwrap();
    let stream = device.stream().unwrap();
    let mut output = device.upload(&[-1.0f32; 20]).unwrap();
    let mut call = |strides: &[i64], offset: u64, results: usize| {
        let mut scratch = device.alloc(results).unwrap();
        let places = StridedOutput::new(&mut output, strides, offset);
        let result = sums.reduce_axes_into(&array, &[1], &mut scratch, places, &stream);
        stream.synchronize().unwrap();
        let is_untouched = output.copy_to_host().unwrap() == [-1.0; 20];
        assert_eq!(is_untouched, result.is_err());
        if result.is_ok() {
            output.copy_from_host(&[-1.0; 20]).unwrap();
        }
        result.map(|_| ())
    };
    for strides in [[0, 1], [1, 0], [1, 1], [3, 1], [-3, 1], [2, 2], [1, -1]] {
        let error = call(&strides, 9, 8).unwrap_err();
        assert!(matches!(error, Error::Overlap { .. }), "{strides:?}: {error}");
    }
    for (strides, offset) in [
        (&[4][..], 0),
        (&[4, 1, 1], 0),
        (&[17, 1], 0),
        (&[4, 1], 13),
        (&[-4, 1], 3),
        (&[4, 1], u64::MAX),
        (&[i64::MIN, i64::MAX], 0),
    ] {
        let error = call(strides, offset, 8).unwrap_err();
        assert!(matches!(error, Error::Strides { .. }), "{strides:?}: {error}");
    }
    let error = call(&[4, 1], 0, 7).unwrap_err();
    assert!(matches!(error, Error::Outputs { results: 8, len: 7 }), "{error}");
    call(&[4, 1], 12, 8).unwrap();
    call(&[-4, 1], 4, 8).unwrap();
}

#[test]
fn no_check_finds_anything_where_results_are_copied() {
    let device = Device::simulator_with(Instrument::Check);
    let buffer = device.upload(&[1.0f32; 1200]).unwrap();
    let array = Array::new(&buffer, &[20, 3, 20]).unwrap();
    let (mut scratch, stream) = (device.alloc(400).unwrap(), device.stream().unwrap());
    let mut output = device.alloc(400).unwrap();
    let moments = device.row_reducer::<f32, _>(Moments).unwrap().strided().unwrap();
    let places = StridedOutput::new(&mut output, &[1, 20], 0);
    moments.reduce_axes_into(&array, &[1], &mut scratch, places, &stream).unwrap();
    stream.synchronize().unwrap();
    let observations = device.take_observations();
    assert_eq!(observations.len(), 2);
    for observation in observations {
        let Seen::Checked(checked) = observation.seen else { panic!("the device checks") };
        let reports: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{}", reports.join("\n"));
    }
}
