//! Lowering: from the syntax tree of a kernel to a [`Program`]. Calls are inlined, so that a warp
//! needs no call stack. Recursion is refused. Parameters and results of inlined functions are in
//! local memory.

mod asynchronous;
mod body;
mod error;
mod frame;
mod instruction;
mod lowering;
mod steps;
mod storage;
mod values;

pub use error::LoadError;

use crate::ir::param::{Param, lay_out};
use crate::ir::{Program, Space};
use crate::ptx::ast::{self, Function};
use lowering::{Lowering, Result};

/// Lowers a kernel. Also returns whether it uses dynamic shared memory.
pub(crate) fn lower(module: &ast::Module, kernel: &Function) -> Result<(Program, bool)> {
    let (params, param_bytes) = lay_out(&kernel.params);
    let mut lowering = Lowering::new(module, kernel);
    let params = params.iter().map(|param: &Param| (Space::Param, param.offset)).collect();
    let mut frame = lowering.frame(kernel, params, Vec::new())?;
    lowering.body(&mut frame)?;
    lowering.finish(param_bytes, kernel)
}
