//! Builds kernels with a rustc codegen backend that is a shared library, such as rust-cuda's
//! `rustc_codegen_nvvm`.
//!
//! Such a backend is loaded by the rustc that it was built for, and writes finished PTX itself. It
//! builds the same kernel sources, as a `cdylib` that depends on the backend's own `cuda_std`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arch::NvvmArch;
use crate::builder::{
    CompiledModule, DEVICE_TARGET, KernelTraits, Output, artifacts, cargo_command, params,
};
use crate::error::CudaBuilderError;
use crate::manifest::{Kernel, Param};
use crate::ptx;
use crate::toolchain::versions;

/// The compiler, the crate and the folders for a build with a foreign codegen backend.
#[derive(Clone, Debug)]
pub struct ForeignBackend {
    /// The backend's shared library.
    pub backend: PathBuf,
    /// The rustc that the backend was built for. The `cargo` beside it is used if there is one,
    /// else that on the PATH.
    pub rustc: PathBuf,
    /// The folder of the backend's `cuda_std` crate.
    pub cuda_std: PathBuf,
    /// The architecture to compile for.
    pub arch: NvvmArch,
    /// A folder for the temporary package and for the files that cargo builds.
    pub target_dir: PathBuf,
}

impl ForeignBackend {
    /// Compiles the library whose root is the file `kernels`. All of its kernels go to one module,
    /// which is named `kernels`.
    ///
    /// The names and types of a kernel's parameters are taken from `known` if a kernel of that name
    /// there has parameters of the same number and sizes. Otherwise the parameters are numbered.
    ///
    /// # Errors
    /// A file is missing, the backend belongs to another compiler, or the sources do not compile
    /// with it (rustc's own message is on stderr).
    pub fn compile(
        &self,
        kernels: &Path,
        known: &[Kernel],
        traits: impl Fn(&str) -> KernelTraits,
    ) -> Result<Output, CudaBuilderError> {
        let absolute = self.checked(kernels)?;
        let (mut toolchain, _) =
            versions(&absolute.rustc(&["-vV"])?).map_err(CudaBuilderError::Backend)?;
        absolute.probe(&toolchain.rustc)?;
        let name = absolute.backend.file_name().unwrap_or_default();
        toolchain.codegen = name.to_string_lossy().into_owned();

        let package = absolute.write_package(kernels)?;
        let files = artifacts(absolute.command(&package), &package, ".ptx")?
            .ok_or_else(|| CudaBuilderError::BuildFailed(kernels.to_owned()))?;
        let [file] = files.as_slice() else {
            return Err(CudaBuilderError::Backend(format!(
                "the codegen backend `{}` made {} PTX files where one was meant",
                absolute.backend.display(),
                files.len()
            )));
        };
        let ptx =
            fs::read_to_string(file).map_err(CudaBuilderError::io(file.display().to_string()))?;
        // The version is not that of the LLVM in this rustc, because the backend has its own.
        ptx::nvvm_version(&ptx).unwrap_or("unknown").clone_into(&mut toolchain.llvm);

        let module = MODULE.to_owned();
        let mut kernels: Vec<Kernel> = ptx::entries(&ptx)
            .into_iter()
            .map(|entry| {
                let KernelTraits { element, op, block_size, .. } = traits(entry.name);
                let known = known.iter().find(|kernel| kernel.name == entry.name);
                let unnamed = params(None, &entry.params);
                Kernel {
                    name: entry.name.to_owned(),
                    module: module.clone(),
                    params: known
                        .map(|kernel| &kernel.params)
                        .filter(|known| fit(known, &unnamed))
                        .cloned()
                        .unwrap_or(unnamed),
                    block_size,
                    element,
                    op,
                    shared: entry.shared,
                    static_shared_bytes: entry.static_shared_bytes,
                }
            })
            .collect();
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        let modules = vec![CompiledModule { name: module, arch: self.arch, ptx, llvm_ir: None }];
        Ok(Output { toolchain, modules, kernels })
    }

    /// Returns the same values with absolute paths, after checking that each file exists.
    fn checked(&self, kernels: &Path) -> Result<Self, CudaBuilderError> {
        let find = |what: &str, path: &Path, file: &Path| {
            if !file.is_file() {
                return Err(CudaBuilderError::Backend(format!(
                    "{what} `{}` is not there",
                    file.display()
                )));
            }
            std::path::absolute(path).map_err(CudaBuilderError::io(path.display().to_string()))
        };
        find("the kernels' root", kernels, kernels)?;
        Ok(Self {
            backend: find("the codegen backend", &self.backend, &self.backend)?,
            rustc: find("the compiler", &self.rustc, &self.rustc)?,
            cuda_std: find(
                "the manifest of cuda_std",
                &self.cuda_std,
                &self.cuda_std.join("Cargo.toml"),
            )?,
            arch: self.arch,
            target_dir: std::path::absolute(&self.target_dir)
                .map_err(CudaBuilderError::io(self.target_dir.display().to_string()))?,
        })
    }

    /// Runs the compiler and returns what it prints.
    fn rustc(&self, args: &[&str]) -> Result<String, CudaBuilderError> {
        let output =
            Command::new(&self.rustc).args(args).env("RUSTC_BOOTSTRAP", "1").output().map_err(
                CudaBuilderError::io(format!("cannot run the compiler `{}`", self.rustc.display())),
            )?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(CudaBuilderError::Tool {
            tool: self.rustc.display().to_string(),
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Lets the compiler load the backend once, because cargo would report a failure with a page of
    /// text.
    fn probe(&self, rustc: &str) -> Result<(), CudaBuilderError> {
        let backend = format!("-Zcodegen-backend={}", self.backend.display());
        match self.rustc(&[&backend, "--target", DEVICE_TARGET, "--print", "cfg"]) {
            Err(CudaBuilderError::Tool { message, .. }) => Err(CudaBuilderError::Backend(format!(
                "`{}` is no codegen backend for {rustc}: {}",
                self.backend.display(),
                message.lines().next().unwrap_or_default().trim_start_matches("error: ")
            ))),
            result => result.map(|_| ()),
        }
    }

    /// Writes a package that has the kernels' sources at their place, the backend's `cuda_std`, and
    /// the versions that this `cuda_std` is locked to. Returns the package's folder.
    fn write_package(&self, kernels: &Path) -> Result<PathBuf, CudaBuilderError> {
        let folder = self.target_dir.join("package");
        let kernels = fs::canonicalize(kernels)
            .map_err(CudaBuilderError::io(kernels.display().to_string()))?;
        // A TOML literal string takes a path as it is.
        let manifest = format!(
            "[package]\nname = \"kernels\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = '{}'\n\n\
             [features]\n{FEATURE} = []\n\n[dependencies]\n{NAMES}\ncuda_std = {{ path = '{}' }}\n\n[workspace]\n",
            kernels.display(),
            self.cuda_std.display()
        );
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join("Cargo.toml"), manifest))
            .map_err(CudaBuilderError::io(folder.display().to_string()))?;
        // The lock file is copied, because cuda_std need not compile with the newest versions of
        // its dependencies.
        if let Some(lock) =
            self.cuda_std.ancestors().map(|at| at.join("Cargo.lock")).find(|lock| lock.is_file())
        {
            let text = fs::read(&lock).map_err(CudaBuilderError::io(lock.display().to_string()))?;
            let copy = folder.join("Cargo.lock");
            fs::write(&copy, text).map_err(CudaBuilderError::io(copy.display().to_string()))?;
        }
        Ok(folder)
    }

    /// The command for the build itself. Its flags are those of rust-cuda's own cuda_builder, and
    /// one more.
    fn command(&self, package: &Path) -> Command {
        let flags = [
            format!("-Zcodegen-backend={}", self.backend.display()),
            "-Zunstable-options".to_owned(),
            "-Zcrate-attr=feature(register_tool)".to_owned(),
            "-Zcrate-attr=register_tool(nvvm_internal)".to_owned(),
            "-Zcrate-attr=no_std".to_owned(),
            "-Zsaturating_float_casts=false".to_owned(),
            "-Cpanic=immediate-abort".to_owned(),
            // The backend would run passes before those of libNVVM, and they duplicate barriers
            // into divergent branches.
            "-Cno-prepopulate-passes".to_owned(),
            format!("-Cllvm-args=-arch={}", self.arch.compute()),
        ];
        let beside = self.rustc.with_file_name(format!("cargo{}", std::env::consts::EXE_SUFFIX));
        let cargo = if beside.is_file() { beside } else { PathBuf::from("cargo") };
        let mut command = cargo_command(&cargo, &self.rustc, package);
        command
            .args([
                "rustc",
                "--lib",
                "--crate-type",
                "cdylib",
                "--release",
                "-Zbuild-std=core,alloc",
            ])
            .arg(format!("--target={DEVICE_TARGET}"))
            .arg("--message-format=json-render-diagnostics")
            .arg("--target-dir")
            .arg(&self.target_dir)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .env("CARGO_FEATURE_NO_F16_F128", "1");
        command
    }
}

/// The name of the only module.
const MODULE: &str = "kernels";

/// The dependency on the macro crate that joins the kernels' names. It is the same as in the
/// kernels' own manifest.
const NAMES: &str = "pastey = \"0.2\"";

/// The feature of the kernels that is off in a build with such a backend, because its `cuda_std`
/// lacks the functions that the feature needs. It is declared so that rustc knows the name.
const FEATURE: &str = "ext";

/// True if the source's parameters have the number and the sizes of those in the PTX.
fn fit(source: &[Param], ptx: &[Param]) -> bool {
    source.len() == ptx.len()
        && source.iter().zip(ptx).all(|(a, b)| a.size().is_some() && a.size() == b.size())
}
