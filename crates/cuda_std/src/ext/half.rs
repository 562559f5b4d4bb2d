//! Numbers of 16 bits, by their bits.

use crate::gpu_only;

/// The `f32` that equals an IEEE binary16 number: PTX `cvt.f32.f16`. Nothing is lost.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn f16_to_f32(bits: u16) -> f32 {
    unsafe extern "C" {
        #[link_name = "llvm.convert.from.fp16.f32"]
        fn convert(bits: u16) -> f32;
    }
    // SAFETY: arithmetic has no precondition.
    unsafe { convert(bits) }
}
