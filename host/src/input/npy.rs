//! The header of a `.npy` file.
//!
//! Source: NumPy's documentation, `numpy.lib.format`, versions 1.0, 2.0 and 3.0. It is a Python dictionary with the keys
//! `descr`, `fortran_order` and `shape`, in any order. Only what NumPy itself writes is understood.

use crate::element::ElementType;

/// The first bytes of every `.npy` file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes of a file in which the header of any array of our element types has ended.
pub(super) const LONGEST: u64 = 4096;

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The type of the elements, as it is written there: `'<i4'`.
    pub(super) descr: String,
    /// Whether the first index varies fastest.
    pub(super) fortran_order: bool,
    /// The extents; empty for a single element.
    pub(super) shape: Vec<u64>,
    /// Where the elements begin, in bytes from the start of the file.
    pub(super) start: u64,
}

/// The order of the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl Header {
    /// Reads the header from the first [`LONGEST`] bytes of a file, or says in half a sentence what is wrong with it.
    pub(super) fn parse(file: &[u8]) -> Result<Self, String> {
        const CUT: &str = "the file ends within its header";
        let after_magic = file.strip_prefix(MAGIC).ok_or(r"it does not begin with \x93NUMPY")?;
        let (length, rest) = match *after_magic {
            [1, 0, a, b, ref rest @ ..] => (u32::from(u16::from_le_bytes([a, b])), rest),
            [2 | 3, 0, a, b, c, d, ref rest @ ..] => (u32::from_le_bytes([a, b, c, d]), rest),
            [1..=3, 0, ..] | [] | [_] => return Err(CUT.into()),
            [major, minor, ..] => return Err(format!("its version is {major}.{minor}, and 1.0 to 3.0 are known")),
        };
        let start = (file.len() - rest.len()) as u64 + u64::from(length);
        if start > LONGEST {
            return Err(format!("its header takes {start} bytes, and at most {LONGEST} are read"));
        }
        let text = rest.get(..length as usize).ok_or(CUT)?;
        let text = std::str::from_utf8(text).map_err(|_| "its header is not text")?;
        let missing = |key| format!("its header has no {key} as NumPy writes it");
        Ok(Self {
            descr: descr(text).ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order(text).ok_or_else(|| missing("fortran_order"))?,
            shape: shape(text).ok_or_else(|| missing("shape"))?,
            start,
        })
    }

    /// The type and the byte order of the elements; `None` for those that no kernel reduces.
    pub(super) fn element(&self) -> Option<(ElementType, ByteOrder)> {
        let quoted = self.descr.strip_prefix('\'')?.strip_suffix('\'')?;
        let (order, name) = match quoted.split_at_checked(1)? {
            ("<", name) => (ByteOrder::Little, name),
            (">", name) => (ByteOrder::Big, name),
            _ => return None,
        };
        let element = match name {
            "i4" => ElementType::I32,
            "u4" => ElementType::U32,
            "i8" => ElementType::I64,
            "u8" => ElementType::U64,
            "f4" => ElementType::F32,
            "f8" => ElementType::F64,
            _ => return None,
        };
        Some((element, order))
    }
}

/// What follows `'key':`.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    // A field of a structured type may have the key's name, but no colon behind it.
    text.match_indices(key).find_map(|(at, _)| {
        let quoted = text[..at].ends_with('\'');
        let after = text[at + key.len()..].strip_prefix('\'').filter(|_| quoted)?;
        Some(after.trim_start().strip_prefix(':')?.trim_start())
    })
}

fn descr(text: &str) -> Option<String> {
    let value = value(text, "descr")?;
    let end = match value.as_bytes().first()? {
        b'\'' => 1 + value[1..].find('\'')?,
        b'[' => value.rfind(']')?,
        _ => return None,
    };
    Some(value[..=end].to_owned())
}

fn fortran_order(text: &str) -> Option<bool> {
    let value = value(text, "fortran_order")?;
    if value.starts_with("False") { Some(false) } else { value.starts_with("True").then_some(true) }
}

fn shape(text: &str) -> Option<Vec<u64>> {
    let (extents, _) = value(text, "shape")?.strip_prefix('(')?.split_once(')')?;
    let extents = extents.trim();
    // The tuple of one ends with a comma.
    let extents = extents.strip_suffix(',').unwrap_or(extents);
    if extents.is_empty() {
        return Some(Vec::new());
    }
    // Python 2 wrote some integers with an L.
    extents.split(',').map(|extent| extent.trim().trim_end_matches('L').parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u8, text: &str) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([version, 0]);
        match version {
            1 => file.extend((text.len() as u16).to_le_bytes()),
            _ => file.extend((text.len() as u32).to_le_bytes()),
        }
        file.extend(text.as_bytes());
        file
    }

    const PLAIN: &str = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }  \n";

    #[test]
    fn every_version_is_read() {
        for (version, before_text) in [(1, 10), (2, 12), (3, 12)] {
            let header = Header::parse(&header(version, PLAIN)).unwrap();
            assert_eq!((header.descr.as_str(), header.fortran_order), ("'<i4'", false));
            assert_eq!((header.shape.as_slice(), header.start), ([2, 3].as_slice(), before_text + PLAIN.len() as u64));
        }
    }

    #[test]
    fn keys_come_in_any_order_and_shapes_in_any_form() {
        for (shape, extents) in
            [("()", vec![]), ("(7,)", vec![7]), ("( 1 ,2 )", vec![1, 2]), ("(3L, 0L)", vec![3, 0]), ("(5)", vec![5])]
        {
            let text = format!("{{'shape':{shape},'fortran_order':True,'descr':'>f8'}}");
            let header = Header::parse(&header(1, &text)).unwrap();
            assert_eq!((&header.shape, header.fortran_order), (&extents, true), "{text}");
            assert_eq!(header.element(), Some((ElementType::F64, ByteOrder::Big)));
        }
    }

    #[test]
    fn a_field_may_be_called_like_a_key() {
        let text = "{'descr': [('shape', '<i4'), ('b', '<f4', (2,))], 'fortran_order': False, 'shape': (4,)}";
        let header = Header::parse(&header(1, text)).unwrap();
        assert_eq!(header.descr, "[('shape', '<i4'), ('b', '<f4', (2,))]");
        assert_eq!((header.element(), header.shape), (None, vec![4]));
    }

    #[test]
    fn what_is_wrong_is_said_in_half_a_sentence() {
        let message = |file: &[u8]| Header::parse(file).unwrap_err();
        let text = |from: &str, to: &str| header(1, &PLAIN.replace(from, to));
        assert_eq!(message(b"1 2 3"), r"it does not begin with \x93NUMPY");
        for length in [6, 7, 9, 20] {
            assert_eq!(message(&header(1, PLAIN)[..length]), "the file ends within its header");
        }
        assert_eq!(message(&header(4, PLAIN)), "its version is 4.0, and 1.0 to 3.0 are known");
        let mut long = header(2, PLAIN);
        long[8..12].fill(0xff);
        assert_eq!(message(&long), "its header takes 4294967307 bytes, and at most 4096 are read");
        assert_eq!(message(&text("descr", "dtype")), "its header has no descr as NumPy writes it");
        assert_eq!(message(&text("False", "0")), "its header has no fortran_order as NumPy writes it");
        for shape in ["[2, 3]", "(-2, 3)", "(2, x)", "(2, , 3)", "(36893488147419103232,)", "(2, 3"] {
            assert_eq!(message(&text("(2, 3)", shape)), "its header has no shape as NumPy writes it", "{shape}");
        }
        let mut binary = header(1, PLAIN);
        binary[12] = 0xff;
        assert_eq!(message(&binary), "its header is not text");
    }
}
