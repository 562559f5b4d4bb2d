//! The header of a `.npy` file. The crate npyz reads it. This module keeps headers away from npyz
//! if npyz would panic on them, and turns its errors into half a sentence.

use std::io;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};

use super::Dtype;

/// The first bytes of every `.npy` file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The header of any array of numbers ends within this many bytes of a file.
pub const LONGEST: u64 = 4096;

/// The most brackets that may be open at once in a header. An array of numbers needs two, an array
/// of structures needs four, and each structure within a structure needs two more. There is a limit
/// because npyz takes twice the time for each further bracket that is never closed: seconds for 15
/// of them, hours for 30.
const DEEPEST: usize = 8;

/// The contents of the header of a `.npy` file.
#[derive(Debug)]
pub struct Header {
    dtype: DType,
    /// Whether the first index varies fastest.
    pub fortran_order: bool,
    /// The extents; empty for a single element.
    pub shape: Vec<u64>,
    /// Where the elements begin, in bytes from the start of the file.
    pub start: u64,
}

/// The order of the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte comes first.
    Little,
    /// The highest byte comes first.
    Big,
}

impl Header {
    /// Reads the header from the first [`LONGEST`] bytes of a file. If it cannot be read, the error
    /// is half a sentence that says what is wrong with it.
    ///
    /// # Errors
    ///
    /// The header is not as NumPy writes it.
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        if !file.starts_with(MAGIC) {
            return Err(r"it does not begin with \x93NUMPY".into());
        }
        if is_shape_absurd(file) {
            return Err("its shape has 2^64 elements or more".into());
        }
        if is_too_deep(file) {
            return Err(format!("its header opens more than {DEEPEST} brackets at once"));
        }
        let mut rest = file;
        let header = NpyHeader::from_reader(&mut rest).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof if file.len() as u64 == LONGEST => {
                format!("its header takes more than {LONGEST} bytes")
            }
            io::ErrorKind::UnexpectedEof => "the file ends within its header".into(),
            _ => match error.to_string() {
                // An error of several lines is a picture that a parser draws to explain itself.
                text if text.contains('\n') => "its header is not as NumPy writes it".into(),
                text => text,
            },
        })?;
        Ok(Self {
            dtype: header.dtype(),
            fortran_order: header.order() == Order::Fortran,
            shape: header.shape().to_vec(),
            start: (file.len() - rest.len()) as u64,
        })
    }

    /// The type of the elements, as the header writes it, such as `'<i4'`.
    pub fn descr(&self) -> String {
        self.dtype.descr()
    }

    /// The kind, the size in bytes and the byte order of the elements. `None` if they are
    /// structures.
    pub fn plain(&self) -> Option<(TypeChar, u64, ByteOrder)> {
        let DType::Plain(plain) = &self.dtype else { return None };
        let order =
            if plain.endianness() == Endianness::Big { ByteOrder::Big } else { ByteOrder::Little };
        Some((plain.type_char(), plain.num_bytes()? as u64, order))
    }

    /// The type and the byte order of the elements. `None` if no [`Dtype`] is theirs. `asked` is
    /// the type that the elements should have, if that is known.
    pub fn dtype(&self, asked: Option<Dtype>) -> Option<(Dtype, ByteOrder)> {
        let (kind, bytes, order) = self.plain()?;
        Some((Dtype::of_numpy(kind, bytes, asked)?, order))
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        // `parse` refuses a shape whose product overflows.
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether the product of the extents overflows. npyz 0.9 computes that product, and panics in a
/// debug build if it overflows. It computes strides too, which are products of all extents behind a
/// 0, so an extent of 0 counts as 1 here.
fn is_shape_absurd(header: &[u8]) -> bool {
    let text = String::from_utf8_lossy(header);
    // A field of a structured type may be called `shape` too, so the parentheses after each
    // occurrence of the word are looked at.
    text.split("shape").skip(1).any(|rest| {
        let extents = rest
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .map_or("", |(extents, _)| extents);
        extents
            .split(',')
            .filter_map(|extent| extent.trim().parse::<u64>().ok())
            .try_fold(1u64, |product, extent| product.checked_mul(extent.max(1)))
            .is_none()
    })
}

/// Whether the text of the header has more than [`DEEPEST`] brackets open at once. Brackets in the
/// names of fields count as well.
fn is_too_deep(file: &[u8]) -> bool {
    // Version 1 has the length of the text in two bytes, the later ones have it in four.
    let (length, rest) = match file {
        [_, _, _, _, _, _, 1, _, a, b, rest @ ..] => (u32::from_le_bytes([*a, *b, 0, 0]), rest),
        [_, _, _, _, _, _, _, _, a, b, c, d, rest @ ..] => {
            (u32::from_le_bytes([*a, *b, *c, *d]), rest)
        }
        _ => return false,
    };
    let mut open = 0_usize;
    rest.iter().take(length as usize).any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > DEEPEST
    })
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
            assert_eq!((header.descr().as_str(), header.fortran_order), ("'<i4'", false));
            assert_eq!(
                (header.shape.as_slice(), header.start),
                ([2, 3].as_slice(), before_text + PLAIN.len() as u64)
            );
        }
    }

    #[test]
    fn keys_come_in_any_order_and_shapes_in_any_form() {
        for (shape, extents) in
            [("()", vec![]), ("(7,)", vec![7]), ("( 1 ,2 )", vec![1, 2]), ("(3, 0)", vec![3, 0])]
        {
            let text = format!("{{'shape':{shape},'fortran_order':True,'descr':'>f8'}}");
            let header = Header::parse(&header(1, &text)).unwrap();
            assert_eq!((&header.shape, header.fortran_order), (&extents, true), "{text}");
            assert_eq!(header.dtype(None), Some((Dtype::F64, ByteOrder::Big)));
        }
    }

    #[test]
    fn a_field_may_be_called_like_a_key() {
        let text = "{'descr': [('shape', '<i4'), ('b', '<f4', (2,))], 'fortran_order': False, 'shape': (4,)}";
        let header = Header::parse(&header(1, text)).unwrap();
        assert_eq!((header.dtype(None), &header.shape), (None, &vec![4]));
    }

    #[test]
    fn brackets_behind_the_header_do_not_count() {
        let mut file = header(1, PLAIN);
        file.extend([b'('; 64]);
        assert_eq!(Header::parse(&file).unwrap().shape, [2, 3]);
    }

    #[test]
    fn the_deepest_header_is_read_at_once() {
        // No bracket is closed, so that npyz tries all that each may begin.
        let file = header(1, &PLAIN.replace("(2, 3)", &"[".repeat(DEEPEST - 1)));
        assert!(Header::parse(&file).is_err());
    }

    #[test]
    fn what_is_wrong_is_said_in_half_a_sentence() {
        let refused = |file: &[u8]| Header::parse(file).expect_err("it is refused");
        let text = |from: &str, to: &str| header(1, &PLAIN.replace(from, to));
        assert_eq!(refused(b"1 2 3"), r"it does not begin with \x93NUMPY");
        for length in [9, 20] {
            assert_eq!(refused(&header(1, PLAIN)[..length]), "the file ends within its header");
        }
        let mut long = header(2, PLAIN);
        long.resize(LONGEST as usize, b' ');
        long[8..12].copy_from_slice(&(1u32 << 20).to_le_bytes());
        assert_eq!(refused(&long), "its header takes more than 4096 bytes");
        for shape in
            ["(36893488147419103232, 2)", "(4294967296, 4294967296)", "(0, 4294967296, 4294967296)"]
        {
            let said = refused(&text("(2, 3)", shape));
            assert!(said.lines().count() == 1, "{shape}: {said}");
        }
        let mut binary = header(1, PLAIN);
        binary[12] = 0xff;
        for open in ["(", "[", "{"] {
            let said = refused(&text("(2, 3)", &open.repeat(50)));
            assert_eq!(said, "its header opens more than 8 brackets at once");
        }
        let others = [
            header(4, PLAIN),
            text("descr", "dtype"),
            text("False", "0"),
            text("(2, 3)", "(2, x)"),
            binary,
        ];
        for file in others {
            let said = refused(&file);
            assert!(!said.is_empty() && said.lines().count() == 1, "{said}");
        }
    }
}
