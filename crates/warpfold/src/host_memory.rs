//! The amount of memory that is available on the host.

use std::fs;

/// The number of bytes that programs can still allocate before the host must swap memory to disk or
/// end a program. `None` if the host does not report it, which only Linux does.
///
/// ```
/// assert!(warpfold::host_memory::available().is_none_or(|bytes| bytes > 0));
/// ```
pub fn available() -> Option<u64> {
    parse(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// Finds `MemAvailable` in the text of Linux's /proc/meminfo, and returns it in bytes.
fn parse(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn available_memory_is_read_from_meminfo() {
        assert_eq!(
            parse("MemTotal: 24 kB\nMemAvailable:   16384 kB\nBuffers: 1 kB\n"),
            Some(16 << 20)
        );
        assert_eq!(parse("MemTotal: 24 kB\n"), None);
        assert_eq!(parse("MemAvailable: many kB\n"), None);
    }
}
