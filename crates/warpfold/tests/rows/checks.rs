//! The kernels for rows under the simulator's checks: no data race, no read of memory that nobody
//! wrote, no barrier that a lane misses, in several orders of warps and blocks.

use warpfold::{
    ArgMax, Array, BottomK, CountWhere, Device, Is, Item, LogSumExp, MinMax, Moments, NanSum,
    RowOperation, Sum, TopK,
    device::DeviceClass,
    half::f16,
    testing::{Instrument, Seen},
};

/// Reduces an array of any values along its last axis, and fails if a check finds something.
fn check<T: Item, O: RowOperation<T>>(shape: &[u64], strides: &[i64], value: T, operation: O) {
    for device in checking() {
        check_on(&device, shape, strides, 0, &[-1], value, operation);
    }
}

/// Devices that check. To a small one each array is large, so that columns are read into registers,
/// and tiles have many rows.
fn checking() -> [Device; 2] {
    let device = Device::simulator_with(Instrument::Check);
    let small = device.with_class(DeviceClass::new(1, false, (9, 0))).unwrap();
    [device, small]
}

/// As [`check`], on a device that checks, for an array that begins `offset` elements behind the
/// beginning of its buffer, along these axes.
fn check_on<T: Item, O: RowOperation<T>>(
    device: &Device,
    shape: &[u64],
    strides: &[i64],
    offset: u64,
    axes: &[isize],
    value: T,
    operation: O,
) {
    let reach: i64 = shape.iter().zip(strides).map(|(&n, s)| (n as i64 - 1) * s).sum();
    // The buffer ends with the array's last element, so that a read behind it is seen.
    let buffer = device.upload(&vec![value; (offset + reach as u64 + 1) as usize]).unwrap();
    let array = Array::with_strides(&buffer, shape, strides, offset).unwrap();
    let results = device.reduce_axes(&array, axes, operation);
    let name = format!(
        "{} of {}: {shape:?} {strides:?} from {offset} on along {axes:?}",
        O::NAME,
        T::NAME
    );
    assert!(results.is_ok(), "{name}");
    let observations = device.take_observations();
    assert!(!observations.is_empty());
    for observation in observations {
        let Seen::Checked(checked) = observation.seen else { panic!("the device checks") };
        let reports: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{name}:\n{}", reports.join("\n"));
    }
}

/// Each way of staging, whole rows and parts of rows, and rows of several tasks.
fn check_layouts<T: Item, O: RowOperation<T>>(value: T, operation: O) {
    let layouts: &[(&[u64], &[i64])] = &[
        (&[300, 1], &[1, 1]),
        (&[300, 5], &[5, 1]),
        (&[40, 100], &[100, 1]),
        (&[40, 101], &[103, 1]),
        // Rows of two parts, of which a lane takes several: of words, of bytes, and of halves.
        (&[130, 33], &[33, 1]),
        (&[90, 40], &[40, 1]),
        (&[60, 150], &[150, 1]),
        (&[90, 72], &[72, 1]),
        (&[3, 2051], &[2051, 1]),
        (&[1, 40_001], &[0, 1]),
        // Rows of several tiles, each of which begins at a pack.
        (&[3, 2052], &[2052, 1]),
        (&[2, 8000], &[8000, 1]),
        (&[3, 17_000], &[17_008, 1]),
        (&[3, 9000], &[1, 3]),
        (&[64, 300], &[1, 64]),
        (&[16, 20_000], &[1, 24]),
        (&[70, 900], &[1, 71]),
        (&[33, 77], &[2, 66]),
        (&[2, 5000], &[1, 4]),
        // Rows that lie between others, and rows at unequal distances.
        (&[20, 2, 33], &[66, 1, 2]),
        (&[2, 3, 700], &[2100, 1, 3]),
        (&[9, 7, 5], &[40, 1, 8]),
        // Short columns.
        (&[300, 5], &[1, 304]),
        (&[1100, 2], &[1, 1100]),
        // Several bundles of columns in a tile.
        (&[200, 3, 20], &[60, 1, 3]),
    ];
    for (shape, strides) in layouts {
        check(shape, strides, value, operation);
    }
}

/// Packed rows that begin at any element of the buffer, because whole packs may only be copied
/// where they lie at 16 bytes. The lengths are those of rows within a part of a lane, of several
/// parts, of rows that have a tile each, and of rows with several tiles.
fn check_offsets<T: Item, O: RowOperation<T>>(value: T, operation: O) {
    let device = Device::simulator_with(Instrument::Check);
    for length in [1, 3, 17, 33, 100, 257, 515, 1000, 4099] {
        for offset in [0, 1, 2, 3, 7] {
            let (shape, strides) = ([9, length], [length as i64, 1]);
            check_on(&device, &shape, &strides, offset, &[-1], value, operation);
        }
    }
}

#[test]
fn no_check_finds_anything_where_rows_begin_anywhere() {
    check_offsets::<f32, _>(1.0, Sum);
    check_offsets::<f64, _>(1.0, Sum);
    check_offsets::<u8, _>(1, Sum);
    check_offsets::<f16, _>(f16::ONE, Sum);
    check_offsets::<f32, _>(1.0, ArgMax);
    check_offsets::<f32, _>(1.0, TopK::<3>);
}

/// Channels of images, which are copied by words, pairs and packs.
#[test]
fn no_check_finds_anything_in_channels_of_images() {
    fn of<T: Item, O: RowOperation<T>>(value: T, operation: O) {
        for device in checking() {
            for (images, pixels, gap) in [(60, 49, 0), (7, 196, 0), (50, 72, 8), (3, 1300, 4)] {
                let image = 3 * pixels + gap;
                let strides = [image as i64, pixels as i64, 1];
                check_on(&device, &[images, 3, pixels], &strides, 0, &[0, 2], value, operation);
            }
        }
    }
    of::<f32, _>(1.0, Sum);
    of::<f16, _>(f16::ONE, Sum);
    of::<f64, _>(1.0, Moments);
    of::<u8, _>(1, TopK::<3>);
}

/// So many teams that all warps of the last one read what the others have left.
#[test]
fn no_check_finds_anything_where_many_teams_meet() {
    check(&[1, 1_100_003], &[0, 1], 1.0f32, Sum);
    check(&[1, 140_000], &[0, 1], 1.0f32, Moments);
    check(&[2, 70_000], &[70_000, 1], 1u128, MinMax);
    check(&[20, 40_000], &[1, 20], 1.0f32, ArgMax);
}

#[test]
fn no_check_finds_anything() {
    check_layouts::<f32, _>(1.0, Sum);
    check_layouts::<u8, _>(1, Sum);
    check_layouts::<f16, _>(f16::ONE, ArgMax);
    check_layouts::<f64, _>(1.0, Moments);
    check_layouts::<f32, _>(1.0, LogSumExp);
    check_layouts::<f32, _>(1.0, NanSum);
    check_layouts::<i128, _>(1, Sum);
    check_layouts::<i16, _>(1, CountWhere(Is::Greater(-5)));
    check_layouts::<f64, _>(1.0, CountWhere(Is::NotEqual(1.0)));
    check_layouts::<u8, _>(1, TopK::<8>);
    check_layouts::<f32, _>(1.0, TopK::<3>);
    check_layouts::<f64, _>(1.0, BottomK::<8>);
}
