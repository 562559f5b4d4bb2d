//! Times the rungs of the ladder, each beside its twin from another compiler. They have the same
//! names, launch shapes and buffers, and take turns in one process.
//!
//! Each launch reads its input from memory, not from a cache. If the input is small, launches
//! rotate among up to 64 copies of it, which together are larger than the L2 cache. Only an input
//! below 4 MB stays in the cache. Before a kernel is timed, its partial results are checked.

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
    device::{Arg, Buffer, Device, DeviceChoice, DeviceKind, Kernel, LaunchShape, Pod},
    element::ElementType,
    launch::{self, Problem, Request, Stage},
    op::Op,
    ptx::PtxLibrary,
    reduce::Runner,
    variant::{Parameter, Results, Variant},
};

/// The least bytes of all copies of an input together: five times the L2 cache of an H100 (50 MB).
const ROTATION_BYTES: u64 = 256 << 20;

/// The most launches of a sample. More copies of an input than launches are useless.
const MOST_LAUNCHES: u64 = 64;

/// The least bytes of input that a sample reads. They take so long that the clock's resolution
/// (half a microsecond) does not matter.
const SAMPLE_BYTES: u64 = 512 << 20;

/// Compares the times of the ladder's rungs with those of the same kernels from another compiler
#[derive(Parser)]
#[command(version)]
struct Args {
    /// A PTX or cubin file from the other compiler, with kernels of the same names
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,

    /// The rungs, as `reduce --variant` takes them; a rung that has no kernel for a type is left
    /// out for that type
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,atomic,atomic-warp"
    )]
    variant: Vec<Variant>,

    /// The numbers of elements
    #[arg(long, value_delimiter = ',', default_values_t = [1 << 22, 1 << 24, 1 << 28])]
    n: Vec<u64>,

    /// The element types: i32, f32
    #[arg(long = "type", value_delimiter = ',', default_value = "i32,f32")]
    elements: Vec<ElementType>,

    /// Number of threads in a block
    #[arg(long, default_value_t = 256)]
    block: u64,

    /// Number of measurements of each kernel; their median is reported
    #[arg(long, default_value_t = 41)]
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

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    ensure!(args.samples > 0, "samples is 0, and at least 1 is needed");
    ensure!(!args.n.contains(&0), "n is 0, and at least 1 is needed");
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
    for &element in &args.elements {
        for &n in &args.n {
            match element {
                ElementType::I32 => bench.measure_all::<i32>(element, n, &mut out, &mut rows)?,
                ElementType::F32 => bench.measure_all::<f32>(element, n, &mut out, &mut rows)?,
                _ => anyhow::bail!("type {element} is not measured here, only i32 and f32"),
            }
        }
    }
    if let Some(file) = &args.json {
        let info = bench.device.info();
        let report = json!({
            "device": info.name,
            "time_kind": info.kind.time_kind(),
            "peak_gb_per_s": info.peak_bytes_per_second.map(|peak| peak / 1e9),
            "peer": args.peer.as_ref().map(|file| file.display().to_string()),
            "samples": args.samples,
            "rows": rows,
        });
        fs::write(file, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn load_peer(device: &Device, file: &Path) -> anyhow::Result<warpfold::device::Module> {
    let image = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(device.load_image(&file.display().to_string(), &image)?)
}

/// The type of an element.
trait Element: Pod {
    /// Half the distance from 1 to the next number; 0 for integers, whose sums are exact.
    const UNIT_ROUNDOFF: f64;
    fn new(small: u8) -> Self;
    fn to_i64(self) -> i64;
}

impl Element for i32 {
    const UNIT_ROUNDOFF: f64 = 0.0;
    fn new(small: u8) -> Self {
        small.into()
    }
    fn to_i64(self) -> i64 {
        self.into()
    }
}

impl Element for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    fn new(small: u8) -> Self {
        small.into()
    }
    fn to_i64(self) -> i64 {
        self as i64
    }
}

/// `n` values from 0 to 7, and their sum.
fn input<T: Element>(n: u64) -> (Vec<T>, i64) {
    let mut sum = 0;
    // The high bits of a linear congruential generator (Knuth's MMIX).
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let values = (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let small = (state >> 61) as u8;
            sum += i64::from(small);
            T::new(small)
        })
        .collect();
    (values, sum)
}

struct Bench<'a> {
    args: &'a Args,
    device: Device,
    library: PtxLibrary,
    peer: Option<warpfold::device::Module>,
}

/// The buffers of one size and type: several inputs with the same content, and the outputs.
struct Buffers<T: Pod> {
    inputs: Vec<Buffer<T>>,
    output: Buffer<T>,
    /// The partial results of a kernel that combines them itself. It uses `counter` to know when
    /// all of them are there.
    partials: Buffer<T>,
    counter: Buffer<u32>,
    /// The single result of a kernel with atomics. `zero` holds its value before the launch.
    total: Buffer<T>,
    zero: Buffer<T>,
    sum: i64,
}

/// The first launch of a plan, with its kernel's name.
struct Launch {
    variant: Variant,
    kernel: String,
    stage: Stage,
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
        write!(
            out,
            "{:<22} {:>10} {:>7} {:>5}  {:>34}",
            "kernel", "n", "grid", "block", "rust us"
        )?;
        if self.peer.is_some() {
            write!(out, "  {:>34} {:>10}", "peer us", "rust/peer")?;
        }
        writeln!(out, " {:>8}", if info.kind == DeviceKind::Cuda { "GB/s" } else { "" })
    }

    fn measure_all<T: Element>(
        &self,
        element: ElementType,
        n: u64,
        out: &mut impl Write,
        rows: &mut Vec<Json>,
    ) -> anyhow::Result<()> {
        let (values, sum) = input::<T>(n);
        let bytes = n * size_of::<T>() as u64;
        let mut inputs = vec![self.device.upload(&values)?];
        for _ in 1..ROTATION_BYTES.div_ceil(bytes).min(MOST_LAUNCHES) {
            let mut copy = self.device.alloc(values.len())?;
            copy.copy_from(&inputs[0])?;
            inputs.push(copy);
        }
        drop(values);
        let mut runner = Runner::new(&self.device, &self.library);
        let variants = self.args.variant.iter().filter(|variant| variant.allows(Op::Sum, element));
        let launches = variants.map(|&variant| {
            let problem = Problem { variant, op: Op::Sum, element, n };
            let request = Request { block: Some(self.args.block), ..Request::default() };
            let plan = launch::plan(&problem, &request, &runner.limits(&problem, &request)?)?;
            let stage = *plan.stages.first().expect("n is at least 1");
            Ok(Launch { variant, kernel: plan.kernel, stage })
        });
        let launches: Vec<_> = launches.collect::<anyhow::Result<_>>()?;
        let most = |of: fn(&Stage) -> u64| {
            launches.iter().map(|launch| of(&launch.stage)).max().unwrap_or(0) as usize
        };
        let mut counter = self.device.alloc(1)?;
        counter.fill_bytes(0)?;
        let mut buffers = Buffers {
            inputs,
            output: self.device.alloc(most(|stage| stage.outputs))?,
            partials: self.device.alloc(most(|stage| stage.workspace))?,
            counter,
            total: self.device.alloc(1)?,
            zero: self.device.upload(&[T::new(0)])?,
            sum,
        };
        for launch in &launches {
            let row = self.measure(launch, &mut buffers)?;
            row.write(&launch.kernel, n, launch.stage.shape, out)?;
            rows.push(row.to_json(&launch.kernel, n, launch.stage.shape));
        }
        Ok(())
    }

    fn measure<T: Element>(
        &self,
        launch: &Launch,
        buffers: &mut Buffers<T>,
    ) -> anyhow::Result<Row> {
        let name = launch.kernel.as_str();
        let ptx = self.library.find(name, self.device.info().compute_capability)?;
        let mut kernels = vec![self.device.load(&ptx.file, &ptx.text)?.kernel(name)?];
        if let Some(peer) = &self.peer {
            kernels.push(peer.kernel(name)?);
        }
        for (kernel, whose) in kernels.iter().zip(["ours", "the peer's"]) {
            self.check(kernel, launch, buffers).with_context(|| format!("{name}, {whose}"))?;
        }

        let bytes = buffers.inputs[0].len() as u64 * size_of::<T>() as u64;
        let launches = (SAMPLE_BYTES / bytes).clamp(1, MOST_LAUNCHES) as u32;
        let mut samples = vec![Vec::new(); kernels.len()];
        // The first round warms up. After each round, the kernel and its twin change places.
        for round in 0..=self.args.samples {
            let mut order: Vec<usize> = (0..kernels.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for index in order {
                let time = self.device.time(|| {
                    (0..launches as usize)
                        .try_for_each(|round| self.launch(&kernels[index], launch, buffers, round))
                })?;
                if round > 0 {
                    samples[index].push(time / launches);
                }
            }
        }
        let mut times = samples.into_iter().map(Times::of);
        let ours = times.next().expect("our kernel is always measured");
        // The time of a simulation gives no bandwidth.
        let bytes = (self.device.info().kind == DeviceKind::Cuda).then_some(bytes);
        Ok(Row { bytes, ours, peer: times.next() })
    }

    /// Launches the kernel over one of the inputs. For a kernel with atomics this includes setting
    /// the total to its initial value.
    fn launch<T: Pod>(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        buffers: &mut Buffers<T>,
        round: usize,
    ) -> anyhow::Result<()> {
        let is_atomic = launch.variant.facts().results == Results::Atomic;
        if is_atomic {
            buffers.total.copy_from(&buffers.zero)?;
        }
        let input = &buffers.inputs[round % buffers.inputs.len()];
        let output = if is_atomic { &buffers.total } else { &buffers.output };
        let argument = |parameter: &Parameter| match parameter {
            Parameter::Input => Arg::Pointer(input.address()),
            Parameter::Output => Arg::Pointer(output.address()),
            Parameter::Count => Arg::U64(input.len() as u64),
            Parameter::Partials => Arg::Pointer(buffers.partials.address()),
            Parameter::Counter => Arg::Pointer(buffers.counter.address()),
        };
        let args: Vec<Arg> = launch.variant.parameters().iter().map(argument).collect();
        // SAFETY: the buffers are as long as the stage of the plan demands.
        let _: () = unsafe { self.device.launch(kernel, launch.stage.shape, &args)? };
        Ok(())
    }

    /// Runs the kernel once, adds its partial results and checks the sum.
    fn check<T: Element>(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        buffers: &mut Buffers<T>,
    ) -> anyhow::Result<()> {
        buffers.output.fill_bytes(0xa5)?;
        self.launch(kernel, launch, buffers, 0)?;
        let is_atomic = launch.variant.facts().results == Results::Atomic;
        let left = if is_atomic { &buffers.total } else { &buffers.output }.copy_to_host()?;
        let sum: i64 =
            left[..launch.stage.outputs as usize].iter().map(|partial| partial.to_i64()).sum();
        // The bound is from N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
        // section 4.2, for values of one sign.
        let roundings = launch.stage.depth as f64 * T::UNIT_ROUNDOFF;
        let bound = roundings / (1.0 - roundings) * buffers.sum as f64;
        let is_near = sum.abs_diff(buffers.sum) as f64 <= bound;
        ensure!(
            is_near,
            "wrong result: the partial sums add up to {sum}, and it should be {}",
            buffers.sum
        );
        Ok(())
    }
}

struct Row {
    /// The bytes that one launch reads; `None` on the simulator, whose time gives no bandwidth.
    bytes: Option<u64>,
    ours: Times,
    peer: Option<Times>,
}

impl Row {
    /// The peer's time over ours; above 1 if ours is faster.
    fn ratio(&self) -> Option<f64> {
        self.peer.map(|peer| peer.median.as_secs_f64() / self.ours.median.as_secs_f64())
    }

    fn write(
        &self,
        kernel: &str,
        n: u64,
        shape: LaunchShape,
        out: &mut impl Write,
    ) -> io::Result<()> {
        write!(
            out,
            "{kernel:<22} {n:>10} {:>7} {:>5}  {:>34}",
            shape.grid.x,
            shape.block.x,
            text(&self.ours)
        )?;
        if let (Some(peer), Some(ratio)) = (&self.peer, self.ratio()) {
            write!(out, "  {:>34} {ratio:>10.3}", text(peer))?;
        }
        if let Some(bytes) = self.bytes {
            write!(out, " {:>8.0}", gb_per_s(bytes, self.ours.median))?;
        }
        writeln!(out)
    }

    fn to_json(&self, kernel: &str, n: u64, shape: LaunchShape) -> Json {
        let times = |times: &Times| {
            json!({
                "median_us": us(times.median),
                "quartiles_us": [us(times.lower_quartile), us(times.upper_quartile)],
                "min_us": us(times.min),
                "max_us": us(times.max),
                "gb_per_s": self.bytes.map(|bytes| gb_per_s(bytes, times.median)),
            })
        };
        json!({
            "kernel": kernel, "n": n, "grid": shape.grid.x, "block": shape.block.x, "shared_bytes": shape.shared_bytes,
            "rust": times(&self.ours), "peer": self.peer.as_ref().map(times), "ratio": self.ratio(),
        })
    }
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
