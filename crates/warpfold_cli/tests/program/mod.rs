//! The command under test.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// A run of `warpfold`. On a machine without cargo, the command is in the folder that
/// `WARPFOLD_BIN_DIR` names.
pub(crate) fn warpfold() -> Command {
    Command::new(match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => Path::new(&folder).join("warpfold"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_warpfold")),
    })
}
