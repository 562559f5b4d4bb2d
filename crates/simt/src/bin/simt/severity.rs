//! The severity from which reports make the command fail.

use clap::ValueEnum;
use simt::{Report, Severity};

/// The least severity of a report that makes the command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

impl FailOn {
    /// Whether one of the reports is severe enough.
    pub(crate) fn fails(self, reports: &[Report]) -> bool {
        let least = match self {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
            FailOn::Never => return false,
        };
        reports.iter().any(|report| report.severity >= least)
    }
}

/// How many reports of each severity there are, such as `1 error and 2 warnings`; `None` if there
/// are none.
pub(crate) fn summary(reports: &[Report]) -> Option<String> {
    let counted =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
            match reports.iter().filter(|report| report.severity == severity).count() {
                0 => None,
                1 => Some(format!("1 {severity}")),
                count => Some(format!("{count} {severity}s")),
            }
        });
    let counted: Vec<String> = counted.into_iter().flatten().collect();
    let (last, before) = counted.split_last()?;
    Some(if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) })
}
