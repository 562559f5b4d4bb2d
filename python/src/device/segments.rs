//! Reductions of segments on a device.

use smallvec::smallvec;
use warpfold::reducer::SegmentStatus;

use crate::{dtype::Dtype, host::Value, op::Op};

use super::{
    Failure, Laid,
    calls::Offsets,
    finish::{Finish, Places, fill_bits, guard},
    gpu::Target,
    plan::{Finishes, Made, plan},
    session::Locked,
};

/// A reduction of segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segmented<'a> {
    pub(crate) op: Op,
    pub(crate) correction: f64,
    /// Values and offsets, each of one axis and one behind the other.
    pub(crate) values: &'a Laid,
    pub(crate) offsets: &'a Laid,
    /// The output and its type.
    pub(crate) output: (u64, Dtype),
    /// Whether to wait, and to tell wrong offsets.
    pub(crate) is_checked: bool,
}

/// The bits by which a launch of `finish` fills results of no elements.
pub(super) fn empty_bits(op: Op, dtype: Dtype, result: Dtype, finish: &Finish) -> u64 {
    let value = match op.of_nothing() {
        Some(value) => Value::Float(value),
        None => Value::of_empty_segment(op, dtype),
    };
    match value {
        Value::Float(value) if finish.store.is_float() => value.to_bits(),
        // A float that is copied as an integer of its size.
        Value::Float(value) => match result {
            Dtype::F16 => half::f16::from_f64(value).to_bits().into(),
            Dtype::Bf16 => half::bf16::from_f64(value).to_bits().into(),
            Dtype::F32 => (value as f32).to_bits().into(),
            Dtype::F64 => value.to_bits(),
            _ => fill_bits(result, value),
        },
        Value::Signed(value) => value as u64,
        Value::Unsigned(value) => value,
    }
}

/// The finishes of a plan for segments, which have results of no elements.
pub(super) fn finishes(made: Made, result: Dtype) -> Finishes {
    match made {
        Made::Direct { output } => smallvec![(output, Finish::copy(result, 0))],
        Made::By(finishes) => finishes,
    }
}

/// Adds a reduction of segments to a stream, and waits if it is to be checked.
///
/// # Safety
///
/// Values and offsets are in the memory of the device. The output has a place for each segment,
/// which nobody else accesses until the stream has come so far.
pub(crate) unsafe fn segments(
    target: &Target,
    session: &mut Locked<'_>,
    job: Segmented<'_>,
) -> Result<(), Failure> {
    let Segmented { op, correction, values, offsets, output: (output, result), is_checked } = job;
    let count = offsets.shape[0].saturating_sub(1);
    if count == 0 {
        return Ok(());
    }
    let bytes = offsets.dtype.bytes();
    if offsets.dtype == Dtype::I32 && values.shape[0] > i32::MAX as u64 {
        return Err(Failure::Value(
            "offsets of int32 cannot tell so many elements: cast them to int64".to_owned(),
        ));
    }
    let length = values.shape[0];
    let part = plan(op, correction, values.dtype, [result; 2], length).swap_remove(0);
    // A mean of floats divides by the length of each segment, which is not known here.
    let (reduction, made) = if op == Op::Mean {
        let mean = plan(Op::Moments, 0.0, values.dtype, [result; 2], length).swap_remove(0);
        let Made::By(finishes) = mean.made else { unreachable!("moments are made") };
        (mean.reduction, Made::By(finishes.into_iter().take(1).collect()))
    } else {
        (part.reduction, part.made)
    };
    let segments = target.segments(reduction, values.dtype)?;
    let stride = segments.raw_bytes();
    // The raw result of no elements is the number that changes no other one. Extremes of narrower
    // integers are those of 32 bits, so that this number is none of theirs.
    let is_identity =
        op.of_nothing().is_some() || values.dtype.is_float() || values.dtype.bytes() >= 4;
    let is_direct =
        matches!(made, Made::Direct { .. }) && is_identity && stride == result.bytes() as u64;
    let raw = if is_direct { output } else { session.scratch(target, count * stride)? };
    let status = session.status();
    // SAFETY: status and scratch memory are this call's as long as the session is locked, and there
    // is room for the raw results, in scratch memory or in the output; for the arrays, the caller's
    // contract.
    let check = unsafe {
        let values = (values.address, length as usize);
        let offsets = Offsets { address: offsets.address, len: offsets.shape[0] as usize, bytes };
        segments.launch(values, offsets, [raw, status], session.stream)?
    };
    let finishes = if is_direct { Finishes::new() } else { finishes(made, result) };
    for (_, finish) in finishes {
        let places = Places {
            bounds: Some((offsets.address, bytes.ilog2())),
            fill: empty_bits(op, values.dtype, result, &finish),
            ..Places::new(raw, output, count, stride, 0)
        };
        // SAFETY: the raw results are there when the stream has come so far.
        unsafe { finish.launch(target, session, places)? };
    }
    if is_checked {
        let status: SegmentStatus = bytemuck::cast(session.read_status(target)?);
        check(status, session.stream)?;
        Ok(())
    } else {
        guard(target, session)
    }
}
