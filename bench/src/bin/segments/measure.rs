//! Measures sums of segments whose offsets are given. The contenders take turns.

use anyhow::{Context, ensure};
use bench::{Times, row_peers::RowPeers};
use half::f16;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArraysOperation, Item, Offset, SegmentOperation, SegmentStatus, Sum,
    device::{Buffer, Device, Graph, Pod, Stream},
};

use crate::cases::Lengths;

/// The number of calls in a graph.
const CALLS: u32 = 5;

/// The number of measurements that only warm the device up and do not count.
const WARM_UPS: usize = 3;

/// A type of elements.
pub(crate) trait Value: Item {
    /// The lengths of segments with offsets.
    const LENGTHS: &[Lengths] = &Lengths::SOME;
    /// The lengths of runs of keys.
    const RUNS: &[Lengths] = &[];
    /// A small number in this type.
    fn small(number: u8) -> Self;
}

macro_rules! values {
    ($($t:ty: $of:expr $(, $lengths:path, $runs:path)?;)*) => {$(
        impl Value for $t {
            $(
                const LENGTHS: &[Lengths] = &$lengths;
                const RUNS: &[Lengths] = &$runs;
            )?
            fn small(number: u8) -> Self {
                $of(number)
            }
        }
    )*};
}

values! {
    f32: f32::from, Lengths::ALL, Lengths::ALL;
    f64: f64::from, Lengths::SOME, Lengths::SOME;
    f16: |number| f16::from_f32(f32::from(number));
    u8: |number| number;
}

/// A sum as a number.
pub(crate) trait Number: Pod {
    fn number(self) -> f64;
}

impl Number for f32 {
    fn number(self) -> f64 {
        self.into()
    }
}

impl Number for f64 {
    fn number(self) -> f64 {
        self
    }
}

impl Number for u64 {
    fn number(self) -> f64 {
        self as f64
    }
}

/// The raw result of a sum.
pub(crate) type Raw<T> = <Sum as ArraysOperation<T>>::RowRaw;

/// What is measured of a case.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) segments: usize,
    pub(crate) bytes: u64,
    pub(crate) ours: Times,
    pub(crate) twin: Option<Times>,
    /// The times of the other peer, and its name.
    pub(crate) peer: Option<Times>,
    pub(crate) peer_name: &'static str,
}

/// What measures.
pub(crate) struct Lab {
    pub(crate) device: Device,
    pub(crate) peers: Option<RowPeers>,
    /// How many elements an array has.
    pub(crate) n: usize,
    pub(crate) samples: usize,
}

/// Elements on the device, and the same small integers on the host.
pub(crate) struct Values<T> {
    small: Vec<u8>,
    pub(crate) input: Buffer<T>,
}

impl<T> Values<T> {
    /// The values on the host.
    pub(crate) fn small(&self) -> &[u8] {
        &self.small
    }

    /// The sums of segments.
    pub(crate) fn sums(&self, offsets: &[u32]) -> Vec<f64> {
        let sum = |segment: &[u8]| segment.iter().map(|&value| u64::from(value)).sum::<u64>();
        let of = |pair: &[u32]| sum(&self.small[pair[0] as usize..pair[1] as usize]) as f64;
        offsets.windows(2).map(of).collect()
    }
}

/// What says where segments begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Offsets of 32 bits.
    Offsets,
    /// Offsets of 64 bits.
    WideOffsets,
    /// Keys of 32 bits, of which equal neighbours belong together.
    Keys,
}

impl Way {
    /// The name of a case.
    pub(crate) fn name<T: Item>(self, lengths: Lengths) -> String {
        let way = match self {
            Self::Offsets => "",
            Self::WideOffsets => "offsets of i64, ",
            Self::Keys => "by key ",
        };
        format!("{} {way}{}", T::NAME, lengths.name())
    }
}

impl Lab {
    /// Elements of one type, which are small integers.
    pub(crate) fn values<T: Value>(&self) -> anyhow::Result<Values<T>> {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let small: Vec<u8> = (0..self.n).map(|_| random.random_range(0..4)).collect();
        let elements: Vec<T> = small.iter().copied().map(T::small).collect();
        Ok(Values { small, input: self.device.upload(&elements)? })
    }

    /// Measures the sums of segments whose offsets are given, of 32 bits or wide ones. CUB is
    /// measured with offsets of 32 bits alone.
    pub(crate) fn by_offsets<T: Value>(
        &self,
        way: Way,
        lengths: Lengths,
        values: &Values<T>,
    ) -> anyhow::Result<Row>
    where
        Sum: SegmentOperation<T, RowRaw: Number>,
    {
        let name = way.name::<T>(lengths);
        let offsets = lengths.offsets(self.n);
        let expected = values.sums(&offsets);
        let check = |found: &[Raw<T>]| compare(&name, found, &expected);
        if way == Way::WideOffsets {
            let wide: Vec<i64> = offsets.into_iter().map(i64::from).collect();
            return self.over_segments(&name, Sum, &wide, values, None, check);
        }
        let cub = format!("cub_segments_sum_{}", T::NAME);
        self.over_segments(&name, Sum, &offsets, values, Some(&cub), check)
    }

    /// Measures an operation over segments with these offsets. `check` compares its raw results
    /// with the right ones. `cub` is the name of CUB's function, if there is one, and CUB has the
    /// same raw results.
    pub(crate) fn over_segments<T: Value, O: SegmentOperation<T>, B: Offset>(
        &self,
        name: &str,
        operation: O,
        offsets: &[B],
        values: &Values<T>,
        cub: Option<&str>,
        check: impl Fn(&[O::RowRaw]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Row> {
        eprintln!("{name}");
        let (device, input) = (&self.device, &values.input);
        let (stream, reducer) = (device.stream()?, device.segment_reducer(operation)?);
        let segments = offsets.len() - 1;
        let offsets = device.upload(offsets)?;
        let mut status = device.upload(&[SegmentStatus::default()])?;
        // The twin writes multiples of 16 bytes.
        let mut out = device.alloc::<O::RowRaw>(segments + 16)?;
        let address = out.address();

        let ours = self.capture(|stream| {
            let out = out.view_mut(..segments);
            reducer.reduce_segments_into(input, &offsets, out, &mut status, stream)?;
            Ok(())
        })?;
        let check = |graph: &Graph| {
            graph.launch(&stream)?;
            stream.synchronize()?;
            check(&out.view(..segments).copy_to_host()?)
        };
        check(&ours).context("warpfold")?;
        ensure!(status.copy_to_host()?[0] == SegmentStatus::default(), "the offsets are right");

        let read = (self.n * size_of::<T>() + size_of::<B>() * (segments + 1)) as u64;
        let written = (segments * size_of::<O::RowRaw>()) as u64;
        let mut graphs = vec![ours];
        let (piece, temp);
        if let Some(peers) = &self.peers {
            // The twin reads elements and offsets as one piece.
            piece = device.alloc::<u8>(read as usize)?;
            graphs.push(self.twin(peers, (piece.address(), read), (address, written))?);
            let cub =
                cub.and_then(|cub| peers.cub_segments(cub, segments as u64, offsets.address()));
            if let Some(cub) = cub {
                temp = device.alloc::<u8>(cub.temp_bytes()?)?;
                let cub = self.capture(|stream| {
                    // SAFETY: as for the twin. The results of CUB are as large as ours.
                    unsafe { cub.call(&temp, input.address(), address, handle(stream)?) }
                })?;
                check(&cub).context("cub")?;
                graphs.push(cub);
            }
        }
        self.row(name.to_owned(), segments, read + written, &graphs, &stream)
    }

    /// Measures the graphs, which take turns: ours, the twin's and that of CUB or another peer.
    pub(crate) fn row(
        &self,
        name: String,
        segments: usize,
        bytes: u64,
        graphs: &[Graph],
        stream: &Stream,
    ) -> anyhow::Result<Row> {
        let graphs: Vec<_> = graphs.iter().collect();
        let times = bench::take_turns(&graphs, CALLS, stream, WARM_UPS, self.samples)?;
        let mut times = times.into_iter().map(Times::of);
        let ours = times.next().context("there is one graph at least")?;
        let (twin, peer) = (times.next(), times.next());
        Ok(Row { name, segments, bytes, ours, twin, peer, peer_name: "cub" })
    }

    /// Records the calls of the twin, which reads and writes so many bytes at these addresses.
    pub(crate) fn twin(
        &self,
        peers: &RowPeers,
        read: (u64, u64),
        written: (u64, u64),
    ) -> anyhow::Result<Graph> {
        self.capture(|stream| {
            // SAFETY: the device that made the stream has made its context current in this thread.
            // The callers' buffers hold so many bytes, and outlive the graph.
            unsafe { peers.twin(read, written, handle(stream)?) }
        })
    }

    /// Records the calls of a contender.
    pub(crate) fn capture(
        &self,
        mut call: impl FnMut(&Stream) -> anyhow::Result<()>,
    ) -> anyhow::Result<Graph> {
        Ok(self.device.capture(|stream| (0..CALLS).try_for_each(|_| call(stream)))?.0)
    }
}

/// Compares sums with those that are right.
pub(crate) fn compare<R: Number>(name: &str, found: &[R], expected: &[f64]) -> anyhow::Result<()> {
    ensure!(found.len() == expected.len(), "{name}: there are {} results", found.len());
    for (i, (found, &expected)) in found.iter().zip(expected).enumerate() {
        let found = found.number();
        ensure!(
            (found - expected).abs() <= 1e-5 * expected,
            "{name}: sum {i} is {found} and must be {expected}"
        );
    }
    Ok(())
}

pub(crate) fn handle(stream: &Stream) -> anyhow::Result<*mut std::ffi::c_void> {
    stream.raw().context("the peers need a GPU")
}
