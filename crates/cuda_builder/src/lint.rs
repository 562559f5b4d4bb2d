//! Rules for finished kernels.
//!
//! The compiler may emit calls, spills and generic accesses. The kernel's results stay right, but
//! it becomes slow, or no longer shows the effect that it was written to show. It may also emit
//! stores that ptxas gets wrong. So the PTX is read again after each build, and a finding fails the
//! build.

use std::collections::BTreeMap;
use std::fmt;

use simt::ptx::ast::{BarrierOp, Function, Module, Op, Space, Span, Type};

use crate::narrow;

/// The facts that the caller knows about each kernel, by name. Kernels that are not listed are
/// checked only by the rules that need no such facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The facts, by the kernel's name.
    pub kernels: BTreeMap<String, Expectation>,
}

/// The facts that are known about one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectation {
    /// The element's type as Rust spells it, such as `f32`. If it is another type than `f64`, the
    /// kernel must not use `f64`.
    pub element: Option<String>,
    /// How many block-wide barriers the source holds.
    pub barriers: Option<u32>,
}

/// A rule of this lint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A call of a function that the module does not define.
    UndefinedCall,
    /// A call of a function that should have been inlined.
    CallNotInlined,
    /// Local memory: a stack or spilled registers.
    LocalMemory,
    /// A load, store or atomic without a state space.
    GenericAccess,
    /// `f64` in a kernel of another element.
    DoublePrecision,
    /// More barriers than the source has.
    ExtraBarrier,
    /// A store from a wider register that holds a float.
    NarrowStore,
}

impl Rule {
    /// The reason for the rule, in one sentence.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::UndefinedCall => {
                "the function called is not in this module, so the driver cannot load it"
            }
            Self::CallNotInlined => {
                "the call was not inlined: it costs a stack and hides the memory spaces of pointers"
            }
            Self::LocalMemory => {
                "local memory is a thread's stack in device memory, hundreds of cycles away"
            }
            Self::GenericAccess => {
                "a generic access finds its memory space at run time and is slower than one that names it"
            }
            Self::DoublePrecision => {
                "the kernel's element is not f64, and double precision is up to 64 times slower"
            }
            Self::ExtraBarrier => {
                "the source has fewer barriers: one was duplicated, perhaps into a divergent branch"
            }
            Self::NarrowStore => {
                "ptxas before CUDA 13.1 stores the wider float converted to an integer, not its low bits"
            }
        }
    }
}

/// A place in a kernel that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kernel's name.
    pub kernel: String,
    /// The rule that is broken.
    pub rule: Rule,
    /// The line in the PTX, counted from 1.
    pub line: u32,
    /// The instruction or declaration on this line.
    pub instruction: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, rule, line, instruction } = self;
        write!(f, "{kernel}, PTX line {line}: `{instruction}`: {}", rule.reason())
    }
}

/// Checks all kernels of a module. The findings have the order of the PTX text.
///
/// ```
/// use cuda_builder::lint::{Expectations, Rule, lint};
///
/// let text = "
///     .version 7.0
///     .target sm_75
///     .address_size 64
///     .visible .entry zero(.param .u64 data) {
///         .reg .b64 %rd<2>;
///         ld.param.u64 %rd1, [data];
///         st.u32 [%rd1], 0;
///         ret;
///     }";
/// let module = simt::ptx::parse("zero.ptx", text)?;
/// let findings = lint(&module, &Expectations::default());
/// assert_eq!((findings[0].rule, findings[0].line), (Rule::GenericAccess, 8));
/// # Ok::<(), simt::ptx::Diagnostic>(())
/// ```
///
/// A module that calls an undefined function does not validate; [`simt::ptx::parser::parse`] reads
/// it all the same.
pub fn lint(module: &Module, expectations: &Expectations) -> Vec<Finding> {
    let unknown = Expectation::default();
    let kernels = module.functions.iter().filter(|function| function.is_entry());
    kernels
        .flat_map(|kernel| {
            lint_kernel(module, kernel, expectations.kernels.get(&kernel.name).unwrap_or(&unknown))
        })
        .collect()
}

fn lint_kernel(module: &Module, kernel: &Function, expected: &Expectation) -> Vec<Finding> {
    let forbids_f64 = expected.element.as_deref().is_some_and(|element| element != "f64");
    let mut findings = Vec::new();
    let mut find = |rule, span: Span| {
        let instruction = module.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        findings.push(Finding { kernel: kernel.name.clone(), rule, line: span.line, instruction });
    };
    for variable in kernel.variables.iter().filter(|variable| variable.space == Space::Local) {
        find(Rule::LocalMemory, variable.span);
    }
    let mut barriers = 0;
    for (at, instruction) in kernel.body.iter().enumerate() {
        match &instruction.op {
            Op::Call { callee, .. } if module.functions[callee.index()].defined => {
                find(Rule::CallNotInlined, instruction.span);
            }
            Op::Call { .. } => find(Rule::UndefinedCall, instruction.span),
            Op::Barrier { op: BarrierOp::Sync, .. } | Op::BarrierRed { .. } => {
                barriers += 1;
                if expected.barriers.is_some_and(|expected| barriers > expected) {
                    find(Rule::ExtraBarrier, instruction.span);
                }
            }
            op => match space(op) {
                Some(Space::Local) => find(Rule::LocalMemory, instruction.span),
                Some(Space::Generic) => find(Rule::GenericAccess, instruction.span),
                _ => {}
            },
        }
        if forbids_f64 && uses_f64(kernel, &instruction.op) {
            find(Rule::DoublePrecision, instruction.span);
        }
        if narrow::is_miscompiled(kernel, at) {
            find(Rule::NarrowStore, instruction.span);
        }
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// The state space that an instruction accesses.
fn space(op: &Op) -> Option<Space> {
    match op {
        Op::Ld { space, .. } | Op::St { space, .. } | Op::Atom { space, .. } => Some(*space),
        Op::Cvta { space: Space::Local, .. } => Some(Space::Local),
        _ => None,
    }
}

/// Whether an instruction computes, moves or converts an `f64`. Its own type tells, or the type of
/// a register.
fn uses_f64(kernel: &Function, op: &Op) -> bool {
    match op {
        Op::Mov { ty, dst, .. } => *ty == Type::F64 || kernel.reg_type(*dst) == Type::F64,
        Op::Ld { ty, dst, .. } => {
            *ty == Type::F64 || dst.iter().flatten().any(|&reg| kernel.reg_type(reg) == Type::F64)
        }
        Op::Cvt { dst_ty, src_ty, .. } => [*dst_ty, *src_ty].contains(&Type::F64),
        Op::St { ty, .. }
        | Op::Atom { ty, .. }
        | Op::FloatBinary { ty, .. }
        | Op::FloatUnary { ty, .. }
        | Op::Fma { ty, .. }
        | Op::Testp { ty, .. }
        | Op::Setp { ty, .. }
        | Op::Set { ty, .. }
        | Op::Selp { ty, .. }
        | Op::Slct { ty, .. } => *ty == Type::F64,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings in a kernel `k` with these lines. The first of them is line 11.
    fn findings(lines: &str, expected: Expectation) -> Vec<(Rule, u32, String)> {
        let text = format!(
            ".version 7.8
.target sm_75
.address_size 64
.extern .func outside(.param .b32 x);
.func inside(.param .b32 x) {{ .local .b8 stack[4]; .reg .b32 %r; st.local.b32 [stack], 1; ret; }}
.shared .align 4 .b8 tile[64];
.visible .entry k(.param .u64 data) {{
.reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %d<4>;
.param .b32 x;
ld.param.u64 %rd1, [data];
{lines}
ret; }}"
        );
        let module =
            simt::ptx::parser::parse("k.ptx", &text).unwrap_or_else(|error| panic!("{error}"));
        let expectations = Expectations { kernels: BTreeMap::from([("k".to_owned(), expected)]) };
        let found = lint(&module, &expectations);
        assert!(found.iter().all(|finding| finding.kernel == "k"));
        found.into_iter().map(|finding| (finding.rule, finding.line, finding.instruction)).collect()
    }

    fn element(name: &str) -> Expectation {
        Expectation { element: Some(name.to_owned()), barriers: None }
    }

    #[test]
    fn a_clean_kernel_has_no_findings() {
        let lines = "ld.global.f32 %f1, [%rd1];\nst.shared.f32 [tile], %f1;\nbar.sync 0;
            ld.shared.f32 %f2, [tile+4];\nadd.f32 %f1, %f1, %f2;\nred.global.add.f32 [%rd1], %f1;";
        let expected = Expectation { element: Some("f32".to_owned()), barriers: Some(1) };
        assert_eq!(findings(lines, expected), []);
    }

    #[test]
    fn calls() {
        let found =
            findings("call.uni inside, (x);\n@%p1 call outside,\n (x);", Expectation::default());
        assert_eq!(
            found,
            [
                (Rule::CallNotInlined, 11, "call.uni inside, (x);".to_owned()),
                (Rule::UndefinedCall, 12, "@%p1 call outside, (x);".to_owned()),
            ]
        );
    }

    #[test]
    fn local_memory() {
        let lines = ".local .align 8 .b8 __local_depot0[8];\nmov.u64 %rd2, __local_depot0;\ncvta.local.u64 %rd3, %rd2;
st.local.u32 [%rd2], 1;\nld.local.u32 %r1, [%rd2];";
        let found = findings(lines, Expectation::default());
        let places: Vec<_> = found.iter().map(|(rule, line, _)| (*rule, *line)).collect();
        assert_eq!(places, [11, 13, 14, 15].map(|line| (Rule::LocalMemory, line)));
        assert_eq!(found[0].2, ".local .align 8 .b8 __local_depot0[8]");
    }

    #[test]
    fn generic_accesses() {
        let lines =
            "ld.u32 %r1, [%rd1];\nst.v2.u32 [%rd1], {%r1, %r1};\natom.add.u32 %r2, [%rd1], 1;
red.add.u32 [%rd1], 1;\natom.global.add.u32 %r2, [%rd1], 1;\nld.volatile.u32 %r1, [%rd1];";
        let places: Vec<_> = findings(lines, Expectation::default())
            .iter()
            .map(|(rule, line, _)| (*rule, *line))
            .collect();
        assert_eq!(places, [11, 12, 13, 14, 16].map(|line| (Rule::GenericAccess, line)));
    }

    #[test]
    fn double_precision_in_a_kernel_of_another_element() {
        let lines = "cvt.f64.f32 %d1, %f1;\nadd.f64 %rd2, %rd2, %rd3;\nmov.b64 %d2, %rd1;\nld.global.b64 %d1, [%rd1];
cvt.rn.f32.f64 %f1, %d1;\nsetp.lt.f64 %p1, %d1, %d2;\nst.global.f64 [%rd1], %d1;";
        for name in ["f32", "i32"] {
            let places: Vec<_> = findings(lines, element(name))
                .iter()
                .map(|(rule, line, _)| (*rule, *line))
                .collect();
            assert_eq!(
                places,
                [11, 12, 13, 14, 15, 16, 17].map(|line| (Rule::DoublePrecision, line)),
                "{name}"
            );
        }
        assert_eq!(findings(lines, element("f64")), []);
        assert_eq!(findings(lines, Expectation::default()), []);
    }

    #[test]
    fn more_barriers_than_the_source() {
        let lines = "bar.sync 0;\nbarrier.cta.sync.aligned 0;\nbar.red.popc.u32 %r1, 0, %p1;\nbar.warp.sync -1;";
        let expected = |count| Expectation { element: None, barriers: count };
        assert_eq!(findings(lines, expected(None)), []);
        assert_eq!(findings(lines, expected(Some(3))), []);
        let found = findings(lines, expected(Some(1)));
        let places: Vec<_> = found.iter().map(|(rule, line, _)| (*rule, *line)).collect();
        assert_eq!(places, [(Rule::ExtraBarrier, 12), (Rule::ExtraBarrier, 13)]);
    }

    #[test]
    fn stores_narrower_than_a_float() {
        // The registers of the last two lines hold no float any more.
        let lines = "add.f64 %rd2, %rd1, %rd1;\nst.shared.b32 [tile], %rd2;
@%p1 st.shared.b8 [tile+4], %rd2;\nst.shared.b64 [tile+8], %rd2;
cvt.u32.u64 %r1, %rd2;\nst.shared.b32 [tile], %r1;\nmov.b64 %rd2, %rd1;\nst.shared.b32 [tile], %rd2;";
        let places: Vec<_> = findings(lines, Expectation::default())
            .iter()
            .map(|(rule, line, _)| (*rule, *line))
            .collect();
        assert_eq!(places, [12, 13].map(|line| (Rule::NarrowStore, line)));
    }

    #[test]
    fn a_finding_reads_as_one_sentence() {
        let finding = Finding {
            kernel: "reduce1_sum_i32".to_owned(),
            rule: Rule::GenericAccess,
            line: 40,
            instruction: "ld.u32 %r1, [%rd1];".to_owned(),
        };
        assert_eq!(
            finding.to_string(),
            "reduce1_sum_i32, PTX line 40: `ld.u32 %r1, [%rd1];`: a generic access finds its memory space at run time \
             and is slower than one that names it"
        );
    }
}
