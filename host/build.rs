//! Embeds the committed PTX and the kernels' sources, which its line tables name: writes a table of the manifest and the
//! files that `src/ptx.rs` includes.

use std::{
    env,
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    let folders = ["kernels/ptx", "crates/warpfold/ptx"].map(|folder| root.join(folder));

    // A checkout without PTX still builds: the binary says what is missing when it needs a kernel.
    let mut source = String::from("const EMBEDDED_MANIFESTS: &[&str] = &[\n");
    let mut files = Vec::new();
    for folder in &folders {
        println!("cargo::rerun-if-changed={}", folder.display());
        let manifest = folder.join("manifest.json");
        if manifest.is_file() {
            writeln!(source, "    include_str!({:?}),", manifest.display().to_string())?;
        }
        collect(folder, "ptx", &mut files)?;
    }
    source.push_str("];\n");
    write_table(&mut source, "EMBEDDED_FILES", &folders, "", &files)?;

    let sources = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../kernels/src");
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut files = Vec::new();
    collect(&sources, "rs", &mut files)?;
    write_table(&mut source, "EMBEDDED_SOURCES", &[sources], "kernels/src/", &files)?;
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

/// Writes a constant of pairs: the name of each file, which is its path in its folder after the prefix, and its text.
fn write_table(
    source: &mut String,
    name: &str,
    folders: &[PathBuf],
    prefix: &str,
    files: &[PathBuf],
) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for path in files {
        let inside = folders.iter().find_map(|folder| path.strip_prefix(folder).ok()).ok_or("a file outside")?;
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        let name = format!("{prefix}{}", parts.join("/"));
        rows.push(format!("    ({name:?}, include_str!({:?})),", path.display().to_string()));
    }
    rows.sort();
    writeln!(source, "const {name}: &[(&str, &str)] = &[\n{}\n];", rows.join("\n"))?;
    Ok(())
}
