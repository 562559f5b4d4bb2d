//! Scopes and the resolution of names.

use std::collections::HashMap;

use super::super::ast::{Callees, FunctionId, Op, RegId, Register, Span, Target, Type, VarRef};
use super::super::diagnostic::{Error, Result};
use super::Parser;

/// A function may declare at most this many registers. ptxas itself fails with fewer registers.
const MAX_REGISTERS: usize = 1 << 20;
const MAX_MODULE_REGISTERS: usize = 1 << 22;
/// All `brx.idx` together have at most this many targets.
const MAX_BRANCH_TARGETS: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) enum Symbol {
    Reg(RegId),
    Var(VarRef),
    Function(FunctionId),
}

/// A scope: the names that are declared between a pair of braces.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    names: HashMap<&'a str, Symbol>,
    /// The register families, such as `%r<5>`: by prefix, the first id and the count.
    families: HashMap<&'a str, (u32, u32)>,
    pub(super) labels: HashMap<&'a str, Target>,
    /// The `.branchtargets` lists, by name.
    pub(super) tables: HashMap<&'a str, Vec<(&'a str, Span)>>,
    /// The `.callprototype` and `.calltargets` declarations, by name.
    pub(super) callees: HashMap<&'a str, Callees>,
    /// The branches whose label has not been seen yet.
    fixups: Vec<Fixup<'a>>,
}

#[derive(Debug)]
struct Fixup<'a> {
    instruction: usize,
    label: &'a str,
    span: Span,
}

impl<'a> Parser<'a> {
    /// The innermost scope. There is always one while a function is read.
    pub(super) fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(super) fn declare(&mut self, name: &'a str, symbol: Symbol, span: Span) -> Result<()> {
        let scope = self.scope();
        if scope.names.insert(name, symbol).is_some() {
            return Err(Error::new(span, format!("`{name}` is declared twice")));
        }
        Ok(())
    }

    pub(super) fn declare_global(
        &mut self,
        name: &'a str,
        symbol: Symbol,
        span: Span,
    ) -> Result<()> {
        if self.globals.insert(name, symbol).is_some() {
            return Err(Error::new(span, format!("`{name}` is declared twice")));
        }
        Ok(())
    }

    /// Declares the register `name`, or the registers `name0` to `name<count - 1>`.
    pub(super) fn declare_registers(
        &mut self,
        name: &'a str,
        ty: Type,
        count: Option<u32>,
        span: Span,
    ) -> Result<()> {
        let first = self.function.registers.len();
        if first + count.unwrap_or(1) as usize > MAX_REGISTERS {
            return Err(Error::new(
                span,
                format!("a function may declare at most {MAX_REGISTERS} registers"),
            ));
        }
        self.registers += count.unwrap_or(1) as usize;
        if self.registers > MAX_MODULE_REGISTERS {
            return Err(Error::new(
                span,
                format!("a module may declare at most {MAX_MODULE_REGISTERS} registers"),
            ));
        }
        let Some(count) = count else {
            self.function.registers.push(Register { name: name.to_owned(), ty, mentions: 0 });
            return self.declare(name, Symbol::Reg(RegId(first as u32)), span);
        };
        let register = |index| Register { name: format!("{name}{index}"), ty, mentions: 0 };
        self.function.registers.extend((0..count).map(register));
        if self.scope().families.insert(name, (first as u32, count)).is_some() {
            return Err(Error::new(span, format!("`{name}<..>` is declared twice")));
        }
        Ok(())
    }

    /// The symbol that `name` names in an operand.
    pub(super) fn lookup(&mut self, name: &str) -> Option<Symbol> {
        let in_scopes = self.scopes.iter().rev().find_map(|scope| scope.lookup(name));
        if let Some(Symbol::Reg(register)) = in_scopes {
            self.function.registers[register.index()].mentions += 1;
        }
        in_scopes.or_else(|| self.globals.get(name).copied())
    }

    /// The `.callprototype` or `.calltargets` of this name.
    pub(super) fn callees(&self, name: &str) -> Option<&Callees> {
        self.scopes.iter().rev().find_map(|scope| scope.callees.get(name))
    }

    /// Remembers that the module contains the address of a function.
    pub(super) fn take_address(&mut self, function: FunctionId) {
        if self.taken.insert(function) {
            self.module.address_taken.push(function);
        }
    }

    /// Remembers that the next instruction branches to `label`, or branches through a table of that
    /// name.
    pub(super) fn branch_to(&mut self, label: &'a str, span: Span) {
        let instruction = self.function.body.len();
        self.scope().fixups.push(Fixup { instruction, label, span });
    }

    /// Leaves a scope. Branches to its labels get their targets; the other branches pass to the
    /// enclosing scope.
    pub(super) fn close_scope(&mut self) -> Result<()> {
        let Some(scope) = self.scopes.pop() else { return Ok(()) };
        let Scope { labels, tables, fixups, .. } = scope;
        let mut waiting = Vec::new();
        for fixup in fixups {
            match &mut self.function.body[fixup.instruction].op {
                Op::BrxIdx { targets, .. } => {
                    let Some(table) = tables.get(fixup.label) else {
                        waiting.push(fixup);
                        continue;
                    };
                    self.branch_targets += table.len();
                    if self.branch_targets > MAX_BRANCH_TARGETS {
                        let message =
                            format!("branches have more than {MAX_BRANCH_TARGETS} targets in all");
                        return Err(Error::new(fixup.span, message));
                    }
                    for &(label, span) in table {
                        let target = labels.get(label).ok_or_else(|| no_label(label, span))?;
                        targets.push(*target);
                    }
                }
                Op::Bra { target, .. } => match labels.get(fixup.label) {
                    Some(&label) => *target = label,
                    None => waiting.push(fixup),
                },
                _ => {}
            }
        }
        match self.scopes.last_mut() {
            Some(outer) => outer.fixups.append(&mut waiting),
            None => {
                if let Some(fixup) = waiting.first() {
                    return Err(no_label(fixup.label, fixup.span));
                }
            }
        }
        Ok(())
    }
}

fn no_label(label: &str, span: Span) -> Error {
    Error::new(span, format!("there is no label `{label}` in this function"))
}

impl Scope<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        if let Some(&symbol) = self.names.get(name) {
            return Some(symbol);
        }
        // A family's prefix may itself end in digits. Each split before a digit is therefore tried,
        // with the longest number first.
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).find_map(|split| {
            let (prefix, number) = name.split_at(split);
            let &(first, count) = self.families.get(prefix)?;
            let has_leading_zero = number.len() > 1 && number.starts_with('0');
            let index: u32 =
                number.parse().ok().filter(|&index| index < count && !has_leading_zero)?;
            Some(Symbol::Reg(RegId(first + index)))
        })
    }
}
