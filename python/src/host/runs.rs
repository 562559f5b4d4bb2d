//! Segments and runs of keys on the host.

use crate::{array::ArrayRef, dtype::Dtype, op::Op};

use super::{
    element::with_element,
    reduce::{Overflow, rows_of},
    value::{Output, Value},
    walk::{Rows, read},
};

/// An integer of an array of one axis.
///
/// # Safety
///
/// The array has such an element, and its type is one of integers.
unsafe fn integer(array: &ArrayRef, index: usize) -> i128 {
    let address = array.address.wrapping_add_signed(index as i64 * array.strides[0]);
    // SAFETY: the caller's contract.
    with_element!(array.dtype, T => match super::element::Element::value(unsafe { read::<T>(address) }) {
        Value::Signed(value) => value.into(),
        Value::Unsigned(value) => value.into(),
        Value::Float(_) => -1,
    })
}

/// The first segment that does not lie within the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongSegment(pub(crate) usize);

/// Reduces segments of an array of one axis. A segment without elements gets `empty` if the
/// operation has no result for it.
///
/// # Safety
///
/// The elements of both arrays are there, and the output has a place for each segment, which nobody
/// else accesses meanwhile.
pub(crate) unsafe fn segments(
    (op, correction): (Op, f64),
    values: &ArrayRef,
    offsets: &ArrayRef,
    output: &Output,
    empty: Value,
) -> Result<(), WrongSegment> {
    let count = (offsets.len() as usize).saturating_sub(1);
    let most = i128::from(values.len());
    for segment in 0..count {
        // SAFETY: the caller's contract.
        let (begin, end) = unsafe { (integer(offsets, segment), integer(offsets, segment + 1)) };
        if begin < 0 || end < begin || end > most {
            return Err(WrongSegment(segment));
        }
        let place = Output {
            address: output.address.wrapping_add_signed(segment as i64 * output.strides[0]),
            dtype: output.dtype,
            shape: [].into_iter().collect(),
            strides: [].into_iter().collect(),
        };
        let len = (end - begin) as usize;
        if len == 0 && op.of_nothing().is_none() {
            // SAFETY: the caller's contract.
            unsafe { place.write(0, empty) };
            continue;
        }
        let first = values.address.wrapping_add_signed(begin as i64 * values.strides[0]);
        let rows = Rows::one(first, len, values.strides[0]);
        // SAFETY: the caller's contract.
        match unsafe { rows_of(op, correction, values.dtype, &rows, &[place]) } {
            Ok(()) => {}
            Err(Overflow(_)) => unreachable!("no segment has a checked sum"),
        }
    }
    Ok(())
}

/// Where the runs of neighbouring keys with the same bits end. The last end is the number of keys.
///
/// # Safety
///
/// The keys are there.
pub(crate) unsafe fn run_ends(keys: &ArrayRef) -> Vec<i64> {
    let bits = |index: usize| -> u64 {
        let address = keys.address.wrapping_add_signed(index as i64 * keys.strides[0]);
        // SAFETY: the caller's contract.
        unsafe {
            match keys.dtype.bytes() {
                1 => read::<u8>(address).into(),
                2 => read::<u16>(address).into(),
                4 => read::<u32>(address).into(),
                _ => read::<u64>(address),
            }
        }
    };
    let len = keys.len() as usize;
    let mut ends: Vec<i64> =
        (1..len).filter(|&index| bits(index) != bits(index - 1)).map(|end| end as i64).collect();
    if len > 0 {
        ends.push(len as i64);
    }
    ends
}

/// Writes the key, the result and the length of each run.
///
/// # Safety
///
/// The elements of both arrays are there, as many of one as of the other; the ends are those of the
/// keys' runs, and each output has a place for each run, which nobody else accesses meanwhile.
pub(crate) unsafe fn take_runs(
    op: Op,
    (keys, values): (&ArrayRef, &ArrayRef),
    ends: &[i64],
    [unique, results, counts]: [&Output; 3],
) {
    let mut begin = 0;
    for (run, &end) in ends.iter().enumerate() {
        let at = |array: &ArrayRef| array.address.wrapping_add_signed(begin * array.strides[0]);
        let rows = Rows::one(at(values), (end - begin) as usize, values.strides[0]);
        let place = Output {
            address: results.address.wrapping_add_signed(run as i64 * results.strides[0]),
            dtype: results.dtype,
            shape: [].into_iter().collect(),
            strides: [].into_iter().collect(),
        };
        // SAFETY: the caller's contract.
        unsafe {
            let key = with_element!(keys.dtype, T => {
                super::element::Element::value(read::<T>(at(keys)))
            });
            unique.write(run, key);
            counts.write(run, Value::Signed(end - begin));
            match rows_of(op, 0.0, values.dtype, &rows, &[place]) {
                Ok(()) => {}
                Err(Overflow(_)) => unreachable!("no run has a checked sum"),
            }
        }
        begin = end;
    }
}

impl Value {
    /// What a segment without elements gives for an operation that has no result for it: the value
    /// that changes no other one.
    pub(crate) fn of_empty_segment(op: Op, dtype: Dtype) -> Self {
        use crate::dtype::Kind;
        let bits = 8 * dtype.bytes() as u32;
        let is_max = matches!(op, Op::Max | Op::NanMax);
        match (op, dtype.kind()) {
            (Op::ArgMin | Op::ArgMax, _) => Self::Signed(-1),
            (_, Kind::Complex) => Dtype::whole_complex(),
            (_, Kind::Float) if is_max => Self::Float(f64::NEG_INFINITY),
            (_, Kind::Float) => Self::Float(f64::INFINITY),
            (_, Kind::Signed) if is_max => Self::Signed(i64::MIN >> (64 - bits)),
            (_, Kind::Signed) => Self::Signed(i64::MAX >> (64 - bits)),
            (_, Kind::Bool) => Self::Unsigned(u64::from(!is_max)),
            (_, Kind::Unsigned) if is_max => Self::Unsigned(0),
            (_, Kind::Unsigned) => Self::Unsigned(u64::MAX >> (64 - bits)),
        }
    }
}
