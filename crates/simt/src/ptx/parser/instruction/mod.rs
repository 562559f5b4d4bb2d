//! One instruction: the opcode chooses a family, and the family reads modifiers and operands.

mod arithmetic;
mod asynchronous;
mod cluster;
mod control;
mod float;
mod logic;
mod memory;
mod video;
mod warp;

use super::super::ast::{LogicOp, Op, Rounding, Scope, Space, Type, VideoOp};
use super::super::diagnostic::{Error, Result};
use super::modifiers::{Modifiers, Table};
use super::{Parser, TokenKind};

const INTEGERS: [Type; 6] = [Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64];
const UNTYPED: [Type; 3] = [Type::B16, Type::B32, Type::B64];
const FLOATS: [Type; 2] = [Type::F32, Type::F64];
const HALVES: [Type; 4] = [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];
const WORDS: [Type; 2] = [Type::B32, Type::B64];
/// All types of `setp`, `selp` and `mov` except predicates.
const NUMBERS: [Type; 11] = [
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
];

const ROUNDINGS: &Table<Rounding> = &[
    ("rn", Rounding::NearestEven),
    ("rz", Rounding::Zero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

const SPACES: &Table<Space> = &[
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("shared::cluster", Space::SharedCluster),
    ("local", Space::Local),
    ("const", Space::Const),
    ("param", Space::Param),
    ("param::entry", Space::Param),
    ("param::func", Space::Param),
];

const SCOPES: &Table<Scope> =
    &[("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("sys", Scope::Sys)];

const LOGIC: &Table<LogicOp> = &[("and", LogicOp::And), ("or", LogicOp::Or), ("xor", LogicOp::Xor)];

impl Parser<'_> {
    /// Reads from the opcode to the last operand. The semicolon is not taken.
    pub(super) fn op(&mut self) -> Result<Op> {
        let (opcode, mut span) = self.ident("an instruction")?;
        let mut words = Vec::new();
        while let TokenKind::Dot = self.peek().kind {
            let token = self.bump();
            words.push((&self.text(token.span)[1..], token.span));
            span.end = token.span.end;
        }
        self.first_operand = true;
        let mut m = Modifiers::new(self.text(span), span, words);
        match opcode {
            "mov" => self.mov(&mut m),
            "ld" => self.ld(&mut m),
            "ldu" => self.ldu(&mut m),
            "st" => self.st(&mut m),
            "cvta" => self.cvta(&mut m),
            "cvt" => self.cvt(&mut m),
            "isspacep" => self.isspacep(&mut m),
            "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                self.cache_control(opcode, &mut m)
            }
            "createpolicy" => self.create_policy(&mut m),
            "atom" => self.atom(&mut m, true),
            "red" => self.atom(&mut m, false),

            "add" | "sub" | "mul" | "div" | "min" | "max"
                if m.peek_ty().is_some_and(Type::is_float) =>
            {
                self.float_binary(opcode, &mut m)
            }
            "mad" if m.peek_ty().is_some_and(Type::is_float) => self.fma(false, &mut m),
            "abs" | "neg" if m.peek_ty().is_some_and(Type::is_float) => {
                self.float_sign(opcode, &mut m)
            }
            "copysign" => self.float_binary(opcode, &mut m),
            "fma" => self.fma(true, &mut m),
            "sqrt" | "rcp" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => {
                self.float_unary(opcode, &mut m)
            }
            "testp" => self.testp(&mut m),

            "add" | "sub" | "addc" | "subc" => self.add_sub(opcode, &mut m),
            "mul" | "mul24" => self.mul(opcode, &mut m),
            "mad" | "mad24" | "madc" => self.mad(opcode, &mut m),
            "div" | "rem" | "min" | "max" => self.int_binary(opcode, &mut m),
            "sad" => self.sad(&mut m),
            "dp4a" | "dp2a" => self.dot_product(opcode, &mut m),
            "abs" | "neg" | "cnot" | "popc" | "clz" | "brev" | "bfind" => {
                self.int_unary(opcode, &mut m)
            }

            "fns" => self.fns(&mut m),
            "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vadd4" | "vsub4"
            | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" => {
                let op = match opcode.trim_end_matches(['2', '4']) {
                    "vadd" => VideoOp::Add,
                    "vsub" => VideoOp::Sub,
                    "vavrg" => VideoOp::Average,
                    "vabsdiff" => VideoOp::AbsoluteDifference,
                    "vmin" => VideoOp::Min,
                    _ => VideoOp::Max,
                };
                self.video(op, opcode.ends_with('4'), &mut m)
            }

            "and" | "or" | "xor" => self.logic(opcode, &mut m),
            "not" => self.not(&mut m),
            "lop3" => self.lop3(&mut m),
            "shl" | "shr" => self.shift(opcode, &mut m),
            "shf" => self.shf(&mut m),
            "prmt" => self.prmt(&mut m),
            "bfe" => self.bfe(&mut m),
            "bfi" => self.bfi(&mut m),
            "bmsk" => self.bmsk(&mut m),
            "szext" => self.szext(&mut m),
            "setp" => self.setp(&mut m),
            "set" => self.set(&mut m),
            "selp" => self.selp(&mut m),
            "slct" => self.slct(&mut m),

            "bra" => self.bra(&mut m),
            "brx" => self.brx(&mut m),
            "call" => self.call(&mut m),
            "ret" => {
                let uniform = m.take("uni");
                m.finish()?;
                Ok(Op::Ret { uniform })
            }
            "exit" => m.finish().map(|()| Op::Exit),
            "trap" => m.finish().map(|()| Op::Trap),
            "brkpt" => m.finish().map(|()| Op::Brkpt),
            "nanosleep" => self.nanosleep(&mut m),
            "pmevent" => self.pmevent(&mut m),
            "griddepcontrol" => {
                m.require(&[("wait", ()), ("launch_dependents", ())])?;
                m.finish().map(|()| Op::GridDependency)
            }

            "mapa" => self.mapa(&mut m),
            "getctarank" => self.get_cta_rank(&mut m),
            "barrier" if m.take("cluster") => Self::cluster_barrier(&mut m),
            "mbarrier" => self.mbarrier(&mut m),
            "cp" => self.copy(&mut m),
            "fence" if m.take("proxy") || m.take("mbarrier_init") => Self::proxy_fence(&mut m),

            "bar" if m.take("warp") => self.warp_sync(&mut m),
            "bar" | "barrier" => self.barrier(opcode == "bar", &mut m),
            "membar" | "fence" => Self::fence(opcode == "membar", &mut m),
            "shfl" => self.shfl(&mut m),
            "vote" => self.vote(&mut m),
            "match" => self.match_sync(&mut m),
            "activemask" => self.activemask(&mut m),
            "redux" => self.redux(&mut m),
            "elect" => self.elect(&mut m),
            _ => Err(Error::unknown(m.span, format!("unknown instruction `{}`", m.text))),
        }
    }
}
