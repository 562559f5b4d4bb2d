//! `cargo xtask build-ptx`: the kernels, compiled to the PTX that is committed in `kernels/ptx`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cuda_builder::manifest::{self, Manifest, Module};
use cuda_builder::{CudaBuilder, NvvmArch, Output, Toolchain, sources};

use crate::{kernel_name, root};

/// The crates whose sources decide what the PTX is.
const SOURCES: [&str; 3] = ["crates/cuda_std", "crates/cuda_std_macros", "kernels"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The architectures to compile for, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "sm_75")]
    arch: Vec<NvvmArch>,

    /// Write nothing, and fail if the committed files differ from what would be written
    #[arg(long)]
    check: bool,

    /// Keep each module's optimised LLVM IR in target/ptx-llvm
    #[arg(long)]
    emit_llvm: bool,

    /// Build only this module, as in reduce6_i32
    #[arg(long, value_name = "MODULE")]
    only: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = root();
    let toolchain = Toolchain::find(&root)?;
    eprintln!("compiling with {toolchain}");
    let folder = root.join("kernels/ptx");
    let committed = Manifest::read(&folder).ok();
    let rendered = render(&root, &toolchain, args, committed.as_ref())?;
    if args.check {
        return check(&rendered, &folder);
    }
    rendered.write(&folder)?;
    println!(
        "wrote {} kernels in {} modules to {}",
        rendered.manifest.kernels.len(),
        rendered.files.len(),
        folder.strip_prefix(&root).unwrap_or(&folder).display()
    );
    Ok(())
}

/// A folder of PTX as it should be: the manifest, and the text of the files that this run built.
struct Rendered {
    manifest: Manifest,
    files: BTreeMap<String, String>,
}

/// The hash of the kernel sources as they are.
fn sources_hash(root: &Path) -> anyhow::Result<String> {
    sources::hash(root, &SOURCES).context("cannot read the kernel sources")
}

fn render(root: &Path, toolchain: &Toolchain, args: &Args, committed: Option<&Manifest>) -> anyhow::Result<Rendered> {
    let mut outputs = Vec::new();
    for &arch in args.arch.iter().collect::<BTreeSet<_>>() {
        let mut builder = CudaBuilder::new(root.join("kernels"))
            .arch(arch)
            .target_dir(root.join("target/ptx").join(arch.sm()))
            .emit_llvm_ir(args.emit_llvm)
            .kernel_traits(kernel_name::traits);
        if let Some(only) = &args.only {
            builder = builder.only(only);
        }
        let output = builder.compile_with(toolchain)?;
        if args.emit_llvm {
            keep_llvm_ir(&output, &root.join("target/ptx-llvm"))?;
        }
        outputs.push(output);
    }
    let mut rendered = collect(outputs, sources_hash(root)?);
    if args.only.is_some() {
        let Some(committed) = committed else {
            bail!("--only needs a whole build before it: kernels/ptx has no manifest")
        };
        rendered.manifest = merge(committed, rendered.manifest);
    }
    Ok(rendered)
}

/// Puts the outputs for several architectures in one folder.
fn collect(outputs: Vec<Output>, sources_sha256: String) -> Rendered {
    let toolchain = outputs[0].toolchain.clone();
    let kernels = outputs[0].kernels.clone();
    let (mut modules, mut files) = (Vec::new(), BTreeMap::new());
    for module in outputs.into_iter().flat_map(|output| output.modules) {
        let file = format!("{}.{}.ptx", module.name, module.arch);
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
    let manifest = Manifest {
        format: manifest::FORMAT,
        toolchain,
        sources_sha256,
        modules,
        kernels,
    };
    Rendered { manifest, files }
}

/// The committed manifest with the modules that `new` has in place of its own. The hash stays that of the last whole
/// build: the other modules are as old as they were.
fn merge(committed: &Manifest, new: Manifest) -> Manifest {
    let mut merged = committed.clone();
    merged.modules.retain(|old| {
        !new.modules
            .iter()
            .any(|module| (&module.name, &module.arch) == (&old.name, &old.arch))
    });
    merged
        .kernels
        .retain(|old| !new.kernels.iter().any(|kernel| kernel.module == old.module));
    merged.modules.extend(new.modules);
    merged.kernels.extend(new.kernels);
    merged
        .modules
        .sort_by(|a, b| (&a.name, &a.arch).cmp(&(&b.name, &b.arch)));
    merged.kernels.sort_by(|a, b| a.name.cmp(&b.name));
    merged
}

impl Rendered {
    /// Writes the folder and removes PTX files that the manifest does not name.
    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for stale in stray_files(folder, &self.manifest)? {
            fs::remove_file(folder.join(&stale)).with_context(|| format!("cannot remove {stale}"))?;
        }
        for (file, text) in &self.files {
            fs::write(folder.join(file), text).with_context(|| format!("cannot write {file}"))?;
        }
        fs::write(folder.join(manifest::FILE_NAME), self.manifest.to_json()).context("cannot write the manifest")
    }
}

/// The PTX files in `folder` that the manifest does not name.
fn stray_files(folder: &Path, manifest: &Manifest) -> anyhow::Result<Vec<String>> {
    let mut stray = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".ptx") && !manifest.modules.iter().any(|module| module.file == name) {
            stray.push(name);
        }
    }
    stray.sort();
    Ok(stray)
}

/// Compares what would be written with what is there.
fn check(rendered: &Rendered, folder: &Path) -> anyhow::Result<()> {
    let committed = Manifest::read(folder)?;
    let differences = differences(rendered, &committed, folder)?;
    if !differences.is_empty() {
        bail!(
            "kernels/ptx is not what the sources give; run `cargo xtask build-ptx`:\n  {}",
            differences.join("\n  ")
        );
    }
    if rendered.manifest.toolchain == committed.toolchain {
        println!(
            "kernels/ptx is up to date: {} files are the same byte for byte",
            rendered.files.len()
        );
    } else {
        println!(
            "kernels/ptx has the kernels, parameters and hash of the sources; its bytes could not be compared, since \
             it was built with {} (LLVM {})",
            committed.toolchain.rustc, committed.toolchain.llvm
        );
    }
    Ok(())
}

/// One line for each difference. Bytes count only if the toolchain is the one that the manifest names.
fn differences(rendered: &Rendered, committed: &Manifest, folder: &Path) -> anyhow::Result<Vec<String>> {
    let fresh = &rendered.manifest;
    let mut found = Vec::new();
    if fresh.sources_sha256 != committed.sources_sha256 {
        found.push("the kernel sources have changed since".to_owned());
    }
    found.extend(
        stray_files(folder, committed)?
            .into_iter()
            .map(|file| format!("{file} is not in the manifest")),
    );

    let old: BTreeMap<_, _> = committed.kernels.iter().map(|kernel| (&kernel.name, kernel)).collect();
    let new: BTreeMap<_, _> = fresh.kernels.iter().map(|kernel| (&kernel.name, kernel)).collect();
    found.extend(
        old.keys()
            .filter(|name| !new.contains_key(*name))
            .map(|name| format!("kernel {name} is gone")),
    );
    for (name, kernel) in new {
        match old.get(name) {
            None => found.push(format!("kernel {name} is new")),
            Some(old) if *old != kernel => found.push(format!("kernel {name} is described otherwise")),
            Some(_) => {}
        }
    }

    let file = |module: &Module| module.file.clone();
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (
        committed.modules.iter().map(file).collect(),
        fresh.modules.iter().map(file).collect(),
    );
    found.extend(old.difference(&new).map(|file| format!("{file} is gone")));
    found.extend(new.difference(&old).map(|file| format!("{file} is new")));
    if fresh.toolchain == committed.toolchain {
        for (file, text) in &rendered.files {
            if old.contains(file) && fs::read(folder.join(file)).ok().as_deref() != Some(text.as_bytes()) {
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
