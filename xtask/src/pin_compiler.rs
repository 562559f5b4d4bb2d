//! `cargo xtask pin-compiler`: moves the pin of the kernels' compiler to the installed versions.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use cuda_builder::Toolchain;

use crate::{build_ptx, root};

/// The file that holds the pin: the versions of Debian's packages, which `.ci/run` installs.
const FILE: &str = ".ci/device-compiler";

/// Debian's packages of the compiler.
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm"];

/// Debian's compiler.
const RUSTC: &str = "/usr/bin/rustc";

/// The comment at the head of the file.
const HEAD: &str = "\
# The versions of Debian's packages of the compiler for the kernels with which the PTX was built.
# `.ci/run` installs these versions, because no other compiler makes the same bytes. To move the
# pin, install newer ones and run `cargo xtask pin-compiler`, which builds the PTX with them and
# writes this file.
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Build nothing, and fail if the installed versions are not the pinned ones
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = root();
    let installed = installed()?;
    if args.check {
        let pinned =
            fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        return compare(&pinned, &installed);
    }
    let toolchain = Toolchain::around(&root, Path::new(RUSTC))?;
    build_ptx::build_with(&root, &toolchain, &build_ptx::Args::whole())?;
    fs::write(root.join(FILE), render(&installed))
        .with_context(|| format!("cannot write {FILE}"))?;
    println!("pinned {}", installed.join(" "));
    Ok(())
}

/// The packages that are installed, each as `name=version`, in the order of [`PACKAGES`].
fn installed() -> anyhow::Result<Vec<String>> {
    let version = |package: &str| {
        let output = Command::new("dpkg-query")
            .args(["--show", "--showformat=${Version}", package])
            .output();
        let output = output
            .context("cannot run dpkg-query, which tells the versions of Debian's packages")?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() || version.is_empty() {
            bail!(
                "Debian's package {package} is not installed: apt-get install {}",
                PACKAGES.join(" ")
            );
        }
        Ok(format!("{package}={version}"))
    };
    PACKAGES.into_iter().map(version).collect()
}

/// The text of the file that pins these packages.
fn render(packages: &[String]) -> String {
    format!("{HEAD}{}\n", packages.join("\n"))
}

/// The packages that the file pins.
fn pinned(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Fails if `installed` differs from the packages that the file's text pins.
fn compare(text: &str, installed: &[String]) -> anyhow::Result<()> {
    let pinned = pinned(text);
    if pinned != installed {
        bail!(
            "{FILE} pins {}, and installed are {}: install the pinned versions, or move the pin with \
             `cargo xtask pin-compiler`",
            pinned.join(" "),
            installed.join(" ")
        );
    }
    println!("installed are the pinned versions: {}", pinned.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use cuda_builder::manifest::Manifest;

    use super::*;

    fn versions(version: &str) -> Vec<String> {
        PACKAGES.iter().map(|package| format!("{package}={version}")).collect()
    }

    #[test]
    fn what_is_written_is_what_is_pinned() {
        let packages = versions("1.2.3+dfsg1-1~deb12u2");
        let text = render(&packages);
        assert_eq!(pinned(&text), packages);
        compare(&text, &packages).unwrap();
    }

    #[test]
    fn another_version_is_refused_with_both_and_the_command() {
        let error =
            compare(&render(&versions("1.2.3-1")), &versions("1.2.3-2")).unwrap_err().to_string();
        for part in [
            "pins rustc-web=1.2.3-1 ",
            "installed are rustc-web=1.2.3-2 ",
            "`cargo xtask pin-compiler`",
        ] {
            assert!(error.contains(part), "{error}");
        }
        assert!(compare("", &versions("1")).is_err(), "an empty file pins nothing");
    }

    /// For example, `rustc 1.96.0 (…)` comes from the package `rustc-web=1.96.0+dfsg1-1~deb12u2`.
    #[test]
    fn the_committed_ptx_is_of_the_pinned_compiler() {
        let text = fs::read_to_string(root().join(FILE)).unwrap();
        let packages = pinned(&text);
        let names: Vec<_> =
            packages.iter().map(|package| package.split('=').next().unwrap()).collect();
        assert_eq!(names, PACKAGES);
        let rustc = Manifest::read(&root().join("kernels/ptx")).unwrap().toolchain.rustc;
        let release = rustc.split(' ').nth(1).unwrap();
        for package in packages {
            let version = package.split('=').nth(1).unwrap();
            let upstream = version.split(['+', '-', '~']).next().unwrap();
            assert_eq!(upstream, release, "{package}, and kernels/ptx was built with {rustc}");
        }
    }
}
