//! Integers that are packed in a 32-bit register: their products, PTX `dp4a` and `dp2a`, which need
//! sm_61, and the choice of bytes.

use crate::gpu_only;

macro_rules! dots {
    ($($(#[$doc:meta])* $name:ident: $sum:ty = $definition:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name(a: u32, b: u32, c: $sum) -> $sum {
            unsafe extern "C" {
                fn $definition(a: u32, b: u32, c: $sum) -> $sum;
            }
            // SAFETY: arithmetic has no precondition.
            unsafe { $definition(a, b, c) }
        }
    )*};
}

dots! {
    /// Adds the four products of the signed bytes of `a` and `b` to `c`, and wraps.
    dp4a_signed: i32 = __cuda_std_dp4a_signed;
    /// Adds the four products of the unsigned bytes of `a` and `b` to `c`, and wraps.
    dp4a_unsigned: u32 = __cuda_std_dp4a_unsigned;
    /// Adds the two products of the signed halves of `a` and the low two bytes of `b` to `c`, and
    /// wraps.
    dp2a_signed: i32 = __cuda_std_dp2a_signed;
    /// Adds the two products of the unsigned halves of `a` and the low two bytes of `b` to `c`, and
    /// wraps.
    dp2a_unsigned: u32 = __cuda_std_dp2a_unsigned;
}

/// Chooses four bytes of the eight of `a` and `b`: CUDA's `__byte_perm`, PTX `prmt.b32`. The bytes
/// are numbered from 0, the lowest of `a`, to 7, the highest of `b`. Each four bits of the lowest
/// 16 of `selector` choose a byte of the result, the lowest four bits the lowest byte: three bits
/// are the number, and the fourth puts the sign of that byte in all of its bits.
#[inline(always)]
#[must_use]
pub fn permute(a: u32, b: u32, selector: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        unsafe extern "C" {
            #[link_name = "llvm.nvvm.prmt"]
            fn permute(a: u32, b: u32, selector: u32) -> u32;
        }
        // SAFETY: arithmetic has no precondition.
        unsafe { permute(a, b, selector) }
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        u32::from_le_bytes([0, 4, 8, 12].map(|shift| {
            let choice = selector >> shift;
            let byte = bytes[(choice & 7) as usize];
            match (choice & 8, byte & 0x80) {
                (0, _) => byte,
                (_, 0) => 0,
                _ => 0xff,
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_chosen_by_number_and_sign() {
        assert_eq!(permute(0x3322_1100, 0x7766_5544, 0x3210), 0x3322_1100);
        assert_eq!(permute(0x3322_1100, 0x7766_5544, 0x0147), 0x0011_4477);
        assert_eq!(permute(0x80, 0x7f00, 0x98d5), 0x00ff_007f);
    }
}
