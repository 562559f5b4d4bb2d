//! The findings of `--check`.

use std::io::{self, Write};

use crate::device::{Observation, Seen};
use serde_json::{Value as Json, json};
use simt::{Dim3, Fault, Frame, Party, Report};

/// The findings of all launches, in the order of the launches.
#[derive(Debug)]
pub(super) struct Findings {
    launches: usize,
    reports: Vec<Report>,
    faults: Vec<Fault>,
}

impl Findings {
    /// Collects the findings from what [`Instrument::Check`](crate::device::Instrument::Check) saw.
    pub(super) fn new(observations: Vec<Observation>) -> Self {
        let launches = observations.len();
        let (mut reports, mut faults) = (Vec::new(), Vec::new());
        for observation in observations {
            if let Seen::Checked(checked) = observation.seen {
                reports.extend(checked.reports);
                faults.extend(checked.fault.map(|fault| *fault));
            }
        }
        Self { launches, reports, faults }
    }

    /// The number of findings, such as `1 report and 1 fault`. `None` if there are none.
    pub(super) fn summary(&self) -> Option<String> {
        let counted = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        match (counted(self.reports.len(), "report"), counted(self.faults.len(), "fault")) {
            (Some(reports), Some(faults)) => Some(format!("{reports} and {faults}")),
            (reports, faults) => reports.or(faults),
        }
    }

    /// Writes the findings of a run of `kernel` that did not end, and so has no report of its own.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub(super) fn write_alone(
        &self,
        kernel: &str,
        as_json: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if !as_json {
            return self.write_text(out);
        }
        let mut json = json!({ "kernel": kernel });
        self.add_to(&mut json);
        writeln!(out, "{json}")
    }

    /// Writes all findings for people, and how many they are.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub(super) fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        for report in &self.reports {
            writeln!(out, "\n{report}")?;
        }
        for fault in &self.faults {
            writeln!(out, "\n{fault}")?;
        }
        let launches =
            if self.launches == 1 { "1 launch" } else { &format!("{} launches", self.launches) };
        match self.summary() {
            Some(summary) => writeln!(out, "\nchecks: {summary} in {launches}"),
            None => writeln!(out, "checks: nothing found in {launches}"),
        }
    }

    /// Adds `reports` and `faults` to a JSON object.
    pub(super) fn add_to(&self, json: &mut Json) {
        json["reports"] = self.reports.iter().map(report).collect();
        json["faults"] = self.faults.iter().map(fault).collect();
    }
}

fn report(report: &Report) -> Json {
    json!({
        "kind": report.kind.name(),
        "severity": report.severity.name(),
        "message": report.message,
        "help": report.help,
        "kernel": report.kernel,
        "count": report.count,
        "here": party(&report.here),
        "other": report.other.as_ref().map(party),
    })
}

fn party(party: &Party) -> Json {
    json!({
        "block": dim(party.block),
        "thread": dim(party.thread),
        "access": party.access.map(|access| access.to_string()),
        "line": party.line,
        "instruction": party.instruction,
        "frames": party.frames.iter().map(frame).collect::<Vec<_>>(),
    })
}

fn fault(fault: &Fault) -> Json {
    json!({
        "message": fault.to_string(),
        "kernel": fault.kernel,
        "block": dim(fault.block),
        "thread": dim(fault.thread),
        "line": fault.line,
        "instruction": fault.instruction,
    })
}

fn frame(frame: &Frame) -> Json {
    json!({ "file": frame.file, "line": frame.line, "column": frame.column, "function": frame.function })
}

fn dim(dim: Dim3) -> [u32; 3] {
    [dim.x, dim.y, dim.z]
}
