//! The attribute macros of `cuda_std`. Use them through that crate: it re-exports all three.
//!
//! Names and meaning follow rust-cuda's `cuda_std_macros`, so that a kernel source compiles with
//! either.

mod kernel;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, ItemStatic, StaticMutability, parse_macro_input};

/// Makes an `unsafe fn` an entry point of the PTX module, under its own name.
///
/// The function must be `unsafe`, not generic, return nothing and take only `Copy` parameters. On
/// the host it stays an ordinary function, which documents the kernel and type-checks it.
///
/// On the device the macro also emits a second item, `__kernel_info_<name>`. It holds the
/// parameters' names and types as text (`input:*const i32;n:usize`). `cuda_builder` reads it from
/// the bitcode and drops it from the PTX.
///
/// ```
/// use cuda_std::kernel;
///
/// #[kernel]
/// pub unsafe fn fill(data: *mut i32, value: i32) {
///     let i = cuda_std::thread::index_1d() as usize;
///     // SAFETY: the launch gives one thread to each element of `data`.
///     unsafe { data.add(i).write(value) };
/// }
/// ```
///
/// A function that breaks these rules does not compile: a safe function, a generic one, one that
/// returns a value, or one with a parameter that is not `Copy`.
///
/// ```compile_fail
/// #[cuda_std::kernel]
/// pub fn fill(data: *mut i32, value: i32) {}
/// ```
/// ```compile_fail
/// #[cuda_std::kernel]
/// pub unsafe fn fill<T>(data: *mut T, value: i32) {}
/// ```
/// ```compile_fail
/// #[cuda_std::kernel]
/// pub unsafe fn fill(data: *mut i32) -> i32 { 0 }
/// ```
/// ```compile_fail
/// #[cuda_std::kernel]
/// pub unsafe fn fill(data: *mut i32, value: &mut i32) {}
/// ```
#[proc_macro_attribute]
pub fn kernel(_attributes: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(parse_macro_input!(item as ItemFn))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Places a static in an address space of the device.
///
/// `#[address_space(shared)]`, on a `static mut` of `MaybeUninit`s, gives every block its own copy,
/// which is undefined at first. `#[address_space(constant)]`, on a `static`, puts its value in
/// constant memory, which all threads read through the constant cache; a module can have at most 64
/// KiB of it. On the host the attribute changes nothing.
///
/// ```
/// use core::mem::MaybeUninit;
/// use cuda_std::address_space;
///
/// #[address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 256] = [const { MaybeUninit::uninit() }; 256];
/// #[address_space(constant)]
/// static WEIGHTS: [f32; 3] = [0.25, 0.5, 0.25];
///
/// let tile = (&raw mut TILE).cast::<f32>();
/// assert!(!tile.is_null());
/// assert_eq!(WEIGHTS[1], 0.5);
/// ```
/// ```compile_fail
/// #[cuda_std::address_space(local)]
/// static mut TILE: [i32; 256] = [0; 256];
/// ```
/// ```compile_fail
/// #[cuda_std::address_space(constant)]
/// static mut WEIGHTS: [f32; 3] = [0.25, 0.5, 0.25];
/// ```
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    let space = parse_macro_input!(space as syn::Ident);
    let item = parse_macro_input!(item as ItemStatic);
    let refused = |message: String| {
        TokenStream::from(syn::Error::new(space.span(), message).to_compile_error())
    };
    let section = match space.to_string().as_str() {
        "shared" => ".shared",
        "constant" if matches!(item.mutability, StaticMutability::None) => ".constant",
        "constant" => {
            return refused("constant memory is for a `static`: no thread can write it".to_owned());
        }
        other => {
            return refused(format!(
                "address space `{other}` is not supported; `shared` and `constant` are"
            ));
        }
    };
    quote! {
        #[cfg_attr(target_os = "cuda", unsafe(link_section = #section))]
        #item
    }
    .into()
}

/// Gives a device function a stand-in for the host, which panics with a sentence that names the
/// function.
///
/// The body is compiled for the device only, so it may use items that the host lacks.
#[proc_macro_attribute]
pub fn gpu_only(_attributes: TokenStream, item: TokenStream) -> TokenStream {
    let ItemFn { attrs, vis, sig, block } = parse_macro_input!(item as ItemFn);
    let name = sig.ident.to_string();
    quote! {
        #[cfg(target_os = "cuda")]
        #(#attrs)* #vis #sig #block

        #[cfg(not(target_os = "cuda"))]
        #[allow(unused_variables, clippy::missing_panics_doc)]
        #(#attrs)* #vis #sig {
            ::core::panic!("`{}` runs on the GPU only: this is its host stand-in", #name)
        }
    }
    .into()
}
