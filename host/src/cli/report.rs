//! The report of a tool on one run.

use std::io::{self, Write as _};

use anyhow::anyhow;
use warpfold_tools::terminal::{Failure, failed, written};

use super::{args::CheckArgs, findings::Findings};
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
    pub fn new(kernel: &'a str, device: &Device, CheckArgs { check, json }: CheckArgs) -> Self {
        Self { kernel, json, findings: check.then(|| Findings::new(device.take_observations())) }
    }

    /// The error of a run that failed. It is `error`, unless `--check` found something: then the
    /// findings are written, and they are the error.
    pub fn failure(&self, error: Failure) -> Failure {
        let Some((findings, found)) = self.findings.as_ref().zip(self.found()) else {
            return error;
        };
        match written(findings.write_alone(self.kernel, self.json, &mut io::stdout().lock())) {
            Ok(()) => found,
            Err(error) => error,
        }
    }

    /// Writes a report with what was found.
    ///
    /// # Errors
    ///
    /// A wrong result, findings, and [`Failure::Interrupted`] if fewer runs were `made` than were
    /// asked for.
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
        let found = self.findings.as_ref()?.summary()?;
        Some(failed(anyhow!("--check: {found} of {}", self.kernel)))
    }
}

/// A text such as `run 1 of 23 on …` for the progress line.
pub fn describe_run(run: u32, runs: Runs, device: &DeviceInfo) -> String {
    format!("run {} of {} on {}", run + 1, runs.total(), device.name)
}
