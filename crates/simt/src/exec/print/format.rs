//! The conversions of `printf` (CUDA C++ Programming Guide, "Formatted Output", and ISO C).

use super::read::Reader;
use crate::fault::FaultKind;

/// A width or a precision is at most this large.
const MAX_WIDTH: usize = 4096;
const EXPONENT_BIAS: i64 = 1023;

/// One conversion: `%[flags][width][.precision][size]type`.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of printf")]
struct Conversion {
    left: bool,
    sign: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// The size of an integer in bytes: 1 (`hh`), 2 (`h`), 4, or 8 (`l`, `ll`, `z`, `j`, `t`).
    size: u32,
}

/// The arguments of a call. They lie in memory one after another, each at a multiple of its size.
struct Arguments<'r, 'a, 'b> {
    next: u64,
    count: i32,
    reader: &'r mut Reader<'a, 'b>,
}

impl Arguments<'_, '_, '_> {
    fn take(&mut self, width: u64) -> Result<u64, FaultKind> {
        let at = self.next.next_multiple_of(width);
        self.next = at + width;
        self.count += 1;
        self.reader.value(at, width)
    }
}

/// The text of a call of `printf`, and the number of arguments that the format asks for.
pub(super) fn text(
    format: &[u8],
    arguments: u64,
    reader: &mut Reader<'_, '_>,
) -> Result<(Vec<u8>, i32), FaultKind> {
    let mut arguments = Arguments { next: arguments, count: 0, reader };
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(&byte) = format.get(at) {
        at += 1;
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let start = at - 1;
        let conversion = read(format, &mut at, &mut arguments)?;
        let Some(&kind) = format.get(at) else {
            text.extend_from_slice(&format[start..]);
            break;
        };
        at += 1;
        match convert(&conversion, kind, &mut arguments)? {
            Some(converted) => text.extend(converted),
            // A conversion that does not exist is printed as it is.
            None => text.extend_from_slice(&format[start..at]),
        }
    }
    Ok((text, arguments.count))
}

/// Reads a conversion up to its type.
fn read(
    format: &[u8],
    at: &mut usize,
    arguments: &mut Arguments<'_, '_, '_>,
) -> Result<Conversion, FaultKind> {
    let mut conversion = Conversion { size: 4, ..Conversion::default() };
    let peek = |at: usize| format.get(at).copied().unwrap_or(0);
    loop {
        let flag = match peek(*at) {
            b'-' => &mut conversion.left,
            b'+' => &mut conversion.sign,
            b' ' => &mut conversion.space,
            b'#' => &mut conversion.alternate,
            b'0' => &mut conversion.zero,
            _ => break,
        };
        *flag = true;
        *at += 1;
    }
    let mut number = |at: &mut usize| -> Result<Option<i64>, FaultKind> {
        if peek(*at) == b'*' {
            *at += 1;
            return Ok(Some(i64::from(arguments.take(4)? as i32)));
        }
        let digits = format[*at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(&format[*at..*at + digits]).unwrap_or_default();
        *at += digits;
        Ok((digits > 0).then(|| text.parse().unwrap_or(i64::MAX)))
    };
    let limit = |value: u64| value.min(MAX_WIDTH as u64) as usize;
    if let Some(width) = number(at)? {
        conversion.left |= width < 0;
        conversion.width = limit(width.unsigned_abs());
    }
    if peek(*at) == b'.' {
        *at += 1;
        let precision = number(at)?.unwrap_or(0);
        // A negative precision counts as none.
        conversion.precision = u64::try_from(precision).ok().map(limit);
    }
    loop {
        conversion.size = match (peek(*at), conversion.size) {
            (b'h', 2) => 1,
            (b'h', _) => 2,
            (b'l' | b'z' | b'j' | b't', _) => 8,
            _ => return Ok(conversion),
        };
        *at += 1;
    }
}

/// The text of a conversion; `None` if there is no conversion of this type.
fn convert(
    conversion: &Conversion,
    kind: u8,
    arguments: &mut Arguments<'_, '_, '_>,
) -> Result<Option<Vec<u8>>, FaultKind> {
    let bits = 8 * conversion.size;
    let integer = |arguments: &mut Arguments<'_, '_, '_>| {
        let width = if conversion.size == 8 { 8 } else { 4 };
        arguments.take(width).map(|value| value << (64 - bits) >> (64 - bits))
    };
    let mut text = match kind {
        b'%' => return Ok(Some(b"%".to_vec())),
        b'd' | b'i' => {
            let value = (integer(arguments)? << (64 - bits)) as i64 >> (64 - bits);
            let digits = digits(conversion, value.unsigned_abs().to_string(), value == 0);
            return Ok(Some(signed(conversion, value < 0, "", digits, true)));
        }
        b'u' => {
            let value = integer(arguments)?;
            let digits = digits(conversion, value.to_string(), value == 0);
            let plain = Conversion { sign: false, space: false, ..*conversion };
            return Ok(Some(signed(&plain, false, "", digits, true)));
        }
        b'o' | b'x' | b'X' => {
            let value = integer(arguments)?;
            let mut text = match kind {
                b'o' => format!("{value:o}"),
                b'x' => format!("{value:x}"),
                _ => format!("{value:X}"),
            };
            if kind == b'o' && conversion.alternate && value != 0 {
                text.insert(0, '0');
            }
            let prefix = match kind {
                b'x' if conversion.alternate && value != 0 => "0x",
                b'X' if conversion.alternate && value != 0 => "0X",
                _ => "",
            };
            let digits = digits(conversion, text, value == 0);
            let plain = Conversion { sign: false, space: false, ..*conversion };
            return Ok(Some(signed(&plain, false, prefix, digits, true)));
        }
        b'p' => match arguments.take(8)? {
            0 => b"(nil)".to_vec(),
            address => format!("{address:#x}").into_bytes(),
        },
        b'c' => vec![arguments.take(4)? as u8],
        b's' => {
            let address = arguments.take(8)?;
            let text =
                if address == 0 { b"(null)".to_vec() } else { arguments.reader.string(address)? };
            text[..conversion.precision.unwrap_or(usize::MAX).min(text.len())].to_vec()
        }
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(arguments.take(8)?);
            return Ok(Some(real(conversion, kind, value)));
        }
        _ => return Ok(None),
    };
    pad(conversion, &mut text);
    Ok(Some(text))
}

/// The digits of an integer with at least as many digits as the precision asks for.
fn digits(conversion: &Conversion, text: String, is_zero: bool) -> String {
    match conversion.precision {
        Some(0) if is_zero => String::new(),
        Some(least) => format!("{text:0>least$}"),
        None => text,
    }
}

/// A number with its sign and prefix, padded.
fn signed(
    conversion: &Conversion,
    negative: bool,
    prefix: &str,
    digits: String,
    is_integer: bool,
) -> Vec<u8> {
    let sign = match (negative, conversion.sign, conversion.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    };
    // The flag 0 does not count beside `-`, nor beside the precision of an integer.
    let zeros =
        conversion.zero && !conversion.left && !(is_integer && conversion.precision.is_some());
    let before = sign.len() + prefix.len();
    let digits = if zeros {
        let width = conversion.width.saturating_sub(before);
        format!("{digits:0>width$}")
    } else {
        digits
    };
    let mut text = [sign, prefix, &digits].concat().into_bytes();
    pad(conversion, &mut text);
    text
}

fn pad(conversion: &Conversion, text: &mut Vec<u8>) {
    let missing = conversion.width.saturating_sub(text.len());
    let spaces = std::iter::repeat_n(b' ', missing);
    if conversion.left {
        text.extend(spaces);
    } else {
        text.splice(0..0, spaces);
    }
}

/// A floating-point number.
fn real(conversion: &Conversion, kind: u8, value: f64) -> Vec<u8> {
    let negative = value.is_sign_negative();
    let magnitude = value.abs();
    let is_finite = magnitude.is_finite();
    let precision = conversion.precision.unwrap_or(6);
    let mut prefix = "";
    let mut digits = match kind.to_ascii_lowercase() {
        _ if value.is_nan() => "nan".to_owned(),
        _ if !is_finite => "inf".to_owned(),
        b'f' => format!("{magnitude:.precision$}"),
        b'e' => scientific(magnitude, precision),
        b'g' => shortest(magnitude, precision.max(1), conversion.alternate),
        _ => {
            prefix = "0x";
            hexadecimal(magnitude, conversion.precision)
        }
    };
    if conversion.alternate && is_finite && !digits.contains('.') {
        let end = digits.find(['e', 'p']).unwrap_or(digits.len());
        digits.insert(end, '.');
    }
    // Zeros before an infinity or a NaN would make it look like a number.
    let plain = Conversion { zero: conversion.zero && is_finite, ..*conversion };
    let text = signed(&plain, negative, prefix, digits, false);
    if kind.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}

/// A number as `1.5e+03`, with `precision` digits after the point.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// A number with `precision` significant digits, in the form that `%g` chooses.
fn shortest(value: f64, precision: usize, keeps_zeros: bool) -> String {
    let rounded = scientific(value, precision - 1);
    let exponent: i64 =
        rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |digits: &str| {
        if keeps_zeros || !digits.contains('.') {
            return digits.to_owned();
        }
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= precision as i64 {
        let (digits, exponent) = rounded.split_once('e').unwrap_or((&rounded, "+00"));
        return format!("{}e{exponent}", trim(digits));
    }
    let after = (precision as i64 - 1 - exponent) as usize;
    trim(&format!("{value:.after$}"))
}

/// A number in hexadecimal, as `1.8p+3`, without `0x`. Without a precision, it is exact.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    const FRACTION: u32 = 52;
    let bits = value.to_bits();
    let biased = (bits >> FRACTION) as i64;
    let mut fraction = bits & ((1 << FRACTION) - 1);
    let exponent = match (biased, fraction) {
        (0, 0) => 0,
        (0, _) => 1 - EXPONENT_BIAS,
        _ => biased - EXPONENT_BIAS,
    };
    let mut lead = u64::from(biased != 0);
    let mut count = 13;
    if let Some(precision) = precision.filter(|precision| *precision < 13) {
        let drop = 4 * (13 - precision as u32);
        let whole = lead << FRACTION | fraction;
        let (kept, rest) = (whole >> drop, whole & ((1 << drop) - 1));
        let half = 1u64 << (drop - 1);
        let up = rest > half || rest == half && kept & 1 == 1;
        let rounded = kept + u64::from(up);
        (lead, count) = (rounded >> (4 * precision), precision);
        fraction = rounded & ((1 << (4 * precision)) - 1);
    }
    let mut digits = if count == 0 { String::new() } else { format!("{fraction:0count$x}") };
    match precision {
        Some(precision) => digits = format!("{digits:0<precision$}"),
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let point = if digits.is_empty() { "" } else { "." };
    format!("{lead}{point}{digits}p{exponent:+}")
}
