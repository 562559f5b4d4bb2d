//! Splits PTX text into tokens (PTX ISA 4).

use super::ast::{Imm, Span};
use super::diagnostic::{Error, Result};

/// The kind of a token. The text of the token is at its span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TokenKind {
    /// A name: opcode, register, label, symbol, or `_`.
    Ident,
    /// A dot and a word, perhaps with `::` parts: directive, modifier, type, or field.
    Dot,
    /// A number.
    Number(Imm),
    /// A string. Its span includes the quotes.
    String,
    /// A single character.
    Punct(u8),
    /// The end of the text.
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// All tokens of a text. The last is [`TokenKind::End`].
pub(super) fn lex(source: &str) -> Result<Vec<Token>> {
    if u32::try_from(source.len()).is_err() {
        return Err(Error::new(
            Span { start: 0, end: 0, line: 1 },
            "the file is larger than 4 GiB",
        ));
    }
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at: 0, line: 1 };
    let mut tokens = Vec::with_capacity(source.len() / 4);
    loop {
        let token = lexer.next()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|&byte| accept(byte)) {
            self.at += 1;
        }
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.at as u32, line: self.line }
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r', _) => self.at += 1,
                (b'/', b'/') => self.skip_while(|byte| byte != b'\n'),
                (b'/', b'*') => {
                    let opening =
                        Span { start: self.at as u32, end: self.at as u32 + 2, line: self.line };
                    let Some(length) = self.source[self.at + 2..].find("*/") else {
                        return Err(Error::new(opening, "this comment is never closed"));
                    };
                    let end = self.at + 2 + length + 2;
                    self.line += self.source[self.at..end].matches('\n').count() as u32;
                    self.at = end;
                }
                _ => return Ok(()),
            }
        }
    }

    fn next(&mut self) -> Result<Token> {
        self.skip_blank()?;
        let start = self.at;
        let Some(&first) = self.bytes.get(start) else {
            return Ok(Token { kind: TokenKind::End, span: self.span_from(start) });
        };
        let kind = match first {
            b'.' if is_word(self.peek(1)) => {
                self.at += 1;
                self.skip_while(is_word);
                while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
                    self.at += 2;
                    self.skip_while(is_word);
                }
                TokenKind::Dot
            }
            b'%' | b'_' | b'$' | b'a'..=b'z' | b'A'..=b'Z' => {
                self.at += 1;
                self.skip_while(is_word);
                TokenKind::Ident
            }
            b'0'..=b'9' => TokenKind::Number(self.number()?),
            b'"' => {
                self.at += 1;
                self.skip_while(|byte| byte != b'"' && byte != b'\n');
                if self.peek(0) != b'"' {
                    return Err(Error::new(self.span_from(start), "this string is never closed"));
                }
                self.at += 1;
                TokenKind::String
            }
            b',' | b';' | b':' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'+'
            | b'-' | b'!' | b'@' | b'|' | b'=' | b'~' => {
                self.at += 1;
                TokenKind::Punct(first)
            }
            _ => {
                let character = self.source[start..].chars().next().unwrap_or('\u{fffd}');
                self.at += character.len_utf8();
                let message = format!("unexpected character `{}`", character.escape_default());
                return Err(Error::new(self.span_from(start), message));
            }
        };
        Ok(Token { kind, span: self.span_from(start) })
    }

    /// Reads an integer (decimal, `0x`, `0b`, octal, with an optional `U`) or a float (`0f`, `0d`,
    /// decimal).
    fn number(&mut self) -> Result<Imm> {
        let start = self.at;
        self.skip_while(is_word);
        let is_hex_like = self.bytes[start] == b'0'
            && matches!(self.bytes.get(start + 1), Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D'));
        if !is_hex_like {
            if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
                self.at += 1;
                self.skip_while(is_word);
            }
            let so_far = &self.source[start..self.at];
            if so_far.ends_with(['e', 'E'])
                && matches!(self.peek(0), b'+' | b'-')
                && self.peek(1).is_ascii_digit()
            {
                self.at += 1;
                self.skip_while(is_word);
            }
        }
        let text = &self.source[start..self.at];
        parse_number(text).ok_or_else(|| {
            Error::new(self.span_from(start), format!("`{text}` is not a number")).help(
                "numbers are decimal, 0x.., 0b.. or octal integers up to 64 bits, 0f and 8 or 0d and 16 hexadecimal \
                 digits, or decimal fractions",
            )
        })
    }
}

fn parse_number(text: &str) -> Option<Imm> {
    let exact = |digits: &str, length: usize| {
        (digits.len() == length).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => return exact(&text[2..], 8).map(|bits| Imm::F32(bits as u32)),
        [b'0', b'd' | b'D', ..] => return exact(&text[2..], 16).map(Imm::F64),
        _ => {}
    }
    let digits = text.strip_suffix('U').unwrap_or(text);
    let integer = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16).ok(),
        [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2).ok(),
        [b'0', _, ..] if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            u64::from_str_radix(digits, 8).ok()
        }
        _ => digits.parse().ok(),
    };
    integer.map(Imm::Int).or_else(|| {
        let fraction = text.contains(['.', 'e', 'E'])
            && text.bytes().all(|byte| !byte.is_ascii_alphabetic() || matches!(byte, b'e' | b'E'));
        fraction.then(|| text.parse::<f64>().ok()).flatten().map(|value| Imm::F64(value.to_bits()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(TokenKind, &str)> {
        let tokens = lex(source).unwrap_or_else(|error| panic!("{source}: {}", error.message));
        tokens
            .iter()
            .map(|token| (token.kind, &source[token.span.start as usize..token.span.end as usize]))
            .collect()
    }

    #[test]
    fn numbers_of_every_kind() {
        let cases = [
            ("0", Imm::Int(0)),
            ("42", Imm::Int(42)),
            ("4294967295U", Imm::Int(0xffff_ffff)),
            ("0xFFU", Imm::Int(255)),
            ("0X1f", Imm::Int(31)),
            ("0b101", Imm::Int(5)),
            ("017", Imm::Int(15)),
            ("18446744073709551615", Imm::Int(u64::MAX)),
            ("0f3F800000", Imm::F32(0x3f80_0000)),
            ("0d3FF0000000000000", Imm::F64(0x3ff0_0000_0000_0000)),
            ("1.5", Imm::F64(1.5f64.to_bits())),
            ("2.5e-3", Imm::F64(2.5e-3f64.to_bits())),
            ("1e3", Imm::F64(1e3f64.to_bits())),
        ];
        for (text, number) in cases {
            assert_eq!(kinds(text)[0], (TokenKind::Number(number), text));
        }
    }

    #[test]
    fn numbers_that_are_none() {
        for text in ["0f3F80", "0d00", "0x", "08", "12ab", "18446744073709551616", "0b2"] {
            assert!(lex(text).is_err(), "{text} was taken");
        }
    }

    #[test]
    fn modifiers_keep_their_double_colons() {
        let tokens = kinds("ld.global.L1::no_allocate.L2::128B.v4.u32 {%r1, _}, [%rd1+-4];");
        let texts: Vec<&str> = tokens.iter().map(|(_, text)| *text).collect();
        assert_eq!(texts[..6], ["ld", ".global", ".L1::no_allocate", ".L2::128B", ".v4", ".u32"]);
        assert_eq!(texts[7..10], ["%r1", ",", "_"]);
    }

    #[test]
    fn lines_count_through_comments() {
        let tokens = lex("a // one\n/* two\nthree */ b").map_err(|error| error.message).unwrap();
        assert_eq!(tokens.iter().map(|token| token.span.line).collect::<Vec<_>>(), [1, 3, 3]);
    }
}
