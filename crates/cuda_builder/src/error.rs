use std::io;
use std::path::PathBuf;

use crate::lint::Finding;
use crate::toolchain::ToolchainError;

/// The reason why a crate was not compiled to PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The path given to [`CudaBuilder::new`](crate::CudaBuilder::new) has no `Cargo.toml`.
    #[error("`{}` is not the folder of a crate: it has no Cargo.toml", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// There is no set of a compiler, the source of `core` and LLVM tools of one version.
    #[error(transparent)]
    NoToolchain(#[from] ToolchainError),
    /// The crate does not compile. rustc has written the reason to stderr.
    #[error("the kernels in `{}` do not compile: see rustc's message above", .0.display())]
    BuildFailed(PathBuf),
    /// An LLVM tool failed.
    #[error("{tool} failed: {message}")]
    Tool {
        /// The tool's name.
        tool: String,
        /// The text that it wrote to stderr.
        message: String,
    },
    /// The crate exports no kernel.
    #[error("`{}` exports no kernel: mark one with #[kernel]", .0.display())]
    NoKernels(PathBuf),
    /// [`CudaBuilder::only`](crate::CudaBuilder::only) names a module that no kernel belongs to.
    #[error("no kernel belongs to a module `{name}`: similar modules are {modules}")]
    UnknownModule {
        /// The module that was asked for.
        name: String,
        /// The modules whose names begin most like it, at most 20 of them.
        modules: String,
    },
    /// A static in shared memory has an initial value, which PTX does not allow.
    #[error(
        "`{0}` is in shared memory and must be uninitialised: make it an array of MaybeUninit::uninit()"
    )]
    SharedInitializer(String),
    /// A static in constant memory is declared as one that can be written, but no thread can write
    /// constant memory.
    #[error(
        "`{0}` is in constant memory and must be a `static`, not a `static mut`, without interior mutability"
    )]
    MutableConstant(String),
    /// The PTX cannot be read back, which is a fault of this workspace and not of the kernels.
    #[error("the PTX cannot be read back: {0}")]
    UnreadablePtx(Box<simt::ptx::Diagnostic>),
    /// The LLVM IR or the PTX does not have the form in which LLVM prints it, so the lines of the
    /// source cannot be put in.
    #[error("the PTX cannot be given the source's lines: {0}")]
    LineInfo(String),
    /// The lint found faults in the kernels' PTX.
    #[error(
        "the PTX breaks the lint:\n  {}",
        .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  ")
    )]
    Lint(Vec<Finding>),
    /// The codegen backend cannot be used.
    #[error("{0}")]
    Backend(String),
    /// The finished PTX could not be written to the path that `copy_to` names.
    #[error("the PTX file could not be copied: {0}")]
    FailedToCopyPtxFile(io::Error),
    /// A file or a program does not exist or cannot be used.
    #[error("{what}: {cause}")]
    Io {
        /// The action that failed.
        what: String,
        /// The system's error.
        cause: io::Error,
    },
}

impl CudaBuilderError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Self::Io { what, cause }
    }
}
