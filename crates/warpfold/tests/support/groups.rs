//! Groups of simulated devices, and parts of arrays for their devices.

#![allow(dead_code, reason = "not each test uses all of it")]

use warpfold::{Buffer, Device, Group, Item};

/// A group of simulated devices.
pub(crate) fn simulated(size: usize) -> Group {
    let devices: Vec<_> = (0..size).map(|_| Device::simulator()).collect();
    Group::of(&devices).unwrap()
}

/// The parts of an array that these lengths give, one after another.
pub(crate) fn cut<'a, T: Item>(mut values: &'a [T], lengths: &[usize]) -> Vec<&'a [T]> {
    let parts = lengths.iter().map(|&len| {
        let (part, rest) = values.split_at(len);
        values = rest;
        part
    });
    let parts = parts.collect();
    assert!(values.is_empty(), "the lengths take all elements");
    parts
}

/// Uploads one part to each device.
pub(crate) fn upload<T: Item>(group: &Group, parts: &[&[T]]) -> Vec<Buffer<T>> {
    let devices = group.devices().iter();
    devices.zip(parts).map(|(device, part)| device.upload(part).unwrap()).collect()
}
