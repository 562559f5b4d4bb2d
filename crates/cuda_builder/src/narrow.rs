//! Puts an integer conversion before each store that ptxas would get wrong.
//!
//! A store may be narrower than the register of its value, and then it stores the register's low
//! bits (PTX ISA, "Operand Size Exceeding Instruction-Type Size"). LLVM uses this for
//! `x.to_bits() as u32`:
//!
//! ```text
//! add.rn.f64    %rd4, %rd1, %rd2;
//! st.shared.b32 [%rd3], %rd4;
//! ```
//!
//! The registers that LLVM declares have a width, and no type. ptxas 11.8 to 13.0, and so the
//! drivers of these versions, take the type of `%rd4` from the instruction that wrote it, and store
//! the float converted to an integer. Later versions still do so for a vector store of integer type
//! (`st.v2.u32`). They look for that instruction in the store's own basic block only, and an
//! untyped instruction such as `mov.b64` hides the float. So this module rewrites only a store
//! whose block writes the register as a float. All other text stays as it is:
//!
//! ```text
//! { .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; st.shared.b32 [%rd3], %narrow0; }
//! ```

use simt::ptx::ast::{Function, Instruction, Module, Op, RegId, Type, Value};

/// The module's text, in which each store that [`is_miscompiled`] has a conversion before it. A
/// store from a register that is declared as a float stays as it is, because an integer conversion
/// cannot read such a register.
pub(crate) fn narrow(module: &Module) -> String {
    let mut stores: Vec<_> = module
        .functions
        .iter()
        .flat_map(|function| {
            (0..function.body.len()).filter(|&at| is_miscompiled(function, at)).filter_map(|at| {
                let store = &function.body[at];
                Some((store.span, narrowed(module, function, store)?))
            })
        })
        .collect();
    // A function that is declared early may be defined late.
    stores.sort_by_key(|(span, _)| span.start);
    let mut text = String::with_capacity(module.source.len());
    let mut copied = 0;
    for (span, store) in stores {
        text.push_str(&module.source[copied..span.start as usize]);
        text.push_str(&store);
        copied = span.end as usize;
    }
    text.push_str(&module.source[copied..]);
    text
}

/// Whether the instruction at `at` is a store that ptxas may get wrong.
pub(crate) fn is_miscompiled(function: &Function, at: usize) -> bool {
    let Op::St { ty, src, .. } = &function.body[at].op else { return false };
    src.iter().any(|value| {
        wide_register(function, *ty, value).is_some_and(|reg| is_float(function, at, reg))
    })
}

/// The store, with a conversion before it for each register that is wider than the store. All
/// registers of a vector are converted, because they must have one width.
fn narrowed(module: &Module, function: &Function, store: &Instruction) -> Option<String> {
    let Op::St { ty, src, .. } = &store.op else { return None };
    // There are no registers of 8 bits.
    let width = ty.bits().max(16);
    let (address, values) = module.text(store.span).rsplit_once(']')?;
    // The first of the pieces is the empty one before the comma that follows the address. After the
    // values there may be the operand of a cache policy.
    let mut pieces: Vec<String> = values.split(',').map(str::to_owned).collect();
    let mut conversions = Vec::new();
    for (value, piece) in src.iter().zip(&mut pieces[1..]) {
        let Some(reg) = wide_register(function, *ty, value) else { continue };
        let register = &function.registers[reg.index()];
        if register.ty.is_float() {
            return None;
        }
        let (name, from) = (&register.name, register.ty.bits());
        let narrow = format!("%narrow{}", conversions.len());
        *piece = piece.replace(name, &narrow);
        conversions.push(format!("cvt.u{width}.u{from} {narrow}, {name}; "));
    }
    let (count, conversions, values) = (conversions.len(), conversions.concat(), pieces.join(","));
    Some(format!("{{ .reg .b{width} %narrow<{count}>; {conversions}{address}]{values} }}"))
}

/// The register of a value, if it is wider than a store of type `ty`.
fn wide_register(function: &Function, ty: Type, value: &Value) -> Option<RegId> {
    match value {
        Value::Reg(reg) if function.reg_type(*reg).bits() > ty.bits() => Some(*reg),
        _ => None,
    }
}

/// Whether the last instruction that wrote a register, in the basic block of the instruction at
/// `at` and before it, may have written a float. A write under a guard does not hide the one before
/// it.
fn is_float(function: &Function, at: usize, reg: RegId) -> bool {
    let begins_block = |&at: &usize| {
        let follows_branch =
            at > 0 && matches!(function.body[at - 1].op, Op::Bra { .. } | Op::BrxIdx { .. });
        follows_branch || function.labels.iter().any(|label| label.target.index() == at)
    };
    let block = (0..=at).rev().find(begins_block).unwrap_or(0);
    for instruction in function.body[block..at].iter().rev() {
        match written_type(&instruction.op, reg) {
            Some(ty) if ty.is_float() => return true,
            Some(_) if instruction.guard.is_none() => return false,
            _ => {}
        }
    }
    false
}

/// The type as which an instruction writes a register, if it writes it. All instructions that can
/// write floats are listed. Of the others, only the common ones are listed: one that is not can at
/// most lead to a conversion that nobody needs.
fn written_type(op: &Op, reg: RegId) -> Option<Type> {
    match op {
        Op::Ld { ty, dst, .. } | Op::Unpack { ty, dst, .. } | Op::AtomVector { ty, dst, .. } => {
            dst.contains(&Some(reg)).then_some(*ty)
        }
        Op::Atom { ty, dst, .. } => (*dst == Some(reg)).then_some(*ty),
        Op::Mov { ty, dst, .. }
        | Op::Selp { ty, dst, .. }
        | Op::Slct { ty, dst, .. }
        | Op::FloatBinary { ty, dst, .. }
        | Op::FloatUnary { ty, dst, .. }
        | Op::Fma { ty, dst, .. }
        | Op::Pack { ty, dst, .. }
        | Op::IntBinary { ty, dst, .. }
        | Op::Mad { ty, dst, .. }
        | Op::Logic { ty, dst, .. }
        | Op::Not { ty, dst, .. }
        | Op::Shift { ty, dst, .. }
        | Op::Cvt { dst_ty: ty, dst, .. }
        | Op::CvtPack { dst_ty: ty, dst, .. }
        | Op::Set { dst_ty: ty, dst, .. } => (*dst == reg).then_some(*ty),
        Op::CvtTf32 { dst, .. } => (*dst == reg).then_some(Type::F32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with a kernel `k` of these lines.
    fn module(lines: &str) -> String {
        format!(
            ".version 7.8
.target sm_90
.address_size 64
.shared .align 16 .b8 tile[64];
.func callee(.param .b32 x);
.visible .entry k(.param .u64 data) {{
.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .f64 %d<4>;
ld.param.u64 %rd9, [data];
{lines}
ret; }}
.func callee(.param .b32 x) {{ ret; }}
"
        )
    }

    /// The lines of the kernel after the rewriting. The rest of the module must stay as it is, the
    /// result must be valid PTX, and a second rewriting must find nothing.
    fn rewritten(lines: &str) -> String {
        let before = module(lines);
        let parsed = simt::ptx::parse("k.ptx", &before).unwrap_or_else(|error| panic!("{error}"));
        let after = narrow(&parsed);
        let parsed = simt::ptx::parse("k.ptx", &after).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(narrow(&parsed), after);
        let (head, tail) = before.split_once(lines).unwrap();
        after.strip_prefix(head).unwrap().strip_suffix(tail).unwrap().to_owned()
    }

    /// Checks that the line `store` becomes `expected` behind the instructions `before`.
    #[track_caller]
    fn becomes(before: &str, store: &str, expected: &str) {
        let lines = rewritten(&format!("{before}\n{store}"));
        assert_eq!(lines, format!("{before}\n{expected}"));
    }

    #[track_caller]
    fn stays(lines: &str) {
        assert_eq!(rewritten(lines), lines);
    }

    /// Writes floats of 64, 32 and 16 bits.
    const FLOATS: &str = "add.rn.f64 %rd4, %rd1, %rd2; add.rn.f64 %rd10, %rd1, %rd4;
add.rn.f32 %r4, %r1, %r2; add.rn.f32 %r10, %r1, %r4; add.rn.f16 %rs3, %rs1, %rs2;";

    #[test]
    fn every_width_is_stored_from_an_integer_register() {
        for (ty, register, expected) in [
            ("b32", "%rd4", ".reg .b32 %narrow<1>; cvt.u32.u64"),
            ("u32", "%rd4", ".reg .b32 %narrow<1>; cvt.u32.u64"),
            ("s32", "%rd4", ".reg .b32 %narrow<1>; cvt.u32.u64"),
            ("b16", "%rd4", ".reg .b16 %narrow<1>; cvt.u16.u64"),
            ("b8", "%rd4", ".reg .b16 %narrow<1>; cvt.u16.u64"),
            ("b16", "%r4", ".reg .b16 %narrow<1>; cvt.u16.u32"),
            ("u8", "%r4", ".reg .b16 %narrow<1>; cvt.u16.u32"),
            ("s8", "%rs3", ".reg .b16 %narrow<1>; cvt.u16.u16"),
        ] {
            becomes(
                FLOATS,
                &format!("st.global.{ty} \t[%rd9+4], {register};"),
                &format!(
                    "{{ {expected} %narrow0, {register}; st.global.{ty} \t[%rd9+4], %narrow0; }}"
                ),
            );
        }
    }

    #[test]
    fn every_form_of_a_store() {
        for store in [
            "st.shared.b32 [tile],",
            "st.b32 [%rd9],",
            "@%p1 st.global.b32 [%rd9],",
            "@!%p1 st.global.b32 [%rd9],",
            "st.volatile.shared.b32 [tile+8],",
            "st.relaxed.gpu.global.b32 [%rd9],",
            "st.release.sys.global.b32 [%rd9],",
            "st.global.wt.b32 [%rd9],",
            "st.global.L1::no_allocate.b32 [%rd9],",
        ] {
            becomes(
                FLOATS,
                &format!("{store} %rd4;"),
                &format!(
                    "{{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; {store} %narrow0; }}"
                ),
            );
        }
    }

    #[test]
    fn a_cache_policy_stays_after_the_value() {
        becomes(
            FLOATS,
            "st.global.L2::cache_hint.b32 [%rd9], %rd4, %rd8;",
            "{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; \
             st.global.L2::cache_hint.b32 [%rd9], %narrow0, %rd8; }",
        );
    }

    #[test]
    fn local_memory_and_the_parameters_of_calls() {
        becomes(
            &format!(".local .b8 stack[8];\n{FLOATS}"),
            "st.local.b32 [stack], %rd4;",
            "{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; st.local.b32 [stack], %narrow0; }",
        );
        becomes(
            &format!("{FLOATS}\n{{ .param .b32 x;"),
            "st.param.b32 [x], %rd4;\ncall callee, (x); }",
            "{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; st.param.b32 [x], %narrow0; }\n\
             call callee, (x); }",
        );
    }

    #[test]
    fn all_wide_registers_of_a_vector_are_converted() {
        becomes(
            FLOATS,
            "st.global.v2.b32 [%rd9], {%rd4, %rd10};",
            "{ .reg .b32 %narrow<2>; cvt.u32.u64 %narrow0, %rd4; cvt.u32.u64 %narrow1, %rd10; \
             st.global.v2.b32 [%rd9], {%narrow0, %narrow1}; }",
        );
        becomes(
            FLOATS,
            "st.shared.v2.u32 [tile], {%rd1, %rd4};",
            "{ .reg .b32 %narrow<2>; cvt.u32.u64 %narrow0, %rd1; cvt.u32.u64 %narrow1, %rd4; \
             st.shared.v2.u32 [tile], {%narrow0, %narrow1}; }",
        );
        becomes(
            FLOATS,
            "st.global.v2.b32 [%rd9], {%rd4, %r2};",
            "{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; \
             st.global.v2.b32 [%rd9], {%narrow0, %r2}; }",
        );
        becomes(
            FLOATS,
            "st.global.v4.b8 [%rd9], {%r4, 7, %r10, %r4};",
            "{ .reg .b16 %narrow<3>; cvt.u16.u32 %narrow0, %r4; cvt.u16.u32 %narrow1, %r10; \
             cvt.u16.u32 %narrow2, %r4; \
             st.global.v4.b8 [%rd9], {%narrow0, 7, %narrow1, %narrow2}; }",
        );
    }

    #[test]
    fn inline_assembly_may_stand_in_a_block_of_its_own() {
        becomes(
            "{ .reg .b64 sum; add.f64 sum, %rd1, %rd2;",
            "@%p1 st.global.b32 [%rd9], sum; }",
            "{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, sum; \
             @%p1 st.global.b32 [%rd9], %narrow0; } }",
        );
        becomes(
            &format!("{FLOATS}\n// begin inline asm"),
            "st.global.b32 [%rd9],\n %rd4;\n// end inline asm",
            "{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; \
             st.global.b32 [%rd9],\n %narrow0; }\n\
             // end inline asm",
        );
    }

    #[test]
    fn every_instruction_that_writes_a_float() {
        for (write, store) in [
            ("add.f64 %rd4, %rd1, %rd2;", "b32 [%rd9], %rd4;"),
            ("mul.rn.f64 %rd4, %rd1, %rd2;", "b32 [%rd9], %rd4;"),
            ("fma.rn.f64 %rd4, %rd1, %rd2, %rd3;", "b32 [%rd9], %rd4;"),
            ("neg.f64 %rd4, %rd1;", "b32 [%rd9], %rd4;"),
            ("sqrt.rn.f32 %r4, %r1;", "b16 [%rd9], %r4;"),
            ("mov.f64 %rd4, %rd1;", "b32 [%rd9], %rd4;"),
            ("selp.f64 %rd4, %rd1, %rd2, %p1;", "b32 [%rd9], %rd4;"),
            ("slct.f64.s32 %rd4, %rd1, %rd2, %r1;", "b32 [%rd9], %rd4;"),
            ("cvt.f64.f32 %rd4, %r1;", "b32 [%rd9], %rd4;"),
            ("cvt.rn.f64.s64 %rd4, %rd1;", "b32 [%rd9], %rd4;"),
            ("cvt.rn.f16x2.f32 %r4, %r1, %r2;", "b16 [%rd9], %r4;"),
            ("cvt.rna.tf32.f32 %r4, %r1;", "b16 [%rd9], %r4;"),
            ("set.lt.f32.s32 %r4, %r1, %r2;", "b16 [%rd9], %r4;"),
            ("fma.rn.bf16 %rs3, %rs1, %rs2, %rs1;", "b8 [%rd9], %rs3;"),
            ("ld.global.f64 %rd4, [%rd9];", "b32 [%rd9], %rd4;"),
            ("ld.global.v2.f64 {%rd3, %rd4}, [%rd9];", "b32 [%rd9], %rd4;"),
            ("atom.global.add.f64 %rd4, [%rd9], %rd1;", "b32 [%rd9], %rd4;"),
        ] {
            let lines = rewritten(&format!("{write}\nst.global.{store}"));
            assert!(lines.contains("%narrow0; }"), "{lines}");
        }
    }

    #[test]
    fn the_last_write_in_the_block_counts() {
        let store = "st.global.b32 [%rd9], %rd4;";
        let narrowed = format!(
            "{{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; {} }}",
            store.replace("%rd4", "%narrow0")
        );
        // A write that may not happen hides nothing, and a barrier does not end a block.
        for before in [
            "add.s64 %rd4, %rd1, %rd2; add.f64 %rd4, %rd1, %rd2;",
            "add.s64 %rd4, %rd1, %rd2; @%p1 add.f64 %rd4, %rd1, %rd2;",
            "add.f64 %rd4, %rd1, %rd2; @%p1 add.s64 %rd4, %rd1, %rd2;",
            "add.f64 %rd4, %rd1, %rd2; bar.sync 0; add.s64 %rd3, %rd4, %rd2;",
            "bra.uni LOOP; LOOP: add.f64 %rd4, %rd1, %rd2;",
        ] {
            becomes(before, store, &narrowed);
        }
        for before in [
            "add.f64 %rd4, %rd1, %rd2; add.s64 %rd4, %rd1, %rd2;",
            "add.f64 %rd4, %rd1, %rd2; LOOP:",
            "add.f64 %rd4, %rd1, %rd2; @%p1 bra END; @%p2 bra END; END:",
        ] {
            stays(&format!("{before}\n{store}"));
        }
        stays(&format!("add.f64 %rd4, %rd1, %rd2; @%p1 bra END;\n{store}\nEND:"));
    }

    #[test]
    fn what_an_integer_or_untyped_instruction_wrote_stays() {
        for write in [
            "add.s64 %rd4, %rd1, %rd2;",
            "mul.wide.u32 %rd4, %r1, %r2;",
            "mad.lo.s64 %rd4, %rd1, %rd2, %rd3;",
            "or.b64 %rd4, %rd1, %rd2;",
            "not.b64 %rd4, %rd1;",
            "shr.u64 %rd4, %rd1, 32;",
            "mov.b64 %rd4, %rd1;",
            "mov.b64 %rd4, {%r1, %r2};",
            "selp.b64 %rd4, %rd1, %rd2, %p1;",
            "cvt.rzi.s64.f64 %rd4, %rd1;",
            "ld.global.b64 %rd4, [%rd9];",
            "atom.global.add.u64 %rd4, [%rd9], %rd1;",
        ] {
            // The value before was a float.
            stays(&format!("{FLOATS}\n{write}\nst.global.b32 [%rd9], %rd4;"));
        }
        stays(&format!("{FLOATS}\nmov.b64 {{%r1, %r2}}, %rd4;\nst.global.b16 [%rd9], %r1;"));
    }

    #[test]
    fn stores_as_wide_as_their_register_stay() {
        for store in [
            "st.global.b64 [%rd9], %rd4;",
            "st.global.f64 [%rd9], %rd4;",
            "st.global.v2.b64 [%rd9], {%rd4, %rd10};",
            "st.shared.b32 [tile], %r4;",
            "st.shared.b16 [tile], %rs3;",
            "st.shared.b32 [tile], 7;",
        ] {
            stays(&format!("{FLOATS}\n{store}"));
        }
    }

    #[test]
    fn a_register_declared_as_a_float_is_left_to_the_lint() {
        let text = module("add.f64 %d1, %d2, %d3;\nst.global.b32 [%rd9], %d1;");
        let parsed = simt::ptx::parser::parse("k.ptx", &text).unwrap();
        assert_eq!(narrow(&parsed), text);
        let (_, kernel) = parsed.function("k").unwrap();
        assert!((0..kernel.body.len()).any(|at| is_miscompiled(kernel, at)));
    }

    #[test]
    fn stores_of_all_functions_are_rewritten_in_the_order_of_the_text() {
        let store = "add.f64 %rd4, %rd1, %rd2; st.global.b32 [%rd9], %rd4;";
        let text =
            module(store).replace("{ ret; }", &format!("{{ .reg .b64 %rd<10>; {store} ret; }}"));
        let after = narrow(&simt::ptx::parse("k.ptx", &text).unwrap());
        assert_eq!(after.matches("; st.global.b32 [%rd9], %narrow0; }").count(), 2, "{after}");
        let without = after
            .replace("{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd4; ", "")
            .replace("%narrow0; }", "%rd4;");
        assert_eq!(without, text);
    }
}
