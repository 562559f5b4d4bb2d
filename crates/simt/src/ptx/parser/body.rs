//! The statements of a function body.

use super::super::ast::{
    Callees, Function, FunctionId, FunctionKind, Instruction, Label, Limits, Linkage, Op,
    PredicateOperand, Prototype, Span, Target, Type, Unknown, VarRef,
};
use super::super::diagnostic::{Error, Result};
use super::names::{Scope, Symbol};
use super::{Parser, TokenKind};

const MAX_BLOCKS: usize = 256;

pub(super) fn empty_function() -> Function {
    Function {
        name: String::new(),
        kind: FunctionKind::Func,
        linkage: Linkage::Internal,
        params: Vec::new(),
        returns: Vec::new(),
        limits: Limits::default(),
        noreturn: false,
        registers: Vec::new(),
        variables: Vec::new(),
        defined: false,
        body: Vec::new(),
        labels: Vec::new(),
        span: Span::default(),
    }
}

impl Parser<'_> {
    pub(super) fn body(&mut self) -> Result<()> {
        let outer = self.scopes.len();
        let opening = self.expect(b'{')?;
        self.scopes.push(Scope::default());
        let closing = loop {
            let token = self.peek();
            match token.kind {
                TokenKind::End => return Err(Error::new(opening, "this body is never closed")),
                TokenKind::Punct(b'{') => {
                    self.at += 1;
                    if self.scopes.len() > MAX_BLOCKS {
                        return Err(Error::new(
                            token.span,
                            format!("blocks nest at most {MAX_BLOCKS} deep"),
                        ));
                    }
                    self.scopes.push(Scope::default());
                }
                TokenKind::Punct(b'}') => {
                    self.at += 1;
                    if self.scopes.len() == outer + 1 {
                        break token.span;
                    }
                    self.close_scope()?;
                }
                TokenKind::Punct(b';') => self.at += 1,
                TokenKind::Dot => self.body_directive()?,
                TokenKind::Ident if self.peek_second().kind == TokenKind::Punct(b':') => {
                    self.label()?;
                }
                _ => self.instruction()?,
            }
        };
        let end = self.function.body.len() as u32;
        let falls_off = self.function.body.last().is_none_or(falls_through);
        if falls_off || self.function.labels.iter().any(|label| label.target.0 == end) {
            self.push(Instruction {
                guard: None,
                op: Op::Ret { uniform: false },
                span: closing,
                location: self.location,
            });
        }
        while !self.scopes.is_empty() {
            self.close_scope()?;
        }
        Ok(())
    }

    fn body_directive(&mut self) -> Result<()> {
        let Some(word) = self.peek_dot() else {
            return Err(self.unexpected("a directive"));
        };
        match word {
            "reg" => self.registers(),
            "local" | "shared" | "param" => {
                for (name, variable) in self.variables(Linkage::Internal)? {
                    let var = VarRef::Function(self.function.variables.len() as u32);
                    self.declare(name, Symbol::Var(var), variable.span)?;
                    self.function.variables.push(variable);
                }
                Ok(())
            }
            "loc" => self.loc(),
            "pragma" => self.pragma(),
            _ => Err(self.unknown_directive(word)),
        }
    }

    /// Reads `.reg .type %a, %b<n>;`.
    fn registers(&mut self) -> Result<()> {
        self.at += 1;
        // Variables and parameters of this type are not supported.
        let ty = if self.eat_dot("b128") { Type::B128 } else { self.ty()? };
        loop {
            let (name, span) = self.ident("a register's name")?;
            let mut count = None;
            if self.eat(b'<') {
                count = Some(self.unsigned32("a number of registers")?);
                self.expect(b'>')?;
            }
            self.declare_registers(name, ty, count, span)?;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';').map(drop)
    }

    /// Reads `(results) _ (parameters);` after `.callprototype`.
    fn prototype(&mut self) -> Result<Prototype> {
        let returns = if self.at_punct(b'(') { self.params(None)? } else { Vec::new() };
        self.ident("`_`")?;
        let params = if self.at_punct(b'(') { self.params(None)? } else { Vec::new() };
        self.eat_dot("noreturn");
        self.expect(b';')?;
        Ok(Prototype { params, returns })
    }

    /// Reads `f, g, ..;` after `.calltargets`.
    fn call_targets(&mut self) -> Result<Vec<FunctionId>> {
        let mut targets = Vec::new();
        loop {
            let (name, span) = self.ident("a function's name")?;
            let Some(Symbol::Function(function)) = self.lookup(name) else {
                return Err(Error::new(
                    span,
                    format!("there is no function `{name}` before this line"),
                ));
            };
            targets.push(function);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';')?;
        Ok(targets)
    }

    /// Reads `name:`, which may be followed by a table of branch targets, or by the functions that
    /// a call may call.
    fn label(&mut self) -> Result<()> {
        let (name, span) = self.ident("a label")?;
        self.expect(b':')?;
        if self.eat_dot("branchtargets") {
            let mut targets = Vec::new();
            loop {
                targets.push(self.ident("a label")?);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b';')?;
            self.scope().tables.insert(name, targets);
            return Ok(());
        }
        if self.eat_dot("callprototype") {
            let prototype = self.prototype()?;
            self.scope().callees.insert(name, Callees::Prototype(prototype));
            return Ok(());
        }
        if self.eat_dot("calltargets") {
            let targets = self.call_targets()?;
            self.scope().callees.insert(name, Callees::Targets(targets));
            return Ok(());
        }
        let target = Target(self.function.body.len() as u32);
        if self.scope().labels.insert(name, target).is_some() {
            return Err(Error::new(span, format!("label `{name}` is defined twice")));
        }
        self.function.labels.push(Label { name: name.to_owned(), target });
        Ok(())
    }

    fn instruction(&mut self) -> Result<()> {
        let start = self.peek().span;
        let mut guard = None;
        if self.eat(b'@') {
            let negated = self.eat(b'!');
            guard = Some(PredicateOperand { reg: self.register()?, negated });
        }
        let opcode = self.at;
        let op = match self.op().and_then(|op| self.at_end_of_operands().map(|()| op)) {
            Err(error) if error.unknown && self.keeps_unknown => {
                self.at = opcode;
                self.skip_operands()?;
                let Error { span, message, help, .. } = error;
                Op::Unknown(Box::new(Unknown { span, message, help }))
            }
            read => read?,
        };
        let end = self.expect(b';')?.end;
        let span = Span { start: start.start, end, line: start.line };
        self.push(Instruction { guard, op, span, location: self.location });
        Ok(())
    }
}

impl Parser<'_> {
    fn at_end_of_operands(&self) -> Result<()> {
        if self.at_punct(b';') {
            return Ok(());
        }
        let error = self.unexpected("`;` after the operands");
        // A form of the instruction with more operands may exist.
        Err(if self.at_punct(b',') { Error { unknown: true, ..error } } else { error })
    }

    /// Skips an instruction that is not known, up to its semicolon.
    fn skip_operands(&mut self) -> Result<()> {
        let mut open = Vec::new();
        loop {
            match self.peek().kind {
                TokenKind::Punct(b';') if open.is_empty() => return Ok(()),
                TokenKind::Punct(opening @ (b'{' | b'[' | b'(')) => open.push(opening),
                TokenKind::Punct(closing @ (b'}' | b']' | b')'))
                    if open.pop() == Some(opening_of(closing)) => {}
                TokenKind::Punct(b'}' | b']' | b')' | b';') | TokenKind::End => {
                    return Err(self.unexpected("`;` after the operands"));
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}

const fn opening_of(closing: u8) -> u8 {
    match closing {
        b'}' => b'{',
        b']' => b'[',
        _ => b'(',
    }
}

fn falls_through(instruction: &Instruction) -> bool {
    let leaves = matches!(
        instruction.op,
        Op::Ret { .. } | Op::Exit | Op::Trap | Op::Bra { .. } | Op::BrxIdx { .. }
    );
    !leaves || instruction.guard.is_some()
}
