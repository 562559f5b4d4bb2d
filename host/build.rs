//! Embeds the committed PTX and the kernels' sources, which the line tables of the PTX name: writes a table of the manifest
//! and the files, which `src/ptx.rs` includes. Both are in the package `warpfold-kernels`.

use std::{
    env,
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    // The build script of `warpfold-kernels` says where that package is.
    let kernels = PathBuf::from(env::var("DEP_WARPFOLD_KERNELS_FOLDER")?);
    let folder = kernels.join("ptx");
    println!("cargo::rerun-if-changed={}", folder.display());

    // A checkout without PTX still builds: the binary says what is missing when it needs a kernel.
    let manifest = folder.join("manifest.json");
    let mut source = String::from("const EMBEDDED_MANIFEST: Option<&str> = ");
    if manifest.is_file() {
        writeln!(source, "Some(include_str!({:?}));", manifest.display().to_string())?;
    } else {
        writeln!(source, "None;")?;
    }

    let mut files = Vec::new();
    collect(&folder, "ptx", &mut files)?;
    write_table(&mut source, "EMBEDDED_FILES", &folder, "", &files)?;

    let sources = kernels.join("src");
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut files = Vec::new();
    collect(&sources, "rs", &mut files)?;
    write_table(&mut source, "EMBEDDED_SOURCES", &sources, "kernels/src/", &files)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded_ptx.rs"), source)?;
    Ok(())
}

/// Adds the files with this ending that are in the folder or below it; none if there is no folder.
fn collect(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, ending, files)?;
        } else if path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
    Ok(())
}

/// Writes a constant of pairs: the name of each file, which is its path in the folder after the prefix, and its text.
fn write_table(
    source: &mut String,
    name: &str,
    folder: &Path,
    prefix: &str,
    files: &[PathBuf],
) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for path in files {
        let parts: Vec<_> =
            path.strip_prefix(folder)?.iter().map(|part| part.to_string_lossy()).collect();
        let name = format!("{prefix}{}", parts.join("/"));
        rows.push(format!("    ({name:?}, include_str!({:?})),", path.display().to_string()));
    }
    rows.sort();
    writeln!(source, "const {name}: &[(&str, &str)] = &[\n{}\n];", rows.join("\n"))?;
    Ok(())
}
