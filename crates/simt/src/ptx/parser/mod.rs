//! The parser: from tokens to a syntax tree with resolved names.
//!
//! The parser works in one pass, by recursive descent. This file and `module` read the declarations
//! at module scope, `body` reads a function's statements, and `instruction` and its children each
//! read one instruction. `names` keeps the scopes.

mod body;
mod instruction;
mod modifiers;
mod module;
mod names;
mod operands;
mod variables;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ast::{Function, FunctionId, Imm, Instruction, Location, LocationId, Module, Span};
use super::diagnostic::{Diagnostic, Error, Result};
use super::lexer::{Token, TokenKind, lex};
use names::{Scope, Symbol};

/// Parses a text without validating it: names are resolved, but types and state spaces are not
/// checked.
///
/// This is for tools that inspect PTX, not for execution; [`crate::ptx::parse`] also validates.
///
/// # Errors
/// A [`Diagnostic`] for the first part of the text that the parser does not know.
pub fn parse(name: &str, text: &str) -> std::result::Result<Module, Diagnostic> {
    read(name, text, false)
}

/// Parses a text as [`parse`] does, but keeps instructions that are not known.
pub(super) fn parse_with_unknown(
    name: &str,
    text: &str,
) -> std::result::Result<Module, Diagnostic> {
    read(name, text, true)
}

fn read(name: &str, text: &str, keeps_unknown: bool) -> std::result::Result<Module, Diagnostic> {
    let parsed = lex(text).and_then(|tokens| {
        let mut parser = Parser::new(name, text, tokens);
        parser.keeps_unknown = keeps_unknown;
        parser.module()
    });
    parsed.map_err(|error| error.locate(name, text))
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    module: Module,
    globals: HashMap<&'a str, Symbol>,
    /// The functions in [`Module::address_taken`].
    taken: HashSet<FunctionId>,
    /// The function that is being read, and its scopes, with the outermost first.
    function: Function,
    scopes: Vec<Scope<'a>>,
    location: Option<LocationId>,
    location_ids: HashMap<Location, LocationId>,
    /// The function's latest location for each (file, line, column). `inlined_at` refers to these.
    call_sites: HashMap<(u32, u32, u32), LocationId>,
    /// The bytes of `.debug_str`, and the offsets of its labels.
    debug_bytes: Vec<u8>,
    debug_labels: HashMap<&'a str, usize>,
    /// Whether the next operand is the first of an instruction, which has no comma before it.
    first_operand: bool,
    /// Whether instructions that are not known become [`Op::Unknown`](super::ast::Op::Unknown), and
    /// not errors.
    keeps_unknown: bool,
    /// How many registers, initialised bytes and branch targets all functions and variables have
    /// declared so far. These numbers are limited, because a short text could declare very many.
    registers: usize,
    branch_targets: usize,
    initialized: u64,
}

impl<'a> Parser<'a> {
    fn new(name: &str, source: &'a str, tokens: Vec<Token>) -> Self {
        let module = Module {
            name: name.to_owned(),
            source: Arc::from(source),
            version: (0, 0),
            targets: Vec::new(),
            address_size: 64,
            variables: Vec::new(),
            functions: Vec::new(),
            address_taken: Vec::new(),
            files: Vec::new(),
            locations: Vec::new(),
        };
        Self {
            source,
            tokens,
            at: 0,
            module,
            globals: HashMap::new(),
            taken: HashSet::new(),
            function: body::empty_function(),
            scopes: Vec::new(),
            location: None,
            location_ids: HashMap::new(),
            call_sites: HashMap::new(),
            debug_bytes: Vec::new(),
            debug_labels: HashMap::new(),
            first_operand: true,
            keeps_unknown: false,
            registers: 0,
            branch_targets: 0,
            initialized: 0,
        }
    }

    fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    fn peek_second(&self) -> Token {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    /// Takes a token. The end of the text is not taken.
    fn bump(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn text(&self, span: Span) -> &'a str {
        &self.source[span.start as usize..span.end as usize]
    }

    /// The name of the next token in messages.
    fn found(&self) -> String {
        let token = self.peek();
        match token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text(token.span)),
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        Error::new(self.peek().span, format!("expected {wanted}, found {}", self.found()))
    }

    fn at_punct(&self, punct: u8) -> bool {
        self.peek().kind == TokenKind::Punct(punct)
    }

    fn eat(&mut self, punct: u8) -> bool {
        let is_there = self.at_punct(punct);
        if is_there {
            self.at += 1;
        }
        is_there
    }

    fn expect(&mut self, punct: u8) -> Result<Span> {
        let span = self.peek().span;
        if self.eat(punct) {
            Ok(span)
        } else {
            Err(self.unexpected(&format!("`{}`", char::from(punct))))
        }
    }

    fn ident(&mut self, wanted: &str) -> Result<(&'a str, Span)> {
        let token = self.peek();
        if token.kind != TokenKind::Ident {
            return Err(self.unexpected(wanted));
        }
        self.at += 1;
        Ok((self.text(token.span), token.span))
    }

    /// The word after a dot, if such a word is next.
    fn peek_dot(&self) -> Option<&'a str> {
        let token = self.peek();
        (token.kind == TokenKind::Dot).then(|| &self.text(token.span)[1..])
    }

    fn eat_dot(&mut self, word: &str) -> bool {
        let is_there = self.peek_dot() == Some(word);
        if is_there {
            self.at += 1;
        }
        is_there
    }

    /// Reads an integer without a sign.
    fn unsigned(&mut self, wanted: &str) -> Result<u64> {
        let TokenKind::Number(Imm::Int(value)) = self.peek().kind else {
            return Err(self.unexpected(wanted));
        };
        self.at += 1;
        Ok(value)
    }

    fn unsigned32(&mut self, wanted: &str) -> Result<u32> {
        let span = self.peek().span;
        let value = self.unsigned(wanted)?;
        u32::try_from(value)
            .map_err(|_| Error::new(span, format!("expected {wanted} below 2^32, found `{value}`")))
    }

    /// Reads a number with an optional sign.
    fn number(&mut self) -> Result<Imm> {
        let negative = self.eat(b'-');
        let TokenKind::Number(value) = self.peek().kind else {
            return Err(self.unexpected("a number"));
        };
        self.at += 1;
        Ok(match (negative, value) {
            (false, value) => value,
            (true, Imm::Int(value)) => Imm::Int(value.wrapping_neg()),
            (true, Imm::F32(bits)) => Imm::F32(bits ^ (1 << 31)),
            (true, Imm::F64(bits)) => Imm::F64(bits ^ (1 << 63)),
        })
    }

    /// Reads `+n` or `-n` after an address, or nothing.
    fn offset(&mut self) -> Result<i64> {
        let negative = if self.eat(b'+') {
            self.eat(b'-')
        } else if self.eat(b'-') {
            true
        } else {
            return Ok(0);
        };
        let value = self.unsigned("an offset in bytes")? as i64;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    fn push(&mut self, instruction: Instruction) {
        self.function.body.push(instruction);
    }
}
