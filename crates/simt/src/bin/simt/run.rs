//! The command `simt run`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use serde_json::{Map, Value as Json, json};
use simt::args::ArgSpec;
use simt::sarif::Log;
use simt::suppress::{Sorted, Suppressions};
use simt::{
    Arg, Checked, Dim3, FailOn, Fault, Kernel, LaunchConfig, LaunchError, Memory, Profile, Report,
    Trace, TraceOptions,
};

use crate::{Failure, json, load, print, refused, tables, traces};

/// How much device memory the module's own variables may take, in bytes.
const VARIABLES: u64 = 1 << 30;

const EXAMPLES: &str = r#"Arguments, one --arg for each parameter of the kernel, in order:
  u32:1024  i8:-1  u64:0xff  f32:1.5      a value (u8 to u64, i8 to i64, f16, bf16, f32, f64)
  ptr:0                                   an address, passed as it is
  bytes:00ff10                            a structure, as hexadecimal bytes
  buffer:f32:1024                         a new, uninitialised buffer of 1024 values
  buffer:f32:1024=zero                    ... filled with zeros
  buffer:f32:1024=iota                    ... filled with 0, 1, 2, ...
  buffer:f32:1024=random[:SEED]           ... filled with random values, floats in [0, 1)
  buffer:f32:1024=@FILE                   ... filled with the bytes of the file

Suppressions, one table for each in the file of --suppress:
  [[suppress]]
  class = "race"           the name of the class in the report
  kernel = "bfs_*"         the kernel, with * for any text (optional)
  place = "bfs.cu:41-48"   the file and lines of one of the parties (optional)
  reason = "..."           why the finding is accepted

Examples:
  simt run saxpy.ptx --grid 4 --block 256 --dump 1=y.bin \
      --arg buffer:f32:1024=random:1 --arg buffer:f32:1024=iota --arg f32:2 --arg u32:1024
  simt run transpose.ptx --entry tiled --grid 32,32 --block 32,8 --count \
      --arg buffer:f32:1048576=iota --arg buffer:f32:1048576 --arg u32:1024
  simt run reduce.ptx --grid 64 --block 256 --shared 1024 --check --json \
      --arg buffer:i32:16384=random --arg buffer:i32:64 --arg u64:16384"#;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Args {
    /// The PTX file
    #[arg(value_name = "KERNEL.PTX")]
    file: PathBuf,

    /// The name of the kernel; it is needed only if the file has several kernels
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,

    /// Number of blocks in each dimension of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extent)]
    grid: Dim3,

    /// Number of threads in each dimension of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extent)]
    block: Dim3,

    /// An argument of the kernel, in the form that is explained below
    #[arg(long = "arg", value_name = "ARGUMENT", value_parser = ArgSpec::from_str)]
    specs: Vec<ArgSpec>,

    /// Size of the dynamic shared memory of each block, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,

    /// Number of blocks in a thread-block cluster, along x
    #[arg(long, value_name = "BLOCKS", default_value_t = 1)]
    cluster: u32,

    /// Launch cooperatively: all blocks are resident at once, which grid-wide barriers need
    #[arg(long)]
    cooperative: bool,

    /// Count instructions, memory traffic and bank conflicts
    #[arg(long)]
    count: bool,

    /// Look for data races, for reads of memory that nothing wrote, and for barriers and
    /// collectives that not all threads reach
    #[arg(long)]
    check: bool,

    /// The least severity of a report that makes the exit status 1: error, warning, note or never;
    /// a fault always does
    #[arg(long, value_name = "SEVERITY", default_value = "error")]
    fail_on: FailOn,

    /// A TOML file with findings of --check that are accepted; its form is explained below
    #[arg(long, value_name = "FILE", requires = "check")]
    suppress: Option<PathBuf>,

    /// Write the findings of --check to a file in the format SARIF 2.1.0
    #[arg(long, value_name = "FILE", requires = "check")]
    sarif: Option<PathBuf>,

    /// Show how the warps access memory between one synchronisation and the next; only for small
    /// launches
    #[arg(long)]
    trace: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    /// After the run, write the buffer of argument K to a file; arguments are numbered from 0
    #[arg(long = "dump", value_name = "K=FILE", value_parser = Dump::from_str)]
    dumps: Vec<Dump>,

    /// Stop the run after this number of warp instructions
    #[arg(long, value_name = "N")]
    budget: Option<u64>,

    /// Number of host threads that run the simulation [default: one for each core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZero<usize>>,

    /// Let the warps advance in another order, which the seed determines
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// Reads up to three dimensions, separated by commas.
fn extent(text: &str) -> Result<Dim3, String> {
    let sides: Option<Vec<u32>> = text.split(',').map(|side| side.parse().ok()).collect();
    match sides.as_deref() {
        Some([x]) => Ok((*x).into()),
        Some([x, y]) => Ok((*x, *y).into()),
        Some([x, y, z]) => Ok((*x, *y, *z).into()),
        _ => Err("it must be one to three whole numbers with commas between them".to_owned()),
    }
}

#[derive(Clone)]
struct Dump {
    arg: usize,
    file: PathBuf,
}

impl FromStr for Dump {
    type Err = String;

    fn from_str(text: &str) -> Result<Dump, String> {
        let parts = text.split_once('=').filter(|(_, file)| !file.is_empty());
        parts
            .and_then(|(arg, file)| Some(Dump { arg: arg.parse().ok()?, file: file.into() }))
            .ok_or_else(|| {
                "it must be the number of an argument, from 0, then = and a file".to_owned()
            })
    }
}

/// The purpose of one run of the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Check,
    Count,
    Trace,
}

impl Args {
    /// The runs that were requested. Each begins with the same memory.
    fn modes(&self) -> Vec<Mode> {
        let asked =
            [(self.check, Mode::Check), (self.count, Mode::Count), (self.trace, Mode::Trace)];
        let modes: Vec<Mode> =
            asked.into_iter().filter(|(asked, _)| *asked).map(|(_, mode)| mode).collect();
        if modes.is_empty() { vec![Mode::Plain] } else { modes }
    }
}

/// The results of the runs.
#[derive(Default)]
struct Outcome {
    profile: Option<Profile>,
    checked: bool,
    findings: Sorted,
    trace: Option<Trace>,
    fault: Option<Box<Fault>>,
    /// What the kernel printed, for JSON. Otherwise it goes to stdout at once.
    printed: Text,
}

/// A text that several owners share, one of which writes it.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outcome {
    /// Keeps what a run has found that was not checked. A run that was checked has found it before.
    fn warn(&mut self, warnings: Vec<Report>) {
        if !self.checked && self.findings.reports.is_empty() {
            self.findings.reports = warnings;
        }
    }

    fn fails(&self, fail_on: FailOn) -> bool {
        self.fault.is_some() || fail_on.fails(&self.findings)
    }

    fn run(
        &mut self,
        mode: Mode,
        kernel: &Kernel,
        config: &LaunchConfig,
        values: &[Arg],
        memory: &Memory,
        suppressions: &Suppressions,
    ) -> Result<(), LaunchError> {
        match mode {
            Mode::Plain => {
                let Checked { reports, fault } =
                    simt::launch_and_warn(kernel, config, values, memory)?;
                self.warn(reports);
                self.fault = fault;
            }
            Mode::Count => {
                let profile = simt::count(kernel, config, values, memory)?;
                self.warn(profile.warnings.clone());
                self.profile = Some(profile);
            }
            Mode::Check => {
                let Checked { reports, fault } = simt::check(kernel, config, values, memory)?;
                self.checked = true;
                self.findings = suppressions.sort(reports);
                self.fault = fault;
            }
            Mode::Trace => {
                let mut trace =
                    simt::trace(kernel, config, values, memory, &TraceOptions::default())?;
                self.fault = trace.fault.take();
                self.warn(std::mem::take(&mut trace.warnings));
                self.trace = Some(trace);
            }
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let module = load::module(&args.file)?;
    let kernel = load::kernel(&module, args.entry.as_deref())?;
    for dump in &args.dumps {
        if !matches!(args.specs.get(dump.arg), Some(ArgSpec::Buffer(_))) {
            let (arg, count) = (dump.arg, args.specs.len());
            return Err(refused(anyhow!(
                "--dump {arg}: argument {arg} of the {count} given is no buffer"
            )));
        }
    }
    let suppressions = args.suppress.as_deref().map(Suppressions::read).transpose();
    let suppressions = suppressions.map_err(refused)?.unwrap_or_default();
    let outcome = launch(args, kernel, &suppressions)?;
    if let Some(file) = &args.sarif {
        let list = args.suppress.as_ref().map(|file| file.display().to_string());
        let log = Log::new(&outcome.findings, outcome.fault.as_deref(), list.as_deref());
        fs::write(file, log.to_text())
            .with_context(|| format!("cannot write {}", file.display()))
            .map_err(Failure::Failed)?;
    }
    if args.json {
        print(&format!("{:#}\n", as_json(args, kernel, &outcome)))?;
    } else {
        print(&as_text(args, kernel, &outcome))?;
        // Faults go to stderr, in the way in which compilers print errors. A closed stderr must not
        // cause a panic.
        let mut err = io::stderr().lock();
        for report in &outcome.findings.reports {
            let _ = writeln!(err, "{report}\n");
        }
        let file = args.suppress.as_deref().unwrap_or(Path::new("-"));
        for unused in &outcome.findings.unused {
            let _ = writeln!(err, "{}\n", unused.note(file));
        }
        if let Some(fault) = &outcome.fault {
            let _ = writeln!(err, "{}", fault.report());
        }
    }
    if outcome.fails(args.fail_on) { Err(Failure::Reported) } else { Ok(()) }
}

fn launch(args: &Args, kernel: &Kernel, suppressions: &Suppressions) -> Result<Outcome, Failure> {
    let config = LaunchConfig {
        dynamic_shared_bytes: args.shared,
        cluster: args.cluster,
        cooperative: args.cooperative,
        workers: args.workers.map(NonZero::get),
        seed: args.seed,
        budget: args.budget,
        interrupt: Some(interrupt()?),
        ..LaunchConfig::new(args.grid, args.block)
    };
    let mut outcome = Outcome::default();
    for (index, mode) in args.modes().into_iter().enumerate() {
        let (mut memory, values) = place(args, mode)?;
        // Each run prints the same, so the text of the first is shown.
        match (index, args.json) {
            (0, false) => {}
            (0, true) => memory.print_to(outcome.printed.clone()),
            _ => memory.print_to(io::sink()),
        }
        match outcome.run(mode, kernel, &config, &values, &memory, suppressions) {
            Ok(()) => {}
            Err(LaunchError::Fault(fault)) => outcome.fault = Some(fault),
            Err(error) => return Err(refused(error)),
        }
        // All runs begin with the same buffers, so the buffers of the first run are dumped.
        for dump in args.dumps.iter().filter(|_| index == 0) {
            write_dump(dump, args, &values, &memory)?;
        }
        if outcome.fault.is_some() {
            break;
        }
    }
    Ok(outcome)
}

/// A memory that holds the arguments' buffers, and the arguments for the kernel.
fn place(args: &Args, mode: Mode) -> Result<(Memory, Vec<Arg>), Failure> {
    let sizes = args.specs.iter().map(|arg| match arg {
        ArgSpec::Buffer(buffer) => buffer.size(),
        ArgSpec::Value(_) => 0,
    });
    let capacity = sizes.fold(VARIABLES, u64::saturating_add);
    // Only checks need the record of written bytes.
    let memory =
        if mode == Mode::Check { Memory::checked(capacity) } else { Memory::new(capacity) };
    let place = |(index, arg): (usize, &ArgSpec)| {
        arg.place(&memory).with_context(|| format!("argument {index}")).map_err(refused)
    };
    let values = args.specs.iter().enumerate().map(place).collect::<Result<_, _>>()?;
    Ok((memory, values))
}

/// A flag that Ctrl-C sets. A second Ctrl-C ends the process.
fn interrupt() -> Result<&'static AtomicBool, Failure> {
    static INTERRUPT: AtomicBool = AtomicBool::new(false);
    let handler = || {
        if INTERRUPT.swap(true, Relaxed) {
            // A shell reports this status for a process that SIGINT has ended.
            process::exit(130);
        }
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C").map_err(Failure::Failed)?;
    Ok(&INTERRUPT)
}

fn write_dump(dump: &Dump, args: &Args, values: &[Arg], memory: &Memory) -> Result<(), Failure> {
    let (Some(ArgSpec::Buffer(buffer)), Some(Arg::Pointer(address))) =
        (args.specs.get(dump.arg), values.get(dump.arg))
    else {
        unreachable!("it was a buffer before the launch");
    };
    let mut bytes = vec![0; buffer.size() as usize];
    memory.read(*address, &mut bytes).map_err(|error| Failure::Failed(error.into()))?;
    fs::write(&dump.file, bytes)
        .with_context(|| format!("cannot write {}", dump.file.display()))
        .map_err(Failure::Failed)
}

fn as_json(args: &Args, kernel: &Kernel, outcome: &Outcome) -> Json {
    let mut json = Map::new();
    let mut put = |key: &str, value: Json| json.insert(key.to_owned(), value);
    put("module", kernel.module_name().into());
    put("kernel", kernel.name().into());
    put("grid", json::dim(args.grid).into());
    put("block", json::dim(args.block).into());
    put("shared_bytes", args.shared.into());
    put("launch", json!({ "cluster": args.cluster, "cooperative": args.cooperative }));
    if let Some(profile) = &outcome.profile {
        put("level", "PTX".into());
        for (key, value) in json::counters(&profile.counters) {
            put(&key, value);
        }
        put("instructions", profile.instructions.iter().map(json::instruction).collect());
    }
    let printed = outcome.printed.0.lock().unwrap_or_else(PoisonError::into_inner);
    put("printed", String::from_utf8_lossy(&printed).into());
    put("checked", args.check.into());
    let Sorted { reports, suppressed, unused, .. } = &outcome.findings;
    put("reports", reports.iter().map(json::report).collect());
    put("suppressed", suppressed.iter().map(json::suppressed).collect());
    put("unused_suppressions", unused.iter().map(json::unused).collect());
    if let Some(trace) = &outcome.trace {
        put("trace", json::trace(trace));
    }
    put("faults", outcome.fault.iter().map(|fault| json::fault(fault)).collect());
    json!(json)
}

fn as_text(args: &Args, kernel: &Kernel, outcome: &Outcome) -> String {
    let end = if outcome.fault.is_some() { "faulted" } else { "ran to its end" };
    let mut text = format!("{} {end}: grid {}, block {}", kernel.name(), args.grid, args.block);
    if args.shared > 0 {
        let _ = write!(text, ", {} bytes of dynamic shared memory", args.shared);
    }
    text.push('\n');
    if args.check && outcome.fault.is_none() {
        let _ = match outcome.findings.summary(0) {
            None => writeln!(text, "Checked: nothing to report"),
            Some(summary) => writeln!(text, "Checked: {summary}"),
        };
    }
    if let Some(profile) = &outcome.profile {
        text.push('\n');
        text += &tables::profile(profile);
    }
    if let Some(trace) = &outcome.trace {
        text.push('\n');
        text += &traces::text(trace);
    }
    text
}
