//! The chores of the workspace: `cargo xtask <command>`.

mod bench_peers;
mod build_ptx;
mod bundle;
mod check_ptx;
#[cfg(test)]
#[path = "../../tests/support/console.rs"]
mod console;
mod kernel_name;
mod pin_compiler;
mod ptx_folder;
mod recipe;
mod sass_table;
mod unpack_ptx;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Build and check the files of the warpfold workspace that cargo itself does not build.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare the times of reductions with those of CUB, Thrust, PyTorch, CuPy and kernels in CUDA
    /// C++, if they are installed.
    BenchPeers(bench_peers::Args),
    /// Compile the kernels to PTX.
    BuildPtx(build_ptx::Args),
    /// Write the PTX of the production kernels, which is committed in archives, as files.
    UnpackPtx(unpack_ptx::Args),
    /// Build the PTX with the installed Debian packages of the compiler, and pin their versions for
    /// CI.
    PinCompiler(pin_compiler::Args),
    /// Assemble the committed PTX with ptxas and check the result: registers, spills, memory
    /// instructions, and whether a round asks for its loads before it uses the first one.
    CheckPtx(check_ptx::Args),
    /// Count the machine instructions of the loops that `access divide` and `access math` run, and
    /// keep them as the table that these commands show.
    SassTable(sass_table::Args),
    /// Pack tests, programs and benchmarks for a GPU machine without Rust.
    Bundle(bundle::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::BenchPeers(args) => bench_peers::run(&args),
        Command::BuildPtx(args) => build_ptx::run(&args),
        Command::UnpackPtx(args) => unpack_ptx::run(&args),
        Command::PinCompiler(args) => pin_compiler::run(&args),
        Command::CheckPtx(args) => check_ptx::run(&args),
        Command::SassTable(args) => sass_table::run(&args),
        Command::Bundle(args) => bundle::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_the_documentation_parse() {
        let pages = console::Page::read(
            &root(),
            &[
                "README.md",
                "CONTRIBUTING.md",
                "ARCHITECTURE.md",
                "bench/results/README.md",
                "guide/src",
            ],
        );
        let commands: Vec<_> = pages.iter().flat_map(console::commands).collect();
        let mut count = 0;
        for command in commands
            .iter()
            .filter(|command| command.words.starts_with(&["cargo".into(), "xtask".into()]))
        {
            if let Err(error) = Cli::try_parse_from(&command.words[1..]) {
                panic!("{}: $ {}\n{error}", command.place, command.line);
            }
            count += 1;
        }
        assert!(count > 0, "the documentation has no such command");
    }
}
