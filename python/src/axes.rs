//! The axes that are reduced, and the shape of what is left.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyType},
};
use smallvec::SmallVec;

use crate::array::Dims;

/// The axes of an array, by whether they are reduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axes(SmallVec<[bool; 6]>);

/// The error of an axis that is not there. It is both a `ValueError` and an `IndexError`, as
/// NumPy's.
fn axis_error(py: Python<'_>, text: String) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || -> PyResult<Py<PyType>> {
        let class = py.import("warpfold._errors")?.getattr("AxisError")?;
        Ok(class.cast_into::<PyType>().map_err(PyErr::from)?.unbind())
    });
    match class {
        Ok(class) => PyErr::from_type(class.bind(py).clone(), text),
        Err(error) => error,
    }
}

/// The number of an axis, which may count from the end.
fn number(axis: &Bound<'_, PyAny>, rank: usize) -> PyResult<usize> {
    let py = axis.py();
    if axis.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an axis is an integer, and not a bool"));
    }
    let given: i64 = axis
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("an axis is an integer, and not {axis}")))?;
    let from_start = if given < 0 { given + rank as i64 } else { given };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank).ok_or_else(|| {
        axis_error(py, format!("axis {given} is none of an array of {rank} dimensions"))
    })
}

impl Axes {
    /// All axes of an array of this rank.
    pub(crate) fn all(rank: usize) -> Self {
        Self(SmallVec::from_elem(true, rank))
    }

    /// No axis of an array of this rank.
    pub(crate) fn none(rank: usize) -> Self {
        Self(SmallVec::from_elem(false, rank))
    }

    /// Axes by whether they are reduced.
    pub(crate) fn of(is_reduced: SmallVec<[bool; 6]>) -> Self {
        Self(is_reduced)
    }

    /// The same axes with one more behind them.
    pub(crate) fn with_last(&self, is_reduced: bool) -> Self {
        let mut axes = self.0.clone();
        axes.push(is_reduced);
        Self(axes)
    }

    /// The axes that the argument `axis` names: all of them, one, or those of a tuple.
    pub(crate) fn new(axis: Option<&Bound<'_, PyAny>>, rank: usize) -> PyResult<Self> {
        let Some(axis) = axis else { return Ok(Self::all(rank)) };
        let mut reduced = SmallVec::from_elem(false, rank);
        if axis.hasattr("__index__")? {
            reduced[number(axis, rank)?] = true;
            return Ok(Self(reduced));
        }
        let axes = axis.try_iter().map_err(|_| {
            PyTypeError::new_err(format!("axis is None, an integer or a tuple, and not {axis}"))
        })?;
        for axis in axes {
            let axis = axis?;
            if std::mem::replace(&mut reduced[number(&axis, rank)?], true) {
                return Err(PyValueError::new_err(format!("axis {axis} is named twice")));
            }
        }
        Ok(Self(reduced))
    }

    pub(crate) fn is_reduced(&self, axis: usize) -> bool {
        self.0[axis]
    }

    /// The numbers of the axes that are reduced.
    pub(crate) fn reduced(&self) -> SmallVec<[isize; 6]> {
        (0..self.0.len()).filter(|&axis| self.0[axis]).map(|axis| axis as isize).collect()
    }

    /// Whether nothing is left but one result.
    pub(crate) fn is_all(&self) -> bool {
        self.0.iter().all(|&reduced| reduced)
    }

    /// The shape of the results.
    pub(crate) fn shape(&self, shape: &[i64], keepdims: bool) -> Dims {
        let axes = shape.iter().zip(&self.0);
        axes.filter(|axis| keepdims || !axis.1)
            .map(|(&size, &reduced)| if reduced { 1 } else { size })
            .collect()
    }

    /// The number of elements of each result.
    pub(crate) fn length(&self, shape: &[i64]) -> u64 {
        let axes = shape.iter().zip(&self.0).filter(|axis| *axis.1);
        axes.fold(1, |length: u64, (&size, _)| length.saturating_mul(size as u64))
    }
}
