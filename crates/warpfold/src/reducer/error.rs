//! The error type of reductions.

use crate::device::DeviceError;

use super::Int192;

/// The reason why a reduction has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input has no elements, and the operation has no result for an empty input. The minimum
    /// is such an operation.
    #[error("the {op} of no elements is not defined")]
    Empty {
        /// The operation's [name](super::Operation::NAME).
        op: &'static str,
    },
    /// The type of the elements cannot hold the result of a [`CheckedSum`](super::CheckedSum).
    #[error("the sum is {exact}, which no {item} holds")]
    Overflow {
        /// The exact sum.
        exact: Int192,
        /// The name of the type of the elements.
        item: &'static str,
    },
    /// The two inputs of a pair have different lengths.
    #[error(
        "the first input has {first} elements and the second {second}: both must have the same number"
    )]
    Lengths {
        /// The number of elements of the first input.
        first: u64,
        /// The number of elements of the second input.
        second: u64,
    },
    /// The shapes of two arrays do not fit together: sizes of an axis differ, and neither is 1.
    #[error("arrays of the shapes {first:?} and {second:?} cannot be taken in pairs")]
    Shapes {
        /// The shape of the first array.
        first: Vec<u64>,
        /// The shape of the second array.
        second: Vec<u64>,
    },
    /// A [`Group`](super::Group) would have no device.
    #[error("a group has at least one device, and none was given")]
    NoDevices,
    /// Two devices of a [`Group`](super::Group) are the same GPU or the same simulator.
    #[error("devices {first} and {second} of the group are the same one")]
    SameDevice {
        /// The position of the device, counted from 0.
        first: usize,
        /// The position where the device comes again.
        second: usize,
    },
    /// A [`Group`](super::Group) has got more or fewer shards, outputs or streams than it has
    /// devices.
    #[error("{given} {what} for {devices} devices: each device takes one")]
    ShardCount {
        /// `shards`, `outputs` or `streams`.
        what: &'static str,
        /// The number of these.
        given: usize,
        /// The number of devices.
        devices: usize,
    },
    /// A shard of a [`Group`](super::Group) cannot be reduced. If there are several such shards,
    /// this is the first of them.
    #[error("shard {shard}, on {device}: {cause}")]
    Shard {
        /// The position of the shard and of its device, counted from 0.
        shard: usize,
        /// The name of the device.
        device: String,
        /// The error of the shard.
        cause: Box<Error>,
    },
    /// The devices of a [`Group`](super::Group) cannot exchange results, because one of them cannot
    /// use the memory of another one, and NCCL cannot serve instead.
    /// [`Group::reduce`](super::Group::reduce) needs neither.
    #[error(
        "device {from} of the group cannot use the memory of device {to}, so that their kernels cannot exchange results, and NCCL cannot serve instead: {nccl}"
    )]
    NotPeers {
        /// The position of the device, counted from 0.
        from: usize,
        /// The position of the device whose memory it cannot use.
        to: usize,
        /// Why NCCL cannot serve, as a sentence for people.
        nccl: String,
    },
    /// The devices of a [`Group`](super::Group) were to exchange results by
    /// [NCCL](super::Transport::Nccl), and there is none.
    #[error("the devices of the group cannot exchange results by NCCL: {reason}")]
    NoNccl {
        /// The reason, as a sentence for people.
        reason: String,
    },
    /// A [`Group`](super::Group) has more devices than can exchange results.
    #[error("{devices} devices cannot exchange results: {most} can at most")]
    TooManyDevices {
        /// The number of devices.
        devices: usize,
        /// The greatest number that can exchange results.
        most: usize,
    },
    /// The devices of a [`Group`](super::Group) cannot combine the results of this operation among
    /// themselves. [`Group::reduce`](super::Group::reduce) combines them on the host.
    #[error("devices cannot combine the {op} of {item} elements among themselves")]
    NotExchanged {
        /// The operation's [name](super::Operation::NAME).
        op: &'static str,
        /// The name of the type of the elements.
        item: &'static str,
    },
    /// The shards of a [`Group`](super::Group) have different numbers of rows. Each result belongs
    /// to all shards, so that all need the same number.
    #[error("shard {shard} has {results} rows, and the first shard has {first}")]
    ShardRows {
        /// The position of the shard, counted from 0.
        shard: usize,
        /// The number of rows of this shard.
        results: u64,
        /// The number of rows of the first shard.
        first: u64,
    },
    /// There are more rows than an [`AllRowReducer`](super::AllRowReducer) was made for.
    #[error("{rows} rows are too many: the reducer was made for {most} at most")]
    MostRows {
        /// The number of rows.
        rows: u64,
        /// The greatest number of rows.
        most: u64,
    },
    /// A device of a [`Group`](super::Group) has waited in vain for the result of another device.
    /// An [`AllReducer`](super::AllReducer) with this error does not work any more.
    #[error(
        "device {waited} of the group has waited for device {absent}, whose result did not come in time"
    )]
    Absent {
        /// The position of the device that waited, counted from 0.
        waited: usize,
        /// The position of the device whose result did not come.
        absent: usize,
    },
    /// The output does not hold exactly one value.
    #[error("the result is 1 value, and the output has {len}")]
    Output {
        /// The number of values that the output holds.
        len: u64,
    },
    /// The shape of an [`Array`](super::Array) does not have as many elements as its input.
    #[error("an array of shape {shape:?} does not have the {len} elements of its input")]
    Shape {
        /// The shape.
        shape: Vec<u64>,
        /// The number of elements of the input.
        len: u64,
    },
    /// The strides of an [`Array`](super::Array) are not as many as its sizes, or lead out of its
    /// input.
    #[error(
        "an array of shape {shape:?} with the strides {strides:?} does not lie within {len} elements"
    )]
    Strides {
        /// The shape.
        shape: Vec<u64>,
        /// The strides, in elements.
        strides: Vec<i64>,
        /// The number of elements of the input.
        len: u64,
    },
    /// An axis is none of the array's.
    #[error("axis {axis} is none of an array of {rank} dimensions")]
    Axis {
        /// The axis, counted from the end if it is negative.
        axis: isize,
        /// The number of dimensions of the array.
        rank: usize,
    },
    /// An axis is named twice.
    #[error("axis {axis} is named twice")]
    AxisTwice {
        /// The axis, as it is named the second time.
        axis: isize,
    },
    /// The array is no matrix, so it has no rows.
    #[error("rows are those of an array of 2 dimensions, not of {rank}")]
    NotRows {
        /// The number of dimensions of the array.
        rank: usize,
    },
    /// The array has too many dimensions that no other index can stand for.
    #[error("the array has {rank} dimensions that cannot be merged, and at most 8 are possible")]
    Rank {
        /// The number of dimensions that are left.
        rank: usize,
    },
    /// Results with strides may share places. The stride of each axis must be greater than the
    /// distance of any two results that differ only along axes of smaller strides.
    #[error("results of shape {shape:?} with the strides {strides:?} may overlap")]
    Overlap {
        /// The shape of the results.
        shape: Vec<u64>,
        /// The strides, in results.
        strides: Vec<i64>,
    },
    /// The device cannot make such a result of the operation.
    #[error("the {op} has no {make} as {item}")]
    Make {
        /// What was to be made.
        make: super::Make,
        /// The operation.
        op: &'static str,
        /// The type of the results.
        item: &'static str,
    },
    /// The results are more than the host can count.
    #[error("{rows} results are more than this host can hold")]
    Rows {
        /// The number of results.
        rows: u64,
    },
    /// The output does not have one place for each result.
    #[error("there are {results} results, and the output has room for {len}")]
    Outputs {
        /// The number of results.
        results: u64,
        /// The number of values that the output holds.
        len: u64,
    },
    /// There is no offset, and so no place where a first segment could begin.
    #[error("there are no offsets: n segments have n + 1 of them")]
    NoOffsets,
    /// A segment begins behind its end, or ends behind the elements. If several segments are wrong,
    /// this is the first of them.
    #[error(
        "segment {segment} does not lie within the {elements} elements: offsets must not decrease, \
         and none may be greater than the number of elements"
    )]
    Segment {
        /// The number of the segment.
        segment: u64,
        /// The number of elements.
        elements: u64,
    },
    /// A length is negative, or the segments have more elements together than there are. If several
    /// segments are wrong, this is the first one that is, or that ends behind the elements.
    #[error(
        "segment {segment} does not lie within the {elements} elements: no length may be negative, \
         and together they must not exceed the number of elements"
    )]
    SegmentLength {
        /// The number of the segment.
        segment: u64,
        /// The number of elements.
        elements: u64,
    },
    /// A span begins behind its end, or ends behind the elements. If several spans are wrong, this
    /// is the first of them.
    #[error(
        "span {span} does not lie within the {elements} elements: none may begin behind its end, or \
         end behind the last element"
    )]
    Span {
        /// The number of the span.
        span: u64,
        /// The number of elements.
        elements: u64,
    },
    /// Spans overlap so much that they have more elements together than a launch can take.
    #[error(
        "the spans up to span {span} have more than {most} elements together, the most that one \
         launch takes"
    )]
    SpansTooLong {
        /// The first span that is too much.
        span: u64,
        /// The most elements that all spans may have together.
        most: u64,
    },
    /// An output of runs has too little room. Because the host does not know how many runs there
    /// are, there must be room for as many as there are elements.
    #[error("the {what} may be {most}, and their output has room for {len}")]
    Room {
        /// What the output is for: `keys`, `results` or `offsets`.
        what: &'static str,
        /// The most values that there may be.
        most: u64,
        /// The number of values that the output holds.
        len: u64,
    },
    /// The type of the offsets cannot count the elements.
    #[error("offsets of {item} cannot count {n} elements")]
    NarrowOffsets {
        /// The name of the type of the offsets.
        item: &'static str,
        /// The number of elements.
        n: u64,
    },
    /// A segment has no elements, and the operation has no result for that.
    #[error("segment {segment} is empty, and the {op} of no elements is not defined")]
    EmptySegment {
        /// The operation's [name](super::Operation::NAME).
        op: &'static str,
        /// The number of the segment.
        segment: u64,
    },
    /// A key is no number of a bin: it is negative or too large. If several keys are wrong, this is
    /// the first of them.
    #[error(
        "key {position} is {}, and {}", key.map_or("no bin".to_owned(), |key| key.to_string()),
        if *bins == 0 { "there are no bins".to_owned() } else { format!("bins go from 0 to {}", bins - 1) }
    )]
    Bin {
        /// The position of the key, counted from 0.
        position: u64,
        /// The key. `None` if only its position is known.
        key: Option<i128>,
        /// The number of bins.
        bins: u64,
    },
    /// There are more bins than a call accepts.
    #[error("{bins} bins are too many: at most {most} are possible")]
    TooManyBins {
        /// The number of bins.
        bins: u64,
        /// The most bins.
        most: u64,
    },
    /// A bin has no values, and the operation has no result for that.
    #[error("bin {bin} is empty, and the {op} of no elements is not defined")]
    EmptyBin {
        /// The operation's [name](super::Operation::NAME).
        op: &'static str,
        /// The number of the bin.
        bin: u64,
    },
    /// The input has more elements than [`Operation::MOST`](super::Operation::MOST), the number up
    /// to which the operation's kernel is exact or can count.
    #[error("a {op} of {item} takes at most {most} elements at once, not {n}")]
    TooLong {
        /// The operation's [name](super::Operation::NAME).
        op: &'static str,
        /// The name of the type of the elements.
        item: &'static str,
        /// The number of elements of the input.
        n: u64,
        /// The most elements that one call accepts.
        most: u64,
    },
    /// The device refused a call or failed. For a buffer, view or stream of another device, the
    /// inner error is [`DeviceError::OtherDevice`].
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device is older than the kernels, which are built for compute capability 7.5 and later.
    #[error(
        "the device has compute capability {}.{}, and {}.{} is the least",
        capability.0, capability.1, least.0, least.1
    )]
    DeviceTooOld {
        /// The device's compute capability, major and minor.
        capability: (u32, u32),
        /// The least compute capability that runs the kernel, major and minor.
        least: (u32, u32),
    },
}
