//! A profile for people.

use std::io::{self, Write};

use simt::occupancy::{Gpu, Occupancy};

use super::{
    figures::{self, figures},
    listing,
    profiled::Profiled,
    waste,
};
use crate::{output::Width, ptx::PtxLibrary, report::describe_launches};

/// The columns of the names above the figures.
const NAMES: usize = 9;

impl Profiled {
    /// Writes the profile for people, no wider than `width`: the figures, the source with the
    /// counters of each line, and a sentence on the waste. If `library` has no source for the PTX,
    /// the PTX stands in place of the source.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn write_text(
        &self,
        library: &PtxLibrary,
        width: Width,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let problem = &self.plan.problem;
        let facts = problem.variant.facts();
        let summed =
            if self.launches.len() > 1 { "; the figures are sums over all launches" } else { "" };
        for (name, value) in [
            ("kernel", format!("{} (variant {}, {})", self.plan.kernel, facts.label, facts.name)),
            ("input", format!("{} {} elements, {}", problem.n, problem.element, self.input)),
            ("launches", format!("{}{summed}", describe_launches(&self.plan))),
            ("occupancy", self.describe_occupancy()),
            ("registers", self.target.registers.to_string()),
        ] {
            width.write_named(name, NAMES, &value, out)?;
        }
        writeln!(out, "\n{}\n", figures::grid(&figures(self)).within(width.columns()))?;
        listing::write(self, library, width, out)?;
        let wastes = self.wastes();
        writeln!(out)?;
        width.write(&wastes.sentence(), out)?;
        width.write(&format!("({})", waste::CURRENCY), out)
    }

    /// A line such as `h100: 8 blocks and 64 warps on each of 132 SMs, 100 %, limited by warps`.
    fn describe_occupancy(&self) -> String {
        let Occupancy { blocks_per_sm, warps_per_sm, percent, limited_by } = self.occupancy();
        let Gpu { name, multiprocessors, .. } = self.target.gpu;
        format!(
            "{name}: {blocks_per_sm} blocks and {warps_per_sm} warps on each of {multiprocessors} SMs, {percent:.0} %, \
             limited by {limited_by}"
        )
    }
}
