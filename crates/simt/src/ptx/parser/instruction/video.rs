//! SIMD video instructions, integer arithmetic on pairs of halves, and `fns`.

use super::super::super::ast::{IntBinaryOp, Op, Type, Video, VideoOp, VideoResult};
use super::super::super::diagnostic::{Error, Result};
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};

const SIGNS: &Table<bool> = &[("u32", false), ("s32", true)];
/// The types of pairs of halves, and whether the halves are signed.
pub(super) const PAIRS: &Table<bool> = &[("u16x2", false), ("s16x2", true)];

impl Parser<'_> {
    /// Reads `add`, `min` or `max` on pairs of halves, whose type has been taken.
    pub(super) fn int_pairs(
        &mut self,
        op: IntBinaryOp,
        signed: bool,
        relu: bool,
        m: &Modifiers<'_>,
    ) -> Result<Op> {
        m.finish()?;
        Ok(Op::IntPairs { op, signed, relu, dst: self.dst()?, a: self.src()?, b: self.src()? })
    }

    pub(super) fn fns(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.ty(&[Type::B32])?;
        m.finish()?;
        Ok(Op::Fns { dst: self.dst()?, mask: self.src()?, base: self.src()?, offset: self.src()? })
    }

    /// Reads an instruction such as `vabsdiff4.u32.u32.u32.add %d.b10, %a.b3210, %b.b7654, %c`.
    pub(super) fn video(&mut self, op: VideoOp, bytes: bool, m: &mut Modifiers<'_>) -> Result<Op> {
        let signed = m.require(SIGNS)?;
        let (a_signed, b_signed) = (m.require(SIGNS)?, m.require(SIGNS)?);
        let saturates = m.take("sat");
        let sums = !saturates && m.take("add");
        m.finish()?;
        let result = match (sums, saturates, signed) {
            (true, _, _) => VideoResult::Sum,
            (_, false, _) => VideoResult::Wrapped,
            (_, _, false) => VideoResult::Unsigned,
            (_, _, true) => VideoResult::Signed,
        };
        let parts = if bytes { 4 } else { 2 };
        let dst = self.dst()?;
        let mask = match self.selection(bytes, parts)? {
            None => (1 << parts) - 1,
            Some(chosen) => chosen.into_iter().fold(0, |mask, part| mask | 1 << part),
        };
        let mut source = |first: u8| -> Result<_> {
            let value = self.src()?;
            let span = self.peek().span;
            let Some(chosen) = self.selection(bytes, 2 * parts)? else {
                return Ok((value, std::array::from_fn(|i| first + i as u8)));
            };
            let mut numbers = [0; 4];
            if chosen.len() != usize::from(parts) {
                return Err(Error::new(span, format!("a selection here names {parts} parts")));
            }
            // The last part is written first.
            for (number, chosen) in numbers.iter_mut().zip(chosen.into_iter().rev()) {
                *number = chosen;
            }
            Ok((value, numbers))
        };
        let (a, from_a) = source(0)?;
        let (b, from_b) = source(parts)?;
        let c = self.src()?;
        let video = Video { result, a_signed, b_signed, mask, a: from_a, b: from_b };
        Ok(Op::Video { op, bytes, video, dst, a, b, c })
    }

    /// Reads `.b3210` or `.h10` after a register, if it is there: numbers below `limit`, in the
    /// order of the text.
    fn selection(&mut self, bytes: bool, limit: u8) -> Result<Option<Vec<u8>>> {
        let Some(word) = self.peek_dot() else { return Ok(None) };
        let letter = if bytes { 'b' } else { 'h' };
        let numbers = word.strip_prefix(letter).filter(|numbers| (1..=4).contains(&numbers.len()));
        let number = |digit: u8| {
            let number = digit.wrapping_sub(b'0');
            (number < limit).then_some(number)
        };
        let numbers: Option<Vec<u8>> = numbers.and_then(|text| text.bytes().map(number).collect());
        let numbers = numbers
            .ok_or_else(|| self.unexpected(&format!("`.{letter}` and numbers below {limit}")))?;
        self.at += 1;
        Ok(Some(numbers))
    }
}
