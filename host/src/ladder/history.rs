//! The figures that the lectures themselves give.

use crate::variant::Variant;

/// A lecture's measurements of one rung, on the hardware of its day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct History {
    /// The rung.
    pub variant: Variant,
    /// Hui Liu, "Performance for 4M element reduction", for 2^22 ints: the time in milliseconds and
    /// the bandwidth in GB/s.
    pub liu: Option<(f64, f64)>,
    /// J. Filipovič, on a GeForce GTX 280: the bandwidth in GB/s, and the elements per second as
    /// the lecture prints them.
    pub gtx280: Option<(f64, f64)>,
    /// Udacity, for 2^20 floats: the time in milliseconds.
    pub udacity_ms: Option<f64>,
}

const fn row(variant: Variant, liu: Option<(f64, f64)>, gtx280: (f64, f64)) -> History {
    History { variant, liu, gtx280: Some(gtx280), udacity_ms: None }
}

/// The figures for all rungs that a lecture measured.
pub const HISTORY: [History; 8] = [
    History { variant: Variant::Global, liu: None, gtx280: None, udacity_ms: Some(0.65) },
    row(Variant::InterleavedModulo, Some((8.054, 2.083)), (3.77, 0.94)),
    row(Variant::InterleavedContiguous, Some((3.456, 4.854)), (8.33, 2.08)),
    row(Variant::Sequential, Some((1.722, 9.741)), (16.34, 4.08)),
    row(Variant::FirstAdd, Some((0.965, 17.377)), (27.16, 6.79)),
    row(Variant::WarpUnrolled, None, (37.68, 9.42)),
    row(Variant::CompletelyUnrolled, None, (50.64, 12.66)),
    row(Variant::MultipleElements, None, (77.21, 19.3)),
];

/// Liu's step speedups and cumulative speedups, as the lecture prints them.
const LIU_SPEEDUPS: [(Variant, f64, f64); 3] = [
    (Variant::InterleavedContiguous, 2.33, 2.33),
    (Variant::Sequential, 2.01, 4.68),
    (Variant::FirstAdd, 1.78, 8.34),
];

impl History {
    /// Liu's speedup over the kernel before, and over the first one.
    pub fn liu_speedups(&self) -> Option<(f64, f64)> {
        let row = LIU_SPEEDUPS.iter().find(|(variant, ..)| *variant == self.variant)?;
        Some((row.1, row.2))
    }

    /// The figures for a rung, if a lecture measured it.
    pub fn of(variant: Variant) -> Option<&'static Self> {
        HISTORY.iter().find(|history| history.variant == variant)
    }
}

/// The sources of the columns.
pub(super) const NOTES: [&str; 3] = [
    "The columns Liu are from Hui Liu, GPU Computing, Performance for 4M element reduction: 2^22 ints, on a GPU that the lecture \
     does not name.",
    "The columns GTX 280 are from J. Filipovič, Optimalizace pro GPU hardware, on a GeForce GTX 280. The lecture gives its elements in \
     MElem/s, but its GB/s and the 4 bytes of an element show that the unit is 10^9 elements per second.",
    "The column Udacity is from Reduction Using Global and Shared Memory: 2^20 floats in global memory.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lectures_agree_with_themselves() {
        for History { variant, liu, gtx280, .. } in HISTORY {
            if let Some((ms, gb_per_s)) = liu {
                let bytes = f64::from(1 << 22) * 4.0;
                assert!((bytes / ms / 1e6 - gb_per_s).abs() < 0.01, "{variant}");
            }
            let before = HISTORY.iter().take_while(|row| row.variant != variant);
            let before: Vec<f64> = before.filter_map(|row| Some(row.liu?.0)).collect();
            if let (Some((step, cumulative)), Some((ms, _))) =
                (History::of(variant).and_then(History::liu_speedups), liu)
            {
                // The lecture multiplies its rounded steps.
                assert!((before[before.len() - 1] / ms - step).abs() < 0.01, "{variant}");
                assert!((before[0] / ms - cumulative).abs() < 0.01, "{variant}");
            }
            if let Some((gb_per_s, elements)) = gtx280 {
                assert!((gb_per_s / 4.0 - elements).abs() < 0.01, "{variant}");
            }
        }
    }
}
