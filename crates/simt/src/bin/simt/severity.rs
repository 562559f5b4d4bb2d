//! The severity from which reports make the command fail.

use clap::ValueEnum;
use simt::Severity;
use simt::suppress::Sorted;

/// The least severity of a report that makes the command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

impl FailOn {
    /// Whether one of the reports is severe enough, or one of the suppressions that are not used.
    pub(crate) fn fails(self, sorted: &Sorted) -> bool {
        let least = match self {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
            FailOn::Never => return false,
        };
        let unused = least == Severity::Note && !sorted.unused.is_empty();
        unused || sorted.reports.iter().any(|report| report.severity >= least)
    }
}

/// How many findings of each severity there are, such as `1 error and 2 warnings`; `None` if there
/// are none.
pub(crate) fn summary(sorted: &Sorted) -> Option<String> {
    let counted = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        let reports = sorted.reports.iter().filter(|report| report.severity == severity).count();
        let unused = if severity == Severity::Note { sorted.unused.len() } else { 0 };
        match reports + unused {
            0 => None,
            1 => Some(format!("1 {severity}")),
            count => Some(format!("{count} {severity}s")),
        }
    });
    let suppressed = sorted.suppressed.len();
    let suppressed = (suppressed > 0).then(|| format!("{suppressed} suppressed"));
    let counted: Vec<String> = counted.into_iter().flatten().chain(suppressed).collect();
    let (last, before) = counted.split_last()?;
    Some(if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) })
}
