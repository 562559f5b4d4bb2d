//! Lowering: from the syntax tree of a kernel to a [`Program`]. Direct calls are inlined, so that a
//! warp needs no call stack; `indirect` lowers the others. Recursion is refused. Parameters and
//! results of inlined functions are in local memory.
//!
//! An instruction that cannot be lowered is noted, and the others are lowered nevertheless, so that
//! all reasons for which a kernel cannot be run are known.

mod asynchronous;
mod body;
mod error;
mod frame;
mod indirect;
mod instruction;
mod lowering;
mod steps;
mod storage;
mod system;
mod values;
mod wide;

pub use error::{LoadError, Refusal};

use crate::ir::param::{Param, lay_out};
use crate::ir::{Program, Space};
use crate::ptx::ast::{self, Function};
use lowering::Lowering;

/// A lowered kernel.
pub(crate) struct Lowered {
    pub(crate) program: Program,
    /// Whether the kernel uses dynamic shared memory.
    pub(crate) uses_dynamic_shared: bool,
    /// The reasons for which the program must not run, in the order in which they were found. If
    /// there are any, the program lacks instructions.
    pub(crate) refusals: Vec<Refusal>,
}

/// Lowers a kernel.
pub(crate) fn lower(module: &ast::Module, kernel: &Function) -> Lowered {
    let (params, param_bytes) = lay_out(&kernel.params);
    let mut lowering = Lowering::new(module, kernel);
    let params = params.iter().map(|param: &Param| (Space::Param, param.offset)).collect();
    if let Err(refusal) = lowering.outline(kernel) {
        lowering.note(*refusal);
    }
    lowering.begin_kernel();
    let lowered =
        lowering.frame(kernel, params, Vec::new()).and_then(|mut frame| lowering.body(&mut frame));
    if let Err(refusal) = lowered {
        lowering.note(*refusal);
    }
    lowering.finish(param_bytes)
}
