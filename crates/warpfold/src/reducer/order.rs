//! Which of two values is the least or the greatest.

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

/// The first of the least; a NaN only if there is nothing else.
pub(super) fn first_least<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_lt, false)
}

/// The first of the greatest; a NaN only if there is nothing else.
pub(super) fn first_greatest<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_gt, false)
}

/// The first NaN, or the first of the least.
pub(super) fn first_least_or_nan<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_lt, true)
}

/// The first NaN, or the first of the greatest.
pub(super) fn first_greatest_or_nan<T: Item>(a: Indexed<T>, b: Indexed<T>) -> Indexed<T> {
    choose_first(a, b, Ordering::is_gt, true)
}

/// `a` where `wins` says so of their order. A NaN wins against a number, or loses.
fn choose<T: Item>(a: T, b: T, wins: fn(Ordering) -> bool, nan_wins: bool) -> T {
    let a_wins = match (a.is_nan(), b.is_nan()) {
        (false, false) => wins(a.order(&b)),
        (a_is_nan, _) => a_is_nan == nan_wins,
    };
    if a_wins { a } else { b }
}

/// `a` where `wins` says so of the order of the values, or where they are equal and it comes first.
fn choose_first<T: Item>(a: Indexed<T>, b: Indexed<T>, wins: fn(Ordering) -> bool, nan_wins: bool) -> Indexed<T> {
    let order = match (a.value.is_nan(), b.value.is_nan()) {
        (false, false) => a.value.order(&b.value),
        (true, true) => Ordering::Equal,
        (a_is_nan, _) => return if a_is_nan == nan_wins { a } else { b },
    };
    if wins(order) || order.is_eq() && a.index < b.index { a } else { b }
}
