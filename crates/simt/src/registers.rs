//! The registers of a warp, and the macro that turns arithmetic on one value into arithmetic on 32
//! lanes.
//!
//! A register holds one value for each lane. There are three register files: words of 32 bits
//! (which also hold narrower values, zero-extended), doubles of 64 bits, and predicates, with one
//! bit for each lane. Constants and special registers are kept in registers too, so that every
//! operand is an index.

use half::{bf16, f16};

/// A warp has this many lanes.
pub(crate) const LANES: usize = 32;
/// The mask of all lanes.
pub(crate) const ALL: u32 = u32::MAX;

/// The numbers of the lanes in `mask`, in ascending order.
#[inline(always)]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// The registers of one warp.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Registers {
    pub(crate) words: Vec<[u32; LANES]>,
    pub(crate) doubles: Vec<[u64; LANES]>,
    pub(crate) predicates: Vec<u32>,
}

impl Registers {
    /// Sets a predicate in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, register: u32, mask: u32, value: u32) {
        let old = &mut self.predicates[register as usize];
        *old = (*old & !mask) | (value & mask);
    }

    /// Writes one value to the lanes of `mask` of a word.
    pub(crate) fn put_word(&mut self, register: u32, mask: u32, value: u32) {
        let register = &mut self.words[register as usize];
        lanes_of(mask).for_each(|lane| register[lane] = value);
    }
}

/// The operands of an [`AluFn`]: the destination register `d`, the source registers `a` to `c`, and
/// `x`, which is a source register or a plain number, as the function requires.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Operands {
    pub(crate) d: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) x: u32,
}

/// A function that computes one arithmetic instruction. It writes only those lanes of the
/// destination that are in the mask.
pub(crate) type Lifted = fn(&mut Registers, u32, &Operands);

/// A register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    Words,
    Doubles,
    Predicates,
}

/// The way in which the bits of a result depend on the bits of the sources. The checks need it to
/// follow bits that have no defined value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Each bit of the result may depend on each bit of the sources.
    Whole,
    /// A bit of the result depends on no higher bit of a source, as in a sum.
    Upward,
    /// Each bit of the result depends on at most one bit of each of the first `sources` sources,
    /// and may depend on each bit of the other sources.
    Bitwise { sources: u8 },
    /// The result is the only source, perhaps cut or extended.
    Copy,
}

/// The registers that an [`AluFn`] reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The files of the sources `a`, `b`, `c` and `x`; `None` if the function does not read one.
    pub(crate) reads: [Option<File>; 4],
    /// The file of the destination.
    pub(crate) writes: File,
    /// How many bits of the destination the function computes. The others become zero.
    pub(crate) bits: u8,
    pub(crate) rule: Rule,
}

impl Shape {
    /// The shape of a function with a result of this many bits, and the sources of these names.
    pub(crate) fn new(writes: File, bits: u8, sources: &[(&str, File)]) -> Shape {
        let mut reads = [None; 4];
        for (name, file) in sources {
            let source = ["a", "b", "c", "x"].iter().position(|known| known == name);
            reads[source.expect("a source is one of four")] = Some(*file);
        }
        Shape { reads, writes, bits, rule: Rule::Whole }
    }
}

/// An arithmetic instruction: the function that computes it, and what it reads and writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AluFn {
    pub(crate) run: Lifted,
    pub(crate) shape: Shape,
}

impl AluFn {
    /// The same function, whose results follow `rule`.
    pub(crate) const fn by(self, rule: Rule) -> AluFn {
        AluFn { shape: Shape { rule, ..self.shape }, ..self }
    }

    /// The same function, each bit of whose result depends on one bit of each of the first
    /// `sources` sources.
    pub(crate) const fn bitwise(self, sources: u8) -> AluFn {
        self.by(Rule::Bitwise { sources })
    }
}

/// A Rust type that can be the value of one lane.
pub(crate) trait Lane: Copy {
    /// The type of the values in the register file.
    type Raw: Copy + Default;
    /// The register file that holds values of this type.
    const FILE: File = if size_of::<Self::Raw>() == 8 { File::Doubles } else { File::Words };
    /// The register file that holds values of this type.
    fn file(registers: &Registers) -> &[[Self::Raw; LANES]];
    /// Writes the values of the lanes of `mask`.
    fn put(registers: &mut Registers, register: u32, mask: u32, values: [Self::Raw; LANES]);
    /// The value that a register's bits represent. Bits above the width of the type are ignored.
    fn from_raw(raw: Self::Raw) -> Self;
    /// The bits that represent the value in a register, zero-extended.
    fn to_raw(self) -> Self::Raw;
}

macro_rules! lane {
    ($($ty:ty: $raw:ty, $file:ident, |$r:ident| $from:expr, |$v:ident| $to:expr;)+) => {$(
        impl Lane for $ty {
            type Raw = $raw;
            #[inline(always)]
            fn file(registers: &Registers) -> &[[$raw; LANES]] {
                &registers.$file
            }
            #[inline(always)]
            fn put(registers: &mut Registers, register: u32, mask: u32, values: [$raw; LANES]) {
                let old = &mut registers.$file[register as usize];
                if mask == ALL && size_of::<$raw>() < 8 {
                    *old = values;
                } else if mask == ALL {
                    // The copy is split in two, because each half becomes a few moves; a single
                    // copy would become a call of memcpy.
                    let (low, high) = old.split_at_mut(LANES / 2);
                    low.copy_from_slice(&values[..LANES / 2]);
                    high.copy_from_slice(&values[LANES / 2..]);
                } else {
                    for (lane, (old, new)) in old.iter_mut().zip(values).enumerate() {
                        *old = if mask >> lane & 1 == 1 { new } else { *old };
                    }
                }
            }
            #[inline(always)]
            fn from_raw($r: $raw) -> $ty {
                $from
            }
            #[inline(always)]
            fn to_raw(self) -> $raw {
                let $v = self;
                $to
            }
        }
    )+};
}

lane! {
    u8: u32, words, |r| r as u8, |v| u32::from(v);
    i8: u32, words, |r| r as i8, |v| u32::from(v as u8);
    u16: u32, words, |r| r as u16, |v| u32::from(v);
    i16: u32, words, |r| r as i16, |v| u32::from(v as u16);
    u32: u32, words, |r| r, |v| v;
    i32: u32, words, |r| r as i32, |v| v as u32;
    f16: u32, words, |r| f16::from_bits(r as u16), |v| u32::from(v.to_bits());
    bf16: u32, words, |r| bf16::from_bits(r as u16), |v| u32::from(v.to_bits());
    f32: u32, words, |r| f32::from_bits(r), |v| v.to_bits();
    u64: u64, doubles, |r| r, |v| v;
    i64: u64, doubles, |r| r as i64, |v| v as u64;
    f64: u64, doubles, |r| f64::from_bits(r), |v| v.to_bits();
}

/// Lifts an expression over lane values to an [`AluFn`].
///
/// `alu!(|a: i32, b: i32| -> i32 { a.wrapping_add(b) })` reads registers `a` and `b` and writes
/// `d`. There may be one to three sources. The result type `bool` writes a predicate. A second
/// bracket `[p: pred]` gives the lane's bit of predicate register `x`, and `[n: number]` gives the
/// plain number `x`.
macro_rules! alu {
    (@ $lifted:ident, $file:expr, $bits:expr, [$($arg:ident: $ty:ty),+] $(, $x:ident: pred)?) => {{
        #[allow(unused_imports, reason = "not every instruction reads a predicate")]
        use $crate::registers::{AluFn, File, Lane, Shape};
        let sources =
            [$((stringify!($arg), <$ty as Lane>::FILE),)+ $((stringify!($x), File::Predicates),)?];
        AluFn { run: $lifted, shape: Shape::new($file, $bits, &sources) }
    }};
    (|$($arg:ident: $ty:ty),+| -> bool $body:block) => {{
        fn lifted(registers: &mut $crate::registers::Registers, mask: u32, operands: &$crate::registers::Operands) {
            use $crate::registers::{Lane, LANES};
            let mut bits = 0u32;
            $(let $arg = &<$ty as Lane>::file(registers)[operands.$arg as usize];)+
            for lane in 0..LANES {
                $(let $arg = <$ty as Lane>::from_raw($arg[lane]);)+
                let holds: bool = $body;
                bits |= u32::from(holds) << lane;
            }
            registers.set_predicate(operands.d, mask, bits);
        }
        alu!(@ lifted, $crate::registers::File::Predicates, 1, [$($arg: $ty),+])
    }};
    (|$($arg:ident: $ty:ty),+| [$x:ident: number] -> $out:ty $body:block) => {{
        fn lifted(registers: &mut $crate::registers::Registers, mask: u32, operands: &$crate::registers::Operands) {
            use $crate::registers::{Lane, LANES};
            $(let $arg = &<$ty as Lane>::file(registers)[operands.$arg as usize];)+
            let $x = operands.x;
            let mut values = [Default::default(); LANES];
            for lane in 0..LANES {
                $(let $arg = <$ty as Lane>::from_raw($arg[lane]);)+
                let value: $out = $body;
                values[lane] = Lane::to_raw(value);
            }
            <$out as Lane>::put(registers, operands.d, mask, values);
        }
        alu!(@ lifted, <$out as $crate::registers::Lane>::FILE, size_of::<$out>() as u8 * 8, [$($arg: $ty),+])
    }};
    (|$($arg:ident: $ty:ty),+| [$p:ident: pred] -> $out:ty $body:block) => {{
        fn lifted(registers: &mut $crate::registers::Registers, mask: u32, operands: &$crate::registers::Operands) {
            use $crate::registers::{Lane, LANES};
            $(let $arg = &<$ty as Lane>::file(registers)[operands.$arg as usize];)+
            let bits = registers.predicates[operands.x as usize];
            let mut values = [Default::default(); LANES];
            for lane in 0..LANES {
                $(let $arg = <$ty as Lane>::from_raw($arg[lane]);)+
                let $p = bits >> lane & 1 == 1;
                let value: $out = $body;
                values[lane] = Lane::to_raw(value);
            }
            <$out as Lane>::put(registers, operands.d, mask, values);
        }
        alu!(@ lifted, <$out as $crate::registers::Lane>::FILE, size_of::<$out>() as u8 * 8, [$($arg: $ty),+], x: pred)
    }};
    (|$($arg:ident: $ty:ty),+| -> $out:ty $body:block) => {{
        fn lifted(registers: &mut $crate::registers::Registers, mask: u32, operands: &$crate::registers::Operands) {
            use $crate::registers::{Lane, LANES};
            $(let $arg = &<$ty as Lane>::file(registers)[operands.$arg as usize];)+
            let mut values = [Default::default(); LANES];
            for lane in 0..LANES {
                $(let $arg = <$ty as Lane>::from_raw($arg[lane]);)+
                let value: $out = $body;
                values[lane] = Lane::to_raw(value);
            }
            <$out as Lane>::put(registers, operands.d, mask, values);
        }
        alu!(@ lifted, <$out as $crate::registers::Lane>::FILE, size_of::<$out>() as u8 * 8, [$($arg: $ty),+])
    }};
}
pub(crate) use alu;
