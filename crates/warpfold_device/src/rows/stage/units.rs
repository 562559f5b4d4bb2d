//! Tiles whose units lie at equal distances, and are words, pairs or packs.

use super::{Along, Stager, at_once, copy_unit};
use crate::item::Pack;
use crate::rows::{PACK, PAIR, padded};
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{control, copy};

/// The units of a tile. Along the faster index, a tile has 2 to `log` places for units of `unit`
/// bytes, which are a line.
#[derive(Clone, Copy)]
pub(super) struct Units {
    /// The address of the first unit.
    pub start: u64,
    pub fast: Along,
    pub slow: Along,
    pub unit: u32,
    pub log: u32,
}

impl Stager {
    /// As [`units`](Self::units), if the warp takes whole lines at a time. Then each lane stays at
    /// its place along the faster index.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "units are copied to their boundaries")]
    pub(super) unsafe fn lines(self, target: *mut u8, units: Units) {
        let Units { start, fast, slow, unit, log } = units;
        let (at, mut line) = (self.lane & ((1 << log) - 1), self.lane >> log);
        let lines = WARP >> log;
        let along = u64::from(at).wrapping_mul(fast.stride);
        let across = u64::from(line).wrapping_mul(slow.stride);
        let mut from = start.wrapping_add(along).wrapping_add(across);
        let further = u64::from(lines).wrapping_mul(slow.stride);
        // A lane whose place does not exist has no lines.
        let count = if at < fast.count { slow.count } else { 0 };
        let mut to = target.wrapping_add(padded(self.lane * unit) as usize);
        let step = padded(WARP * unit) as usize;
        let mut done = 0;
        macro_rules! copy {
            ($copy:path, $t:ty) => {
                while done < slow.count {
                    control::keep_rolled();
                    each(at_once(), |_| {
                        $copy(to.cast::<$t>(), from as *const $t, line < count);
                        line += lines;
                        from = from.wrapping_add(further);
                        to = to.wrapping_add(step);
                    });
                    done += at_once() as u32 * lines;
                }
            };
        }
        // SAFETY: the addresses are those of elements of the array where they are used.
        unsafe {
            match unit {
                PACK => copy!(copy::pack_if, Pack),
                PAIR => copy!(copy::pair_if, [u32; 2]),
                _ => copy!(copy::word_if, u32),
            }
        }
    }

    /// Copies a tile unit by unit, if all units lie at equal distances, and are words, pairs or
    /// packs. A line has more places than the warp has lanes.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    pub(super) unsafe fn units(self, target: *mut u8, units: Units) {
        let Units { start, fast, slow, unit, log } = units;
        let (mut at, mut line) = (self.lane, 0);
        let along = u64::from(WARP).wrapping_mul(fast.stride);
        // From the end of a line to the next line.
        let back = slow.stride.wrapping_sub(u64::from(1u32 << log).wrapping_mul(fast.stride));
        let mut from = start.wrapping_add(u64::from(at).wrapping_mul(fast.stride));
        let mut to = target.wrapping_add(padded(at * unit) as usize);
        let step = padded(WARP * unit) as usize;
        // SAFETY: the addresses are those of elements of the array where they are used.
        unsafe {
            while line < slow.count {
                control::keep_rolled();
                each(at_once(), |_| {
                    copy_unit(to, from, unit, at < fast.count && line < slow.count);
                    to = to.wrapping_add(step);
                    at += WARP;
                    // The lanes pass the end of a line together.
                    let passed = at >> log;
                    at -= passed << log;
                    line += passed;
                    from = from
                        .wrapping_add(along)
                        .wrapping_add(back & u64::from(passed).wrapping_neg());
                });
            }
        }
    }
}
