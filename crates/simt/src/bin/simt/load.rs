//! Loading: from the name of a file to its kernels.

use std::fs;
use std::path::Path;
use std::str;

use anyhow::{Context, anyhow};
use simt::{Kernel, Module};

use crate::{Failure, refused};

/// An error names at most this many kernels.
const NAMED: usize = 6;

/// Reads, parses and validates a PTX file.
pub(crate) fn module(file: &Path) -> Result<Module, Failure> {
    let name = file.display().to_string();
    let bytes = fs::read(file).with_context(|| format!("cannot read {name}")).map_err(refused)?;
    let text = str::from_utf8(&bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = before.matches('\n').count() + 1;
        let column = before
            .lines()
            .last()
            .filter(|_| !before.ends_with('\n'))
            .map_or(0, |line| line.chars().count())
            + 1;
        refused(anyhow!("{name}:{line}:{column}: PTX is UTF-8 text, and this is not"))
    })?;
    Module::from_ptx(&name, text).map_err(refused)
}

/// The kernel of this name. If no name is given, it is the only kernel of the file.
pub(crate) fn kernel<'a>(module: &'a Module, entry: Option<&str>) -> Result<&'a Kernel, Failure> {
    let file = module.name();
    let names: Vec<&str> = module.kernels().iter().map(Kernel::name).collect();
    let has = match &*names {
        [] => return Err(refused(anyhow!("{file} has no kernel"))),
        [only] => format!("kernel `{only}` only"),
        all if all.len() <= NAMED => format!("kernels {}", all.join(", ")),
        all => format!("{} kernels, which `simt list` shows", all.len()),
    };
    match (entry, module.kernels()) {
        (Some(entry), _) => module
            .kernel(entry)
            .ok_or_else(|| anyhow!("{file} has no kernel `{entry}`: it has {has}")),
        (None, [only]) => Ok(only),
        (None, _) => Err(anyhow!("{file} has {has}: name one with --entry")),
    }
    .map_err(refused)
}
