//! Tests of the README and the guide: their commands run and print the shown text, their links lead
//! to existing places, their pictures are those that the programs draw, and their times are those
//! of `bench/results`.
//!
//! `SNAPSHOTS=overwrite cargo test --test docs` writes the pictures and the times anew.

mod commands;
#[path = "../support/console.rs"]
mod console;
mod flags;
mod glossary;
mod groups;
mod links;
mod numbers;
mod pictures;
mod slides;
mod sources;
mod targets;
mod times;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use console::Page;

/// The root folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The pages whose commands are run.
fn pages() -> Vec<Page> {
    Page::read(&root(), &["README.md", "host/README.md", "guide/src"])
}

/// Compares a committed file with the wanted text, and writes the file if `SNAPSHOTS=overwrite` is
/// set.
fn assert_file(path: &Path, wanted: &str) -> Result<(), String> {
    let committed = fs::read_to_string(path).unwrap_or_default();
    if committed == wanted {
        return Ok(());
    }
    if env::var_os("SNAPSHOTS").is_some_and(|action| action == "overwrite") {
        return fs::write(path, wanted).map_err(|error| format!("{}: {error}", path.display()));
    }
    let line =
        committed.lines().zip(wanted.lines()).take_while(|(is, should)| is == should).count();
    Err(format!(
        "{}:{} is stale (SNAPSHOTS=overwrite writes it anew)\nit is        {}\nit should be {}",
        path.display(),
        line + 1,
        committed.lines().nth(line).unwrap_or("the end"),
        wanted.lines().nth(line).unwrap_or("the end"),
    ))
}
