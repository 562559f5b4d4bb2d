//! The compiled kernels, and the sources that their line tables name. Both are either embedded in
//! this binary or in a folder of the same layout.

use std::{
    borrow::Cow,
    env, fs, io,
    path::{Component, Path, PathBuf},
};

use cuda_builder::manifest::{Manifest, ManifestError, sha256_hex};

include!(concat!(env!("OUT_DIR"), "/embedded_ptx.rs"));

/// The environment variable that names a folder of PTX to use instead of the embedded PTX.
pub const DIR_VARIABLE: &str = "WARPFOLD_PTX_DIR";

/// The folder of PTX to use: the given one, or else the one that [`DIR_VARIABLE`] names. `None`
/// stands for the embedded PTX.
pub fn folder(given: Option<&Path>) -> Option<PathBuf> {
    given
        .map(Path::to_owned)
        .or_else(|| env::var_os(DIR_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from))
}

/// The text of a kernel's source. `file` is the name that the embedded PTX's line tables have for
/// it: its path in the repository, which begins with `kernels/src/`. `None` for all other files.
///
/// ```
/// use warpfold_lab::ptx::source;
///
/// let rung = source("kernels/src/ladder/reduce3.rs").expect("it is in the repository");
/// assert!(rung.starts_with("//! Rung 3: sequential addressing."));
/// assert_eq!(source("core/src/ptr/mut_ptr.rs"), None);
/// ```
pub fn source(file: &str) -> Option<&'static str> {
    EMBEDDED_SOURCES.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

/// Why there is no PTX for a kernel.
#[derive(Debug, thiserror::Error)]
pub enum PtxError {
    /// This binary was built from a checkout without PTX.
    #[error(
        "no PTX is embedded in this binary: run `cargo xtask build-ptx` and build again, or name a folder of PTX"
    )]
    NotBuilt,
    /// The manifest cannot be used.
    #[error("{place}: {cause}")]
    Manifest {
        /// `embedded PTX`, or the path of the folder.
        place: String,
        /// What is wrong with the manifest.
        cause: ManifestError,
    },
    /// The manifest lists no such kernel.
    #[error("{place}: there is no kernel {kernel}; rebuild with `cargo xtask build-ptx`")]
    NoKernel {
        /// `embedded PTX`, or the path of the folder.
        place: String,
        /// The name of the kernel.
        kernel: String,
    },
    /// The manifest names a module for the kernel but does not list that module.
    #[error("{place}: kernel {kernel} is in module {module}, which the manifest does not list")]
    NoModule {
        /// `embedded PTX`, or the path of the folder.
        place: String,
        /// The name of the kernel.
        kernel: String,
        /// The name of its module.
        module: String,
    },
    /// All files of the module are for newer devices.
    #[error("{place}: module {module} is built for {}; the device is sm_{major}{minor}", .built.join(", "))]
    TooNew {
        /// `embedded PTX`, or the path of the folder.
        place: String,
        /// The name of the module.
        module: String,
        /// The architectures that the module is built for.
        built: Vec<String>,
        /// The major part of the device's compute capability.
        major: u32,
        /// The minor part of the device's compute capability.
        minor: u32,
    },
    /// A file that the manifest names is missing or unreadable.
    #[error("{place}: cannot read {file}: {cause}")]
    Read {
        /// `embedded PTX`, or the path of the folder.
        place: String,
        /// The name of the file.
        file: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// A file is not the one that the manifest was written for.
    #[error(
        "{place}: {file} is not the file that the manifest describes (its SHA-256 differs); rebuild both"
    )]
    Hash {
        /// `embedded PTX`, or the path of the folder.
        place: String,
        /// The name of the file.
        file: String,
    },
}

/// A set of compiled kernels.
#[derive(Clone, Debug)]
pub struct PtxLibrary {
    manifest: Manifest,
    /// The folder of the set; `None` for the embedded set.
    folder: Option<PathBuf>,
}

/// The PTX that holds a kernel.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// The name of the file.
    pub file: String,
    /// The architecture that the PTX is for, such as `sm_75`.
    pub arch: String,
    /// The PTX itself.
    pub text: Cow<'static, str>,
}

impl PtxLibrary {
    /// The kernels that are embedded in this binary.
    ///
    /// # Errors
    ///
    /// [`PtxError::NotBuilt`], [`PtxError::Manifest`].
    pub fn embedded() -> Result<Self, PtxError> {
        let text = EMBEDDED_MANIFEST.ok_or(PtxError::NotBuilt)?;
        let manifest = Manifest::from_json(text)
            .map_err(|cause| PtxError::Manifest { place: EMBEDDED.to_owned(), cause })?;
        Ok(Self { manifest, folder: None })
    }

    /// The kernels of a folder that holds `manifest.json` and the files it names.
    ///
    /// # Errors
    ///
    /// [`PtxError::Manifest`].
    pub fn from_dir(folder: &Path) -> Result<Self, PtxError> {
        let manifest = Manifest::read(folder)
            .map_err(|cause| PtxError::Manifest { place: folder.display().to_string(), cause })?;
        Ok(Self { manifest, folder: Some(folder.to_owned()) })
    }

    /// The kernels of the folder that [`folder`] chooses, or else the embedded ones.
    ///
    /// # Errors
    ///
    /// The errors of [`PtxLibrary::embedded`] and [`PtxLibrary::from_dir`].
    pub fn open(folder: Option<&Path>) -> Result<Self, PtxError> {
        match self::folder(folder) {
            Some(folder) => Self::from_dir(&folder),
            None => Self::embedded(),
        }
    }

    /// The manifest, which lists the kernels and modules of the set.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn place(&self) -> String {
        self.folder
            .as_ref()
            .map_or_else(|| EMBEDDED.to_owned(), |folder| folder.display().to_string())
    }

    /// The PTX that holds a kernel. If the kernel is built for several architectures, this is the
    /// highest one that a device of this compute capability accepts.
    ///
    /// ```
    /// use warpfold_lab::ptx::PtxLibrary;
    ///
    /// let ptx = PtxLibrary::embedded()?.find("reduce3_sum_i32", (9, 0))?;
    /// assert!(ptx.text.contains(".visible .entry reduce3_sum_i32("));
    /// # Ok::<(), warpfold_lab::ptx::PtxError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Any [`PtxError`] but [`PtxError::NotBuilt`] and [`PtxError::Manifest`].
    pub fn find(&self, kernel: &str, compute_capability: (u32, u32)) -> Result<Ptx, PtxError> {
        let place = || self.place();
        let entry = self.manifest.kernels.iter().find(|entry| entry.name == kernel);
        let module = match entry {
            Some(entry) => &entry.module,
            None => {
                return Err(PtxError::NoKernel { place: place(), kernel: kernel.to_owned() });
            }
        };
        let built: Vec<_> =
            self.manifest.modules.iter().filter(|built| built.name == *module).collect();
        if built.is_empty() {
            return Err(PtxError::NoModule {
                place: place(),
                kernel: kernel.to_owned(),
                module: module.clone(),
            });
        }
        let best = built
            .iter()
            .filter_map(|built| capability(&built.arch).map(|needed| (needed, built)))
            .filter(|(needed, _)| *needed <= compute_capability)
            .max_by_key(|(needed, _)| *needed);
        let Some((_, best)) = best else {
            let (major, minor) = compute_capability;
            let built = built.iter().map(|built| built.arch.clone()).collect();
            return Err(PtxError::TooNew {
                place: place(),
                module: module.clone(),
                built,
                major,
                minor,
            });
        };

        let text = self.text(&best.file)?;
        if sha256_hex(text.as_bytes()) != best.sha256 {
            return Err(PtxError::Hash { place: place(), file: best.file.clone() });
        }
        Ok(Ptx { file: best.file.clone(), arch: best.arch.clone(), text })
    }

    /// The source that a line table of this set calls `file`. For the embedded set this is
    /// [`source`]. For a folder it is the file at that path in the folder, if there is one.
    pub fn source(&self, file: &str) -> Option<Cow<'static, str>> {
        let Some(folder) = &self.folder else { return source(file).map(Cow::Borrowed) };
        // A line table may name any path. A path that leads out of the folder is not followed.
        let inside = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
        if inside { fs::read_to_string(folder.join(file)).ok().map(Cow::Owned) } else { None }
    }

    fn text(&self, file: &str) -> Result<Cow<'static, str>, PtxError> {
        let failed = |cause| PtxError::Read { place: self.place(), file: file.to_owned(), cause };
        match &self.folder {
            Some(folder) => fs::read_to_string(folder.join(file)).map(Cow::Owned).map_err(failed),
            None => EMBEDDED_FILES
                .iter()
                .find(|(name, _)| *name == file)
                .map(|(_, text)| Cow::Borrowed(*text))
                .ok_or_else(|| failed(io::ErrorKind::NotFound.into())),
        }
    }
}

const EMBEDDED: &str = "embedded PTX";

/// The compute capability that an architecture needs: (7, 5) for `sm_75`, (12, 0) for `sm_120`.
/// `None` for an architecture-specific target such as `sm_90a`, because its code runs on that
/// architecture alone.
fn capability(arch: &str) -> Option<(u32, u32)> {
    let number: u32 = arch.strip_prefix("sm_")?.parse().ok()?;
    Some((number / 10, number % 10))
}

#[cfg(test)]
mod tests {
    use simt::ptx::ast::{Op, Space};

    use super::*;

    fn folder(modules: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let entries: Vec<_> = modules
            .iter()
            .map(|(name, arch)| {
                let file = format!("{name}.{arch}.ptx");
                fs::write(folder.path().join(&file), arch).unwrap();
                format!(
                    r#"{{"name": "{name}", "arch": "{arch}", "file": "{file}", "sha256": "{}"}}"#,
                    sha256_hex(arch.as_bytes())
                )
            })
            .collect();
        let manifest = format!(
            r#"{{"format": 1, "toolchain": {{"rustc": "", "llvm": "", "codegen": ""}}, "sources_sha256": "",
                "modules": [{}],
                "kernels": [{{"name": "k", "module": "m", "params": [], "block_size": null, "element": null, "op": null,
                              "shared": "none", "static_shared_bytes": 0}}]}}"#,
            entries.join(",")
        );
        fs::write(folder.path().join("manifest.json"), manifest).unwrap();
        folder
    }

    fn find(modules: &[(&str, &str)], kernel: &str, device: (u32, u32)) -> Result<Ptx, String> {
        let folder = folder(modules);
        PtxLibrary::from_dir(folder.path())
            .and_then(|library| library.find(kernel, device))
            .map_err(|error| {
                error.to_string().replace(&folder.path().display().to_string(), "FOLDER")
            })
    }

    #[test]
    fn the_highest_architecture_that_runs_is_taken() {
        let modules =
            [("m", "sm_75"), ("m", "sm_120"), ("m", "sm_90"), ("m", "sm_90a"), ("other", "sm_89")];
        for (device, arch) in [
            ((7, 5), "sm_75"),
            ((8, 9), "sm_75"),
            ((9, 0), "sm_90"),
            ((10, 3), "sm_90"),
            ((12, 1), "sm_120"),
        ] {
            let ptx = find(&modules, "k", device).unwrap();
            assert_eq!((ptx.arch.as_str(), ptx.text.as_ref()), (arch, arch), "{device:?}");
        }
        assert_eq!(
            find(&[("m", "sm_90"), ("m", "sm_100")], "k", (8, 0)).unwrap_err(),
            "FOLDER: module m is built for sm_90, sm_100; the device is sm_80"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            find(&[("m", "sm_75")], "x", (9, 0)).unwrap_err(),
            "FOLDER: there is no kernel x; rebuild with `cargo xtask build-ptx`"
        );
        assert_eq!(
            find(&[("n", "sm_75")], "k", (9, 0)).unwrap_err(),
            "FOLDER: kernel k is in module m, which the manifest does not list"
        );
        assert!(matches!(
            PtxLibrary::from_dir(Path::new("/nonexistent")),
            Err(PtxError::Manifest { .. })
        ));
    }

    #[test]
    fn a_changed_or_missing_file_is_noticed() {
        let folder = folder(&[("m", "sm_75")]);
        let library = PtxLibrary::from_dir(folder.path()).unwrap();
        let file = folder.path().join("m.sm_75.ptx");
        fs::write(&file, "other").unwrap();
        assert!(matches!(library.find("k", (9, 0)), Err(PtxError::Hash { .. })));
        fs::remove_file(&file).unwrap();
        assert!(matches!(library.find("k", (9, 0)), Err(PtxError::Read { .. })));
    }

    /// The chain of line-table frames of each access, barrier and branch of each kernel leads to a
    /// line that exists in the source of the kernel's rung.
    #[test]
    fn every_access_barrier_and_branch_has_a_line_in_its_rung() {
        let manifest = PtxLibrary::embedded().unwrap().manifest;
        // No explanation goes through the kernels behind reductions.
        let is_led_through = |name: &str| !name.starts_with("finish_");
        let mut kernels = 0;
        for (file, text) in EMBEDDED_FILES {
            let module = simt::ptx::parse(file, text).unwrap();
            for kernel in module
                .functions
                .iter()
                .filter(|function| function.is_entry() && is_led_through(&function.name))
            {
                kernels += 1;
                for instruction in &kernel.body {
                    let text = module.text(instruction.span);
                    let place = format!("{}, line {}: {text}", kernel.name, instruction.span.line);
                    let frames = module
                        .frames(instruction.location.unwrap_or_else(|| panic!("{place}: no line")));
                    for frame in &frames {
                        assert!(frame.line > 0, "{place}: {frame:?}");
                        let Some(source) = source(&frame.file) else {
                            let known = ["core/src/", "crates/cuda_std/src/"]
                                .iter()
                                .any(|known| frame.file.starts_with(known));
                            assert!(known, "{place}: {frame:?}");
                            continue;
                        };
                        let line = source
                            .lines()
                            .nth(frame.line as usize - 1)
                            .unwrap_or_else(|| panic!("{place}: {frame:?}"));
                        assert!(
                            !line.trim().is_empty() && frame.column as usize <= line.len() + 1,
                            "{place}: {frame:?}: {line}"
                        );
                    }
                    let outermost = frames.last().unwrap();
                    assert!(
                        outermost.file.starts_with("kernels/src/exports/"),
                        "{place}: {outermost:?}"
                    );
                    assert!(
                        frames[..frames.len() - 1].iter().all(|frame| frame.function.is_some()),
                        "{place}: {frames:?}"
                    );
                    if accesses_branches_or_waits(&instruction.op) {
                        let rung = frames.iter().any(|frame| {
                            frame.file.starts_with("kernels/src/")
                                && !frame.file.starts_with("kernels/src/exports/")
                        });
                        assert!(rung, "{place}: {frames:?}");
                    }
                }
            }
        }
        assert_eq!(
            kernels,
            manifest.kernels.iter().filter(|kernel| is_led_through(&kernel.name)).count()
        );
    }

    fn accesses_branches_or_waits(op: &Op) -> bool {
        match op {
            Op::Ld { space, .. } => *space != Space::Param,
            Op::St { .. }
            | Op::Atom { .. }
            | Op::Bra { .. }
            | Op::Barrier { .. }
            | Op::BarrierRed { .. }
            | Op::WarpSync { .. } => true,
            _ => false,
        }
    }

    /// The line that an instruction leads to must be the right one. This checks a few lines that
    /// the lectures show.
    #[test]
    fn instructions_lead_to_the_lines_that_they_are_made_of() {
        for (kernel, opcode, function, line) in [
            ("reduce1_sum_i32", "rem.u32", "reduce1", "% (2 * s)"),
            ("reduce3_sum_i32", "bar.sync", "reduce3", "thread::sync_threads();"),
            ("reduce3_sum_i32", "st.global", "reduce3", "*output.add("),
            ("reduce6_max_i32_b256", "bar.warp.sync", "step", "warp::sync_warp(u32::MAX);"),
        ] {
            let library = PtxLibrary::embedded().unwrap();
            let ptx = library.find(kernel, (9, 0)).unwrap();
            let module = simt::ptx::parse(&ptx.file, &ptx.text).unwrap();
            let (_, body) = module.function(kernel).unwrap();
            let found: Vec<_> = body
                .body
                .iter()
                .filter(|found| module.text(found.span).starts_with(opcode))
                .collect();
            assert!(!found.is_empty(), "{kernel}: {opcode}");
            for instruction in found {
                let frames = module.frames(instruction.location.unwrap());
                let rung = frames
                    .iter()
                    .find(|frame| {
                        frame
                            .function
                            .as_deref()
                            .is_some_and(|name| name.split('<').next() == Some(function))
                    })
                    .unwrap_or_else(|| panic!("{kernel}: {opcode}: {frames:?}"));
                let source = library.source(&rung.file).unwrap();
                let text = source.lines().nth(rung.line as usize - 1).unwrap();
                assert!(text.contains(line), "{kernel}: {opcode}: {rung:?}: {text}");
            }
        }
    }

    #[test]
    fn a_folder_has_sources_of_its_own_or_none() {
        let folder = folder(&[("m", "sm_75")]);
        let library = PtxLibrary::from_dir(folder.path()).unwrap();
        assert_eq!(library.source("kernels/src/lib.rs"), None);
        let file = folder.path().join("src/mine.rs");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "fn mine() {}").unwrap();
        assert_eq!(library.source("src/mine.rs").as_deref(), Some("fn mine() {}"));
        assert_eq!(library.source(&file.display().to_string()), None);
        assert_eq!(library.source("src/../src/mine.rs"), None);
    }
}
