//! `cargo xtask bundle`: packs everything that a GPU machine without Rust needs to run the tests
//! and the benchmarks.
//!
//! The bundle is a folder of three files: `run.sh` and `hardware.sh`, copies of bench/run-on-gpu.sh
//! and bench/hardware-on-gpu.sh, and `packed.tar.xz`, which contains
//!
//! ```text
//! tests/       the test binaries
//! tests.tsv    their names, each with the folder that cargo would run it in
//! bin/         the workspace's programs
//! tree/        the files of the repository, which tests and benchmarks read
//! built-in     the folder that the binaries were built in
//! commit       the commit that was built
//! ```
//!
//! The bundle has no documentation tests, because only rustdoc can build them.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde_json::Value as Json;

use crate::root;

/// The packages whose tests run kernels, or test the code that runs kernels. The tests of the other
/// packages need Rust on the machine.
const TESTED: [&str; 8] = [
    "bench",
    "warpfold",
    "warpfold-cli",
    "warpfold-cuda-driver",
    "warpfold-cust",
    "warpfold-lab",
    "warpfold-simt",
    "warpfold-tests",
];

/// The packages whose programs are in the bundle.
const PROGRAMS: [&str; 4] = ["bench", "warpfold-cli", "warpfold-lab", "warpfold-simt"];

/// The most bytes that the bundle may have. A larger bundle is refused, because bundles are copied
/// between machines.
const MOST_BYTES: u64 = 60 << 20;

/// The scripts that run on the GPU machine, each with its name in the bundle.
const SCRIPTS: [(&str, &str); 2] =
    [("bench/run-on-gpu.sh", "run.sh"), ("bench/hardware-on-gpu.sh", "hardware.sh")];

/// The name of the archive, which holds everything except the scripts.
const ARCHIVE: &str = "packed.tar.xz";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write: a new or empty one, or an earlier bundle, which is replaced
    #[arg(long, value_name = "DIR", default_value = "bundle")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = root();
    let out = root.join(&args.out);
    // This is checked before the long build, and again after it.
    check_replaceable(&out)?;
    let tests = build(&root, "test", &["--no-run", "--lib", "--bins", "--tests"], &TESTED)?;
    let programs = build(&root, "build", &["--bins"], &PROGRAMS)?;

    let packed = tempfile::tempdir()?;
    let packed = packed.path();
    let mut table = String::new();
    for (name, test) in tests.iter().filter(|(_, artifact)| artifact.is_test) {
        copy(&test.executable, &packed.join("tests").join(name))?;
        let folder =
            test.package.strip_prefix(&root).context("a package outside of the workspace")?;
        writeln!(table, "{name}\t{}", folder.display())?;
    }
    fs::write(packed.join("tests.tsv"), table)?;
    for (name, program) in &programs {
        copy(&program.executable, &packed.join("bin").join(name))?;
    }
    for file in git(&root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?
        .split_terminator('\0')
    {
        // git still lists a file that was deleted if the deletion is not yet committed.
        if root.join(file).is_file() {
            copy(&root.join(file), &packed.join("tree").join(file))?;
        }
    }
    fs::write(packed.join("built-in"), root.display().to_string())?;
    fs::write(
        packed.join("commit"),
        git(&root, &["describe", "--always", "--dirty", "--abbrev=12"])?,
    )?;

    clear(&out)?;
    let archive = out.join(ARCHIVE);
    for (script, name) in SCRIPTS {
        copy(&root.join(script), &out.join(name))?;
    }
    let mut tar = Command::new("tar");
    // Most of the binaries contain the kernels. A dictionary that spans several binaries makes the
    // archive a quarter of its size, but it needs a single thread.
    tar.env("XZ_OPT", "-T1 --lzma2=preset=3,dict=512MiB")
        .arg("-cJf")
        .arg(&archive)
        .arg("-C")
        .arg(packed)
        .arg(".");
    let status = tar.status();
    ensure!(status.context("cannot run tar")?.success(), "tar failed");

    let bytes = fs::metadata(&archive)?.len();
    ensure!(bytes <= MOST_BYTES, "the bundle has {bytes} bytes, and {MOST_BYTES} are allowed");
    println!(
        "{}: {} test binaries, {} programs, {:.1} MiB; run {} on the GPU machine",
        args.out.display(),
        tests.values().filter(|artifact| artifact.is_test).count(),
        programs.len(),
        bytes as f64 / f64::from(1 << 20),
        args.out.join("run.sh").display()
    );
    Ok(())
}

/// Fails if the folder holds anything other than a bundle.
fn check_replaceable(out: &Path) -> anyhow::Result<()> {
    if !out.exists() {
        return Ok(());
    }
    let is_bundle = out.join(ARCHIVE).is_file();
    let is_empty = fs::read_dir(out)
        .with_context(|| format!("cannot read {}", out.display()))?
        .next()
        .is_none();
    ensure!(
        is_bundle || is_empty,
        "{} exists and is not a bundle: it is left alone",
        out.display()
    );
    Ok(())
}

/// Deletes the folder if it is a bundle, and fails if it holds anything else.
fn clear(out: &Path) -> anyhow::Result<()> {
    check_replaceable(out)?;
    if !out.exists() {
        return Ok(());
    }
    fs::remove_dir_all(out).with_context(|| format!("cannot delete {}", out.display()))
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Artifact {
    executable: PathBuf,
    /// The folder of its package.
    package: PathBuf,
    is_test: bool,
}

impl Artifact {
    /// The path of the executable file.
    pub(crate) fn executable(&self) -> &Path {
        &self.executable
    }
}

/// Runs `cargo test` or `cargo build` in the release profile, with symbols stripped. Returns the
/// executables that cargo made, by a name that is unique among them.
pub(crate) fn build(
    root: &Path,
    command: &str,
    flags: &[&str],
    packages: &[&str],
) -> anyhow::Result<BTreeMap<String, Artifact>> {
    // The cargo that runs this program is used, so that the toolchain is the same.
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).arg(command).args(flags);
    cargo.args([
        "--release",
        "--config",
        "profile.release.strip=true",
        "--message-format=json-render-diagnostics",
    ]);
    cargo.args(packages.iter().flat_map(|package| ["--package", package]));
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot run cargo")?;
    let stdout = child.stdout.take().expect("it was asked for");
    let mut artifacts = BTreeMap::new();
    for line in BufReader::new(stdout).lines() {
        if let Some((name, artifact)) = artifact(&line?)? {
            artifacts.insert(name, artifact);
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("cargo {command} failed");
    }
    Ok(artifacts)
}

/// The executable that a line of cargo's messages announces, or `None` if it announces none.
fn artifact(line: &str) -> anyhow::Result<Option<(String, Artifact)>> {
    let message: Json =
        serde_json::from_str(line).with_context(|| format!("not a message of cargo: {line}"))?;
    let Some(executable) = message["executable"].as_str() else {
        return Ok(None);
    };
    let text = |json: &Json| {
        json.as_str().map(ToOwned::to_owned).context("a message of cargo that lacks a name")
    };
    let target = &message["target"];
    let manifest = PathBuf::from(text(&message["manifest_path"])?);
    let package = manifest.parent().context("a manifest without a folder")?.to_owned();
    let is_test = message["profile"]["test"] == true;
    let name = text(&target["name"])?;
    let name = if is_test {
        // A library, a program and an integration test may have the same name.
        let folder = package.file_name().unwrap_or_default().to_string_lossy();
        let kind = target["kind"][0].as_str().unwrap_or("test");
        format!("{folder}-{kind}-{name}")
    } else {
        name
    };
    Ok(Some((name, Artifact { executable: executable.into(), package, is_test })))
}

/// Copies a file, and creates the folder of the copy.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn git(root: &Path, args: &[&str]) -> anyhow::Result<String> {
    let output =
        Command::new("git").current_dir(root).args(args).output().context("cannot run git")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/host/Cargo.toml","target":{{"kind":["{kind}"],
            "name":"reduce"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
        )
    }

    #[test]
    fn executables_are_told_from_other_artifacts() {
        let (name, program) =
            artifact(&message("bin", false, r#""/w/target/release/reduce""#)).unwrap().unwrap();
        assert_eq!(name, "reduce");
        let executable = PathBuf::from("/w/target/release/reduce");
        assert_eq!(program, Artifact { executable, package: "/w/host".into(), is_test: false });

        let (name, test) = artifact(&message("bin", true, r#""/w/target/release/deps/reduce-1""#))
            .unwrap()
            .unwrap();
        assert_eq!(name, "host-bin-reduce");
        assert!(test.is_test);

        assert_eq!(artifact(&message("lib", false, "null")).unwrap(), None);
        assert_eq!(artifact(r#"{"reason":"build-finished","success":true}"#).unwrap(), None);
        assert!(artifact("warning: not JSON").is_err());
    }

    #[test]
    fn only_a_bundle_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "").unwrap();
        assert!(clear(folder.path()).unwrap_err().to_string().ends_with("is left alone"));
        assert!(precious.exists());
        fs::write(folder.path().join(ARCHIVE), "").unwrap();
        clear(folder.path()).unwrap();
        assert!(!folder.path().exists());
    }
}
