use std::io;
use std::path::PathBuf;

use crate::lint::Finding;
use crate::toolchain::ToolchainError;

/// Why a crate did not become PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The path given to [`CudaBuilder::new`](crate::CudaBuilder::new) has no `Cargo.toml`.
    #[error("`{}` is not the folder of a crate: it has no Cargo.toml", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// No matching compiler, source of `core` and LLVM tools.
    #[error(transparent)]
    NoToolchain(#[from] ToolchainError),
    /// The crate does not compile; rustc has said why on stderr.
    #[error("the kernels in `{}` do not compile: see rustc's message above", .0.display())]
    BuildFailed(PathBuf),
    /// An LLVM tool failed.
    #[error("{tool} failed: {message}")]
    Tool {
        /// The tool's name.
        tool: String,
        /// What it wrote on stderr.
        message: String,
    },
    /// The crate exports no kernel.
    #[error("`{}` exports no kernel: mark one with #[kernel]", .0.display())]
    NoKernels(PathBuf),
    /// [`CudaBuilder::only`](crate::CudaBuilder::only) names a module that no kernel belongs to.
    #[error("no kernel belongs to a module `{name}`: the modules are {modules}")]
    UnknownModule {
        /// The module that was asked for.
        name: String,
        /// The modules that there are.
        modules: String,
    },
    /// A static in shared memory has an initial value, which PTX does not allow.
    #[error(
        "`{0}` is in shared memory and must be uninitialised: make it an array of MaybeUninit::uninit()"
    )]
    SharedInitializer(String),
    /// A static in constant memory can be written, which no thread could do.
    #[error(
        "`{0}` is in constant memory and must be a `static`, not a `static mut`, without interior mutability"
    )]
    MutableConstant(String),
    /// The PTX cannot be read back, which is a fault of this workspace and not of the kernels.
    #[error("the PTX cannot be read back: {0}")]
    UnreadablePtx(Box<simt::ptx::Diagnostic>),
    /// The LLVM IR or the PTX is not as LLVM prints it, so that the lines of the source cannot be
    /// put in.
    #[error("the PTX cannot be given the source's lines: {0}")]
    LineInfo(String),
    /// The kernels compile to what they must not contain.
    #[error("the PTX breaks the lint:\n  {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  "))]
    Lint(Vec<Finding>),
    /// The codegen backend cannot be used.
    #[error("{0}")]
    Backend(String),
    /// The finished PTX could not be written to where `copy_to` wants it.
    #[error("the PTX file could not be copied: {0}")]
    FailedToCopyPtxFile(io::Error),
    /// A file or a program is not there or not usable.
    #[error("{what}: {cause}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's answer.
        cause: io::Error,
    },
}

impl CudaBuilderError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Self::Io { what, cause }
    }
}
