//! The fourteen types of elements: how 16 bytes are split into elements, and the types in which
//! elements are compared and summed.

use crate::key::Key;
use crate::unroll::tree;
use crate::warp;
use crate::words::Words;
use cuda_std::ext::{math, packed, streaming, target};

/// 16 bytes of elements. The first element is in the lowest bits of the first word.
pub type Pack = [u32; 4];

/// An IEEE 754 half-precision number, given by its bits.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct F16(pub u16);

/// A `bfloat16` number, which is the upper half of an `f32`, given by its bits.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Bf16(pub u16);

/// A type of elements.
///
/// ```
/// use warpfold_device::Item;
///
/// let pack = [0x0004_0003, 0, 0, 0xffff_0001];
/// assert_eq!(u16::PER_PACK, 8);
/// assert_eq!([u16::element(pack, 0), u16::element(pack, 7)], [3, 0xffff]);
/// assert_eq!(u32::sum([1, 2, 3, u32::MAX]), (1 << 32) + 5);
/// assert_eq!(f32::sum([1.5f32, 2.0, 0.25, 4.0].map(f32::to_bits)), 7.75);
/// ```
pub trait Item: Copy {
    /// How many elements a pack has.
    const PER_PACK: usize = size_of::<Pack>() / size_of::<Self>();
    /// The type in which elements are compared: the type itself, or a type of 32 bits that has all
    /// of its values.
    type Key: Key;
    /// The type in which elements are summed: 64 bits for integers of up to 64 bits, `f32` for
    /// halves, and otherwise the type itself.
    type Wide: Number;
    /// An unsigned integer that can hold the bits of an element, or an index.
    type Bits: From<u64>;

    /// The element at `source`, or any value if it is not `valid`.
    ///
    /// # Safety
    /// If `valid`, there is an element at `source`.
    unsafe fn load_if(source: *const Self, valid: bool) -> Self;
    /// Element `i` of a pack.
    fn element(pack: Pack, i: usize) -> Self;
    /// The element in the type in which it is compared.
    fn key(self) -> Self::Key;
    /// The inverse of [`key`](Self::key). All NaNs become one NaN.
    fn of_key(key: Self::Key) -> Self;
    /// The element in the type in which it is summed.
    fn wide(self) -> Self::Wide;
    /// The element's bits.
    fn bits(self) -> Self::Bits;

    /// The sum of a pack.
    #[inline(always)]
    fn sum(pack: Pack) -> Self::Wide {
        tree(Self::PER_PACK, |i| Self::element(pack, i).wide(), Number::add)
    }
    /// The product of a pack.
    #[inline(always)]
    fn product(pack: Pack) -> Self::Wide {
        tree(Self::PER_PACK, |i| Self::element(pack, i).wide(), Number::multiply)
    }
    /// The sum of the products of two packs.
    #[inline(always)]
    fn dot(a: Pack, b: Pack) -> Self::Wide {
        let product = |i| Self::element(a, i).wide().multiply(Self::element(b, i).wide());
        tree(Self::PER_PACK, product, Number::add)
    }
}

/// A type in which sums and products are made. Integers wrap.
pub trait Number: Words {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// `self + other`.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// `self - other`.
    #[must_use]
    fn subtract(self, other: Self) -> Self;
    /// `self * other`.
    #[must_use]
    fn multiply(self, other: Self) -> Self;
    /// The sum of the numbers of a warp, in each of its lanes, or `None` if the device has no
    /// instructions for that.
    ///
    /// # Safety
    /// All 32 lanes call this together.
    #[inline(always)]
    unsafe fn redux_sum(self) -> Option<Self> {
        None
    }
}

macro_rules! integers {
    ($($t:ty $(, $redux_sum:path)?;)*) => {$(
        impl Number for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            $(
                #[inline(always)]
                unsafe fn redux_sum(self) -> Option<Self> {
                    // SAFETY: the caller brings the whole warp, and the architecture has the
                    // instruction.
                    (target::arch() >= 800).then(|| unsafe { $redux_sum(self) })
                }
            )?
        }
    )*};
}

integers! {
    i32, warp::sum_i32;
    u32, warp::sum_u32;
    i64, warp::sum_i64;
    u64, warp::sum_u64;
    i128;
    u128;
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}

floats!(f32 f64);

/// Four bytes, each of which is 1.
const ONES: u32 = 0x0101_0101;

/// Implements [`Item`] for integers of which one word holds four, two or one.
macro_rules! narrow {
    ($($t:ty, $bits:ident, $load:ident, $key:ty, $wide:ty { $($item:item)* })*) => {$(
        impl Item for $t {
            type Key = $key;
            type Wide = $wide;
            type Bits = u64;
            #[inline(always)]
            unsafe fn load_if(source: *const Self, valid: bool) -> Self {
                // SAFETY: the caller vouches for the element.
                unsafe { streaming::$load(source.cast(), valid) as Self }
            }
            #[inline(always)]
            fn element(pack: Pack, i: usize) -> Self {
                let bit = i * $bits::BITS as usize;
                (pack[bit / 32] >> (bit % 32)) as Self
            }
            #[inline(always)]
            fn key(self) -> $key {
                self as $key
            }
            #[inline(always)]
            fn of_key(key: $key) -> Self {
                key as Self
            }
            #[inline(always)]
            fn wide(self) -> $wide {
                self as $wide
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                (self as $bits).into()
            }
            $($item)*
        }
    )*};
}

narrow! {
    i8, u8, load_u8_if, i32, i64 {
        #[inline(always)]
        fn sum(pack: Pack) -> i64 {
            Self::dot(pack, [ONES; 4])
        }
        #[inline(always)]
        fn product(pack: Pack) -> i64 {
            let four = |word: usize| {
                tree(4, |i| i32::from(Self::element(pack, 4 * word + i)), Number::multiply).into()
            };
            tree(4, four, i64::multiply)
        }
        #[inline(always)]
        fn dot(a: Pack, b: Pack) -> i64 {
            let two = |i: usize, sum| packed::dp4a_signed(a[i + 1], b[i + 1], packed::dp4a_signed(a[i], b[i], sum));
            two(2, two(0, 0)).into()
        }
    }
    u8, u8, load_u8_if, u32, u64 {
        #[inline(always)]
        fn sum(pack: Pack) -> u64 {
            Self::dot(pack, [ONES; 4])
        }
        #[inline(always)]
        fn product(pack: Pack) -> u64 {
            let four = |word: usize| {
                tree(4, |i| u32::from(Self::element(pack, 4 * word + i)), Number::multiply).into()
            };
            tree(4, four, u64::multiply)
        }
        #[inline(always)]
        fn dot(a: Pack, b: Pack) -> u64 {
            let two = |i: usize, sum| packed::dp4a_unsigned(a[i + 1], b[i + 1], packed::dp4a_unsigned(a[i], b[i], sum));
            two(2, two(0, 0)).into()
        }
    }
    i16, u16, load_u16_if, i32, i64 {
        #[inline(always)]
        fn sum(pack: Pack) -> i64 {
            let two = |i: usize, sum| packed::dp2a_signed(pack[i + 1], ONES, packed::dp2a_signed(pack[i], ONES, sum));
            two(2, two(0, 0)).into()
        }
        #[inline(always)]
        fn product(pack: Pack) -> i64 {
            let two =
                |word: usize| (i32::from(Self::element(pack, 2 * word)) * i32::from(Self::element(pack, 2 * word + 1))).into();
            tree(4, two, i64::multiply)
        }
    }
    u16, u16, load_u16_if, u32, u64 {
        #[inline(always)]
        fn sum(pack: Pack) -> u64 {
            let two = |i: usize, sum| packed::dp2a_unsigned(pack[i + 1], ONES, packed::dp2a_unsigned(pack[i], ONES, sum));
            two(2, two(0, 0)).into()
        }
        #[inline(always)]
        fn product(pack: Pack) -> u64 {
            let two =
                |word: usize| (u32::from(Self::element(pack, 2 * word)) * u32::from(Self::element(pack, 2 * word + 1))).into();
            tree(4, two, u64::multiply)
        }
    }
    i32, u32, load_u32_if, i32, i64 {}
    u32, u32, load_u32_if, u32, u64 {}
}

/// Implements [`Item`] for elements that take two words of a pack, or all four.
macro_rules! long {
    ($($t:ty, $wide:ty, $bits:ty, $from:expr, $to:expr;)*) => {$(
        impl Item for $t {
            type Key = Self;
            type Wide = $wide;
            type Bits = $bits;
            #[inline(always)]
            unsafe fn load_if(source: *const Self, valid: bool) -> Self {
                // SAFETY: the caller vouches for the element.
                let word = |i| u128::from(unsafe { streaming::load_u64_if(source.cast::<u64>().wrapping_add(i), valid) });
                $from(if size_of::<$t>() == 8 { word(0) } else { word(0) | word(1) << 64 })
            }
            #[inline(always)]
            fn element(pack: Pack, i: usize) -> Self {
                let word = |i: usize| u128::from(pack[i]) << (32 * i);
                $from((word(0) | word(1) | word(2) | word(3)) >> (64 * i))
            }
            #[inline(always)]
            fn key(self) -> Self {
                self
            }
            #[inline(always)]
            fn of_key(key: Self) -> Self {
                key
            }
            #[inline(always)]
            fn wide(self) -> $wide {
                self
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                $to(self)
            }
        }
    )*};
}

long! {
    i64, i64, u64, |bits| bits as i64, |x| x as u64;
    u64, u64, u64, |bits| bits as u64, |x| x;
    i128, i128, u128, |bits| bits as i128, |x| x as u128;
    u128, u128, u128, |bits: u128| bits, |x| x;
    f64, f64, u64, |bits| f64::from_bits(bits as u64), f64::to_bits;
}

impl Item for f32 {
    type Key = Self;
    type Wide = Self;
    type Bits = u64;
    #[inline(always)]
    unsafe fn load_if(source: *const Self, valid: bool) -> Self {
        // SAFETY: the caller vouches for the element.
        Self::from_bits(unsafe { streaming::load_u32_if(source.cast(), valid) })
    }
    #[inline(always)]
    fn element(pack: Pack, i: usize) -> Self {
        Self::from_bits(pack[i])
    }
    #[inline(always)]
    fn key(self) -> Self {
        self
    }
    #[inline(always)]
    fn of_key(key: Self) -> Self {
        key
    }
    #[inline(always)]
    fn wide(self) -> Self {
        self
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

/// Implements [`Item`] for halves. Everything is done in `f32`, because `f32` holds each half
/// exactly.
macro_rules! halves {
    ($($t:ident, $to:expr, $from:expr;)*) => {$(
        impl Item for $t {
            type Key = f32;
            type Wide = f32;
            type Bits = u64;
            #[inline(always)]
            unsafe fn load_if(source: *const Self, valid: bool) -> Self {
                // SAFETY: the caller vouches for the element.
                Self(unsafe { streaming::load_u16_if(source.cast(), valid) })
            }
            #[inline(always)]
            fn element(pack: Pack, i: usize) -> Self {
                Self((pack[i / 2] >> (16 * (i % 2))) as u16)
            }
            #[inline(always)]
            fn key(self) -> f32 {
                $to(self.0)
            }
            #[inline(always)]
            fn of_key(key: f32) -> Self {
                Self($from(key))
            }
            #[inline(always)]
            fn wide(self) -> f32 {
                $to(self.0)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self.0.into()
            }
        }
    )*};
}

halves! {
    F16, math::f16_to_f32, math::f32_to_f16;
    Bf16, |bits| f32::from_bits(u32::from(bits) << 16), |value: f32| (value.to_bits() >> 16) as u16;
}
