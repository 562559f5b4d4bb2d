//! Kernels that tests use in place of the embedded ones.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Lets every device of this process load the production kernels from the files of a folder, such
/// as `reduce_sum_f32.sm_90.ptx`, instead of the embedded ones. Kernels that are already loaded
/// stay in use.
///
/// Returns `false`, and changes nothing, if another folder was set before.
///
/// # Safety
///
/// Each file holds a kernel that does the same as the embedded kernel of the same name, because the
/// safe functions of this crate pass addresses to it and trust it.
pub unsafe fn use_kernels_of(folder: &Path) -> bool {
    FOLDER.get_or_init(|| folder.to_owned()) == folder
}

/// The folder that [`use_kernels_of`] has set, if any.
pub(super) fn folder() -> Option<&'static Path> {
    FOLDER.get().map(PathBuf::as_path)
}

/// Reads the PTX of a kernel from a folder of files such as `reduce_sum_f32.sm_90.ptx`. If there
/// are several files of that kernel, it takes the highest architecture that `capability` can run.
pub(super) fn text(folder: &Path, name: &str, capability: (u32, u32)) -> Option<String> {
    let prefix = format!("{name}.sm_");
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let runs = files.filter_map(|path| {
        let arch: u32 = path
            .file_name()?
            .to_str()?
            .strip_prefix(&prefix)?
            .strip_suffix(".ptx")?
            .parse()
            .ok()?;
        ((arch / 10, arch % 10) <= capability).then_some((arch, path))
    });
    let (_, path) = runs.max_by_key(|(arch, _)| *arch)?;
    fs::read_to_string(path).ok()
}
