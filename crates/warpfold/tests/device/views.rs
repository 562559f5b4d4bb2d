//! Views of buffers, and raw slices.

use std::panic::{AssertUnwindSafe, catch_unwind};

use warpfold::device::{Arg, Device, DeviceError, RawSlice, View, ViewMut};

use crate::{
    kernel, shape,
    support::{Launch, devices},
};

#[test]
fn views_are_slices_of_the_device() {
    for device in devices() {
        let values: Vec<u16> = (0..1000).collect();
        let mut buffer = device.upload(&values).unwrap();
        for (from, to) in [(0, 1000), (1, 1000), (999, 1000), (31, 33), (500, 500), (1000, 1000)] {
            let view = buffer.view(from..to);
            assert_eq!((view.len(), view.is_empty()), (to - from, from == to));
            assert_eq!(view.address(), buffer.address() + 2 * from as u64);
            assert_eq!(view.copy_to_host().unwrap(), values[from..to]);
        }
        let inner = buffer.view(100..).view(10..=20);
        assert_eq!(inner.copy_to_host().unwrap(), values[110..=120]);

        let source = device.upload(&[7u16; 3]).unwrap();
        let mut target = buffer.view_mut(1..4);
        assert_eq!((target.len(), target.is_empty()), (3, false));
        target.copy_from(&source).unwrap();
        target.copy_from(source.view(..)).unwrap();
        assert_eq!(target.as_view().copy_to_host().unwrap(), [7; 3]);
        buffer.view_mut(4..6).copy_from_host(&[8, 9]).unwrap();
        buffer.view_mut(6..7).fill_bytes(0xff).unwrap();
        buffer.view_mut(3..3).fill_bytes(1).unwrap();
        let mut first = [0; 9];
        buffer.view(..9).copy_to_slice(&mut first).unwrap();
        assert_eq!(first, [0, 7, 7, 7, 8, 9, 0xffff, 7, 8]);

        let empty = device.alloc::<u16>(0).unwrap();
        assert!(
            View::from(&empty).is_empty() && empty.view(0..0).copy_to_host().unwrap().is_empty()
        );
    }
}

#[test]
fn wrong_lengths_and_devices_are_refused() {
    let other = Device::simulator();
    for device in devices() {
        let mut buffer = device.alloc::<u32>(5).unwrap();
        let refused = buffer.view(1..3).copy_to_slice(&mut [0; 3]).unwrap_err();
        assert_eq!(refused.to_string(), "cannot copy 3 values into a buffer of 2");
        let refused = buffer.view_mut(1..3).copy_from_host(&[1]).unwrap_err();
        assert!(
            matches!(refused, DeviceError::Length { source_len: 1, buffer_len: 2 }),
            "{refused:?}"
        );
        let foreign = other.alloc::<u32>(2).unwrap();
        let refused = ViewMut::from(&mut buffer).copy_from(&foreign).unwrap_err();
        assert!(matches!(refused, DeviceError::Length { .. }), "{refused:?}");
        let refused = buffer.view_mut(..2).copy_from(&foreign).unwrap_err();
        assert_eq!(refused.to_string(), "this buffer belongs to another device");
        assert!(device.owns(&buffer) && device.owns(buffer.view(1..2)) && !device.owns(&foreign));
        assert!(device.clone().owns(&buffer), "a clone is the same device");
    }
}

#[test]
fn ranges_outside_panic_as_those_of_slices() {
    let device = Device::simulator();
    let buffer = device.alloc::<u8>(5).unwrap();
    let view = buffer.view(1..);
    for (start, end) in [(0, 5), (5, 5), (3, 2)] {
        assert!(
            catch_unwind(AssertUnwindSafe(|| view.view(start..end))).is_err(),
            "{start}..{end} of 4"
        );
    }
}

#[test]
fn addresses_are_known_to_their_device() {
    for device in devices() {
        let buffer = device.alloc::<u8>(1000).unwrap();
        for address in [buffer.address(), buffer.address() + 999] {
            device.check_address(address).unwrap();
        }
        let local = 0u8;
        for address in [0, 8, (&raw const local).addr() as u64] {
            let refused = device.check_address(address).unwrap_err();
            assert_eq!(refused.to_string(), "this memory belongs to another device");
        }
    }
}

#[test]
fn a_raw_slice_is_an_address() {
    for device in devices() {
        let buffer = device.upload(&[1u32, 2, 3]).unwrap();
        // SAFETY: the buffer lives as long as the slice, and all of it is initialized.
        let raw = unsafe { RawSlice::<u32>::new(buffer.address() + 4, 2) };
        assert_eq!((raw.len(), raw.is_empty()), (2, false));
        let args = [Arg::Pointer(raw.address()), Arg::U32(10), Arg::U64(raw.len() as u64)];
        device.start(&kernel(&device, "add"), shape(1, 32), &args).unwrap();
        assert_eq!(buffer.copy_to_host().unwrap(), [1, 12, 13]);
    }
}
