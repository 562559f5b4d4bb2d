//! SARIF 2.1.0, the format in which static and dynamic analysis tools hand on their results
//! (OASIS, "Static Analysis Results Interchange Format").

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::json;

use super::suppress::{Sorted, Suppression};
use crate::fault::Fault;
use crate::observe::check::{Party, Report, ReportKind, Severity};
use crate::ptx::ast::Frame;

/// The class of the note about a suppression that accepts no finding.
const UNUSED: &str = "unused-suppression";

/// A SARIF file with one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Run {
    tool: Tool,
    results: Vec<SarifResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

/// A class of findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Rule {
    id: String,
    #[serde(rename = "shortDescription", skip_serializing_if = "Option::is_none")]
    short_description: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Text {
    text: String,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: String,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrence_count: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Accepted>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are those of SARIF")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct LogicalLocation {
    name: String,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Accepted {
    kind: &'static str,
    justification: String,
}

impl Log {
    /// The findings of launches: their reports and the fault that stopped them. `file` is the file
    /// of the suppressions.
    pub fn new(sorted: &Sorted, fault: Option<&Fault>, file: Option<&str>) -> Log {
        let mut rules: Vec<Rule> = ReportKind::ALL
            .map(|kind| Rule {
                id: kind.name().to_owned(),
                short_description: Some(Text { text: kind.meaning().to_owned() }),
            })
            .into();
        let mut results = Vec::new();
        results.extend(sorted.reports.iter().map(|report| of_report(report, None)));
        let suppressed = sorted.suppressed.iter();
        results.extend(suppressed.map(|(report, accepted)| of_report(report, Some(accepted))));
        results.extend(fault.map(of_fault));
        results.extend(sorted.unused.iter().map(|unused| of_unused(unused, file.unwrap_or("-"))));
        for result in &mut results {
            let known = rules.iter().position(|rule| rule.id == result.rule_id);
            result.rule_index = known.unwrap_or_else(|| {
                rules.push(Rule { id: result.rule_id.clone(), short_description: None });
                rules.len() - 1
            });
        }
        let driver = Driver { name: "simt", version: env!("CARGO_PKG_VERSION"), rules };
        Log {
            schema: "https://json.schemastore.org/sarif-2.1.0.json",
            version: "2.1.0",
            runs: [Run { tool: Tool { driver }, results }],
        }
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        format!("{:#}\n", json!(self))
    }
}

fn of_report(report: &Report, accepted: Option<&Suppression>) -> SarifResult {
    let Report { kind, severity, kernel, message, here, other, help, count, .. } = report;
    let related = other.iter().enumerate().map(|(index, other)| Location {
        id: Some(index as u32 + 1),
        message: Some(Text { text: report.describe(other) }),
        ..of_party(other)
    });
    let named = LogicalLocation { name: kernel.clone(), kind: "function" };
    let accepted = accepted
        .map(|accepted| Accepted { kind: "external", justification: accepted.reason.clone() });
    SarifResult {
        rule_id: kind.name().to_owned(),
        rule_index: 0,
        level: severity.name(),
        message: Text { text: format!("{message}. Help: {help}.") },
        locations: vec![Location { logical_locations: vec![named], ..of_party(here) }],
        related_locations: related.collect(),
        occurrence_count: Some(*count),
        suppressions: accepted.into_iter().collect(),
    }
}

fn of_fault(fault: &Fault) -> SarifResult {
    let Fault { kernel, module, block, thread, line, instruction, frames, kind } = fault;
    let named = LogicalLocation { name: kernel.clone(), kind: "function" };
    let place = place(module, *line, instruction, frames);
    SarifResult {
        rule_id: kind.name().to_owned(),
        rule_index: 0,
        level: Severity::Error.name(),
        message: Text { text: format!("thread {thread} of block {block}: {kind}") },
        locations: vec![Location { logical_locations: vec![named], ..place }],
        related_locations: Vec::new(),
        occurrence_count: None,
        suppressions: Vec::new(),
    }
}

fn of_unused(unused: &Suppression, file: &str) -> SarifResult {
    let region = Region { start_line: unused.line, start_column: None, snippet: None };
    let artifact_location = ArtifactLocation { uri: uri(file) };
    let physical_location = PhysicalLocation { artifact_location, region };
    let text = format!("this suppression of `{}` accepts no finding of the launch", unused.class);
    SarifResult {
        rule_id: UNUSED.to_owned(),
        rule_index: 0,
        level: Severity::Note.name(),
        message: Text { text },
        locations: vec![Location {
            id: None,
            physical_location,
            logical_locations: Vec::new(),
            message: None,
        }],
        related_locations: Vec::new(),
        occurrence_count: None,
        suppressions: Vec::new(),
    }
}

fn of_party(party: &Party) -> Location {
    place(&party.module, party.line, &party.instruction, &party.frames)
}

/// The place of an instruction: in the source if it is known, and otherwise in the PTX.
fn place(module: &str, line: u32, instruction: &str, frames: &[Frame]) -> Location {
    let (file, start_line, column) = match frames.first() {
        Some(frame) => (&*frame.file, frame.line, frame.column),
        None => (module, line, 0),
    };
    let snippet = frames.is_empty().then(|| Text { text: instruction.to_owned() });
    let region = Region {
        start_line: start_line.max(1),
        start_column: Some(column).filter(|column| *column > 0),
        snippet,
    };
    let artifact_location = ArtifactLocation { uri: uri(file) };
    let physical_location = PhysicalLocation { artifact_location, region };
    Location { id: None, physical_location, logical_locations: Vec::new(), message: None }
}

/// A path as a URI, in which all other characters than those of paths are escaped.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri += "file://";
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(byte.into());
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
