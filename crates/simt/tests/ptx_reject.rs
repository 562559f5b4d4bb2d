//! The texts that the parser and the validator refuse, rule by rule, and the messages.

use simt::ptx::{Diagnostic, parse};

/// A module whose kernel has `lines` after its declarations. The declarations end on line 18.
fn module(lines: &str) -> String {
    format!(
        ".version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 table[16];
.global .align 4 .u32 counter;
.shared .align 4 .b8 tile[64];
.extern .func elsewhere(.param .b32 a);
.func (.param .b32 result) square(.param .b32 x) {{ ret; }}
.func takes_struct(.param .align 4 .b8 s[8]) {{ ret; }}
.entry other() {{ ret; }}
.visible .entry kernel(.param .u64 data, .param .align 8 .b8 pair[16]) {{
 .reg .pred %p<4>;
 .reg .b16 %h<4>;
 .reg .b32 %r<8>; .reg .u32 %u<4>;
 .reg .b64 %rd<8>;
 .reg .f32 %f<4>;
 .reg .f64 %d<4>;
 .param .b32 four; .param .b64 eight; .local .align 8 .b8 depot[16];
{lines}
 ret;
}}
"
    )
}

fn refusal(lines: &str) -> Diagnostic {
    match parse("t.ptx", &module(lines)) {
        Ok(_) => panic!("this was taken: {lines}"),
        Err(error) => error,
    }
}

#[test]
fn the_frame_itself_is_fine() {
    parse("t.ptx", &module("")).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn each_rule_refuses() {
    let cases = [
        // Names.
        ("add.u32 %r1, %r2, %r9;", "`%r9` is not declared"),
        ("mov.u32 %x, 1;", "register `%x` is not declared"),
        ("mov.u32 %tid, 1;", "the special register `%tid` can only be read"),
        ("mov.u32 tile, 1;", "expected a register, found the symbol `tile`"),
        (".reg .b32 %q; .reg .b32 %q;", "`%q` is declared twice"),
        (".reg .b32 %q<2>, %q<3>;", "`%q<..>` is declared twice"),
        (".reg .b32 %big<4000000000>;", "a function may declare at most 1048576 registers"),
        ("bra nowhere;", "there is no label `nowhere` in this function"),
        ("l: l: ret;", "label `l` is defined twice"),
        ("{ inner: ret; } bra inner;", "there is no label `inner` in this function"),
        ("call missing;", "function `missing` is not declared before this call"),
        (
            ".reg .b128 %q<2>; mov.b128 %q1, 5;",
            "`mov.b128`: a number stands where a register with .b128 is needed",
        ),
        (
            ".reg .b128 %q<2>; ld.global.u32 %q1, [%rd1];",
            "`ld.global.u32`: register `%q1` is .b128 where .u32 is needed",
        ),
        (
            ".reg .b128 %q<2>; ld.global.v2.b128 {%q0, %q1}, [%rd1];",
            "`ld.global.v2.b128`: an access of 32 bytes is wider than 16",
        ),
        (
            ".reg .b128 %q<2>; ld.global.u32 %r1, [%q1];",
            "`ld.global.u32`: register `%q1` of type .b128 cannot address the global space",
        ),
        ("call %rd1;", "expected `,` and the name of a `.callprototype`, found `;`"),
        ("call %rd1, p;", "there is no `.callprototype` or `.calltargets` `p` before this line"),
        ("call tile;", "`tile` is not a function"),
        ("t: .calltargets missing;", "there is no function `missing` before this line"),
        ("mov.u32 %r1, square;", "`mov.u32`: the address of function `square` does not fit .u32"),
        ("mov.u64 %rd1, other;", "`mov.u64`: `other` is a kernel, whose address cannot be used"),
        (
            "p: .callprototype (.param .b32 _) _ (.param .b32 _); call (four), %rd1, (eight), p;",
            "`call`: `eight` has 8 bytes where `_` has 4",
        ),
        (
            "p: .callprototype _ (.param .b32 _); call %rd1, p;",
            "`call`: the prototype has 1 parameter(s), but the call has 0",
        ),
        (
            "p: .callprototype _ (); call %r1, p;",
            "`call`: register `%r1` is .b32 where .b64 is needed",
        ),
        ("ld.global.u32 %r1, [square];", "function `square` is not in memory"),
        // Words.
        ("foo.bar.u32 %r1;", "unknown instruction `foo.bar.u32`"),
        ("add.bar.u32 %r1, %r2, %r3;", "unknown modifier `.bar` in `add.bar.u32`"),
        ("add %r1, %r2, %r3;", "`add` lacks one of .u16 .u32 .u64 .s16 .s32 .s64"),
        ("add.b32 %r1, %r2, %r3;", "type `.b32` does not fit `add.b32`"),
        ("add.sat.u32 %r1, %r2, %r3;", "type `.u32` does not fit `add.sat.u32`"),
        ("add.f16x4 %h1, %h2, %h3;", "type `.f16x4` does not fit `add.f16x4`"),
        ("add.rz.f16 %h1, %h2, %h3;", "type `.f16` does not fit `add.rz.f16`"),
        ("add.ftz.bf16 %h1, %h2, %h3;", "type `.bf16` does not fit `add.ftz.bf16`"),
        ("div.rn.f16 %h1, %h2, %h3;", "type `.f16` does not fit `div.rn.f16`"),
        ("mad.rn.f16 %h1, %h1, %h1, %h1;", "type `.f16` does not fit `mad.rn.f16`"),
        ("max.relu.u32 %r1, %r1, %r1;", "type `.u32` does not fit `max.relu.u32`"),
        ("fma.rn.relu.f32 %f1, %f1, %f1, %f1;", "type `.f32` does not fit `fma.rn.relu.f32`"),
        ("ex2.approx.bf16 %h1, %h1;", "type `.bf16` does not fit `ex2.approx.bf16`"),
        ("ex2.approx.ftz.f16 %h1, %h1;", "type `.f16` does not fit `ex2.approx.ftz.f16`"),
        ("copysign.f16 %h1, %h1, %h1;", "type `.f16` does not fit `copysign.f16`"),
        ("ld.global.f16 %h1, [%rd1];", "type `.f16` does not fit `ld.global.f16`"),
        ("atom.global.add.f16 %h1, [%rd1], %h1;", "type `.f16` does not fit `atom.global.add.f16`"),
        (
            "atom.global.add.noftz.f32 %f1, [%rd1], %f1;",
            "type `.f32` does not fit `atom.global.add.noftz.f32`",
        ),
        ("fma.f32 %f1, %f1, %f1, %f1;", "`fma.f32` lacks one of .rn .rz .rm .rp"),
        ("shfl.down.b32 %r1, %r2, 1, 31;", "`shfl.down.b32` lacks one of .sync"),
        ("bar.sync.foo 0;", "unknown modifier `.foo` in `bar.sync.foo`"),
        ("exit.uni;", "unknown modifier `.uni` in `exit.uni`"),
        (".frobnicate 3;", "unknown directive `.frobnicate`"),
        (".reg .bf16 %x;", "unknown type `.bf16`"),
        (".reg .e4m3x2 %x;", "unknown type `.e4m3x2`"),
        (
            "ld.acquire.global.u32 %r1, [%rd1];",
            "`ld.acquire.global.u32` lacks one of .cta .cluster .gpu .sys",
        ),
        ("cvt.f32.f64 %f1, %d1;", "`cvt.f32.f64` needs one of .rn .rz .rm .rp"),
        ("cvt.f32.s32 %f1, %r1;", "`cvt.f32.s32` needs one of .rn .rz .rm .rp"),
        ("cvt.s32.f32 %r1, %f1;", "`cvt.s32.f32` needs one of .rni .rzi .rmi .rpi"),
        (
            "cvt.rn.u64.u32 %rd1, %r1;",
            "`cvt.rn.u64.u32` converts between integers and takes no rounding",
        ),
        ("cvt.rn.f64.f32 %d1, %f1;", "`cvt.rn.f64.f32` is exact and takes no rounding"),
        ("cvt.ftz.f64.s32 %d1, %r1;", "`cvt.ftz.f64.s32` needs one of .rn .rz .rm .rp"),
        (
            "setp.lt.b32 %p1, %r1, %r2;",
            "`setp.lt.b32` compares .b32 in a way that its values do not have",
        ),
        (
            "setp.nan.u32 %p1, %r1, %r2;",
            "`setp.nan.u32` compares .u32 in a way that its values do not have",
        ),
        (
            "setp.eq.ftz.f64 %p1, %d1, %d2;",
            "`setp.eq.ftz.f64` has .ftz, which is for .f32, .f16 and .f16x2",
        ),
        (
            "setp.eq.ftz.bf16 %p1, %h1, %h2;",
            "`setp.eq.ftz.bf16` has .ftz, which is for .f32, .f16 and .f16x2",
        ),
        ("setp.eq.f16 %p1|%p2, %h1, %h2;", "`setp.eq.f16` has one result"),
        ("set.eq.f32.f16 %f1, %h1, %h2;", "`set.eq.f32.f16` does not give .f32 from .f16"),
        ("set.eq.f16x2.f16 %r1, %h1, %h2;", "`set.eq.f16x2.f16` does not give .f16x2 from .f16"),
        ("cvt.f16.f32 %h1, %f1;", "`cvt.f16.f32` needs one of .rn .rz .rm .rp"),
        ("cvt.bf16.f16 %h1, %h1;", "`cvt.bf16.f16` needs one of .rn .rz .rm .rp"),
        ("cvt.rn.f32.f16 %f1, %h1;", "`cvt.rn.f32.f16` is exact and takes no rounding"),
        ("cvt.ftz.f16.f16 %h1, %h1;", "`cvt.ftz.f16.f16` has .ftz, which is for .f32"),
        (
            "cvt.rm.relu.f16.f32 %h1, %f1;",
            "`cvt.rm.relu.f16.f32` has .relu, which is for .f16 and .bf16 from .f32 by .rn or .rz",
        ),
        (
            "cvt.rn.sat.bf16.f32 %h1, %f1;",
            "`cvt.rn.sat.bf16.f32` has .sat, which .bf16 does not know",
        ),
        (
            "cvt.rn.bf16.u8 %h1, %r1;",
            "`cvt.rn.bf16.u8` converts between .bf16 and 8 bits, which is not simulated",
        ),
        ("cvt.rm.f16x2.f32 %r1, %f1, %f2;", "`cvt.rm.f16x2.f32` needs one of .rn .rz"),
        // Forms.
        ("add.u32 %r1, %r2;", "expected `,` and another operand, found `;`"),
        ("add.u32 %r1, %r2, %r3, %r4;", "expected `;` after the operands, found `,`"),
        ("mov.u32 %r1, %tid;", "expected `.x`, `.y` or `.z` after `%tid`, found `;`"),
        ("add.u32 _, %r1, %r2;", "`_` cannot stand here"),
        ("add.u32 %r1, _, %r2;", "`_` cannot be read"),
        ("lop3.b32 %r1, %r2, %r3, %r4, 256;", "the table 0x100 is above 0xff"),
        (
            "lop3.b32 %r1, %r2, %r3, %r4, 1.5;",
            "expected a table from 0 to 255, found a floating-point number",
        ),
        (
            "ld.global.v2.u32 %r1, [%rd1];",
            "`ld.global.v2.u32` moves 2 element(s), but its operand has 1",
        ),
        (
            "ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];",
            "`ld.global.v2.u32` moves 2 element(s), but its operand has 3",
        ),
        (
            "st.global.v4.u32 [%rd1], {%r1, %r2};",
            "`st.global.v4.u32` moves 4 element(s), but its operand has 2",
        ),
        ("discard.global.L2 [%rd1], 64;", "`discard.global.L2` takes the size 128 alone"),
        (".local .align 3 .b8 x[4];", "the alignment 3 is not a power of two"),
        (".shared .attribute(.unified(1, 2)) .b32 x;", "expected `.managed`, found `.unified`"),
        (".shared .attribute(.managed) .b32 x;", "`.managed` is for `.global` variables only"),
        (".local .b8 x[];", "`x` has no size"),
        (".local .b32 x = 1;", "a .local variable has no initialiser"),
        // Types.
        ("add.u32 %r1, %f1, %r2;", "`add.u32`: register `%f1` is .f32 where .u32 is needed"),
        ("add.u32 %f1, %r1, %r2;", "`add.u32`: register `%f1` is .f32 where .u32 is needed"),
        ("add.u32 %u1, %rd1, 1;", "`add.u32`: register `%rd1` is .b64 where .u32 is needed"),
        ("@%r1 add.u32 %u1, %u1, 1;", "`add.u32`: register `%r1` is .b32 where .pred is needed"),
        ("add.f32 %f1, %f2, 1;", "`add.f32`: an integer stands where .f32 is needed"),
        (
            "add.u32 %r1, %r2, 1.5;",
            "`add.u32`: a floating-point number stands where .u32 is needed",
        ),
        (
            "add.u32 %r1, %tid.x, 1;",
            "`add.u32`: a special register can only be read by `mov` and `cvt`",
        ),
        ("mov.u64 %rd1, %tid.x;", "`mov.u64`: the special register has type .u32, not .u64"),
        ("mov.u32 %r1, %clock64;", "`mov.u32`: the special register has type .u64, not .u32"),
        ("mov.u32 %r1, counter;", "`mov.u32`: the address of `counter` does not fit .u32"),
        (
            "mul.wide.u32 %r1, %r2, %r3;",
            "`mul.wide.u32`: register `%r1` is .b32 where .u64 is needed",
        ),
        (
            "mad.wide.s32 %rd1, %r1, %r2, %r3;",
            "`mad.wide.s32`: register `%r3` is .b32 where .s64 is needed",
        ),
        ("shl.b64 %rd1, %rd2, %rd3;", "`shl.b64`: register `%rd3` is .b64 where .u32 is needed"),
        ("popc.b64 %rd1, %rd2;", "`popc.b64`: register `%rd1` is .b64 where .u32 is needed"),
        ("sad.u32 %r1, %r2, %rd3, 1;", "`sad.u32`: register `%rd3` is .b64 where .u32 is needed"),
        (
            "dp4a.u32.s32 %r1, %r2, %f1, %r3;",
            "`dp4a.u32.s32`: register `%f1` is .f32 where .u32 is needed",
        ),
        ("dp2a.u32.s32 %r1, %r2, %r2, %r3;", "`dp2a.u32.s32` lacks one of .lo .hi"),
        ("not.pred %p1, %r1;", "`not.pred`: register `%r1` is .b32 where .pred is needed"),
        (
            "lop3.b32 %r1, %r2, %rd3, %r4, 1;",
            "`lop3.b32`: register `%rd3` is .b64 where .b32 is needed",
        ),
        (
            "shf.l.wrap.b32 %r1, %rd2, %r3, %r4;",
            "`shf.l.wrap.b32`: register `%rd2` is .b64 where .b32 is needed",
        ),
        (
            "prmt.b32 %r1, %r2, %r3, %rd4;",
            "`prmt.b32`: register `%rd4` is .b64 where .b32 is needed",
        ),
        ("bfe.u64 %rd1, %rd2, %rd3, 1;", "`bfe.u64`: register `%rd3` is .b64 where .u32 is needed"),
        (
            "bfi.b32 %r1, %r2, %rd3, 1, 2;",
            "`bfi.b32`: register `%rd3` is .b64 where .b32 is needed",
        ),
        (
            "bmsk.clamp.b32 %rd1, 1, 2;",
            "`bmsk.clamp.b32`: register `%rd1` is .b64 where .b32 is needed",
        ),
        (
            "szext.wrap.u32 %r1, %r2, %rd1;",
            "`szext.wrap.u32`: register `%rd1` is .b64 where .u32 is needed",
        ),
        (
            "add.f16 %h1, %h2, 0x3C00;",
            "`add.f16`: a number stands where a register with .f16 is needed",
        ),
        ("add.f16 %u1, %h2, %h3;", "`add.f16`: register `%u1` is .u32 where .f16 is needed"),
        (
            ".reg .u16 %w; add.f16 %w, %h2, %h3;",
            "`add.f16`: register `%w` is .u16 where .f16 is needed",
        ),
        (
            ".reg .f16 %w; add.bf16 %w, %h2, %h3;",
            "`add.bf16`: register `%w` is .f16 where .bf16 is needed",
        ),
        ("add.f16x2 %r1, %r2, %f1;", "`add.f16x2`: register `%f1` is .f32 where .f16x2 is needed"),
        (
            "cvt.rn.f16x2.f32 %h1, %f1, %f2;",
            "`cvt.rn.f16x2.f32`: register `%h1` is .b16 where .f16x2 is needed",
        ),
        (
            "fma.rn.f64 %d1, %d2, %d3, %f1;",
            "`fma.rn.f64`: register `%f1` is .f32 where .f64 is needed",
        ),
        ("sqrt.rn.f32 %f1, %d1;", "`sqrt.rn.f32`: register `%d1` is .f64 where .f32 is needed"),
        (
            "testp.finite.f32 %r1, %f1;",
            "`testp.finite.f32`: register `%r1` is .b32 where .pred is needed",
        ),
        (
            "setp.eq.u32 %r1, %r2, %r3;",
            "`setp.eq.u32`: register `%r1` is .b32 where .pred is needed",
        ),
        (
            "setp.eq.and.u32 %p1, %r2, %r3, %r4;",
            "`setp.eq.and.u32`: register `%r4` is .b32 where .pred is needed",
        ),
        (
            "set.eq.u32.u32 %f1, %r2, %r3;",
            "`set.eq.u32.u32`: register `%f1` is .f32 where .u32 is needed",
        ),
        (
            "selp.b32 %r1, %r2, %r3, %r4;",
            "`selp.b32`: register `%r4` is .b32 where .pred is needed",
        ),
        (
            "slct.u32.s32 %r1, %r2, %r3, %f1;",
            "`slct.u32.s32`: register `%f1` is .f32 where .s32 is needed",
        ),
        ("cvt.u64.u32 %r1, %r2;", "`cvt.u64.u32`: register `%r1` is .b32 where .u64 is needed"),
        (
            "cvt.rn.f32.s32 %d1, %r2;",
            "`cvt.rn.f32.s32`: register `%d1` is .f64 where .f32 is needed",
        ),
        ("mov.b64 %rd1, {%r1, %rd2};", "`mov.b64`: register `%rd2` is .b64 where .b32 is needed"),
        ("mov.b64 {%r1, %h1}, %rd2;", "`mov.b64`: register `%h1` is .b16 where .b32 is needed"),
        ("mov.b64 {%r1, %r2, %r3}, %rd2;", "`mov.b64`: .b64 cannot be split into 3 parts"),
        ("mov.u64 {%r1, %r2}, %rd2;", "`mov.u64`: .u64 cannot be split into 2 parts"),
        (
            "cvta.global.u64 %r1, %rd1;",
            "`cvta.global.u64`: register `%r1` is .b32 where .u64 is needed",
        ),
        (
            "cvta.global.u64 %rd1, tile;",
            "`cvta.global.u64`: `tile` is in the shared space, not in the global space",
        ),
        (
            "isspacep.shared %r1, %rd1;",
            "`isspacep.shared`: register `%r1` is .b32 where .pred is needed",
        ),
        // Memory.
        (
            "ld.global.u32 %h1, [%rd1];",
            "`ld.global.u32`: register `%h1` is .b16 where .u32 is needed",
        ),
        ("ld.global.u8 %f1, [%rd1];", "`ld.global.u8`: register `%f1` is .f32 where .u8 is needed"),
        (
            "ld.global.u32 %r1, [%r2];",
            "`ld.global.u32`: register `%r2` of type .b32 cannot address the global space",
        ),
        (
            "ld.shared.u32 %r1, [%f2];",
            "`ld.shared.u32`: register `%f2` of type .f32 cannot address the shared space",
        ),
        (
            "ld.global.u32 %r1, [tile];",
            "`ld.global.u32`: `tile` is in the shared space, not in the global space",
        ),
        (
            "ld.u32 %r1, [tile];",
            "`ld.u32`: `tile` is in the shared space, not in the generic space",
        ),
        ("st.const.u32 [table], 1;", "`st.const.u32`: the .const space cannot be written"),
        ("st.param.u64 [data], 1;", "`st.param.u64`: parameter `data` cannot be written"),
        (
            "ld.param.u64 %rd1, [pair+16];",
            "`ld.param.u64`: 8 bytes at offset 16 leave `pair`, which has 16 bytes",
        ),
        (
            "ld.param.u64 %rd1, [pair+-8];",
            "`ld.param.u64`: 8 bytes at offset -8 leave `pair`, which has 16 bytes",
        ),
        (
            "ld.param.u64 %rd1, [pair+4];",
            "`ld.param.u64`: offset 4 in `pair` is not a multiple of the access's 8 bytes",
        ),
        (
            "st.param.b64 [four], %rd1;",
            "`st.param.b64`: 8 bytes at offset 0 leave `four`, which has 4 bytes",
        ),
        (
            "ld.shared.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];",
            "`ld.shared.v4.u64`: an access of 32 bytes is wider than 16",
        ),
        (
            "ld.relaxed.gpu.const.u32 %r1, [table];",
            "`ld.relaxed.gpu.const.u32`: the const space knows no ordering",
        ),
        (
            "atom.global.add.u32 %r1, [%rd1], %f1;",
            "`atom.global.add.u32`: register `%f1` is .f32 where .u32 is needed",
        ),
        (
            "atom.shared.cas.b32 %r1, [tile], %r2, %rd1;",
            "`atom.shared.cas.b32`: register `%rd1` is .b64 where .b32 is needed",
        ),
        (
            "prefetch.global.L1 [%f1];",
            "`prefetch.global.L1`: register `%f1` of type .f32 cannot address the global space",
        ),
        (
            "ld.global.v8.u64 {%rd1, %rd2, %rd3, %rd4, %rd1, %rd2, %rd3, %rd4}, [%rd1];",
            "`ld.global.v8.u64`: an access of 64 bytes is wider than 32",
        ),
        (
            "st.release.gpu.local.u32 [depot], 1;",
            "`st.release.gpu.local.u32`: the local space knows no ordering",
        ),
        ("add.u32 %r1, %r2, %r3 ret;", "expected `;` after the operands, found `ret`"),
        (
            "mov.b64 %rd1, {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};",
            "expected at most 8 elements, found `}`",
        ),
        ("bra.sometimes l;", "unknown modifier `.sometimes` in `bra.sometimes`"),
        // Warp, barriers, calls.
        ("bar.warp.sync %rd1;", "`bar.warp.sync`: register `%rd1` is .b64 where .b32 is needed"),
        (
            "shfl.sync.up.b32 %r1|%r2, %r1, 1, 0, -1;",
            "`shfl.sync.up.b32`: register `%r2` is .b32 where .pred is needed",
        ),
        (
            "vote.sync.ballot.b32 %p1, %p2, -1;",
            "`vote.sync.ballot.b32`: register `%p1` is .pred where .b32 is needed",
        ),
        (
            "vote.sync.any.pred %p1, %r1, -1;",
            "`vote.sync.any.pred`: register `%r1` is .b32 where .pred is needed",
        ),
        (
            "match.any.sync.b64 %r1, %r2, -1;",
            "`match.any.sync.b64`: register `%r2` is .b32 where .b64 is needed",
        ),
        ("activemask.b32 %rd1;", "`activemask.b32`: register `%rd1` is .b64 where .b32 is needed"),
        (
            "redux.sync.add.u32 %r1, %rd1, -1;",
            "`redux.sync.add.u32`: register `%rd1` is .b64 where .u32 is needed",
        ),
        ("elect.sync %r1|%r2, -1;", "`elect.sync`: register `%r2` is .b32 where .pred is needed"),
        ("nanosleep.u32 %f1;", "`nanosleep.u32`: register `%f1` is .f32 where .u32 is needed"),
        ("pmevent %r1;", "`pmevent`: the event must be a number"),
        ("bar.sync 16;", "`bar.sync`: there is no barrier 16, only 0 to 15"),
        ("bar.sync 0, 33;", "`bar.sync`: 33 threads are not a positive multiple of 32"),
        ("bar.arrive 0;", "expected `,` and another operand, found `;`"),
        (
            "bar.red.popc.u32 %p1, 0, %p2;",
            "`bar.red.popc.u32`: register `%p1` is .pred where .u32 is needed",
        ),
        ("t: .branchtargets t; brx.idx %f1, t;", "there is no label `t` in this function"),
        (
            "l: ret; t: .branchtargets l; brx.idx %f1, t;",
            "`brx.idx`: register `%f1` is .f32 where .u32 is needed",
        ),
        ("call other;", "`call`: `other` is a kernel and cannot be called"),
        ("call elsewhere, (four);", "`call`: function `elsewhere` has no body in this module"),
        ("call square, (four);", "`call`: `square` has 1 result(s), but the call has 0"),
        ("call (four), square;", "`call`: `square` has 1 parameter(s), but the call has 0"),
        ("call (four), square, (eight);", "`call`: `eight` has 8 bytes where `x` has 4"),
        (
            "call (four), square, (tile);",
            "`call`: `tile` is not a .param variable of this function",
        ),
        ("call (four), square, (%d1);", "`call`: register `%d1` is .f64 where .b32 is needed"),
        ("call (%d1), square, (four);", "`call`: register `%d1` is .f64 where .b32 is needed"),
        // Clusters, mbarriers and asynchronous copies.
        ("mapa.u32 %r1, %r2, 0;", "`mapa.u32`: generic addresses have 64 bits"),
        (
            "mapa.u64 %rd1, tile, 0;",
            "`mapa.u64`: `tile` is in the shared space, not in the generic space",
        ),
        (
            "mapa.shared::cluster.u64 %rd1, counter, 0;",
            "`mapa.shared::cluster.u64`: `counter` is in the global space, not in the shared::cluster space",
        ),
        ("mapa.shared.u32 %r1, %r2, 0;", "unknown modifier `.shared` in `mapa.shared.u32`"),
        (
            "mapa.shared::cluster.u32 %r1, %r2, %rd1;",
            "`mapa.shared::cluster.u32`: register `%rd1` is .b64 where .u32 is needed",
        ),
        (
            "getctarank.u64 %rd1, %rd1;",
            "`getctarank.u64`: register `%rd1` is .b64 where .u32 is needed",
        ),
        (
            "ld.shared::cluster.u32 %r1, [counter];",
            "`ld.shared::cluster.u32`: `counter` is in the global space, not in the shared::cluster space",
        ),
        ("barrier.cluster.sync;", "`barrier.cluster.sync` lacks one of .arrive .wait"),
        (
            "barrier.cluster.wait.relaxed;",
            "unknown modifier `.relaxed` in `barrier.cluster.wait.relaxed`",
        ),
        ("barrier.cluster.arrive 0;", "expected `;` after the operands, found `0`"),
        (
            "mov.u32 %r1, %is_explicit_cluster;",
            "`mov.u32`: the special register has type .pred, not .u32",
        ),
        ("mov.u32 %r1, %clusterid;", "expected `.x`, `.y` or `.z` after `%clusterid`, found `;`"),
        (
            "mbarrier.init.shared.b64 [tile], 0;",
            "`mbarrier.init.shared.b64`: the count 0 is not one of 1 to 1048575",
        ),
        (
            "mbarrier.init.shared.b32 [tile], 1;",
            "type `.b32` does not fit `mbarrier.init.shared.b32`",
        ),
        (
            "mbarrier.init.shared::cluster.b64 [%r1], 1;",
            "unknown modifier `.shared::cluster` in `mbarrier.init.shared::cluster.b64`",
        ),
        (
            "mbarrier.init.b64 [%r1], 1;",
            "`mbarrier.init.b64`: register `%r1` of type .b32 cannot address the generic space",
        ),
        (
            "mbarrier.init.shared.b64 [counter], 1;",
            "`mbarrier.init.shared.b64`: `counter` is in the global space, not in the shared space",
        ),
        (
            "mbarrier.arrive.shared.b64 %r1, [tile];",
            "`mbarrier.arrive.shared.b64`: register `%r1` is .b32 where .b64 is needed",
        ),
        (
            "mbarrier.arrive.shared::cluster.b64 %rd1, [%r1];",
            "`mbarrier.arrive.shared::cluster.b64`: the state of another block's mbarrier is not returned: the destination is `_`",
        ),
        (
            "mbarrier.arrive.noComplete.shared.b64 _, [tile], 1;",
            "`mbarrier.arrive.noComplete.shared.b64`: its result is the state, and it cannot be `_`",
        ),
        (
            "mbarrier.arrive.noComplete.shared.b64 %rd1, [tile];",
            "expected `,` and another operand, found `;`",
        ),
        (
            "mbarrier.arrive.expect_tx.shared.b64 _, [tile];",
            "expected `,` and another operand, found `;`",
        ),
        (
            "mbarrier.arrive.expect_tx.shared.b64 _, [tile], 1048576;",
            "`mbarrier.arrive.expect_tx.shared.b64`: the count 1048576 is not one of 0 to 1048575",
        ),
        (
            "mbarrier.test_wait.shared.b64 %p1, [tile], %r1;",
            "`mbarrier.test_wait.shared.b64`: register `%r1` is .b32 where .b64 is needed",
        ),
        (
            "mbarrier.test_wait.parity.shared.b64 %p1, [tile], %rd1;",
            "`mbarrier.test_wait.parity.shared.b64`: register `%rd1` is .b64 where .u32 is needed",
        ),
        (
            "mbarrier.try_wait.shared.b64 %r1, [tile], %rd1;",
            "`mbarrier.try_wait.shared.b64`: register `%r1` is .b32 where .pred is needed",
        ),
        (
            "mbarrier.pending_count.b64 %rd1, %rd2;",
            "`mbarrier.pending_count.b64`: register `%rd1` is .b64 where .u32 is needed",
        ),
        (
            "mbarrier.wait.shared.b64 %p1, [tile], %rd1;",
            "`mbarrier.wait.shared.b64` lacks one of .init .inval .arrive .arrive_drop .expect_tx .complete_tx .test_wait .try_wait .pending_count",
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [tile], 16;",
            "unknown modifier `.reduce` in `cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32`",
        ),
        (
            "cp.async.ca.shared.global [tile], [%rd1], 3;",
            "`cp.async.ca.shared.global` copies 4, 8 or 16 bytes, not 3",
        ),
        (
            "cp.async.cg.shared.global [tile], [%rd1], 8;",
            "`cp.async.cg.shared.global` copies 16 bytes, not 8",
        ),
        (
            "cp.async.ca.global.shared [%rd1], [tile], 4;",
            "`cp.async.ca.global.shared`: `tile` is in the shared space, not in the global space",
        ),
        ("cp.async.wait_group %r1;", "expected a number of groups, found `%r1`"),
        (
            "cp.async.bulk.wait_all;",
            "`cp.async.bulk.wait_all` lacks one of .global .shared::cta .shared::cluster",
        ),
        (
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 24, [tile];",
            "`cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes`: the size 24 is not a multiple of 16",
        ),
        (
            "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%rd1], [tile], 16, [tile];",
            "`cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes` is not a copy that PTX knows",
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], [tile];",
            "unknown modifier `.tensor` in `cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes`",
        ),
        (
            "fence.proxy.tensormap::generic.release.gpu;",
            "`fence.proxy.tensormap::generic.release.gpu` lacks one of .cluster",
        ),
        ("fence.proxy.async.gpu;", "unknown modifier `.gpu` in `fence.proxy.async.gpu`"),
        ("call takes_struct, (%r1);", "`call`: `s` is an array, not a single value"),
    ];
    let mut wrong = Vec::new();
    for (lines, message) in cases {
        match parse("t.ptx", &module(lines)) {
            Ok(_) => wrong.push(format!("taken: {lines}")),
            Err(error) if error.message != message => {
                wrong.push(format!("{lines}\n    {}\n    {message}", error.message));
            }
            Err(error) => assert_eq!(error.line, 19, "{lines}"),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn headers_refuse() {
    let kernel = ".visible .entry k() { ret; }";
    let cases = [
        (
            String::new(),
            "expected `.version`, which begins every PTX file, found the end of the file",
        ),
        (".version x\n".to_owned(), "`x` is not a PTX version"),
        (".version 8.0\n.entry".to_owned(), "expected `.target` after the version, found `.entry`"),
        (
            ".version 8.0\n.target sm_75\n.address_size 32\n".to_owned(),
            "addresses of 32 bits are not supported, only of 64",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse("t.ptx", &text).unwrap_err().message, message);
    }
    let cases = [
        (".alias a, b;", "unknown directive `.alias`"),
        (
            ".extern .global .u32 x;",
            "`x` is defined in another module, and there is no linker here",
        ),
        (".global .u32 x; .global .u32 x;", "`x` is declared twice"),
        (".global .pred x;", "predicates exist in registers only"),
        (".global .u8 x[2] = {1, 2, 3};", "the initialiser of 3 bytes does not fit `x`"),
        (".global .u8 x[4000000000] = {1};", "the initialiser of 1 bytes does not fit `x`"),
        (".global .u8 x[4000000000][4000000000];", "this array is larger than 2^40 elements"),
        (".global .u32 x = y;", "the address of `y` needs elements of 64 bits, not .u32"),
        (
            ".global .u64 x = y;",
            "there is no variable or function `y` at module scope before this line",
        ),
        (".shared .u32 x = 1;", "a .shared variable has no initialiser"),
        (".entry e() { ret; } .entry e() { ret; }", "`e` is defined twice"),
        (
            ".func f(.param .b32 a); .func f() { ret; }",
            "`f` does not match its earlier declaration",
        ),
        (".entry e(.param .u32 a, .param .u32 a) { ret; }", "`a` is declared twice"),
        (".entry e(.param .b8 a[]) { ret; }", "parameter `a` has no size"),
        (
            ".entry e(.param .b8 a[32765]) { ret; }",
            "the parameters of `e` take 32765 bytes, more than 32764",
        ),
        (".entry e(.param .pred a) { ret; }", "parameter `a` cannot be a predicate"),
        (".func f(.reg .b32 a) { ret; }", "expected `.param`, found `.reg`"),
        (".func (.param .b32 a, .param .b32 b) f() { ret; }", "`f` returns more than one value"),
        (".entry e() .reqnctapercluster { ret; }", "expected a number, found `{`"),
        (".func f() .explicitcluster { ret; }", "unknown directive `.explicitcluster`"),
        (".entry e() .blocksareclusters { ret; }", "unknown directive `.blocksareclusters`"),
        (".entry e() { ret;", "this body is never closed"),
        (".section .debug_info { .b8 1", "this section is never closed"),
        (".entry e() { .loc 7 1 1 }", "there is no `.file 7`"),
        (".entry e() { /* }", "this comment is never closed"),
        (".pragma \"x;", "this string is never closed"),
        (".entry e() { # }", "unexpected character `#`"),
        (".entry é() { }", "unexpected character `\\u{e9}`"),
    ];
    for (declaration, message) in cases {
        let text =
            format!(".version 8.0\n.target sm_75\n.address_size 64\n{kernel}\n{declaration}\n");
        match parse("t.ptx", &text) {
            Ok(_) => panic!("this was taken: {declaration}"),
            Err(error) => assert_eq!(error.message, message, "{declaration}"),
        }
    }
}

#[test]
fn unknown_instruction() {
    insta::assert_snapshot!(refusal(" @%p1 foo.bar.u32 %r1, %r2;"), @r"
    unknown instruction `foo.bar.u32`
      --> t.ptx:19:7
       |
    19 |  @%p1 foo.bar.u32 %r1, %r2;
       |       ^
    ");
}

#[test]
fn unknown_modifier_lists_the_known() {
    insta::assert_snapshot!(refusal(" mul.rn.sat.relu.f32 %f1, %f2, %f3;"), @r"
    unknown modifier `.relu` in `mul.rn.sat.relu.f32`
      --> t.ptx:19:12
       |
    19 |  mul.rn.sat.relu.f32 %f1, %f2, %f3;
       |            ^
       = known here: .rn .rz .rm .rp .ftz .sat .f32 .f16 .f16x2
    ");
}

#[test]
fn missing_scope() {
    insta::assert_snapshot!(refusal(" ld.acquire.global.u32 %r1, [%rd1];"), @r"
    `ld.acquire.global.u32` lacks one of .cta .cluster .gpu .sys
      --> t.ptx:19:2
       |
    19 |  ld.acquire.global.u32 %r1, [%rd1];
       |  ^
    ");
}

#[test]
fn type_that_does_not_fit() {
    insta::assert_snapshot!(refusal(" atom.global.min.f32 %f1, [%rd1], %f2;"), @r"
    type `.f32` does not fit `atom.global.min.f32`
      --> t.ptx:19:17
       |
    19 |  atom.global.min.f32 %f1, [%rd1], %f2;
       |                 ^
       = known here: .u32 .s32 .u64 .s64
    ");
}

#[test]
fn undeclared_register() {
    insta::assert_snapshot!(refusal("\tadd.s32 \t%r1, %r2, %r77;"), @r"
    `%r77` is not declared
      --> t.ptx:19:21
       |
    19 |  add.s32  %r1, %r2, %r77;
       |                     ^
    ");
}

#[test]
fn register_of_the_wrong_type() {
    insta::assert_snapshot!(refusal(" add.f32 %f1, %f2, %d1;"), @r"
    `add.f32`: register `%d1` is .f64 where .f32 is needed
      --> t.ptx:19:2
       |
    19 |  add.f32 %f1, %f2, %d1;
       |  ^
    ");
}

#[test]
fn wrong_state_space() {
    insta::assert_snapshot!(refusal(" ld.global.u32 %r1, [tile+4];"), @r"
    `ld.global.u32`: `tile` is in the shared space, not in the global space
      --> t.ptx:19:2
       |
    19 |  ld.global.u32 %r1, [tile+4];
       |  ^
    ");
}

#[test]
fn parameter_out_of_bounds() {
    insta::assert_snapshot!(refusal(" ld.param.v2.u64 {%rd1, %rd2}, [data];"), @r"
    `ld.param.v2.u64`: 16 bytes at offset 0 leave `data`, which has 8 bytes
      --> t.ptx:19:2
       |
    19 |  ld.param.v2.u64 {%rd1, %rd2}, [data];
       |  ^
    ");
}

#[test]
fn call_of_an_undefined_function() {
    insta::assert_snapshot!(refusal(" call.uni elsewhere, (four);"), @r"
    `call.uni`: function `elsewhere` has no body in this module
      --> t.ptx:19:2
       |
    19 |  call.uni elsewhere, (four);
       |  ^
    ");
}

#[test]
fn call_with_the_wrong_number_of_arguments() {
    insta::assert_snapshot!(refusal(" call (four), square, (four, four);"), @r"
    `call`: `square` has 1 parameter(s), but the call has 2
      --> t.ptx:19:2
       |
    19 |  call (four), square, (four, four);
       |  ^
    ");
}

#[test]
fn malformed_number() {
    insta::assert_snapshot!(refusal(" mov.f32 %f1, 0f3F80;"), @r"
    `0f3F80` is not a number
      --> t.ptx:19:15
       |
    19 |  mov.f32 %f1, 0f3F80;
       |               ^
       = numbers are decimal, 0x.., 0b.. or octal integers up to 64 bits, 0f and 8 or 0d and 16 hexadecimal digits, or decimal fractions
    ");
}

/// The README's list of unknown instructions must agree with this parser.
#[test]
fn what_the_readme_says_is_unknown_is_unknown() {
    let readme = include_str!("../README.md");
    let (_, list) = readme.split_once("unknown altogether:").expect("the list begins so");
    let (list, _) = list.split_once("Of others").expect("the list ends so");
    let opcodes: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    assert!(opcodes.len() > 30, "{opcodes:?}");
    for opcode in opcodes {
        let error = parse("t.ptx", &module(&format!("{opcode};")))
            .err()
            .unwrap_or_else(|| panic!("{opcode} is taken"));
        assert_eq!(error.message, format!("unknown instruction `{opcode}`"));
    }
}
