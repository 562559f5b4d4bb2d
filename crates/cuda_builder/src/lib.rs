//! Compiles a Rust crate of kernels to PTX.
//!
//! The API is that of rust-cuda's crate of the same name, but the compiler is rustc with its own
//! `nvptx64-nvidia-cuda` target:
//!
//! 1. cargo builds the crate, and `core` with it, to LLVM bitcode that no LLVM pass has touched
//!    yet;
//! 2. `llvm-link` joins the crate's bitcode with those parts of its dependencies that it uses, and
//!    `opt` divides the joined code into parts, each of some of the modules;
//! 3. [`ir`] rewrites the text of each part: statics of the section `.shared` move to the shared
//!    address space, and the intrinsics that Rust cannot express are defined;
//! 4. for each module `opt` keeps the module's kernels, drops the rest and optimises, and `llc`
//!    prints PTX, in which [`generate_line_info`](CudaBuilder::generate_line_info) puts the
//!    sources' lines, and in which stores that ptxas would get wrong are rewritten;
//! 5. [`lint`] reads the PTX again, and a finding fails the build;
//! 6. the facts that the host must know about each kernel are read back into the types of
//!    [`manifest`].
//!
//! rustc, the source of `core` and the LLVM tools must be of one version: [`Toolchain::find`] looks
//! for such a set.
//!
//! A program that only loads the PTX needs nothing but the types of [`manifest`]. Without the
//! default feature `build` the crate has nothing else, and compiles quickly.
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! let ptx = CudaBuilder::new("kernels").arch(NvvmArch::Compute80).copy_to("kernels.ptx").build()?;
//! println!("wrote {}", ptx.display());
//! # Ok::<(), cuda_builder::CudaBuilderError>(())
//! ```

#[cfg(feature = "build")]
mod arch;
#[cfg(feature = "build")]
mod builder;
#[cfg(feature = "build")]
mod error;
#[cfg(feature = "build")]
pub mod foreign;
#[cfg(feature = "build")]
pub mod ir;
#[cfg(feature = "build")]
mod line_info;
#[cfg(feature = "build")]
pub mod lint;
pub mod manifest;
#[cfg(feature = "build")]
mod narrow;
#[cfg(feature = "build")]
pub mod ptx;
#[cfg(feature = "build")]
pub mod sources;
#[cfg(feature = "build")]
mod toolchain;

#[cfg(feature = "build")]
pub use {
    arch::{NvvmArch, UnknownArch},
    builder::{CompiledModule, CudaBuilder, KernelTraits, Output},
    error::CudaBuilderError,
    toolchain::{Rejected, Toolchain, ToolchainError},
};
