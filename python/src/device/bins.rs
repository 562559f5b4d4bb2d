//! Counts and sums of bins on a device.

use warpfold::{
    Device, RawSlice, RawSliceMut, Stream, Sum,
    reducer::{BinKey, BinOperation, BinStatus, Error, Item},
};

use crate::dtype::{Dtype, with_type};

use super::{
    Failure, Laid,
    finish::Places,
    gpu::Target,
    plan::{converted, wide},
    session::Locked,
};

/// Keys and weights that go into bins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binned<'a> {
    /// Keys, of one axis and one behind the other.
    pub(crate) keys: &'a Laid,
    /// As many weights.
    pub(crate) weights: Option<&'a Laid>,
    pub(crate) bins: u64,
    /// The output and its type.
    pub(crate) output: (u64, Dtype),
    /// Whether to wait, and to tell keys that are no bins.
    pub(crate) is_checked: bool,
}

/// The error for keys of a type for which there is no kernel.
fn no_keys(dtype: Dtype) -> Failure {
    Failure::NoKernel { op: "bincount", dtype: dtype.name(), cast: "int32" }
}

/// Where the launches of bins read and write.
#[derive(Clone, Copy)]
struct Launch<'a> {
    device: &'a Device,
    stream: &'a Stream,
    job: &'a Binned<'a>,
    out: u64,
    status: u64,
}

impl Launch<'_> {
    unsafe fn counts<K: BinKey>(self) -> Result<(), Error> {
        let n = self.job.keys.shape[0] as usize;
        // SAFETY: the caller's contract.
        unsafe {
            self.device.bin_counter::<K>()?.count_into_bins_into(
                RawSlice::<K>::new(self.job.keys.address, n),
                RawSliceMut::<u64>::new(self.out, self.job.bins as usize),
                RawSliceMut::<BinStatus>::new(self.status, 1),
                self.stream,
            )
        }
    }

    unsafe fn sums<K: BinKey, T: Item>(self, weights: &Laid) -> Result<(), Error>
    where
        Sum: BinOperation<T>,
    {
        let n = self.job.keys.shape[0] as usize;
        // SAFETY: the caller's contract.
        unsafe {
            self.device.bin_reducer::<T, _>(Sum)?.reduce_into_bins_into(
                RawSlice::<K>::new(self.job.keys.address, n),
                RawSlice::<T>::new(weights.address, n),
                RawSliceMut::new(self.out, self.job.bins as usize),
                RawSliceMut::<BinStatus>::new(self.status, 1),
                self.stream,
            )?;
        }
        Ok(())
    }
}

/// Adds counts or sums of bins to a stream, and waits if they are to be checked.
///
/// # Safety
///
/// Keys and weights are in the memory of the device. The output has a place for each bin, which
/// nobody else accesses until the stream has come so far.
pub(crate) unsafe fn bins(
    target: &Target,
    session: &mut Locked<'_>,
    job: &Binned<'_>,
) -> Result<(), Failure> {
    let (output, result) = job.output;
    let raw_type = job.weights.map_or(Dtype::U64, |weights| wide(weights.dtype));
    let bytes = raw_type.bytes() as u64;
    let finish = converted(raw_type, result);
    let out = match finish {
        Some(_) => session.scratch(target, job.bins * bytes)?,
        None => output,
    };
    // The kernels for bins do not read the status.
    let status = if job.is_checked { session.status() } else { session.ignored_status() };
    // SAFETY: status and scratch memory are this call's as long as the session is locked, and there
    // is room for the raw results; for the arrays, the caller's contract.
    unsafe {
        let launch = Launch { device: &target.device, stream: session.stream, job, out, status };
        match job.weights {
            None => with_type!(job.keys.dtype, keys, K => launch.counts::<K>())
                .ok_or_else(|| no_keys(job.keys.dtype))??,
            Some(weights) => {
                let keys = job.keys.dtype;
                let summed = with_type!(weights.dtype, ranked, T => {
                    with_type!(keys, keys, K => launch.sums::<K, T>(weights))
                        .ok_or_else(|| no_keys(keys))
                });
                let (op, cast) = ("bincount with weights", "int32");
                let dtype = weights.dtype.name();
                summed.ok_or(Failure::NoKernel { op, dtype, cast })???;
            }
        }
        if let Some(finish) = finish {
            let places = Places::new(out, output, job.bins, bytes, 0);
            finish.launch(target, session, places)?;
        }
    }
    if job.is_checked {
        let status: BinStatus = bytemuck::cast(session.read_status(target)?);
        if let Some(position) = status.first_wrong() {
            return Err(Failure::Value(format!(
                "key {position} is negative, or is not below the number of bins, {}",
                job.bins
            )));
        }
    }
    Ok(())
}
