//! Moves and memory (PTX ISA 9.7.9 and 9.7.13).

use super::super::super::ast::{
    AtomOp, CacheControlOp, CacheHints, CacheOp, CvtaDirection, Eviction, Imm, Op, Ordering, Scope,
    Space, Type, Value,
};
use super::super::super::diagnostic::{Error, Result};
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};
use super::{HALVES, NUMBERS, SCOPES, SPACES};

/// The types that `ld` and `st` move: integers, bits, `.f32` and `.f64`.
const STORED: [Type; 15] = [
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
    Type::B128,
];
const ADDRESSES: [Type; 1] = [Type::U64];
const LOAD_CACHES: &Table<CacheOp> = &[
    ("ca", CacheOp::Ca),
    ("cg", CacheOp::Cg),
    ("cs", CacheOp::Cs),
    ("lu", CacheOp::Lu),
    ("cv", CacheOp::Cv),
];
const STORE_CACHES: &Table<CacheOp> =
    &[("wb", CacheOp::Wb), ("cg", CacheOp::Cg), ("cs", CacheOp::Cs), ("wt", CacheOp::Wt)];
const L1: &Table<Eviction> = &[
    ("L1::evict_normal", Eviction::Normal),
    ("L1::evict_unchanged", Eviction::Unchanged),
    ("L1::evict_first", Eviction::First),
    ("L1::evict_last", Eviction::Last),
    ("L1::no_allocate", Eviction::NoAllocate),
];
const L2: &Table<Eviction> = &[
    ("L2::evict_normal", Eviction::Normal),
    ("L2::evict_first", Eviction::First),
    ("L2::evict_last", Eviction::Last),
];
/// The priorities that `createpolicy` gives to a part of the accesses, and to the other accesses.
const L2_PRIMARY: &Table<()> = &[
    ("L2::evict_last", ()),
    ("L2::evict_normal", ()),
    ("L2::evict_first", ()),
    ("L2::evict_unchanged", ()),
];
const L2_SECONDARY: &Table<()> = &[("L2::evict_first", ()), ("L2::evict_unchanged", ())];
const L2_PREFETCH: &Table<u16> = &[("L2::64B", 64), ("L2::128B", 128), ("L2::256B", 256)];
const VECTORS: &Table<usize> = &[("v2", 2), ("v4", 4), ("v8", 8)];
const ATOM_OPS: &Table<AtomOp> = &[
    ("add", AtomOp::Add),
    ("min", AtomOp::Min),
    ("max", AtomOp::Max),
    ("and", AtomOp::And),
    ("or", AtomOp::Or),
    ("xor", AtomOp::Xor),
    ("inc", AtomOp::Inc),
    ("dec", AtomOp::Dec),
];

#[derive(Clone, Copy)]
enum Sem {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
}

const LOAD_SEMS: &Table<Sem> = &[
    ("weak", Sem::Weak),
    ("volatile", Sem::Volatile),
    ("relaxed", Sem::Relaxed),
    ("acquire", Sem::Acquire),
];
const STORE_SEMS: &Table<Sem> = &[
    ("weak", Sem::Weak),
    ("volatile", Sem::Volatile),
    ("relaxed", Sem::Relaxed),
    ("release", Sem::Release),
];
const ATOM_SEMS: &Table<Sem> = &[
    ("relaxed", Sem::Relaxed),
    ("acquire", Sem::Acquire),
    ("release", Sem::Release),
    ("acq_rel", Sem::AcqRel),
];

fn ordering(sem: Sem, scope: Scope) -> Ordering {
    match sem {
        Sem::Weak => Ordering::Weak,
        Sem::Volatile => Ordering::Volatile,
        Sem::Relaxed => Ordering::Relaxed(scope),
        Sem::Acquire => Ordering::Acquire(scope),
        Sem::Release => Ordering::Release(scope),
        Sem::AcqRel => Ordering::AcqRel(scope),
    }
}

impl Parser<'_> {
    pub(super) fn mov(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let mut types = NUMBERS.to_vec();
        types.extend([Type::Pred, Type::B128]);
        let ty = m.ty(&types)?;
        m.finish()?;
        if self.at_punct(b'{') {
            let dst = self.vector(Self::register_or_sink)?;
            return Ok(Op::Unpack { ty, dst, src: self.src()? });
        }
        let dst = self.dst()?;
        // The code that reads the vector or the value also reads the comma before it.
        if self.peek_second().kind == super::TokenKind::Punct(b'{') {
            return Ok(Op::Pack { ty, dst, src: self.vector(Self::value)? });
        }
        Ok(Op::Mov { ty, dst, src: self.src()? })
    }

    fn access(m: &mut Modifiers<'_>, sems: &Table<Sem>) -> Result<Ordering> {
        let sem = m.choose(sems).unwrap_or(Sem::Weak);
        let scope = match sem {
            Sem::Weak | Sem::Volatile => Scope::Sys,
            _ => m.require(SCOPES)?,
        };
        Ok(ordering(sem, scope))
    }

    fn hints(m: &mut Modifiers<'_>, ops: &Table<CacheOp>) -> CacheHints {
        CacheHints {
            op: m.choose(ops),
            non_coherent: false,
            l1: m.choose(L1),
            l2: m.choose(L2),
            l2_prefetch: m.choose(L2_PREFETCH),
        }
    }

    pub(super) fn ld(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ordering = Self::access(m, LOAD_SEMS)?;
        let space = m.choose(SPACES).unwrap_or(Space::Generic);
        let mut cache = Self::hints(m, LOAD_CACHES);
        cache.non_coherent = space == Space::Global && m.take("nc");
        self.finish_ld(space, ordering, cache, m)
    }

    /// Reads `ldu`, a load whose address is the same in all lanes of the warp.
    pub(super) fn ldu(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let space = m.choose(&SPACES[..1]).unwrap_or(Space::Generic);
        let cache = CacheHints { non_coherent: true, ..CacheHints::default() };
        self.finish_ld(space, Ordering::Weak, cache, m)
    }

    fn finish_ld(
        &mut self,
        space: Space,
        ordering: Ordering,
        cache: CacheHints,
        m: &mut Modifiers<'_>,
    ) -> Result<Op> {
        let hinted = m.take("L2::cache_hint");
        let length = m.choose(VECTORS).unwrap_or(1);
        let ty = m.ty(&STORED)?;
        m.finish()?;
        let start = self.peek().span;
        let dst = self.vector(Self::register_or_sink)?;
        check_length(dst.len(), length, start, m)?;
        let addr = self.address()?;
        if hinted {
            self.src()?;
        }
        Ok(Op::Ld { space, ordering, cache, ty, dst, addr })
    }

    pub(super) fn st(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ordering = Self::access(m, STORE_SEMS)?;
        let space = m.choose(SPACES).unwrap_or(Space::Generic);
        let cache = Self::hints(m, STORE_CACHES);
        let hinted = m.take("L2::cache_hint");
        let length = m.choose(VECTORS).unwrap_or(1);
        let ty = m.ty(&STORED)?;
        m.finish()?;
        let addr = self.address()?;
        let start = self.peek_second().span;
        let src = self.vector(Self::value)?;
        check_length(src.len(), length, start, m)?;
        if hinted {
            self.src()?;
        }
        Ok(Op::St { space, ordering, cache, ty, addr, src })
    }

    pub(super) fn cvta(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let direction =
            if m.take("to") { CvtaDirection::FromGeneric } else { CvtaDirection::ToGeneric };
        let space = m.require(SPACES)?;
        let ty = m.ty(&ADDRESSES)?;
        m.finish()?;
        Ok(Op::Cvta { direction, space, ty, dst: self.dst()?, src: self.src()? })
    }

    pub(super) fn isspacep(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let space = m.require(SPACES)?;
        m.finish()?;
        Ok(Op::Isspacep { space, dst: self.dst()?, src: self.src()? })
    }

    pub(super) fn cache_control(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let space = m
            .choose(&[("global", Space::Global), ("local", Space::Local)])
            .unwrap_or(Space::Generic);
        let op = m.require(match opcode {
            "prefetch" => &[("L1", CacheControlOp::PrefetchL1), ("L2", CacheControlOp::PrefetchL2)],
            "prefetchu" => &[("L1", CacheControlOp::PrefetchUniformL1)],
            "applypriority" => &[("L2::evict_normal", CacheControlOp::ApplyPriorityL2Normal)],
            _ => &[("L2", CacheControlOp::DiscardL2)],
        })?;
        m.finish()?;
        let addr = self.address()?;
        if matches!(op, CacheControlOp::ApplyPriorityL2Normal | CacheControlOp::DiscardL2) {
            self.expect(b',')?;
            let span = self.peek().span;
            if self.integer("the size 128")? != 128 {
                return Err(Error::new(span, format!("`{}` takes the size 128 alone", m.text)));
            }
        }
        Ok(Op::CacheControl { op, space, addr })
    }

    /// Reads `createpolicy.fractional`. The simulator ignores policies, so the result is an
    /// arbitrary number.
    pub(super) fn create_policy(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(&[("fractional", ())])?;
        m.require(L2_PRIMARY)?;
        m.choose(L2_SECONDARY);
        m.ty(&[Type::B64])?;
        m.finish()?;
        let dst = self.dst()?;
        if self.commas_left() > 0 {
            self.src()?;
        }
        Ok(Op::Mov { ty: Type::B64, dst, src: Value::Imm(Imm::Int(0)) })
    }

    /// Reads `atom` if it returns the old value, and `red` otherwise.
    pub(super) fn atom(&mut self, m: &mut Modifiers<'_>, returns: bool) -> Result<Op> {
        let sem = m.choose(ATOM_SEMS).unwrap_or(Sem::Relaxed);
        let scope = m.choose(SCOPES).unwrap_or(Scope::Gpu);
        let ordering = ordering(sem, scope);
        let space = m.choose(&SPACES[..4]).unwrap_or(Space::Generic);
        let swap =
            returns.then(|| m.choose(&[("exch", AtomOp::Exch), ("cas", AtomOp::Cas)])).flatten();
        let op = match swap {
            Some(op) => op,
            None => m.require(ATOM_OPS)?,
        };
        if matches!(op, AtomOp::Add | AtomOp::Min | AtomOp::Max)
            && let Some(length) = m.choose(VECTORS)
        {
            return self.atom_vector((op, ordering, space, length), m, returns);
        }
        let hinted = m.take("L2::cache_hint");
        let noftz = op == AtomOp::Add && m.take("noftz");
        let ty = m.ty(match op {
            AtomOp::Add if noftz => &HALVES,
            AtomOp::Add => &[Type::U32, Type::S32, Type::U64, Type::S64, Type::F32, Type::F64],
            AtomOp::Min | AtomOp::Max => &[Type::U32, Type::S32, Type::U64, Type::S64],
            AtomOp::And | AtomOp::Or | AtomOp::Xor => &[Type::B32, Type::B64],
            AtomOp::Inc | AtomOp::Dec => &[Type::U32],
            AtomOp::Exch => &[
                Type::B32,
                Type::B64,
                Type::B128,
                Type::U32,
                Type::S32,
                Type::U64,
                Type::S64,
                Type::F32,
            ],
            AtomOp::Cas => &[
                Type::B16,
                Type::B32,
                Type::B64,
                Type::B128,
                Type::U32,
                Type::S32,
                Type::U64,
                Type::S64,
            ],
        })?;
        m.finish()?;
        let dst = if returns { self.dst_or_sink()? } else { None };
        let addr = self.address()?;
        let a = self.src()?;
        let b: Option<Value> = if op == AtomOp::Cas { Some(self.src()?) } else { None };
        if hinted {
            self.src()?;
        }
        Ok(Op::Atom { op, ordering, space, ty, dst, addr, a, b })
    }

    /// Reads `atom` or `red` on a vector.
    fn atom_vector(
        &mut self,
        (op, ordering, space, length): (AtomOp, Ordering, Space, usize),
        m: &mut Modifiers<'_>,
        returns: bool,
    ) -> Result<Op> {
        let hinted = m.take("L2::cache_hint");
        let noftz = m.take("noftz");
        let ty = m.ty(match (noftz, length) {
            (true, 8) => &[Type::F16, Type::Bf16],
            (true, _) => &HALVES,
            (false, 8) => &[],
            (false, _) if op == AtomOp::Add => &[Type::F32],
            (false, _) => &[],
        })?;
        m.finish()?;
        if !matches!(space, Space::Global | Space::Generic) {
            return Err(Error::unknown(m.span, format!("`{}` works in the global space", m.text)));
        }
        let start = self.peek().span;
        let dst = if returns { self.vector(Self::register_or_sink)? } else { Vec::new() };
        let addr = self.address()?;
        let src = self.vector(Self::value)?;
        if returns {
            check_length(dst.len(), length, start, m)?;
        }
        check_length(src.len(), length, start, m)?;
        if hinted {
            self.src()?;
        }
        Ok(Op::AtomVector { op, ordering, space, ty, dst, addr, src })
    }
}

fn check_length(
    found: usize,
    length: usize,
    span: super::super::super::ast::Span,
    m: &Modifiers<'_>,
) -> Result<()> {
    if found == length {
        return Ok(());
    }
    Err(Error::new(
        span,
        format!("`{}` moves {length} element(s), but its operand has {found}", m.text),
    ))
}
