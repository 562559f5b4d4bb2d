//! The reports about warp-level instructions, which cost nothing to find and are therefore given
//! without checks too.

use super::report::{Found, Party, ReportKind, Reports, Severity, name, pcs_here};
use super::threads::lanes;
use crate::exec::config::LaunchConfig;
use crate::exec::env::Env;
use crate::exec::launch::{Arg, LaunchError, run};
use crate::exec::memory::Memory;
use crate::exec::observer::{At, Meeting, MeetingKind, Observer};
use crate::fault::Lanes;
use crate::module::Kernel;
use crate::observe::check::{Checked, Report};
use crate::registers::LANES;

impl Reports {
    /// Reports what is wrong with a meeting of lanes.
    #[inline]
    pub(super) fn meeting(&mut self, env: &Env<'_>, at: At, meeting: &Meeting<'_>) {
        self.absent(env, at, meeting);
        if let MeetingKind::Collective { strays: strays @ 1.., .. } = meeting.kind {
            self.strays(env, at, strays);
        }
    }

    /// Reports members of a warp-level instruction that never arrive.
    fn absent(&mut self, env: &Env<'_>, at: At, meeting: &Meeting<'_>) {
        let Meeting { lanes: mask, members, alive, .. } = *meeting;
        let Some(lane) = lanes(mask).find(|lane| members[*lane as usize] & !alive != 0) else {
            return;
        };
        let members = members[lane as usize];
        let thread = at.warp * LANES as u32 + lane;
        let threads = env.job.config.block.count() as u32;
        let first = at.warp * LANES as u32;
        let exist = u32::MAX >> (LANES as u32 - (threads - first).min(LANES as u32));
        let tell = || {
            let absent = members & !alive;
            let why = if absent & exist == 0 { "never had a thread" } else { "will not come" };
            let message = format!(
                "{} waits for the members of mask {members:#010x}, of which {} of warp {} {why}",
                name(env, env.id(), thread),
                Lanes(absent),
                at.warp
            );
            let here = Party::new(env, env.id(), thread, at.pc, None);
            (
                message,
                here,
                None,
                "let the mask name the lanes that take part: `ballot` before lanes part tells them",
            )
        };
        self.add(
            env,
            &Found {
                kind: ReportKind::AbsentLanes,
                rank: (Severity::Warning, 0),
                pcs: pcs_here(env, [at.pc; 2]),
                times: 1,
                tell: &tell,
            },
        );
    }

    /// Reports lanes that read by a shuffle from lanes that do not take part.
    fn strays(&mut self, env: &Env<'_>, at: At, strays: u32) {
        let thread = at.warp * LANES as u32 + strays.trailing_zeros();
        let tell = || {
            let message = format!(
                "{} reads by a shuffle from a lane that does not take part",
                name(env, env.id(), thread)
            );
            let here = Party::new(env, env.id(), thread, at.pc, None);
            (
                message,
                here,
                None,
                "what it gets is undefined: bring the source lane to the shuffle too",
            )
        };
        let times = u64::from(strays.count_ones());
        self.add(
            env,
            &Found {
                kind: ReportKind::StrayShuffle,
                rank: (Severity::Warning, 0),
                pcs: pcs_here(env, [at.pc; 2]),
                times,
                tell: &tell,
            },
        );
    }

    /// The reports of several workers, one for each class and pair of places.
    pub(crate) fn joined(all: impl IntoIterator<Item = Reports>) -> Vec<Report> {
        let mut joined: Vec<Report> = Vec::new();
        for report in all.into_iter().flat_map(|reports| reports.all) {
            let same =
                |of: &&mut Report| of.kind == report.kind && of.here.line == report.here.line;
            match joined.iter_mut().find(same) {
                Some(of) => {
                    let count = of.count + report.count;
                    let position = |of: &Report| {
                        let [block, thread] = [of.here.block, of.here.thread];
                        [block.z, block.y, block.x, thread.z, thread.y, thread.x]
                    };
                    if position(&report) < position(of) {
                        *of = report;
                    }
                    of.count = count;
                }
                None => joined.push(report),
            }
        }
        joined.sort_by_key(|report| report.here.line);
        joined
    }
}

/// The observer of a launch that is not checked.
#[derive(Debug, Default)]
pub(crate) struct Warnings(pub(crate) Reports);

impl Observer for Warnings {
    #[inline]
    fn meeting(&mut self, env: &Env<'_>, at: At, meeting: &Meeting<'_>) {
        self.0.meeting(env, at, meeting);
    }
}

/// Runs a kernel to its end as [`launch`](crate::launch()) does, at the same speed, and reports
/// what is found without checks: member masks that name lanes which do not take part, and shuffles
/// that read from such lanes.
///
/// # Errors
/// The errors of [`launch`](crate::launch()) except faults, which are part of the result.
///
/// ```
/// use simt::{Arg, LaunchConfig, Memory, Module, ReportKind, launch_and_warn};
///
/// // A warp of 20 threads shuffles with a mask of 32.
/// let module = Module::from_ptx(
///     "last.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry last() {
///          .reg .b32 %r<2>;
///          mov.u32 %r1, %tid.x;
///          shfl.sync.idx.b32 %r1, %r1, 31, 31, 0xffffffff;
///          ret;
///      }",
/// )?;
/// let kernel = module.kernel("last").ok_or("no such kernel")?;
/// let memory = Memory::new(1 << 20);
/// let ran = launch_and_warn(kernel, &LaunchConfig::new(1, 20), &[], &memory)?;
/// let kinds: Vec<ReportKind> = ran.reports.iter().map(|report| report.kind).collect();
/// assert_eq!(kinds, [ReportKind::AbsentLanes, ReportKind::StrayShuffle]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn launch_and_warn(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
) -> Result<Checked, LaunchError> {
    let (warnings, fault) = run(kernel, config, args, memory, Warnings::default)?;
    Ok(Checked { reports: Reports::joined(warnings.into_iter().map(|of| of.0)), fault })
}
