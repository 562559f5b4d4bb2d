//! Embeds the committed PTX: writes a table of the manifest and the files that `src/ptx.rs` includes.

use std::{
    env,
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../kernels/ptx");
    println!("cargo::rerun-if-changed={}", folder.display());

    // A checkout without PTX still builds: the binary says what is missing when it needs a kernel.
    let manifest = folder.join("manifest.json");
    let mut source = String::from("const EMBEDDED_MANIFEST: Option<&str> = ");
    if manifest.is_file() {
        writeln!(source, "Some(include_str!({:?}));", manifest.display().to_string())?;
    } else {
        writeln!(source, "None;")?;
    }

    let mut files: Vec<PathBuf> = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    writeln!(source, "const EMBEDDED_FILES: &[(&str, &str)] = &[")?;
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(source, "    ({name:?}, include_str!({:?})),", path.display().to_string())?;
    }
    writeln!(source, "];")?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded_ptx.rs"), source)?;
    Ok(())
}
