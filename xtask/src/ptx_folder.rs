//! The committed folders of PTX: which there are, and how each of them keeps its texts.

// The build script's reader of archives must read what is packed here. Only tests include it,
// because the package of `xtask` does not hold the file.
#[cfg(test)]
#[path = "../../crates/warpfold/build/archive.rs"]
#[expect(dead_code, reason = "the tests unpack what is in memory")]
mod archive;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use cuda_builder::manifest::{self, Manifest};
use lzma_rust2::{LzipOptions, LzipReader, LzipWriter};
use rayon::prelude::*;

use crate::kernel_name;

/// How the name of an archive ends.
const ARCHIVE_ENDING: &str = ".tar.lz";

/// A committed folder of PTX and its manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Its path from the workspace's folder.
    pub(crate) path: &'static str,
    pub(crate) form: Form,
    /// Whether it holds the production kernels, which the library uses. The other folder holds all
    /// other kernels.
    is_production: bool,
}

/// The committed folders. One compilation makes the files of both.
pub(crate) const FOLDERS: [Folder; 2] = [
    Folder { path: "kernels/ptx", form: Form::Files, is_production: false },
    Folder { path: "crates/warpfold/ptx", form: Form::Archives, is_production: true },
];

impl Folder {
    /// Whether a module belongs to this folder.
    pub(crate) fn holds(self, module: &str) -> bool {
        kernel_name::is_production(module) == self.is_production
    }

    /// Writes the texts and the manifest to another folder, one file each. Returns how many texts
    /// there are.
    pub(crate) fn unpack(self, root: &Path, out: &Path) -> anyhow::Result<usize> {
        let path = root.join(self.path);
        let (manifest, texts) = (Manifest::read(&path)?, self.form.read(&path)?);
        Form::Files.write(out, &manifest, &texts)?;
        write_manifest(out, &manifest)?;
        Ok(texts.len())
    }
}

/// Fails if the folder `out`, which the user gives as `argument`, is a committed folder or is in
/// one.
pub(crate) fn refuse_committed(root: &Path, argument: &str, out: &Path) -> anyhow::Result<()> {
    let out = std::path::absolute(out).with_context(|| argument.to_owned())?;
    let existing = out.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    for Folder { path, .. } in FOLDERS {
        let committed = fs::canonicalize(root.join(path)).ok();
        if existing
            .as_ref()
            .zip(committed)
            .is_some_and(|(out, committed)| out.starts_with(committed))
        {
            bail!(
                "{argument} must not be {path}: `cargo xtask build-ptx` alone writes that folder"
            );
        }
    }
    Ok(())
}

/// Texts of PTX, by the names that the manifest gives them, such as `reduce_sum_f32.sm_90.ptx`.
pub(crate) type Texts = BTreeMap<String, String>;

/// How a folder keeps its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each text is a file, so that people can read it.
    Files,
    /// The texts of a family of kernels for one architecture are an archive, because such texts are
    /// many and nearly the same. The same texts always give the same archive.
    Archives,
}

impl Form {
    /// The name of the file that holds a text.
    fn file(self, text: &str) -> String {
        match self {
            Self::Files => text.to_owned(),
            Self::Archives => {
                let (module, arch) = text.split_once('.').unwrap_or((text, ""));
                let family = module.split('_').next().unwrap_or_default();
                format!("{family}.{}{}", arch.trim_end_matches(".ptx"), ARCHIVE_ENDING)
            }
        }
    }

    /// The files that hold the texts of a manifest.
    fn files(self, manifest: &Manifest) -> BTreeSet<String> {
        manifest.modules.iter().map(|module| self.file(&module.file)).collect()
    }

    /// Reads all texts of a folder.
    pub(crate) fn read(self, folder: &Path) -> anyhow::Result<Texts> {
        let mut texts = Texts::new();
        for file in ptx_files(folder)? {
            let path = folder.join(&file);
            match self {
                Self::Files if is_text(&file) => {
                    let text = fs::read_to_string(&path)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    texts.insert(file, text);
                }
                Self::Archives if file.ends_with(ARCHIVE_ENDING) => texts.extend(unpack(&path)?),
                _ => {}
            }
        }
        Ok(texts)
    }

    /// Writes texts to a folder, which is made if it is not there. An archive that they belong to
    /// keeps those of its other texts that the manifest names.
    pub(crate) fn write(
        self,
        folder: &Path,
        manifest: &Manifest,
        texts: &Texts,
    ) -> anyhow::Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let write = |file: &str, bytes: &[u8]| {
            fs::write(folder.join(file), bytes).with_context(|| format!("cannot write {file}"))
        };
        match self {
            Self::Files => texts.iter().try_for_each(|(file, text)| write(file, text.as_bytes())),
            Self::Archives => {
                let archives: BTreeSet<_> = texts.keys().map(|text| self.file(text)).collect();
                archives.par_iter().try_for_each(|file| {
                    let texts = self.complete(folder, file, manifest, texts)?;
                    write(file, &pack(&texts).with_context(|| format!("cannot pack {file}"))?)
                })
            }
        }
    }

    /// The texts of the manifest that belong to one archive: the new ones, and for the others those
    /// that the archive holds now. If all are new, the archive need not be there.
    fn complete(
        self,
        folder: &Path,
        file: &str,
        manifest: &Manifest,
        new: &Texts,
    ) -> anyhow::Result<Texts> {
        let modules = manifest.modules.iter().map(|module| &module.file);
        let names: Vec<_> = modules.filter(|name| self.file(name) == file).collect();
        let old = if names.iter().all(|&name| new.contains_key(name)) {
            Texts::new()
        } else {
            unpack(&folder.join(file))
                .with_context(|| format!("{file} keeps its other texts: build all of it"))?
        };
        let text = |&name: &&String| {
            let text = new.get(name).or_else(|| old.get(name));
            let text = text.with_context(|| format!("{file} lacks {name}: build all of it"))?;
            Ok((name.clone(), text.clone()))
        };
        names.iter().map(text).collect()
    }

    /// The files of PTX in a folder that hold no module of the manifest.
    pub(crate) fn stray_files(
        self,
        folder: &Path,
        manifest: &Manifest,
    ) -> anyhow::Result<Vec<String>> {
        let (found, known) = (ptx_files(folder)?, self.files(manifest));
        Ok(found.difference(&known).cloned().collect())
    }
}

/// Writes the manifest to a folder.
pub(crate) fn write_manifest(folder: &Path, manifest: &Manifest) -> anyhow::Result<()> {
    fs::write(folder.join(manifest::FILE_NAME), manifest.to_json())
        .context("cannot write the manifest")
}

/// The names of the texts and archives in a folder.
fn ptx_files(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if is_text(&name) || name.ends_with(ARCHIVE_ENDING) {
            files.insert(name);
        }
    }
    Ok(files)
}

fn is_text(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "ptx")
}

fn unpack(path: &Path) -> anyhow::Result<Texts> {
    let packed = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let texts = || -> anyhow::Result<Texts> {
        let mut tar = Vec::new();
        LzipReader::new(&packed[..]).read_to_end(&mut tar)?;
        let mut archive = tar::Archive::new(&tar[..]);
        let texts = archive.entries()?.map(|entry| {
            let mut entry = entry?;
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            Ok((entry.path()?.to_string_lossy().into_owned(), text))
        });
        texts.collect()
    };
    texts().map_err(|error| anyhow!("the archive {} is damaged: {error}", path.display()))
}

/// Makes the archive of some texts. Its bytes depend on nothing but the texts, their names and the
/// version of the compressor.
fn pack(texts: &Texts) -> anyhow::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, text) in texts {
        let mut header = tar::Header::new_ustar();
        header.set_path(name)?;
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_cksum();
        tar.append(&header, text.as_bytes())?;
    }
    let tar = tar.into_inner()?;
    let mut options = LzipOptions::with_preset(9);
    // The last text can refer to the first one.
    options.lzma_options.dict_size = u32::try_from(tar.len())?.next_power_of_two();
    // The longest match that the format has is worth the search, because most text is repeated.
    options.lzma_options.nice_len = 273;
    let mut packed = LzipWriter::new(Vec::new(), options);
    packed.write_all(&tar)?;
    Ok(packed.finish()?)
}

#[cfg(test)]
mod tests {
    use cuda_builder::manifest::{Module, ToolchainVersions};

    use super::*;

    fn texts(of: &[(&str, &str)]) -> Texts {
        of.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    fn manifest(names: &[&str]) -> Manifest {
        let module = |name: &&str| Module {
            name: name.split('.').next().unwrap().to_owned(),
            arch: name.split('.').nth(1).unwrap().to_owned(),
            file: (*name).to_owned(),
            sha256: String::new(),
        };
        Manifest {
            format: manifest::FORMAT,
            toolchain: ToolchainVersions {
                rustc: String::new(),
                llvm: String::new(),
                codegen: String::new(),
            },
            sources_sha256: String::new(),
            modules: names.iter().map(module).collect(),
            kernels: Vec::new(),
        }
    }

    const SUM: &str = "reduce_sum_f32.sm_75.ptx";
    const MAX: &str = "reduce_max_f32.sm_75.ptx";
    const ROWS: &str = "rows_sum_f32.sm_90.ptx";

    #[test]
    fn an_archive_gives_back_its_texts() {
        let lengths = [0, 1, 511, 512, 513, 1023, 1024, 1025, 100_000];
        for count in [0, 1, lengths.len()] {
            let texts: Texts = lengths[..count]
                .iter()
                .map(|&length| (format!("a_{length}.sm_75.ptx"), "é1 \n".repeat(length)))
                .collect();
            let packed = pack(&texts).unwrap();
            assert_eq!(archive::unpack(&packed).unwrap().into_iter().collect::<Texts>(), texts);
            assert_eq!(pack(&texts).unwrap(), packed, "the same texts give the same bytes");
        }
    }

    #[test]
    fn a_name_that_the_header_cannot_hold_is_refused() {
        let name = |length: usize| texts(&[(&"x".repeat(length), "")]);
        assert_eq!(archive::unpack(&pack(&name(100)).unwrap()).unwrap()[0].0.len(), 100);
        assert!(pack(&name(101)).is_err());
    }

    #[test]
    fn a_damaged_archive_gives_no_wrong_text() {
        let texts = texts(&[(SUM, "first text"), (MAX, "second text")]);
        let packed = pack(&texts).unwrap();
        let mut harmless = 0;
        for i in 0..packed.len() {
            assert!(archive::unpack(&packed[..i]).is_err(), "{i} bytes");
            let mut damaged = packed.clone();
            damaged[i] ^= 0x10;
            // A few bytes do not decide the texts, such as the size of the window.
            if let Ok(files) = archive::unpack(&damaged) {
                harmless += 1;
                assert_eq!(files.into_iter().collect::<Texts>(), texts, "byte {i}");
            }
        }
        assert!(harmless < packed.len() / 10, "{harmless} of {} bytes", packed.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reduce.sm_75.tar.lz");
        fs::write(&path, &packed[..40]).unwrap();
        let error = Form::Archives.read(folder.path()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("the archive {} is damaged: ", path.display())),
            "{error}"
        );
    }

    #[test]
    fn a_folder_in_an_archive_is_refused() {
        let error = archive::unpack(&pack(&texts(&[("a/b.ptx", "")])).unwrap()).unwrap_err();
        assert_eq!(error, "`a/b.ptx` is not a plain file");
    }

    #[test]
    fn an_archive_holds_a_family_for_an_architecture() {
        let folder = tempfile::tempdir().unwrap();
        let texts = texts(&[(SUM, "x"), (MAX, "y"), (ROWS, "z")]);
        Form::Archives.write(folder.path(), &manifest(&[SUM, MAX, ROWS]), &texts).unwrap();
        let files: Vec<_> = ptx_files(folder.path()).unwrap().into_iter().collect();
        assert_eq!(files, ["reduce.sm_75.tar.lz", "rows.sm_90.tar.lz"]);
        assert_eq!(Form::Archives.read(folder.path()).unwrap(), texts);
    }

    #[test]
    fn one_text_leaves_the_others_of_its_archive() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let old = texts(&[(SUM, "x"), (MAX, "y"), (ROWS, "z")]);
        Form::Archives.write(folder, &manifest(&[SUM, MAX, ROWS]), &old).unwrap();
        let rows = fs::metadata(folder.join("rows.sm_90.tar.lz")).unwrap().modified().unwrap();
        let write = |names: &[&str]| {
            Form::Archives.write(folder, &manifest(names), &texts(&[(MAX, "new")]))
        };
        write(&[SUM, MAX, ROWS]).unwrap();
        let expected = texts(&[(SUM, "x"), (MAX, "new"), (ROWS, "z")]);
        assert_eq!(Form::Archives.read(folder).unwrap(), expected);
        let untouched = fs::metadata(folder.join("rows.sm_90.tar.lz")).unwrap().modified().unwrap();
        assert_eq!(rows, untouched);
        // What the manifest does not name goes.
        write(&[MAX, ROWS]).unwrap();
        assert_eq!(Form::Archives.read(folder).unwrap(), texts(&[(MAX, "new"), (ROWS, "z")]));
        let error = write(&[SUM, MAX]).unwrap_err().to_string();
        assert_eq!(error, format!("reduce.sm_75.tar.lz lacks {SUM}: build all of it"));
    }

    #[test]
    fn a_whole_build_needs_no_archive_and_repairs_a_damaged_one() {
        let folder = tempfile::tempdir().unwrap();
        let (manifest, texts) = (manifest(&[SUM, MAX]), texts(&[(SUM, "x"), (MAX, "y")]));
        let one = Texts::from([(SUM.to_owned(), "x".to_owned())]);
        let error = Form::Archives.write(folder.path(), &manifest, &one).unwrap_err();
        let error = format!("{error:#}");
        let start = "reduce.sm_75.tar.lz keeps its other texts: build all of it: cannot read ";
        assert!(error.starts_with(start), "{error}");
        fs::write(folder.path().join("reduce.sm_75.tar.lz"), "damaged").unwrap();
        Form::Archives.write(folder.path(), &manifest, &texts).unwrap();
        assert_eq!(Form::Archives.read(folder.path()).unwrap(), texts);
    }

    #[test]
    fn what_belongs_to_the_other_form_is_stray() {
        let folder = tempfile::tempdir().unwrap();
        for file in [SUM, "reduce.sm_75.tar.lz", "old.sm_75.tar.lz", "notes.txt"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let strays = |form: Form| form.stray_files(folder.path(), &manifest(&[SUM])).unwrap();
        assert_eq!(strays(Form::Archives), ["old.sm_75.tar.lz", SUM]);
        assert_eq!(strays(Form::Files), ["old.sm_75.tar.lz", "reduce.sm_75.tar.lz"]);
    }

    #[test]
    fn unpacked_texts_are_those_of_the_manifest() {
        let (root, out) = (crate::root(), tempfile::tempdir().unwrap());
        let [_, production] = FOLDERS;
        let count = production.unpack(&root, out.path()).unwrap();
        let manifest = Manifest::read(out.path()).unwrap();
        assert_eq!(manifest, Manifest::read(&root.join(production.path)).unwrap());
        assert_eq!(manifest.modules.len(), count);
        for module in &manifest.modules {
            let text = fs::read(out.path().join(&module.file)).unwrap();
            assert_eq!(manifest::sha256_hex(&text), module.sha256, "{}", module.file);
        }
    }
}
