//! The recipe of `kernels/ptx`: from which sources the PTX is built, and how. Both decide its
//! bytes, so this file and `kernel_name.rs` count among the sources.

use std::path::Path;

use anyhow::Context;
use cuda_builder::{CudaBuilder, NvvmArch, sources};

use crate::kernel_name;

/// The folders and files whose text decides the bytes of the PTX.
const SOURCES: [&str; 6] = [
    "crates/cuda_builder",
    "crates/cuda_std",
    "crates/cuda_std_macros",
    "kernels",
    "xtask/src/kernel_name.rs",
    "xtask/src/recipe.rs",
];

/// A crate that kernels may be built from. Its folder counts if it exists.
const DEVICE_CRATE: &str = "crates/warpfold_device";

/// The hash of the sources as they are under `root`, which the manifest names.
pub(crate) fn sources_hash(root: &Path) -> anyhow::Result<String> {
    let device_crate = root.join(DEVICE_CRATE).is_dir().then_some(DEVICE_CRATE);
    let sources: Vec<&str> = SOURCES.into_iter().chain(device_crate).collect();
    sources::hash(root, &sources).context("cannot read the kernel sources")
}

/// The builder of the kernels for `arch`, and for the later architectures that some kernels name.
pub(crate) fn builder(root: &Path, arch: NvvmArch) -> CudaBuilder {
    CudaBuilder::new(root.join("kernels"))
        .arch(arch)
        .target_dir(root.join("target/ptx").join(arch.sm()))
        .generate_line_info(true)
        .kernel_traits(kernel_name::traits)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// One file of each kind that decides the bytes of the PTX.
    const SHAPING: [&str; 12] = [
        "crates/cuda_builder/src/builder.rs",
        "crates/cuda_builder/src/intrinsics.ll",
        "crates/cuda_builder/src/line_info/mod.rs",
        "crates/cuda_builder/Cargo.toml",
        "crates/cuda_std/src/ext/atomic.rs",
        "crates/cuda_std/Cargo.toml",
        "crates/cuda_std_macros/src/kernel.rs",
        "crates/warpfold_device/src/lib.rs",
        "kernels/src/lib.rs",
        "kernels/Cargo.toml",
        "xtask/src/kernel_name.rs",
        "xtask/src/recipe.rs",
    ];

    /// Files that do not.
    const OTHERS: [&str; 4] = [
        "crates/cuda_builder/README.md",
        "crates/cuda_builder/tests/fixtures.rs",
        "kernels/ptx/a.ptx",
        "xtask/src/main.rs",
    ];

    fn write(root: &Path, file: &str, text: &str) {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn each_thing_that_shapes_ptx_changes_the_hash() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        SHAPING.iter().chain(&OTHERS).for_each(|file| write(root, file, "as it was"));
        let before = sources_hash(root).unwrap();
        for file in SHAPING {
            write(root, file, "changed");
            assert_ne!(sources_hash(root).unwrap(), before, "{file}");
            write(root, file, "as it was");
            assert_eq!(sources_hash(root).unwrap(), before, "{file}");
        }
        for file in OTHERS {
            write(root, file, "changed");
            assert_eq!(sources_hash(root).unwrap(), before, "{file}");
        }
    }

    #[test]
    fn the_shaping_files_are_where_the_test_says() {
        for file in SHAPING {
            let there = crate::root().join(file).is_file();
            assert!(there || file.starts_with(DEVICE_CRATE), "{file} is not there any more");
        }
    }
}
