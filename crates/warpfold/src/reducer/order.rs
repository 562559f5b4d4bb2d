//! Which of two values is the lesser or the greater.

use std::cmp::Ordering;

use super::{Indexed, Item};

/// IEEE 754-2019's `minimumNumber`.
pub(super) fn lesser<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_le, false)
}

/// IEEE 754-2019's `maximumNumber`.
pub(super) fn greater<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_ge, false)
}

/// IEEE 754-2019's `minimum`.
pub(super) fn lesser_or_nan<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_le, true)
}

/// IEEE 754-2019's `maximum`.
pub(super) fn greater_or_nan<T: Item>(a: T, b: T) -> T {
    choose(a, b, Ordering::is_ge, true)
}

/// The least value, among equal values the first. The result is a NaN only if both values are.
pub(super) fn first_least<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_lt, false)
}

/// The greatest value, among equal values the first. The result is a NaN only if both values are.
pub(super) fn first_greatest<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_gt, false)
}

/// The first NaN, if there is one; else the least value, among equal values the first.
pub(super) fn first_least_or_nan<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_lt, true)
}

/// The first NaN, if there is one; else the greatest value, among equal values the first.
pub(super) fn first_greatest_or_nan<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_gt, true)
}

/// Returns `a` if `wins` accepts the order of `a` and `b`, else `b`. If one of them is NaN,
/// `nan_wins` decides.
fn choose<T: Item>(a: T, b: T, wins: fn(Ordering) -> bool, nan_wins: bool) -> T {
    let a_wins = match (a.is_nan(), b.is_nan()) {
        (false, false) => wins(a.order(&b)),
        (a_is_nan, _) => a_is_nan == nan_wins,
    };
    if a_wins { a } else { b }
}

/// Returns `a` if `wins` accepts the order of the values, or if the values are equal and `a` has
/// the lower index; else `b`. If one value is NaN, `nan_wins` decides.
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
