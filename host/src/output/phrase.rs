//! Numbers in sentences.

/// A number with its noun, such as `1 value`, `2 values` or `3 launches`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "launch") => format!("{count} launches"),
        _ => format!("{count} {noun}s"),
    }
}

/// Ascending numbers as a list of ranges, such as `0-3, 8`.
pub(crate) fn ranges(numbers: &[u64]) -> String {
    let runs: Vec<String> = numbers
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [only] => only.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect();
    runs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{plural, ranges};

    #[test]
    fn numbers_are_counted_and_ranged() {
        assert_eq!(
            (plural(1, "launch"), plural(2, "launch")),
            ("1 launch".into(), "2 launches".into())
        );
        assert_eq!(plural(0, "value"), "0 values");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        assert_eq!(ranges(&[]), "");
    }
}
