//! A reduction of one array on a device.

use crate::{
    array::ArrayRef,
    axes::Axes,
    dtype::Dtype,
    host::fits,
    op::{Method, Op},
};

use super::{
    Copied, Failure, Laid,
    finish::{Finish, Places, fill_bits},
    gpu::Target,
    plan::{Made, Part, plan},
    session::Locked,
};

impl Laid {
    /// The layout of an array that is in the memory of a device.
    pub(crate) fn new(array: &ArrayRef) -> Result<Self, Failure> {
        let bytes = array.dtype.bytes() as i64;
        if !array.address.is_multiple_of(bytes as u64)
            || array.strides.iter().any(|stride| stride % bytes != 0)
        {
            return Err(Failure::Value(format!(
                "the elements are not at multiples of {bytes} bytes: copy the array"
            )));
        }
        Ok(Self {
            address: array.address,
            extent: array.extent(),
            dtype: array.dtype,
            shape: array.shape.iter().map(|&size| size as u64).collect(),
            strides: array.strides.iter().map(|&stride| stride / bytes).collect(),
        })
    }
}

impl Target {
    /// Copies an array of the host to the device: all bytes that its elements lie between, if
    /// strides are to be kept and these bytes are few; or else its elements, one behind the other.
    ///
    /// # Safety
    ///
    /// The elements are there.
    pub(crate) unsafe fn copy(
        &self,
        array: &ArrayRef,
        keeps_strides: bool,
    ) -> Result<Copied, Failure> {
        let bytes = array.dtype.bytes();
        let (first, end) = array.extent();
        let is_aligned = array.address.is_multiple_of(bytes as u64)
            && array.strides.iter().all(|stride| stride % bytes as i64 == 0);
        let len = array.len();
        if keeps_strides && is_aligned && end - first <= 4 * len * bytes as u64 {
            // The copy begins at a multiple of 256 bytes, wherever the array is on the host, so
            // that the bits of sums are the same in each run.
            let mut words = vec![0u64; ((end - first) as usize).div_ceil(8)];
            let source = std::ptr::with_exposed_provenance::<u8>(first as usize);
            // SAFETY: the caller's contract; what is between the elements of an array belongs to
            // the same allocation. The words have room for all of it.
            unsafe {
                let place = words.as_mut_ptr().cast::<u8>();
                source.copy_to_nonoverlapping(place, (end - first) as usize);
            }
            let memory = self.upload(&words)?;
            let start = memory.address();
            let mut laid = Laid::new(array)?;
            laid.address = start + (array.address - first);
            laid.extent = (start, start + (end - first));
            return Ok(Copied { laid, _memory: memory });
        }
        let mut words = vec![0u64; (len as usize * bytes).div_ceil(8)];
        let place: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for (number, place) in place.chunks_exact_mut(bytes).take(len as usize).enumerate() {
            let (mut address, mut rest) = (array.address, number as i64);
            for (&size, &stride) in array.shape.iter().zip(&array.strides).rev() {
                address = address.wrapping_add_signed(rest % size * stride);
                rest /= size;
            }
            let source = std::ptr::with_exposed_provenance::<u8>(address as usize);
            // SAFETY: the caller's contract: there is an element.
            unsafe { source.copy_to_nonoverlapping(place.as_mut_ptr(), bytes) };
        }
        let memory = self.upload(&words)?;
        let extent = (memory.address(), memory.address() + (len as usize * bytes) as u64);
        let shape = array.shape.iter().map(|&size| size as u64).collect();
        let strides = ArrayRef::c_strides(&array.shape, 1);
        let laid = Laid { address: extent.0, extent, dtype: array.dtype, shape, strides };
        Ok(Copied { laid, _memory: memory })
    }
}

/// A reduction: the operation with its correction, the array, and its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) op: Op,
    pub(crate) correction: f64,
    pub(crate) axes: &'a Axes,
    /// The types of the outputs.
    pub(crate) results: [Dtype; 2],
}

/// How one array is cut into rows.
struct Rows<'a> {
    laid: &'a Laid,
    axes: &'a Axes,
    /// The number of rows, and of elements of each.
    count: u64,
    length: u64,
    /// Whether it is one row whose elements fill their extent in an order that does not matter.
    is_whole: bool,
}

impl<'a> Rows<'a> {
    fn new(laid: &'a Laid, array: &ArrayRef, op: Op, axes: &'a Axes) -> Self {
        let length = axes.length(&array.shape);
        let kept = axes.shape(&array.shape, false);
        let rows = kept.iter().product::<i64>() as u64;
        let is_whole = rows == 1
            && kept.iter().all(|&size| size == 1)
            && (array.is_contiguous() || op.is_unordered() && array.is_dense());
        Self { laid, axes, count: rows, length, is_whole }
    }

    /// The bytes of a raw result of this part.
    fn raw_bytes(&self, target: &Target, part: &Part) -> Result<u64, Failure> {
        let dtype = self.laid.dtype;
        if self.is_whole {
            Ok(target.whole(part.reduction, dtype)?.raw_bytes())
        } else {
            Ok(target.rows(part.reduction, dtype)?.raw_bytes())
        }
    }

    /// Adds the kernel of a part to the stream.
    unsafe fn launch(
        &self,
        target: &Target,
        session: &Locked<'_>,
        part: &Part,
        out: u64,
    ) -> Result<(), Failure> {
        let dtype = self.laid.dtype;
        // SAFETY: the caller's contract.
        unsafe {
            if self.is_whole {
                let (first, len) = (self.laid.extent.0, self.length as usize);
                target.whole(part.reduction, dtype)?.launch(first, len, out, session.stream)?;
            } else {
                let axes = self.axes.reduced();
                let out = (out, self.count as usize);
                target.rows(part.reduction, dtype)?.launch(
                    self.laid,
                    &axes,
                    out,
                    session.stream,
                )?;
            }
        }
        Ok(())
    }

    /// Adds the kernel of a part that makes the results itself, if there is one, and tells whether
    /// it did.
    unsafe fn launch_made(
        &self,
        target: &Target,
        session: &Locked<'_>,
        part: &Part,
        outputs: [u64; 2],
    ) -> Result<bool, Failure> {
        let Some((output, wanted)) = part.wanted() else { return Ok(false) };
        let (dtype, out) = (self.laid.dtype, outputs[output]);
        // SAFETY: the caller's contract.
        unsafe {
            if self.is_whole {
                let (first, len) = (self.laid.extent.0, self.length as usize);
                let Some(reducer) = target.made_whole(part.reduction, dtype)? else {
                    return Ok(false);
                };
                reducer.launch(first, len, wanted, out, session.stream)?;
            } else {
                let (axes, out) = (self.axes.reduced(), (out, self.count as usize));
                let Some(reducer) = target.made_rows(part.reduction, dtype)? else {
                    return Ok(false);
                };
                reducer.launch(self.laid, &axes, wanted, out, session.stream)?;
            }
        }
        Ok(true)
    }
}

/// Adds a reduction to the work of a stream. Nothing waits.
///
/// # Safety
///
/// The elements of the array are in the memory of the device. The outputs, in C order, have a place
/// for each result, which nobody else accesses until the stream has come so far.
pub(crate) unsafe fn reduce(
    target: &Target,
    session: &mut Locked<'_>,
    job: Job<'_>,
    (array, laid): (&ArrayRef, &Laid),
    outputs: [u64; 2],
) -> Result<(), Failure> {
    let Job { op, correction, axes, results } = job;
    let rows = Rows::new(laid, array, op, axes);
    if rows.count == 0 {
        return Ok(());
    }
    if rows.length == 0 {
        let value = op.of_nothing().unwrap_or(f64::NAN);
        for (output, dtype) in outputs.into_iter().zip(results).take(op.outputs()) {
            let places = Places {
                fill: fill_bits(dtype, value),
                ..Places::new(output, output, rows.count, 0, 0)
            };
            // SAFETY: the caller's contract; nothing is read.
            unsafe { Finish::fill(dtype).launch(target, session, places)? };
        }
        return Ok(());
    }
    for part in plan(op, correction, array.dtype, results, rows.length) {
        match &part.made {
            // SAFETY: the caller's contract: a raw result is a result.
            &Made::Direct { output } => unsafe {
                rows.launch(target, session, &part, outputs[output])?;
            },
            Made::By(finishes) => {
                // SAFETY: the caller's contract.
                if unsafe { rows.launch_made(target, session, &part, outputs)? } {
                    continue;
                }
                let stride = rows.raw_bytes(target, &part)?;
                let raw = session.scratch(target, rows.count * stride)?;
                // SAFETY: the scratch memory has room for the raw results, and nobody else uses it
                // as long as the session is locked; other work of the stream comes later.
                unsafe { rows.launch(target, session, &part, raw)? };
                for &(output, finish) in finishes {
                    let (inner, inner_stride) = part.inner;
                    let places = Places::new(raw, outputs[output], rows.count, stride, rows.length);
                    let places = Places { inner, inner_stride, ..places };
                    // SAFETY: the raw results are there when the stream has come so far.
                    unsafe { finish.launch(target, session, places)? };
                }
            }
        }
    }
    Ok(())
}

/// As [`reduce`], for one result, of which the first word is copied to the host. This waits for the
/// stream.
///
/// # Safety
///
/// That of [`reduce`], without the outputs.
pub(crate) unsafe fn first_word(
    target: &Target,
    session: &mut Locked<'_>,
    job: Job<'_>,
    array: (&ArrayRef, &Laid),
) -> Result<u64, Failure> {
    let result = session.scratch(target, 8)?;
    // SAFETY: the caller's contract; a reduction whose raw result is its result does not use the
    // scratch memory otherwise.
    unsafe { reduce(target, session, job, array, [result; 2])? };
    session.read_first_word()
}

/// As [`reduce`], for a sum of integers that must fit into the type of the result. This waits for
/// the stream.
///
/// # Safety
///
/// That of [`reduce`].
pub(crate) unsafe fn checked_sum(
    target: &Target,
    session: &mut Locked<'_>,
    job: Job<'_>,
    (array, laid): (&ArrayRef, &Laid),
    outputs: [u64; 2],
) -> Result<(), Failure> {
    let rows = Rows::new(laid, array, job.op, job.axes);
    // SAFETY: the caller's contract.
    unsafe { reduce(target, session, job, (array, laid), outputs)? };
    if rows.count == 0 || rows.length == 0 {
        return Ok(());
    }
    let parts = plan(Op::Sum(Method::Checked), 0.0, array.dtype, job.results, rows.length);
    let bytes = rows.raw_bytes(target, &parts[0])?;
    let words = session.read_scratch((rows.count * bytes / 8) as usize)?;
    let is_signed = super::plan::wide(array.dtype) == Dtype::I64;
    for raw in words.chunks_exact(bytes as usize / 8) {
        let exact = match *raw {
            [low] if is_signed => i128::from(low as i64),
            [low] => i128::from(low),
            [low, high] => (u128::from(high) << 64 | u128::from(low)) as i128,
            _ => unreachable!("raw results of checked sums have one or two words"),
        };
        // A sum of unsigned integers of 64 bits never reaches the sign of 128.
        if !fits(job.results[0], exact) {
            return Err(Failure::Overflow(exact));
        }
    }
    Ok(())
}
