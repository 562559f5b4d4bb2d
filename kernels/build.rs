//! Tells the build scripts of dependents where this package is, in `DEP_WARPFOLD_KERNELS_FOLDER`,
//! because the lab embeds `ptx` and `src`. No kernel depends on this script.

use std::env;
use std::path::PathBuf;

fn main() -> Result<(), env::VarError> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    // The path is absolute, so that cargo runs the script again after the package was moved.
    println!("cargo::rerun-if-changed={}", folder.join("build.rs").display());
    println!("cargo::metadata=folder={}", folder.display());
    Ok(())
}
