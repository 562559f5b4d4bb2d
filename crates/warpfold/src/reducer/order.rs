//! Functions that choose the lesser or the greater of two values.

use std::cmp::Ordering;

use super::{Indexed, Item};

/// The lesser value, by IEEE 754-2019's `minimumNumber`: -0 is less than +0, and the result is a
/// NaN only if both values are.
pub(super) fn lesser<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_le, false)
}

/// The greater value, by IEEE 754-2019's `maximumNumber`: +0 is greater than -0, and the result is
/// a NaN only if both values are.
pub(super) fn greater<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_ge, false)
}

/// The lesser value, by IEEE 754-2019's `minimum`: -0 is less than +0, and a NaN wins against every
/// number.
pub(super) fn lesser_or_nan<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_le, true)
}

/// The greater value, by IEEE 754-2019's `maximum`: +0 is greater than -0, and a NaN wins against
/// every number.
pub(super) fn greater_or_nan<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_ge, true)
}

/// The lesser value. If the values are equal, the one with the lower index wins. The result is a
/// NaN only if both values are.
pub(super) fn first_least<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_lt, false)
}

/// The greater value. If the values are equal, the one with the lower index wins. The result is a
/// NaN only if both values are.
pub(super) fn first_greatest<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_gt, false)
}

/// The NaN with the lower index, if there is a NaN; otherwise the lesser value. If the values are
/// equal, the one with the lower index wins.
pub(super) fn first_least_or_nan<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_lt, true)
}

/// The NaN with the lower index, if there is a NaN; otherwise the greater value. If the values are
/// equal, the one with the lower index wins.
pub(super) fn first_greatest_or_nan<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_gt, true)
}

/// Returns `a` if `wins` accepts the order of `a` and `b`, else `b`. If exactly one of them is a
/// NaN, that NaN wins if `nan_wins` is true, and loses otherwise. If both are NaNs, one of them is
/// returned.
fn choose<T: Item>(a: T, b: T, wins: fn(Ordering) -> bool, nan_wins: bool) -> T {
    let a_wins = match (a.is_nan(), b.is_nan()) {
        (false, false) => wins(a.order(&b)),
        (a_is_nan, _) => a_is_nan == nan_wins,
    };
    if a_wins { a } else { b }
}

/// Returns `a` if `wins` accepts the order of the values, or if the values are equal and `a` has
/// the lower index; else `b`. If exactly one value is a NaN, that NaN wins if `nan_wins` is true,
/// and loses otherwise. Two NaNs count as equal.
fn choose_first<T: Item>(
    a: Indexed<T>,
    b: Indexed<T>,
    wins: fn(Ordering) -> bool,
    nan_wins: bool,
) -> Indexed<T> {
    let order = match (a.value.is_nan(), b.value.is_nan()) {
        (false, false) => a.value.order(&b.value),
        (true, true) => Ordering::Equal,
        (a_is_nan, _) => return if a_is_nan == nan_wins { a } else { b },
    };
    if wins(order) || order.is_eq() && a.index < b.index { a } else { b }
}
