//! Declarations of variables, with types, alignment and initialisers.

use super::super::ast::{
    Imm, Initializer, Linkage, Relocation, RelocationTarget, Space, Span, Type, VarRef, Variable,
};
use super::super::diagnostic::{Error, Result};
use super::names::Symbol;
use super::{Parser, TokenKind};

/// The greatest number of initialised bytes of one variable, and of all variables of a module.
/// Initialisers are written out in the text, so a larger one is a mistake.
const MAX_INITIALIZED: u64 = 16 << 20;
const MAX_MODULE_INITIALIZED: u64 = 256 << 20;
const MAX_VARIABLE: u64 = 1 << 40;
const MAX_BRACES: u32 = 16;

/// The types of registers, parameters and variables.
pub(super) const TYPES: [Type; 17] = [
    Type::Pred,
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
    Type::F16,
    Type::F16x2,
    Type::F32,
    Type::F64,
];

pub(super) fn type_named(word: &str) -> Option<Type> {
    TYPES.into_iter().find(|ty| ty.name() == word)
}

/// A type that an instruction may name.
pub(super) fn operand_type_named(word: &str) -> Option<Type> {
    type_named(word)
        .or_else(|| [Type::Bf16, Type::Bf16x2, Type::B128].into_iter().find(|ty| ty.name() == word))
}

impl<'a> Parser<'a> {
    pub(super) fn ty(&mut self) -> Result<Type> {
        let Some(word) = self.peek_dot() else {
            return Err(self.unexpected("a type"));
        };
        let Some(ty) = type_named(word) else {
            return Err(Error::new(self.peek().span, format!("unknown type `.{word}`"))
                .help("known are .pred, .b8 to .b64, .u8 to .u64, .s8 to .s64, .f16, .f16x2, .f32 and .f64"));
        };
        self.at += 1;
        Ok(ty)
    }

    /// Reads `.align n`, if it is next.
    pub(super) fn alignment(&mut self) -> Result<Option<u32>> {
        if !self.eat_dot("align") {
            return Ok(None);
        }
        let span = self.peek().span;
        let align = self.unsigned32("an alignment in bytes")?;
        if !align.is_power_of_two() {
            return Err(Error::new(span, format!("the alignment {align} is not a power of two")));
        }
        Ok(Some(align))
    }

    /// Reads `[n][m]..` and returns the product. An empty `[]` gives 0; without brackets, the
    /// result is `None`.
    pub(super) fn array_length(&mut self) -> Result<Option<u64>> {
        let mut length = None;
        while self.at_punct(b'[') {
            let span = self.expect(b'[')?;
            let extent = if self.at_punct(b']') { 0 } else { self.unsigned("an array length")? };
            self.expect(b']')?;
            let product = length
                .unwrap_or(1u64)
                .checked_mul(extent)
                .filter(|&product| product <= MAX_VARIABLE);
            length = Some(
                product
                    .ok_or_else(|| Error::new(span, "this array is larger than 2^40 elements"))?,
            );
        }
        Ok(length)
    }

    /// Reads `.attribute(.managed)`, if it is next. The host reaches each variable of a simulated
    /// device, so the attribute changes nothing.
    fn attribute(&mut self, space: Space) -> Result<()> {
        let span = self.peek().span;
        if !self.eat_dot("attribute") {
            return Ok(());
        }
        self.expect(b'(')?;
        if !self.eat_dot("managed") {
            return Err(self.unexpected("`.managed`"));
        }
        self.expect(b')')?;
        match space {
            Space::Global => Ok(()),
            _ => Err(Error::new(span, "`.managed` is for `.global` variables only")),
        }
    }

    /// Reads one declaration of one or several variables, from its state space to the semicolon.
    pub(super) fn variables(&mut self, linkage: Linkage) -> Result<Vec<(&'a str, Variable)>> {
        let start = self.peek().span;
        let space = match self.peek_dot() {
            Some("global") => Space::Global,
            Some("const") => Space::Const,
            Some("shared") => Space::Shared,
            Some("local") => Space::Local,
            Some("param") => Space::Param,
            _ => return Err(self.unexpected("a state space")),
        };
        self.at += 1;
        self.attribute(space)?;
        let align = self.alignment()?;
        let vector = match self.peek_dot() {
            Some("v2") => 2,
            Some("v4") => 4,
            _ => 1,
        };
        if vector > 1 {
            self.at += 1;
        }
        let ty = self.ty()?;
        if ty == Type::Pred {
            return Err(Error::new(start, "predicates exist in registers only"));
        }
        let mut variables = Vec::new();
        loop {
            let (name, span) = self.ident("a variable's name")?;
            let mut variable = Variable {
                name: name.to_owned(),
                space,
                linkage,
                ty,
                vector,
                count: self.array_length()?,
                align: align.unwrap_or(ty.size() * u32::from(vector)),
                init: None,
                span: Span {
                    start: start.start,
                    end: self.tokens[self.at - 1].span.end,
                    line: start.line,
                },
            };
            if self.eat(b'=') {
                if !matches!(space, Space::Global | Space::Const) {
                    return Err(Error::new(
                        span,
                        format!("a .{} variable has no initialiser", space.name()),
                    ));
                }
                variable.init = Some(self.initializer(&mut variable)?);
            }
            if variable.count == Some(0) && linkage != Linkage::Extern {
                return Err(Error::new(span, format!("`{name}` has no size")));
            }
            variables.push((name, variable));
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';')?;
        Ok(variables)
    }

    /// Reads `value` or `{value, {..}, ..}`. Inner braces only group; missing elements are zero.
    fn initializer(&mut self, variable: &mut Variable) -> Result<Initializer> {
        let span = self.peek().span;
        let element = u64::from(variable.ty.size());
        let mut init = Initializer::default();
        let mut depth = 0;
        loop {
            if self.eat(b'{') {
                depth += 1;
                if depth > MAX_BRACES {
                    return Err(Error::new(
                        span,
                        format!("initialisers nest at most {MAX_BRACES} deep"),
                    ));
                }
                if !self.at_punct(b'}') {
                    continue;
                }
            } else {
                self.initial_value(variable.ty, &mut init)?;
            }
            while depth > 0 && self.eat(b'}') {
                depth -= 1;
            }
            if depth == 0 {
                break;
            }
            self.expect(b',')?;
        }
        if variable.count == Some(0) {
            variable.count = Some(init.bytes.len() as u64 / element);
        }
        let size = variable.size();
        if init.bytes.len() as u64 > size || size > MAX_INITIALIZED {
            let message = format!(
                "the initialiser of {} bytes does not fit `{}`",
                init.bytes.len(),
                variable.name
            );
            return Err(
                Error::new(span, message).help(format!("`{}` has {size} bytes", variable.name))
            );
        }
        self.initialized += size;
        if self.initialized > MAX_MODULE_INITIALIZED {
            let message = format!(
                "the initialised variables have more than {MAX_MODULE_INITIALIZED} bytes in all"
            );
            return Err(Error::new(span, message));
        }
        init.bytes.resize(size as usize, 0);
        Ok(init)
    }

    fn initial_value(&mut self, ty: Type, init: &mut Initializer) -> Result<()> {
        let token = self.peek();
        if token.kind != TokenKind::Ident {
            let bits = self.number()?.bits(ty);
            init.bytes.extend_from_slice(&bits.to_le_bytes()[..ty.size() as usize]);
            return Ok(());
        }
        let (mut name, mut span) = self.ident("a value")?;
        let generic = name == "generic" && self.eat(b'(');
        if generic {
            (name, span) = self.ident("a variable")?;
            self.expect(b')')?;
        }
        let addend = self.offset()?;
        if ty.size() != 8 {
            return Err(Error::new(
                span,
                format!("the address of `{name}` needs elements of 64 bits, not {ty}"),
            ));
        }
        let target = match self.lookup(name) {
            Some(Symbol::Var(VarRef::Module(variable))) => RelocationTarget::Variable(variable),
            Some(Symbol::Function(function)) => {
                self.take_address(function);
                RelocationTarget::Function(function)
            }
            _ => {
                let message = format!(
                    "there is no variable or function `{name}` at module scope before this line"
                );
                return Err(Error::new(span, message));
            }
        };
        let offset = init.bytes.len() as u64;
        init.relocations.push(Relocation { offset, target, addend, generic });
        init.bytes.extend_from_slice(&[0; 8]);
        Ok(())
    }

    /// Reads a number that must be an integer, such as a lookup table.
    pub(super) fn integer(&mut self, wanted: &str) -> Result<u64> {
        let span = self.peek().span;
        match self.number()? {
            Imm::Int(value) => Ok(value),
            _ => Err(Error::new(span, format!("expected {wanted}, found a floating-point number"))),
        }
    }
}
