//! The ways to sum: the reducer's operations, and the functions of other libraries.

use std::cell::RefCell;

use anyhow::Context;
use bench::peers::{PeerCall, PeerFunction};
use warpfold::{
    CompensatedSum, Operation, Reducer, ReproducibleSum, Sum, WideSum,
    device::{Buffer, Device, Stream},
    reducer::Single,
};

/// A way to sum on the device.
pub(crate) trait Method {
    /// The name of this method in tables.
    fn name(&self) -> &'static str;
    /// Starts a sum.
    fn start(&self, input: &Buffer<f32>, stream: &Stream) -> anyhow::Result<()>;
    /// Returns the result of the last sum. The sum must have ended.
    fn result(&self, n: usize) -> anyhow::Result<f64>;
}

/// An operation of the reducer.
struct Ours<O: Operation<f32>> {
    name: &'static str,
    reducer: Reducer<f32, O>,
    out: RefCell<Buffer<O::Raw>>,
}

impl<O: Operation<f32, Arity = Single, Output: Into<f64>>> Method for Ours<O> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&self, input: &Buffer<f32>, stream: &Stream) -> anyhow::Result<()> {
        self.reducer.reduce_into(input, &mut *self.out.borrow_mut(), stream)?;
        Ok(())
    }

    fn result(&self, n: usize) -> anyhow::Result<f64> {
        let raw = self.out.borrow().copy_to_host()?[0];
        Ok(O::finish(raw, n as u64)?.into())
    }
}

fn ours<O: Operation<f32, Arity = Single, Output: Into<f64>> + Default>(
    device: &Device,
    name: &'static str,
) -> anyhow::Result<Box<dyn Method>> {
    Ok(Box::new(Ours::<O> {
        name,
        reducer: device.reducer(O::default())?,
        out: RefCell::new(device.alloc(1)?),
    }))
}

/// The operations of the reducer. The default operation comes first.
pub(crate) fn all_ours(device: &Device) -> anyhow::Result<Vec<Box<dyn Method>>> {
    Ok(vec![
        ours::<Sum>(device, "Sum")?,
        ours::<CompensatedSum>(device, "CompensatedSum")?,
        ours::<WideSum>(device, "WideSum")?,
        ours::<ReproducibleSum>(device, "ReproducibleSum")?,
    ])
}

/// The sums of CUB. Each has the name of its function and its name in tables.
pub(crate) const CUB: [(&str, &str); 3] = [
    ("cub_sum_f32", "CUB (run_to_run)"),
    ("cub_sum_not_guaranteed_f32", "CUB (not_guaranteed)"),
    ("cub_sum_gpu_to_gpu_f32", "CUB (gpu_to_gpu)"),
];

/// A function of another library.
pub(crate) struct Peer<'a> {
    name: &'static str,
    function: PeerFunction<'a>,
    temp: Buffer<u8>,
    out: Buffer<f32>,
}

impl<'a> Peer<'a> {
    /// Allocates the temporary memory and the output for sums of `n` numbers.
    pub(crate) fn new(
        device: &Device,
        name: &'static str,
        function: PeerFunction<'a>,
        n: usize,
    ) -> anyhow::Result<Self> {
        let temp_bytes = function.temp_bytes(n as u64).with_context(|| name.to_owned())?;
        // The output has 8 elements of 4 bytes, because functions of this protocol may write 32
        // bytes.
        Ok(Self { name, function, temp: device.alloc(temp_bytes)?, out: device.alloc(8)? })
    }
}

impl Method for Peer<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&self, input: &Buffer<f32>, stream: &Stream) -> anyhow::Result<()> {
        let handle = stream.raw().context("the functions of other libraries need a GPU")?;
        let call = PeerCall {
            input: input.address(),
            right: 0,
            out: self.out.address(),
            n: input.len() as u64,
        };
        // SAFETY: the device that made the stream has made its context current in this thread, and
        // the thread uses no other context. All buffers live until the thread has waited for the
        // stream, and calls on one stream do not overlap.
        unsafe { self.function.call((self.temp.address(), self.temp.len()), call, handle) }
            .with_context(|| self.name.to_owned())
    }

    fn result(&self, _n: usize) -> anyhow::Result<f64> {
        Ok(self.out.copy_to_host()?[0].into())
    }
}
