//! Tiles of rows whose steps have two dimensions, such as a channel of many images.
//!
//! Of the layouts with more than two dimensions this is the most usual one. The general way finds
//! the place of a tile by a table of the dimensions, and asks it again where each lane begins. Here
//! each lane needs one division.

use super::Stager;
use super::walk::{Stretch, Stride};
use crate::rows::Plan;
use crate::warp::WARP;
use cuda_std::ext::control;

impl Stager {
    /// Starts the copy of a tile of `rows` rows of `units` units, of which row `row` and unit
    /// `unit` come first.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage), with [`Staging::Fold`](super::Staging::Fold).
    #[inline(always)]
    pub(super) unsafe fn fold(
        self,
        target: *mut u8,
        row: u64,
        unit: u32,
        (rows, units): (u32, u32),
        plan: &Plan,
    ) {
        let [across, low, high] = self.dims;
        // What follows from these is computed for each tile. The compiler would compute it once,
        // and keep it in registers that it does not have.
        let (size, bytes) = (control::anew(low.size as u32), control::anew(plan.unit));
        let lane = control::anew(self.lane);
        // The first unit of this lane.
        let here = unit + lane;
        let whole = here / size.max(1);
        let number = here - whole * size;
        let offset = u64::from(number) * u64::from(bytes);
        let image = u64::from(whole).wrapping_mul(high.stride as u64);
        let mut from = self.input.wrapping_add(row.wrapping_mul(across.stride as u64));
        from = from.wrapping_add(image).wrapping_add(offset);
        let run = u64::from(size) * u64::from(bytes);
        let stride = Stride {
            size,
            rest: WARP,
            bytes: (WARP * bytes).into(),
            back: (high.stride as u64).wrapping_sub(run),
        };
        let mut line = 0;
        while line < rows {
            control::keep_rolled();
            let at = (lane + (line << plan.fast)) * bytes;
            let stretch = Stretch { from, at, number: lane, end: units, further: WARP };
            // SAFETY: the caller's contract.
            unsafe { stretch.units(target, bytes, stride, size - number) };
            from = from.wrapping_add(across.stride as u64);
            line += 1;
        }
    }
}
