//! `reduce rows`: the rows or the columns of a matrix, with a thread, a warp or a block for each.

use anyhow::anyhow;
use clap::{Args, Subcommand};
use warpfold_lab::{
    cli::{
        DeviceArgs, Failure, OutputArgs, PictureArgs, Progress, PtxArgs, SeedArgs, failed,
        interruptible, number, open_device, refused, reps,
    },
    device::{Device, DeviceKind, Instrument},
    element::ElementType,
    experiment::Runs,
    rows::{Devices, MOST_DRAWN, Plane, Problem, Request, RowsError, Variant, explain as follow},
};

use crate::options::OpArgs;

/// The number of elements of the matrices if nothing is said about them.
const ELEMENTS: u64 = 1 << 14;

/// The arguments of `reduce rows`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    mut_arg(
        "device",
        |device| device
            .help("The device: auto (a GPU if there is one), cuda or sim (the simulator, which has counters but no times)")
    )
)]
pub(crate) struct RowsArgs {
    #[command(subcommand)]
    command: Option<Command>,

    /// The variants, with commas between them: thread, warp and block (for each row), and column (a
    /// thread for each column) [default: all]
    #[arg(long, value_name = "VARIANTS", value_delimiter = ',')]
    variant: Vec<Variant>,

    /// Number of rows of the matrix, such as 1000 or 2^10
    #[arg(
        long,
        value_name = "R",
        allow_hyphen_values = true,
        value_parser = number("--rows", "1000 or 2^10")
    )]
    rows: Option<u64>,

    /// Number of columns of the matrix, which is the length of a row
    #[arg(
        long,
        value_name = "C",
        allow_hyphen_values = true,
        value_parser = number("--cols", "1000 or 2^10")
    )]
    cols: Option<u64>,

    /// Number of elements, a power of two: instead of one matrix, all of so many elements that have
    /// 1, 2, 4 and so on columns [default: 2^14]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = number("--n", "16384 or 2^14")
    )]
    n: Option<u64>,

    #[command(flatten)]
    op: OpArgs,

    /// Type of the elements: i32 or f32
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    element: ElementType,

    #[command(flatten)]
    seed: SeedArgs,

    #[command(flatten)]
    device: DeviceArgs,

    /// Number of timed runs on a GPU, after 3 runs to warm up [default: 20]
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = reps)]
    reps: Option<u32>,

    /// Also run each kernel on the simulator with checks for data races, reads of memory that
    /// nothing wrote, and barriers that some threads miss
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Draw which sectors a warp meets
    Explain(ExplainArgs),
}

/// The arguments of `reduce rows explain`.
#[derive(Args)]
struct ExplainArgs {
    /// The variant: thread, warp, block or column
    #[arg(long, allow_hyphen_values = true)]
    variant: Variant,

    /// Number of rows of the matrix, at most 256
    #[arg(
        long,
        value_name = "R",
        default_value = "64",
        allow_hyphen_values = true,
        value_parser = number("--rows", "64 or 2^6")
    )]
    rows: u64,

    /// Number of columns of the matrix, at most 256
    #[arg(
        long,
        value_name = "C",
        default_value = "64",
        allow_hyphen_values = true,
        value_parser = number("--cols", "64 or 2^6")
    )]
    cols: u64,

    #[command(flatten)]
    op: OpArgs,

    /// Type of the elements: i32 or f32
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    element: ElementType,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    picture: PictureArgs,
}

/// Runs `reduce rows`.
pub(crate) fn rows(args: RowsArgs) -> Result<(), Failure> {
    if let Some(Command::Explain(args)) = args.command {
        return explain(&args);
    }
    let shapes = shapes(args.rows, args.cols, args.n)?;
    let library = args.ptx.open()?;
    let device = open_device(args.device.device)?;
    let simulator = |instrument| interruptible(Device::simulator_with(instrument));
    let counter = simulator(Instrument::Count)?;
    let checker = args.check.then(|| simulator(Instrument::Check)).transpose()?;
    let devices = Devices {
        counter: &counter,
        checker: checker.as_ref(),
        gpu: (device.info().kind == DeviceKind::Cuda).then_some(&device),
    };
    let request = Request {
        variants: if args.variant.is_empty() { Variant::ALL.to_vec() } else { args.variant },
        shapes,
        op: args.op.op,
        element: args.element,
        seed: args.seed.seed,
        runs: Runs::suiting(device.info(), args.reps),
    };
    let progress = Progress::new();
    let plane = Plane::measure(&library, devices, request, &mut |what| progress.say(what));
    drop(progress);
    let plane = plane.map_err(|error| failure(error, &args.ptx))?;
    args.output.write(plane.document())?;
    if plane.is_interrupted {
        let made = plane.measured.len();
        return Err(Failure::Interrupted(anyhow!("{made} rows of the table were finished")));
    }
    Ok(())
}

/// The shapes of the matrices: the one that was asked for, or all of so many elements whose sides
/// are powers of two.
fn shapes(
    rows: Option<u64>,
    cols: Option<u64>,
    n: Option<u64>,
) -> Result<Vec<(u64, u64)>, Failure> {
    match (rows, cols, n) {
        (Some(rows), Some(cols), None) => Ok(vec![(rows, cols)]),
        (None, None, n) => {
            let n = n.unwrap_or(ELEMENTS);
            if n.is_power_of_two() {
                return Ok((0..=n.ilog2()).map(|power| (n >> power, 1 << power)).collect());
            }
            Err(refused(anyhow!(
                "--n {n}: it must be a power of two, because the matrices have 1, 2, 4 and so on columns; --rows and \
                 --cols give any other matrix"
            )))
        }
        (_, _, Some(n)) => Err(refused(anyhow!(
            "--n {n}: the number of elements is that of --rows and --cols, so leave out --n"
        ))),
        (Some(rows), None, None) => {
            Err(refused(anyhow!("--rows {rows}: --cols is missing, the number of columns")))
        }
        (None, Some(cols), None) => {
            Err(refused(anyhow!("--cols {cols}: --rows is missing, the number of rows")))
        }
    }
}

fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let &ExplainArgs { variant, rows, cols, op: OpArgs { op }, element, .. } = args;
    if rows.max(cols) > MOST_DRAWN {
        return Err(refused(anyhow!(
            "{rows} x {cols}: a picture can show a matrix of at most {MOST_DRAWN} rows and columns"
        )));
    }
    let library = args.ptx.open()?;
    let problem = Problem { variant, op, element, rows, cols };
    let picture = follow(&library, &problem).map_err(|error| failure(error, &args.ptx))?;
    args.picture.write(&picture)
}

fn failure(error: RowsError, ptx: &PtxArgs) -> Failure {
    match error {
        RowsError::Plan(_) | RowsError::Input(_) => refused(error),
        RowsError::Run(error) => ptx.not_run(error),
        error @ (RowsError::Wrong(_) | RowsError::Found { .. }) => failed(error),
    }
}
