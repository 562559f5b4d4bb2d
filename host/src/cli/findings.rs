//! The findings of `--check`.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use anyhow::Context as _;
use serde_json::{Value as Json, json};
use simt::{
    Dim3, Fault, Frame, Party, Report,
    sarif::Log,
    suppress::{Sorted, Suppression},
};
use warpfold_tools::terminal::Failure;

use super::args::{CheckArgs, Watch};
use crate::device::{Observation, Seen};

/// The findings of all launches, in the order of the launches.
#[derive(Debug)]
pub(super) struct Findings {
    launches: usize,
    sorted: Sorted,
    faults: Vec<Fault>,
    args: CheckArgs,
}

impl Findings {
    /// Collects the findings from what [`Instrument::Check`](crate::device::Instrument::Check) saw.
    pub(super) fn new(observations: Vec<Observation>, watch: Watch) -> Self {
        let Watch { args, suppressions } = watch;
        let launches = observations.len();
        let (mut reports, mut faults) = (Vec::new(), Vec::new());
        for observation in observations {
            if let Seen::Checked(checked) = observation.seen {
                reports.extend(checked.reports);
                faults.extend(checked.fault.map(|fault| *fault));
            }
        }
        Self { launches, sorted: suppressions.sort(reports), faults, args }
    }

    /// Whether a launch had a report that is not suppressed, or a fault.
    pub(super) fn are_any(&self) -> bool {
        !self.sorted.reports.is_empty() || !self.faults.is_empty()
    }

    /// The findings that make the exit status 1, such as `1 fault and 2 warnings`.
    pub(super) fn failing(&self) -> Option<String> {
        let fails = !self.faults.is_empty() || self.args.fail_on.fails(&self.sorted);
        self.sorted.summary(self.faults.len()).filter(|_| fails)
    }

    /// Writes the file of `--sarif`, if there is to be one.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    pub(super) fn write_sarif(&self) -> Result<(), Failure> {
        let Some(file) = &self.args.sarif else { return Ok(()) };
        let list = self.args.suppress.as_ref().map(|file| file.display().to_string());
        // A fault stops the run, so there is at most one.
        let log = Log::new(&self.sorted, self.faults.first(), list.as_deref());
        fs::write(file, log.to_text())
            .with_context(|| format!("cannot write {}", file.display()))
            .map_err(Failure::Failed)
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
        for report in &self.sorted.reports {
            writeln!(out, "\n{report}")?;
        }
        let list = self.args.suppress.as_deref().unwrap_or(Path::new("-"));
        for unused in &self.sorted.unused {
            writeln!(out, "\n{}", unused.note(list))?;
        }
        for fault in &self.faults {
            writeln!(out, "\n{fault}")?;
        }
        let launches =
            if self.launches == 1 { "1 launch" } else { &format!("{} launches", self.launches) };
        match self.sorted.summary(self.faults.len()) {
            Some(summary) => writeln!(out, "\nchecks: {summary} in {launches}"),
            None => writeln!(out, "checks: nothing found in {launches}"),
        }
    }

    /// Adds the findings to a JSON object.
    pub(super) fn add_to(&self, json: &mut Json) {
        let Sorted { reports, suppressed, unused, .. } = &self.sorted;
        json["reports"] = reports.iter().map(report).collect();
        json["suppressed"] = suppressed.iter().map(accepted).collect();
        json["unused_suppressions"] = unused.iter().map(unused_suppression).collect();
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

fn accepted((accepted, by): &(Report, Suppression)) -> Json {
    let mut json = report(accepted);
    json["reason"] = by.reason.as_str().into();
    json
}

fn unused_suppression(unused: &Suppression) -> Json {
    json!({ "kind": unused.class.name(), "line": unused.line, "reason": unused.reason })
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
