//! The native part of the Python package `warpfold`.
//!
//! `array` reads arrays of other libraries and lets them allocate results, `host` reduces on the
//! CPU, `device` on GPUs and on the simulator by the library `warpfold`, and `calls` are the
//! functions that Python calls. The Python files of the package have what a caller sees: names,
//! documentation and defaults.

mod array;
mod axes;
mod calls;
mod device;
mod dtype;
mod error;
mod host;
mod op;

use pyo3::prelude::*;

/// The number by which the function `reduce` knows a reduction.
#[pyfunction]
fn number(name: &str) -> Option<usize> {
    op::Op::number(name)
}

/// The native part of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<array::Array>()?;
    module.add_function(wrap_pyfunction!(number, module)?)?;
    module.add_function(wrap_pyfunction!(calls::check_device, module)?)?;
    module.add_function(wrap_pyfunction!(calls::driver, module)?)?;
    module.add_function(wrap_pyfunction!(calls::gpu, module)?)?;
    module.add_function(wrap_pyfunction!(calls::reduce, module)?)?;
    module.add_function(wrap_pyfunction!(calls::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(calls::topk, module)?)?;
    module.add_function(wrap_pyfunction!(calls::dot, module)?)?;
    module.add_function(wrap_pyfunction!(calls::segment_reduce, module)?)?;
    module.add_function(wrap_pyfunction!(calls::reduce_by_key, module)?)?;
    module.add_function(wrap_pyfunction!(calls::bincount, module)?)?;
    Ok(())
}
