//! The ladder at a glance: many rungs at the same work, one table.
//!
//! A [`Bench`] measures rungs on one device, each checked against the CPU; [`climb`] takes it up
//! the ladder at one size, and several climbs are a sweep. [`Climb::document`] and
//! [`sweep_document`] make tables and charts of them. On a GPU the figures are times; on the
//! simulator, whose times say nothing about a GPU, they are counters beside the model's ideal.
//!
//! ```
//! use warpfold_lab::{device::*, element::ElementType, ladder::*, op::Op, ptx::PtxLibrary, reduce::Runs, variant::Variant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (library, device) = (PtxLibrary::embedded()?, Device::simulator_with(Instrument::Count));
//! let work = Work { op: Op::Sum, element: ElementType::I32, n: 4096, seed: 1 };
//! let contenders: Vec<_> = [Variant::InterleavedContiguous, Variant::Sequential].map(Contender::new).into();
//! let climb = climb(&mut Bench::new(&device, None, &library), work, &contenders, Runs::ONCE, &mut |_| ())?;
//! let cost = |rung: usize| climb.rungs[rung].measured().and_then(|measured| measured.counted).map(|counted| counted.cost);
//! assert!(cost(1) < cost(0));
//! # Ok(())
//! # }
//! ```

mod bench;
mod climb;
mod counted;
mod document;
mod history;
mod peers;
mod quiz;
mod rung;
mod sweep;
mod work;

pub use bench::{Bench, LadderError, References};
pub use climb::{Climb, Event, climb};
pub use counted::Counted;
pub use history::{HISTORY, History};
pub use peers::{Peer, peers};
pub use quiz::{Quiz, Side, UDACITY_BLOCK, quiz};
pub use rung::{Measured, Refusal, Rung};
pub use sweep::sweep_document;
pub use work::{Contender, Work};

#[cfg(test)]
mod tests;
