//! The arguments as they are written.

use std::{ffi::OsString, path::PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Command, FromArgMatches as _, ValueHint, builder::PossibleValue};
use warpfold_tools::{
    arrays::Dtype,
    terminal::{EXIT_STATUS, Failure, GenerateArgs, misused, number, refused, whole},
};

use crate::{
    bincount::BinCountArgs, condition::Condition, device::DeviceChoice, operation::Operation,
};

/// What the command was called for.
pub(crate) enum Call {
    Reduce(Operation, ReduceArgs),
    BinCount(BinCountArgs),
    Devices(DevicesArgs),
    Doctor(DoctorArgs),
    Generate(GenerateArgs),
    /// Nothing was asked for.
    Nothing,
}

/// The arguments of an operation.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent flags")]
pub(crate) struct ReduceArgs {
    /// The arrays: .npy files, arrays of .npz files (FILE.npz:ARRAY), raw files with --type, or -
    /// for the standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,

    /// The type of the elements. Raw files and pipes need it, because nothing else says how their
    /// bytes are to be read; any other file must have it
    #[arg(long = "type", value_name = "TYPE", value_parser = DtypeParser)]
    pub(crate) dtype: Option<Dtype>,

    /// What is subtracted from the number of elements in the divisor of var and std: 1 for a sample
    #[arg(long, value_name = "N", default_value = "0", value_parser = number("--ddof", "1"))]
    pub(crate) ddof: u64,

    /// How many elements topk finds, from 1 to 8
    #[arg(short = 'k', value_name = "K", value_parser = count)]
    pub(crate) k: Option<u64>,

    /// Find the smallest elements, the smallest one first, instead of the greatest
    #[arg(long)]
    pub(crate) smallest: bool,
    /// Count the elements for which a comparison with a constant holds, such as '> 0.5', or those
    /// in a range such as 0..10, which has its begin and not its end; with any and all, say whether
    /// there is such an element, or no other one. The comparisons are ==, !=, <, <=, > and >=
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) condition: Option<Condition>,

    /// Reduce along these axes, with commas between them, such as 0,2. A negative axis counts from
    /// the end. There is one result for each index of the other axes. The array must be a .npy file
    /// or of a .npz file. Two arrays, as of dot, are broadcast to one shape as in NumPy
    #[arg(
        long,
        value_name = "AXES",
        value_delimiter = ',',
        num_args = 1,
        allow_hyphen_values = true,
        value_parser = axis
    )]
    pub(crate) axis: Vec<isize>,

    /// Keep the axes that are reduced in the shape of the results, with the size 1
    #[arg(long)]
    pub(crate) keepdims: bool,

    /// Reduce the segments of the array, which is taken flat, in C order: there is one result for
    /// the elements from each offset up to the next one. The offsets are u32, i32, u64 or i64 with
    /// one dimension, in a .npy file, in an array of a .npz file, or in - for the standard input
    #[arg(long, value_name = "OFFSETS", value_hint = ValueHint::FilePath)]
    pub(crate) segments: Option<OsString>,

    /// Reduce by key: the array, taken flat, in C order, has one key for each element, and there is
    /// one result for each run of equal neighbouring keys. Each line has the key, the number of
    /// elements, and the result. The keys are integers of at most 64 bits, in a .npy file, in an
    /// array of a .npz file, or in - for the standard input
    #[arg(long, value_name = "KEYS", value_hint = ValueHint::FilePath)]
    pub(crate) by_key: Option<OsString>,

    /// With --by-key: the keys are numbers from 0 up to N - 1, in any order, and there is one
    /// result for each of these numbers. N is at most 65536
    #[arg(long, value_name = "N", value_parser = bins)]
    pub(crate) bins: Option<usize>,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Compute the result on the CPU too, and compare; if they differ, the exit status is 1. Along
    /// axes, of segments and by key, all results are compared
    #[arg(long)]
    pub(crate) verify: bool,

    /// Measure N runs with the elements in the device's memory, and say the median time and the
    /// bandwidth
    #[arg(long, value_name = "N", value_parser = repeats)]
    pub(crate) repeat: Option<u32>,

    /// Read and reduce in pieces of so many bytes, such as 2^26. Without this, an array is reduced
    /// whole if it fits into memory, and in pieces of 2^26 bytes otherwise
    #[arg(long, value_name = "BYTES", value_parser = piece)]
    pub(crate) piece: Option<u64>,

    /// Print one JSON object with the result, the input, the device and the times
    #[arg(long)]
    pub(crate) json: bool,

    /// Save the result as a .npy file too, or the results along axes, of segments or by key in
    /// their shape
    #[arg(long, value_name = "FILE.npy", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Say on stderr what was reduced, where, and how
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl ReduceArgs {
    /// The operation that was asked for: `operation`, or what `--smallest` makes of it.
    ///
    /// # Errors
    ///
    /// A refusal if `-k` and `--smallest` do not go with the operation.
    pub(crate) fn wanted(&self, operation: Operation) -> Result<Operation, Failure> {
        match (operation, self.k, self.smallest) {
            (Operation::TopK, None, _) => {
                Err(refused(anyhow!("topk: -k is missing, the number of elements to find: 1 to 8")))
            }
            (Operation::TopK, Some(_), true) => Ok(Operation::BottomK),
            (Operation::TopK, Some(_), false) | (_, None, false) => Ok(operation),
            (_, Some(k), _) => Err(refused(anyhow!("-k {k}: only topk takes it, not {operation}"))),
            (_, None, true) => {
                Err(refused(anyhow!("--smallest: only topk takes it, not {operation}")))
            }
        }
    }
}

/// The argument that says where to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeviceArgs {
    /// The device: auto (the first GPU, or the simulator if there is none), cuda (the first GPU),
    /// cuda:N (the GPU number N), sim (the simulator), several of them together, such as
    /// cuda:0,cuda:1, or cuda:all (all GPUs together)
    #[arg(long, default_value = "auto", value_parser = DeviceParser)]
    pub(crate) device: DeviceChoice,
}

/// The arguments of `devices`.
#[derive(Args, Debug)]
pub(crate) struct DevicesArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {}

fn repeats(text: &str) -> anyhow::Result<u32> {
    match whole("--repeat", text, "20")? {
        0 => bail!("--repeat 0: at least one run is needed"),
        n => u32::try_from(n).context(format!("--repeat {n}: at most {} runs are made", u32::MAX)),
    }
}

pub(crate) fn bins(text: &str) -> anyhow::Result<usize> {
    let bins = whole("--bins", text, "256")?;
    usize::try_from(bins).context(format!("--bins {bins}: there is no memory for so many"))
}

fn piece(text: &str) -> anyhow::Result<u64> {
    match whole("--piece", text, "2^26")? {
        bytes @ 16.. => Ok(bytes),
        bytes => bail!("--piece {bytes}: a piece has at least 16 bytes"),
    }
}

fn count(text: &str) -> anyhow::Result<u64> {
    match whole("-k", text, "3")? {
        k @ 1..=8 => Ok(k),
        k => bail!("-k {k}: 1 to 8 elements can be found"),
    }
}

fn axis(text: &str) -> anyhow::Result<isize> {
    text.trim().parse().with_context(|| {
        format!(
            "--axis '{text}': an axis is a whole number, and several have commas between them, \
             such as 0,-1"
        )
    })
}

/// Parses a type, and tells completions which there are.
#[derive(Clone)]
struct DtypeParser;

impl clap::builder::TypedValueParser for DtypeParser {
    type Value = Dtype;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Dtype, clap::Error> {
        parsed(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Dtype::ALL.into_iter().map(|dtype| PossibleValue::new(dtype.name()))))
    }
}

/// Parses a device, and tells completions which there are.
#[derive(Clone)]
struct DeviceParser;

impl clap::builder::TypedValueParser for DeviceParser {
    type Value = DeviceChoice;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<DeviceChoice, clap::Error> {
        parsed(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = ["auto", "cuda", "cuda:0", "cuda:1", "cuda:all", "sim"];
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}

/// Parses a value by its `FromStr`, whose error is one sentence.
fn parsed<V>(
    command: &Command,
    arg: Option<&clap::Arg>,
    value: &std::ffi::OsStr,
) -> Result<V, clap::Error>
where
    V: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>
        + Clone
        + Send
        + Sync
        + 'static,
{
    use clap::builder::TypedValueParser as _;
    let parse = |text: &str| text.parse::<V>();
    parse.parse_ref(command, arg, value)
}

/// The definition of all arguments.
pub(crate) fn command() -> Command {
    let operations = Operation::ALL.map(|operation| {
        let (name, about) = operation.described();
        let usage = if operation.is_pair() {
            format!("warpfold {name} [OPTIONS] <FILE> <FILE>")
        } else {
            format!("warpfold {name} [OPTIONS] <FILE>...")
        };
        ReduceArgs::augment_args(Command::new(name).about(about))
            .override_usage(usage)
            .after_help(EXIT_STATUS)
            .mut_arg("files", |files| if operation.is_pair() { files.num_args(2) } else { files })
            .mut_arg("k", |k| k.hide(!operation.is_top()))
            .mut_arg("smallest", |smallest| smallest.hide(!operation.is_top()))
            .mut_arg("condition", |condition| condition.hide(!operation.has_condition()))
            .mut_arg("segments", |segments| segments.hide(!operation.has_segments()))
            .mut_arg("by_key", |keys| keys.hide(!operation.has_segments()))
            .mut_arg("bins", |bins| bins.hide(!operation.has_bins()))
            .mut_arg("ddof", |ddof| {
                ddof.hide(!matches!(operation, Operation::Var | Operation::Std))
            })
    });
    Command::new("warpfold")
        .version(env!("CARGO_PKG_VERSION"))
        .about(
            "Reduce arrays in files, to one number or to one for each row or segment, on an NVIDIA GPU \
             or on the built-in simulator",
        )
        .after_help(format!("{EXAMPLES}\n\n{EXIT_STATUS}"))
        .subcommand_value_name("OPERATION")
        .disable_help_subcommand(true)
        .subcommands(operations)
        .subcommand(
            BinCountArgs::augment_args(Command::new("bincount").about(
                "How often each of the numbers from 0 up to N - 1 occurs among integers: a histogram",
            ))
            .after_help(EXIT_STATUS),
        )
        .subcommand(DevicesArgs::augment_args(
            Command::new("devices").about("List the devices of this machine"),
        ))
        .subcommand(DoctorArgs::augment_args(Command::new("doctor").about(
            "Say which driver and which devices are found, what would run, and why not on a GPU",
        )))
        .subcommand(GenerateArgs::augment_args(
            Command::new("generate").about("Write shell completions or a manual page"),
        ))
}

/// What the command shows if it is called alone.
pub(crate) const EXAMPLES: &str = "\
Examples:
  warpfold sum data.npy
  warpfold argmax results.npz:loss --json
  zcat samples.f32.gz | warpfold mean - --type f32";

/// Reads the arguments of this process.
pub(crate) fn parse() -> Result<Call, Failure> {
    let matches = command().try_get_matches().map_err(|error| misused(&error))?;
    let misread = |error: clap::Error| misused(&error.format(&mut command()));
    Ok(match matches.subcommand() {
        None => Call::Nothing,
        Some(("bincount", matches)) => {
            Call::BinCount(BinCountArgs::from_arg_matches(matches).map_err(misread)?)
        }
        Some(("devices", matches)) => {
            Call::Devices(DevicesArgs::from_arg_matches(matches).map_err(misread)?)
        }
        Some(("doctor", matches)) => {
            Call::Doctor(DoctorArgs::from_arg_matches(matches).map_err(misread)?)
        }
        Some(("generate", matches)) => {
            Call::Generate(GenerateArgs::from_arg_matches(matches).map_err(misread)?)
        }
        Some((name, matches)) => {
            let operation = Operation::of(name).expect("clap knows no other subcommands");
            Call::Reduce(operation, ReduceArgs::from_arg_matches(matches).map_err(misread)?)
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_sound() {
        super::command().debug_assert();
    }
}
