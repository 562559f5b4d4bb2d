//! Rows of equal lengths that lie one behind the other in a longer input: what a tree of several
//! devices is made of.

use crate::device::{Buffer, Device};

use super::{
    super::{
        ArraysOperation, Error, Item,
        input::{Arity, Operand, on_device},
    },
    RowReducer,
    arrays::Common,
    plan,
};

/// `rows` rows of `length` elements each, one behind the other, from element `start` of an input
/// on. Neither number is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reducer) struct Piece {
    pub(in crate::reducer) start: u64,
    pub(in crate::reducer) rows: u64,
    pub(in crate::reducer) length: u64,
}

impl<T: Item, O: ArraysOperation<T>> RowReducer<T, O> {
    /// The number of elements of a part, which is a leaf of the tree that the kernel makes of each
    /// row.
    pub(in crate::reducer) const IN_PART: u64 =
        plan::PART_BYTES / <O::Arity as Arity>::INPUTS / size_of::<T>() as u64;

    pub(in crate::reducer) fn device(&self) -> &Device {
        &self.device
    }

    /// Launches the reductions of all rows of these pieces on the device's own stream, and returns
    /// the output without waiting. The output has the raw results in order. An operand on the host
    /// is copied piece by piece, and a copy ends before its rows are reduced.
    pub(in crate::reducer) fn begin_pieces(
        &self,
        first: Operand<'_, T>,
        second: Option<Operand<'_, T>>,
        pieces: &[Piece],
    ) -> Result<Buffer<O::RowRaw>, Error> {
        let rows: u64 = pieces.iter().map(|piece| piece.rows).sum();
        let places = usize::try_from(rows).map_err(|_| Error::Rows { rows })?;
        let output = self.device.alloc::<O::RowRaw>(places)?;
        let mut address = output.address();
        for &Piece { start, rows, length } in pieces {
            let strides = vec![vec![length as i64, 1]; <O::Arity as Arity>::INPUTS as usize];
            let common = Common { shape: vec![rows, length], strides, offsets: [0; 2] };
            let laid = Self::lay_out(&common, &[1])?;
            let len = rows * length;
            let (mut copy, mut second_copy) = (None, None);
            let first = on_device(&self.device, first.part(start, len), &mut copy)?;
            let second = second
                .map(|second| on_device(&self.device, second.part(start, len), &mut second_copy))
                .transpose()?;
            self.launch((first, second), laid, address, self.engine.stream())?;
            address += rows * size_of::<O::RowRaw>() as u64;
        }
        Ok(output)
    }

    /// The elements of an operand, behind all earlier work of the device's own stream.
    pub(in crate::reducer) fn read(&self, operand: Operand<'_, T>) -> Result<Vec<T>, Error> {
        match operand {
            Operand::Host(values) | Operand::Pinned(values) => Ok(values.to_vec()),
            Operand::Device(place) => place.to_host(&self.device, self.engine.stream()),
        }
    }
}
