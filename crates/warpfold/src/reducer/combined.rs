//! Reductions of a part of an array on a stream, whose raw result the host combines with those of
//! other parts before the stream goes on.

use crate::device::Stream;

use super::{
    DeviceInput, DeviceOutput, Error, Item, Operation, Partial, Pending, Reducer, input::Place,
};

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<T: Item, O: Operation<T>> Reducer<T, O> {
    /// Like [`reduce_into`](Self::reduce_into), for an `input` that is only a part of an array. The
    /// host waits for the partial result and passes it to `combine`, which returns the partial
    /// result of the whole array. `output`, which must have the length 1, then receives the raw
    /// result of the whole, or the operation's [identity](Operation::identity) if the whole has no
    /// elements. An empty part is no error.
    ///
    /// Other parts may be anywhere: `combine` may exchange partial results with other programs.
    ///
    /// The reduction comes after all earlier work of `stream`. The call returns when the raw result
    /// is in `output`, so all later work sees it there, on this stream and on every other one. It
    /// does not wait for the work of other streams. A graph cannot capture the call, because the
    /// host takes part in it.
    ///
    /// ```
    /// use warpfold::{Device, Error, Sum};
    ///
    /// let device = Device::simulator();
    /// let sum = device.reducer::<f32, _>(Sum)?;
    /// let elsewhere = sum.partial(&[10.0, 20.0])?;
    ///
    /// let (part, mut total) = (device.upload(&[1.0f32, 2.0])?, device.alloc(1)?);
    /// let stream = device.stream()?;
    /// let pending = sum.reduce_into_with(&part, &mut total, &stream, |own| {
    ///     Ok::<_, Error>(elsewhere.append(own))
    /// })?;
    /// assert_eq!(pending.finish(total.copy_to_host()?[0])?, 33.0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An error leaves `output` as it was, unless it is that of the last copy. Before `combine` is
    /// called:
    ///
    /// - [`Error::Lengths`] if the inputs of a pair have different lengths;
    /// - [`Error::TooLong`] if the part has more elements than [`Operation::MOST`];
    /// - [`Error::Output`] if `output` does not hold exactly one value;
    /// - [`Error::Device`] if a buffer or the stream belongs to another device, if the stream
    ///   captures, if this thread captures a graph of the device, or if the driver reports an
    ///   error.
    ///
    /// Then the error of `combine`, and after that:
    ///
    /// - [`Error::Empty`] if the whole has no elements and the operation has no result for that;
    /// - [`Error::TooLong`] if the whole has more elements than [`Operation::MOST`];
    /// - [`Error::Device`] if the driver reports an error, which is that of the last copy.
    pub fn reduce_into_with<I, E>(
        &self,
        input: I,
        mut output: impl DeviceOutput<O::Raw>,
        stream: &Stream,
        combine: impl FnOnce(Partial<T, O>) -> Result<Partial<T, O>, E>,
    ) -> Result<Pending<T, O>, E>
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
        E: From<Error>,
    {
        let (first, second) = input.places();
        let n = Self::check_len(first.len, second.map(|second| second.len))?;
        let target = output.target();
        if target.len != 1 {
            return Err(Error::Output { len: target.len }.into());
        }
        stream
            .check_waitable(&self.device, "combine partial results on the host")
            .map_err(Error::from)?;
        target.lend(&self.device, stream, |address| {
            let whole = combine(self.partial_on(first, second, n, stream)?)?;
            let raw = whole.checked_raw()?;
            // SAFETY: the address is that of one raw result on this device: the target has the
            // length 1, and is borrowed or vouched for.
            unsafe { stream.write_waiting(address, bytemuck::bytes_of(&raw)) }
                .map_err(Error::from)?;
            Ok(Pending::new(whole.n()))
        })
    }

    /// Reduces operands of `n` elements each on `stream`, and waits for the partial result.
    fn partial_on(
        &self,
        first: Place<'_, T>,
        second: Option<Place<'_, T>>,
        n: u64,
        stream: &Stream,
    ) -> Result<Partial<T, O>, Error> {
        if n == 0 {
            return Ok(Partial::EMPTY);
        }
        let launch = |out| self.launch(first, second, out, stream);
        let output = self.engine.begin(&self.device, &launch)?;
        let raw = self.engine.end_on(output, stream, bytemuck::pod_read_unaligned)?;
        Ok(Partial::from_raw(Some(raw), n))
    }
}
