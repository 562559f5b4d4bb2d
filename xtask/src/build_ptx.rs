//! `cargo xtask build-ptx`: compiles the kernels to the PTX that is committed in [`FOLDERS`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use cuda_builder::foreign::ForeignBackend;
use cuda_builder::manifest::{self, Manifest, Module, ToolchainVersions};
use cuda_builder::{NvvmArch, Output, Toolchain};

use crate::ptx_folder::{FOLDERS, Folder, Form, Texts, refuse_committed, write_manifest};
use crate::recipe::{self, sources_hash};
use crate::{kernel_name, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The architectures to compile for, separated by commas; a kernel that needs a later
    /// architecture is compiled for the one that it needs
    #[arg(long, value_delimiter = ',', default_value = "sm_75")]
    arch: Vec<NvvmArch>,

    /// Write nothing, and fail if the committed files differ from those that would be written
    #[arg(long)]
    check: bool,

    /// With --check: if the compiler is not that of the committed PTX, compare everything except
    /// the bytes instead of failing
    #[arg(long, requires = "check")]
    any_compiler: bool,

    /// Keep each module's optimised LLVM IR in target/ptx-llvm
    #[arg(long)]
    emit_llvm: bool,

    /// Build only this module, such as reduce3_i32, or those that begin so, such as 'rows_sum_*'.
    /// May be given several times
    #[arg(long, value_name = "MODULE")]
    only: Vec<String>,

    /// With --check: build each N-th module only, beginning with number K, counted from 0
    #[arg(long, value_name = "K/N", requires = "check", conflicts_with = "only")]
    part: Option<Part>,

    #[command(flatten)]
    foreign: Option<ForeignArgs>,
}

/// Another compiler: the same sources through a rustc codegen backend such as rust-cuda's
#[derive(Debug, clap::Args)]
#[group(
    requires_all = ["codegen_backend", "rustc", "cuda_std", "out"],
    conflicts_with_all = ["check", "emit_llvm", "only", "part"],
)]
struct ForeignArgs {
    /// The rustc codegen backend, a shared library
    #[arg(long, value_name = "FILE", required = false)]
    codegen_backend: PathBuf,

    /// The rustc that the backend was built for
    #[arg(long, value_name = "FILE", required = false)]
    rustc: PathBuf,

    /// The folder of the backend's cuda_std crate
    #[arg(long, value_name = "DIR", required = false)]
    cuda_std: PathBuf,

    /// The folder for the PTX and its manifest
    #[arg(long, value_name = "DIR", required = false)]
    out: PathBuf,
}

/// One of several parts of about the same size.
#[derive(Clone, Copy, Debug)]
struct Part {
    part: usize,
    parts: usize,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, parts)| {
            Some(Self { part: part.parse().ok()?, parts: parts.parse().ok()? })
        });
        numbers
            .filter(|Self { part, parts }| part < parts)
            .ok_or_else(|| "it is not of the form K/N with K below N, such as 0/4".to_owned())
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = root();
    if let Some(foreign) = &args.foreign {
        return run_foreign(&root, foreign, &args.arch);
    }
    let [committed, _] = FOLDERS.map(|folder| Manifest::read(&root.join(folder.path)));
    let toolchain = match committed {
        // The compiler of the committed PTX is preferred, because only that compiler makes the same
        // bytes.
        Ok(committed) => {
            let toolchain = Toolchain::find_like(&root, &committed.toolchain)?;
            if args.check && !args.any_compiler {
                same_compiler(&committed.toolchain, &toolchain.versions)?;
            }
            toolchain
        }
        Err(_) => Toolchain::find(&root)?,
    };
    build_with(&root, &toolchain, args)
}

impl Args {
    /// Whether some modules are left out.
    fn is_partial(&self) -> bool {
        !self.only.is_empty() || self.part.is_some()
    }

    /// The arguments that build all kernels and write them.
    pub(crate) fn whole() -> Self {
        Self {
            arch: vec![NvvmArch::Compute75],
            check: false,
            any_compiler: false,
            emit_llvm: false,
            only: Vec::new(),
            part: None,
            foreign: None,
        }
    }
}

/// Fails if the compiler is not the one that made the committed PTX, because then the bytes cannot
/// be compared.
fn same_compiler(committed: &ToolchainVersions, here: &ToolchainVersions) -> anyhow::Result<()> {
    if committed == here {
        return Ok(());
    }
    bail!(
        "the bytes of the committed PTX cannot be compared: it was built with {} (LLVM {}), and the compiler here is {} \
         (LLVM {}). Install the packages that .ci/device-compiler pins; or move the pin to those installed, with \
         `cargo xtask pin-compiler`; or compare all but the bytes, with --any-compiler",
        committed.rustc,
        committed.llvm,
        here.rustc,
        here.llvm
    );
}

/// Builds with one toolchain, and writes the files or checks the committed ones.
pub(crate) fn build_with(root: &Path, toolchain: &Toolchain, args: &Args) -> anyhow::Result<()> {
    eprintln!("compiling with {toolchain}");
    let parts = split(&render(root, toolchain, args)?, args.is_partial());
    let mut faults = Vec::new();
    for (folder, mut rendered) in parts {
        let path = root.join(folder.path);
        let built = rendered.manifest.kernels.len();
        if args.is_partial() {
            let committed = Manifest::read(&path)
                .context("--only and --part need a whole build before them")?;
            rendered.manifest = merge(&committed, rendered.manifest);
            if !args.check {
                keep_whole(&committed, &mut rendered.manifest, folder)?;
            }
        }
        if args.check {
            faults.extend(check(&rendered, &path, folder)?);
            continue;
        }
        rendered.write(&path, folder.form)?;
        remove_strays(&path, folder.form, &rendered.manifest)?;
        println!("wrote {built} kernels in {} files to {}", rendered.files.len(), folder.path);
    }
    if !faults.is_empty() {
        bail!(
            "the committed PTX is not what the sources give; run `cargo xtask build-ptx`:\n  {}",
            faults.join("\n  ")
        );
    }
    Ok(())
}

/// Splits the built modules by the folder that they belong to. If modules were left out, so is a
/// folder without any.
fn split(rendered: &Rendered, is_partial: bool) -> Vec<(Folder, Rendered)> {
    let of_folder = |folder: Folder| {
        let Rendered { mut manifest, mut files } = rendered.clone();
        manifest.modules.retain(|module| folder.holds(&module.name));
        manifest.kernels.retain(|kernel| folder.holds(&kernel.module));
        files.retain(|file, _| manifest.modules.iter().any(|module| module.file == *file));
        (folder, Rendered { manifest, files })
    };
    FOLDERS
        .into_iter()
        .map(of_folder)
        .filter(|(_, rendered)| !is_partial || !rendered.files.is_empty())
        .collect()
}

/// Builds with a foreign codegen backend, to a folder that the user names.
fn run_foreign(root: &Path, args: &ForeignArgs, archs: &[NvvmArch]) -> anyhow::Result<()> {
    refuse_committed(root, "--out", &args.out)?;
    // The kernels that such a backend builds are not production kernels. Without a manifest of them
    // the parameters are numbered.
    let known = Manifest::read(&root.join(FOLDERS[0].path))
        .map(|manifest| manifest.kernels)
        .unwrap_or_default();
    let mut outputs = Vec::new();
    for &arch in archs.iter().collect::<BTreeSet<_>>() {
        let backend = ForeignBackend {
            backend: args.codegen_backend.clone(),
            rustc: args.rustc.clone(),
            cuda_std: args.cuda_std.clone(),
            arch,
            target_dir: root.join("target/codegen-backend").join(arch.sm()),
        };
        outputs.push(backend.compile(
            &root.join("kernels/src/lib.rs"),
            &known,
            kernel_name::traits,
        )?);
    }
    let rendered = collect(outputs, sources_hash(root)?);
    rendered.write(&args.out, Form::Files)?;
    println!("wrote {} kernels to {}", rendered.manifest.kernels.len(), args.out.display());
    Ok(())
}

/// A folder of PTX as this run wants it: the manifest, and the text of the files that this run
/// built.
#[derive(Clone)]
struct Rendered {
    manifest: Manifest,
    files: Texts,
}

fn render(root: &Path, toolchain: &Toolchain, args: &Args) -> anyhow::Result<Rendered> {
    let mut outputs = Vec::new();
    for &arch in args.arch.iter().collect::<BTreeSet<_>>() {
        let mut builder = recipe::builder(root, arch).emit_llvm_ir(args.emit_llvm);
        for only in &args.only {
            builder = builder.only(only);
        }
        if let Some(Part { part, parts }) = args.part {
            builder = builder.part(part, parts);
        }
        let output = builder.compile_with(toolchain)?;
        if args.emit_llvm {
            keep_llvm_ir(&output, &root.join("target/ptx-llvm"))?;
        }
        outputs.push(output);
    }
    Ok(collect(outputs, sources_hash(root)?))
}

/// Puts the outputs for several architectures in one folder.
fn collect(outputs: Vec<Output>, sources_sha256: String) -> Rendered {
    let toolchain = outputs[0].toolchain.clone();
    let kernels = outputs[0].kernels.clone();
    let (mut modules, mut files) = (Vec::new(), Texts::new());
    for module in outputs.into_iter().flat_map(|output| output.modules) {
        let file = format!("{}.{}.ptx", module.name, module.arch);
        if files.contains_key(&file) {
            // A module that needs a later architecture comes with each earlier one as well.
            continue;
        }
        let sha256 = manifest::sha256_hex(module.ptx.as_bytes());
        modules.push(Module {
            name: module.name,
            arch: module.arch.to_string(),
            file: file.clone(),
            sha256,
        });
        files.insert(file, module.ptx);
    }
    modules.sort_by(|a, b| (&a.name, &a.arch).cmp(&(&b.name, &b.arch)));
    let manifest =
        Manifest { format: manifest::FORMAT, toolchain, sources_sha256, modules, kernels };
    Rendered { manifest, files }
}

/// The manifest `new`, completed by those modules of the committed manifest that `new` lacks.
fn merge(committed: &Manifest, new: Manifest) -> Manifest {
    let mut merged = Manifest {
        toolchain: new.toolchain,
        sources_sha256: new.sources_sha256,
        ..committed.clone()
    };
    merged.modules.retain(|old| {
        !new.modules.iter().any(|module| (&module.name, &module.arch) == (&old.name, &old.arch))
    });
    merged.kernels.retain(|old| !new.kernels.iter().any(|kernel| kernel.module == old.module));
    merged.modules.extend(new.modules);
    merged.kernels.extend(new.kernels);
    merged.modules.sort_by(|a, b| (&a.name, &a.arch).cmp(&(&b.name, &b.arch)));
    merged.kernels.sort_by(|a, b| a.name.cmp(&b.name));
    merged
}

/// Corrects a merged manifest for the modules that were not built again. They come from the sources
/// of the last whole build, so the manifest keeps the hash of those sources; and they must come
/// from the same toolchain.
fn keep_whole(committed: &Manifest, merged: &mut Manifest, folder: Folder) -> anyhow::Result<()> {
    if merged.toolchain != committed.toolchain {
        bail!(
            "--only would mix the PTX of two compilers, since {} was built with {} (LLVM {}): build all of it",
            folder.path,
            committed.toolchain.rustc,
            committed.toolchain.llvm
        );
    }
    merged.sources_sha256.clone_from(&committed.sources_sha256);
    Ok(())
}

impl Rendered {
    /// Writes the texts and the manifest.
    fn write(&self, folder: &Path, form: Form) -> anyhow::Result<()> {
        form.write(folder, &self.manifest, &self.files)?;
        write_manifest(folder, &self.manifest)
    }
}

/// Removes the files of PTX in `folder` that hold no module of the manifest.
fn remove_strays(folder: &Path, form: Form, manifest: &Manifest) -> anyhow::Result<()> {
    for stray in form.stray_files(folder, manifest)? {
        fs::remove_file(folder.join(&stray)).with_context(|| format!("cannot remove {stray}"))?;
    }
    Ok(())
}

/// The files of PTX in a folder, and its texts, that are not of the manifest.
fn strays(
    texts: &Texts,
    manifest: &Manifest,
    folder: &Path,
    form: Form,
) -> anyhow::Result<BTreeSet<String>> {
    let is_known = |text: &String| manifest.modules.iter().any(|module| module.file == *text);
    let mut strays: BTreeSet<_> = form.stray_files(folder, manifest)?.into_iter().collect();
    strays.extend(texts.keys().filter(|text| !is_known(text)).cloned());
    Ok(strays)
}

/// Compares the files that would be written to a folder with those that are there. Returns one line
/// for each difference.
fn check(rendered: &Rendered, path: &Path, folder: Folder) -> anyhow::Result<Vec<String>> {
    let committed = Manifest::read(path)?;
    let differences = differences(rendered, &committed, path, folder.form)?;
    let name = folder.path;
    if differences.is_empty() && rendered.manifest.toolchain == committed.toolchain {
        println!(
            "{name} is up to date, byte for byte in the {} files that were built",
            rendered.files.len()
        );
    } else if differences.is_empty() {
        println!(
            "{name} has the kernels, parameters and hash of the sources; its bytes could not be compared, since it \
             was built with {} (LLVM {})",
            committed.toolchain.rustc, committed.toolchain.llvm
        );
    }
    Ok(differences.into_iter().map(|difference| format!("{name}: {difference}")).collect())
}

/// Returns one line for each difference. Bytes are compared only if the toolchain is the one that
/// the manifest names.
fn differences(
    rendered: &Rendered,
    committed: &Manifest,
    folder: &Path,
    form: Form,
) -> anyhow::Result<Vec<String>> {
    let fresh = &rendered.manifest;
    let mut found = Vec::new();
    if fresh.sources_sha256 != committed.sources_sha256 {
        found.push("the kernel sources have changed since".to_owned());
    }
    let texts = form.read(folder)?;
    found.extend(
        strays(&texts, committed, folder, form)?
            .into_iter()
            .map(|file| format!("{file} is not in the manifest")),
    );

    let old: BTreeMap<_, _> =
        committed.kernels.iter().map(|kernel| (&kernel.name, kernel)).collect();
    let new: BTreeMap<_, _> = fresh.kernels.iter().map(|kernel| (&kernel.name, kernel)).collect();
    found.extend(
        old.keys()
            .filter(|name| !new.contains_key(*name))
            .map(|name| format!("kernel {name} is gone")),
    );
    for (name, kernel) in new {
        match old.get(name) {
            None => found.push(format!("kernel {name} is new")),
            Some(old) if *old != kernel => {
                found.push(format!("kernel {name} is described otherwise"));
            }
            Some(_) => {}
        }
    }

    let file = |module: &Module| module.file.clone();
    let (old, new): (BTreeSet<_>, BTreeSet<_>) =
        (committed.modules.iter().map(file).collect(), fresh.modules.iter().map(file).collect());
    found.extend(old.difference(&new).map(|file| format!("{file} is gone")));
    found.extend(new.difference(&old).map(|file| format!("{file} is new")));
    if fresh.toolchain == committed.toolchain {
        for (file, text) in &rendered.files {
            if old.contains(file) && texts.get(file) != Some(text) {
                found.push(format!("{file} differs"));
            }
        }
        if found.is_empty() && *fresh != *committed {
            found.push("the manifest differs".to_owned());
        }
    }
    Ok(found)
}

fn keep_llvm_ir(output: &Output, folder: &PathBuf) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for module in &output.modules {
        let file = folder.join(format!("{}.{}.ll", module.name, module.arch));
        fs::write(&file, module.llvm_ir.as_deref().unwrap_or_default())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    eprintln!("the LLVM IR is in {}", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use cuda_builder::{CompiledModule, KernelTraits};

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Cli::try_parse_from(line.split_whitespace()).map(|cli| cli.args)
    }

    fn output(rustc: &str, modules: &[(&str, &str)]) -> Output {
        Output {
            toolchain: ToolchainVersions {
                rustc: rustc.into(),
                llvm: "22.1.8".into(),
                codegen: "rustc-nvptx".into(),
            },
            modules: modules
                .iter()
                .map(|&(name, ptx)| CompiledModule {
                    name: name.into(),
                    arch: NvvmArch::Compute75,
                    ptx: ptx.into(),
                    llvm_ir: None,
                })
                .collect(),
            kernels: modules
                .iter()
                .map(|&(name, _)| {
                    let KernelTraits { element, op, block_size, .. } = kernel_name::traits(name);
                    manifest::Kernel {
                        name: name.into(),
                        module: name.into(),
                        params: Vec::new(),
                        block_size,
                        element,
                        op,
                        shared: manifest::SharedKind::None,
                        static_shared_bytes: 0,
                    }
                })
                .collect(),
        }
    }

    fn rendered(rustc: &str, modules: &[(&str, &str)]) -> Rendered {
        collect(vec![output(rustc, modules)], "hash".into())
    }

    /// The differences that `--check` finds between a written folder and a fresh build.
    fn compare(written: &Rendered, fresh: &Rendered) -> Vec<String> {
        let compare = |form: Form| {
            let folder = tempfile::tempdir().unwrap();
            written.write(folder.path(), form).unwrap();
            differences(fresh, &Manifest::read(folder.path()).unwrap(), folder.path(), form)
                .unwrap()
        };
        let differences = compare(Form::Files);
        assert_eq!(compare(Form::Archives), differences, "archives keep the same texts");
        differences
    }

    #[test]
    fn the_committed_ptx_is_of_the_sources_as_they_are() {
        let root = root();
        for folder in FOLDERS {
            let path = root.join(folder.path);
            let manifest = Manifest::read(&path).unwrap();
            assert_eq!(
                manifest.sources_sha256,
                sources_hash(&root).unwrap(),
                "the kernel sources have changed since {} was built: run `cargo xtask build-ptx`",
                folder.path
            );
            let texts = folder.form.read(&path).unwrap();
            for module in &manifest.modules {
                assert!(folder.holds(&module.name), "{} is not for {}", module.name, folder.path);
                assert_eq!(
                    manifest::sha256_hex(texts[&module.file].as_bytes()),
                    module.sha256,
                    "{} was edited by hand",
                    module.file
                );
            }
            assert!(manifest.kernels.iter().all(|kernel| folder.holds(&kernel.module)));
            let strays = strays(&texts, &manifest, &path, folder.form).unwrap();
            assert!(strays.is_empty(), "{strays:?} in {}", folder.path);
        }
    }

    #[test]
    fn each_module_goes_to_one_folder() {
        let build = rendered(
            "1.96",
            &[("reduce3_i32", "x"), ("reduce_sum_i32", "y"), ("access_fill", "z")],
        );
        let files = |parts: Vec<(Folder, Rendered)>| -> Vec<_> {
            parts
                .into_iter()
                .map(|(folder, Rendered { manifest, files })| {
                    let kernels: Vec<_> =
                        manifest.kernels.iter().map(|kernel| kernel.name.clone()).collect();
                    assert_eq!(manifest.modules.len(), files.len());
                    (
                        folder.path,
                        files.into_keys().collect::<Vec<_>>().join(" "),
                        kernels.join(" "),
                    )
                })
                .collect()
        };
        let production = (
            "crates/warpfold/ptx",
            "reduce_sum_i32.sm_75.ptx".to_owned(),
            "reduce_sum_i32".to_owned(),
        );
        let others = "access_fill.sm_75.ptx reduce3_i32.sm_75.ptx".to_owned();
        assert_eq!(
            files(split(&build, false)),
            [("kernels/ptx", others, "reduce3_i32 access_fill".to_owned()), production.clone()]
        );
        let single = rendered("1.96", &[("reduce_sum_i32", "y")]);
        assert_eq!(files(split(&single, true)), [production], "--only touches one folder");
    }

    #[test]
    fn the_same_build_has_no_difference() {
        let build = rendered("1.96", &[("a", "x"), ("b", "y")]);
        assert_eq!(compare(&build, &build), [""; 0]);
    }

    #[test]
    fn bytes_count_only_under_the_same_toolchain() {
        let old = rendered("1.96", &[("a", "x"), ("b", "y")]);
        assert_eq!(
            compare(&old, &rendered("1.96", &[("a", "x"), ("b", "z")])),
            ["b.sm_75.ptx differs"]
        );
        assert_eq!(compare(&old, &rendered("1.97", &[("a", "x"), ("b", "z")])), [""; 0]);
    }

    #[test]
    fn a_check_with_another_compiler_fails_with_both_names_and_the_command() {
        let of = |rustc| rendered(rustc, &[]).manifest.toolchain;
        same_compiler(&of("rustc 1.96.0"), &of("rustc 1.96.0")).unwrap();
        let error =
            same_compiler(&of("rustc 1.96.0"), &of("rustc 1.97.0")).unwrap_err().to_string();
        assert!(error.contains(
            "it was built with rustc 1.96.0 (LLVM 22.1.8), and the compiler here is rustc 1.97.0"
        ));
        assert!(
            error.contains("`cargo xtask pin-compiler`") && error.contains("--any-compiler"),
            "{error}"
        );
        let another_llvm = ToolchainVersions { llvm: "22.1.9".into(), ..of("rustc 1.96.0") };
        assert!(same_compiler(&of("rustc 1.96.0"), &another_llvm).is_err());
        assert!(parse("x --check --any-compiler").unwrap().any_compiler);
        assert!(!parse("x --check").unwrap().any_compiler);
        assert!(parse("x --any-compiler").is_err(), "it is for --check alone");
    }

    #[test]
    fn kernels_and_sources_count_under_any_toolchain() {
        let old = rendered("1.96", &[("a", "x"), ("b", "y")]);
        let found = compare(&old, &rendered("1.97", &[("a", "x"), ("c", "y")]));
        assert_eq!(
            found,
            ["kernel b is gone", "kernel c is new", "b.sm_75.ptx is gone", "c.sm_75.ptx is new"]
        );

        let mut changed = rendered("1.97", &[("a", "x"), ("b", "y")]);
        changed.manifest.sources_sha256 = "other".into();
        changed.manifest.kernels[1].block_size = Some(64);
        assert_eq!(
            compare(&old, &changed),
            ["the kernel sources have changed since", "kernel b is described otherwise"]
        );
    }

    #[test]
    fn what_is_no_longer_built_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        rendered("1.96", &[("a", "x"), ("b", "y")]).write(folder.path(), Form::Files).unwrap();
        fs::write(folder.path().join("notes.txt"), "").unwrap();
        let fewer = rendered("1.96", &[("a", "x")]);
        fewer.write(folder.path(), Form::Files).unwrap();
        // A folder that the user names may hold other PTX, so writing leaves that PTX there.
        assert!(folder.path().join("b.sm_75.ptx").exists());
        remove_strays(folder.path(), Form::Files, &fewer.manifest).unwrap();
        assert!(folder.path().join("notes.txt").exists());
        assert!(!folder.path().join("b.sm_75.ptx").exists());
        assert_eq!(fs::read_to_string(folder.path().join("a.sm_75.ptx")).unwrap(), "x");
    }

    #[test]
    fn a_check_of_archives_names_what_differs() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["reduce_max_i32", "reduce_sum_i32", "rows_sum_i32"];
        let old = rendered("1.96", &names.map(|name| (name, "x")));
        old.write(folder.path(), Form::Archives).unwrap();
        let new = rendered("1.96", &[(names[0], "x"), (names[1], "y"), (names[2], "x")]);
        let compare = || {
            differences(&new, &old.manifest, folder.path(), Form::Archives)
                .map_err(|error| error.to_string())
        };
        let differs = "reduce_sum_i32.sm_75.ptx differs";
        assert_eq!(compare().unwrap(), [differs]);
        fs::write(folder.path().join("rows_sum_i32.sm_75.ptx"), "x").unwrap();
        assert_eq!(
            compare().unwrap(),
            ["rows_sum_i32.sm_75.ptx is not in the manifest", differs],
            "a text beside the archives counts for nothing"
        );
        fs::remove_file(folder.path().join("rows.sm_75.tar.lz")).unwrap();
        assert_eq!(compare().unwrap()[1..], [differs, "rows_sum_i32.sm_75.ptx differs"]);
        fs::write(folder.path().join("reduce.sm_75.tar.lz"), "x").unwrap();
        let error = compare().unwrap_err();
        assert!(error.contains("reduce.sm_75.tar.lz is damaged"), "{error}");
    }

    #[test]
    fn one_module_keeps_the_others_and_the_hash_of_the_whole_build() {
        let old = rendered("1.96", &[("a", "x"), ("b", "y")]).manifest;
        let mut new = rendered("1.96", &[("b", "z")]).manifest;
        new.sources_sha256 = "other".into();
        let mut merged = merge(&old, new.clone());
        assert_eq!(merged.sources_sha256, "other", "--check compares the sources as they are");
        keep_whole(&old, &mut merged, FOLDERS[0]).unwrap();
        assert_eq!(merged.sources_sha256, "hash");
        assert_eq!(merged.modules, [old.modules[0].clone(), new.modules[0].clone()]);
        assert_eq!(merged.kernels, old.kernels);
    }

    #[test]
    fn one_module_of_another_compiler_is_refused() {
        let old = rendered("1.96", &[("a", "x"), ("b", "y")]).manifest;
        let mut merged = merge(&old, rendered("1.97", &[("b", "z")]).manifest);
        let error = keep_whole(&old, &mut merged, FOLDERS[0]).unwrap_err().to_string();
        assert_eq!(
            error,
            "--only would mix the PTX of two compilers, since kernels/ptx was built with 1.96 (LLVM 22.1.8): build all \
             of it"
        );
    }

    #[test]
    fn a_foreign_backend_needs_all_four_of_its_flags() {
        assert!(parse("x").unwrap().foreign.is_none());
        let message = parse("x --codegen-backend a.so").unwrap_err().to_string();
        for flag in ["--rustc", "--cuda-std", "--out"] {
            assert!(message.contains(flag), "{message}");
        }
        let all = "x --codegen-backend a.so --rustc r --cuda-std c --out o";
        assert_eq!(parse(all).unwrap().foreign.unwrap().out, Path::new("o"));
        assert!(parse(&format!("{all} --check")).is_err());
    }

    #[test]
    fn a_foreign_build_into_a_committed_folder_is_refused() {
        let root = root();
        for (out, committed) in [
            ("kernels/ptx/../ptx", "kernels/ptx"),
            ("kernels/ptx/new/folder", "kernels/ptx"),
            ("crates/warpfold/ptx", "crates/warpfold/ptx"),
        ] {
            let foreign = ForeignArgs {
                codegen_backend: "a.so".into(),
                rustc: "rustc".into(),
                cuda_std: "cuda_std".into(),
                out: root.join(out),
            };
            let error = run_foreign(&root, &foreign, &[NvvmArch::Compute90]).unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("--out must not be {committed}:")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_foreign_build_that_cannot_be_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let foreign = ForeignArgs {
            codegen_backend: at("gone.so"),
            rustc: at("rustc"),
            cuda_std: at("cuda_std"),
            out: at("out"),
        };
        let error = run_foreign(&root(), &foreign, &[NvvmArch::Compute90]).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("the codegen backend `{}` is not there", at("gone.so").display())
        );
        assert!(!at("out").exists());
    }

    #[test]
    fn architectures_are_a_list_without_unknown_names() {
        let archs = parse("x --arch sm_75,sm_90").unwrap().arch;
        assert_eq!(archs, [NvvmArch::Compute75, NvvmArch::Compute90]);
        assert!(
            parse("x --arch sm_1").unwrap_err().to_string().contains("unknown architecture `sm_1`")
        );
    }
}
