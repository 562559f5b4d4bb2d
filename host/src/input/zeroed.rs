//! Memory of the host for elements.

use super::error::InputError;
use crate::{element::Element, host_memory};

/// `n` zeros, or [`InputError::HostMemory`] if the host has no memory for them.
pub(super) fn zeroed<T: Element>(n: u64) -> Result<Vec<T>, InputError> {
    let refuse = InputError::HostMemory { n, element: T::TYPE };
    // An allocation may succeed and yet be more than the host can ever fill.
    let bytes = u128::from(n) * size_of::<T>() as u128;
    if host_memory::available().is_some_and(|available| bytes > u128::from(available)) {
        return Err(refuse);
    }
    let Ok(len) = usize::try_from(n) else {
        return Err(refuse);
    };
    let mut values = Vec::new();
    if values.try_reserve_exact(len).is_err() {
        return Err(refuse);
    }
    values.resize(len, T::zeroed());
    Ok(values)
}
