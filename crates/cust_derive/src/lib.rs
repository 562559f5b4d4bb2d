//! The derive macro `DeviceCopy`. The crate `cust` exports it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Field, parse_macro_input, parse_quote};

/// Implements `cust::memory::DeviceCopy` for a type whose fields are all `DeviceCopy`. The
/// implementation requires that every type parameter is `DeviceCopy` too.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(parse_macro_input!(input as DeriveInput)).into()
}

fn expand(input: DeriveInput) -> TokenStream {
    let DeriveInput { ident, mut generics, data, .. } = input;
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::cust::memory::DeviceCopy));
    }
    let fields: Vec<Field> = match data {
        Data::Struct(data) => data.fields.into_iter().collect(),
        Data::Enum(data) => data.variants.into_iter().flat_map(|variant| variant.fields).collect(),
        Data::Union(data) => data.fields.named.into_iter().collect(),
    };
    let types = fields.iter().map(|field| &field.ty);
    let (implementing, arguments, conditions) = generics.split_for_impl();
    quote! {
        const _: () = {
            // Each call compiles only if the type of the field is `DeviceCopy`.
            #[allow(dead_code)]
            fn fields_are_device_copy #implementing () #conditions {
                fn is_device_copy<T: ::cust::memory::DeviceCopy>() {}
                #(is_device_copy::<#types>();)*
            }

            // SAFETY: all fields are `DeviceCopy`.
            unsafe impl #implementing ::cust::memory::DeviceCopy for #ident #arguments #conditions {}
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expansion of a type, without spaces. Parsing it as a file proves that it is valid Rust.
    fn expanded(input: DeriveInput) -> String {
        let file: syn::File = syn::parse2(expand(input)).unwrap();
        quote!(#file).to_string().replace(' ', "")
    }

    #[test]
    fn every_field_is_named_and_every_parameter_bound() {
        let text = expanded(parse_quote! {
            struct Pair<'a, T: Copy, const N: usize> where T: 'a { first: [T; N], second: PhantomData<&'a ()> }
        });
        assert!(text.contains("is_device_copy::<[T;N]>();"), "{text}");
        assert!(text.contains("is_device_copy::<PhantomData<&'a()>>();"), "{text}");
        assert!(text.contains("impl<'a,T:Copy+::cust::memory::DeviceCopy,constN:usize>"), "{text}");
        assert!(text.contains("forPair<'a,T,N>whereT:'a"), "{text}");
    }

    #[test]
    fn enums_and_unions_have_fields_too() {
        let text = expanded(parse_quote! { enum Shape { Point, Circle(f32), Box { side: f64 } } });
        assert!(text.contains("is_device_copy::<f32>();is_device_copy::<f64>();"), "{text}");
        let text = expanded(parse_quote! { union Word { number: u32, bytes: [u8; 4] } });
        assert!(text.contains("is_device_copy::<u32>();is_device_copy::<[u8;4]>();"), "{text}");
    }
}
