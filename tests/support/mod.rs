//! Helpers that the tests of this folder share.

// Each test binary uses only a part of this file.
#![allow(dead_code)]

use std::{
    env,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use warpfold_lab::{
    cli,
    device::{Device, DeviceChoice, DeviceError},
    ptx::{self, DIR_VARIABLE, PtxLibrary},
};

#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub(crate) use on::{DEVICE_VARIABLE, Launch, devices, skip};

#[path = "../../crates/warpfold/tests/support/mod.rs"]
mod on;

/// Opens a device with the driver library that the environment names.
pub(crate) fn open(choice: DeviceChoice) -> Result<Device, DeviceError> {
    cli::choose_driver();
    choice.open()
}

/// The value of `--device` for tests that need a single device of any kind.
pub(crate) fn device_flag() -> String {
    match env::var(DEVICE_VARIABLE).as_deref() {
        Ok("cuda" | "both") => "cuda".into(),
        _ => "sim".into(),
    }
}

/// The kernels under test: the embedded ones, or those of `WARPFOLD_PTX_DIR`.
pub(crate) fn library() -> PtxLibrary {
    PtxLibrary::open(None).unwrap_or_else(|error| panic!("{error}"))
}

/// The binary of a tool. On a machine without cargo, it is in the folder that `WARPFOLD_BIN_DIR`
/// names.
fn binary(tool: &str) -> PathBuf {
    match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => Path::new(&folder).join(tool),
        // Cargo puts all binaries into one folder.
        None => Path::new(env!("CARGO_BIN_EXE_reduce")).with_file_name(tool),
    }
}

/// A run of a tool. If a test fails, all of it is printed.
pub(crate) struct Run {
    pub(crate) command: String,
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, status, stdout, stderr } = self;
        write!(f, "$ {command}\nstatus: {status:?}\n--- stdout\n{stdout}--- stderr\n{stderr}---")
    }
}

/// A fresh, empty folder to run `reduce` in.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Writes a file into the sandbox.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// The path of a file in the sandbox.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Reads a file that the command wrote into the sandbox.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The command `reduce`, to run in the sandbox.
    pub(crate) fn command(&self) -> Command {
        self.command_of("reduce")
    }

    /// A command of any tool, to run in the sandbox.
    pub(crate) fn command_of(&self, tool: &str) -> Command {
        let mut command = Command::new(binary(tool));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        // The user's own tuning results on this machine must not matter here.
        command.env("XDG_CACHE_HOME", self.path("cache")).env_remove("WARPFOLD_NO_TUNE");
        // The width of the developer's terminal is not that of the tests.
        command.env_remove("COLUMNS");
        // The path of a folder of PTX under test may be relative to the current folder of the
        // tests.
        if let Some(folder) = ptx::folder(None) {
            command.env(DIR_VARIABLE, std::path::absolute(folder).unwrap());
        }
        command
    }

    /// Runs `reduce` with these arguments.
    pub(crate) fn reduce<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.tool("reduce", args)
    }

    /// Runs any tool with these arguments.
    pub(crate) fn tool<S: AsRef<OsStr>>(
        &self,
        tool: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Run {
        let mut command = self.command_of(tool);
        command.args(args);
        let shown: Vec<_> =
            command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let output = command.output().unwrap();
        Run {
            command: format!("{tool} {}", shown.join(" ")),
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs `reduce` with a line of arguments, which are separated by spaces and contain none.
    pub(crate) fn reduce_line(&self, line: &str) -> Run {
        self.reduce(line.split_whitespace())
    }

    /// Runs `transpose` with a line of arguments, which are separated by spaces and contain none.
    pub(crate) fn transpose_line(&self, line: &str) -> Run {
        self.tool("transpose", line.split_whitespace())
    }
}
