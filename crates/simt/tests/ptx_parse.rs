//! The syntax trees of PTX texts.

use simt::ptx::ast::{
    Address, AddressBase, AtomOp, Axis, CmpOp, Function, Imm, Linkage, LogicOp, Module, Op,
    Ordering, PredicateOperand, RegId, Relocation, RelocationTarget, Scope, Space, SpecialReg,
    Target, Type, Value, VarRef,
};
use simt::ptx::parse;

fn parsed(text: &str) -> Module {
    let text = format!(".version 8.0\n.target sm_80, debug\n.address_size 64\n{text}");
    parse("t.ptx", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A module with a kernel of these lines, which has registers of each kind.
fn kernel(lines: &str) -> Module {
    parsed(&format!(
        ".shared .align 4 .b8 tile[64];\n.visible .entry k(.param .u64 data) {{\n.reg .pred %p<4>;\n.reg .b32 %r<4>;\n\
         .reg .b64 %rd<4>;\n.reg .f32 %f<4>;\n.reg .f64 %d<4>;\n{lines}\n}}"
    ))
}

fn op(line: &str) -> Op {
    kernel(line).functions[0].body[0].op.clone()
}

fn register(function: &Function, name: &str) -> RegId {
    RegId(function.registers.iter().position(|register| register.name == name).unwrap() as u32)
}

#[test]
fn header_and_kernel() {
    let module = parsed(
        ".visible .entry k(.param .u64 .ptr .global .align 16 data, .param .align 8 .b8 pair[24], .param .f32 x)
         .maxntid 32, 4 .minnctapersm 2 .reqntid 32, 4, 1 .maxnreg 40 { ret; }
         .weak .func (.param .b64 r) f(.param .b32 a) .noreturn { ret; }",
    );
    assert_eq!((module.version, module.address_size), ((8, 0), 64));
    assert_eq!(module.targets, ["sm_80", "debug"]);
    let (_, k) = module.function("k").unwrap();
    assert!(k.is_entry() && k.defined && k.linkage == Linkage::Visible);
    assert_eq!(
        k.params.iter().map(|param| (param.size(), param.align)).collect::<Vec<_>>(),
        [(8, 8), (24, 8), (4, 4)]
    );
    let pointer = k.params[0].pointer.unwrap();
    assert_eq!((pointer.space, pointer.align), (Space::Global, 16));
    assert_eq!(k.limits.max_threads, Some([32, 4, 1]));
    assert_eq!(k.limits.required_threads, Some([32, 4, 1]));
    assert_eq!((k.limits.min_blocks_per_sm, k.limits.max_registers), (Some(2), Some(40)));
    let (_, f) = module.function("f").unwrap();
    assert!(!f.is_entry() && f.noreturn && f.linkage == Linkage::Weak);
    assert_eq!((f.params[0].size(), f.returns[0].size()), (4, 8));
}

#[test]
fn variables_and_initialisers() {
    let module = parsed(
        ".extern .shared .align 16 .b8 dynamic[];
         .global .attribute(.managed) .align 4 .u32 counter = 7;
         .const .align 8 .u64 table[4] = {counter, generic(counter)+8, -1};
         .global .v2 .f32 pairs[3];
         .global .u16 grid[2][3] = {{1, 2, 3}, {4, 5}};
         .global .f32 reals[] = {0f3F800000, -2.5};",
    );
    let [dynamic, counter, table, pairs, grid, reals] = &module.variables[..] else {
        panic!("{:?}", module.variables)
    };
    assert!(dynamic.is_dynamic_shared() && dynamic.size() == 0 && dynamic.align == 16);
    assert_eq!(counter.init.as_ref().unwrap().bytes, [7, 0, 0, 0]);
    let init = table.init.as_ref().unwrap();
    assert_eq!(init.bytes[16..], [255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        init.relocations,
        [
            Relocation {
                offset: 0,
                target: RelocationTarget::Variable(1),
                addend: 0,
                generic: false
            },
            Relocation {
                offset: 8,
                target: RelocationTarget::Variable(1),
                addend: 8,
                generic: true
            },
        ]
    );
    assert_eq!((pairs.size(), pairs.align), (24, 8));
    assert_eq!(
        (grid.size(), &grid.init.as_ref().unwrap().bytes[..]),
        (12, &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0, 0][..])
    );
    let floats: Vec<u8> = [1.0f32, -2.5].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!((reals.count, &reals.init.as_ref().unwrap().bytes), (Some(2), &floats));
}

#[test]
fn registers_resolve_through_families_and_scopes() {
    let module = kernel(
        ".reg .b32 %r1<2>, %single;
         mov.u32 %r3, 0; mov.u32 %r11, 0; mov.u32 %single, 0;
         { .reg .b64 %r3; mov.u64 %r3, 0; }
         mov.u32 %r3, 0;",
    );
    let function = &module.functions[0];
    let written: Vec<(String, Type)> = function.body[..5]
        .iter()
        .map(|instruction| match &instruction.op {
            Op::Mov { dst, .. } => {
                (function.registers[dst.index()].name.clone(), function.reg_type(*dst))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        ("%r3", Type::B32),
        ("%r11", Type::B32),
        ("%single", Type::B32),
        ("%r3", Type::B64),
        ("%r3", Type::B32),
    ];
    assert_eq!(written, expected.map(|(name, ty)| (name.to_owned(), ty)));
}

#[test]
fn labels_become_indices() {
    let module = kernel(
        "start: @!%p1 bra end;
         { inner: bra inner; }
         { inner: bra.uni inner; }
         t: .branchtargets start, end, start;
         brx.idx %r1, t;
         end:",
    );
    let body = &module.functions[0].body;
    assert_eq!(
        body[0].guard,
        Some(PredicateOperand { reg: register(&module.functions[0], "%p1"), negated: true })
    );
    assert_eq!(body[0].op, Op::Bra { uniform: false, target: Target(4) });
    assert_eq!(body[1].op, Op::Bra { uniform: false, target: Target(1) });
    assert_eq!(body[2].op, Op::Bra { uniform: true, target: Target(2) });
    assert!(
        matches!(&body[3].op, Op::BrxIdx { targets, .. } if *targets == [Target(0), Target(4), Target(0)])
    );
    assert_eq!(body[4].op, Op::Ret { uniform: false }, "a label at the end gets a return");
    assert_eq!(module.text(body[4].span), "}");
}

#[test]
fn a_return_is_added_only_where_control_falls_off() {
    let length = |lines| kernel(lines).functions[0].body.len();
    assert_eq!(length(""), 1);
    assert_eq!(length("ret;"), 1);
    assert_eq!(length("@%p1 ret;"), 2);
    assert_eq!(length("l: bra l;"), 1);
    assert_eq!(length("bar.sync 0;"), 2);
}

#[test]
fn operands() {
    let function = kernel("").functions.remove(0);
    let reg = |name| register(&function, name);
    let tile = VarRef::Module(0);
    assert_eq!(
        op("mov.u32 %r1, %ctaid.y;"),
        Op::Mov { ty: Type::U32, dst: reg("%r1"), src: Value::Special(SpecialReg::Ctaid(Axis::Y)) }
    );
    assert_eq!(
        op("mov.u32 %r1, tile+12;"),
        Op::Mov { ty: Type::U32, dst: reg("%r1"), src: Value::Address(tile, 12) }
    );
    assert_eq!(
        op("mov.f32 %f1, 0fBF800000;"),
        Op::Mov { ty: Type::F32, dst: reg("%f1"), src: Value::Imm(Imm::F32(0xbf80_0000)) }
    );
    assert_eq!(
        op("mov.b64 {%r1, _}, %rd1;"),
        Op::Unpack {
            ty: Type::B64,
            dst: vec![Some(reg("%r1")), None],
            src: Value::Reg(reg("%rd1"))
        }
    );
    assert_eq!(
        op("mov.b64 %rd1, {%r1, -1};"),
        Op::Pack {
            ty: Type::B64,
            dst: reg("%rd1"),
            src: vec![Value::Reg(reg("%r1")), Value::Imm(Imm::Int(u64::MAX))]
        }
    );
    let Op::Ld { space, ty, dst, addr, .. } = op("ld.shared.v2.s16 {%r1, %r2}, [%r3+-4];") else {
        panic!()
    };
    assert_eq!(
        (space, ty, dst),
        (Space::Shared, Type::S16, vec![Some(reg("%r1")), Some(reg("%r2"))])
    );
    assert_eq!(addr, Address { base: AddressBase::Reg(reg("%r3")), offset: -4 });
    let Op::Ld { addr, .. } = op("ld.shared.u32 %r1, [16];") else { panic!() };
    assert_eq!(addr, Address { base: AddressBase::Absolute, offset: 16 });
    let Op::Ld { addr, ordering, .. } = op("ld.acquire.gpu.global.u64 %rd1, [%rd2];") else {
        panic!()
    };
    assert_eq!((addr.offset, ordering), (0, Ordering::Acquire(Scope::Gpu)));
    let Op::Ld { addr, .. } = op("ld.param.u64 %rd1, [data];") else { panic!() };
    assert_eq!(addr.base, AddressBase::Var(VarRef::Param(0)));
}

#[test]
fn comparisons_with_a_further_predicate() {
    let function = kernel("").functions.remove(0);
    let Op::Setp { cmp, combine, dst, complement, .. } =
        op("setp.hi.xor.u32 _|%p1, %r1, %r2, !%p2;")
    else {
        panic!()
    };
    assert_eq!((cmp, dst, complement), (CmpOp::Gt, None, Some(register(&function, "%p1"))));
    let combine = combine.unwrap();
    assert_eq!(combine.op, LogicOp::Xor);
    assert_eq!(combine.with, PredicateOperand { reg: register(&function, "%p2"), negated: true });
}

#[test]
fn atomics_say_their_order_and_scope() {
    let cases = [
        ("atom.global.add.u32 %r1, [%rd1], 1;", AtomOp::Add, Ordering::Relaxed(Scope::Gpu), true),
        (
            "atom.acq_rel.sys.global.exch.b32 %r1, [%rd1], %r2;",
            AtomOp::Exch,
            Ordering::AcqRel(Scope::Sys),
            true,
        ),
        (
            "red.release.cta.shared.min.s32 [tile], %r1;",
            AtomOp::Min,
            Ordering::Release(Scope::Cta),
            false,
        ),
        (
            "atom.global.cas.b32 _, [%rd1], %r1, %r2;",
            AtomOp::Cas,
            Ordering::Relaxed(Scope::Gpu),
            false,
        ),
    ];
    for (line, wanted, order, returns) in cases {
        let Op::Atom { op, ordering, dst, b, .. } = op(line) else { panic!("{line}") };
        assert_eq!((op, ordering, dst.is_some()), (wanted, order, returns), "{line}");
        assert_eq!(b.is_some(), wanted == AtomOp::Cas, "{line}");
    }
}

#[test]
fn immediates_become_bits_of_the_instruction_type() {
    assert_eq!(Imm::Int(u64::MAX).bits(Type::U16), 0xffff);
    assert_eq!(Imm::Int(u64::MAX).bits(Type::Pred), 1);
    assert_eq!(Imm::Int(3).bits(Type::F32), u64::from(3f32.to_bits()));
    assert_eq!(Imm::F32(1.5f32.to_bits()).bits(Type::F64), 1.5f64.to_bits());
    assert_eq!(Imm::F64(1.5f64.to_bits()).bits(Type::F32), u64::from(1.5f32.to_bits()));
    assert_eq!(Imm::F32(0x3f80_0000).bits(Type::B32), 0x3f80_0000);
    assert_eq!(Imm::F64(1).bits(Type::B64), 1);
}

#[test]
fn calls_resolve_to_functions_declared_before() {
    let module = parsed(
        ".func (.param .b32 r) f(.param .b32 a);
         .entry k() { .reg .b32 %r<2>; .param .b32 x;
           call (%r1), f, (x); call.uni (x), f, (7); ret; }
         .func (.param .b32 r) f(.param .b32 a) { ret; }",
    );
    assert_eq!(module.functions.len(), 2);
    assert!(module.functions[0].defined);
    let Op::Call { callee, uniform, .. } = &module.functions[1].body[1].op else { panic!() };
    assert_eq!((callee.index(), *uniform), (0, true));
}

/// The source places of the instruction that begins with this text, with the innermost place first.
fn origin(module: &Module, text: &str) -> Vec<(String, u32, u32, Option<String>)> {
    let instruction =
        module.functions[0].body.iter().find(|found| module.text(found.span).starts_with(text));
    let frames = module.frames(instruction.unwrap().location.unwrap());
    frames.into_iter().map(|frame| (frame.file, frame.line, frame.column, frame.function)).collect()
}

/// A place in the form that [`origin`] returns.
fn frame(
    file: &str,
    line: u32,
    column: u32,
    function: Option<&str>,
) -> (String, u32, u32, Option<String>) {
    (file.to_owned(), line, column, function.map(str::to_owned))
}

#[test]
fn line_tables_name_files_declared_later() {
    let module = parse("llvm_lineinfo", include_str!("data/llvm_lineinfo.sm_75.ptx")).unwrap();
    assert_eq!(origin(&module, "mul"), [frame("/src/op.rs", 8, 3, None)]);
}

#[test]
fn line_tables_follow_inlining() {
    let module = parse("nvcc_inlined", include_str!("data/nvcc_inlined.sm_75.ptx")).unwrap();
    let outermost = frame("inlined.cu", 9, 3, None);
    let middle = frame("inlined.cu", 6, 3, Some("_Z6middlei"));
    let inner = frame("inlined.cu", 3, 3, Some("_Z5inneri"));
    assert_eq!(origin(&module, "mul.lo"), [inner, middle.clone(), outermost.clone()]);
    assert_eq!(origin(&module, "add.s32 \t%r11"), [middle, outermost.clone()]);
    assert_eq!(origin(&module, "st.global"), [outermost]);
}

/// With recursion, the same place occurs twice in a chain. `inlined_at` means the one that was
/// described last.
#[test]
fn a_call_site_is_the_latest_of_its_place_in_the_function() {
    let module = parsed(
        ".file 1 \"a.rs\"
         .entry first() { .reg .b32 %r<9>;
           .loc 1 9 1
           .loc 1 5 2, function_name names+2, inlined_at 1 9 1
           mov.u32 %r1, 1;
           .loc 1 5 2, function_name names, inlined_at 1 5 2
           mov.u32 %r2, 1;
           .loc 1 5 2, function_name names+2, inlined_at 1 9 1
           mov.u32 %r3, 1;
           .loc 1 7 7, function_name names+100, inlined_at 1 5 2
           mov.u32 %r4, 1;
         }
         .entry second() { .reg .b32 %r<9>;
           .loc 1 7 7, function_name names, inlined_at 1 5 2
           mov.u32 %r1, 1;
         }
         .section .debug_str { names: .b8 102, 0, 103, 0 }",
    );
    let (nine, outer) = (frame("a.rs", 9, 1, None), frame("a.rs", 5, 2, Some("g")));
    assert_eq!(origin(&module, "mov.u32 %r1"), [outer.clone(), nine.clone()]);
    assert_eq!(
        origin(&module, "mov.u32 %r2"),
        [frame("a.rs", 5, 2, Some("f")), outer.clone(), nine.clone()]
    );
    assert_eq!(origin(&module, "mov.u32 %r3"), [outer.clone(), nine.clone()]);
    assert_eq!(origin(&module, "mov.u32 %r4"), [frame("a.rs", 7, 7, None), outer, nine]);
    // Places that the first function described do not count in the second.
    let second = module.frames(module.functions[1].body[0].location.unwrap());
    assert_eq!(
        second[1],
        simt::ptx::ast::Frame { file: "a.rs".into(), line: 5, column: 2, function: None }
    );
    assert_eq!(second.len(), 2);
}

#[test]
fn spans_point_at_the_instruction() {
    let module = kernel("\t@%p1  add.u32\n   %r1, %r2, 3 ;");
    let instruction = &module.functions[0].body[0];
    assert_eq!(module.text(instruction.span), "@%p1  add.u32\n   %r1, %r2, 3 ;");
    assert_eq!(instruction.span.line, 11);
}
