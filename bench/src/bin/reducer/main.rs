//! Times the reducer beside CUB, Thrust and a twin, which is the same reducer in CUDA C++. All
//! contenders run in one process, on one stream and over the same memory, and they take turns.
//!
//! Each case is measured in up to four ways: calls one by one and in graphs of ten, with the input
//! in the L2 cache or not. Every result is checked before the calls are timed. All measurements are
//! made twice, unless `--rounds` gives another number.
//!
//! With `--way place`, the benchmark measures the time that a reduction adds between two other
//! kernels instead.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Instant, SystemTime},
};

use anyhow::{Context, ensure};
use bench::peers::PeerLibrary;
use clap::Parser;
use half::{bf16, f16};
use warpfold_lab::{
    cli,
    device::{Device, DeviceChoice, DeviceKind, Module},
    output::Format,
    ptx::PtxLibrary,
};

use cases::{Case, Element, Operation, Way};
use contender::{Contender, Empty, Peer, Thrust};
use data::Input;
use measure::Lab;
use place::{MOST_NAIVE_BYTES, Memory, NAIVE, Place};
use report::{OURS, REFERENCE, Report};
use targets::Gpu;

mod cases;
mod contender;
mod data;
mod gpu;
mod measure;
mod ours;
mod overhead;
mod place;
mod report;
mod targets;

/// Times the reducer beside its peers
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Measure reductions alone, or measure the time that a reduction adds between two other
    /// kernels
    #[arg(long, value_enum, default_value = "calls")]
    way: Way,

    /// The library of CUB and Thrust that bench/peers/build.sh makes. Give the option again to
    /// measure a library of another version too; its results then have the version in their names
    #[arg(long, value_name = "FILE")]
    peers: Vec<PathBuf>,

    /// The production kernels in CUDA C++: the file reduce.cubin that bench/peers/build.sh makes
    #[arg(long, value_name = "FILE")]
    twin: Option<PathBuf>,

    /// A file with the output of bench/peers/peers.py, which is shown beside our times. The option
    /// may be given several times
    #[arg(long, value_name = "FILE")]
    outside: Vec<PathBuf>,

    /// The cases to measure: quick, full, or parts of the names of cases, such as sum_f32,argmin
    #[arg(long, default_value = "full")]
    cases: String,

    /// Print the names of the cases and measure nothing
    #[arg(long)]
    list: bool,

    /// Print the PTX of the kernels between which `--way place` puts a reduction, and measure
    /// nothing; bench/peers/peers.py takes this PTX
    #[arg(long)]
    kernels: bool,

    /// How many times all cases are measured
    #[arg(long, default_value_t = 2)]
    rounds: usize,

    /// How many measurements are made of each contender in each way. If one measurement takes more
    /// than a millisecond, there are at most 31
    #[arg(long, default_value_t = 101)]
    samples: usize,

    /// The device that runs the kernels: auto, cuda or sim
    #[arg(long, default_value = "cuda")]
    device: DeviceChoice,

    /// Write all numbers to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the measurements of `--way place` to this file, as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let cases = match check(&args).and_then(|()| cases::choose(&args.cases, args.way)) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    match run(&args, &cases) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn check(args: &Args) -> anyhow::Result<()> {
    ensure!(args.samples > 0, "samples is 0, and at least 1 is needed");
    ensure!(args.rounds > 0, "rounds is 0, and at least 1 is needed");
    ensure!(args.csv.is_none() || args.way == Way::Place, "only --way place writes CSV");
    Ok(())
}

fn run(args: &Args, cases: &[Case]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if args.list {
        return Ok(cases.iter().try_for_each(|case| writeln!(out, "{case}"))?);
    }
    if args.kernels {
        return Ok(out.write_all(place::ptx().as_bytes())?);
    }
    cli::choose_driver();
    let device = args.device.open()?;
    let library = PtxLibrary::open(None)?;
    let bench = Bench {
        lab: Lab::new(&device, &library, args.samples)?,
        peers: peers(&args.peers)?,
        twin: args.twin.as_deref().map(|file| load(&device, file)).transpose()?,
        device,
        library,
    };
    let gpu = (bench.device.info().kind == DeviceKind::Cuda)
        .then(|| Gpu::from_name(&bench.device.info().name));
    match args.way {
        Way::Calls => run_calls(args, cases, &bench, gpu, &mut out),
        Way::Place => run_place(args, cases, &bench, gpu, &mut out),
    }
}

fn run_calls(
    args: &Args,
    cases: &[Case],
    bench: &Bench,
    gpu: Option<Gpu>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut report = Report {
        environment: bench.environment(args),
        gpu,
        outside: args
            .outside
            .iter()
            .map(|file| report::read_outside(file))
            .collect::<anyhow::Result<Vec<_>>>()?
            .concat(),
        floor: bench.lab.measure_floor(Box::new(Empty::new(&bench.device)?))?,
        ..Report::default()
    };
    for round in 0..args.rounds {
        bench.round(cases, round, &mut report)?;
    }
    report.missing.sort_unstable();
    report.missing.dedup();
    report.document().write(Format::Table, out)?;
    write_json(args.json.as_deref(), &report.json())
}

fn run_place(
    args: &Args,
    cases: &[Case],
    bench: &Bench,
    gpu: Option<Gpu>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let place = Place::new(&bench.device, &bench.lab)?;
    let mut report = place::report::Report {
        environment: bench.environment(args),
        gpu,
        outside: args
            .outside
            .iter()
            .map(|file| report::read_outside(file))
            .collect::<anyhow::Result<Vec<_>>>()?
            .concat(),
        ..Default::default()
    };
    for round in 0..args.rounds {
        bench.round_in_place(&place, cases, round, &mut report)?;
    }
    report.missing.sort_unstable();
    report.missing.dedup();
    report.document().write(Format::Table, out)?;
    if let Some(file) = &args.csv {
        write(file, &report.csv())?;
    }
    write_json(args.json.as_deref(), &report.json())?;
    // Another contender may fail here, for example because its library lacks something. Our own
    // reductions must not fail.
    let ours: Vec<&String> =
        report.failures.iter().filter(|line| line.contains(&format!(": {OURS}: "))).collect();
    ensure!(ours.is_empty(), "our own reductions failed: {ours:?}");
    Ok(())
}

fn write_json(file: Option<&Path>, json: &serde_json::Value) -> anyhow::Result<()> {
    match file {
        Some(file) => write(file, &(serde_json::to_string(json)? + "\n")),
        None => Ok(()),
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Loads the libraries of the peers. The contenders of the first library have plain names, such as
/// `cub`. The contenders of the others have the version of CCCL in their names.
fn peers(files: &[PathBuf]) -> anyhow::Result<Vec<Peers>> {
    let open = |(index, file): (usize, &PathBuf)| {
        let library = PeerLibrary::open(file)?;
        let versions = library.versions()?;
        let suffix = match versions.split_once("CCCL ") {
            Some((_, version)) if index > 0 => format!(" {version}"),
            _ => String::new(),
        };
        Ok(Peers { library, versions, suffix })
    };
    files.iter().enumerate().map(open).collect()
}

fn load(device: &Device, file: &Path) -> anyhow::Result<Module> {
    let image = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(device.load_image(&file.display().to_string(), &image)?)
}

/// A library of peers that was built by `bench/peers/build.sh`.
struct Peers {
    library: PeerLibrary,
    versions: String,
    /// The text that is appended to the names of the contenders from this library.
    suffix: String,
}

struct Bench {
    device: Device,
    library: PtxLibrary,
    lab: Lab,
    peers: Vec<Peers>,
    twin: Option<Module>,
}

impl Bench {
    fn environment(&self, args: &Args) -> Vec<(String, String)> {
        let driver = match cuda_driver::load() {
            Ok(driver) if self.device.info().kind == DeviceKind::Cuda => {
                format!("CUDA {}", driver.version)
            }
            _ => "none".to_owned(),
        };
        // The kernel module of the driver gives its version in this file.
        let module = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
        let module = module
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("NVRM version: ")
            .to_owned();
        let peers: Vec<&str> = self.peers.iter().map(|peers| peers.versions.as_str()).collect();
        let peers = if peers.is_empty() { "none".to_owned() } else { peers.join("; ") };
        let entries = [
            ("device", self.device.info().name.clone()),
            ("driver", [driver, module].join(" ").trim_end().to_owned()),
            ("peers", peers),
            ("warpfold", env!("CARGO_PKG_VERSION").to_owned()),
            ("kernels", self.library.manifest().sources_sha256.clone()),
            ("date", humantime::format_rfc3339_seconds(SystemTime::now()).to_string()),
            ("command", std::env::args().collect::<Vec<_>>().join(" ")),
            ("samples", args.samples.to_string()),
        ];
        entries.map(|(key, value)| (key.to_owned(), value)).to_vec()
    }

    /// Measures all cases once. Cases of one element type are measured together, because they share
    /// an input.
    fn round(&self, cases: &[Case], round: usize, report: &mut Report) -> anyhow::Result<()> {
        let start = Instant::now();
        let mut measured = Vec::new();
        for cases in cases.chunk_by(|one, other| one.element == other.element) {
            let len = cases.iter().map(measure::elements).max().unwrap_or_default();
            let element = cases[0].element;
            let input = self.input(element, len)?;
            for case in cases {
                eprintln!("{:>4.0} s  round {}: {case}", start.elapsed().as_secs_f64(), round + 1);
                let contenders = self.contenders(case, &mut report.missing)?;
                measured.push((*case, self.lab.measure(case, &input, &contenders)?));
                let is_small = (case.op, case.element, case.n, case.offset)
                    == (Operation::Sum, Element::F32, 1 << 10, 0);
                if is_small && self.device.info().kind == DeviceKind::Cuda {
                    let ours = &*contenders[0];
                    report.overhead =
                        Some(overhead::measure(&self.device, &self.lab, (case, &input), ours)?);
                }
            }
        }
        report.rounds.push(measured);
        Ok(())
    }

    fn input(&self, element: Element, len: u64) -> anyhow::Result<Input> {
        match element {
            Element::I8 => Input::new::<i8>(&self.device, len),
            Element::U8 => Input::new::<u8>(&self.device, len),
            Element::I16 => Input::new::<i16>(&self.device, len),
            Element::U16 => Input::new::<u16>(&self.device, len),
            Element::I32 => Input::new::<i32>(&self.device, len),
            Element::U32 => Input::new::<u32>(&self.device, len),
            Element::I64 => Input::new::<i64>(&self.device, len),
            Element::U64 => Input::new::<u64>(&self.device, len),
            Element::I128 => Input::new::<i128>(&self.device, len),
            Element::U128 => Input::new::<u128>(&self.device, len),
            Element::F16 => Input::new::<f16>(&self.device, len),
            Element::Bf16 => Input::new::<bf16>(&self.device, len),
            Element::F32 => Input::new::<f32>(&self.device, len),
            Element::F64 => Input::new::<f64>(&self.device, len),
        }
    }

    /// The contenders of a case: ours first, then the available peers.
    fn contenders<'a>(
        &'a self,
        case: &Case,
        missing: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Box<dyn Contender + 'a>>> {
        let mut contenders: Vec<Box<dyn Contender + 'a>> = Vec::new();
        for contender in ours::open(&self.device, case, self.twin.as_ref())? {
            contenders.push(contender);
        }
        if contenders.is_empty() {
            missing.push(format!(
                "The reducer has no {} of {}.",
                case.op.name(),
                case.element.name()
            ));
        }
        let name =
            |library: &str| format!("{library}_{}_{}", case.op.peer_name(), case.element.name());
        for Peers { library, versions, suffix } in &self.peers {
            match library.function(&name("cub")) {
                Some(function) => contenders.push(Box::new(Peer::new(
                    &self.device,
                    &format!("{REFERENCE}{suffix}"),
                    function,
                    case,
                )?)),
                None => missing.push(format!("CUB of {versions} has no {}.", name("cub"))),
            }
            if let Some(function) = library.function(&name("thrust")) {
                let name = format!("thrust{suffix}");
                contenders.push(Box::new(Thrust::new(&self.device, &name, function, case)?));
            }
        }
        Ok(contenders)
    }

    /// Measures all cases in place once. Cases of one element type are measured together, because
    /// they share an input.
    fn round_in_place(
        &self,
        place: &Place,
        cases: &[Case],
        round: usize,
        report: &mut place::report::Report,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        let mut measured = Vec::new();
        for cases in cases.chunk_by(|one, other| one.element == other.element) {
            let len = cases.iter().map(place::elements).max().unwrap_or_default();
            let memory = Memory::new(&self.device, self.input(cases[0].element, len)?)?;
            for case in cases {
                eprintln!("{:>4.0} s  round {}: {case}", start.elapsed().as_secs_f64(), round + 1);
                let mut contenders = self.contenders(case, &mut report.missing)?;
                self.add_those_in_place(case, &mut contenders)?;
                measured.push((
                    *case,
                    place.measure(case, &memory, &contenders, &mut report.failures)?,
                ));
            }
        }
        report.rounds.push(measured);
        Ok(())
    }

    /// Adds the contenders that take part in measurements in place only: Thrust's call that leaves
    /// its result on the device, a kernel of one block, and an empty kernel.
    fn add_those_in_place<'a>(
        &'a self,
        case: &Case,
        contenders: &mut Vec<Box<dyn Contender + 'a>>,
    ) -> anyhow::Result<()> {
        let name =
            |library: &str| format!("{library}_{}_{}", case.op.peer_name(), case.element.name());
        for Peers { library, suffix, .. } in &self.peers {
            if let Some(function) = library.function(&name("thrust_into")) {
                let name = format!("thrust{suffix}");
                contenders.push(Box::new(Peer::new(&self.device, &name, function, case)?));
            }
        }
        let naive = self.peers.first().and_then(|peers| peers.library.function(&name(NAIVE)));
        if let Some(function) = naive.filter(|_| case.bytes() <= MOST_NAIVE_BYTES) {
            contenders.push(Box::new(Peer::new(&self.device, NAIVE, function, case)?));
        }
        contenders.push(Box::new(Empty::new(&self.device)?));
        Ok(())
    }
}
