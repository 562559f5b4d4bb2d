//! What README and guide say is so: their commands run and print what is shown, their links lead somewhere, their
//! pictures are what the programs draw, their times are those of `bench/results`.
//!
//! `SNAPSHOTS=overwrite cargo test --test docs` writes pictures and times anew.

mod commands;
#[path = "../support/console.rs"]
mod console;
mod links;
mod sources;
mod times;

use std::path::{Path, PathBuf};

use console::Page;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The pages whose commands are run.
fn pages() -> Vec<Page> {
    Page::read(&root(), &["README.md", "guide/src"])
}

/// Compares a committed file with what it should be, and writes it where that is wanted.
fn assert_file(path: &Path, actual: String) -> Result<(), String> {
    use snapbox::{Data, IntoData as _, data::DataFormat};
    let assert = snapbox::Assert::new().action_env("SNAPSHOTS");
    let committed = Data::read_from(path, Some(DataFormat::Text)).raw();
    assert.try_eq(Some(&"now"), actual.into_data().raw(), committed).map_err(|error| error.to_string())
}
