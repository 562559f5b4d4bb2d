//! Embeds the committed PTX and the kernels' sources, because the PTX's line tables name those
//! sources: writes the Rust constants that `src/ptx.rs` includes, namely the manifest and two
//! tables of files. PTX and sources are in the package `warpfold-kernels`.

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

    // A checkout without PTX still builds: when the binary needs a kernel, it says that the PTX is
    // missing.
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

/// Adds the files that have this ending and are in the folder or below it. If there is no such
/// folder, adds none.
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

/// Writes a constant that is a list of pairs: the name of a file and its text. The name is the
/// prefix, followed by the file's path within the folder.
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
