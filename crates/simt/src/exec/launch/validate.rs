//! The checks that a launch passes before any of its blocks runs.

use super::arg::Arg;
use super::error::LaunchError;
use crate::dim::Dim3;
use crate::exec::config::LaunchConfig;
use crate::limits::{MAX_BLOCK, MAX_CLUSTER, MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
use crate::module::Kernel;
use crate::occupancy::{Gpu, occupancy};

/// Checks the launch, and returns the bytes of the parameters.
pub(super) fn check(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
) -> Result<Vec<u8>, LaunchError> {
    if let [first, others @ ..] = kernel.refusals() {
        return Err(LaunchError::Unsupported {
            module: kernel.module_name().to_owned(),
            kernel: kernel.name().to_owned(),
            first: Box::new(first.clone()),
            others: others.len(),
        });
    }
    let within = |dim: Dim3, max: Dim3| {
        (1..=max.x).contains(&dim.x) && (1..=max.y).contains(&dim.y) && (1..=max.z).contains(&dim.z)
    };
    if !within(config.grid, MAX_GRID) {
        return Err(LaunchError::Grid { grid: config.grid });
    }
    let block = config.block;
    if !within(block, MAX_BLOCK) || block.count() > u128::from(MAX_THREADS_PER_BLOCK) {
        return Err(LaunchError::Block { block });
    }
    if let Some(rule) = kernel.refuses_block(block) {
        return Err(LaunchError::BlockForKernel { block, kernel: kernel.name().to_owned(), rule });
    }
    if config.workers == Some(0) {
        return Err(LaunchError::NoWorkers);
    }
    let asked = u64::from(kernel.program().dynamic_base) + u64::from(config.dynamic_shared_bytes);
    if asked > u64::from(MAX_SHARED_BYTES) {
        return Err(LaunchError::SharedMemory { kernel: kernel.name().to_owned(), asked });
    }
    let expected = kernel.params().len();
    if args.len() != expected {
        return Err(LaunchError::ArgumentCount {
            kernel: kernel.name().to_owned(),
            expected,
            given: args.len(),
        });
    }
    if config.cooperative {
        check_cooperative(kernel, config)?;
    }
    let mut bytes = vec![0; kernel.program().params as usize];
    for (index, (arg, param)) in args.iter().zip(kernel.params()).enumerate() {
        let value = arg.to_bytes();
        if value.len() as u64 != param.size {
            return Err(LaunchError::ArgumentSize {
                kernel: kernel.name().to_owned(),
                index,
                param: param.name.clone(),
                expected: param.size,
                given: value.len(),
            });
        }
        bytes[param.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    Ok(bytes)
}

/// How many blocks a cluster of the launch has, if the kernel and the grid allow the number.
pub(super) fn cluster_size(kernel: &Kernel, config: &LaunchConfig) -> Result<u32, LaunchError> {
    let limits = kernel.limits();
    let refuse = |rule| LaunchError::ClusterForKernel {
        cluster: config.cluster,
        kernel: kernel.name().to_owned(),
        rule,
    };
    let cluster = match limits.required_cluster {
        Some([x, 1, 1]) if x == config.cluster || config.cluster == 1 => x,
        Some([x, 1, 1]) => return Err(refuse(format!("clusters of {x}"))),
        Some([x, y, z]) => {
            return Err(refuse(format!(
                "clusters of {}, and only those along x are simulated",
                Dim3 { x, y, z }
            )));
        }
        None => config.cluster,
    };
    if !(1..=MAX_CLUSTER).contains(&cluster) {
        return Err(LaunchError::ClusterSize { cluster });
    }
    if let Some(most) = limits.max_cluster_rank.filter(|most| cluster > *most) {
        return Err(refuse(format!("clusters of at most {most}")));
    }
    if !config.grid.x.is_multiple_of(cluster) {
        return Err(LaunchError::ClusterGrid { grid: config.grid, cluster });
    }
    Ok(cluster)
}

/// Refuses a cooperative launch whose blocks cannot all be resident at once.
fn check_cooperative(kernel: &Kernel, config: &LaunchConfig) -> Result<(), LaunchError> {
    let on_h100 = || {
        let shared_bytes = kernel.program().dynamic_base + config.dynamic_shared_bytes;
        let gpu = Gpu::all().iter().find(|gpu| gpu.name == "h100").expect("the H100 is known");
        gpu.multiprocessors
            * occupancy(gpu, config.block.count() as u32, shared_bytes, None).blocks_per_sm
    };
    let resident = config.resident_blocks.unwrap_or_else(on_h100);
    let blocks = config.grid.count() as u64;
    if blocks > u64::from(resident) {
        return Err(LaunchError::CooperativeTooLarge { blocks, resident });
    }
    Ok(())
}
