//! For one operation and one type of elements, the bits of a sum of floats depend on the number of
//! elements, the start modulo 128 bytes and the class of the device, and on nothing else. The
//! documentation of `warpfold::reducer` promises this.

mod support;

use std::collections::BTreeSet;

use support::devices;
use warpfold::{
    CompensatedSum, Device, Dot, ReproducibleSum, Sum, SumSquares, device::DeviceClass,
};

/// Numbers of elements for which each class has several blocks, and the last block is not full.
const SIZES: [usize; 3] = [5_000, 70_001, 300_007];

/// The number of elements in front of the input. It allows all starts within 128 bytes.
const FRONT: usize = 32;

/// Numbers whose sum depends on the order: magnitudes from 1e-4 to 1e4, of both signs.
fn values(n: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        // xorshift64 (G. Marsaglia, 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..n)
        .map(|_| {
            let magnitude = 10f32.powf((next() >> 40) as f32 / (1 << 24) as f32 * 8.0 - 4.0);
            if next() & 1 == 0 { magnitude } else { -magnitude }
        })
        .collect()
}

/// Classes of all kinds that have launch shapes of their own, with several numbers of
/// multiprocessors.
fn classes() -> Vec<DeviceClass> {
    let mut classes = vec![DeviceClass::H100, DeviceClass::H200];
    for multiprocessors in [1, 16, 46, 108] {
        classes.push(DeviceClass::new(multiprocessors, false, (7, 5)));
        classes.push(DeviceClass::new(multiprocessors, true, (9, 0)));
    }
    classes
}

/// The bits of several reductions of `values`, which are placed behind `front + start` other
/// elements of a buffer.
fn bits(device: &Device, values: &[f32], start: usize, front: usize) -> [u64; 4] {
    let mut padded = vec![f32::NAN; front + start];
    padded.extend_from_slice(values);
    let buffer = device.upload(&padded).unwrap();
    let view = buffer.view(front + start..);
    [
        device.reduce(view, Sum).unwrap().to_bits().into(),
        device.reduce(view, SumSquares).unwrap().to_bits().into(),
        device.reduce(view, CompensatedSum).unwrap().to_bits().into(),
        device.reduce((view, view), Dot).unwrap().to_bits().into(),
    ]
}

/// The same class gives the same bits on each device that can have it. So the simulator can
/// reproduce the result of a GPU.
#[test]
fn a_class_gives_the_same_bits_on_every_device() {
    let devices = devices();
    for n in SIZES {
        let values = values(n);
        for class in classes() {
            for start in [0, 1, 5, 31] {
                let all: BTreeSet<_> = devices
                    .iter()
                    .filter_map(|device| device.with_class(class).ok())
                    .map(|device| bits(&device, &values, start, 0))
                    .collect();
                assert_eq!(all.len(), 1, "{n} elements from {start} on, {class:?}: {all:x?}");
            }
        }
    }
}

/// Only the start within 128 bytes counts. The multiple of 128 bytes that lies before it does not.
#[test]
fn the_start_counts_modulo_128_bytes() {
    for device in devices() {
        let values = values(SIZES[1]);
        for class in [DeviceClass::H100, DeviceClass::new(16, false, (7, 5))] {
            let device = device.with_class(class).unwrap();
            for start in 0..FRONT {
                let here = bits(&device, &values, start, 0);
                assert_eq!(here, bits(&device, &values, start, FRONT), "start {start}");
                assert_eq!(here, bits(&device, &values, start, 3 * FRONT), "start {start}");
            }
        }
    }
}

/// The start of the second input of a pair does not count at all.
#[test]
fn the_start_of_the_second_input_does_not_count() {
    for device in devices() {
        let device = device.with_class(DeviceClass::H100).unwrap();
        let values = values(SIZES[1]);
        let first = device.upload(&values).unwrap();
        let dots: BTreeSet<_> = (0..FRONT)
            .map(|start| {
                let mut padded = vec![f32::NAN; start];
                padded.extend_from_slice(&values);
                let second = device.upload(&padded).unwrap();
                device.reduce((&first, second.view(start..)), Dot).unwrap().to_bits()
            })
            .collect();
        assert_eq!(dots.len(), 1, "{dots:x?}");
    }
}

/// Each property that the documentation names really changes the bits. Otherwise the documentation
/// would promise less than it could.
#[test]
fn what_is_named_does_change_the_bits() {
    let device = Device::simulator();
    let values = values(SIZES[2]);
    let h100 = device.with_class(DeviceClass::H100).unwrap();
    let starts: BTreeSet<_> = (0..FRONT).map(|start| bits(&h100, &values, start, 0)).collect();
    assert!(starts.len() > 1, "all starts give the same bits");
    // These starts differ by a multiple of 16 bytes, so only their place within a cache line
    // differs.
    let lines: BTreeSet<_> = (0..8).map(|pack| bits(&h100, &values, 4 * pack, 0)).collect();
    assert!(lines.len() > 1, "all packs of a line give the same bits");
    let classes: BTreeSet<_> = classes()
        .into_iter()
        .map(|class| bits(&device.with_class(class).unwrap(), &values, 0, 0))
        .collect();
    assert!(classes.len() > 2, "all classes give the same bits");
}

/// The reproducible sum depends on no order at all.
#[test]
fn the_reproducible_sum_is_the_same_in_every_class() {
    for device in devices() {
        let values = values(SIZES[1]);
        let sums: BTreeSet<_> = classes()
            .into_iter()
            .filter_map(|class| device.with_class(class).ok())
            .map(|device| device.reduce(&values, ReproducibleSum).unwrap().to_bits())
            .collect();
        assert_eq!(sums.len(), 1, "{sums:x?}");
    }
}
