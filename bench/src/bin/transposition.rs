//! Times the transpositions, each beside its twin from another compiler and beside a
//! device-to-device copy of the same bytes. Twins have the same names, launch shapes and buffers.
//! All of these take turns in one process.
//!
//! If a matrix is small, launches rotate among pairs of matrices that together are larger than the
//! L2 cache. Every kernel is checked before it is timed, with a matrix of odd extents; up to 128
//! MB, the timed matrix is checked as well.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use bench::{Times, gb_per_s};
use clap::Parser;
use serde_json::{Value as Json, json};
use warpfold_lab::{
    cli,
    device::{Arg, Buffer, Device, DeviceChoice, DeviceError, DeviceKind, Dim3, Kernel, Module},
    ptx::PtxLibrary,
    transpose::{ElementType, Matrix, Moves, Plan, Problem, Variant, plan},
};

/// The least bytes of all pairs of matrices together: five times the L2 cache of an H100 (50 MB).
const ROTATION_BYTES: u64 = 256 << 20;

/// The least bytes that a sample moves. They take so long that the clock's resolution (half a
/// microsecond) does not matter.
const SAMPLE_BYTES: u64 = 1 << 30;

/// The most launches of a sample.
const MOST_LAUNCHES: u64 = 64;

/// A matrix up to this size is checked whole after each kernel.
const CHECKED_BYTES: u64 = 128 << 20;

/// The best public figure known for a transposition of 16384 x 16384 floats on an H100, read and
/// written, in GB/s.
const PUBLIC_GB_PER_S: f64 = 2771.0;

/// Compares the times of the transpositions with those of the same kernels from another compiler,
/// and with a device-to-device copy
#[derive(Parser)]
#[command(version)]
struct Args {
    /// A PTX or cubin file from the other compiler, with kernels of the same names
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,

    /// The variants, as `transpose --variant` takes them [default: all]
    #[arg(long, value_delimiter = ',')]
    variant: Vec<Variant>,

    /// The matrices, each as TYPE:ROWSxCOLS, such as f32:4096x4096
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "f32:16384x16384,f32:8192x8192,f32:4096x4096,f32:4000x4000,u8:32768x32768,u16:32768x16384,\
                         u64:16384x8192,u128:8192x8192"
    )]
    matrix: Vec<Work>,

    /// Number of elements on each side of a tile, for the variants of the lecture
    #[arg(long, default_value_t = 32)]
    tile: u64,

    /// Number of measurements of each kernel; their median is reported
    #[arg(long, default_value_t = 21)]
    samples: usize,

    /// The device that runs the kernels: auto, cuda or sim
    #[arg(long, default_value = "cuda")]
    device: DeviceChoice,

    /// Write all numbers to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// A folder of PTX to use instead of the embedded one
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

/// A matrix to transpose.
#[derive(Clone, Copy, Debug)]
struct Work {
    element: ElementType,
    rows: u64,
    cols: u64,
}

impl std::str::FromStr for Work {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (element, extent) =
            text.split_once(':').context("a matrix is written as f32:4000x4000")?;
        let (rows, cols) =
            extent.split_once('x').context("a matrix is written as f32:4000x4000")?;
        let work = Self { element: element.parse()?, rows: rows.parse()?, cols: cols.parse()? };
        ensure!(
            work.rows > 0 && work.cols > 0,
            "{text}: a matrix needs at least one row and one column"
        );
        Ok(work)
    }
}

impl Work {
    fn bytes(self) -> u64 {
        self.rows * self.cols * u64::from(self.element.size())
    }
}

fn main() -> anyhow::Result<()> {
    let mut args = Args::parse();
    ensure!(args.samples > 0, "samples is 0, and at least 1 is needed");
    if args.variant.is_empty() {
        args.variant = Variant::all().collect();
    }
    cli::choose_driver();
    let device = args.device.open()?;
    let bench = Bench {
        library: PtxLibrary::open(args.ptx_dir.as_deref())?,
        peer: args.peer.as_deref().map(|file| load_peer(&device, file)).transpose()?,
        device,
        args: &args,
    };
    let mut rows = Vec::new();
    let mut out = io::stdout().lock();
    bench.write_head(&mut out)?;
    let largest = args.matrix.iter().map(|work| work.bytes()).max().unwrap_or(0);
    // Only bits count, so the same bits serve as elements of any type.
    let bits = Matrix::generate(ElementType::U8, 1, largest, 1)?;
    for &work in &args.matrix {
        bench.measure_all(work, bits.bytes(), &mut out, &mut rows)?;
    }
    if let Some(file) = &args.json {
        let info = bench.device.info();
        let report = json!({
            "device": info.name,
            "time_kind": info.kind.time_kind(),
            "peak_gb_per_s": info.peak_bytes_per_second.map(|peak| peak / 1e9),
            "public_gb_per_s": PUBLIC_GB_PER_S,
            "peer": args.peer.as_ref().map(|file| file.display().to_string()),
            "samples": args.samples,
            "rows": rows,
        });
        fs::write(file, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn load_peer(device: &Device, file: &Path) -> anyhow::Result<Module> {
    let image = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(device.load_image(&file.display().to_string(), &image)?)
}

struct Bench<'a> {
    args: &'a Args,
    device: Device,
    library: PtxLibrary,
    peer: Option<Module>,
}

/// Pairs of buffers: an input and its output.
type Pairs = Vec<(Buffer<u8>, Buffer<u8>)>;

/// The times of a contender: those of our kernel, and those of the peer's if there is one.
type OfContender = (Times, Option<Times>);

/// A kernel to measure: ours, and its twin of the peer if there is one.
struct Contender {
    plan: Plan,
    ours: Kernel,
    peer: Option<Kernel>,
}

impl Bench<'_> {
    fn write_head(&self, out: &mut impl Write) -> io::Result<()> {
        let info = self.device.info();
        write!(out, "{}", info.name)?;
        if let Some(peak) = info.peak_bytes_per_second {
            write!(out, ", peak {:.0} GB/s", peak / 1e9)?;
        }
        writeln!(
            out,
            ", {} times, median of {} [quartiles]",
            info.kind.time_kind(),
            self.args.samples
        )?;
        write!(out, "{:<30} {:>12}  {:>30}", "kernel", "matrix", "rust us")?;
        if self.peer.is_some() {
            write!(out, "  {:>30} {:>9}", "peer us", "rust/peer")?;
        }
        writeln!(out, " {:>8} {:>8}", "GB/s", "of copy")
    }

    fn plans(&self, work: Work) -> anyhow::Result<Vec<Plan>> {
        let Work { element, rows, cols } = work;
        let mut plans = Vec::new();
        for &variant in &self.args.variant {
            if variant.facts().moves == Moves::TransposesInPlace && rows != cols {
                continue;
            }
            let tile =
                variant.tiles(element).contains(&(self.args.tile as u32)).then_some(self.args.tile);
            plans.push(plan(&Problem { variant, element, rows, cols }, tile, u64::MAX)?);
        }
        Ok(plans)
    }

    fn measure_all(
        &self,
        work: Work,
        bits: &[u8],
        out: &mut impl Write,
        rows: &mut Vec<Json>,
    ) -> anyhow::Result<()> {
        let contenders: Vec<_> = self
            .plans(work)?
            .into_iter()
            .map(|plan| self.contender(plan))
            .collect::<Result<_, _>>()?;
        let odd = Work { rows: 515, cols: 1027, ..work };
        let odd_bits =
            Matrix::new(odd.element, odd.rows as usize, odd.cols as usize, bits_of(odd)?);
        for (contender, odd) in contenders.iter().zip(plans_for_check(&contenders, odd)?) {
            self.check(contender, &odd, &odd_bits)?;
        }

        let bytes = work.bytes();
        let matrix = Matrix::new(
            work.element,
            work.rows as usize,
            work.cols as usize,
            bits[..bytes as usize].to_vec(),
        );
        if bytes <= CHECKED_BYTES {
            for contender in &contenders {
                self.check(contender, &contender.plan, &matrix)?;
            }
        }
        let pairs = ROTATION_BYTES.div_ceil(2 * bytes).clamp(1, MOST_LAUNCHES);
        let mut pairs: Pairs = (0..pairs)
            .map(|_| {
                Ok((self.device.upload(matrix.bytes())?, self.device.alloc(matrix.bytes().len())?))
            })
            .collect::<Result<_, DeviceError>>()?;
        drop(matrix);
        let (copy, times) = self.take_turns(&contenders, bytes, &mut pairs)?;
        let gpu = self.device.info().kind == DeviceKind::Cuda;
        let row = Row { work, gpu, copy };
        row.write("device-to-device copy", &copy, None, self.peer.is_some(), out)?;
        for (contender, (ours, peer)) in contenders.iter().zip(times) {
            row.write(&contender.plan.kernel, &ours, peer.as_ref(), self.peer.is_some(), out)?;
            rows.push(row.to_json(&contender.plan, &ours, peer.as_ref()));
        }
        Ok(())
    }

    fn contender(&self, plan: Plan) -> anyhow::Result<Contender> {
        let ptx = self.library.find(&plan.kernel, self.device.info().compute_capability)?;
        let ours = self.device.load(&ptx.file, &ptx.text)?.kernel(&plan.kernel)?;
        // A kernel that the peer lacks is measured alone.
        let peer = self.peer.as_ref().and_then(|peer| peer.kernel(&plan.kernel).ok());
        Ok(Contender { plan, ours, peer })
    }

    /// Runs the kernel and its twin once and compares their results with the expected one.
    fn check(&self, contender: &Contender, plan: &Plan, matrix: &Matrix) -> anyhow::Result<()> {
        let moves = plan.problem.variant.facts().moves;
        // A kernel that works in place transposes a part of the matrix: a square of as many columns
        // as rows.
        let (rows, cols) = (plan.problem.rows as usize, plan.problem.cols as usize);
        let len = rows * cols * plan.problem.element.size() as usize;
        let matrix = Matrix::new(plan.problem.element, rows, cols, matrix.bytes()[..len].to_vec());
        let input = self.device.upload(matrix.bytes())?;
        for (kernel, whose) in
            [(Some(&contender.ours), "ours"), (contender.peer.as_ref(), "the peer's")]
        {
            let Some(kernel) = kernel else { continue };
            let mut output = self.device.alloc(len)?;
            output.fill_bytes(0xa5)?;
            if moves == Moves::TransposesInPlace {
                output.copy_from(&input)?;
            }
            self.launch(kernel, plan, &input, &output)?;
            let difference = matrix.difference(moves, &output.copy_to_host()?);
            if let Some(difference) = difference {
                anyhow::bail!(
                    "{}, {whose}, {rows} x {cols}: wrong result: {difference}",
                    plan.kernel
                );
            }
        }
        Ok(())
    }

    fn launch(
        &self,
        kernel: &Kernel,
        plan: &Plan,
        input: &Buffer<u8>,
        output: &Buffer<u8>,
    ) -> Result<(), DeviceError> {
        let shape = plan.shape.expect("the matrix is not empty");
        let (rows, cols) = (Arg::U32(plan.problem.rows as u32), Arg::U32(plan.problem.cols as u32));
        if plan.problem.variant.facts().moves == Moves::TransposesInPlace {
            // SAFETY: the buffer holds the square matrix that the kernel transposes.
            return unsafe {
                self.device.launch(kernel, shape, &[Arg::Pointer(output.address()), rows])
            };
        }
        let args = [Arg::Pointer(input.address()), Arg::Pointer(output.address()), rows, cols];
        // SAFETY: both buffers hold the elements of the whole matrix.
        unsafe { self.device.launch(kernel, shape, &args) }
    }

    /// The times of a copy, and of each contender and its twin.
    fn take_turns(
        &self,
        contenders: &[Contender],
        bytes: u64,
        pairs: &mut Pairs,
    ) -> anyhow::Result<(Times, Vec<OfContender>)> {
        let launches = SAMPLE_BYTES.div_ceil(2 * bytes).clamp(1, MOST_LAUNCHES) as usize;
        let mut copies = Vec::new();
        let mut samples = vec![(Vec::new(), Vec::new()); contenders.len()];
        // The first round warms up. After each round, the first contender becomes the last.
        for round in 0..=self.args.samples {
            let copy = self.device.time(|| {
                (0..launches).try_for_each(|launch| {
                    let count = pairs.len();
                    let (input, output) = &mut pairs[launch % count];
                    output.copy_from(input)
                })
            })?;
            let mut order: Vec<(usize, bool)> =
                (0..contenders.len()).flat_map(|index| [(index, false), (index, true)]).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for (index, is_peer) in order {
                let contender = &contenders[index];
                let Some(kernel) =
                    (if is_peer { contender.peer.as_ref() } else { Some(&contender.ours) })
                else {
                    continue;
                };
                let time = self.device.time(|| {
                    (0..launches).try_for_each(|launch| {
                        let (input, output) = &pairs[launch % pairs.len()];
                        self.launch(kernel, &contender.plan, input, output)
                    })
                })?;
                if round > 0 {
                    let (ours, peer) = &mut samples[index];
                    (if is_peer { peer } else { ours }).push(time / launches as u32);
                }
            }
            if round > 0 {
                copies.push(copy / launches as u32);
            }
        }
        let times = samples.into_iter().map(|(ours, peer)| {
            let peer = (!peer.is_empty()).then(|| Times::of(peer));
            (Times::of(ours), peer)
        });
        Ok((Times::of(copies), times.collect()))
    }
}

/// The plans of the same kernels for another matrix. Kernels that work in place get a square part
/// of it.
fn plans_for_check(contenders: &[Contender], work: Work) -> anyhow::Result<Vec<Plan>> {
    let plans = contenders.iter().map(|Contender { plan: of, .. }| {
        let square = of.problem.variant.facts().moves == Moves::TransposesInPlace;
        let cols = if square { work.rows } else { work.cols };
        Ok(plan(&Problem { rows: work.rows, cols, ..of.problem }, Some(of.tile.into()), u64::MAX)?)
    });
    plans.collect()
}

/// Random bits for a matrix.
fn bits_of(work: Work) -> anyhow::Result<Vec<u8>> {
    Ok(Matrix::generate(work.element, work.rows, work.cols, 2)?.bytes().to_vec())
}

/// The data that all kernels share for one matrix: the work, and the times of the copy.
struct Row {
    work: Work,
    /// Whether the device is a GPU; the time of a simulation gives no bandwidth.
    gpu: bool,
    copy: Times,
}

impl Row {
    fn gb_per_s(&self, times: &Times) -> Option<f64> {
        self.gpu.then(|| gb_per_s(2 * self.work.bytes(), times.median))
    }

    /// The copy's time over the kernel's; above 1 if the kernel is faster.
    fn of_copy(&self, times: &Times) -> f64 {
        self.copy.median.as_secs_f64() / times.median.as_secs_f64()
    }

    fn write(
        &self,
        kernel: &str,
        ours: &Times,
        peer: Option<&Times>,
        peers: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Work { rows, cols, .. } = self.work;
        write!(out, "{kernel:<30} {:>12}  {:>30}", format!("{rows}x{cols}"), text(ours))?;
        match peer {
            Some(peer) => write!(out, "  {:>30} {:>9.3}", text(peer), ratio(ours, peer))?,
            None if peers => write!(out, "  {:>30} {:>9}", "", "")?,
            None => {}
        }
        if let Some(gb_per_s) = self.gb_per_s(ours) {
            write!(out, " {gb_per_s:>8.0} {:>8.3}", self.of_copy(ours))?;
        }
        writeln!(out)
    }

    fn to_json(&self, plan: &Plan, ours: &Times, peer: Option<&Times>) -> Json {
        let times = |times: &Times| {
            json!({
                "median_us": us(times.median),
                "quartiles_us": [us(times.lower_quartile), us(times.upper_quartile)],
                "min_us": us(times.min),
                "max_us": us(times.max),
                "gb_per_s": self.gb_per_s(times),
            })
        };
        let dim = |Dim3 { x, y, z }: Dim3| [x, y, z];
        json!({
            "kernel": plan.kernel,
            "type": self.work.element.name(),
            "rows": self.work.rows,
            "cols": self.work.cols,
            "grid": plan.shape.map(|shape| dim(shape.grid)),
            "block": plan.shape.map(|shape| dim(shape.block)),
            "rust": times(ours),
            "peer": peer.map(times),
            "copy": times(&self.copy),
            "ratio_to_peer": peer.map(|peer| ratio(ours, peer)),
            "ratio_to_copy": self.of_copy(ours),
            "ratio_to_public": self.gb_per_s(ours).map(|gb_per_s| gb_per_s / PUBLIC_GB_PER_S),
        })
    }
}

/// The peer's time over ours; above 1 if ours is faster.
fn ratio(ours: &Times, peer: &Times) -> f64 {
    peer.median.as_secs_f64() / ours.median.as_secs_f64()
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn text(times: &Times) -> String {
    format!(
        "{:.2} [{:.2} {:.2}]",
        us(times.median),
        us(times.lower_quartile),
        us(times.upper_quartile)
    )
}
