//! Dot products on the host.

use crate::{array::ArrayRef, axes::Axes};

use super::{
    element::{Element, with_element},
    fold::Corrected,
    value::{Output, Value},
    walk::read,
};

/// The sums of the products of two arrays of the same shape along some axes.
///
/// # Safety
///
/// The elements of both arrays are there, and both have the same type. The output has a place for
/// each result, which nobody else accesses meanwhile.
pub(crate) unsafe fn dot(first: &ArrayRef, second: &ArrayRef, axes: &Axes, output: &Output) {
    // SAFETY: the caller's contract.
    with_element!(first.dtype, T => unsafe { dots::<T>(first, second, axes, output) });
}

unsafe fn dots<T: Element>(first: &ArrayRef, second: &ArrayRef, axes: &Axes, output: &Output) {
    let list = |is_reduced: bool| -> Vec<(usize, [i64; 2])> {
        (0..first.rank())
            .filter(|&axis| axes.is_reduced(axis) == is_reduced)
            .map(|axis| (first.shape[axis] as usize, [first.strides[axis], second.strides[axis]]))
            .collect()
    };
    let (kept, reduced) = (list(false), list(true));
    let count = |dims: &[(usize, [i64; 2])]| dims.iter().map(|dim| dim.0).product::<usize>();
    let starts = [first.address, second.address];
    for row in 0..count(&kept) {
        let starts = moved(&kept, starts, row);
        let (mut float, mut wrapping) = (Corrected::default(), 0u64);
        // The fastest axis in one loop.
        let (inner, steps) = reduced.last().copied().unwrap_or((1, [0, 0]));
        let outer = count(&reduced).checked_div(inner).unwrap_or(0);
        for run in 0..outer {
            let places = moved(&reduced, starts, run * inner);
            for index in 0..inner as i64 {
                let at = |of: usize| places[of].wrapping_add_signed(index * steps[of]);
                // SAFETY: the caller's contract.
                let (a, b) = unsafe { (read::<T>(at(0)), read::<T>(at(1))) };
                if T::IS_FLOAT {
                    float.add(a.float() * b.float());
                } else {
                    wrapping = wrapping.wrapping_add(a.integer().wrapping_mul(b.integer()));
                }
            }
        }
        let value = match (T::IS_FLOAT, T::IS_SIGNED) {
            (true, _) => Value::Float(float.value()),
            (false, true) => Value::Signed(wrapping as i64),
            (false, false) => Value::Unsigned(wrapping),
        };
        // SAFETY: the caller's contract.
        unsafe { output.write(row, value) };
    }
}

/// The addresses of the elements with this number along some axes.
fn moved(dims: &[(usize, [i64; 2])], mut places: [u64; 2], mut number: usize) -> [u64; 2] {
    for (size, strides) in dims.iter().rev() {
        let index = (number % size) as i64;
        for (place, stride) in places.iter_mut().zip(strides) {
            *place = place.wrapping_add_signed(index * stride);
        }
        number /= size;
    }
    places
}
