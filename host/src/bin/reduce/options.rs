//! Options that several subcommands take.

use anyhow::anyhow;
use clap::Args;
use simt::occupancy::Gpu;
use warpfold_lab::{
    cli::{Failure, failed, number, refused},
    device::{DeviceInfo, DeviceKind},
    element::ElementType,
    input::Fill,
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
    #[command(flatten)]
    pub(crate) block: BlockArgs,

    /// Number of blocks in the first launch; any number for variants 7 and later, but the earlier
    /// ones need exactly the number that follows from --n and --block
    /// [default: what `reduce tune` found, otherwise chosen by the tool]
    #[arg(
        long,
        value_name = "G",
        allow_hyphen_values = true,
        value_parser = number("--grid", "1024")
    )]
    pub(crate) grid: Option<u64>,
}

/// The argument that gives the block of rungs.
#[derive(Args, Clone, Copy)]
pub(crate) struct BlockArgs {
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

/// The argument that says what the generated elements are.
#[derive(Args, Clone, Copy)]
pub(crate) struct FillArgs {
    /// The generated elements: random (which --seed decides), iota (0, 1, 2 and so on) or ones (1
    /// everywhere)
    #[arg(long, default_value = "random")]
    pub(crate) fill: Fill,
}

/// The argument that says for which GPU launches are planned.
#[derive(Args, Clone, Copy)]
pub(crate) struct GpuArgs {
    /// The GPU whose multiprocessors and limits the plans assume if they run on the simulator:
    /// v100, t4, a100, a10, rtx3090, l4, l40s, rtx4090, h100, h200, b200 or rtx5090 [default: h100]
    #[arg(long, value_name = "GPU")]
    gpu: Option<Gpu>,
}

impl GpuArgs {
    /// The GPU whose launches the simulator runs.
    pub(crate) fn simulated(self) -> Gpu {
        self.gpu.unwrap_or_else(|| "h100".parse().expect("the simulator knows this GPU"))
    }

    /// The GPU for which launches on this device are planned; `None` if that is the device itself.
    /// A GPU that is there cannot be another one, so it is refused.
    pub(crate) fn on(self, device: &DeviceInfo) -> Result<Option<Gpu>, Failure> {
        match (device.kind, self.gpu) {
            (DeviceKind::Simulator, _) => Ok(Some(self.simulated())),
            (DeviceKind::Cuda, None) => Ok(None),
            (DeviceKind::Cuda, Some(gpu)) => Err(refused(anyhow!(
                "--gpu {}: launches on {} are planned for that GPU itself, and --gpu is for the simulator",
                gpu.name,
                device.name
            ))),
        }
    }
}

/// The failure if there is no plan. The request is refused, unless another device could run it as
/// it is: then the run has failed.
pub(crate) fn no_plan(error: PlanError) -> Failure {
    if error.blames_device() { failed(error) } else { refused(error) }
}

#[cfg(test)]
mod tests {
    use warpfold_lab::device::Device;

    use super::*;

    #[test]
    fn a_gpu_that_is_there_is_no_other_one() {
        let simulator = Device::simulator().info().clone();
        let gpu = DeviceInfo { kind: DeviceKind::Cuda, name: "H100".into(), ..simulator.clone() };
        let asked = GpuArgs { gpu: "t4".parse().ok() };
        let open = GpuArgs { gpu: None };
        let name = |args: GpuArgs| args.on(&simulator).unwrap().map(|gpu| gpu.name);
        assert_eq!((name(asked), name(open)), (Some("t4"), Some("h100")));
        assert!(open.on(&gpu).unwrap().is_none());
        let Err(Failure::Refused(error)) = asked.on(&gpu) else { panic!("it is refused") };
        assert_eq!(
            error.to_string(),
            "--gpu t4: launches on H100 are planned for that GPU itself, and --gpu is for the simulator"
        );
    }
}
