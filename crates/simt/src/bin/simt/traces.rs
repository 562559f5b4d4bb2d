//! Traces for people to read: the threads and their accesses, from one synchronisation to the next.

use std::fmt::Write as _;

use simt::{LaneAccess, Phase, PhaseEnd, Space, Trace, TracedAccess};

/// All blocks, phase by phase.
pub(crate) fn text(trace: &Trace) -> String {
    let mut out = String::new();
    for block in &trace.blocks {
        let _ = writeln!(out, "Block {}", block.block);
        for (index, phase) in block.phases.iter().enumerate() {
            let _ = writeln!(out, "  phase {}, {}", index + 1, end(phase));
            for access in &phase.accesses {
                let _ = writeln!(out, "    {}", line(trace, access));
            }
        }
    }
    if trace.truncated {
        out += "The launch did more than a trace holds: the rest is left out\n";
    }
    out
}

fn end(phase: &Phase) -> String {
    match phase.end {
        PhaseEnd::Barrier { id } => format!("up to barrier {id}"),
        PhaseEnd::WarpSync { warp, lanes } => {
            format!("up to a warp sync of warp {warp}, lanes {lanes:#010x}")
        }
        PhaseEnd::Exit => "up to the end".to_owned(),
        PhaseEnd::Stopped => "until it was stopped".to_owned(),
    }
}

fn line(trace: &Trace, access: &TracedAccess) -> String {
    let instruction = &trace.instructions[access.instruction];
    let mut text = format!(
        "line {}, warp {}: {} {} of {} bytes, {}",
        instruction.line,
        access.warp,
        access.space,
        access.access,
        access.bytes,
        lanes(&access.lanes)
    );
    let _ = match access.space {
        Space::Global => write!(text, "; sectors {}", access.sectors),
        Space::Shared => write!(
            text,
            "; wavefronts {}, bank conflicts {}",
            access.wavefronts, access.bank_conflicts
        ),
        _ => Ok(()),
    };
    text
}

/// Prints `threads 0 to 30 by 2 at 0x0 and on by 8` if threads and addresses are evenly spaced.
/// Otherwise prints each thread with its address.
fn lanes(lanes: &[LaneAccess]) -> String {
    let step = |of: &dyn Fn(&LaneAccess) -> i128| {
        let mut steps = lanes.windows(2).map(|pair| of(&pair[1]) - of(&pair[0]));
        let first = steps.next()?;
        steps.all(|step| step == first).then_some(first)
    };
    match (lanes, step(&|lane| lane.thread.into()), step(&|lane| lane.address.into())) {
        ([only], ..) => format!("thread {} at {:#x}", only.thread, only.address),
        ([first, .., last], Some(threads), Some(bytes)) => {
            let every = if threads == 1 { String::new() } else { format!(" by {threads}") };
            let place = match bytes {
                0 => format!("all at {:#x}", first.address),
                _ => format!("at {:#x} and on by {bytes}", first.address),
            };
            format!("threads {} to {}{every} {place}", first.thread, last.thread)
        }
        _ => {
            let each: Vec<String> = lanes
                .iter()
                .map(|lane| format!("{} at {:#x}", lane.thread, lane.address))
                .collect();
            format!("threads {}", each.join(", "))
        }
    }
}
