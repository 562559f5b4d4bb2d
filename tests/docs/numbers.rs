//! The numbers of the documentation: no browser breaks one at the blanks between its digits.

use super::pages;

/// A narrow no-break space, which stands between groups of digits.
const JOINT: char = '\u{202f}';

/// A text with narrow no-break spaces between the groups of digits of its numbers.
pub(super) fn joined(text: &str) -> String {
    let mut joined = text.to_owned();
    for at in broken(text).into_iter().rev() {
        joined.replace_range(at..=at, &JOINT.to_string());
    }
    joined
}

/// The places of the plain blanks between a digit and exactly three more.
fn broken(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let digits = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_between = |at: &usize| *at > 0 && bytes[at - 1].is_ascii_digit() && digits(at + 1) == 3;
    text.match_indices(' ').map(|(at, _)| at).filter(is_between).collect()
}

/// A page without its code, which browsers do not wrap, and which is copied as it is.
fn prose(text: &str) -> String {
    let mut in_code = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    });
    // Every second part between backquotes is code.
    let lines: Vec<String> =
        lines.map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("` `")).collect();
    lines.join("\n")
}

#[test]
fn no_number_is_broken() {
    assert_eq!(broken("1 234 of 12 34, 1 2345 and 5 a"), [1]);
    assert_eq!(joined("| 1 048 576 |"), "| 1\u{202f}048\u{202f}576 |");
    assert!(broken(&prose("`1 234`\n```text\n1 234\n```\n5 `6 789` 1")).is_empty());
    let mut wrong = Vec::new();
    for page in pages() {
        let text = prose(&page.text);
        for at in broken(&text) {
            let line = text[..at].matches('\n').count();
            let line = text.lines().nth(line).unwrap();
            wrong.push(format!("{}: {line}", page.name));
        }
    }
    assert!(wrong.is_empty(), "plain blanks in numbers:\n{}", wrong.join("\n"));
}
