//! Parameters of kernels, and their places in the parameter space.

use crate::ptx::ast;

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// The name of the parameter in the PTX.
    pub name: String,
    /// The type of the parameter in the PTX. For a structure this is the type of its elements,
    /// usually `b8`.
    pub ty: ast::Type,
    /// The size of the parameter in bytes.
    pub size: u64,
    /// The alignment of the parameter in bytes.
    pub align: u32,
    /// The offset in the parameter space, in bytes.
    pub offset: u64,
}

/// Lays out parameters one after another, each aligned. Also returns how many bytes they take
/// together.
pub(crate) fn lay_out(params: &[ast::Param]) -> (Vec<Param>, u64) {
    let mut end = 0;
    let laid_out = params
        .iter()
        .map(|param| {
            let offset = u64::next_multiple_of(end, u64::from(param.align.max(1)));
            end = offset + param.size();
            Param {
                name: param.name.clone(),
                ty: param.ty,
                size: param.size(),
                align: param.align,
                offset,
            }
        })
        .collect();
    (laid_out, end)
}
