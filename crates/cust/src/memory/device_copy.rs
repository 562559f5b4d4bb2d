//! The trait of types that may be copied to a device.

use std::{
    marker::PhantomData,
    mem::MaybeUninit,
    num::{NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, Wrapping},
};

/// A type whose values may be copied to a device and back, byte by byte.
///
/// Derive the trait for your own types by `#[derive(Clone, Copy, cust::DeviceCopy)]`, which
/// compiles if all fields are `DeviceCopy`. A type may have padding; the bytes of the padding on
/// the device are not defined.
///
/// ```
/// use cust::memory::DeviceCopy;
///
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct Particle {
///     position: [f32; 3],
///     kind: u8,
/// }
///
/// fn assert_device_copy<T: DeviceCopy>() {}
/// assert_device_copy::<Option<Particle>>();
/// ```
///
/// # Safety
///
/// A value holds no reference to memory of the host, and a copy of its bytes is again a valid
/// value. A value may hold a raw pointer; the code that uses the pointer is responsible for its
/// validity there.
pub unsafe trait DeviceCopy: Copy {}

macro_rules! device_copy {
    ($($type:ty),* $(,)?) => {
        // SAFETY: the types are plain values.
        $(unsafe impl DeviceCopy for $type {})*
    };
}

device_copy!(
    usize,
    u8,
    u16,
    u32,
    u64,
    u128,
    isize,
    i8,
    i16,
    i32,
    i64,
    i128,
    f32,
    f64,
    bool,
    char,
    ()
);
device_copy!(NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, PhantomData<&()>);
#[cfg(feature = "impl_half")]
device_copy!(half::f16, half::bf16);

// SAFETY: an address is a plain value.
unsafe impl<T> DeviceCopy for *const T {}
// SAFETY: as above.
unsafe impl<T> DeviceCopy for *mut T {}
// SAFETY: the type holds nothing but values of the inner types.
unsafe impl<T: DeviceCopy> DeviceCopy for MaybeUninit<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy> DeviceCopy for Option<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy, E: DeviceCopy> DeviceCopy for Result<T, E> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy> DeviceCopy for PhantomData<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy> DeviceCopy for Wrapping<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}

macro_rules! device_copy_tuples {
    ($($($name:ident)*;)*) => {
        // SAFETY: the type holds nothing but values of the inner types.
        $(unsafe impl<$($name: DeviceCopy),*> DeviceCopy for ($($name,)*) {})*
    };
}

device_copy_tuples! {
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
