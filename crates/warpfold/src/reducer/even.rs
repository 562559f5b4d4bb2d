//! Launches whose blocks are spread evenly over the multiprocessors.
//!
//! The next launch of a stream may begin as soon as all blocks of this one have begun
//! ([`LaunchShape::in_sequence`](crate::device::LaunchShape::in_sequence)). Its blocks then take
//! the places that are free, and these are not as many on each multiprocessor. So some
//! multiprocessors get more of its blocks than others, and the launch takes as long as they do. A
//! launch has no way to say how many of its blocks a multiprocessor may take. But blocks that ask
//! for more shared memory have fewer places. Kernels of other streams find less of it meanwhile.

use crate::device::Device;

/// Bytes of shared memory that a device keeps for itself in each block. CUDA C++ Programming Guide,
/// "Compute Capabilities", "Shared Memory".
const RESERVED: u32 = 1 << 10;
/// Shared memory is handed out in units of so many bytes.
const UNIT: u32 = 128;
/// The least share of a multiprocessor for which blocks are spread. With fewer blocks, the next
/// launch begins sooner without. (bench/NOTEBOOK.md, attempt 133.)
const LEAST_SHARE: u32 = 8;

/// Bytes of shared memory for each of so many blocks, of which each needs `needed` bytes, so that
/// no multiprocessor takes more than its share of the blocks. If not all blocks have places at the
/// same time, these are the needed bytes.
pub(super) fn shared_bytes(blocks: u32, needed: u32, device: &Device) -> u32 {
    let most = device.info().most_shared_bytes_per_block;
    of_share(blocks.div_ceil(device.class().multiprocessors()), needed, most)
}

/// The same if so many blocks are the share of a multiprocessor, and a block may have `most` bytes.
fn of_share(share: u32, needed: u32, most: u32) -> u32 {
    if share < LEAST_SHARE {
        return needed;
    }
    let of_block = ((most + RESERVED) / share).saturating_sub(RESERVED);
    needed.max(of_block / UNIT * UNIT)
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
        for needed in [1000, 6000, 12_000, 14_304] {
            for share in 1..40 {
                let bytes = of_share(share, needed, 227 << 10);
                let expected =
                    if share < LEAST_SHARE { places(needed) } else { share.min(places(needed)) };
                assert_eq!(places(bytes), expected, "{needed} {share}");
            }
        }
    }
}
