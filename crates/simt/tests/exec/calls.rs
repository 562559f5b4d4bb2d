//! Calls through addresses.

use simt::{FaultKind, LaunchConfig, LaunchError};

use crate::{kernel, run};

/// Functions of one parameter and one result. `f` and `g` compute; `again` calls `f`, `g` or itself
/// through the address in `next`; `strange` has an instruction that is not known.
const FUNCTIONS: &str = "
.func (.param .b32 r) f(.param .b32 x);
.func (.param .b32 r) g(.param .b32 x);
.func (.param .b32 r) again(.param .b32 x);
.func (.param .b32 r) strange(.param .b32 x);
.func nothing();
.global .align 8 .u64 next = f;
.global .align 8 .u64 table[6] = {f, g, again, strange, nothing, generic(next)};
.func (.param .b32 r) f(.param .b32 x) {
    .reg .b32 %a<2>; ld.param.u32 %a0, [x]; add.u32 %a1, %a0, 100; st.param.b32 [r], %a1; ret; }
.func (.param .b32 r) g(.param .b32 x) {
    .reg .b32 %a<2>; .reg .pred %p; ld.param.u32 %a0, [x]; setp.lt.u32 %p, %a0, 40;
    mul.lo.u32 %a1, %a0, 3; st.param.b32 [r], %a1; @%p ret; st.param.b32 [r], 7; ret; }
.func (.param .b32 r) again(.param .b32 x) {
    .reg .b32 %a<4>; .reg .b64 %c<2>; .param .b32 p; .param .b32 q;
    any: .callprototype (.param .b32 _) _ (.param .b32 _);
    ld.param.u32 %a0, [x]; add.u32 %a1, %a0, 1; st.param.b32 [p], %a1;
    ld.global.u64 %c0, [next]; call (q), %c0, (p), any; ld.param.b32 %a2, [q];
    ld.param.u32 %a0, [x]; shl.b32 %a0, %a0, 16; or.b32 %a2, %a2, %a0; st.param.b32 [r], %a2; ret; }
.func (.param .b32 r) strange(.param .b32 x) {
    .reg .b32 %a<2>; .reg .pred %p; ld.param.u32 %a0, [x]; setp.gt.u32 %p, %a0, 30;
    st.param.b32 [r], %a0; @%p frobnicate.b32 %a1, %a0; ret; }
.func nothing() { ret; }
";

/// A kernel in which each thread calls `table[in[0] >> (3 * (thread % 8)) & 7]` with its number.
fn dispatch(call: &str) -> String {
    format!(
        "ld.global.u64 %d1, [%d10]; and.b32 %r1, %r10, 7; mul.lo.u32 %r1, %r1, 3;
         shr.u64 %d1, %d1, %r1; and.b64 %d1, %d1, 7; shl.b64 %d1, %d1, 3; mov.u64 %d2, table;
         add.u64 %d2, %d2, %d1; ld.global.u64 %d3, [%d2];
         {{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r10; {call} ld.param.b32 %r2, [q]; }}
         mul.wide.u32 %d4, %r10, 8; add.u64 %d4, %d4, %d11; cvt.u64.u32 %d5, %r2;
         st.global.u64 [%d4], %d5;"
    )
}

const BY_PROTOTYPE: &str =
    "any: .callprototype (.param .b32 _) _ (.param .b32 _); call (q), %d3, (p), any;";

fn launch(call: &str, selector: u64) -> Result<Vec<u64>, LaunchError> {
    let module = kernel(FUNCTIONS, &dispatch(call));
    run(&module, &LaunchConfig::new(1, 32), &[selector], 32)
}

fn fault(call: &str, selector: u64) -> (u32, FaultKind) {
    match launch(call, selector) {
        Err(LaunchError::Fault(fault)) => (fault.thread.x, fault.kind),
        other => panic!("{other:?}"),
    }
}

fn f(x: u64) -> u64 {
    x + 100
}

fn g(x: u64) -> u64 {
    if x < 40 { 3 * x } else { 7 }
}

fn again(x: u64) -> u64 {
    f(x + 1) | x << 16
}

#[test]
fn each_lane_calls_its_own_function() {
    // Lanes 0, 2, .. call f, and the others g, again, g and f.
    let found = launch(BY_PROTOTYPE, 0o0010_2010).unwrap();
    let functions = [f, g, f, again, f, g, f, f];
    let expected: Vec<u64> = (0..32).map(|lane| functions[lane as usize % 8](lane)).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_targets_of_a_call_can_be_listed() {
    let listed = "some: .calltargets g, f; call (q), %d3, (p), some;";
    let found = launch(listed, 0o1010_1010).unwrap();
    let expected: Vec<u64> = (0..32).map(|x| if x % 2 == 0 { f(x) } else { g(x) }).collect();
    assert_eq!(found, expected);
    let (thread, kind) = fault(listed, 0o2010_1010);
    assert_eq!(thread, 7);
    assert!(matches!(kind, FaultKind::CallTarget { .. }), "{kind}");
}

#[test]
fn a_guard_decides_which_lanes_call() {
    let guarded = "st.param.b32 [q], 9; setp.lt.u32 %p1, %r10, 5;
         any: .callprototype (.param .b32 _) _ (.param .b32 _); @%p1 call (q), %d3, (p), any;";
    let found = launch(guarded, 0).unwrap();
    let expected: Vec<u64> = (0..32).map(|x| if x < 5 { f(x) } else { 9 }).collect();
    assert_eq!(found, expected);
}

#[test]
fn wrong_targets_are_faults() {
    for (selector, thread) in [(0o4000_0000, 7), (0o0000_0500, 2)] {
        let (found, kind) = fault(BY_PROTOTYPE, selector);
        assert_eq!(found, thread, "a function without parameters, and the address of a variable");
        assert!(matches!(kind, FaultKind::CallTarget { .. }), "{kind}");
    }
}

#[test]
fn recursion_is_found_when_it_happens() {
    let module = kernel(&FUNCTIONS.replace("next = f", "next = again"), &dispatch(BY_PROTOTYPE));
    let launched = |selector| run(&module, &LaunchConfig::new(1, 32), &[selector], 32);
    assert!(launched(0o1010_1010).is_ok(), "no thread calls `again`");
    let Err(LaunchError::Fault(fault)) = launched(0o0002_0000) else { panic!() };
    assert_eq!(fault.thread.x, 4);
    assert_eq!(fault.kind.to_string(), "`again` calls itself, and recursion is not simulated");
    assert_eq!(fault.instruction, "call (q), %c0, (p), any;");

    // Two functions that call each other.
    let functions = FUNCTIONS.replace("next = f", "next = other").replace(
        ".func nothing();",
        ".func (.param .b32 r) other(.param .b32 x); .func nothing();",
    ) + "
.func (.param .b32 r) other(.param .b32 x) {
    .reg .b32 %a<4>; .reg .b64 %c<2>; .param .b32 p; .param .b32 q;
    any: .callprototype (.param .b32 _) _ (.param .b32 _);
    ld.param.u32 %a0, [x]; st.param.b32 [p], %a0; mov.u64 %c0, again;
    call (q), %c0, (p), any; ld.param.b32 %a2, [q]; st.param.b32 [r], %a2; ret; }";
    let module = kernel(&functions, &dispatch(BY_PROTOTYPE));
    let error = run(&module, &LaunchConfig::new(1, 32), &[0o2000_0000], 32);
    let Err(LaunchError::Fault(fault)) = error else { panic!("{error:?}") };
    assert_eq!(
        fault.kind.to_string(),
        "`again` calls itself through `other`, and recursion is not simulated"
    );
}

/// It cannot be known which functions a kernel calls through addresses.
#[test]
fn an_unknown_instruction_is_a_fault_of_the_thread_that_comes_there() {
    assert!(launch(BY_PROTOTYPE, 0o0000_3333).is_ok(), "the guard is false in these threads");
    let (thread, kind) = fault(BY_PROTOTYPE, 0o3000_0000);
    assert_eq!(thread, 31);
    assert_eq!(
        kind,
        FaultKind::Unsupported { reason: "unknown instruction `frobnicate.b32`".to_owned() }
    );
}
