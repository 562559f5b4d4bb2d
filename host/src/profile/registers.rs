//! Registers of a thread, as ptxas gives them.

use std::{
    env, fmt, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use simt::occupancy::Gpu;

use crate::ptx::PtxLibrary;

/// The environment variable that names ptxas, where it is not on the PATH.
const PTXAS_VARIABLE: &str = "PTXAS";

/// The number of registers of a thread. It is never guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registers {
    /// The caller gave the number.
    Given(u32),
    /// ptxas gave the number.
    Assembled(u32),
    /// The number is not known, for this reason.
    Unknown(String),
}

impl Registers {
    /// The number, if it is known.
    pub fn count(&self) -> Option<u32> {
        match self {
            Self::Given(count) | Self::Assembled(count) => Some(*count),
            Self::Unknown(_) => None,
        }
    }

    /// The origin of the number, as JSON names it.
    pub(super) fn origin(&self) -> &str {
        match self {
            Self::Given(_) => "given",
            Self::Assembled(_) => "ptxas",
            Self::Unknown(_) => "unknown",
        }
    }
}

impl fmt::Display for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(count) => write!(f, "{count} for each thread, as given"),
            Self::Assembled(count) => write!(f, "{count} for each thread, by ptxas"),
            Self::Unknown(why) => {
                write!(f, "unknown, so the occupancy does not consider them ({why})")
            }
        }
    }
}

/// The registers that ptxas gives a thread of a kernel on a GPU. The environment variable `PTXAS`
/// names the program; if it is not set, the program is looked for on the PATH. If there is no
/// ptxas, or if it refuses the kernel, the registers are unknown.
pub fn registers(library: &PtxLibrary, kernel: &str, gpu: &Gpu) -> Registers {
    let ptx = match library.find(kernel, gpu.compute_capability) {
        Ok(ptx) => ptx,
        Err(error) => return Registers::Unknown(error.to_string()),
    };
    let named = env::var_os(PTXAS_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let ptxas = named.unwrap_or_else(|| "ptxas".into());
    let (major, minor) = gpu.compute_capability;
    match assemble(&ptxas, &ptx.text, kernel, &format!("sm_{major}{minor}")) {
        Ok(Ok(count)) => Registers::Assembled(count),
        Ok(Err(why)) => Registers::Unknown(why),
        Err(error) if error.kind() == io::ErrorKind::NotFound && ptxas == Path::new("ptxas") => {
            Registers::Unknown(format!(
                "no ptxas on the PATH: name one with {PTXAS_VARIABLE}, or give --registers"
            ))
        }
        Err(error) => Registers::Unknown(format!("cannot run {}: {error}", ptxas.display())),
    }
}

/// The number of registers that ptxas reports, or the reason why it reports none.
fn assemble(ptxas: &Path, ptx: &str, kernel: &str, arch: &str) -> io::Result<Result<u32, String>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kernel.ptx");
    fs::write(&file, ptx)?;
    let mut command = Command::new(ptxas);
    command
        .args(["-v", "-arch", arch, "--entry", kernel, "-o"])
        .arg(folder.path().join("kernel.cubin"))
        .arg(&file);
    let output = command.output()?;
    // ptxas writes its verbose output to stderr.
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let why = log.lines().find(|line| !line.trim().is_empty()).unwrap_or("without a word");
        return Ok(Err(format!("ptxas refused the kernel for {arch}: {why}")));
    }
    Ok(read_log(&log, kernel).ok_or_else(|| format!("ptxas reported no registers for {arch}")))
}

/// The number in the line `Used N registers` of a kernel.
fn read_log(log: &str, kernel: &str) -> Option<u32> {
    let entry = format!("Compiling entry function '{kernel}'");
    let (_, of_kernel) = log.split_once(&entry)?;
    let (_, used) = of_kernel.split_once("Used ")?;
    used.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_read_at_the_kernel() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Used 255 registers, used 0 barriers
";
        assert_eq!(
            (read_log(log, "a"), read_log(log, "b"), read_log(log, "c")),
            (Some(12), Some(255), None)
        );
        assert_eq!(read_log("Compiling entry function 'a' for 'sm_90'\n", "a"), None);
    }
}
