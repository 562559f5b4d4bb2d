//! The severity from which reports make a command fail.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::suppress::Sorted;
use crate::observe::check::Severity;

/// The least severity of a report that makes a command fail.
///
/// ```
/// use simt::FailOn;
///
/// assert_eq!("warning".parse(), Ok(FailOn::Warning));
/// assert_eq!(
///     "bad".parse::<FailOn>().unwrap_err().to_string(),
///     "`bad` is no severity: it must be one of error, warning, note, never"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailOn {
    /// Errors fail.
    Error,
    /// Errors and warnings fail.
    Warning,
    /// All reports fail, and so does a suppression that accepts no report.
    Note,
    /// No report fails.
    Never,
}

impl FailOn {
    const ALL: [FailOn; 4] = [FailOn::Error, FailOn::Warning, FailOn::Note, FailOn::Never];

    const fn name(self) -> &'static str {
        match self {
            FailOn::Error => Severity::Error.name(),
            FailOn::Warning => Severity::Warning.name(),
            FailOn::Note => Severity::Note.name(),
            FailOn::Never => "never",
        }
    }

    /// Whether one of the reports is severe enough, or one of the suppressions that are not used.
    pub fn fails(self, sorted: &Sorted) -> bool {
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

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no severity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no severity: it must be one of {names}", names = FailOn::ALL.map(FailOn::name).join(", "))]
pub struct UnknownSeverity(String);

impl FromStr for FailOn {
    type Err = UnknownSeverity;

    fn from_str(text: &str) -> Result<FailOn, UnknownSeverity> {
        let found = FailOn::ALL.into_iter().find(|fail_on| fail_on.name() == text);
        found.ok_or_else(|| UnknownSeverity(text.to_owned()))
    }
}
