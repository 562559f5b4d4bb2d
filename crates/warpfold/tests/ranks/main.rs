//! Ranks, each with a device, that meet and reduce an array together.

#[path = "../support/parts.rs"]
mod parts;
#[path = "../support/seed.rs"]
mod seed;
#[path = "../../../../tests/support/skip.rs"]
mod skip;

mod faults;
mod gpus;
mod meet;
mod processes;
mod rendezvous;
mod results;
mod rows;
