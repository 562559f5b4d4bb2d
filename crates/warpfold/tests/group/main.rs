//! Groups of devices: the result of an array does not depend on who reduces which part of it,
//! except for the last bits of floats, and those follow the documented order.

#![allow(clippy::float_cmp, reason = "the bits of results are what these tests compare")]

#[path = "../support/seed.rs"]
mod seed;
#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod failures;
mod results;

use warpfold::{Device, Group, Item};

/// The numbers of devices of the groups.
const SIZES: [usize; 5] = [1, 2, 3, 4, 8];

/// A group of simulated devices.
fn simulated(size: usize) -> Group {
    let devices: Vec<_> = (0..size).map(|_| Device::simulator()).collect();
    Group::of(&devices).unwrap()
}

/// The parts of an array that these lengths give, one after another.
fn cut<'a, T: Item>(mut values: &'a [T], lengths: &[usize]) -> Vec<&'a [T]> {
    let parts = lengths.iter().map(|&len| {
        let (part, rest) = values.split_at(len);
        values = rest;
        part
    });
    let parts = parts.collect();
    assert!(values.is_empty(), "the lengths take all elements");
    parts
}
