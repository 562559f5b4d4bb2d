//! Reductions of runs of equal neighbouring keys on a device.

use warpfold::{
    Device, Maximum, Minimum, Moments, Product, RawSlice, RawSliceMut, Sum,
    reducer::{Error, Item, Key, SegmentOperation},
};

use crate::{
    dtype::{Dtype, with_type},
    op::Op,
};

use super::{
    Failure, Laid,
    finish::{Finish, Load, Places, Step},
    gpu::Target,
    kernels::{Reduction, missing},
    plan::{Made, Part, plan},
    segments::finishes,
    session::Locked,
};

/// A reduction of runs of keys.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    part: Part,
    keys: Laid,
    values: Laid,
    result: Dtype,
    /// Bytes of a raw result.
    raw_bytes: u64,
}

/// Addresses of memory for what is found of as many runs as there are keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) unique: u64,
    pub(crate) raw: u64,
    /// One offset more than runs, each of 64 bits.
    pub(crate) offsets: u64,
}

/// Prepares a reduction of runs of keys. Keys and values are of one axis and one behind the other,
/// as many of one as of the other.
pub(crate) fn by_key(op: Op, keys: Laid, values: Laid, result: Dtype) -> Result<Runs, Failure> {
    let dtype = values.dtype;
    let op = if op == Op::Mean { Op::Moments } else { op };
    let mut part = plan(op, 0.0, dtype, [result; 2], 0).swap_remove(0);
    if let Made::By(finishes) = &mut part.made {
        finishes.truncate(1);
    }
    let raw_bytes = with_operation(part.reduction, dtype, Bytes)?;
    Ok(Runs { part, keys, values, result, raw_bytes })
}

/// The bytes of a raw result of a reduction of runs.
pub(crate) fn by_key_bytes(op: Op, dtype: Dtype, result: Dtype) -> Result<u64, Failure> {
    let op = if op == Op::Mean { Op::Moments } else { op };
    let part = plan(op, 0.0, dtype, [result; 2], 0).swap_remove(0);
    with_operation(part.reduction, dtype, Bytes)
}

/// What is to be done with an operation and a type of elements.
trait With {
    type Result;
    fn call<T: Item, O: SegmentOperation<T>>(self, operation: O) -> Self::Result;
}

struct Bytes;

impl With for Bytes {
    type Result = u64;
    fn call<T: Item, O: SegmentOperation<T>>(self, _operation: O) -> u64 {
        size_of::<O::RowRaw>() as u64
    }
}

fn with_operation<W: With>(
    reduction: Reduction,
    dtype: Dtype,
    work: W,
) -> Result<W::Result, Failure> {
    let called = match reduction {
        Reduction::Sum => with_type!(dtype, all, T => work.call::<T, _>(Sum)),
        Reduction::Product => with_type!(dtype, all, T => work.call::<T, _>(Product)),
        Reduction::Minimum => with_type!(dtype, all, T => work.call::<T, _>(Minimum)),
        Reduction::Maximum => with_type!(dtype, all, T => work.call::<T, _>(Maximum)),
        Reduction::Moments => with_type!(dtype, all, T => work.call::<T, _>(Moments)),
        _ => None,
    };
    called.ok_or_else(|| missing(reduction, dtype))
}

struct Launch<'a> {
    device: &'a Device,
    session: &'a Locked<'a>,
    runs: &'a Runs,
    room: Room,
    /// Where the number of runs goes.
    count: u64,
}

impl Launch<'_> {
    fn keys<K: Key, T: Item, O: SegmentOperation<T>>(&self, operation: O) -> Result<(), Error> {
        let Self { runs, room, .. } = self;
        let n = runs.keys.shape[0] as usize;
        let reducer = self.device.key_reducer::<K, T, O>(operation)?;
        // SAFETY: the contract of `Runs::find`.
        unsafe {
            reducer.reduce_by_key_into(
                RawSlice::<K>::new(runs.keys.address, n),
                RawSlice::<T>::new(runs.values.address, n),
                RawSliceMut::<K>::new(room.unique, n),
                RawSliceMut::new(room.raw, n),
                RawSliceMut::<u64>::new(room.offsets, n + 1),
                RawSliceMut::<u64>::new(self.count, 1),
                self.session.stream,
            )?;
        }
        Ok(())
    }
}

impl With for Launch<'_> {
    type Result = Result<(), Error>;
    fn call<T: Item, O: SegmentOperation<T>>(self, operation: O) -> Result<(), Error> {
        match self.runs.keys.dtype.bytes() {
            1 => self.keys::<u8, T, O>(operation),
            2 => self.keys::<u16, T, O>(operation),
            4 => self.keys::<u32, T, O>(operation),
            _ => self.keys::<u64, T, O>(operation),
        }
    }
}

impl Runs {
    /// Finds the runs and reduces them, and waits for their number.
    ///
    /// # Safety
    ///
    /// Keys and values are in the memory of the device, and there is as much room as `Room` says,
    /// which nobody else accesses until the results were taken.
    pub(crate) unsafe fn find(
        &self,
        target: &Target,
        session: &mut Locked<'_>,
        room: Room,
    ) -> Result<u64, Failure> {
        let count = session.scratch(target, 8)?;
        let (device, runs) = (&target.device, self);
        let launch = Launch { device, session, runs, room, count };
        with_operation(self.part.reduction, self.values.dtype, launch)??;
        session.read_first_word()
    }

    /// Adds the launches to a stream that write the keys, the results and the lengths of so many
    /// runs.
    ///
    /// # Safety
    ///
    /// The room is that of [`find`](Self::find), which has told the number. The outputs have places
    /// for as many, which nobody else accesses until the stream has come so far.
    pub(crate) unsafe fn take(
        &self,
        target: &Target,
        session: &Locked<'_>,
        (room, runs): (Room, u64),
        [keys, results, counts]: [u64; 3],
    ) -> Result<(), Failure> {
        let bytes = self.keys.dtype.bytes() as u64;
        let length = Finish { step: Step::Count, ..Finish::copy(Dtype::I64, 0) };
        debug_assert_eq!(length.load, Load::U64);
        // SAFETY: the caller's contract.
        unsafe {
            Finish::copy(self.keys.dtype, 0).launch(
                target,
                session,
                Places::new(room.unique, keys, runs, bytes, 0),
            )?;
            let bounds = Some((room.offsets, 3));
            let places = Places::new(room.offsets, counts, runs, 8, 0);
            length.launch(target, session, Places { bounds, ..places })?;
            for (_, finish) in finishes(self.part.made.clone(), self.result) {
                // No run is empty, so that no result has to be filled in.
                let places = Places::new(room.raw, results, runs, self.raw_bytes, 0);
                finish.launch(target, session, places)?;
            }
        }
        Ok(())
    }
}
