//! Kernels that cannot be run, in modules whose other kernels can.

use insta::assert_snapshot;
use simt::{LaunchConfig, LaunchError, LoadError, Memory, Module, launch_named};

/// A module with the kernels `k`, whose body is `body`, and `good`.
fn module(declarations: &str, body: &str) -> Result<Module, LoadError> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{declarations}\n\
         .entry k() {{ .reg .f64 %g<4>; .reg .b32 %r<4>; .reg .b64 %d<4>; \n{body}\n ret; }}\n\
         .entry good() {{ ret; }}"
    );
    Module::from_ptx("refused.ptx", &text)
}

/// The error of a launch of `k`, after `good` has run.
fn refused(declarations: &str, body: &str) -> String {
    let module = module(declarations, body).unwrap_or_else(|error| panic!("{error}"));
    let launch = |kernel| {
        launch_named(&module, kernel, &LaunchConfig::new(1, 1), &[], &Memory::new(1 << 20))
    };
    launch("good").unwrap_or_else(|error| panic!("{error}"));
    let Err(error @ LaunchError::Unsupported { .. }) = launch("k") else {
        panic!("it must be refused: {body}")
    };
    let reason = error.to_string();
    reason.strip_prefix("kernel `k` cannot be run: refused.ptx:").unwrap_or(&reason).to_owned()
}

#[test]
fn unknown_forms_refuse_the_kernel() {
    assert_snapshot!(refused("", "shll.b32 %r0, {%r1, %r2}, [%d1+4], (3);"), @"6:1: unknown instruction `shll.b32`: `shll.b32 %r0, {%r1, %r2}, [%d1+4], (3);`");
    assert_snapshot!(refused("", "add.frob.u32 %r0, %r1, %r2;"), @"6:1: unknown modifier `.frob` in `add.frob.u32`: `add.frob.u32 %r0, %r1, %r2;`");
    assert_snapshot!(refused("", "mul.lo.u128 %r0, %r1, %r2;"), @"6:1: type `.u128` does not fit `mul.lo.u128`: `mul.lo.u128 %r0, %r1, %r2;`");
    assert_snapshot!(refused("", "shfl.down.b32 %r0, %r1, 1, 31;"), @"6:1: `shfl.down.b32` lacks one of .sync: `shfl.down.b32 %r0, %r1, 1, 31;`");
    assert_snapshot!(refused("", "add.u32 %r0, %r1, %r2, %r3;"), @"6:1: expected `;` after the operands, found `,`: `add.u32 %r0, %r1, %r2, %r3;`");
    assert_snapshot!(refused("", "mov.u32 %r0, %pm3;"), @"6:1: the special register `%pm3` is not supported: `mov.u32 %r0, %pm3;`");
    assert_snapshot!(refused(".extern .func f();", "call f;"), @"6:1: `call`: function `f` has no body in this module: `call f;`");
}

#[test]
fn all_unknown_instructions_are_listed_once() {
    let module = module(
        ".func inner() { one.b32; ret; } .func outer() { two.b32; call inner; ret; }",
        "three.b32;\n@%p three.b32;\ncall outer;\n{ call outer; }\nfour.b32 %r0, %r1;"
            .replace("@%p ", "")
            .as_str(),
    )
    .unwrap();
    let [k, good] = module.kernels() else { panic!() };
    let listed: Vec<(u32, &str)> =
        k.refusals().iter().map(|refusal| (refusal.line, refusal.function.as_str())).collect();
    assert_eq!(
        listed,
        [(6, "k"), (7, "k"), (4, "outer"), (4, "inner"), (10, "k")],
        "in the order in which the kernel meets them"
    );
    assert!(good.refusals().is_empty());
}

#[test]
fn the_line_of_the_source_is_named() {
    assert_snapshot!(
        refused(".file 1 \"kernel.cu\"", ".loc 1 7 3\nfrobnicate.b32 %r1;"),
        @"7:1: unknown instruction `frobnicate.b32`: `frobnicate.b32 %r1;`, compiled from kernel.cu:7:3"
    );
}

#[test]
fn recursion_names_the_cycle() {
    assert_snapshot!(refused(".func f() { call f; ret; }", "call f;"), @"4:13: `f` calls itself, and recursion is not simulated: `call f;`");
    let circle = ".func f(); .func g() { call f; ret; } .func h() { call g; ret; } .func f() { call h; ret; }";
    assert_snapshot!(refused(circle, "call g;"), @"4:51: `g` calls itself through `f`, `h`, and recursion is not simulated: `call g;`");
}

#[test]
fn errors_in_the_text_refuse_the_module() {
    let refused = |body: &str| match module("", body) {
        Err(LoadError::Syntax(error)) => format!("{}: {}", error.line, error.message),
        other => panic!("{body}: {other:?}"),
    };
    assert_snapshot!(refused("add.u32 %r0 %r1, %r2;"), @"6: expected `,` and another operand, found `%r1`");
    assert_snapshot!(refused("add.u32 %r0, %r1, %r9;"), @"6: `%r9` is not declared");
    assert_snapshot!(refused("shll.b32 %r0, %r1 }"), @"6: expected `;` after the operands, found `}`");
    assert_snapshot!(refused("shll.b32 {%r0, ];"), @"6: expected `;` after the operands, found `]`");
    assert_snapshot!(refused("add.u32 %r0, %r1, %d1;"), @"6: `add.u32`: register `%d1` is .b64 where .u32 is needed");
    assert_snapshot!(refused(".frob 3;"), @"6: unknown directive `.frob`");
}
