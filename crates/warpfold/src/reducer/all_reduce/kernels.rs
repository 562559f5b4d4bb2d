//! The kernels that combine raw results of several devices, and what each is for.

use std::sync::Arc;

use crate::{
    device::Device,
    ptx::{EmbeddedKernel, direct, exchange},
};

use super::super::{
    Error,
    engine::{Cache, Engine},
    group::shard_error,
};

/// The kernels that combine raw results of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// The kernel that passes raw results through mailboxes.
    pub(super) posts: &'static EmbeddedKernel,
    /// The kernel that reads raw results where they lie.
    pub(super) direct: &'static EmbeddedKernel,
    /// The most results of a block of the first kernel.
    pub(super) per_block: u32,
    /// The most results of a block of the second one.
    pub(super) per_tile: u32,
}

/// The most threads of a block.
pub(super) const MOST_THREADS: u32 = 256;

/// The most words of 32 bits that the results of a block take, if a block has several results.
const MOST_WORDS: u32 = 256;

/// The kernels that combine the raw results of the kernel `reduce`, which take `bytes` bytes each.
/// `None` if there is none.
pub(super) fn exchange_of(reduce: &EmbeddedKernel, bytes: usize) -> Option<Exchange> {
    let (family, rest) = reduce.name().split_once('_')?;
    let (operation, element) = rest.rsplit_once('_')?;
    // The raw result of an exact sum of a row is rounded already.
    if !["reduce", "rows"].contains(&family) || (family, operation) == ("rows", "exact") {
        return None;
    }
    let (operation, element) = combined_as(operation, element);
    let [posts, direct] = find(operation, element)?;
    let per_block = MOST_WORDS / words(bytes);
    let (per_block, per_tile) =
        if operation == "exact" { (1, 1) } else { (per_block, 8 * per_block) };
    Some(Exchange { posts, direct, per_block, per_tile })
}

/// Loads a kernel for raw results of so many bytes on each device.
pub(super) fn load(
    devices: &[Device],
    kernel: &'static EmbeddedKernel,
    bytes: usize,
) -> Result<Vec<Arc<Engine>>, Error> {
    let load = |(shard, device): (usize, &Device)| {
        let engine = device.attached::<Cache>().engine(device, kernel, bytes);
        engine.map_err(|error| shard_error(shard, device, error))
    };
    devices.iter().enumerate().map(load).collect()
}

/// How many words of 32 bits a raw result of so many bytes takes.
pub(super) fn words(bytes: usize) -> u32 {
    bytes.div_ceil(4) as u32
}

/// The operation by which raw results are combined, and the type that says what they are. It is not
/// always that of the elements: a count is a sum of `u64`, for example.
fn combined_as<'a>(operation: &'a str, element: &'a str) -> (&'a str, &'a str) {
    let wide = match element {
        "i128" | "u128" => "u128",
        "f16" | "bf16" | "f32" => "f32",
        "f64" => "f64",
        _ => "u64",
    };
    match operation {
        "sumabs" | "sumsq" | "dot" | "ssd" => ("sum", wide),
        "sum" | "product" | "compensated" | "logsumexp" | "exact" => (operation, wide),
        "count" | "within" => ("sum", "u64"),
        "wide" => ("sum", "f64"),
        // A checked sum of 64 bits has 128, and one of 128 bits has 192.
        "checked" if wide == "u64" => ("sum", "u128"),
        "checked" => ("checked", "u128"),
        "nansum" | "moments" => (operation, "f64"),
        "maxabs" => match element {
            "i8" => ("max", "u8"),
            "i16" => ("max", "u16"),
            "i32" => ("max", "u32"),
            "i64" => ("max", "u64"),
            "i128" => ("max", "u128"),
            // A NaN wins.
            _ => ("maximum", element),
        },
        _ => (operation, element),
    }
}

/// Defines `find`, which looks both kernels up by operation and type.
macro_rules! find {
    ($($operation:ident: $($element:ident)*;)*) => {
        fn find(operation: &str, element: &str) -> Option<[&'static EmbeddedKernel; 2]> {
            Some(match (operation, element) {
                $($((stringify!($operation), stringify!($element)) => {
                    [&exchange::$operation::$element, &direct::$operation::$element]
                })*)*
                _ => return None,
            })
        }
    };
}

find! {
    sum: u64 u128 f32 f64;
    product: u64 u128 f32 f64;
    wrapping: u32;
    checked: u128;
    exact: f32 f64;
    compensated: f32 f64;
    logsumexp: f32 f64;
    nansum: f64;
    moments: f64;
    and: u8 u16 u32 u64 u128;
    or: u8 u16 u32 u64 u128;
    xor: u8 u16 u32 u64 u128;
    min: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    max: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    minimum: f16 bf16 f32 f64;
    maximum: f16 bf16 f32 f64;
    minmax: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    argmin: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    argmax: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64;
    argminimum: f16 bf16 f32 f64;
    argmaximum: f16 bf16 f32 f64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::{reduce, rows};

    #[test]
    fn raw_results_have_the_kernel_of_their_type() {
        let of = |kernel, bytes| {
            let found = exchange_of(kernel, bytes).unwrap();
            assert_eq!(
                found.direct.name().strip_prefix("direct"),
                found.posts.name().strip_prefix("exchange")
            );
            (found.posts.name(), found.per_block)
        };
        assert_eq!(of(&reduce::sum::i8, 8), ("exchange_sum_u64", 128));
        assert_eq!(of(&reduce::dot::bf16, 4), ("exchange_sum_f32", 256));
        assert_eq!(of(&reduce::within::f64, 8), ("exchange_sum_u64", 128));
        assert_eq!(of(&reduce::wide::f32, 8), ("exchange_sum_f64", 128));
        assert_eq!(of(&reduce::checked::i64, 16), ("exchange_sum_u128", 64));
        assert_eq!(of(&reduce::checked::i128, 24), ("exchange_checked_u128", 42));
        assert_eq!(of(&reduce::maxabs::i16, 2), ("exchange_max_u16", 256));
        assert_eq!(of(&reduce::maxabs::f64, 8), ("exchange_maximum_f64", 128));
        assert_eq!(of(&reduce::exact::bf16, 60), ("exchange_exact_f32", 1));
        assert_eq!(of(&reduce::argmin::u8, 16), ("exchange_argmin_u8", 64));
        assert_eq!(of(&rows::sum::f64, 8), ("exchange_sum_f64", 128));
        assert!(exchange_of(&rows::exact::f32, 4).is_none());
        assert!(exchange_of(&rows::top4::f32, 16).is_none());
    }
}
