//! Options that several subcommands take.

use clap::Args;
use warpfold_lab::{
    cli::{Failure, failed, number, refused},
    element::ElementType,
    launch::PlanError,
    op::Op,
};

/// The argument that says what is computed.
#[derive(Args, Clone, Copy)]
pub(crate) struct OpArgs {
    /// The operation: sum, min, max or prod (the product)
    #[arg(long, default_value = "sum")]
    pub(crate) op: Op,
}

/// The arguments that say what is computed, and of which elements.
#[derive(Args, Clone, Copy)]
pub(crate) struct ElementArgs {
    #[command(flatten)]
    pub(crate) op: OpArgs,

    /// Type of the elements: i32, u32, i64, u64, f32 or f64
    #[arg(long = "type", value_name = "TYPE", default_value = "i32")]
    pub(crate) element: ElementType,
}

/// The arguments that give the shape of the first launch.
#[derive(Args, Clone, Copy)]
pub(crate) struct ShapeArgs {
    /// Number of threads in a block, a power of two [default: 256; 1024 for variant global]
    #[arg(
        long,
        value_name = "B",
        allow_hyphen_values = true,
        value_parser = number("--block", "256")
    )]
    pub(crate) block: Option<u64>,

    /// Number of blocks in the first launch; any number for variants 7 and later, but the earlier
    /// ones need exactly the number that follows from --n and --block [default: chosen by the tool]
    #[arg(
        long,
        value_name = "G",
        allow_hyphen_values = true,
        value_parser = number("--grid", "1024")
    )]
    pub(crate) grid: Option<u64>,
}

/// The argument that gives the block of rungs, if tuning may have found a shape for them.
#[derive(Args, Clone, Copy)]
pub(crate) struct TunedBlockArgs {
    /// Number of threads in a block, a power of two
    /// [default: what `reduce tune` found, otherwise 256, or 1024 for variant global]
    #[arg(
        long,
        value_name = "B",
        allow_hyphen_values = true,
        value_parser = number("--block", "256")
    )]
    pub(crate) block: Option<u64>,
}

/// The argument that says whether the results of tuning are used.
#[derive(Args, Clone, Copy)]
pub(crate) struct NoTunedArgs {
    /// Ignore the launch shapes that `reduce tune` found (the environment variable WARPFOLD_NO_TUNE
    /// does the same)
    #[arg(long)]
    pub(crate) no_tuned: bool,
}

/// The failure if there is no plan. The request is refused, unless another device could run it as
/// it is: then the run has failed.
pub(crate) fn no_plan(error: PlanError) -> Failure {
    if error.blames_device() { failed(error) } else { refused(error) }
}
