//! Whole numbers as arguments.

use anyhow::Context;

/// Parses a whole number from 0 on: digits, with `_` between them if wanted, or a power such as
/// `2^22`. `flag` and `example` are for the message of an error.
///
/// ```
/// # use warpfold_tools::terminal::whole;
/// assert_eq!(whole("--n", "4_194_304", "2^22").unwrap(), whole("--n", "2^22", "2^22").unwrap());
/// assert!(whole("--n", "-1", "2^22").is_err());
/// ```
///
/// # Errors
///
/// Any other text is refused in one sentence.
pub fn whole(flag: &str, text: &str, example: &str) -> anyhow::Result<u64> {
    let digits = |text: &str| -> Option<u64> {
        let plain = text.replace('_', "");
        let all_digits = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
        all_digits.then(|| plain.parse().ok()).flatten()
    };
    let value = match text.split_once('^') {
        Some((base, exponent)) => digits(base)
            .zip(digits(exponent))
            .and_then(|(base, exponent)| base.checked_pow(u32::try_from(exponent).ok()?)),
        None => digits(text),
    };
    value.with_context(|| {
        format!("{flag} '{text}': it must be a whole number from 0 to 2^64 - 1, such as {example}")
    })
}

/// [`whole`] as a parser of an argument's value.
pub fn number(
    flag: &'static str,
    example: &'static str,
) -> impl Fn(&str) -> anyhow::Result<u64> + Clone + Send + Sync + 'static {
    move |text| whole(flag, text, example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        let n = |text| whole("--n", text, "1").ok();
        assert_eq!(n("0"), Some(0));
        assert_eq!(n("4_194_304"), Some(1 << 22));
        assert_eq!(n("2^22"), Some(1 << 22));
        assert_eq!(n("10^6"), Some(1_000_000));
        assert_eq!(n("18446744073709551615"), Some(u64::MAX));
        for bad in [
            "",
            "-1",
            "+1",
            "1.5",
            "1e6",
            "many",
            "2^64",
            "18446744073709551616",
            "2^-1",
            "^",
            "_",
            "2^2^2",
            " 1",
        ] {
            assert_eq!(n(bad), None, "{bad}");
        }
    }
}
