//! Reductions of arrays that several devices share, in an order that does not depend on how they
//! share them.

mod cut;
mod shard;

use std::{
    fmt,
    sync::Arc,
    thread::{self, ScopedJoinHandle},
};

use super::{
    Arity, CompensatedSum, Dot, Error, Group, Input, Item, Norm2, Product, RowReducer,
    SquaredDistance, Sum, SumAbs, SumSquares, TreeOperation, WideSum,
    group::{is_on_host, join, shard_error, shard_lengths},
    operation::private::CombinedAlike,
};
use cut::Cut;
use shard::{Found, Shard};

impl CombinedAlike for Sum {}
impl CombinedAlike for WideSum {}
impl CombinedAlike for CompensatedSum {}
impl CombinedAlike for SumAbs {}
impl CombinedAlike for SumSquares {}
impl CombinedAlike for Norm2 {}
impl CombinedAlike for Product {}
impl CombinedAlike for Dot {}
impl CombinedAlike for SquaredDistance {}

/// The most bytes of a piece of a shard on the host, unless a limit is set. The copy of so many
/// takes milliseconds, so the launches of a piece cost little beside it.
const PIECE_BYTES: u64 = 64 << 20;

/// An operation over one type of elements, ready to run on the devices of a [`Group`] such that the
/// result has the same bits however many devices there are. [`Group::tree_reducer`] makes one.
///
/// # Bits
///
/// The result has the bits that one device gives the whole array as one row
/// ([`Device::reduce_rows`](crate::Device::reduce_rows)). They depend on the elements, in their
/// order, and on their number alone. They do not depend on:
///
/// - the number of devices, which need not be a power of two;
/// - the lengths of the shards, which may differ and may be 0;
/// - the [classes](crate::device::DeviceClass) of the devices, so that GPUs of different kinds and
///   simulators give the same bits;
/// - where the shards lie, and whether they lie on the host.
///
/// Only a NaN may have other bits, and it is a NaN each time. [`Group::reduce`] makes no such
/// promise for floats, because it combines one result for each shard. The exception is
/// [`ReproducibleSum`](super::ReproducibleSum), whose bits do not even depend on the order of the
/// elements, but whose time depends on their values.
///
/// ```
/// use std::slice;
/// use warpfold::{Array, Device, Group, Sum};
///
/// let values: Vec<f32> = (0..100_000).map(|i| (i as f32).sin()).collect();
/// let devices = [Device::simulator(), Device::simulator(), Device::simulator()];
/// let mut sums = Vec::new();
/// for number in 1..=3 {
///     let group = Group::of(&devices[..number])?;
///     sums.push(group.tree_reducer(Sum)?.reduce(&group.shard(&values)?)?);
/// }
/// let row = Array::new(&values, &[1, 100_000])?;
/// sums.extend(devices[0].reduce_rows(&row, Sum)?);
/// assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # The tree
///
/// The array is cut into *leaves* of 128 bytes, or of 64 bytes of each input if the operation is
/// one over pairs. The last leaf may be shorter. A binary tree combines the leaves, neighbours
/// first; a node that has no right neighbour goes up as it is. Each device computes nodes that lie
/// within its shard, as rows of a few launches, and the host computes the nodes above them. If a
/// leaf belongs to several shards, its elements are copied to the host and from there to the first
/// device, which computes the leaf in one launch more.
///
/// # Speed
///
/// The kernel is the one for rows. On two H100s, a sum of 2^20, 2^24 and 2^28 `f32`s of each takes
/// 1.9, 1.5 and 1.1 times as long as [`Group::reduce`] (`bench/results/2026-11-26-h100x2`).
/// Equal shards are fastest if the length of a shard is a power of two of at least a leaf, because
/// such a shard needs one launch. Other shards need up to seven. If a shard does not begin at a
/// leaf, the kernel may also read its elements more slowly, because they are not aligned, and a
/// leaf is copied.
pub struct TreeReducer<T, O> {
    /// One for each device.
    reducers: Arc<[RowReducer<T, O>]>,
    piece_bytes: u64,
}

impl<T, O> Clone for TreeReducer<T, O> {
    fn clone(&self) -> Self {
        Self { reducers: Arc::clone(&self.reducers), piece_bytes: self.piece_bytes }
    }
}

impl<T: Item, O: TreeOperation<T>> fmt::Debug for TreeReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeReducer").field("reducers", &self.reducers).finish_non_exhaustive()
    }
}

impl Group {
    /// Prepares an operation over elements of type `T` on each device, for many calls whose results
    /// have the same bits for any number of devices.
    ///
    /// # Errors
    ///
    /// [`Error::Shard`] with the error of [`Device::row_reducer`](crate::Device::row_reducer) and
    /// the position of the device.
    pub fn tree_reducer<T: Item, O: TreeOperation<T>>(
        &self,
        operation: O,
    ) -> Result<TreeReducer<T, O>, Error> {
        let devices = self.devices().iter().enumerate();
        let reducers = devices.map(|(shard, device)| {
            device.row_reducer(operation).map_err(|error| shard_error(shard, device, error))
        });
        Ok(TreeReducer { reducers: reducers.collect::<Result<_, _>>()?, piece_bytes: PIECE_BYTES })
    }

    /// Reduces the shards of one array in a tree that depends on the number of all elements alone,
    /// and waits for the result. So the result has the same bits for any number of devices. The
    /// kernels stay loaded for the next call. See [`TreeReducer`].
    ///
    /// ```
    /// use warpfold::{Device, Group, Sum};
    ///
    /// let [two, one] = [Device::simulator(), Device::simulator()];
    /// let values: Vec<f64> = (0..1000).map(|i| f64::from(i).sqrt()).collect();
    /// let (first, second) = values.split_at(123);
    /// let together = Group::of(&[two, one.clone()])?.reduce_in_tree([first, second], Sum)?;
    /// let alone = Group::of(&[one])?.reduce_in_tree([&values], Sum)?;
    /// assert_eq!(together.to_bits(), alone.to_bits());
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`tree_reducer`](Self::tree_reducer) and [`TreeReducer::reduce`].
    pub fn reduce_in_tree<S, O>(&self, shards: S, operation: O) -> Result<O::Output, Error>
    where
        S: IntoIterator<Item: Input + Sync>,
        O: TreeOperation<<S::Item as Input>::Item, Arity = <S::Item as Input>::Arity>,
    {
        self.tree_reducer(operation)?.reduce(shards)
    }
}

impl<T: Item, O: TreeOperation<T>> TreeReducer<T, O> {
    /// Sets the most memory of each device, in bytes, into which this reducer copies a shard on the
    /// host; without this call, it is 64 MiB. A shard that is longer is copied and reduced piece by
    /// piece. A piece has at least one leaf, however small the limit is. The limit does not change
    /// a bit of a result.
    ///
    /// ```
    /// use warpfold::{Device, Group, Sum};
    ///
    /// let group = Group::of(&[Device::simulator()])?;
    /// let values: Vec<f32> = (0..5000).map(|i| (i as f32).cos()).collect();
    /// let sum = group.tree_reducer::<f32, _>(Sum)?;
    /// let in_pieces = sum.clone().with_memory_limit(1024).reduce([&values])?;
    /// assert_eq!(in_pieces.to_bits(), sum.reduce([&values])?.to_bits());
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    #[must_use]
    pub fn with_memory_limit(self, bytes: u64) -> Self {
        Self { piece_bytes: bytes, ..self }
    }

    /// An upper bound on the number of operations that lie between any element of an array of `n`
    /// elements and the result. It is the `d` in the error bounds of floats, such as that of
    /// [`Sum`].
    ///
    /// ```
    /// use warpfold::{Device, Group, Sum};
    ///
    /// let group = Group::of(&[Device::simulator(), Device::simulator()])?;
    /// let depth = group.tree_reducer::<f32, _>(Sum)?.depth(1 << 28);
    /// assert!((23..64).contains(&depth), "{depth}");
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn depth(&self, n: u64) -> u64 {
        self.reducers[0].depth(n)
    }

    /// Reduces the shards of one array and waits for the result. There is one shard for each
    /// device, in the order of the devices, and each has any length, as for
    /// [`GroupReducer::reduce`](super::GroupReducer::reduce).
    ///
    /// On each device the reduction comes after all earlier work of the
    /// [`Device`](crate::Device) itself. Each shard on the host has a thread of its own.
    ///
    /// # Errors
    ///
    /// - [`Error::ShardCount`] if there are more or fewer shards than devices;
    /// - [`Error::Shard`] if the two inputs of a shard have different lengths, if memory of a shard
    ///   belongs to another device, or if a device fails. The other devices have ended their work
    ///   then, and the group can be used again.
    pub fn reduce<S>(&self, shards: S) -> Result<O::Output, Error>
    where
        S: IntoIterator<Item: Input<Item = T, Arity = O::Arity> + Sync>,
    {
        let shards: Vec<_> = shards.into_iter().collect();
        let devices = self.reducers.iter().map(RowReducer::device);
        let lengths = shard_lengths::<T, O, _>(&shards, devices)?;
        let n = lengths.iter().sum();

        let in_leaf = RowReducer::<T, O>::IN_PART;
        let leaf_bytes = in_leaf * size_of::<T>() as u64 * <O::Arity as Arity>::INPUTS;
        let in_piece = (self.piece_bytes / leaf_bytes).max(1);
        let mut end = 0;
        let cuts = lengths.into_iter().zip(&shards).map(|(length, input)| {
            let start = end;
            end += length;
            Cut::new(start..end, n, in_leaf, if is_on_host(input) { in_piece } else { u64::MAX })
        });
        let cuts: Vec<_> = cuts.collect();
        let shared_leaves = cut::shared_leaves(&cuts, in_leaf);

        let found: Vec<_> = thread::scope(|scope| {
            let started = self.reducers.iter().zip(&shards).zip(cuts);
            let started = started.map(|((reducer, input), cut)| {
                if is_on_host(input) {
                    Started::Copying(
                        scope.spawn(move || Shard::begin(reducer, input, cut)?.finish()),
                    )
                } else {
                    Started::Launched(Shard::begin(reducer, input, cut))
                }
            });
            let started: Vec<_> = started.collect();
            // All are waited for, also after an error of one of them.
            started.into_iter().map(Started::finish).collect()
        });
        let (mut nodes, mut shared) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (shard, found) in found.into_iter().enumerate() {
            let found = found.map_err(|error| self.shard_error(shard, error))?;
            nodes.extend(found.nodes);
            for (all, more) in shared.iter_mut().zip(found.shared) {
                all.extend(more);
            }
        }
        if !shared_leaves.is_empty() {
            let leaves = shard::shared_leaves(&self.reducers[0], &shared_leaves, &shared);
            nodes.extend(leaves.map_err(|error| self.shard_error(0, error))?);
        }
        shard::combine(nodes).finish()
    }

    /// The error of a shard.
    fn shard_error(&self, shard: usize, error: Error) -> Error {
        shard_error(shard, self.reducers[shard].device(), error)
    }
}

/// The reduction of a shard that has begun.
enum Started<'a, 'scope, I, T: Item, O: TreeOperation<T>> {
    /// The kernels are launched.
    Launched(Result<Shard<'a, I, T, O>, Error>),
    /// A thread copies the shard from the host.
    Copying(ScopedJoinHandle<'scope, Result<Found<T, O>, Error>>),
}

impl<T, O, I> Started<'_, '_, I, T, O>
where
    T: Item,
    O: TreeOperation<T>,
    I: Input<Item = T, Arity = O::Arity>,
{
    /// Waits for what the device gives.
    fn finish(self) -> Result<Found<T, O>, Error> {
        match self {
            Self::Launched(shard) => shard?.finish(),
            Self::Copying(thread) => join(thread),
        }
    }
}
