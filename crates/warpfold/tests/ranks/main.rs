//! Ranks, each with a device, that meet and reduce an array together.

#[path = "../support/seed.rs"]
mod seed;

mod faults;
mod meet;
mod rendezvous;
mod results;
