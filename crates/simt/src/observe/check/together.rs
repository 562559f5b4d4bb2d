//! Checks of launches that run together.

use super::detector::Check;
use super::report::Report;
use crate::exec::config::LaunchConfig;
use crate::exec::launch::{Together, TogetherError, run_together};
use crate::fault::Fault;

/// The findings of launches that were checked together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedTogether {
    /// One report for each class and pair of places, in the order in which they were found. There
    /// are at most 100 reports. Launches of one kernel have the same places.
    pub reports: Vec<Report>,
    /// The fault that stopped the launches, if there was one, after the position of its launch in
    /// the list.
    pub fault: Option<(usize, Box<Fault>)>,
}

/// Runs several kernels side by side as [`launch_together`](crate::launch_together) does, on one
/// host thread, and reports races and other mistakes.
///
/// Strong accesses of different devices race unless both have the scope `.sys`, and only fences of
/// that scope order accesses of different devices. Launches with the same memory run on one device,
/// and for them the scope `.gpu` suffices.
///
/// # Errors
/// The errors of [`launch_together`](crate::launch_together) except faults, which are part of the
/// result.
///
/// ```
/// use simt::{Arg, LaunchConfig, Memory, Module, Together, check_together};
///
/// // Each device adds to a word of the first device, with a scope that holds one device alone.
/// let module = Module::from_ptx(
///     "add.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry add(.param .u64 total) {
///          .reg .b64 %rd<2>;
///          ld.param.u64 %rd1, [total];
///          red.relaxed.gpu.global.add.u32 [%rd1], 1;
///          ret;
///      }",
/// )?;
/// let kernel = module.kernel("add").ok_or("no such kernel")?;
/// let memories = [Memory::new(1 << 20), Memory::new(1 << 20)];
/// let total = Memory::alloc_shared(&[&memories[0], &memories[1]], 4)?;
/// let (config, args) = (LaunchConfig::new(1, 1), [Arg::Pointer(total)]);
/// let launches = [0, 1].map(|device| Together {
///     kernel,
///     config: &config,
///     args: &args,
///     memory: &memories[device],
/// });
/// let checked = check_together(&launches)?;
/// let message = &checked.reports[0].message;
/// assert!(message.ends_with("but the scope of one does not hold the other's device"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_together(launches: &[Together<'_>]) -> Result<CheckedTogether, TogetherError> {
    let configs: Vec<LaunchConfig> = launches
        .iter()
        .map(|of| {
            let workers = of.config.workers.map(|workers| workers.min(1)).or(Some(1));
            LaunchConfig { workers, ..*of.config }
        })
        .collect();
    let launches: Vec<Together<'_>> =
        launches.iter().zip(&configs).map(|(of, config)| Together { config, ..*of }).collect();
    let (checks, fault) = run_together(&launches, || Check::new(&launches))?;
    let reports = checks.into_iter().flat_map(|check| check.reports.all).collect();
    Ok(CheckedTogether { reports, fault })
}
