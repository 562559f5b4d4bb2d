//! Diagnostics: the reason for which a PTX file was refused, and the place.

use std::fmt;

use super::ast::Span;

/// One error in a PTX file: the place, the line itself, one sentence, and sometimes a proposal.
///
/// ```
/// let text = ".version 8.0\n.target sm_75\n.adress_size 64\n";
/// let error = simt::ptx::parse("a.ptx", text).unwrap_err();
/// assert_eq!((error.line, error.column), (3, 1));
/// assert_eq!(error.message, "unknown directive `.adress_size`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The name that was given to the parser.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The text of that line.
    pub source_line: String,
    /// One sentence, without a full stop.
    pub message: String,
    /// A proposal of text to write instead, if the parser can make one.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, source_line, message, help } = self;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{message}")?;
        writeln!(f, "{margin}--> {file}:{line}:{column}")?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {source_line}")?;
        write!(f, "{margin} | {}^", " ".repeat(*column as usize - 1))?;
        if let Some(help) = help {
            write!(f, "\n{margin} = {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// An error whose file and line are not known yet.
#[derive(Debug, Clone)]
pub(super) struct Error {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// Whether the text is an instruction that could be right, but that is not known.
    pub(super) unknown: bool,
}

impl Error {
    /// An error in the text.
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None, unknown: false }
    }

    /// An instruction, or a form of one, that is not known.
    pub(super) fn unknown(span: Span, message: impl Into<String>) -> Self {
        Self { unknown: true, ..Self::new(span, message) }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the name of the file and the text of the line.
    pub(super) fn locate(self, file: &str, source: &str) -> Diagnostic {
        Diagnostic::at(self.span, self.message, self.help, file, source)
    }
}

impl Diagnostic {
    /// A diagnostic for a part of a text. Tabs become single spaces, so that the caret stands under
    /// its column.
    pub(super) fn at(
        span: Span,
        message: String,
        help: Option<String>,
        file: &str,
        source: &str,
    ) -> Diagnostic {
        let at = (span.start as usize).min(source.len());
        let start = (0..=at).rev().find(|index| source.is_char_boundary(*index)).unwrap_or(0);
        let line_start = source[..start].rfind('\n').map_or(0, |index| index + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |index| start + index);
        Diagnostic {
            file: file.to_owned(),
            line: source[..start].matches('\n').count() as u32 + 1,
            column: source[line_start..start].chars().count() as u32 + 1,
            source_line: source[line_start..line_end]
                .trim_end()
                .replace(|c: char| c.is_control(), " "),
            message,
            help,
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, Error>;
