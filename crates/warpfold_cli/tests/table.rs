//! Input files of every kind, good and bad, and what the command says of them. `make.py` made the
//! files and the answers with NumPy; see there.

mod help;
mod program;

use std::path::Path;

/// A command, and what must come of it.
#[derive(serde::Deserialize)]
struct Row {
    args: Vec<String>,
    status: i32,
    /// The numbers on stdout.
    #[serde(default)]
    expected: Vec<String>,
    /// Whether the last digits may differ, because floats are added in another order.
    #[serde(default)]
    near: bool,
    /// A part of stderr.
    #[serde(default)]
    error: String,
}

fn rows() -> Vec<Row> {
    let text = include_str!("table.json");
    serde_json::from_str(text).expect("the table is JSON of rows")
}

fn run(args: &[String]) -> (i32, String, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let output =
        program::warpfold().args(args).current_dir(folder).output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Whether a number on stdout is the one that NumPy found. If it may differ, it may do so by as
/// much as sums of some dozens of `f16` elements in `f32` do.
fn agrees(found: &str, row: &Row, expected: &str) -> bool {
    let parse = |text: &str| text.parse::<f64>().expect("a number");
    if row.near {
        let (found, expected) = (parse(found), parse(expected));
        return found.to_bits() == expected.to_bits()
            || (found - expected).abs() <= 4e-6 * expected.abs().max(1.0)
            || (found.is_nan() && expected.is_nan());
    }
    // Integers have all their digits. A float of 32 bits is written with fewer digits than NumPy's.
    let is_float = found.contains(['.', 'e', 'n', 'N']) && !matches!(found, "true" | "false");
    found == expected
        || (is_float && (parse(found) as f32).to_bits() == (parse(expected) as f32).to_bits())
}

#[test]
fn every_file_gives_its_answer_or_its_error() {
    let rows = rows();
    let mut wrong = Vec::new();
    for row in &rows {
        let mut args = row.args.clone();
        if row.status == 0 {
            args.push("--verify".into());
        }
        let (status, stdout, stderr) = run(&args);
        let is_right = if row.status == 0 {
            let found: Vec<_> = stdout.split_whitespace().collect();
            status == 0
                && found.len() == row.expected.len()
                && found
                    .iter()
                    .zip(&row.expected)
                    .all(|(found, expected)| agrees(found, row, expected))
        } else {
            // An error is one sentence, and nothing is printed as a result.
            status == row.status && stdout.is_empty() && stderr.contains(&row.error)
        };
        if !is_right {
            wrong.push(format!(
                "warpfold {}\n  status {status}, stdout {stdout:?}, stderr {stderr:?}\n  expected {} {:?} {:?}",
                args.join(" "),
                row.status,
                row.expected,
                row.error
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn the_table_has_every_operation_and_forty_files() {
    let rows = rows();
    for operation in help::operations() {
        assert!(rows.iter().any(|row| row.args[0] == operation && row.status == 0), "{operation}");
    }
    let mut files: Vec<_> = rows.iter().filter_map(|row| row.args.get(1)).collect();
    files.sort_unstable();
    files.dedup();
    assert!(files.len() >= 40, "{files:?}");
}
