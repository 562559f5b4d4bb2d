//! The kernel that makes results of raw results: roots, quotients and conversions, which the
//! library's own calls leave to the host.

use warpfold::device::{Arg, LaunchShape, Overlap, WORKSPACE_BYTES};

use crate::dtype::Dtype;

use super::{Failure, gpu::Target, session::Locked};

/// The kernel that makes results, `warpfold_device::finish::finish`, for a device of this compute
/// capability.
pub(super) fn results(capability: (u32, u32)) -> &'static str {
    if capability >= (9, 0) {
        include_str!("../../../kernels/ptx/finish_results.sm_90.ptx")
    } else {
        include_str!("../../../kernels/ptx/finish_results.sm_75.ptx")
    }
}

/// The kernel that zeroes words and a status, `warpfold_device::finish::zero_after_error`.
pub(super) const ERROR: &str = include_str!("../../../kernels/ptx/finish_error.sm_75.ptx");

/// The type of a field of a raw result: `warpfold_device::finish::load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Load {
    F32,
    F64,
    U8,
    U16,
    U32,
    U64,
    /// No field: the result is the given one.
    Nothing,
}

/// What is computed of a field `x` and the number `a`: `warpfold_device::finish::step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Step {
    /// `x`.
    Copy,
    /// `x / a`.
    Divide,
    /// The root of `x`.
    Root,
    /// `x / max(count - a, 0)`, where the second field is the count.
    Variance,
    /// The root of that.
    Deviation,
    /// `x / count`, where the second field is the count.
    OfCount,
    /// `x` and the second field, its rounding error.
    Correct,
    /// `x` and the logarithm of the second field.
    Logarithm,
    /// Whether the integer is not 0.
    IsAny,
    /// Whether the integer is the number of elements.
    IsAll,
    /// The signed integer as a float.
    Signed,
    /// The unsigned integer as a float.
    Unsigned,
    /// The number of elements.
    Count,
}

/// How a result is made of a raw result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finish {
    pub(super) load: Load,
    pub(super) step: Step,
    /// The offset of the field, and that of a second one.
    pub(super) fields: [u32; 2],
    pub(super) a: f64,
    /// The type of the result.
    pub(super) store: Dtype,
}

/// The code of a type that is stored: `warpfold_device::finish::store`.
fn store(dtype: Dtype) -> u32 {
    match dtype {
        Dtype::F32 => 0,
        Dtype::F64 => 1,
        Dtype::F16 => 2,
        Dtype::Bf16 => 3,
        _ => 4 + dtype.bytes().ilog2(),
    }
}

/// Where raw results are, and where results go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) input: u64,
    pub(super) output: u64,
    /// The number of raw results, and how far one is from the next.
    pub(super) rows: u64,
    pub(super) stride: u64,
    /// Results of each raw result, and how far one is from the next.
    pub(super) inner: u32,
    pub(super) inner_stride: u32,
    /// The number of elements of each raw result.
    pub(super) count: u64,
    /// The address of bounds and the logarithm of the bytes of each, for results of segments.
    pub(super) bounds: Option<(u64, u32)>,
    /// The bits of a result of no elements.
    pub(super) fill: u64,
}

impl Places {
    pub(super) fn new(input: u64, output: u64, rows: u64, stride: u64, count: u64) -> Self {
        let (inner, inner_stride, bounds, fill) = (1, 0, None, 0);
        Self { input, output, rows, stride, inner, inner_stride, count, bounds, fill }
    }
}

/// The bits by which the kernel gets a number that is stored as this type.
pub(super) fn fill_bits(dtype: Dtype, value: f64) -> u64 {
    if dtype.is_float() { value.to_bits() } else { value as i64 as u64 }
}

impl Finish {
    /// A copy of a field of the size of this type.
    pub(super) fn copy(dtype: Dtype, field: u32) -> Self {
        let load = match dtype.bytes() {
            1 => Load::U8,
            2 => Load::U16,
            4 => Load::U32,
            _ => Load::U64,
        };
        // The bits are stored as they are, so that a float goes as an integer of its size.
        let store = match dtype.bytes() {
            1 => Dtype::U8,
            2 => Dtype::U16,
            4 => Dtype::U32,
            _ => Dtype::U64,
        };
        Self { load, step: Step::Copy, fields: [field, 0], a: 0.0, store }
    }

    /// No field: every result is the given one.
    pub(super) fn fill(dtype: Dtype) -> Self {
        Self { load: Load::Nothing, step: Step::Copy, fields: [0, 0], a: 0.0, store: dtype }
    }

    /// Adds the launch to the stream.
    ///
    /// # Safety
    ///
    /// The raw results are there, or will be when the stream has come so far, and so are the
    /// bounds. There is a place for each result, which nobody else accesses meanwhile.
    pub(super) unsafe fn launch(
        &self,
        target: &Target,
        session: &Locked<'_>,
        places: Places,
    ) -> Result<(), Failure> {
        const THREADS: u64 = 128;
        /// Blocks for each multiprocessor. No device has room for more of them at a time.
        const BLOCKS: u64 = 16;
        let n = places.rows * u64::from(places.inner);
        if n == 0 {
            return Ok(());
        }
        let (bounds, log) = places.bounds.unwrap_or((0, 0));
        let args = [
            Arg::Pointer(places.input),
            Arg::Pointer(places.output),
            Arg::U64(n),
            Arg::U32(places.inner),
            Arg::U32(places.inner_stride),
            Arg::U64(places.stride),
            Arg::U32(self.load as u32),
            Arg::U32(self.step as u32),
            Arg::U32(store(self.store)),
            Arg::U32(self.fields[0]),
            Arg::U32(self.fields[1]),
            Arg::F64(self.a),
            Arg::U64(places.count),
            Arg::Pointer(bounds),
            Arg::U32(log),
            Arg::U64(places.fill),
        ];
        let threads = n.min(THREADS).next_multiple_of(32);
        let most = BLOCKS * u64::from(target.info().multiprocessors);
        let shape = LaunchShape::linear(n.div_ceil(threads).min(most) as u32, threads as u32, 0);
        let shape = LaunchShape { overlap: Overlap::InSequence, ..shape };
        // SAFETY: the caller's contract: the kernel reads fields of the raw results and the bounds,
        // and writes `n` results.
        unsafe { session.stream.launch(target.finish()?, shape, &args)? };
        Ok(())
    }
}

/// Adds the launch that zeroes the workspace and the status of the stream, if the status is not 0.
pub(super) fn guard(target: &Target, session: &Locked<'_>) -> Result<(), Failure> {
    let (status, workspace) = (session.status(), session.stream.workspace());
    let args = [Arg::Pointer(status), Arg::Pointer(workspace), Arg::U64(WORKSPACE_BYTES / 8)];
    let shape = LaunchShape::linear(1, 1024, 0);
    // SAFETY: status and workspace are the stream's own, and its other work is done before this
    // launch or comes later.
    unsafe { session.stream.launch(target.guard()?, shape, &args)? };
    Ok(())
}
