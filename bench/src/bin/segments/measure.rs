//! Measures sums of segments of one element type. The contenders take turns.

use anyhow::{Context, ensure};
use bench::{Times, row_peers::RowPeers};
use half::f16;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    Item, Operation, SegmentOperation, SegmentStatus, Sum,
    device::{Buffer, Device, Graph, Pod, Stream},
};

use crate::cases::Lengths;

/// The number of calls in a graph.
const CALLS: u32 = 5;

/// The number of measurements that only warm the device up and do not count.
const WARM_UPS: usize = 3;

/// A type of elements.
pub(crate) trait Value: Item {
    /// A small number in this type.
    fn small(number: u8) -> Self;
}

macro_rules! values {
    ($($t:ty: $of:expr;)*) => {$(
        impl Value for $t {
            fn small(number: u8) -> Self {
                $of(number)
            }
        }
    )*};
}

values! {
    f32: f32::from;
    f64: f64::from;
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
type Raw<T> = <Sum as Operation<T>>::Raw;

/// What is measured of a case.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) segments: usize,
    pub(crate) bytes: u64,
    pub(crate) ours: Times,
    pub(crate) twin: Option<Times>,
    pub(crate) cub: Option<Times>,
}

/// What measures.
pub(crate) struct Lab {
    pub(crate) device: Device,
    pub(crate) peers: Option<RowPeers>,
    /// How many elements an array has.
    pub(crate) n: usize,
    pub(crate) samples: usize,
}

/// The name of a case.
pub(crate) fn name<T: Item>(lengths: Lengths) -> String {
    format!("{} {}", T::NAME, lengths.name())
}

impl Lab {
    /// Measures the sums of one type.
    pub(crate) fn measure<T: Value>(&self, lengths: &[Lengths]) -> anyhow::Result<Vec<Row>>
    where
        Sum: SegmentOperation<T, Raw: Number>,
    {
        if lengths.is_empty() {
            return Ok(Vec::new());
        }
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let values: Vec<u8> = (0..self.n).map(|_| random.random_range(0..4)).collect();
        let host: Vec<T> = values.iter().copied().map(T::small).collect();
        let input = self.device.upload(&host)?;
        lengths.iter().map(|&lengths| self.case(lengths, &values, &input)).collect()
    }

    fn case<T: Value>(
        &self,
        lengths: Lengths,
        values: &[u8],
        input: &Buffer<T>,
    ) -> anyhow::Result<Row>
    where
        Sum: SegmentOperation<T, Raw: Number>,
    {
        let name = name::<T>(lengths);
        eprintln!("{name}");
        let device = &self.device;
        let (stream, sums) = (device.stream()?, device.segment_reducer::<T, _>(Sum)?);
        let offsets = lengths.offsets(self.n);
        let segments = offsets.len() - 1;
        let expected: Vec<f64> = offsets
            .windows(2)
            .map(|pair| {
                let segment = &values[pair[0] as usize..pair[1] as usize];
                segment.iter().map(|&value| u64::from(value)).sum::<u64>() as f64
            })
            .collect();
        let offsets = device.upload(&offsets)?;
        let mut status = device.upload(&[SegmentStatus::default()])?;
        // The twin writes multiples of 16 bytes.
        let mut out = device.alloc::<Raw<T>>(segments + 16)?;
        let address = out.address();

        let ours = self.capture(|stream| {
            let out = out.view_mut(..segments);
            sums.reduce_segments_into(input, &offsets, out, &mut status, stream)?;
            Ok(())
        })?;
        let check = |graph: &Graph| {
            graph.launch(&stream)?;
            stream.synchronize()?;
            let found = out.view(..segments).copy_to_host()?;
            for (i, (found, &expected)) in found.into_iter().zip(&expected).enumerate() {
                let found = found.number();
                ensure!(
                    (found - expected).abs() <= 1e-5 * expected,
                    "{name}: segment {i} is {found} and must be {expected}"
                );
            }
            Ok(())
        };
        check(&ours).context("warpfold")?;
        ensure!(status.copy_to_host()?[0] == SegmentStatus::default(), "the offsets are right");

        let read = values.len() * size_of::<T>() + 4 * (segments + 1);
        let written = segments * size_of::<Raw<T>>();
        let mut graphs = vec![ours];
        let (piece, temp);
        if let Some(peers) = &self.peers {
            // The twin reads elements and offsets as one piece.
            piece = device.alloc::<u8>(read)?;
            graphs.push(self.capture(|stream| {
                let (read, written) = ((piece.address(), read as u64), (address, written as u64));
                // SAFETY: the device that made the stream has made its context current in this
                // thread. The buffers hold so many bytes, and outlive the graph.
                unsafe { peers.twin(read, written, handle(stream)?) }
            })?);
            let cub = format!("cub_segments_sum_{}", T::NAME);
            if let Some(cub) = peers.cub_segments(&cub, segments as u64, offsets.address()) {
                temp = device.alloc::<u8>(cub.temp_bytes()?)?;
                let cub = self.capture(|stream| {
                    // SAFETY: as for the twin. The results of CUB are as large as ours.
                    unsafe { cub.call(&temp, input.address(), address, handle(stream)?) }
                })?;
                check(&cub).context("cub")?;
                graphs.push(cub);
            }
        }
        let graphs: Vec<_> = graphs.iter().collect();
        let times = bench::take_turns(&graphs, CALLS, &stream, WARM_UPS, self.samples)?;
        let mut times = times.into_iter().map(Times::of);
        Ok(Row {
            name,
            segments,
            bytes: (read + written) as u64,
            ours: times.next().context("there is one graph at least")?,
            twin: times.next(),
            cub: times.next(),
        })
    }

    /// Records the calls of a contender.
    fn capture(
        &self,
        mut call: impl FnMut(&Stream) -> anyhow::Result<()>,
    ) -> anyhow::Result<Graph> {
        Ok(self.device.capture(|stream| (0..CALLS).try_for_each(|_| call(stream)))?.0)
    }
}

fn handle(stream: &Stream) -> anyhow::Result<*mut std::ffi::c_void> {
    stream.raw().context("the peers need a GPU")
}
