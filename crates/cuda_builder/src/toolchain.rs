use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::manifest::ToolchainVersions;

/// The LLVM tools that the build runs.
const LLVM_TOOLS: [&str; 5] = ["llvm-ar", "llvm-dis", "llvm-link", "opt", "llc"];

/// A compiler with its cargo, the source of its `core`, and LLVM tools of the version of its LLVM.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The compiler.
    pub rustc: PathBuf,
    /// The cargo beside it.
    pub cargo: PathBuf,
    /// The folder of the LLVM tools.
    pub llvm: PathBuf,
    /// The compiler's root folder, which contains the source of `core`.
    pub sysroot: PathBuf,
    /// The versions that the manifest names.
    pub versions: ToolchainVersions,
}

/// A compiler that was looked at and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The place where it was looked for.
    pub candidate: String,
    /// The reason why it cannot be used, without a capital letter or a full stop.
    pub reason: String,
}

/// There is no usable [`Toolchain`]. The message names the compilers that were tried, and the
/// commands that install a usable set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolchainError {
    /// The compilers that were tried.
    pub rejected: Vec<Rejected>,
}

impl std::error::Error for ToolchainError {}

impl fmt::Display for ToolchainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "no compiler for kernels: rustc, the source of its core and LLVM tools of one version are needed"
        )?;
        for Rejected { candidate, reason } in &self.rejected {
            writeln!(f, "  {candidate}: {reason}")?;
        }
        writeln!(f, "Install a set with rustup:")?;
        writeln!(f, "  rustup component add rust-src llvm-tools llvm-bitcode-linker")?;
        writeln!(f, "  rustup target add nvptx64-nvidia-cuda")?;
        writeln!(f, "or with Debian's packages (bookworm-security and later releases):")?;
        write!(f, "  apt-get install rustc-web cargo-web rust-web-src rust-web-llvm")
    }
}

impl Toolchain {
    /// Finds a usable set: the toolchain that is active in `folder` first, then Debian's.
    ///
    /// # Errors
    /// Neither of the two sets is complete.
    pub fn find(folder: &Path) -> Result<Self, ToolchainError> {
        Self::find_among(folder, &candidates(), None)
    }

    /// As [`find`](Self::find), but a set of exactly these versions comes first, because only such
    /// a set makes the same bytes again.
    ///
    /// # Errors
    /// Neither of the two sets is complete.
    pub fn find_like(folder: &Path, versions: &ToolchainVersions) -> Result<Self, ToolchainError> {
        Self::find_among(folder, &candidates(), Some(versions))
    }

    /// The set around one compiler, and no other.
    ///
    /// # Errors
    /// The set is not complete.
    pub fn around(folder: &Path, rustc: &Path) -> Result<Self, ToolchainError> {
        Self::find_among(folder, &[("the compiler", rustc)], None)
    }

    /// Finds a usable set among compilers, each of which has a name for the message. It is the set
    /// of the given versions, or else the first.
    fn find_among(
        folder: &Path,
        candidates: &[(&str, &Path)],
        versions: Option<&ToolchainVersions>,
    ) -> Result<Self, ToolchainError> {
        let (mut first, mut rejected) = (None, Vec::new());
        for (name, rustc) in candidates {
            match Self::examine(folder, rustc) {
                Ok(found) if versions.is_none_or(|versions| *versions == found.versions) => {
                    return Ok(found);
                }
                Ok(found) => first = first.or(Some(found)),
                Err(reason) => rejected
                    .push(Rejected { candidate: format!("{name} ({})", rustc.display()), reason }),
            }
        }
        first.ok_or(ToolchainError { rejected })
    }

    /// Completes the set around one compiler, or returns the reason why it cannot be used.
    fn examine(folder: &Path, rustc: &Path) -> Result<Self, String> {
        let sysroot = PathBuf::from(print(folder, rustc, &["--print", "sysroot"])?.trim());
        // rustup's `rustc` is a proxy. From here on the compiler itself is used, so that no
        // override can choose another one.
        let direct = sysroot.join("bin").join(format!("rustc{}", std::env::consts::EXE_SUFFIX));
        let rustc = if direct.is_file() { direct } else { rustc.to_owned() };
        let (versions, host) = versions(&print(folder, &rustc, &["-vV"])?)?;
        let release = versions.rustc.split(' ').nth(1).unwrap_or_default();

        let cargo = rustc.with_file_name(format!("cargo{}", std::env::consts::EXE_SUFFIX));
        if !cargo.is_file() {
            return Err(format!("rustc {release} has no cargo beside it at {}", cargo.display()));
        }
        let core = sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs");
        if !core.is_file() {
            return Err(format!("rustc {release} lacks the source of core (rust-src)"));
        }
        let major = versions.llvm.split('.').next().unwrap_or_default();
        let folders = [
            sysroot.join("lib/rustlib").join(host).join("bin"),
            PathBuf::from(format!("/usr/lib/llvm-{major}/bin")),
        ];
        let complete = |folder: &&PathBuf| {
            LLVM_TOOLS.iter().all(|tool| {
                folder.join(format!("{tool}{}", std::env::consts::EXE_SUFFIX)).is_file()
            })
        };
        let Some(llvm) = folders.iter().find(complete) else {
            return Err(format!("rustc {release} lacks {} of LLVM {major}", LLVM_TOOLS.join(", ")));
        };
        let tool = print(folder, &llvm.join("llc"), &["--version"])?;
        if !tool.contains(&format!("LLVM version {major}.")) {
            return Err(format!(
                "rustc {release} has LLVM {}, but {} is of another",
                versions.llvm,
                llvm.display()
            ));
        }
        Ok(Self { rustc, cargo, llvm: llvm.clone(), sysroot, versions })
    }
}

/// The compilers to look at, each with a name for the message.
fn candidates() -> [(&'static str, &'static Path); 2] {
    [("the active toolchain", Path::new("rustc")), ("Debian's", Path::new("/usr/bin/rustc"))]
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {}, LLVM {} at {}",
            self.versions.rustc,
            self.rustc.display(),
            self.versions.llvm,
            self.llvm.display()
        )
    }
}

fn print(folder: &Path, program: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{} failed: {}",
            program.display(),
            message.lines().next().unwrap_or("no message")
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads the versions and the host's target from the output of `rustc -vV`.
pub(crate) fn versions(text: &str) -> Result<(ToolchainVersions, String), String> {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .map(str::to_owned)
            .ok_or_else(|| format!("`rustc -vV` tells no {name}"))
    };
    let rustc = text.lines().next().unwrap_or_default().to_owned();
    Ok((
        ToolchainVersions {
            rustc,
            llvm: field("LLVM version")?,
            codegen: "rustc-nvptx".to_owned(),
        },
        field("host")?,
    ))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    const VERSION: &str =
        "rustc 1.96.0 (abc 2026-05-25)\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.8";

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A child process writes the script. If this process wrote it, a child that another test
        // has just forked could still hold the file open, and then the file would be too busy to be
        // run.
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#;
        assert!(
            Command::new("sh").args(["-c", write]).arg(path).arg(text).status().unwrap().success()
        );
    }

    /// A toolchain of stand-ins with rustup's layout. It is complete; the caller may remove parts
    /// of it.
    fn stand_in() -> tempfile::TempDir {
        stand_in_of(VERSION)
    }

    fn stand_in_of(version: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        script(
            &at("bin/rustc"),
            &format!(
                "[ \"$1\" = --print ] && echo '{}' || echo '{version}'",
                root.path().display()
            ),
        );
        script(&at("bin/cargo"), "true");
        for tool in LLVM_TOOLS {
            script(
                &at("lib/rustlib/x86_64-unknown-linux-gnu/bin").join(tool),
                "echo 'LLVM version 22.1.8'",
            );
        }
        script(&at("lib/rustlib/src/rust/library/core/src/lib.rs"), "");
        root
    }

    fn examine(root: &tempfile::TempDir) -> Result<Toolchain, String> {
        Toolchain::examine(root.path(), &root.path().join("bin/rustc"))
    }

    #[test]
    fn rustups_layout_is_found() {
        let root = stand_in();
        let toolchain = examine(&root).unwrap();
        assert_eq!(toolchain.llvm, root.path().join("lib/rustlib/x86_64-unknown-linux-gnu/bin"));
        assert_eq!(toolchain.versions.llvm, "22.1.8");
        assert_eq!(toolchain.versions.rustc, "rustc 1.96.0 (abc 2026-05-25)");
    }

    #[test]
    fn what_is_missing_is_named() {
        let root = stand_in();
        fs::remove_file(root.path().join("lib/rustlib/src/rust/library/core/src/lib.rs")).unwrap();
        assert_eq!(examine(&root).unwrap_err(), "rustc 1.96.0 lacks the source of core (rust-src)");

        let root = stand_in();
        fs::remove_file(root.path().join("bin/cargo")).unwrap();
        assert!(examine(&root).unwrap_err().starts_with("rustc 1.96.0 has no cargo beside it"));
    }

    #[test]
    fn tools_of_another_llvm_are_refused() {
        let root = stand_in();
        let tools = root.path().join("lib/rustlib/x86_64-unknown-linux-gnu/bin");
        script(&tools.join("llc"), "echo 'LLVM version 21.0.0'");
        assert!(examine(&root).unwrap_err().starts_with("rustc 1.96.0 has LLVM 22.1.8, but "));
    }

    #[test]
    fn the_first_complete_candidate_wins() {
        let (empty, complete) = (tempfile::tempdir().unwrap(), stand_in());
        let (none, some) = (empty.path().join("rustc"), complete.path().join("bin/rustc"));
        let found =
            Toolchain::find_among(complete.path(), &[("first", &none), ("second", &some)], None)
                .unwrap();
        assert_eq!(found.rustc, some);
    }

    #[test]
    fn the_versions_that_are_wanted_win() {
        let (newer, older) = (stand_in(), stand_in_of(&VERSION.replace("1.96.0", "1.95.0")));
        let rustc = older.path().join("bin/rustc");
        let versions = examine(&older).unwrap().versions;
        assert_ne!(versions, examine(&newer).unwrap().versions);
        let first = newer.path().join("bin/rustc");
        let find = |versions: &ToolchainVersions| {
            let candidates: [(&str, &Path); 2] = [("first", &first), ("second", &rustc)];
            Toolchain::find_among(older.path(), &candidates, Some(versions)).unwrap().rustc
        };
        assert_eq!(find(&versions), rustc);
        // No compiler has the versions that are asked for here, so the first one is taken.
        assert_eq!(find(&ToolchainVersions { llvm: "1.0".into(), ..versions }), first);
    }

    #[test]
    fn the_message_has_each_candidate_and_the_commands() {
        let error = Toolchain::find_among(
            Path::new("."),
            &[("the active toolchain", Path::new("/nowhere/rustc"))],
            None,
        );
        let message = error.unwrap_err().to_string();
        let lines: Vec<_> = message.lines().collect();
        assert!(
            lines[1].starts_with(
                "  the active toolchain (/nowhere/rustc): cannot run /nowhere/rustc: "
            ),
            "{message}"
        );
        assert!(lines.contains(&"  rustup component add rust-src llvm-tools llvm-bitcode-linker"));
        assert!(lines.contains(&"  rustup target add nvptx64-nvidia-cuda"));
        assert!(
            lines.contains(&"  apt-get install rustc-web cargo-web rust-web-src rust-web-llvm")
        );
    }
}
