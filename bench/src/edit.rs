//! Edits of PTX text, with which a plan makes faulty twins of kernels.

use anyhow::{Context, ensure};
use serde::Deserialize;

/// One edit of one instruction: it replaces `find` by `with`.
///
/// `of` instructions of the entry contain `find`, and the edit changes the `nth` of them. They are
/// counted from 1 in the order of the file. Instructions are compared without comments, and with
/// single blanks for white space. They are not found by line number, because the PTX is generated
/// and lines move. If the number of matches changes, the edit is refused, because nobody knows
/// which match was meant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// A part of the instruction, such as `bar.sync`.
    pub find: String,
    /// The number of the match to edit, from 1.
    #[serde(default = "one")]
    pub nth: usize,
    /// The number of matches that the entry must have.
    #[serde(default = "one")]
    pub of: usize,
    /// The replacement. With `//` the rest of the instruction becomes a comment.
    pub with: String,
}

fn one() -> usize {
    1
}

/// Edits the entry `entry` of `ptx`. Lines keep their numbers.
///
/// # Errors
///
/// If the entry does not exist, if the number of matches of an edit differs from its `of`, or if
/// two edits change the same line.
pub fn apply(ptx: &str, entry: &str, edits: &[Edit]) -> anyhow::Result<String> {
    let mut lines: Vec<String> = ptx.lines().map(str::to_owned).collect();
    let plain: Vec<String> = ptx.lines().map(plain).collect();
    let (start, end) =
        extent(&plain, entry).with_context(|| format!("there is no entry {entry}"))?;
    let mut edited = Vec::new();
    for Edit { find, nth, of, with } in edits {
        ensure!(!find.is_empty(), "an edit has to find something");
        // Directives, such as `.loc`, are no instructions.
        let matches = (start..end)
            .filter(|&line| !plain[line].starts_with('.') && plain[line].contains(find));
        let matches: Vec<usize> = matches.collect();
        ensure!(
            matches.len() == *of,
            "{entry} has {} instructions with `{find}`, and not {of}",
            matches.len()
        );
        ensure!((1..=*of).contains(nth), "`{find}` number {nth} of {of} cannot be");
        let line = matches[nth - 1];
        ensure!(!edited.contains(&line), "`{}` is edited twice", plain[line]);
        edited.push(line);
        lines[line] = plain[line].replacen(find, with, 1);
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// A line without its comment, and with single blanks for white space.
fn plain(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The numbers of the first and the last line of an entry: the line with its name, and the line
/// with the brace that closes it.
fn extent(plain: &[String], entry: &str) -> Option<(usize, usize)> {
    let named = |line: &String| {
        let name = line.split(".entry ").nth(1).and_then(|rest| rest.split('(').next());
        name.is_some_and(|name| name.trim() == entry)
    };
    let start = plain.iter().position(named)?;
    let mut depth = 0;
    for (number, line) in plain.iter().enumerate().skip(start) {
        let opened = line.matches('{').count();
        depth += opened;
        depth -= line.matches('}').count().min(depth);
        if depth == 0 && line.contains('}') {
            return Some((start, number));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.entry a(.param .u64 p)
{
\tbar.sync \t0; // bar.sync again
\tadd.u32 \t%r1, %r1, 1;
\tbar.sync \t0;
\tret;
}
.entry ab(
)
{
\t.loc 1 2 3
\tld.v2.u32 {%r1, %r2}, [p];
\tbar.sync \t0;
}
";

    fn edit(find: &str, nth: usize, of: usize, with: &str) -> Edit {
        Edit { find: find.into(), nth, of, with: with.into() }
    }

    #[test]
    fn only_the_instruction_that_is_meant_changes() {
        let edited =
            apply(PTX, "a", &[edit("bar.sync", 2, 2, "//"), edit("%r1, 1;", 1, 1, "%r1, 2; ret;")])
                .unwrap();
        let lines: Vec<&str> = edited.lines().collect();
        assert_eq!(
            lines[2..6],
            ["\tbar.sync \t0; // bar.sync again", "add.u32 %r1, %r1, 2; ret;", "// 0;", "\tret;"]
        );
        assert_eq!(lines[6..], PTX.lines().collect::<Vec<_>>()[6..]);
        let edited = apply(PTX, "ab", &[edit("bar.sync 0;", 1, 1, "")]).unwrap();
        assert_eq!(edited.lines().nth(12), Some(""));
        assert_eq!(apply(PTX, "a", &[]).unwrap(), PTX);
    }

    #[test]
    fn what_does_not_apply_is_refused() {
        let refused =
            |entry: &str, edits: &[Edit]| apply(PTX, entry, edits).unwrap_err().to_string();
        assert_eq!(refused("b", &[]), "there is no entry b");
        assert_eq!(
            refused("ab", &[edit("bar", 1, 2, "")]),
            "ab has 1 instructions with `bar`, and not 2"
        );
        assert_eq!(
            refused("ab", &[edit(".loc", 1, 1, "")]),
            "ab has 0 instructions with `.loc`, and not 1"
        );
        assert_eq!(refused("a", &[edit("bar", 3, 2, "")]), "`bar` number 3 of 2 cannot be");
        assert_eq!(refused("a", &[edit("", 1, 1, "")]), "an edit has to find something");
        let twice = [edit("bar", 1, 2, ""), edit("sync", 1, 2, "")];
        assert_eq!(refused("a", &twice), "`bar.sync 0;` is edited twice");
    }
}
