//! Ranks, each with a device, that meet and reduce an array together.

#[path = "../support/seed.rs"]
mod seed;

mod meet;
mod rendezvous;
