//! Many rungs of the ladder at the same work, in one table.
//!
//! A [`Bench`] measures rungs on one device and checks each against the CPU. [`climb`] measures all
//! rungs at one size, and several climbs are a sweep. [`Climb::document`] and [`sweep_document`]
//! make tables and charts of them. On a GPU the figures are times. On the simulator, whose times
//! say nothing about a GPU, they are counters beside the model's ideal.
//!
//! ```
//! use warpfold_lab::{
//!     device::*, element::ElementType, input::Fill, ladder::*, op::Op, ptx::PtxLibrary,
//!     reduce::Runs, variant::Variant,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (library, device) = (PtxLibrary::embedded()?, Device::simulator_with(Instrument::Count));
//! let mut bench = Bench::new(&device, None, &library);
//! let (op, element, fill) = (Op::Sum, ElementType::I32, Fill::Random);
//! let work = Work { op, element, n: 4096, fill, seed: 1 };
//! let variants = [Variant::InterleavedContiguous, Variant::Sequential];
//! let contenders = variants.map(Contender::new);
//! let climb = climb(&mut bench, work, &contenders, Runs::ONCE, &mut |_| ())?;
//! let counted = |rung: usize| climb.rungs[rung].measured().and_then(|rung| rung.counted);
//! let cost = |rung: usize| counted(rung).map(|counted| counted.cost);
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
pub use quiz::{Quiz, Side, UDACITY_BLOCK, question, quiz};
pub use rung::{Measured, Refusal, Rung};
pub use sweep::sweep_document;
pub use work::{Contender, Work};

#[cfg(test)]
mod tests;
