//! The command under test.

// Not every test binary gives the command an input.
#![allow(dead_code)]

use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A run of `warpfold`. On a machine without cargo, the command is in the folder that
/// `WARPFOLD_BIN_DIR` names.
pub(crate) fn warpfold() -> Command {
    Command::new(match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => Path::new(&folder).join("warpfold"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_warpfold")),
    })
}

/// Runs `warpfold` in a folder, with these bytes in its standard input.
pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(
    folder: &Path,
    args: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Output {
    let mut child = warpfold()
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    // A command that refuses its arguments reads nothing.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("the command ends")
}
