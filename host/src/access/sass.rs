//! The machine instructions of the loops that some patterns run. `cargo xtask sass-table` counts
//! them with ptxas and nvdisasm, and the table that it writes is embedded here.

use std::{collections::BTreeMap, sync::LazyLock};

use cuda_builder::manifest::sha256_hex;
use serde::Deserialize;

use super::lab::Lab;
use crate::output::Cell;

/// The table as it is kept in `data/sass.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    tools: String,
    ptx: BTreeMap<String, String>,
    loops: Vec<Loop>,
}

/// The loop of one kernel on one architecture.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Loop {
    kernel: String,
    arch: String,
    /// How many operations one turn of the loop does.
    operations: u32,
    /// The instructions of one turn, without any call.
    instructions: u32,
    slow: Option<Slow>,
}

/// A turn in which every operation calls a subroutine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Slow {
    function: String,
    /// The instructions of one turn, with those of the subroutine.
    instructions: u32,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/sass.json"))
        .expect("a test reads the committed file")
});

/// The machine instructions of one operation in the loop of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Each {
    /// The instructions for one operation, without any call.
    pub(super) fast: f64,
    /// If the loop can call a subroutine: its name, and the instructions with such a call.
    pub(super) slow: Option<(&'static str, f64)>,
}

impl Each {
    /// The instructions with the call, if there is one.
    pub(super) fn with_call(self) -> f64 {
        self.slow.map_or(self.fast, |(_, instructions)| instructions)
    }
}

/// The architecture of the table for a device: the latest one whose code the device can run.
fn arch_for((major, minor): (u32, u32)) -> Option<&'static str> {
    let number = |arch: &str| arch.strip_prefix("sm_")?.parse::<u32>().ok();
    let archs = TABLE.loops.iter().map(|of| of.arch.as_str());
    let fitting = archs.filter(|arch| number(arch).is_some_and(|it| it <= 10 * major + minor));
    fitting.max_by_key(|arch| number(arch))
}

impl Lab<'_> {
    /// The architecture whose machine instructions are shown.
    fn arch(&self) -> Option<&'static str> {
        arch_for(self.compute_capability())
    }

    /// The machine instructions of one operation in the loop of a kernel. `None` if the kernel is
    /// not the one that was counted.
    pub(super) fn machine_instructions(&self, kernel: &str) -> Option<Each> {
        let ptx = self.library().find(kernel, self.compute_capability()).ok()?;
        if TABLE.ptx.get(&ptx.file) != Some(&sha256_hex(ptx.text.as_bytes())) {
            return None;
        }
        let arch = self.arch()?;
        let of = TABLE.loops.iter().find(|of| of.kernel == kernel && of.arch == arch)?;
        let each = |instructions| f64::from(instructions) / f64::from(of.operations);
        let slow = of.slow.as_ref().map(|slow| (&*slow.function, each(slow.instructions)));
        Some(Each { fast: each(of.instructions), slow })
    }

    /// A sentence that says where the machine instructions are from.
    pub(super) fn machine_note(&self) -> String {
        format!(
            "The machine instructions (SASS) are those of {}, counted in the loop that {} make of the PTX: one operation with its \
             share of the loop.",
            self.arch().unwrap_or("no architecture"),
            TABLE.tools
        )
    }
}

/// A cell with machine instructions.
pub(super) fn cell(instructions: Option<f64>) -> Cell {
    instructions.map_or(Cell::Missing, |instructions| Cell::number(instructions, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_runs_the_code_of_its_generation() {
        for (capability, arch) in [
            ((7, 5), Some("sm_75")),
            ((8, 6), Some("sm_80")),
            ((9, 0), Some("sm_90")),
            ((10, 3), Some("sm_100")),
            ((13, 0), Some("sm_120")),
            ((7, 0), None),
        ] {
            assert_eq!(arch_for(capability), arch);
        }
    }
}
