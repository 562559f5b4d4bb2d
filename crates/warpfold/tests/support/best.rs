//! The best few elements of a slice, as a stable sort on the CPU finds them.

use warpfold::{
    Item, Ranked,
    half::{bf16, f16},
};

/// A type of elements, and the order of its values.
pub(crate) trait Ordered: Item {
    /// The order of two values. A NaN is after all others.
    fn compare(self, other: Self, is_largest: bool) -> std::cmp::Ordering;
}

macro_rules! ordered {
    ([$($type:ident)*] $order:ident, $is_nan:expr) => {$(
        impl Ordered for $type {
            fn compare(self, other: Self, is_largest: bool) -> std::cmp::Ordering {
                let is_nan: fn(Self) -> bool = $is_nan;
                let order = if is_largest { other.$order(&self) } else { self.$order(&other) };
                let are_numbers = !is_nan(self) && !is_nan(other);
                if are_numbers { order } else { is_nan(self).cmp(&is_nan(other)) }
            }
        }
    )*};
}

ordered!([u8 i32 u32 i64 u64] cmp, |_| false);
ordered!([f16 bf16 f32 f64] total_cmp, |x| x.is_nan());

/// The best `k` elements and their indices, as text, so that NaNs are equal and zeros are not.
pub(crate) fn expected<T: Ordered>(row: &[T], k: usize, is_largest: bool) -> String {
    let mut indices: Vec<_> = (0..row.len()).collect();
    indices.sort_by(|&a, &b| row[a].compare(row[b], is_largest));
    indices.truncate(k);
    text(indices.into_iter().map(|index| (row[index], index as u64)))
}

/// Values and their indices as text.
pub(crate) fn text<T: Item>(best: impl Iterator<Item = (T, u64)>) -> String {
    best.map(|(value, index)| format!("{value:?} at {index}")).collect::<Vec<_>>().join(", ")
}

/// A result of the library as text.
pub(crate) fn found<T: Item, const K: usize>(best: &Ranked<T, K>) -> String {
    text(best.iter().map(|best| (best.value, best.index)))
}
