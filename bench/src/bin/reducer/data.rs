//! The input, and the expected results of its reductions.
//!
//! The input repeats a period of random values, so that the result over any part of it can be
//! computed without reading the whole part.

use anyhow::ensure;
use half::{bf16, f16};
use warpfold::device::{Buffer, Device, Pod};

use crate::cases::{Case, Element, Operation as Op};

/// The number of values after which the input repeats. It is odd, because then it is no multiple of
/// the size of any grid or vector.
pub(crate) const PERIOD: usize = 100_003;

/// The unit roundoff of `f16`: half the distance from 1 to the next greater `f16`.
const F16_ROUNDOFF: f64 = 1.0 / 2048.0;

/// A number of a result. A result that consists of a value and an index has two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer modulo 2^bits.
    Int { value: i128, bits: u32 },
    /// A float, with the unit roundoff of its type.
    Float { value: f64, roundoff: f64 },
}

/// A Rust type that is an element type of the benchmark.
pub(crate) trait Value: Pod {
    const ELEMENT: Element;
    /// Makes an element from 64 random bits. Integers cover their whole range. Floats are uniform
    /// in [-1, 1], and all bits of their significands are used.
    fn from_random(bits: u64) -> Self;
    fn number(self) -> Number;
}

macro_rules! int_value {
    ($($t:ty: $element:ident),*) => {$(
        impl Value for $t {
            const ELEMENT: Element = Element::$element;
            fn from_random(bits: u64) -> Self {
                (u128::from(bits) * 0x1_0000_0001_0000_0001) as Self
            }
            fn number(self) -> Number {
                Number::Int { value: self as i128, bits: Self::BITS }
            }
        }
    )*};
}

int_value!(i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, i128: I128, u128: U128);

/// `-1 + 2k / 2^(digits + 1)`, which is exact in a type of `digits` binary digits.
fn uniform(bits: u64, digits: u32) -> f64 {
    let k = (bits >> (63 - digits)) as i64 - (1 << digits);
    k as f64 / (1i64 << digits) as f64
}

macro_rules! float_value {
    ($($t:ty: $element:ident, $digits:expr, $from:expr);*) => {$(
        impl Value for $t {
            const ELEMENT: Element = Element::$element;
            fn from_random(bits: u64) -> Self {
                $from(uniform(bits, $digits))
            }
            fn number(self) -> Number {
                Number::Float { value: self.into(), roundoff: (-f64::from($digits)).exp2() }
            }
        }
    )*};
}

float_value!(f16: F16, 11, f16::from_f64; bf16: Bf16, 8, bf16::from_f64; f32: F32, 24, |x| x as f32; f64: F64, 53, |x| x);

/// Reads the number of type `element` that begins `at` bytes after the start of a result.
pub(crate) fn number_at(bytes: &[u8], at: usize, element: Element) -> Number {
    fn read<T: Value>(bytes: &[u8]) -> Number {
        bytemuck::pod_read_unaligned::<T>(&bytes[..size_of::<T>()]).number()
    }
    let bytes = &bytes[at..];
    match element {
        Element::I8 => read::<i8>(bytes),
        Element::U8 => read::<u8>(bytes),
        Element::I16 => read::<i16>(bytes),
        Element::U16 => read::<u16>(bytes),
        Element::I32 => read::<i32>(bytes),
        Element::U32 => read::<u32>(bytes),
        Element::I64 => read::<i64>(bytes),
        Element::U64 => read::<u64>(bytes),
        Element::I128 => read::<i128>(bytes),
        Element::U128 => read::<u128>(bytes),
        Element::F16 => read::<f16>(bytes),
        Element::Bf16 => read::<bf16>(bytes),
        Element::F32 => read::<f32>(bytes),
        Element::F64 => read::<f64>(bytes),
    }
}

/// The part of a case's input that one call reduces. Places are in elements from the start of the
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The first element.
    pub(crate) start: u64,
    /// The first element of the second input. Only operations on pairs use it.
    pub(crate) right: u64,
}

/// Device memory with a periodic input of one type.
#[derive(Debug)]
pub(crate) struct Input {
    memory: Buffer<u8>,
    element: Element,
    period: Period,
}

#[derive(Debug)]
enum Period {
    Ints(Vec<i128>),
    Floats(Vec<f64>),
}

impl Input {
    /// Makes an input of `len` elements on the device.
    pub(crate) fn new<T: Value>(device: &Device, len: u64) -> anyhow::Result<Self> {
        // The high bits of a linear congruential generator (Knuth's MMIX).
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let random = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            T::from_random(state ^ state >> 32)
        });
        let values: Vec<T> = random.take(PERIOD.min(len as usize)).collect();
        let period = device.upload(bytemuck::cast_slice::<T, u8>(&values))?;
        let mut memory = device.alloc::<u8>(len as usize * size_of::<T>())?;
        for start in (0..memory.len()).step_by(period.len()) {
            let part = period.len().min(memory.len() - start);
            memory.view_mut(start..start + part).copy_from(period.view(..part))?;
        }
        let ints = |value: &T| match value.number() {
            Number::Int { value, .. } => value,
            Number::Float { .. } => unreachable!("the type is one of integers"),
        };
        let floats = |value: &T| match value.number() {
            Number::Float { value, .. } => value,
            Number::Int { .. } => unreachable!("the type is one of floats"),
        };
        let period = match values[0].number() {
            Number::Int { .. } => Period::Ints(values.iter().map(ints).collect()),
            Number::Float { .. } => Period::Floats(values.iter().map(floats).collect()),
        };
        Ok(Self { memory, element: T::ELEMENT, period })
    }

    /// The number of bytes that the input takes.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// A copy of the first [`PERIOD`] packs of 16 bytes, or of all packs if there are fewer. A pack
    /// has a whole number of elements, so packs repeat after [`PERIOD`] packs: pack `i` of the
    /// input equals pack `i % PERIOD` of the copy.
    pub(crate) fn packs(&self, device: &Device) -> anyhow::Result<Buffer<u8>> {
        let bytes = self.bytes().min(16 * PERIOD);
        let mut packs = device.alloc(bytes)?;
        packs.view_mut(..).copy_from(self.memory.view(..bytes))?;
        Ok(packs)
    }

    /// The address of an element on the device.
    pub(crate) fn address(&self, element: u64) -> u64 {
        self.memory.address() + element * self.element.size()
    }

    /// The expected result of a case over a part.
    pub(crate) fn expected(&self, case: &Case, part: Part) -> Expected {
        match &self.period {
            Period::Ints(values) => expected_ints(case, values, part),
            Period::Floats(values) => expected_floats(case, values, part),
        }
    }
}

/// The expected result of a reduction, and how far a correct result may be from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected {
    /// The numbers of the result, exact or rounded to `f64`.
    parts: Vec<Number>,
    /// The bound on the error, divided by the unit roundoff. It is the number of roundings that a
    /// value may go through, times the sum of all absolute values. For results without additions it
    /// is 0.
    roundings: f64,
}

impl Expected {
    /// Checks the numbers of a result.
    ///
    /// # Errors
    ///
    /// A number differs from the expected one. After floating-point additions, it differs by more
    /// than the bound.
    pub(crate) fn check(&self, results: &[Number]) -> anyhow::Result<()> {
        let is_right = |(result, part): (&Number, &Number)| match (*result, *part) {
            (Number::Int { value, bits }, Number::Int { value: expected, .. }) => {
                let shift = 128 - bits;
                value << shift == expected << shift
            }
            (Number::Float { value, roundoff }, Number::Float { value: expected, .. }) => {
                let bound = self.roundings * roundoff;
                // CUB keeps sums of 16-bit floats in 16-bit floats. So partial sums may exceed the
                // range of the type.
                let may_overflow =
                    roundoff == F16_ROUNDOFF && expected.abs() + bound > f16::MAX.to_f64();
                (value - expected).abs() <= bound || (may_overflow && value.is_infinite())
            }
            _ => false,
        };
        let same =
            results.len() == self.parts.len() && results.iter().zip(&self.parts).all(is_right);
        ensure!(same, "wrong result: {results:?}, and it should be {:?}", self.parts);
        Ok(())
    }
}

/// Calls `each` once for each element of a part, where elements that are equal because the input is
/// periodic count as one. `each` gets the element's index within the period, the index of the
/// element of the second input (only operations on pairs use it), and the number of times that
/// this pair occurs in the part.
fn for_each(case: &Case, len: usize, part: Part, mut each: impl FnMut(usize, usize, u64)) {
    let (whole, rest) = (case.n / len as u64, case.n % len as u64);
    for k in 0..(len as u64).min(case.n) {
        let index = |start: u64| ((start + k) % len as u64) as usize;
        each(index(part.start), index(part.right), whole + u64::from(k < rest));
    }
}

fn expected_ints(case: &Case, values: &[i128], part: Part) -> Expected {
    let int = |value| Number::Int { value, bits: 128 };
    let parts = match case.op {
        Op::Min | Op::Max | Op::ArgMin | Op::ArgMax | Op::MinMax => {
            let (least, greatest) = extremes(case, values, part, |a, b| a < b);
            let at = |(index, value): (u64, i128)| vec![int(value), int(index.into())];
            match case.op {
                Op::Min => vec![int(least.1)],
                Op::Max => vec![int(greatest.1)],
                Op::ArgMin => at(least),
                Op::ArgMax => at(greatest),
                _ => vec![int(least.1), int(greatest.1)],
            }
        }
        op => {
            let mut sum = 0i128;
            for_each(case, values.len(), part, |left, right, times| {
                let (left, right) = (values[left], values[right]);
                let term = match op {
                    Op::Dot => left.wrapping_mul(right),
                    Op::SquaredDistance => left.wrapping_sub(right).wrapping_pow(2),
                    Op::SumSquares => left.wrapping_pow(2),
                    Op::SumAbs => left.wrapping_abs(),
                    _ => left,
                };
                sum = sum.wrapping_add(term.wrapping_mul(times.into()));
            });
            vec![int(sum)]
        }
    };
    Expected { parts, roundings: 0.0 }
}

fn expected_floats(case: &Case, values: &[f64], part: Part) -> Expected {
    let float = |value| Number::Float { value, roundoff: 0.0 };
    let int = |index: u64| Number::Int { value: index.into(), bits: 64 };
    let exact = |parts| Expected { parts, roundings: 0.0 };
    match case.op {
        Op::Min | Op::Max | Op::ArgMin | Op::ArgMax | Op::MinMax | Op::MaxAbs => {
            let (least, greatest) = extremes(case, values, part, |a, b| a < b);
            exact(match case.op {
                Op::Min => vec![float(least.1)],
                Op::Max => vec![float(greatest.1)],
                Op::ArgMin => vec![float(least.1), int(least.0)],
                Op::ArgMax => vec![float(greatest.1), int(greatest.0)],
                Op::MinMax => vec![float(least.1), float(greatest.1)],
                _ => vec![float(greatest.1.max(-least.1))],
            })
        }
        Op::Moments => {
            let mut sum = Compensated::default();
            for_each(case, values.len(), part, |left, _, times| {
                sum.add(values[left] * times as f64);
            });
            let mean = sum.value() / case.n as f64;
            let mut squares = Compensated::default();
            for_each(case, values.len(), part, |left, _, times| {
                squares.add((values[left] - mean).powi(2) * times as f64);
            });
            let parts = vec![int(case.n), float(mean), float(squares.value())];
            // No absolute value exceeds 1. So the sum of the absolute values is at least the sum of
            // the squares and far greater than the mean, and one bound serves all numbers.
            Expected { parts, roundings: roundings(case, sum.sum_abs) }
        }
        op => {
            let mut sum = Compensated::default();
            for_each(case, values.len(), part, |left, right, times| {
                let (left, right) = (values[left], values[right]);
                let term = match op {
                    Op::Dot => left * right,
                    Op::SquaredDistance => (left - right) * (left - right),
                    Op::SumSquares => left * left,
                    Op::SumAbs => left.abs(),
                    _ => left,
                };
                sum.add(term * times as f64);
            });
            let roundings = roundings(case, sum.sum_abs);
            Expected { parts: vec![float(sum.value())], roundings }
        }
    }
}

/// A compensated sum by Neumaier's algorithm. Its own error is far below the bound on the errors
/// that it serves to check.
#[derive(Clone, Copy, Debug, Default)]
struct Compensated {
    sum: f64,
    error: f64,
    sum_abs: f64,
}

impl Compensated {
    fn add(&mut self, term: f64) {
        let next = self.sum + term;
        self.error += if self.sum.abs() >= term.abs() {
            (self.sum - next) + term
        } else {
            (term - next) + self.sum
        };
        self.sum = next;
        self.sum_abs += term.abs();
    }

    fn value(self) -> f64 {
        self.sum + self.error
    }
}

/// The bound on the error of a sum divided by the unit roundoff, from the sum of the absolute
/// values of its terms. A term goes through at most as many roundings as the tree of additions is
/// deep (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2). A
/// full GPU has more than 2^16 threads. Each thread adds its terms one after another, and a tree
/// adds the sums of the threads. Four more roundings allow for the computation of a term, for its
/// multiple and for the conversion to the result's type.
fn roundings(case: &Case, sum_abs: f64) -> f64 {
    let depth = case.n as f64 / 65536.0 + 64.0;
    (depth + 4.0) * sum_abs
}

/// The first least element of a part and the first greatest one, each as its index within the part
/// and its value.
fn extremes<T: Copy>(
    case: &Case,
    values: &[T],
    part: Part,
    is_less: impl Fn(T, T) -> bool,
) -> ((u64, T), (u64, T)) {
    let at = |k: u64| values[((part.start + k) % values.len() as u64) as usize];
    let (mut least, mut greatest) = ((0, at(0)), (0, at(0)));
    for k in 1..case.n.min(values.len() as u64) {
        let value = at(k);
        if is_less(value, least.1) {
            least = (k, value);
        }
        if is_less(greatest.1, value) {
            greatest = (k, value);
        }
    }
    (least, greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case over five values that repeat. Its input begins with the second of them.
    fn case(op: Op, n: u64) -> (Case, Part) {
        (Case { op, element: Element::F64, n, offset: 0 }, Part { start: 1, right: 3 })
    }

    #[test]
    fn reductions_of_periodic_values_are_those_of_all_values() {
        let period = [3.0, -1.0, 4.0, -1.0, 5.0];
        for n in [1u64, 4, 5, 6, 23] {
            let (left, right): (Vec<f64>, Vec<f64>) =
                (0..n as usize).map(|k| (period[(1 + k) % 5], period[(3 + k) % 5])).unzip();
            let float = |value| Number::Float { value, roundoff: 0.0 };
            let check = |op, parts: Vec<Number>| {
                let (case, part) = case(op, n);
                let expected = expected_floats(&case, &period, part);
                assert_eq!(expected.parts, parts, "{op:?} of {n}");
            };
            check(Op::Sum, vec![float(left.iter().sum())]);
            check(Op::SumAbs, vec![float(left.iter().map(|x| x.abs()).sum())]);
            check(Op::SumSquares, vec![float(left.iter().map(|x| x * x).sum())]);
            check(Op::Dot, vec![float(left.iter().zip(&right).map(|(a, b)| a * b).sum())]);
            check(
                Op::SquaredDistance,
                vec![float(left.iter().zip(&right).map(|(a, b)| (a - b) * (a - b)).sum())],
            );
            let greatest = left.iter().copied().fold(f64::MIN, f64::max);
            let index = left.iter().position(|x| x.total_cmp(&greatest).is_eq()).unwrap();
            check(
                Op::ArgMax,
                vec![float(greatest), Number::Int { value: index as i128, bits: 64 }],
            );
            check(Op::MinMax, vec![float(-1.0), float(greatest)]);
        }
    }

    #[test]
    fn integers_are_compared_modulo_their_width() {
        let (case, part) = case(Op::Sum, 5);
        let expected = expected_ints(&case, &[1 << 40, 7, -9, 0, 0], part);
        let wrapped = |value, bits| expected.check(&[Number::Int { value, bits }]);
        assert!(wrapped(-2, 32).is_ok() && wrapped((1 << 40) - 2, 64).is_ok());
        assert!(wrapped(-2, 64).is_err() && wrapped(-1, 32).is_err());
    }

    #[test]
    fn floats_must_be_near_and_extremes_equal() {
        let period = [0.5, 0.25, 0.25];
        let (sum, part) = case(Op::Sum, 3);
        let near = |value, roundoff| {
            expected_floats(&sum, &period, part).check(&[Number::Float { value, roundoff }])
        };
        assert!(near(1.0 + 1e-9, f64::from(f32::EPSILON)).is_ok());
        assert!(near(1.0 + 1e-9, f64::EPSILON).is_err());
        assert!(near(f64::NAN, 1.0).is_err());
        let (min, part) = case(Op::Min, 3);
        let expected = expected_floats(&min, &period, part);
        assert!(expected.check(&[Number::Float { value: 0.25, roundoff: 1.0 }]).is_ok());
        assert!(expected.check(&[Number::Float { value: 0.250_000_1, roundoff: 1.0 }]).is_err());
    }

    #[test]
    fn random_values_fill_their_types() {
        assert_eq!((i8::from_random(0x80), u16::from_random(0xffff)), (-128, 65535));
        assert_eq!(f32::from_random(0).to_bits(), (-1.0f32).to_bits());
        assert!(f64::from_random(u64::MAX) <= 1.0 && f64::from_random(u64::MAX) > 0.999);
        // The result is exact, because no addition rounds.
        let bits = 0x0123_4567_89ab_cdef;
        assert!((f64::from(f16::from_random(bits)) - uniform(bits, 11)).abs() < f64::MIN_POSITIVE);
        assert!((f64::from(bf16::from_random(bits)) - uniform(bits, 8)).abs() < f64::MIN_POSITIVE);
        assert!((f64::from(f32::from_random(bits)) - uniform(bits, 24)).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn results_are_read_at_any_place() {
        let mut bytes = [0; 32];
        bytes[16..24].copy_from_slice(&77u64.to_le_bytes());
        bytes[3..7].copy_from_slice(&1.5f32.to_le_bytes());
        assert_eq!(number_at(&bytes, 16, Element::U64), Number::Int { value: 77, bits: 64 });
        assert!(matches!(number_at(&bytes, 3, Element::F32), Number::Float { value: 1.5, .. }));
    }
}
