//! A profile for people.

use std::io::{self, Write};

use simt::occupancy::{Gpu, Occupancy};

use super::{
    cost::CURRENCY,
    figures::{self, figures},
    listing,
    profiled::Profiled,
};
use crate::{ptx::PtxLibrary, report::describe_launches};

impl Profiled {
    /// Writes the profile for people: the figures, the source with the counters of each line, and a
    /// sentence on the waste. If `library` has no source for the PTX, the PTX stands in place of
    /// the source.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn write_text(&self, library: &PtxLibrary, out: &mut impl Write) -> io::Result<()> {
        let problem = &self.plan.problem;
        let facts = problem.variant.facts();
        writeln!(out, "kernel     {} (variant {}, {})", self.plan.kernel, facts.label, facts.name)?;
        writeln!(out, "input      {} {} elements, {}", problem.n, problem.element, self.input)?;
        let summed =
            if self.launches.len() > 1 { "; the figures are sums over all launches" } else { "" };
        writeln!(out, "launches   {}{summed}", describe_launches(&self.plan))?;
        writeln!(out, "occupancy  {}", self.describe_occupancy())?;
        writeln!(out, "registers  {}", self.target.registers)?;
        writeln!(out, "\n{}\n", figures::table(&figures(self)))?;
        listing::write(self, library, out)?;
        let (waste, next) = (self.wastes().sentence(), self.next_sentence());
        writeln!(out, "\n{waste}\n{next}\n({CURRENCY})")
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
