//! The report of a tool on one run.

use std::io::{self, Write as _};

use anyhow::anyhow;
use warpfold_tools::terminal::{Failure, failed, written};

use super::{args::Watch, findings::Findings};
use crate::{
    device::{Device, DeviceInfo},
    experiment::{Report, Runs},
};

/// A run that was made, with the findings of `--check`.
#[derive(Debug)]
pub struct Finished<'a> {
    kernel: &'a str,
    json: bool,
    findings: Option<Findings>,
}

impl<'a> Finished<'a> {
    /// Takes the observations of `device`, if it was told to check.
    pub fn new(kernel: &'a str, device: &Device, watch: Watch) -> Self {
        let (json, checks) = (watch.args.json, watch.checks());
        let findings = checks.then(|| Findings::new(device.take_observations(), watch));
        Self { kernel, json, findings }
    }

    /// The error of a run that failed. If `--check` found something, the findings are written, and
    /// they are the error if they are severe enough.
    pub fn failure(&self, error: Failure) -> Failure {
        let Some(findings) = self.findings.as_ref().filter(|findings| findings.are_any()) else {
            return error;
        };
        let shown = written(findings.write_alone(self.kernel, self.json, &mut io::stdout().lock()));
        match shown.and_then(|()| findings.write_sarif()) {
            Ok(()) => self.found().unwrap_or(error),
            Err(error) => error,
        }
    }

    /// Writes a report with what was found.
    ///
    /// # Errors
    ///
    /// A wrong result, findings that are severe enough, and [`Failure::Interrupted`] if fewer runs
    /// were `made` than were asked for.
    pub fn write(&self, report: &impl Report, made: usize, asked: u32) -> Result<(), Failure> {
        // If no run was made, nothing was launched, so there was nothing to interrupt.
        let interrupted = (1..asked as usize).contains(&made);
        let mut out = io::stdout().lock();
        written(if self.json {
            let mut json = report.to_json();
            json["interrupted"] = interrupted.into();
            if let Some(findings) = &self.findings {
                findings.add_to(&mut json);
            }
            writeln!(out, "{json}")
        } else {
            let text = report.write_text(&mut out);
            text.and_then(|()| {
                self.findings.as_ref().map_or(Ok(()), |findings| findings.write_text(&mut out))
            })
        })?;
        if let Some(findings) = &self.findings {
            findings.write_sarif()?;
        }
        if let Some(wrong) = report.wrong() {
            return Err(failed(anyhow!(wrong)));
        }
        if let Some(found) = self.found() {
            return Err(found);
        }
        if interrupted {
            return Err(Failure::Interrupted(anyhow!("{made} of {asked} runs were finished")));
        }
        Ok(())
    }

    fn found(&self) -> Option<Failure> {
        let found = self.findings.as_ref()?.failing()?;
        Some(failed(anyhow!("--check: {found} of {}", self.kernel)))
    }
}

/// A text such as `run 1 of 23 on …` for the progress line.
pub fn describe_run(run: u32, runs: Runs, device: &DeviceInfo) -> String {
    format!("run {} of {} on {}", run + 1, runs.total(), device.name)
}
