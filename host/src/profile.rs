//! Profiles of a reduction, counted on the simulator: figures beside their ideals, the share of
//! each line of the source, and the waste.
//!
//! The figures are sums over all launches of a reduction, with those that combine the partial
//! results of earlier ones.
//!
//! ```
//! use warpfold_lab::{device::*, element::*, launch::*, op::Op, profile::*};
//! use warpfold_lab::{ptx::PtxLibrary, reduce::*, variant::Variant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (library, device) = (PtxLibrary::embedded()?, Device::simulator_with(Instrument::Count));
//! let (variant, element) = (Variant::InterleavedContiguous, ElementType::I32);
//! let problem = Problem { variant, op: Op::Sum, element, n: 256 };
//! let limits = DeviceLimits::new(device.info(), device.free_memory()?);
//! let plan = plan(&problem, &Request::default(), &limits)?;
//! Runner::new(&device, &library).reduce(&plan, &Values::I32(vec![1; 256]), Runs::ONCE, |_| ())?;
//!
//! let registers = Registers::Given(16);
//! let target = Target { gpu: "h100".parse()?, registers, static_shared_bytes: 0 };
//! let observations = device.take_observations();
//! let profiled = Profiled::new(plan, "ones".into(), target, observations).ok_or("no launch")?;
//! assert_eq!(profiled.counters.global.load.sectors, 256 * 4 / 32);
//! assert_eq!(profiled.wastes().wastes[0].kind, WasteKind::BankConflicts);
//! assert_eq!(profiled.occupancy().percent, 100.0);
//! # Ok(())
//! # }
//! ```

mod compare;
mod cost;
mod document;
mod figures;
mod json;
mod lines;
mod listing;
mod measures;
mod next;
mod polls;
mod profiled;
mod registers;
mod text;
mod waste;

pub use compare::Comparison;
pub use cost::{CURRENCY, REMAINDER, SECTOR, WAVEFRONT, ideal_cost};
pub use figures::{Figure, Level, figures};
pub use lines::{Line, lines};
pub use measures::ideal_sectors;
pub(crate) use measures::{instructions_per_32_elements, sectors};
pub use next::Burden;
pub use polls::on_polls;
pub use profiled::{Launch, Profiled, Target, describe_gpu};
pub use registers::{Registers, registers};
pub use waste::{Waste, WasteKind, Wastes};
