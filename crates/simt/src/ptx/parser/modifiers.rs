//! The modifiers of one instruction. The form of the instruction that understands a modifier takes
//! it.

use std::cell::RefCell;

use super::super::ast::{Span, Type};
use super::super::diagnostic::{Error, Result};
use super::variables::operand_type_named;

/// Pairs of a spelling and its meaning.
pub(super) type Table<T> = [(&'static str, T)];

/// The modifiers of an instruction that have not been taken. Each word that was asked for is
/// remembered, so that an error can list the known words.
pub(super) struct Modifiers<'a> {
    /// The opcode with all its modifiers.
    pub(super) text: &'a str,
    pub(super) span: Span,
    left: Vec<(&'a str, Span)>,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(text: &'a str, span: Span, words: Vec<(&'a str, Span)>) -> Self {
        Self { text, span, left: words, known: RefCell::default() }
    }

    /// Takes a word if it is among the modifiers, and returns whether it was.
    pub(super) fn take(&mut self, word: &'static str) -> bool {
        self.known.borrow_mut().push(word);
        let found = self.left.iter().position(|&(left, _)| left == word);
        found.map(|index| self.left.remove(index)).is_some()
    }

    /// Takes the first word that the table knows.
    pub(super) fn choose<T: Copy>(&mut self, table: &Table<T>) -> Option<T> {
        self.known.borrow_mut().extend(table.iter().map(|&(word, _)| word));
        let meaning =
            |word: &str| table.iter().find(|&&(known, _)| known == word).map(|&(_, value)| value);
        let (index, value) = self
            .left
            .iter()
            .enumerate()
            .find_map(|(index, &(word, _))| Some((index, meaning(word)?)))?;
        self.left.remove(index);
        Some(value)
    }

    /// Like [`Self::choose`], but one of the words is required.
    pub(super) fn require<T: Copy>(&mut self, table: &Table<T>) -> Result<T> {
        let tables = || table.iter().map(|&(word, _)| word);
        self.choose(table).ok_or_else(|| self.lacking(tables()))
    }

    /// Takes the first type, which must be one of these.
    pub(super) fn ty(&mut self, allowed: &[Type]) -> Result<Type> {
        self.known.borrow_mut().extend(allowed.iter().map(|ty| ty.name()));
        let Some(index) = self.left.iter().position(|&(word, _)| looks_like_type(word)) else {
            return Err(self.lacking(allowed.iter().map(|ty| ty.name())));
        };
        let (word, span) = self.left.remove(index);
        operand_type_named(word).filter(|ty| allowed.contains(ty)).ok_or_else(|| {
            let message = format!("type `.{word}` does not fit `{}`", self.text);
            Error::unknown(span, message)
                .help(format!("known here: {}", list(allowed.iter().map(|ty| ty.name()))))
        })
    }

    /// The type that [`Self::ty`] would take next.
    pub(super) fn peek_ty(&self) -> Option<Type> {
        self.left.iter().find_map(|&(word, _)| operand_type_named(word))
    }

    fn lacking(&self, words: impl Iterator<Item = &'static str>) -> Error {
        Error::unknown(self.span, format!("`{}` lacks one of {}", self.text, list(words)))
    }

    /// Refuses modifiers that nothing has taken.
    pub(super) fn finish(&self) -> Result<()> {
        let Some(&(word, span)) = self.left.first() else {
            return Ok(());
        };
        let error = Error::unknown(span, format!("unknown modifier `.{word}` in `{}`", self.text));
        let words = self.known.borrow();
        Err(if words.is_empty() {
            error.help("it takes none")
        } else {
            error.help(format!("known here: {}", list(words.iter().copied())))
        })
    }
}

fn list(words: impl Iterator<Item = &'static str>) -> String {
    words.map(|word| format!(".{word}")).collect::<Vec<_>>().join(" ")
}

/// Whether a word is a type, including unsupported types such as `.e4m3x2`.
fn looks_like_type(word: &str) -> bool {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = &word[..word.len() - rest.len()];
    word == "pred"
        || !rest.is_empty() && matches!(letters, "f" | "bf" | "tf" | "b" | "u" | "s" | "e")
}
