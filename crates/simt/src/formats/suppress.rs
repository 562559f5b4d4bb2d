//! Suppressions: findings that their authors know and accept.
//!
//! A file of suppressions is TOML. Each suppression names a class of reports and a reason, and may
//! restrict itself to kernels and places:
//!
//! ```
//! use simt::suppress::Suppressions;
//!
//! let text = r#"
//!     [[suppress]]
//!     class = "race"              # the name of the class in the report
//!     kernel = "bfs_*"            # `*` stands for any text; without it, all kernels
//!     place = "bfs.cu:41-48"      # the end of a path, and lines; without it, all places
//!     reason = "all threads store the level that is current"
//! "#;
//! let suppressions: Suppressions = text.parse()?;
//! assert_eq!(suppressions.all()[0].kernel, "bfs_*");
//!
//! let error = "[[suppress]]\nclass = 'race'".parse::<Suppressions>().unwrap_err();
//! assert!(error.to_string().contains("missing field `reason`"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A place is a file of the source or of the PTX, as the report names it. It is enough if one of
//! the two parties of a report is at the place, or was inlined there. Faults cannot be suppressed,
//! because they stop the launch.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use super::pattern::{matches, matches_path};
use crate::observe::check::{Party, Report, ReportKind, Severity};

/// A file of suppressions that cannot be used. The message names the line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SuppressError(String);

/// The place of an accepted finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The path of the file or the end of the path, with `*` for any text.
    pub file: String,
    /// The lines, from 1; `None` means all lines.
    pub lines: Option<RangeInclusive<u32>>,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let wrong = || {
            format!(
                "`{text}` is no place: it must be FILE, FILE:LINE or FILE:FIRST-LAST, with lines from 1"
            )
        };
        // A colon that no number follows is part of the path, as in `C:\kernels.cu`.
        let (file, lines) = match text.rsplit_once(':') {
            Some((file, lines)) if lines.starts_with(|c: char| c.is_ascii_digit()) => {
                let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
                let line = |text: &str| text.parse().ok().filter(|line| *line > 0);
                let lines = line(first).zip(line(last)).filter(|(first, last)| first <= last);
                let (first, last) = lines.ok_or_else(wrong)?;
                (file, Some(first..=last))
            }
            _ => (text, None),
        };
        if file.is_empty() {
            return Err(wrong());
        }
        Ok(Place { file: file.to_owned(), lines })
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Place, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Place {
    fn holds(&self, file: &str, line: u32) -> bool {
        self.lines.as_ref().is_none_or(|lines| lines.contains(&line))
            && matches_path(&self.file, file)
    }

    fn holds_party(&self, party: &Party) -> bool {
        self.holds(&party.module, party.line)
            || party.frames.iter().any(|frame| self.holds(&frame.file, frame.line))
    }
}

/// Findings that are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suppression {
    /// The class of the findings.
    pub class: ReportKind,
    /// The name of the kernel, with `*` for any text.
    pub kernel: String,
    /// The place of one of the parties; `None` means all places.
    pub place: Option<Place>,
    /// The reason why the findings are accepted.
    pub reason: String,
    /// The line of the suppression in its file, from 1.
    pub line: u32,
}

impl Suppression {
    /// Whether the suppression accepts a finding.
    pub fn accepts(&self, report: &Report) -> bool {
        let mut parties = std::iter::once(&report.here).chain(&report.other);
        self.class == report.kind
            && matches(&self.kernel, &report.kernel)
            && self.place.as_ref().is_none_or(|place| parties.any(|party| place.holds_party(party)))
    }

    /// A note for people on a suppression that accepts no finding. `file` is its file.
    pub fn note(&self, file: &Path) -> String {
        let Suppression { class, line, .. } = self;
        let file = file.display();
        format!(
            "note[unused-suppression]: this suppression of `{class}` accepts no finding of the launch\n  --> {file}:{line}"
        )
    }
}

/// The suppressions of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suppressions(Vec<Suppression>);

/// The reports of a launch, sorted by suppressions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sorted {
    /// The reports that no suppression accepts.
    pub reports: Vec<Report>,
    /// The accepted reports, each with the first suppression that accepts it.
    pub suppressed: Vec<(Report, Suppression)>,
    /// The suppressions that accept no report.
    pub unused: Vec<Suppression>,
}

impl Sorted {
    /// How many faults and findings of each severity there are, such as `1 error and 2 warnings`;
    /// `None` if there are none.
    pub fn summary(&self, faults: usize) -> Option<String> {
        let counted = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        let severities = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
            let reports = self.reports.iter().filter(|report| report.severity == severity).count();
            let unused = if severity == Severity::Note { self.unused.len() } else { 0 };
            counted(reports + unused, severity.name())
        });
        let suppressed = self.suppressed.len();
        let suppressed = (suppressed > 0).then(|| format!("{suppressed} suppressed"));
        let all = [counted(faults, "fault")].into_iter().chain(severities).chain([suppressed]);
        let all: Vec<String> = all.flatten().collect();
        let (last, before) = all.split_last()?;
        Some(if before.is_empty() {
            last.clone()
        } else {
            format!("{} and {last}", before.join(", "))
        })
    }
}

impl Suppressions {
    /// Reads the suppressions of a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not of the form that is described above.
    pub fn read(file: &Path) -> Result<Suppressions, SuppressError> {
        let name = file.display();
        let text = fs::read_to_string(file)
            .map_err(|error| SuppressError(format!("cannot read {name}: {error}")))?;
        text.parse().map_err(|error| SuppressError(format!("{name}: {error}")))
    }

    /// The suppressions in the order of the file.
    pub fn all(&self) -> &[Suppression] {
        &self.0
    }

    /// Sorts the reports of a launch.
    pub fn sort(&self, reports: Vec<Report>) -> Sorted {
        let unused = |suppression: &&Suppression| !reports.iter().any(|of| suppression.accepts(of));
        let unused = self.0.iter().filter(unused).cloned().collect();
        let mut sorted = Sorted { unused, ..Sorted::default() };
        for report in reports {
            match self.0.iter().find(|suppression| suppression.accepts(&report)) {
                Some(suppression) => sorted.suppressed.push((report, suppression.clone())),
                None => sorted.reports.push(report),
            }
        }
        sorted
    }
}

/// The form of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    suppress: Vec<toml::Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(deserialize_with = "class")]
    class: ReportKind,
    #[serde(default = "any")]
    kernel: String,
    place: Option<Place>,
    #[serde(deserialize_with = "reason")]
    reason: String,
}

fn any() -> String {
    "*".to_owned()
}

fn class<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ReportKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    ReportKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let names = ReportKind::ALL.map(ReportKind::name).join(", ");
        de::Error::custom(format!("`{name}` is no class of reports: it must be one of {names}"))
    })
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let reason = String::deserialize(deserializer)?;
    if reason.trim().is_empty() {
        return Err(de::Error::custom("the reason is empty: say why the finding is accepted"));
    }
    Ok(reason)
}

impl FromStr for Suppressions {
    type Err = SuppressError;

    fn from_str(text: &str) -> Result<Suppressions, SuppressError> {
        let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() as u32 + 1;
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(span.start));
            SuppressError(format!("line {line}: {}", error.message()))
        })?;
        let entries = file.suppress.into_iter().map(|entry| {
            let line = line_of(entry.span().start);
            let Entry { class, kernel, place, reason } = entry.into_inner();
            Suppression { class, kernel, place, reason, line }
        });
        Ok(Suppressions(entries.collect()))
    }
}
