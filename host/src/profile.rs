//! What a reduction does, counted on the simulator: figures beside their ideals, shares of the
//! source's lines, and what is wasted.
//!
//! All launches of a reduction are summed: those that combine the partial results of earlier ones
//! count as well.
//!
//! ```
//! use warpfold_lab::{device::*, element::*, launch::*, op::Op, profile::*, ptx::PtxLibrary, reduce::*, variant::Variant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (library, device) = (PtxLibrary::embedded()?, Device::simulator_with(Instrument::Count));
//! let problem = Problem { variant: Variant::InterleavedContiguous, op: Op::Sum, element: ElementType::I32, n: 256 };
//! let limits = DeviceLimits::new(device.info(), device.free_memory()?);
//! let plan = plan(&problem, &Request::default(), &limits)?;
//! Runner::new(&device, &library).reduce(&plan, &Values::I32(vec![1; 256]), Runs::ONCE, |_| ())?;
//!
//! let target = Target { gpu: "h100".parse()?, registers: Registers::Given(16), static_shared_bytes: 0 };
//! let profiled = Profiled::new(plan, "ones".into(), target, device.take_observations()).ok_or("no launch")?;
//! assert_eq!(profiled.counters.global.load.sectors, 256 * 4 / 32);
//! assert_eq!(profiled.wastes().wastes[0].kind, WasteKind::BankConflicts);
//! assert_eq!(profiled.occupancy().percent, 100.0);
//! # Ok(())
//! # }
//! ```

mod compare;
mod figures;
mod json;
mod lines;
mod listing;
mod measures;
mod profiled;
mod registers;
mod text;
mod waste;

pub use compare::Comparison;
pub use figures::{Figure, Level, figures};
pub use lines::{Line, lines};
pub use measures::ideal_sectors;
pub(crate) use measures::{instructions_per_32_elements, sectors};
pub use profiled::{Launch, Profiled, Target};
pub use registers::{Registers, registers};
pub use waste::{CURRENCY, Waste, WasteKind, Wastes, ideal_cost};
