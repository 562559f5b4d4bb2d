//! PTX text: syntax tree, lexer, parser, validator.

pub mod ast;
