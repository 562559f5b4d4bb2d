//! The production kernels in CUDA C++, launched in the same shapes.

use warpfold::device::{Device, Module};

use crate::{cases::Case, contender::Contender};

pub(crate) fn open(_device: &Device, _twin: &Module, _case: &Case) -> anyhow::Result<Option<Box<dyn Contender>>> {
    Ok(None)
}
