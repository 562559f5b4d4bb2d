//! Parameters of kernels, and where each lies in the parameter space.

use crate::ptx::ast;

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Its type in the PTX; for a structure that of its elements, usually `b8`.
    pub ty: ast::Type,
    /// In bytes.
    pub size: u64,
    /// In bytes.
    pub align: u32,
    /// Where it begins in the parameter space, in bytes.
    pub offset: u64,
}

/// Lays out parameters one after another, each aligned, and says how many bytes they take.
pub(crate) fn lay_out(params: &[ast::Param]) -> (Vec<Param>, u64) {
    let mut end = 0;
    let laid_out = params
        .iter()
        .map(|param| {
            let offset = u64::next_multiple_of(end, u64::from(param.align.max(1)));
            end = offset + param.size();
            Param { name: param.name.clone(), ty: param.ty, size: param.size(), align: param.align, offset }
        })
        .collect();
    (laid_out, end)
}
