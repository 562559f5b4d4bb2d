//! `cargo xtask bench-peers`: times the reducer beside CUB, Thrust, PyTorch, CuPy and the same
//! reducer in CUDA C++.
//!
//! This command builds the benchmark. The script bench/peers/compare.sh does the rest, because it
//! also runs on a GPU machine without Rust.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context, ensure};

use crate::{bundle, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder for reducer.txt and reducer.json
    #[arg(long, value_name = "DIR", default_value = "target/bench-peers")]
    out: PathBuf,

    /// The cases to measure: quick, full, or parts of the names of cases, such as sum_f32,argmin
    #[arg(long, default_value = "full")]
    cases: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = root();
    let programs = bundle::build(&root, "build", &["--bin", "reducer"], &["bench"])?;
    let program = programs.get("reducer").context("cargo built no program called reducer")?;
    let folder = program.executable().parent().context("a program without a folder")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([folder.to_owned()].into_iter().chain(env::split_paths(&path)))?;
    let mut compare = Command::new("bash");
    compare
        .arg(root.join("bench/peers/compare.sh"))
        .arg(root.join(&args.out))
        .arg(&args.cases)
        .env("PATH", path);
    ensure!(compare.status().context("cannot run bash")?.success(), "the comparison failed");
    Ok(())
}
