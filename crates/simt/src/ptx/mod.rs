//! PTX text: syntax tree, lexer, parser, validator.
//!
//! [`parse`] refuses everything that it does not know, with the place. [`parse_with_unknown`] keeps
//! instructions that it does not know, so that the other kernels of a module can be run.

pub mod ast;
mod diagnostic;
mod lexer;
pub mod parser;
pub mod validate;

pub use diagnostic::Diagnostic;

/// The bytes of a PTX file as text.
///
/// ```
/// let error = simt::ptx::decode("a.ptx", b".version 8.0\n.target sm_\xff5\n").unwrap_err();
/// assert_eq!((error.line, error.column), (2, 12));
/// assert_eq!(error.message, "byte 0xff is not UTF-8");
/// ```
///
/// # Errors
/// A [`Diagnostic`] for the first byte that is not UTF-8.
pub fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Diagnostic> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let text = String::from_utf8_lossy(bytes);
        let span = ast::Span { start: at as u32, end: at as u32 + 1, line: 0 };
        diagnostic::Error::new(span, format!("byte {:#04x} is not UTF-8", bytes[at]))
            .locate(name, &text)
    })
}

/// Parses and validates a PTX file. `name` is the file's name in diagnostics.
///
/// ```
/// let module = simt::ptx::parse(
///     "copy.ptx",
///     ".version 7.0
///     .target sm_75
///     .address_size 64
///     .visible .entry copy(.param .u64 from, .param .u64 to) {
///         .reg .b64 %rd<3>;
///         .reg .b32 %r<2>;
///         ld.param.u64 %rd1, [from];
///         ld.param.u64 %rd2, [to];
///         ld.global.u32 %r1, [%rd1];
///         st.global.u32 [%rd2], %r1;
///         ret;
///     }",
/// )?;
/// assert_eq!(module.functions[0].name, "copy");
/// assert_eq!(module.functions[0].body.len(), 5);
/// # Ok::<(), simt::ptx::Diagnostic>(())
/// ```
///
/// # Errors
/// A [`Diagnostic`] for the first part of the text that the parser does not know or that breaks a
/// rule of the PTX ISA.
pub fn parse(name: &str, text: &str) -> Result<ast::Module, Diagnostic> {
    let module = parser::parse(name, text)?;
    validate::validate(&module)?;
    Ok(module)
}

/// Parses and validates a PTX file, as [`parse`] does, but keeps instructions that are not known,
/// as [`ast::Op::Unknown`].
///
/// ```
/// use simt::ptx::ast::Op;
///
/// let module = simt::ptx::parse_with_unknown(
///     "new.ptx",
///     ".version 9.9
///     .target sm_75
///     .visible .entry k() {
///         .reg .b32 %r<3>;
///         frobnicate.b32 %r1, {%r2, 7};
///         ret;
///     }",
/// )?;
/// let Op::Unknown(unknown) = &module.functions[0].body[0].op else { panic!() };
/// assert_eq!(unknown.message, "unknown instruction `frobnicate.b32`");
/// # Ok::<(), simt::ptx::Diagnostic>(())
/// ```
///
/// # Errors
/// A [`Diagnostic`] for the first part of the text that is not an instruction, or that
/// breaks a rule of the PTX ISA.
pub fn parse_with_unknown(name: &str, text: &str) -> Result<ast::Module, Diagnostic> {
    let mut module = parser::parse_with_unknown(name, text)?;
    validate::validate_with_unknown(&mut module)?;
    Ok(module)
}
