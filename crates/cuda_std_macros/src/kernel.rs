//! Expansion of `#[kernel]`.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, FnArg, ItemFn, Result, ReturnType, Type, parse_quote};

/// Checks that the function may be a kernel, and turns it into an entry point and a description of
/// its parameters.
pub(crate) fn expand(mut item: ItemFn) -> Result<TokenStream> {
    if item.sig.unsafety.is_none() {
        return Err(Error::new_spanned(
            item.sig.fn_token,
            "a kernel must be an `unsafe fn`: its launch is unchecked",
        ));
    }
    if !item.sig.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &item.sig.generics,
            "a kernel cannot be generic: stamp out one per type",
        ));
    }
    if let ReturnType::Type(_, ty) = &item.sig.output {
        return Err(Error::new_spanned(
            ty,
            "a kernel returns nothing: write results through a pointer",
        ));
    }

    let mut description = Vec::new();
    let mut types = Vec::new();
    for parameter in &item.sig.inputs {
        let FnArg::Typed(parameter) = parameter else {
            return Err(Error::new_spanned(parameter, "a kernel cannot be a method"));
        };
        description.push(format!(
            "{}:{}",
            parameter.pat.to_token_stream(),
            type_text(&parameter.ty)
        ));
        types.push(parameter.ty.clone());
    }
    // This code never runs. It makes the compiler check every parameter's type.
    let check: syn::Stmt = parse_quote! {
        const _: fn() = || {
            fn kernel_parameter_must_be_copy<T: Copy>() {}
            #(kernel_parameter_must_be_copy::<#types>();)*
        };
    };
    item.block.stmts.insert(0, check);

    let info_name = format_ident!("__kernel_info_{}", item.sig.ident);
    let info = Literal::byte_string(description.join(";").as_bytes());
    let info_length = description.join(";").len();

    let mut device = item.clone();
    device.sig.abi = Some(parse_quote!(extern "ptx-kernel"));
    Ok(quote! {
        #[cfg(target_os = "cuda")]
        #[unsafe(no_mangle)]
        #device

        #[cfg(target_os = "cuda")]
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        #[unsafe(no_mangle)]
        pub static #info_name: [u8; #info_length] = *#info;

        #[cfg(not(target_os = "cuda"))]
        #item
    })
}

/// The type as rustfmt would write it, such as `*const i32`. It is built here because a token
/// stream prints a space after every token.
fn type_text(ty: &Type) -> String {
    match ty {
        Type::Ptr(pointer) if pointer.mutability.is_some() => {
            format!("*mut {}", type_text(&pointer.elem))
        }
        Type::Ptr(pointer) => format!("*const {}", type_text(&pointer.elem)),
        // `macro_rules!` wraps each `$t:ty` in an invisible group.
        Type::Group(group) => type_text(&group.elem),
        other => other.to_token_stream().to_string().replace(' ', ""),
    }
}
