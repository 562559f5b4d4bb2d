//! Launches whose blocks are spread evenly over the multiprocessors.
//!
//! The next launch of a stream may begin as soon as all blocks of this one have begun
//! ([`LaunchShape::in_sequence`](crate::device::LaunchShape::in_sequence)). Its blocks then take
//! the places that are free, and these are not as many on each multiprocessor. So some
//! multiprocessors get more of its blocks than others, and the launch takes as long as they do. A
//! launch has no way to say how many of its blocks a multiprocessor may take. But blocks that ask
//! for more shared memory have fewer places. Kernels of other streams find less of it meanwhile.

use std::ops::RangeBounds;

use crate::device::{Device, Kernel};

/// Bytes of shared memory that a device keeps for itself in each block. CUDA C++ Programming Guide,
/// "Compute Capabilities", "Shared Memory".
const RESERVED: u32 = 1 << 10;
/// Shared memory is handed out in units of so many bytes.
const UNIT: u32 = 128;

/// Bytes of dynamic shared memory for each of so many blocks of a kernel, of which each needs
/// `needed` bytes, so that no multiprocessor takes more than its share of the blocks. If that is
/// none of these shares, or if not all blocks have places at the same time, these are the needed
/// bytes.
pub(super) fn shared_bytes(
    kernel: &Kernel,
    blocks: u32,
    needed: u32,
    shares: impl RangeBounds<u32>,
    device: &Device,
) -> u32 {
    let share = blocks.div_ceil(device.class().multiprocessors());
    if !shares.contains(&share) {
        return needed;
    }
    of_share(share, kernel.static_shared_bytes(), needed, device.info().most_shared_bytes_per_block)
}

/// The same if so many blocks, at least one, are the share of a multiprocessor, a block has `fixed`
/// bytes of static shared memory, and it may have `most` bytes of both kinds together.
fn of_share(share: u32, fixed: u32, needed: u32, most: u32) -> u32 {
    let of_block = ((most + RESERVED) / share).saturating_sub(RESERVED) / UNIT * UNIT;
    needed.max(of_block.saturating_sub(fixed.next_multiple_of(UNIT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks that find places on a multiprocessor of compute capability 9.0.
    fn places(bytes: u32) -> u32 {
        (228 << 10) / (bytes.next_multiple_of(UNIT) + RESERVED)
    }

    #[test]
    fn a_multiprocessor_takes_its_share_and_no_more() {
        for fixed in [0, 364, 23_024, 38_016] {
            for needed in [0, 1000, 6000, 12_000, 14_304] {
                for share in 1..40 {
                    let bytes = of_share(share, fixed, needed, 227 << 10);
                    let expected = share.min(places(fixed + needed));
                    assert_eq!(places(fixed + bytes), expected, "{fixed} {needed} {share}");
                    assert!(fixed + bytes <= 227 << 10, "{fixed} {needed} {share}");
                }
            }
        }
    }
}
