//! Builds the stand-in driver with the system's C compiler.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::Command,
};

/// The answers of the stand-in driver.
#[derive(Clone, Copy)]
pub(crate) struct Answers {
    pub(crate) version: u32,
    pub(crate) init: u32,
    pub(crate) devices: u32,
}

/// Builds a stand-in library in `folder` that gives these answers, and that also has `functions`,
/// which is C code. Returns its path. If there is no C compiler, says so on stderr and returns
/// `None`.
pub(crate) fn build(folder: &Path, answers: Answers, functions: &str) -> Option<String> {
    let Answers { version, init, devices } = answers;
    let source = folder.join("fake_cuda.c");
    let library = folder.join(format!("fake_{version}_{init}_{devices}.so"));
    fs::write(&source, include_str!("fake_cuda.c").replace("FUNCTIONS", functions)).unwrap();
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-Wall", "-Werror"]);
    command.args([
        format!("-DVERSION={version}"),
        format!("-DINIT={init}"),
        format!("-DDEVICES={devices}"),
    ]);
    match command.arg("-o").arg(&library).arg(&source).output() {
        Ok(output) => {
            assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
            Some(library.into_os_string().into_string().unwrap())
        }
        Err(error) => {
            say_skipped("all with a stand-in driver", &error);
            None
        }
    }
}

/// Says on one line that tests did not run, because the C compiler cannot be started.
pub(crate) fn say_skipped(what: &str, error: &io::Error) {
    // This bypasses the test harness, which hides the output of tests that pass.
    let line = format!("skipped: cuda_driver, {what}: there is no C compiler cc: {error}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}
