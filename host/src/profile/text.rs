//! A profile for people.

use std::io::{self, Write};

use simt::occupancy::Occupancy;

use super::{
    cost::CURRENCY,
    figures::{self, figures},
    listing,
    profiled::{Profiled, describe_gpu},
};
use crate::{output::Width, ptx::PtxLibrary, report::describe_launches, tune::Entry};

/// The columns of the names above the figures.
const NAMES: usize = 9;

impl Profiled {
    /// Writes the profile for people, no wider than `width`: the figures, the source with the
    /// counters of each line, and sentences on the waste. If `library` has no source for the PTX,
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
        let lines = [
            (
                "kernel",
                Some(format!("{} (variant {}, {})", self.plan.kernel, facts.label, facts.name)),
            ),
            ("input", Some(format!("{} {} elements, {}", problem.n, problem.element, self.input))),
            ("launches", Some(format!("{}{summed}", describe_launches(&self.plan)))),
            ("tuned", self.tuned.as_ref().map(Entry::describe)),
            ("gpu", Some(describe_gpu(&self.target.gpu))),
            ("occupancy", Some(self.describe_occupancy())),
            ("registers", Some(self.target.registers.to_string())),
        ];
        for (name, value) in lines.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            width.write_named(name, NAMES, &value, out)?;
        }
        writeln!(out, "\n{}\n", figures::grid(&figures(self)).within(width.columns()))?;
        listing::write(self, library, width, out)?;
        writeln!(out)?;
        width.write(&self.verdict(), out)?;
        width.write(&self.next_sentence(), out)?;
        width.write(&format!("({CURRENCY})"), out)
    }

    /// A line such as `8 blocks and 64 warps on each multiprocessor, 100 %, limited by warps`.
    fn describe_occupancy(&self) -> String {
        let Occupancy { blocks_per_sm, warps_per_sm, percent, limited_by } = self.occupancy();
        format!(
            "{blocks_per_sm} blocks and {warps_per_sm} warps on each multiprocessor, {percent:.0} %, limited by {limited_by}"
        )
    }
}
