use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use rayon::prelude::*;
use serde::Deserialize;

use crate::arch::NvvmArch;
use crate::error::CudaBuilderError;
use crate::lint::{Expectation, Expectations, Finding, lint};
use crate::manifest::{Kernel, Param, ToolchainVersions};
use crate::toolchain::Toolchain;
use crate::{ir, line_info, narrow, ptx};

/// The facts that a kernel's name tells about the kernel, and the module that the kernel belongs
/// to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelTraits {
    /// The module, that is the PTX file, that the kernel belongs to.
    pub module: String,
    /// The element type.
    pub element: Option<String>,
    /// The operation.
    pub op: Option<String>,
    /// The block size that the kernel is compiled for.
    pub block_size: Option<u32>,
    /// The most threads that a block has. If it is given, ptxas uses all registers that so many
    /// threads can have.
    pub most_threads: Option<u32>,
    /// The number of block-wide barriers in the source. A barrier in a loop that the compiler has
    /// to unroll counts once for each iteration.
    pub barriers: Option<u32>,
    /// The oldest architecture that has all instructions of the kernel; `None` if every
    /// architecture has them.
    pub least_arch: Option<NvvmArch>,
    /// A later architecture for which the module is compiled as well, because its kernels are
    /// faster there.
    pub later_arch: Option<NvvmArch>,
    /// What [`most_threads`](Self::most_threads) is for [`later_arch`](Self::later_arch), if it is
    /// another number there. It is so for all kernels of the module that have the same
    /// `most_threads`.
    pub later_most_threads: Option<u32>,
    /// Whether only the module for [`later_arch`](Self::later_arch) has the kernel.
    pub only_later: bool,
    /// Whether the module has no line table, whatever [`CudaBuilder::generate_line_info`] says. It
    /// is for modules in which the table would be most of the text.
    pub without_lines: bool,
}

impl KernelTraits {
    /// Whether the module for this architecture has the kernel.
    fn is_for(&self, arch: NvvmArch) -> bool {
        !self.only_later || self.later_arch == Some(arch)
    }
}

/// One compiled module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledModule {
    /// The module's name.
    pub name: String,
    /// The architecture that it is compiled for.
    pub arch: NvvmArch,
    /// The PTX.
    pub ptx: String,
    /// The optimised LLVM IR, if [`CudaBuilder::emit_llvm_ir`] asks for it.
    pub llvm_ir: Option<String>,
}

/// The result of [`CudaBuilder::compile`], in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The versions of the compiler.
    pub toolchain: ToolchainVersions,
    /// The modules, by name and then by architecture.
    pub modules: Vec<CompiledModule>,
    /// The kernels, by name.
    pub kernels: Vec<Kernel>,
}

/// rustc's name for the device's target.
pub(crate) const DEVICE_TARGET: &str = "nvptx64-nvidia-cuda";

/// Maps a kernel's name to its traits.
type Rule = Box<dyn Fn(&str) -> KernelTraits + Send + Sync>;

/// Compiles a crate of kernels to PTX.
pub struct CudaBuilder {
    path: PathBuf,
    arch: NvvmArch,
    copy_to: Option<PathBuf>,
    release: bool,
    line_info: bool,
    emit_llvm_ir: bool,
    build_args: Vec<String>,
    target_dir: Option<PathBuf>,
    rule: Option<Rule>,
    only: Vec<String>,
    part: Option<(usize, usize)>,
}

impl fmt::Debug for CudaBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaBuilder")
            .field("path", &self.path)
            .field("arch", &self.arch)
            .finish_non_exhaustive()
    }
}

impl CudaBuilder {
    /// Builds the crate whose `Cargo.toml` is in `path`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            arch: NvvmArch::Compute75,
            copy_to: None,
            release: true,
            line_info: false,
            emit_llvm_ir: false,
            build_args: Vec::new(),
            target_dir: None,
            rule: None,
            only: Vec::new(),
            part: None,
        }
    }

    /// The architecture to compile for; the default is the baseline, [`NvvmArch::Compute75`]. If a
    /// kernel needs a later architecture ([`KernelTraits::least_arch`]), its module is compiled for
    /// that one.
    #[must_use]
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Copies the finished PTX to `path`, for `include_str!`.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Whether debug assertions and overflow checks are off, which is the default. The code is
    /// optimised either way, because PTX that calls a function for each addition would be useless.
    #[must_use]
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self
    }

    /// Whether the PTX has `.loc` lines that lead to the source, through all inlined functions. Off
    /// by default. If it is on, the PTX has version 7.2 or later (CUDA 11.2, driver 460), but the
    /// same instructions. Paths are relative to the crate's workspace, or to the folder that
    /// contains `core`. Paths to crates in other places are absolute.
    #[must_use]
    pub fn generate_line_info(mut self, line_info: bool) -> Self {
        self.line_info = line_info;
        self
    }

    /// Whether [`CompiledModule::llvm_ir`] is filled, and written beside the PTX by
    /// [`build`](Self::build).
    #[must_use]
    pub fn emit_llvm_ir(mut self, emit: bool) -> Self {
        self.emit_llvm_ir = emit;
        self
    }

    /// Sets more arguments for cargo.
    #[must_use]
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        self
    }

    /// The folder for the files that cargo builds; the default is `target/cuda-builder` in the
    /// crate's folder.
    #[must_use]
    pub fn target_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.target_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets the rule that maps a kernel's name to its traits, and so splits the kernels into
    /// modules. The default is one module, which has the name of the crate's folder.
    #[must_use]
    pub fn kernel_traits(
        mut self,
        rule: impl Fn(&str) -> KernelTraits + Send + Sync + 'static,
    ) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }

    /// Compiles the module of this name, and leaves out the modules that no such call names. If the
    /// name ends with `*`, all modules are compiled that begin with what stands before it.
    #[must_use]
    pub fn only(mut self, module: impl Into<String>) -> Self {
        self.only.push(module.into());
        self
    }

    /// Compiles each module whose place among all names, in their order and counted from 0, leaves
    /// the remainder `part` when it is divided by `parts`.
    ///
    /// # Panics
    /// If `part` is not below `parts`.
    #[must_use]
    pub fn part(mut self, part: usize, parts: usize) -> Self {
        assert!(part < parts, "there is no part {part} of {parts}");
        self.part = Some((part, parts));
        self
    }

    /// Compiles all kernels to one PTX file and returns its path: that of
    /// [`copy_to`](Self::copy_to), or a file in the target folder.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile), and [`CudaBuilderError::FailedToCopyPtxFile`].
    pub fn build(mut self) -> Result<PathBuf, CudaBuilderError> {
        self.rule = None;
        self.only.clear();
        self.part = None;
        let path = match &self.copy_to {
            Some(path) => path.clone(),
            None => {
                self.cargo_target_dir().join(format!("{}.{}.ptx", self.default_module(), self.arch))
            }
        };
        let output = self.compile()?;
        for module in output.modules {
            fs::write(&path, module.ptx).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
            if let Some(llvm_ir) = module.llvm_ir {
                fs::write(path.with_extension("ll"), llvm_ir)
                    .map_err(CudaBuilderError::FailedToCopyPtxFile)?;
            }
        }
        Ok(path)
    }

    /// Compiles the kernels module by module and writes nothing but cargo's own files.
    ///
    /// # Errors
    /// There is no crate or no toolchain, rustc refuses the crate (its own message is on stderr),
    /// an LLVM tool fails, or there is nothing to compile.
    pub fn compile(&self) -> Result<Output, CudaBuilderError> {
        if !self.path.join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(self.path.clone()));
        }
        let toolchain = Toolchain::find(&self.path)?;
        self.compile_with(&toolchain)
    }

    /// As [`compile`](Self::compile), with a toolchain that is already found.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile).
    pub fn compile_with(&self, toolchain: &Toolchain) -> Result<Output, CudaBuilderError> {
        let scratch =
            tempfile::tempdir().map_err(CudaBuilderError::io("cannot make a temporary folder"))?;
        let libraries = self.cargo(toolchain)?;
        let objects = libraries
            .iter()
            .enumerate()
            .map(|(i, library)| {
                unpack(toolchain, library, &scratch.path().join(format!("rlib{i}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let linked = scratch.path().join("linked.bc");
        // Only the first rlib, which is that of the crate itself, has kernels that are linked.
        let (is_linked, declarations) = rayon::join(
            || link(toolchain, &objects.concat(), &linked),
            || declarations(toolchain, objects.first().map_or(&[], Vec::as_slice)),
        );
        is_linked?;
        let declarations = declarations?;

        let names = ir::kernels(&declarations);
        if names.is_empty() {
            return Err(CudaBuilderError::NoKernels(self.path.clone()));
        }
        let mut infos = ir::kernel_infos(&declarations);
        let mut modules: BTreeMap<String, Vec<(String, KernelTraits)>> = BTreeMap::new();
        for name in &names {
            let traits = self.traits(name);
            modules.entry(traits.module.clone()).or_default().push((name.clone(), traits));
        }
        let is_named = |module: &str, name: &str| match name.strip_suffix('*') {
            Some(beginning) => module.starts_with(beginning),
            None => module == name,
        };
        if let Some(name) = self.only.iter().find(|name| !modules.keys().any(|m| is_named(m, name)))
        {
            let modules = similar(name, modules.keys().map(String::as_str));
            return Err(CudaBuilderError::UnknownModule { name: name.clone(), modules });
        }
        if !self.only.is_empty() {
            modules.retain(|module, _| self.only.iter().any(|name| is_named(module, name)));
        }
        if let Some((part, parts)) = self.part {
            let mut place = 0;
            modules.retain(|_, _| {
                place += 1;
                (place - 1) % parts == part
            });
        }

        let compiled = self.compile_modules(toolchain, &modules, &linked, scratch.path())?;

        let findings: Vec<Finding> = compiled
            .par_iter()
            .map(|module| lint_module(module, &modules[&module.name]))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        if !findings.is_empty() {
            return Err(CudaBuilderError::Lint(findings));
        }

        let (mut kernels, mut told) = (Vec::new(), BTreeSet::new());
        for module in &compiled {
            let traits: BTreeMap<_, _> =
                modules[&module.name].iter().map(|(name, traits)| (&**name, traits)).collect();
            for entry in ptx::entries(&module.ptx) {
                let traits = traits[entry.name];
                // The manifest tells about the first architecture that has the kernel.
                if !told.insert(entry.name.to_owned()) {
                    continue;
                }
                kernels.push(Kernel {
                    name: entry.name.to_owned(),
                    module: module.name.clone(),
                    params: params(infos.remove(entry.name).as_deref(), &entry.params),
                    block_size: traits.block_size,
                    element: traits.element.clone(),
                    op: traits.op.clone(),
                    shared: entry.shared,
                    static_shared_bytes: entry.static_shared_bytes,
                });
            }
        }
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Output { toolchain: toolchain.versions.clone(), modules: compiled, kernels })
    }

    /// Builds the crate and its dependencies to rlibs of bitcode. The crate's own rlib is the
    /// first.
    fn cargo(&self, toolchain: &Toolchain) -> Result<Vec<PathBuf>, CudaBuilderError> {
        let path = fs::canonicalize(&self.path)
            .map_err(CudaBuilderError::io(self.path.display().to_string()))?;
        let mut flags = vec![
            format!("-Ctarget-cpu={}", self.arch),
            // No LLVM pass may run before the address spaces are right.
            "-Cno-prepopulate-passes".to_owned(),
            // This pass duplicates barriers into divergent branches (rust-lang/rust #137086).
            "-Zmir-enable-passes=-JumpThreading".to_owned(),
            // Paths in line tables and panic messages must not depend on the place of the sources
            // on the machine. The last match wins.
            format!(
                "--remap-path-prefix={}=",
                toolchain.sysroot.join("lib/rustlib/src/rust/library").display()
            ),
            format!("--remap-path-prefix={}=.", workspace_root(toolchain, &path)?.display()),
        ];
        if self.line_info {
            flags.push("-Cdebuginfo=line-directives-only".to_owned());
        }
        let checks = !self.release;
        let mut profile = vec![
            "opt-level=3".to_owned(),
            "codegen-units=1".to_owned(),
            "panic='abort'".to_owned(),
            "lto=false".to_owned(),
            "debug=false".to_owned(),
            format!("debug-assertions={checks}"),
            format!("overflow-checks={checks}"),
        ];
        for setting in &mut profile {
            setting.insert_str(0, "--config=profile.release.");
        }
        let mut command = cargo_command(&toolchain.cargo, &toolchain.rustc, &path);
        command
            .args(["rustc", "--lib", "--release", "-Zbuild-std=core"])
            .arg(format!("--target={DEVICE_TARGET}"))
            .arg("--message-format=json-render-diagnostics")
            .args(profile)
            .arg("--target-dir")
            .arg(self.cargo_target_dir())
            .args(&self.build_args)
            // `#[kernel]` expands to code that needs an unstable feature. The feature is set here,
            // because the sources of a rust-cuda program do not name it.
            .args(["--", "-Zcrate-attr=feature(abi_ptx)"])
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        artifacts(command, &path, ".rlib")?
            .ok_or_else(|| CudaBuilderError::BuildFailed(self.path.clone()))
    }

    /// Compiles all modules, in order of their names, from the bitcode `linked` that holds all
    /// kernels. The modules are divided into parts before their code becomes text, because the text
    /// of all kernels has five times the size of their bitcode, and each tool would read it whole.
    fn compile_modules(
        &self,
        toolchain: &Toolchain,
        modules: &BTreeMap<String, Vec<(String, KernelTraits)>>,
        linked: &Path,
        scratch: &Path,
    ) -> Result<Vec<CompiledModule>, CudaBuilderError> {
        let modules: Vec<_> = modules.iter().collect();
        let compiled: Vec<Vec<CompiledModule>> = modules
            .par_chunks(PREPARED)
            .map(|part| {
                let bitcode = self.prepare(toolchain, part, linked, scratch)?;
                self.compile_parts(toolchain, part, &bitcode, scratch)
            })
            .collect::<Result<_, _>>()?;
        Ok(compiled.into_iter().flatten().collect())
    }

    /// Writes the code of these modules from the bitcode `linked` to a file of its own, with all
    /// that [`ir`] adds, and returns the file's path.
    fn prepare(
        &self,
        toolchain: &Toolchain,
        modules: &[Module<'_>],
        linked: &Path,
        scratch: &Path,
    ) -> Result<PathBuf, CudaBuilderError> {
        let text = scratch.join(format!("{}.prepared.ll", modules[0].0));
        reduce(toolchain, modules, linked, &text)?;
        let bounded = ir::bound_blocks(&read(&text)?, |name| self.traits(name).most_threads);
        write(&text, ir::prepare(&bounded)?)?;
        let bitcode = text.with_extension("bc");
        reduce(toolchain, modules, &text, &bitcode)?;
        fs::remove_file(&text).map_err(CudaBuilderError::io(text.display().to_string()))?;
        Ok(bitcode)
    }

    /// Compiles modules from `bitcode`, which holds their kernels. If each module began from the
    /// whole, it would spend most of its time on reading. So many modules are divided into parts,
    /// the code that no kernel of a part reaches is dropped, and the parts are divided in turn.
    fn compile_parts(
        &self,
        toolchain: &Toolchain,
        modules: &[Module<'_>],
        bitcode: &Path,
        scratch: &Path,
    ) -> Result<Vec<CompiledModule>, CudaBuilderError> {
        if modules.len() > PARTS {
            let parts: Vec<_> = modules.chunks(modules.len().div_ceil(PARTS)).collect();
            let compiled: Vec<Vec<CompiledModule>> = parts
                .par_iter()
                .map(|part| {
                    let of_part = scratch.join(format!("{}.{}.bc", part[0].0, part.len()));
                    reduce(toolchain, part, bitcode, &of_part)?;
                    self.compile_parts(toolchain, part, &of_part, scratch)
                })
                .collect::<Result<_, _>>()?;
            return Ok(compiled.into_iter().flatten().collect());
        }
        let targets: Vec<_> = modules
            .iter()
            .flat_map(|&(name, kernels)| {
                self.archs(kernels).into_iter().map(move |arch| (name, kernels, arch))
            })
            .collect();
        targets
            .par_iter()
            .map(|&(name, kernels, arch)| {
                self.compile_module(toolchain, name, arch, kernels, bitcode, scratch)
            })
            .collect()
    }

    /// The architectures that a module of these kernels is compiled for, oldest first.
    fn archs(&self, kernels: &[(String, KernelTraits)]) -> Vec<NvvmArch> {
        let least = kernels
            .iter()
            .filter_map(|(_, traits)| traits.least_arch)
            .fold(self.arch, NvvmArch::max);
        let later = kernels.iter().filter_map(|(_, traits)| traits.later_arch).max();
        [least].into_iter().chain(later.filter(|&later| later > least)).collect()
    }

    /// Optimises one module and prints it as PTX.
    fn compile_module(
        &self,
        toolchain: &Toolchain,
        name: &str,
        arch: NvvmArch,
        kernels: &[(String, KernelTraits)],
        reduced: &Path,
        scratch: &Path,
    ) -> Result<CompiledModule, CudaBuilderError> {
        let line_info = self.line_info && !kernels.iter().any(|(_, traits)| traits.without_lines);
        let optimised = scratch.join(format!("{name}.{arch}.ll"));
        let kernels = kernels.iter().filter(|(_, traits)| traits.is_for(arch));
        internalize(
            toolchain,
            kernels.clone().map(|(name, _)| name.as_str()),
            &optimised.with_extension("list"),
        )?
        // The names of Rust's blocks and values contain hashes. They are discarded, and the PTX has
        // LLVM's numbers instead.
        .arg("-discard-value-names")
        .args((!line_info).then_some("-strip-debug"))
        .arg(format!("-mcpu={arch}"))
        .args(["-passes=internalize,globaldce,default<O3>", "-S"])
        .arg(reduced)
        .arg("-o")
        .arg(&optimised)
        .run("opt")?;
        let mut llvm_ir = read(&optimised)?;
        for (_, traits) in kernels.filter(|(_, traits)| traits.later_arch == Some(arch)) {
            if let (Some(most), Some(later)) = (traits.most_threads, traits.later_most_threads) {
                let [most, later] = [most, later].map(ir::most_threads_attribute);
                llvm_ir = llvm_ir.replace(&most, &later);
                write(&optimised, llvm_ir.clone())?;
            }
        }
        let line_table = if line_info {
            let (numbered, table) = line_info::number(&llvm_ir)?;
            write(&optimised, numbered)?;
            Some(table)
        } else {
            None
        };
        let printed = scratch.join(format!("{name}.{arch}.ptx"));
        tool(toolchain, "llc")
            // Loop strength reduction is off, because it keeps a pointer beside each index, which
            // costs a loop two instructions. ptxas computes addresses at less cost.
            .args(["-O3", "-disable-lsr"])
            .arg(format!("-mcpu={arch}"))
            .arg(format!("-mattr={}", arch.ptx_feature(line_info)))
            .arg(&optimised)
            .arg("-o")
            .arg(&printed)
            .run("llc")?;
        let printed = read(&printed)?;
        let ptx = match line_table {
            Some(table) => table.print(&printed)?,
            None => without_comments(&printed),
        };
        let ptx = narrow::narrow(&read_ptx(name, &ptx)?);
        let llvm_ir = self.emit_llvm_ir.then_some(llvm_ir);
        Ok(CompiledModule { name: name.to_owned(), arch, ptx, llvm_ir })
    }

    fn traits(&self, kernel: &str) -> KernelTraits {
        match &self.rule {
            Some(rule) => rule(kernel),
            None => KernelTraits { module: self.default_module(), ..KernelTraits::default() },
        }
    }

    fn default_module(&self) -> String {
        let folder = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        folder
            .file_name()
            .map_or_else(|| "kernels".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// The folder for cargo's files. It is absolute, because cargo runs in the crate's folder.
    fn cargo_target_dir(&self) -> PathBuf {
        let folder =
            self.target_dir.clone().unwrap_or_else(|| self.path.join("target/cuda-builder"));
        std::path::absolute(&folder).unwrap_or(folder)
    }
}

/// Those of the names that begin most like `name`, at most 20 of them, as a list for people.
fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    const MOST: usize = 20;
    let shared = |other: &str| name.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let longest = names.clone().map(shared).max().unwrap_or(0);
    let similar: Vec<&str> = names.filter(|other| shared(other) == longest).collect();
    let more = if similar.len() > MOST { ", …" } else { "" };
    similar[..similar.len().min(MOST)].join(", ") + more
}

/// The text without its comment lines. They are dropped because LLVM puts two of them around each
/// instruction of inline assembly.
fn without_comments(ptx: &str) -> String {
    let lines = ptx.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Reads a module's PTX. Only the parser reads it, because the validator refuses some faults for
/// which the lint has a better message.
fn read_ptx(name: &str, ptx: &str) -> Result<simt::ptx::ast::Module, CudaBuilderError> {
    simt::ptx::parser::parse(name, ptx)
        .map_err(|diagnostic| CudaBuilderError::UnreadablePtx(Box::new(diagnostic)))
}

/// Reads a module's PTX again and applies the lint to it.
fn lint_module(
    module: &CompiledModule,
    kernels: &[(String, KernelTraits)],
) -> Result<Vec<Finding>, CudaBuilderError> {
    let ast = read_ptx(&module.name, &module.ptx)?;
    let expectation = |traits: &KernelTraits| Expectation {
        element: traits.element.clone(),
        barriers: traits.barriers,
    };
    let kernels =
        kernels.iter().map(|(name, traits)| (name.clone(), expectation(traits))).collect();
    Ok(lint(&ast, &Expectations { kernels }))
}

/// The parameters' names and types as the source has them. If the source is not known, or its
/// number of parameters differs from that of the PTX, they are as the PTX has them.
pub(crate) fn params(info: Option<&str>, types: &[&str]) -> Vec<Param> {
    let named: Vec<Param> = info
        .unwrap_or_default()
        .split(';')
        .filter_map(|param| param.split_once(':'))
        .map(|(name, ty)| Param { name: name.trim().to_owned(), ty: ty.trim().to_owned() })
        .collect();
    if named.len() == types.len() {
        return named;
    }
    let unnamed =
        |(i, ty): (usize, &&str)| Param { name: format!("param_{i}"), ty: (*ty).to_owned() };
    types.iter().enumerate().map(unnamed).collect()
}

/// Unpacks an rlib into the new folder `folder`, and returns its files of bitcode.
fn unpack(
    toolchain: &Toolchain,
    library: &Path,
    folder: &Path,
) -> Result<Vec<PathBuf>, CudaBuilderError> {
    fs::create_dir(folder).map_err(CudaBuilderError::io(folder.display().to_string()))?;
    tool(toolchain, "llvm-ar").arg("x").arg(library).current_dir(folder).run("llvm-ar")?;
    let members =
        fs::read_dir(folder).map_err(CudaBuilderError::io(folder.display().to_string()))?;
    let mut members: Vec<PathBuf> =
        members.filter_map(|member| Some(member.ok()?.path())).collect();
    members.retain(|member| member.extension().is_some_and(|extension| extension == "o"));
    members.sort();
    Ok(members)
}

/// Joins the first file's bitcode with those parts of the other files that it uses.
fn link(toolchain: &Toolchain, objects: &[PathBuf], to: &Path) -> Result<(), CudaBuilderError> {
    // `--only-needed` does not apply to the first file, so all of the crate itself is taken.
    tool(toolchain, "llvm-link")
        .arg("--only-needed")
        .args(objects)
        .arg("-o")
        .arg(to)
        .run("llvm-link")
}

/// The lines of the textual IR in which these files of bitcode define functions and statics. The
/// rest is not kept, because it can be a gigabyte.
fn declarations(toolchain: &Toolchain, objects: &[PathBuf]) -> Result<String, CudaBuilderError> {
    let mut kept = String::new();
    for object in objects {
        let io = || CudaBuilderError::io("cannot run llvm-dis");
        let mut command = tool(toolchain, "llvm-dis");
        command.arg(object).args(["-o", "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(io())?;
        let mut text = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut line = String::new();
        while text.read_line(&mut line).map_err(io())? > 0 {
            if line.starts_with("define ") || line.starts_with('@') {
                kept.push_str(&line);
            }
            line.clear();
        }
        let output = child.wait_with_output().map_err(io())?;
        ended("llvm-dis", &output)?;
    }
    Ok(kept)
}

/// The number of modules that one text holds. More would take memory and space on the disk, and
/// with fewer the bitcode of all kernels would be read more often. All 1600 modules of this
/// repository have a text of 946 MB, and `opt` reads their bitcode in half a minute (2 cores,
/// 2026-11-27).
const PREPARED: usize = 200;

/// The most parts that modules are divided into at once.
const PARTS: usize = 9;

/// A module by its name, and its kernels.
type Module<'a> = (&'a String, &'a Vec<(String, KernelTraits)>);

/// Writes the code that the kernels of these modules reach from one file to another. `to` gets text
/// if its name ends in `.ll`, and bitcode otherwise.
fn reduce(
    toolchain: &Toolchain,
    modules: &[Module<'_>],
    from: &Path,
    to: &Path,
) -> Result<(), CudaBuilderError> {
    let kernels = modules.iter().flat_map(|(_, kernels)| kernels.iter());
    internalize(toolchain, kernels.map(|(name, _)| name.as_str()), &to.with_extension("list"))?
        .arg("-passes=internalize,globaldce")
        .args(to.extension().is_some_and(|extension| extension == "ll").then_some("-S"))
        .arg(from)
        .arg("-o")
        .arg(to)
        .run("opt")
}

/// A command that runs `opt` and makes all symbols internal except the named kernels. The names are
/// passed in a file, because they can be too many for a command line.
fn internalize<'a>(
    toolchain: &Toolchain,
    kernels: impl Iterator<Item = &'a str>,
    list: &Path,
) -> Result<Command, CudaBuilderError> {
    write(list, kernels.collect::<Vec<_>>().join("\n"))?;
    let mut opt = tool(toolchain, "opt");
    opt.arg(format!("-internalize-public-api-file={}", list.display()));
    Ok(opt)
}

fn tool(toolchain: &Toolchain, name: &str) -> Command {
    Command::new(toolchain.llvm.join(name))
}

/// Runs a tool. If the tool fails, the error has the tool's own message.
trait Run {
    fn run(&mut self, tool: &str) -> Result<(), CudaBuilderError>;
}

impl Run for Command {
    fn run(&mut self, tool: &str) -> Result<(), CudaBuilderError> {
        let output = self.output().map_err(CudaBuilderError::io(format!("cannot run {tool}")))?;
        ended(tool, &output)
    }
}

/// An error with the tool's own message, if the tool failed.
fn ended(tool: &str, output: &process::Output) -> Result<(), CudaBuilderError> {
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(CudaBuilderError::Tool { tool: tool.to_owned(), message })
}

/// A command that runs cargo in `folder` with the given compiler. It lacks those environment
/// variables of an outer cargo or of the user that would change the result.
pub(crate) fn cargo_command(cargo: &Path, rustc: &Path, folder: &Path) -> Command {
    let mut command = Command::new(cargo);
    command
        .current_dir(folder)
        .env("RUSTC", rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .stderr(Stdio::inherit());
    let inherited = [
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTUP_TOOLCHAIN",
        "CARGO_BUILD_TARGET",
    ];
    for name in inherited {
        command.env_remove(name);
    }
    command
}

/// Runs cargo and returns the files with the given ending that it made for the device, those of the
/// crate itself first; `None` if it failed.
pub(crate) fn artifacts(
    mut command: Command,
    crate_path: &Path,
    ending: &str,
) -> Result<Option<Vec<PathBuf>>, CudaBuilderError> {
    #[derive(Deserialize)]
    struct Message {
        reason: String,
        #[serde(default)]
        manifest_path: PathBuf,
        #[serde(default)]
        filenames: Vec<PathBuf>,
    }
    let output = command.output().map_err(CudaBuilderError::io("cannot run cargo"))?;
    if !output.status.success() {
        return Ok(None);
    }
    let manifest = crate_path.join("Cargo.toml");
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Message>(line) else {
            continue;
        };
        if message.reason == "compiler-artifact" {
            let own_crate = message.manifest_path == manifest;
            let files = if own_crate { &mut own } else { &mut others };
            // Procedural macros and their dependencies are built for the host.
            let for_device = |file: &PathBuf| {
                file.iter().any(|part| part == DEVICE_TARGET)
                    && file.to_string_lossy().ends_with(ending)
            };
            files.extend(message.filenames.into_iter().filter(for_device));
        }
    }
    own.extend(others);
    Ok(Some(own))
}

/// The folder that the crate's package paths are relative to.
fn workspace_root(toolchain: &Toolchain, path: &Path) -> Result<PathBuf, CudaBuilderError> {
    let output = Command::new(&toolchain.cargo)
        .args(["locate-project", "--workspace", "--message-format=plain"])
        .current_dir(path)
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .map_err(CudaBuilderError::io("cannot run cargo"))?;
    let manifest = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // If cargo does not find the crate's workspace, the build itself fails later, with cargo's own
    // message.
    Ok(manifest.parent().filter(|_| output.status.success()).unwrap_or(path).to_owned())
}

fn read(path: &Path) -> Result<String, CudaBuilderError> {
    fs::read_to_string(path).map_err(CudaBuilderError::io(path.display().to_string()))
}

fn write(path: &Path, text: String) -> Result<(), CudaBuilderError> {
    fs::write(path, text).map_err(CudaBuilderError::io(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_share_the_longest_beginning() {
        let names = ["rows_max_f32", "rows_sum_f32", "rows_sum_u8", "sums_f32"];
        let of = |name: &str| similar(name, names.into_iter());
        assert_eq!(of("rows_sum_f16"), "rows_sum_f32");
        assert_eq!(of("rows_sums"), "rows_sum_f32, rows_sum_u8");
        assert_eq!(of("rows_*"), "rows_max_f32, rows_sum_f32, rows_sum_u8");
        assert_eq!(of("x"), names.join(", "));
        assert_eq!(of(""), names.join(", "));
        let many: Vec<String> = (0..30).map(|i| format!("bins{i:02}")).collect();
        let list = similar("bins", many.iter().map(String::as_str));
        assert!(list.starts_with("bins00, bins01, ") && list.ends_with(", bins19, …"), "{list}");
    }

    #[test]
    fn parameters_come_from_the_source() {
        let params = params(Some("input:*const i32;n:usize"), &["u64", "u64"]);
        assert_eq!(params[0], Param { name: "input".into(), ty: "*const i32".into() });
        assert_eq!(params[1], Param { name: "n".into(), ty: "usize".into() });
    }

    #[test]
    fn unknown_parameters_are_numbered() {
        let expected = [Param { name: "param_0".into(), ty: "u64".into() }];
        assert_eq!(params(None, &["u64"]), expected);
        assert_eq!(params(Some("a:u8;b:u8"), &["u64"]), expected);
    }

    #[test]
    fn a_module_is_compiled_for_what_its_kernels_need_and_for_what_they_do_better_on() {
        let builder = CudaBuilder::new(".");
        let archs = |least_arch, later_arch| {
            let traits = KernelTraits { least_arch, later_arch, ..KernelTraits::default() };
            builder
                .archs(&[("plain".to_owned(), KernelTraits::default()), ("k".to_owned(), traits)])
        };
        assert_eq!(archs(None, None), [NvvmArch::Compute75]);
        assert_eq!(
            archs(None, Some(NvvmArch::Compute90)),
            [NvvmArch::Compute75, NvvmArch::Compute90]
        );
        assert_eq!(archs(Some(NvvmArch::Compute80), None), [NvvmArch::Compute80]);
        assert_eq!(
            archs(Some(NvvmArch::Compute90), Some(NvvmArch::Compute90)),
            [NvvmArch::Compute90]
        );
    }

    #[test]
    fn a_kernel_may_be_for_the_later_architecture_alone() {
        let later_arch = Some(NvvmArch::Compute90);
        let of = |only_later| KernelTraits { later_arch, only_later, ..KernelTraits::default() };
        let archs = [NvvmArch::Compute75, NvvmArch::Compute90];
        assert_eq!(archs.map(|arch| of(false).is_for(arch)), [true, true]);
        assert_eq!(archs.map(|arch| of(true).is_for(arch)), [false, true]);
    }

    #[test]
    fn whole_lines_of_comment_are_left_out() {
        let ptx = "// by LLVM\n\t// begin inline asm\n\tret; // the end\n\t// end inline asm\n";
        assert_eq!(without_comments(ptx), "\tret; // the end\n");
    }

    #[test]
    fn a_folder_without_a_crate_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let message = CudaBuilder::new(folder.path()).build().unwrap_err().to_string();
        assert_eq!(
            message,
            format!(
                "`{}` is not the folder of a crate: it has no Cargo.toml",
                folder.path().display()
            )
        );
    }
}
