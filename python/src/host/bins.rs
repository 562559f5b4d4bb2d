//! Bins on the host.

use std::collections::TryReserveError;

use crate::array::ArrayRef;

use super::{
    element::{Element, with_element},
    fold::Corrected,
    value::{Output, Value},
    walk::read,
};

/// What the keys of bins say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The number of bins: one more than the greatest key, and at least the number asked for.
    Bins(usize),
    /// A key that is negative, with its position.
    Negative { position: usize, key: i128 },
}

fn at(array: &ArrayRef, index: usize) -> u64 {
    array.address.wrapping_add_signed(index as i64 * array.strides[0])
}

unsafe fn key(keys: &ArrayRef, index: usize) -> i128 {
    // SAFETY: the caller's contract: there is such a key, of a type of integers.
    with_element!(keys.dtype, T => match unsafe { read::<T>(at(keys, index)) }.value() {
        Value::Signed(value) => value.into(),
        Value::Unsigned(value) => value.into(),
        Value::Float(_) => -1,
    })
}

/// Finds out how many bins keys have.
///
/// # Safety
///
/// The keys are there, and are integers.
pub(crate) unsafe fn count(keys: &ArrayRef, least: usize) -> Counted {
    let mut bins = least as i128;
    for position in 0..keys.len() as usize {
        // SAFETY: the caller's contract.
        let key = unsafe { key(keys, position) };
        if key < 0 {
            return Counted::Negative { position, key };
        }
        bins = bins.max(key + 1);
    }
    Counted::Bins(usize::try_from(bins).unwrap_or(usize::MAX))
}

/// A list of so many values, if there is memory for it.
fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>, TryReserveError> {
    let mut list = Vec::new();
    list.try_reserve_exact(len)?;
    list.resize(len, value);
    Ok(list)
}

/// Counts keys, or sums the weights of each key.
///
/// # Safety
///
/// Keys and weights are there, as many of one as of the other. No key is negative, or too large for
/// the output, which nobody else accesses meanwhile.
pub(crate) unsafe fn sums(
    keys: &ArrayRef,
    weights: Option<&ArrayRef>,
    output: &Output,
) -> Result<(), TryReserveError> {
    let bins = output.shape[0] as usize;
    let len = keys.len() as usize;
    // SAFETY: the caller's contract.
    unsafe {
        let Some(weights) = weights else {
            let mut counts = filled(bins, 0u64)?;
            for index in 0..len {
                counts[key(keys, index) as usize] += 1;
            }
            for (bin, count) in counts.into_iter().enumerate() {
                output.write(bin, Value::Unsigned(count));
            }
            return Ok(());
        };
        with_element!(weights.dtype, T => {
            let of = |wanted| if wanted { bins } else { 0 };
            let mut floats = filled(of(T::IS_FLOAT), Corrected::default())?;
            let mut integers = filled(of(!T::IS_FLOAT), 0u64)?;
            for index in 0..len {
                let bin = key(keys, index) as usize;
                let weight = read::<T>(at(weights, index));
                if T::IS_FLOAT {
                    floats[bin].add(weight.float());
                } else {
                    integers[bin] = integers[bin].wrapping_add(weight.integer());
                }
            }
            for (bin, sum) in floats.into_iter().enumerate() {
                output.write(bin, Value::Float(sum.value()));
            }
            for (bin, sum) in integers.into_iter().enumerate() {
                let is_signed = T::IS_SIGNED;
                let value = if is_signed { Value::Signed(sum as i64) } else { Value::Unsigned(sum) };
                output.write(bin, value);
            }
        });
    }
    Ok(())
}
