//! Operands of instructions.

use super::super::ast::{
    Address, AddressBase, Axis, Imm, PredicateOperand, RegId, SpecialReg, Value, VarRef,
};
use super::super::diagnostic::{Error, Result};
use super::names::Symbol;
use super::{Parser, TokenKind};

/// A vector operand has at most this many elements.
const MAX_VECTOR: usize = 8;

impl Parser<'_> {
    /// Takes the comma that stands before every operand except the first.
    fn separator(&mut self) -> Result<()> {
        if std::mem::take(&mut self.first_operand) || self.eat(b',') {
            return Ok(());
        }
        Err(self.unexpected("`,` and another operand"))
    }

    /// Whether another operand follows.
    pub(super) fn has_more(&self) -> bool {
        if self.first_operand { !self.at_punct(b';') } else { self.at_punct(b',') }
    }

    /// Reads a register, without a comma before it.
    pub(super) fn register(&mut self) -> Result<RegId> {
        let (name, span) = self.ident("a register")?;
        match self.lookup(name) {
            Some(Symbol::Reg(reg)) => Ok(reg),
            Some(_) => {
                Err(Error::new(span, format!("expected a register, found the symbol `{name}`")))
            }
            None if name == "_" => Err(Error::new(span, "`_` cannot stand here")),
            None if special(name).is_some() => {
                Err(Error::new(span, format!("the special register `{name}` can only be read")))
            }
            None => Err(Error::new(span, format!("register `{name}` is not declared"))),
        }
    }

    pub(super) fn dst(&mut self) -> Result<RegId> {
        self.separator()?;
        self.register()
    }

    /// Reads a register or the sink `_`, without a comma before it.
    pub(super) fn register_or_sink(&mut self) -> Result<Option<RegId>> {
        if self.peek().kind == TokenKind::Ident && self.text(self.peek().span) == "_" {
            self.at += 1;
            return Ok(None);
        }
        self.register().map(Some)
    }

    pub(super) fn dst_or_sink(&mut self) -> Result<Option<RegId>> {
        self.separator()?;
        self.register_or_sink()
    }

    /// Reads `|p` after a destination, if it is there.
    pub(super) fn second_dst(&mut self) -> Result<Option<RegId>> {
        if self.eat(b'|') { self.register_or_sink() } else { Ok(None) }
    }

    /// Reads a predicate register with an optional `!`.
    pub(super) fn predicate(&mut self) -> Result<PredicateOperand> {
        self.separator()?;
        let negated = self.eat(b'!');
        Ok(PredicateOperand { reg: self.register()?, negated })
    }

    pub(super) fn src(&mut self) -> Result<Value> {
        self.separator()?;
        self.value()
    }

    /// Reads a source operand, without a comma before it.
    pub(super) fn value(&mut self) -> Result<Value> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number(_) | TokenKind::Punct(b'-') => return self.number().map(Value::Imm),
            TokenKind::Ident => {}
            _ => return Err(self.unexpected("a register or a number")),
        }
        self.at += 1;
        let name = self.text(token.span);
        match self.lookup(name) {
            Some(Symbol::Reg(reg)) => Ok(Value::Reg(reg)),
            Some(Symbol::Var(var)) => Ok(Value::Address(var, self.offset()?)),
            Some(Symbol::Function(function)) => {
                self.take_address(function);
                Ok(Value::Function(function))
            }
            None if name == "WARP_SZ" => Ok(Value::Imm(Imm::Int(32))),
            None => match special(name) {
                Some(Special::Scalar(special)) => Ok(Value::Special(special)),
                Some(Special::Vector(make)) => {
                    let axis = match self.peek_dot() {
                        Some("x") => Axis::X,
                        Some("y") => Axis::Y,
                        Some("z") => Axis::Z,
                        _ => {
                            return Err(
                                self.unexpected(&format!("`.x`, `.y` or `.z` after `{name}`"))
                            );
                        }
                    };
                    self.at += 1;
                    Ok(Value::Special(make(axis)))
                }
                None if name == "_" => Err(Error::new(token.span, "`_` cannot be read")),
                None if is_unsupported_special(name) => Err(Error::unknown(
                    token.span,
                    format!("the special register `{name}` is not supported"),
                )),
                None => Err(Error::new(token.span, format!("`{name}` is not declared"))),
            },
        }
    }

    /// Reads `{a, b, ..}` or one element alone; `element` reads each element.
    pub(super) fn vector<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.separator()?;
        if !self.eat(b'{') {
            return Ok(vec![element(self)?]);
        }
        let mut elements = vec![element(self)?];
        while self.eat(b',') {
            elements.push(element(self)?);
            if elements.len() > MAX_VECTOR {
                return Err(self.unexpected(&format!("at most {MAX_VECTOR} elements")));
            }
        }
        self.expect(b'}')?;
        Ok(elements)
    }

    /// Reads `[base+offset]`.
    pub(super) fn address(&mut self) -> Result<Address> {
        self.separator()?;
        self.expect(b'[')?;
        let base = if self.peek().kind == TokenKind::Ident {
            let (name, span) = self.ident("an address")?;
            match self.lookup(name) {
                Some(Symbol::Reg(reg)) => AddressBase::Reg(reg),
                Some(Symbol::Var(var)) => AddressBase::Var(var),
                Some(Symbol::Function(_)) => {
                    return Err(Error::new(span, format!("function `{name}` is not in memory")));
                }
                None => return Err(Error::new(span, format!("`{name}` is not declared"))),
            }
        } else {
            AddressBase::Absolute
        };
        let offset = match base {
            AddressBase::Absolute => self.integer("an address")? as i64,
            _ => self.offset()?,
        };
        self.expect(b']')?;
        Ok(Address { base, offset })
    }

    /// Reads a `.param` variable, without a comma before it; `None` if the next token does not name
    /// one.
    pub(super) fn param_variable(&mut self) -> Option<VarRef> {
        let token = self.peek();
        let Some(Symbol::Var(var)) =
            (token.kind == TokenKind::Ident).then(|| self.lookup(self.text(token.span)))?
        else {
            return None;
        };
        self.at += 1;
        Some(var)
    }
}

/// Whether this is a special register of PTX that is not supported.
fn is_unsupported_special(name: &str) -> bool {
    let number = |rest: &str| rest.parse().is_ok_and(|number: u32| number < 8);
    let counter = name.strip_prefix("%pm").map(|rest| rest.strip_suffix("_64").unwrap_or(rest));
    counter.is_some_and(number) || matches!(name, "%current_graph_exec" | "%aggr_smem_size")
}

enum Special {
    Scalar(SpecialReg),
    Vector(fn(Axis) -> SpecialReg),
}

fn special(name: &str) -> Option<Special> {
    use SpecialReg as S;
    let scalar = match name.strip_prefix('%')? {
        "tid" => return Some(Special::Vector(S::Tid)),
        "ntid" => return Some(Special::Vector(S::Ntid)),
        "ctaid" => return Some(Special::Vector(S::Ctaid)),
        "nctaid" => return Some(Special::Vector(S::Nctaid)),
        "clusterid" => return Some(Special::Vector(S::ClusterId)),
        "nclusterid" => return Some(Special::Vector(S::NClusterId)),
        "cluster_ctaid" => return Some(Special::Vector(S::ClusterCtaid)),
        "cluster_nctaid" => return Some(Special::Vector(S::ClusterNctaid)),
        "cluster_ctarank" => S::ClusterCtaRank,
        "cluster_nctarank" => S::ClusterNctaRank,
        "is_explicit_cluster" => S::IsExplicitCluster,
        "laneid" => S::LaneId,
        "warpid" => S::WarpId,
        "nwarpid" => S::NWarpId,
        "smid" => S::SmId,
        "nsmid" => S::NSmId,
        "gridid" => S::GridId,
        "lanemask_eq" => S::LaneMaskEq,
        "lanemask_le" => S::LaneMaskLe,
        "lanemask_lt" => S::LaneMaskLt,
        "lanemask_ge" => S::LaneMaskGe,
        "lanemask_gt" => S::LaneMaskGt,
        "clock" => S::Clock,
        "clock_hi" => S::ClockHi,
        "clock64" => S::Clock64,
        "globaltimer" => S::GlobalTimer,
        "globaltimer_lo" => S::GlobalTimerLo,
        "globaltimer_hi" => S::GlobalTimerHi,
        "total_smem_size" => S::TotalSmemSize,
        "dynamic_smem_size" => S::DynamicSmemSize,
        "reserved_smem_offset_begin"
        | "reserved_smem_offset_end"
        | "reserved_smem_offset_0"
        | "reserved_smem_offset_1" => S::ReservedSmemOffset,
        "reserved_smem_offset_cap" => S::ReservedSmemCap,
        other => {
            S::EnvReg(other.strip_prefix("envreg")?.parse().ok().filter(|&number| number < 32)?)
        }
    };
    Some(Special::Scalar(scalar))
}
