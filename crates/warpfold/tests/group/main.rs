//! Groups of devices: the result of an array does not depend on who reduces which part of it,
//! except for the last bits of floats, and those follow the documented order.

#![allow(clippy::float_cmp, reason = "the bits of results are what these tests compare")]

#[path = "../support/groups.rs"]
mod groups;
#[path = "../support/seed.rs"]
mod seed;
#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod failures;
mod results;

use groups::{cut, simulated, upload};

/// The numbers of devices of the groups.
const SIZES: [usize; 5] = [1, 2, 3, 4, 8];
