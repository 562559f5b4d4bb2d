//! The device side of warpfold: the part of rust-cuda's `cuda_std` that its kernels use, on rustc's
//! own NVPTX backend.
//!
//! Names and signatures are rust-cuda's, so that a kernel written against this crate compiles with
//! rust-cuda's compiler and its `cuda_std` too. Functions that rust-cuda lacks are in [`ext`].
//!
//! On the device (`target_os = "cuda"`) each function is one PTX instruction, or a few. On the host
//! everything compiles and is documented, but each function panics when it is called:
//!
//! ```should_panic
//! // "`thread_idx_x` runs on the GPU only: this is its host stand-in"
//! cuda_std::thread::thread_idx_x();
//! ```
//!
//! # Shared memory
//!
//! Dynamic shared memory comes from [`shared::dynamic_shared_mem`]; static shared memory is a
//! `static mut` of `MaybeUninit`s under [`address_space`]`(shared)`. Both become
//! `ld.shared`/`st.shared`, provided that the kernel is built by `cuda_builder`, which gives them
//! their address space after rustc is done.
//!
//! # Constant memory
//!
//! Constant memory is a `static` under [`address_space`]`(constant)`, with its value in the source.
//! It is read by `ld.const`, and a module can have at most 64 KiB of it.

#![cfg_attr(target_os = "cuda", no_std)]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(target_os = "cuda", allow(internal_features))]
// Every device function is inlined, because a call goes through memory.
#![allow(clippy::inline_always)]

pub mod ext;
pub mod shared;
pub mod thread;
pub mod warp;

pub use cuda_std_macros::{address_space, gpu_only, kernel};

/// The items that nearly every kernel imports.
pub mod prelude {
    pub use crate::{address_space, kernel, shared, thread, warp};
}

/// A panic on the device stops the launch with `trap`, because no caller could catch it.
#[cfg(target_os = "cuda")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo) -> ! {
    unsafe extern "C" {
        #[link_name = "llvm.trap"]
        fn trap() -> !;
    }
    // SAFETY: `trap` has no precondition.
    unsafe { trap() }
}
