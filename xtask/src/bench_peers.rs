//! `cargo xtask bench-peers`: times reductions beside CUB, Thrust, PyTorch, CuPy and kernels in
//! CUDA C++: of whole arrays, of rows and along axes, alone and between a producer and a consumer,
//! and of segments, by key and into bins. The last table says which targets are met.
//!
//! This command builds the benchmarks. The scripts in bench/peers do the rest, because they also
//! run on a GPU machine without Rust.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context, ensure};

use crate::{bundle, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder for the tables and for all numbers: NAME.txt and NAME.json of each table
    #[arg(long, value_name = "DIR", default_value = "target/bench-peers")]
    out: PathBuf,

    /// The tables to make
    #[arg(
        long,
        value_delimiter = ',',
        default_values = ["reducer", "rows", "rows-place", "segments", "targets"]
    )]
    tables: Vec<Comparison>,

    /// The cases to measure: quick, full, or parts of the names of cases, such as sum_f32,argmin
    #[arg(long, default_value = "full")]
    cases: String,
}

/// A benchmark and its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Comparison {
    /// Whole arrays
    Reducer,
    /// Rows, columns and other axes
    Rows,
    /// Rows, columns and segments between a producer and a consumer
    RowsPlace,
    /// Segments with offsets, runs of keys, and bins
    Segments,
    /// The targets, from the numbers of the other tables that are in the folder
    Targets,
}

impl Comparison {
    /// The name of the benchmark, and the script that runs it beside its peers.
    fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Reducer => ("reducer", Some("compare.sh")),
            Self::Rows => ("rows", Some("compare-rows.sh")),
            Self::RowsPlace => ("rows", Some("compare-rows-place.sh")),
            Self::Segments => ("segments", Some("compare-segments.sh")),
            Self::Targets => ("targets", None),
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = root();
    let names: Vec<_> = args.tables.iter().map(|table| table.names()).collect();
    let options: Vec<_> = names.iter().flat_map(|&(name, _)| ["--bin", name]).collect();
    let programs = bundle::build(&root, "build", &options, &["bench"])?;
    let (_, program) = programs.first_key_value().context("cargo built no program")?;
    let folder = program.executable().parent().context("a program without a folder")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([folder.to_owned()].into_iter().chain(env::split_paths(&path)))?;
    let out = root.join(&args.out);
    for (name, script) in names {
        let mut compare = if let Some(script) = script {
            let mut bash = Command::new("bash");
            bash.arg(root.join("bench/peers").join(script)).arg(&out).arg(&args.cases);
            bash
        } else {
            let mut program = Command::new(folder.join(name));
            program.arg(&out);
            program
        };
        let status = compare.env("PATH", &path).status();
        let status = status.with_context(|| format!("cannot run the comparison of {name}"))?;
        ensure!(status.success(), "the comparison of {name} failed");
    }
    Ok(())
}
