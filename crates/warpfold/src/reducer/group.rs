//! Reductions of arrays that several devices share. Each device reduces one shard, all at the same
//! time, and the host combines the raw results in the order of the shards.

use std::{
    fmt,
    ops::Range,
    panic,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, ScopedJoinHandle},
};

use crate::device::{Buffer, Device, nccl::SharedCommunicators};

use super::{
    Error, Input, Item, Operation, Partial, Reducer, Transport,
    input::{on_device_only, private::Operands},
    partial::check_most,
};

/// Several devices of this process that reduce one array together. Each device holds one *shard* of
/// the array. The shards are in the order of the devices, and each has any length, also 0.
///
/// A shard is any [`Input`]: memory of its device, or elements on the host. The latter are copied
/// to the device, in chunks if they are larger than its memory. So a group also reduces an array
/// that is larger than the memory of all its devices.
///
/// All devices work at the same time. The host waits for their partial results and
/// [appends](Partial::append) them from the first shard to the last one. It needs no connection
/// between the devices, so that GPUs and simulators may be in one group.
///
/// # Bits
///
/// The result is the left fold of the shards' [partial results](Partial), and an empty shard takes
/// no part in it. The partial result of a shard has the bits that its device alone gives
/// ([order and bits](super#order-and-bits)). So the same lengths on devices of the same
/// [classes](crate::device::DeviceClass) give the same bits in each run. Results that do not depend
/// on the order are the same for any number of devices and any lengths of the shards. They are
/// integers, extremes, indices and [`ReproducibleSum`](super::ReproducibleSum)s.
///
/// Sums, products and norms of floats have the same bits for any number of devices, any lengths of
/// the shards and any classes if they are computed by
/// [`reduce_in_tree`](Self::reduce_in_tree). It combines the elements of all shards in one tree,
/// which depends on the number of elements alone ([`TreeReducer`](super::TreeReducer)).
///
/// ```
/// use warpfold::{ArgMax, Device, Dot, Group, ReproducibleSum, Sum};
///
/// let group = Group::of(&[Device::simulator(), Device::simulator(), Device::simulator()])?;
/// let values: Vec<f32> = (0..1000).map(|i| (i % 10) as f32).collect();
///
/// // An array in the devices' memory: one buffer for each device.
/// let shards = group.shard(&values)?;
/// assert_eq!(group.reduce(&shards, Sum)?, 4500.0);
/// assert_eq!(group.reduce(shards.iter().zip(&shards), Dot)?, 28500.0);
/// // The index counts the elements of all shards.
/// assert_eq!(group.reduce(&shards, ArgMax)?.index, 9);
///
/// // An array on the host.
/// let parts = group.ranges(values.len()).map(|range| &values[range]);
/// assert_eq!(group.reduce(parts, ReproducibleSum)?, 4500.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Group {
    devices: Arc<[Device]>,
    /// The transport that the user has set.
    pub(super) chosen: Option<Transport>,
    pub(super) communicators: SharedCommunicators,
}

impl Group {
    /// A group of these devices, in this order.
    ///
    /// # Errors
    ///
    /// - [`Error::NoDevices`] if there is no device;
    /// - [`Error::SameDevice`] if a GPU or a simulator is there twice, even if it was opened twice.
    pub fn of(devices: &[Device]) -> Result<Self, Error> {
        if devices.is_empty() {
            return Err(Error::NoDevices);
        }
        for (second, device) in devices.iter().enumerate() {
            if let Some(first) = devices[..second].iter().position(|other| other.is_same(device)) {
                return Err(Error::SameDevice { first, second });
            }
        }
        Ok(Self {
            devices: devices.into(),
            chosen: None,
            communicators: SharedCommunicators::default(),
        })
    }

    /// A group of all GPUs of this host, in the order of their ordinals.
    ///
    /// ```no_run
    /// use warpfold::{Group, Sum};
    ///
    /// let group = Group::all()?;
    /// let shards = group.shard(&vec![1.0f32; 1 << 30])?;
    /// println!("{} on {} GPUs", group.reduce(&shards, Sum)?, group.devices().len());
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NoDevices`] if there is no driver or no GPU, or if this crate was built without
    ///   the feature `cuda`;
    /// - the errors of [`Device::all`].
    pub fn all() -> Result<Self, Error> {
        Self::of(&Device::all()?)
    }

    /// Sets what carries results between the devices in
    /// [`all_reducer`](Self::all_reducer) and [`all_row_reducer`](Self::all_row_reducer), which
    /// fail if it is not there. [`transport`](Self::transport) says what is taken otherwise.
    #[must_use]
    pub fn with_transport(self, transport: Transport) -> Self {
        Self { chosen: Some(transport), ..self }
    }

    /// The devices in the order of their shards.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The ranges that cut an array of `n` elements into one shard for each device. Their lengths
    /// differ by 1 at most, and the longer ones come first, as in NumPy's `array_split`.
    ///
    /// ```
    /// use warpfold::{Device, Group};
    ///
    /// let group = Group::of(&[Device::simulator(), Device::simulator(), Device::simulator()])?;
    /// assert_eq!(group.ranges(10).collect::<Vec<_>>(), [0..4, 4..7, 7..10]);
    /// assert_eq!(group.ranges(1).collect::<Vec<_>>(), [0..1, 1..1, 1..1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn ranges(&self, n: usize) -> impl ExactSizeIterator<Item = Range<usize>> + use<> {
        even_ranges(n, self.devices.len())
    }

    /// Copies an array to the devices: one shard to each, as [`ranges`](Self::ranges) cuts it. All
    /// copies run at the same time.
    ///
    /// # Errors
    ///
    /// [`Error::Shard`] if a device has too little memory or fails.
    pub fn shard<T: Item>(&self, values: &[T]) -> Result<Vec<Buffer<T>>, Error> {
        let ranges = self.ranges(values.len());
        let uploads: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = ranges
                .zip(&*self.devices)
                .map(|(range, device)| scope.spawn(move || device.upload(&values[range])))
                .collect();
            threads.into_iter().map(join).collect()
        });
        let uploads = uploads.into_iter().zip(&*self.devices).enumerate();
        uploads
            .map(|(shard, (upload, device))| {
                upload.map_err(|error| shard_error(shard, device, error.into()))
            })
            .collect()
    }

    /// Prepares an operation over elements of type `T` on each device, for many calls.
    ///
    /// # Errors
    ///
    /// [`Error::Shard`] with the error of [`Device::reducer`] and the position of the device.
    pub fn reducer<T: Item, O: Operation<T>>(
        &self,
        operation: O,
    ) -> Result<GroupReducer<T, O>, Error> {
        let devices = self.devices.iter().enumerate();
        let reducers = devices.map(|(shard, device)| {
            device.reducer(operation).map_err(|error| shard_error(shard, device, error))
        });
        Ok(GroupReducer { reducers: reducers.collect::<Result<_, _>>()? })
    }

    /// Reduces the shards of one array and waits for the result. The kernels stay loaded for the
    /// next call. See [`GroupReducer::reduce`].
    ///
    /// # Errors
    ///
    /// The errors of [`reducer`](Self::reducer) and [`GroupReducer::reduce`].
    pub fn reduce<S, O>(&self, shards: S, operation: O) -> Result<O::Output, Error>
    where
        S: IntoIterator<Item: Input + Sync>,
        O: Operation<<S::Item as Input>::Item, Arity = <S::Item as Input>::Arity>,
    {
        self.reducer(operation)?.reduce(shards)
    }
}

/// The ranges that cut an array of `n` elements into `parts` parts. Their lengths differ by 1 at
/// most, and the longer ones come first, as in NumPy's `array_split`.
///
/// ```
/// use warpfold::even_ranges;
///
/// // The part of rank 1 of 3.
/// assert_eq!(even_ranges(10, 3).nth(1), Some(4..7));
/// assert_eq!(even_ranges(10, 0).len(), 0);
/// ```
pub fn even_ranges(n: usize, parts: usize) -> impl ExactSizeIterator<Item = Range<usize>> + use<> {
    let begin = move |part: usize| n / parts * part + part.min(n % parts);
    (0..parts).map(move |part| begin(part)..begin(part + 1))
}

/// An operation over one type of elements, ready to run on each device of a [`Group`].
/// [`Group::reducer`] makes one.
pub struct GroupReducer<T, O> {
    /// One for each device.
    pub(super) reducers: Arc<[Reducer<T, O>]>,
}

impl<T, O> Clone for GroupReducer<T, O> {
    fn clone(&self) -> Self {
        Self { reducers: Arc::clone(&self.reducers) }
    }
}

impl<T: Item, O: Operation<T>> fmt::Debug for GroupReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupReducer").field("reducers", &self.reducers).finish()
    }
}

impl<T: Item, O: Operation<T>> GroupReducer<T, O> {
    /// Sets the most memory of each device, in bytes, into which this reducer copies shards on the
    /// host, as [`Reducer::with_memory_limit`] does.
    #[must_use]
    pub fn with_memory_limit(self, bytes: u64) -> Self {
        let reducers = self.reducers.iter().cloned();
        Self { reducers: reducers.map(|reducer| reducer.with_memory_limit(bytes)).collect() }
    }

    /// Reduces the shards of one array and waits for the result. There is one shard for each
    /// device, in the order of the devices. `&Vec<Buffer<T>>`, which [`Group::shard`] makes, is an
    /// iterator over shards, and so is an array of views, or of slices on the host. A pair of
    /// arrays has pairs as its shards, for example `first.iter().zip(&second)`.
    ///
    /// On each device the reduction comes after all earlier work of the [`Device`] itself, as
    /// [`Reducer::reduce`] says. Each shard on the host has a thread of its own.
    ///
    /// # Errors
    ///
    /// - [`Error::ShardCount`] if there are more or fewer shards than devices;
    /// - [`Error::Empty`] if all shards are empty and the operation has no result for that;
    /// - [`Error::Overflow`] and [`Error::TooLong`] as for one array of all elements;
    /// - [`Error::Shard`] if the two inputs of a shard have different lengths, if memory of a shard
    ///   belongs to another device, or if a device fails. The other devices have ended their work
    ///   then, and the group can be used again.
    pub fn reduce<S>(&self, shards: S) -> Result<O::Output, Error>
    where
        S: IntoIterator<Item: Input<Item = T, Arity = O::Arity> + Sync>,
    {
        self.reduce_with_progress(shards, |_, _| ())
    }

    /// Like [`reduce`](Self::reduce), with a report of progress: after each copy of a part of a
    /// shard on the host, `progress` gets the number of elements copied so far and the number of
    /// all elements of such shards. Several threads call `progress`, one after another.
    ///
    /// ```
    /// use warpfold::{Device, Group, Sum};
    ///
    /// let group = Group::of(&[Device::simulator(), Device::simulator()])?;
    /// let sum = group.reducer::<u32, _>(Sum)?.with_memory_limit(4000);
    /// let values = vec![1; 3000];
    /// let mut seen = Vec::new();
    /// let parts = group.ranges(3000).map(|range| &values[range]);
    /// assert_eq!(sum.reduce_with_progress(parts, |done, total| seen.push((done, total)))?, 3000);
    /// assert!(seen.is_sorted() && seen.len() > 2);
    /// assert_eq!(seen.last(), Some(&(3000, 3000)));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce).
    pub fn reduce_with_progress<S>(
        &self,
        shards: S,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<O::Output, Error>
    where
        S: IntoIterator<Item: Input<Item = T, Arity = O::Arity> + Sync>,
    {
        let shards: Vec<_> = shards.into_iter().collect();
        let devices = self.reducers.iter().map(|reducer| &reducer.device);
        let lengths = shard_lengths::<T, O, _>(&shards, devices)?;
        let on_host = shards.iter().zip(&lengths).filter(|(input, _)| is_on_host(*input));
        let copied = on_host.map(|(_, length)| length).sum();

        let progress = Progress::new(copied, progress);
        let parts: Vec<_> = thread::scope(|scope| {
            let started = self.reducers.iter().zip(&shards).map(|(reducer, input)| {
                let (first, second) = input.operands();
                match on_device_only(first, second) {
                    _ if first.len() == 0 => Started::Empty,
                    Some((first, second)) => {
                        Started::Launched(reducer, first.len, reducer.begin(first, second))
                    }
                    None => {
                        let progress = &progress;
                        Started::Copying(scope.spawn(move || {
                            let mut before = 0;
                            reducer.partial_with_progress(input, &mut |done, _| {
                                progress.add(done - before);
                                before = done;
                            })
                        }))
                    }
                }
            });
            let started: Vec<_> = started.collect();
            // All are waited for, also after an error of one of them.
            started.into_iter().map(Started::finish).collect()
        });
        let mut whole = Partial::EMPTY;
        for (shard, part) in parts.into_iter().enumerate() {
            whole = whole.append(part.map_err(|error| self.shard_error(shard, error))?);
        }
        whole.finish()
    }

    /// The error of a shard.
    fn shard_error(&self, shard: usize, error: Error) -> Error {
        shard_error(shard, &self.reducers[shard].device, error)
    }
}

/// The number of elements of each shard, of which each device has one.
pub(super) fn shard_lengths<'a, T, O, S>(
    shards: &[S],
    devices: impl ExactSizeIterator<Item = &'a Device>,
) -> Result<Vec<u64>, Error>
where
    T: Item,
    O: Operation<T>,
    S: Input<Item = T, Arity = O::Arity>,
{
    let (given, devices_given) = (shards.len(), devices.len());
    if given != devices_given {
        return Err(Error::ShardCount { what: "shards", given, devices: devices_given });
    }
    let length = |(shard, (input, device)): (usize, (&S, &Device))| {
        let (first, second) = input.operands();
        Reducer::<T, O>::check_len(first.len(), second.map(|second| second.len()))
            .map_err(|error| shard_error(shard, device, error))
    };
    let lengths: Vec<u64> =
        shards.iter().zip(devices).enumerate().map(length).collect::<Result<_, _>>()?;
    check_most::<T, O>(lengths.iter().sum())?;
    Ok(lengths)
}

/// Whether elements of a shard are to be copied from the host.
pub(super) fn is_on_host(input: &impl Input) -> bool {
    let (first, second) = input.operands();
    on_device_only(first, second).is_none()
}

/// The error of a shard.
pub(super) fn shard_error(shard: usize, device: &Device, error: Error) -> Error {
    let info = device.info();
    let device = match info.ordinal {
        Some(ordinal) => format!("GPU {ordinal} ({})", info.name),
        None => info.name.clone(),
    };
    Error::Shard { shard, device, cause: Box::new(error) }
}

/// The reduction of a shard that has begun.
enum Started<'a, 'scope, T: Item, O: Operation<T>> {
    /// The shard has no elements.
    Empty,
    /// The kernel is launched, and will leave the raw result of so many elements in this output.
    Launched(&'a Reducer<T, O>, u64, Result<Buffer<u8>, Error>),
    /// A thread copies the shard from the host.
    Copying(ScopedJoinHandle<'scope, Result<Partial<T, O>, Error>>),
}

impl<T: Item, O: Operation<T>> Started<'_, '_, T, O> {
    /// Waits for the partial result.
    fn finish(self) -> Result<Partial<T, O>, Error> {
        match self {
            Self::Empty => Ok(Partial::EMPTY),
            Self::Launched(reducer, n, output) => {
                Ok(Partial::from_raw(Some(reducer.end(output?)?), n))
            }
            Self::Copying(thread) => join(thread),
        }
    }
}

/// The result of a thread. If the thread has panicked, this panics in the same way.
pub(super) fn join<R>(thread: ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|cause| panic::resume_unwind(cause))
}

/// The progress of several threads together.
struct Progress<F> {
    total: u64,
    /// The number of elements copied so far, and the function that is told of it.
    report: Mutex<(u64, F)>,
}

impl<F: FnMut(u64, u64)> Progress<F> {
    fn new(total: u64, report: F) -> Self {
        Self { total, report: Mutex::new((0, report)) }
    }

    /// Reports that `copied` more elements are copied.
    fn add(&self, copied: u64) {
        let mut guard = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, report) = &mut *guard;
        *done += copied;
        report(*done, self.total);
    }
}
