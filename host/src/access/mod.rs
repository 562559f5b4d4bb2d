//! Experiments that show what the lecture's slides on memory access and on instructions teach. Each
//! becomes a table of live figures over the parameter that its slides vary.
//!
//! [`explain()`] draws one request of a warp, and a [`Lab`] runs the kernels of a [`Pattern`]. The
//! simulator counts requests, sectors, wavefronts and conflicts. Times are measured on a GPU, if
//! there is one, and are left out if there is none. Each result is checked on the CPU.
//!
//! ```
//! use warpfold_lab::access::{Lab, Pattern, Request, Sweep};
//! use warpfold_lab::{device::*, ptx::PtxLibrary};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let library = PtxLibrary::embedded()?;
//! let counter = Device::simulator_with(Instrument::Count);
//! let request = Request { sweep: Some(Sweep { first: 1, last: 2 }), ..Request::default() };
//! let section = Lab::new(&library, &counter, None, request).run(Pattern::Stride)?;
//! // If the words are 4 bytes apart, 32 lanes ask for 4 sectors of 32 bytes. If they are 8 bytes
//! // apart, the lanes ask for 8 sectors and use half of each.
//! let sectors = section.tables[0].rows.iter().map(|row| row[1].clone());
//! assert_eq!(sectors.collect::<Vec<_>>(), [Cell::number(4.0, 2), Cell::number(8.0, 2)]);
//! # use warpfold_lab::output::Cell;
//! # Ok(())
//! # }
//! ```

mod arithmetic;
mod draw;
mod error;
mod explain;
mod global;
mod lab;
mod math;
mod on_chip;
mod pattern;
mod sass;
mod show;
mod site;
mod transfer;
mod words;

pub use draw::Section;
pub use error::AccessError;
pub use explain::{Drawn, explain};
pub use lab::{Lab, Request};
pub use math::{EXP_ULPS, SIN_ULPS, ulps};
pub use pattern::{Pattern, Sweep, UnknownPattern};
