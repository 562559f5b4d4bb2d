//! Undefined values on their way through calls by addresses, `printf`, atomics on vectors, and
//! instructions on 128 bits.

use simt::LaunchConfig;
use simt::ReportKind::UninitializedRead;
use simt::Severity::{Error, Warning};

use crate::severities::found_in;
use crate::{kernel, kernel_beside};

/// A function that adds 100.
const FUNCTION: &str = "
.func (.param .b32 r) f(.param .b32 x) {
    .reg .b32 %a<2>; ld.param.u32 %a0, [x]; add.u32 %a1, %a0, 100; st.param.b32 [r], %a1; ret; }";

#[test]
fn calls_by_addresses_use_the_address_and_pass_arguments_on() {
    let call = |before: &str, argument: &str, then: &str| {
        let body = format!(
            "mov.u64 %d2, f; {before}
            {{ .param .b32 p; .param .b32 q; st.param.b32 [p], {argument};
            any: .callprototype (.param .b32 _) _ (.param .b32 _);
            call (q), %d2, (p), any; ld.param.b32 %r2, [q]; }}
            {then}"
        );
        found_in(LaunchConfig::new(1, 40), &kernel_beside(FUNCTION, &body))
    };
    let store = "st.global.u32 [%d12], %r2;";
    assert_eq!(call("", "%r10", store), []);
    // The sum is right, but nothing says so.
    let address = "ld.shared.u64 %d1, [s]; mul.lo.u64 %d1, %d1, 0; add.u64 %d2, %d2, %d1;";
    assert_eq!(call(address, "%r10", store), [(UninitializedRead, Error)]);
    let argument = "ld.shared.u32 %r1, [s];";
    assert_eq!(call(argument, "%r1", store), [(UninitializedRead, Error)]);
    assert_eq!(call(argument, "%r1", ""), [(UninitializedRead, Warning)]);
}

#[test]
fn printf_uses_what_it_prints() {
    let print = |before: &str| {
        let declarations = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
            .global .align 1 .b8 text[6] = {37, 99, 37, 100, 10, 0};";
        let body = format!(
            ".local .align 8 .b8 buffer[16]; mov.u64 %d1, buffer; cvta.local.u64 %d2, %d1;
            mov.u64 %d3, text; cvta.global.u64 %d3, %d3; {before}
            {{ .param .b64 p; .param .b64 q; .param .b32 c;
            st.param.b64 [p], %d3; st.param.b64 [q], %d2;
            call (c), vprintf, (p, q); ld.param.b32 %r5, [c]; }}
            st.global.u32 [%d12], %r5;"
        );
        found_in(LaunchConfig::new(1, 2), &kernel_beside(declarations, &body))
    };
    // `%c%d` takes eight bytes, and the others are not used.
    assert_eq!(print("st.local.v2.u32 [%d1], {65, %r10};"), []);
    assert_eq!(print("st.local.u32 [%d1], 65;"), [(UninitializedRead, Error)]);
    assert_eq!(
        print("ld.shared.u32 %r1, [s]; st.local.v2.u32 [%d1], {65, %r1};"),
        [(UninitializedRead, Error)]
    );
    let address = "st.local.v2.u32 [%d1], {65, 1}; ld.shared.u64 %d4, [s]; mul.lo.u64 %d4, %d4, 0; add.u64 %d2, %d2, %d4;";
    assert_eq!(print(address), [(UninitializedRead, Error)]);
}

#[test]
fn both_halves_of_128_bits_are_followed() {
    let one = |body: &str| {
        found_in(LaunchConfig::new(1, 1), &kernel(&format!(".reg .b128 %q<4>; {body}")))
    };
    // The upper half of the old value is undefined.
    let exchange = |half: &str| {
        one(&format!(
            "st.shared.u64 [s], 1; mov.b128 %q1, {{3, 4}}; atom.shared.exch.b128 %q2, [s], %q1;
            mov.b128 {{%d1, %d2}}, %q2; st.global.u64 [%d11], {half};"
        ))
    };
    assert_eq!(exchange("%d1"), [(UninitializedRead, Warning)]);
    assert_eq!(exchange("%d2"), [(UninitializedRead, Error)]);
    // The upper half of a new value is undefined.
    let give =
        "ld.shared.u64 %d1, [s]; mov.b128 %q1, {3, %d1}; atom.global.exch.b128 %q2, [%d11], %q1;";
    assert_eq!(one(give), [(UninitializedRead, Error)]);
    let load = "st.shared.u64 [s], 1; ld.shared.b128 %q1, [s]; mov.b128 {%d1, %d2}, %q1;";
    assert_eq!(one(&format!("{load} st.global.u64 [%d11], %d1;")), [(UninitializedRead, Warning)]);
    assert_eq!(one(&format!("{load} st.global.u64 [%d11], %d2;")), [(UninitializedRead, Error)]);
}

#[test]
fn atomics_on_vectors_are_atomics_on_their_elements() {
    let found = |body: &str| {
        let body = format!(".reg .f32 %f<4>; mov.f32 %f1, 0f3F800000; {body}");
        found_in(LaunchConfig::new(4, 1), &kernel(&body))
    };
    let second = "red.global.add.f32 [%d11+4], %f1;";
    assert_eq!(found(&format!("red.global.add.v2.f32 [%d11], {{%f1, %f1}}; {second}")), []);
    let undefined = "ld.shared.f32 %f2, [s]; red.global.add.v2.f32 [%d11], {%f1, %f2};";
    assert_eq!(found(undefined), [(UninitializedRead, Error)]);
}
