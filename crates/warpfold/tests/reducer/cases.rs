//! Sizes, places and seeds that the tests of operations share.

use std::env;

use half::{bf16, f16};
use rand::{SeedableRng, rngs::StdRng};
use warpfold::{Buffer, Device, Item};

/// The environment variable that sets the seed of the random elements.
const SEED_VARIABLE: &str = "WARPFOLD_TEST_SEED";

/// Sizes at the edges of warps, packs and blocks, and some sizes that need several blocks.
pub(crate) const SIZES: [usize; 15] =
    [1, 2, 3, 15, 31, 32, 33, 255, 257, 1000, 1023, 1024, 1025, 8193, 40_000];

/// The seed of this run, which is printed when a test fails.
pub(crate) fn seed() -> u64 {
    let seed = env::var(SEED_VARIABLE).map_or(20_261_122, |seed| {
        seed.parse().unwrap_or_else(|_| {
            panic!("{SEED_VARIABLE} is '{seed}': it must be a number below 2^64")
        })
    });
    println!("{SEED_VARIABLE}={seed}");
    seed
}

/// A random generator with the seed of this run.
pub(crate) fn rng() -> StdRng {
    StdRng::seed_from_u64(seed())
}

/// Elements in a buffer, which begin at some place between two multiples of 16 bytes. They are
/// surrounded by other elements, on which no result may depend.
pub(crate) struct Placed<T> {
    buffer: Buffer<T>,
    from: usize,
    len: usize,
}

impl<T: Item> Placed<T> {
    pub(crate) fn new(device: &Device, values: &[T], from: usize, poison: T) -> Self {
        let mut all = vec![poison; from];
        all.extend_from_slice(values);
        all.extend([poison; 20]);
        Self { buffer: device.upload(&all).unwrap(), from, len: values.len() }
    }

    pub(crate) fn view(&self) -> warpfold::View<'_, T> {
        self.buffer.view(self.from..self.from + self.len)
    }
}

/// Two of the offsets at which elements can begin; they depend on `n`.
pub(crate) fn offsets<T>(n: usize) -> [usize; 2] {
    let in_pack = 16 / size_of::<T>();
    [0, 1 + n % in_pack.max(2)]
}

/// The equality of bits. Any two NaNs count as the same.
pub(crate) trait Same {
    fn same(&self, other: &Self) -> bool;
}

macro_rules! same {
    ($($integer:ty)*; $($float:ty)*) => {
        $(impl Same for $integer {
            fn same(&self, other: &Self) -> bool {
                self == other
            }
        })*
        $(impl Same for $float {
            fn same(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        })*
    };
}

same!(i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 bool; f16 bf16 f32 f64);

impl<T: Same> Same for warpfold::Extremes<T> {
    fn same(&self, other: &Self) -> bool {
        self.min.same(&other.min) && self.max.same(&other.max)
    }
}

impl<T: Item + Same> Same for warpfold::Indexed<T> {
    fn same(&self, other: &Self) -> bool {
        self.value.same(&other.value) && self.index == other.index
    }
}

/// Asserts that an operation over an input has exactly this result, bit for bit.
macro_rules! assert_reduces {
    ($device:expr, $input:expr, $op:expr, $expected:expr, $context:expr) => {{
        let (expected, result) = ($expected, $device.reduce($input, $op));
        match &result {
            Ok(result) if $crate::cases::Same::same(result, &expected) => (),
            _ => panic!(
                "{}: {:?} gives {result:?}, and not {expected:?}: {}",
                $device.info().name,
                $op,
                $context
            ),
        }
    }};
}
pub(crate) use assert_reduces;
