//! An operation that is prepared for many calls.

use std::fmt;

use warpfold::{
    Input, Item, Operation, Reducer,
    device::Stream,
    reducer::{DeviceInput, DeviceOutput, Pending},
};

use crate::{communicator::MpiCommunicator, error::Error};

/// An operation over one type of elements, ready to run on the device of each rank.
/// [`MpiCommunicator::reducer`] makes one.
pub struct MpiReducer<'a, T, O> {
    pub(crate) communicator: &'a MpiCommunicator,
    pub(crate) reducer: Reducer<T, O>,
    pub(crate) call: String,
}

impl<T: Item, O: Operation<T>> fmt::Debug for MpiReducer<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiReducer")
            .field("communicator", &self.communicator)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

impl<T: Item, O: Operation<T>> MpiReducer<'_, T, O> {
    /// Reduces the array whose parts the ranks have, in the order of the ranks, and returns the
    /// result on all of them. A part has any length, also 0. A part on the host that is larger than
    /// the memory of the device is copied in chunks.
    ///
    /// # Errors
    ///
    /// - [`Error::Warpfold`] if this rank cannot reduce its part (the other ranks get
    ///   [`Error::Rank`]), or if the whole array has no result, because it is empty or because a
    ///   checked sum overflows;
    /// - [`Error::Calls`] if a rank calls something else than rank 0;
    /// - [`Error::Missing`] if a rank does not come in time, and [`Error::Poisoned`] in later
    ///   calls;
    /// - [`Error::Message`] if a rank runs another version of this crate.
    pub fn reduce<I>(&self, part: I) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        let partial = self.reducer.partial(part);
        Ok(self.communicator.together(partial, &self.call)?.finish()?)
    }

    /// Reduces the array whose parts the ranks have, in the order of the ranks, and leaves the
    /// [raw result](Operation::Raw) of the whole array in an output on the device of each rank.
    /// `part`, `output` and `stream` belong to the [device](MpiCommunicator::device) of this rank.
    /// A part has any length, also 0, and `output` has the length 1. After the raw result was
    /// copied to the host, [`Pending::finish`] turns it into the result.
    ///
    /// The reduction of the part comes after all earlier work of `stream`. The partial results
    /// travel through the hosts, so that this call waits: for the stream, for the other ranks, and
    /// for the copy of the raw result to `output`. Work that is added later finds the raw result
    /// there, on `stream` and on any other stream. The work of other streams is not waited for. A
    /// graph cannot capture this call.
    ///
    /// A rank may call [`reduce`](Self::reduce) while others call this, because all of them send
    /// the same messages.
    ///
    /// ```no_run
    /// use warpfold::{Device, Sum};
    /// use warpfold_mpi::MpiCommunicator;
    ///
    /// let ranks = MpiCommunicator::world_on(Device::cuda)?;
    /// let sum = ranks.reducer::<f32, _>(Sum)?;
    /// let device = ranks.device();
    /// let (stream, mut total) = (device.stream()?, device.alloc(1)?);
    /// let part = device.upload(&vec![1.0f32; 1000])?;
    /// let pending = sum.reduce_into(&part, &mut total, &stream)?;
    /// // Kernels that are launched on the stream here can read the total.
    /// assert_eq!(pending.finish(total.copy_to_host()?[0])?, 1000.0 * ranks.size() as f32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An error leaves `output` as it was, unless it is that of the last copy.
    ///
    /// - [`Error::Warpfold`] with an error of
    ///   [`Reducer::reduce_into_with`](warpfold::Reducer::reduce_into_with). If it was found before
    ///   this rank has sent its message, such as an output of another length, memory or a stream of
    ///   another device, or a stream that captures, the other ranks get [`Error::Rank`]. If the
    ///   whole array has no result because it is empty, all ranks get the same error. Only if the
    ///   device fails in the last copy, do the other ranks not know of it;
    /// - [`Error::Calls`], [`Error::Missing`], [`Error::Poisoned`] and [`Error::Message`] as in
    ///   [`reduce`](Self::reduce).
    ///
    /// A checked sum that overflows is an error of [`Pending::finish`].
    pub fn reduce_into<I>(
        &self,
        part: I,
        output: impl DeviceOutput<O::Raw>,
        stream: &Stream,
    ) -> Result<Pending<T, O>, Error>
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
    {
        let mut is_told = false;
        let pending = self.reducer.reduce_into_with(part, output, stream, |own| {
            is_told = true;
            self.communicator.together(Ok(own), &self.call)
        });
        match pending {
            Err(Error::Warpfold(error)) if !is_told => {
                Err(self.communicator.tell::<T, O>(error, &self.call))
            }
            pending => pending,
        }
    }
}
