//! The places where threads stand when a launch stops.

use std::fmt;

/// Threads of one warp that wait at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The warp's number in its block.
    pub warp: u32,
    /// The lanes, bit i for lane i.
    pub lanes: u32,
    /// The line of the PTX text at which the threads wait, from 1.
    pub line: u32,
    /// The instruction at which the threads wait, as written.
    pub instruction: String,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "warp {} {} at line {} `{}`",
            self.warp,
            Lanes(self.lanes),
            self.line,
            self.instruction
        )
    }
}

/// A lane mask that prints as `lanes 0-3, 8`.
pub(crate) struct Lanes(pub(crate) u32);

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_power_of_two() { "lane " } else { "lanes " })?;
        let mut rest = self.0;
        let mut first = true;
        while rest != 0 {
            let start = rest.trailing_zeros();
            let length = (!(rest >> start)).trailing_zeros().min(32 - start);
            let separator = if first { "" } else { ", " };
            first = false;
            match length {
                1 => write!(f, "{separator}{start}")?,
                _ => write!(f, "{separator}{start}-{}", start + length - 1)?,
            }
            rest &= !((u32::MAX >> (32 - length)) << start);
        }
        Ok(())
    }
}

pub(super) fn join(waiting: &[Waiting]) -> String {
    list(waiting, ["waits", "wait"])
}

pub(super) fn stand(standing: &[Waiting]) -> String {
    list(standing, ["stands", "stand"])
}

/// The first of the places, followed by the verb in the singular or the plural.
fn list(waiting: &[Waiting], [one, many]: [&str; 2]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = waiting.iter().take(SHOWN).map(ToString::to_string).collect();
    let verb = if matches!(waiting, [only] if only.lanes.is_power_of_two()) { one } else { many };
    let rest = match waiting.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" (and {more} groups more)"),
    };
    format!("{} {verb}{rest}", shown.join(", "))
}

pub(super) fn exited_note(exited: u32) -> String {
    match exited {
        0 => String::new(),
        1 => "; 1 thread has exited".to_owned(),
        n => format!("; {n} threads have exited"),
    }
}

#[cfg(test)]
mod tests {
    use super::Lanes;

    #[test]
    fn lanes_print_as_ranges() {
        assert_eq!(Lanes(1).to_string(), "lane 0");
        assert_eq!(Lanes(u32::MAX).to_string(), "lanes 0-31");
        assert_eq!(Lanes(0x8000_010f).to_string(), "lanes 0-3, 8, 31");
    }
}
