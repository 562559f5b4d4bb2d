//! Results in JSON, for other programs.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};
use simt::suppress::Suppression;
use simt::{
    BlockTrace, Counters, Dim3, Fault, Frame, InstructionCounters, Party, Phase, PhaseEnd, Report,
    Trace, TracedAccess,
};

/// Counters, nested by the parts of their dotted names.
pub(crate) fn counters(counters: &Counters) -> Map<String, Json> {
    let mut nested = Map::new();
    for (name, value) in counters.entries() {
        let mut at = &mut nested;
        let mut parts = name.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                at.insert(part.to_owned(), value.into());
                break;
            }
            let inner = at.entry(part).or_insert_with(|| Json::Object(Map::new()));
            at = inner.as_object_mut().expect("no counter has both a value and parts");
        }
    }
    nested
}

pub(crate) fn instruction(instruction: &InstructionCounters) -> Json {
    json!({
        "line": instruction.line,
        "text": instruction.text,
        "frames": frames(&instruction.frames),
        "counters": counters(&instruction.counters),
    })
}

pub(crate) fn fault(fault: &Fault) -> Json {
    json!({
        "message": fault.to_string(),
        "what": fault.kind.to_string(),
        "kernel": fault.kernel,
        "block": dim(fault.block),
        "thread": dim(fault.thread),
        "line": fault.line,
        "instruction": fault.instruction,
        "frames": frames(&fault.frames),
    })
}

pub(crate) fn report(report: &Report) -> Json {
    json!({
        "kind": report.kind.name(),
        "severity": report.severity.name(),
        "message": report.message,
        "help": report.help,
        "count": report.count,
        "kernel": report.kernel,
        "here": party(&report.here),
        "other": report.other.as_ref().map(party),
    })
}

pub(crate) fn suppressed((suppressed, by): &(Report, Suppression)) -> Json {
    let mut json = report(suppressed);
    json["reason"] = by.reason.clone().into();
    json
}

pub(crate) fn unused(unused: &Suppression) -> Json {
    json!({ "kind": unused.class.name(), "line": unused.line, "reason": unused.reason })
}

fn party(party: &Party) -> Json {
    let access = party.access.map(|of| {
        json!({ "access": of.access.to_string(), "space": of.space.to_string(), "address": of.address, "bytes": of.bytes })
    });
    json!({
        "block": dim(party.block),
        "thread": dim(party.thread),
        "access": access,
        "line": party.line,
        "instruction": party.instruction,
        "frames": frames(&party.frames),
    })
}

/// The whole trace. Bytes are in hexadecimal, in the order of their addresses.
pub(crate) fn trace(trace: &Trace) -> Json {
    let block = |block: &BlockTrace| json!({ "block": dim(block.block), "phases": block.phases.iter().map(|of| phase(trace, of)).collect::<Vec<_>>() });
    json!({ "truncated": trace.truncated, "blocks": trace.blocks.iter().map(block).collect::<Vec<_>>() })
}

fn phase(trace: &Trace, phase: &Phase) -> Json {
    let end = match phase.end {
        PhaseEnd::Barrier { id } => json!({ "kind": "barrier", "id": id }),
        PhaseEnd::WarpSync { warp, lanes } => {
            json!({ "kind": "warp-sync", "warp": warp, "lanes": lanes })
        }
        PhaseEnd::Exit => json!({ "kind": "exit" }),
        PhaseEnd::Stopped => json!({ "kind": "stopped" }),
    };
    let accesses: Vec<Json> = phase.accesses.iter().map(|of| traced(trace, of)).collect();
    json!({ "end": end, "accesses": accesses, "shared": hexadecimal(&phase.shared) })
}

fn traced(trace: &Trace, traced: &TracedAccess) -> Json {
    let instruction = &trace.instructions[traced.instruction];
    let lanes = traced
        .lanes
        .iter()
        .map(|lane| json!({ "thread": lane.thread, "address": lane.address, "value": hexadecimal(&lane.value) }));
    json!({
        "warp": traced.warp,
        "line": instruction.line,
        "instruction": instruction.text,
        "access": traced.access.to_string(),
        "space": traced.space.to_string(),
        "bytes": traced.bytes,
        "sectors": traced.sectors,
        "wavefronts": traced.wavefronts,
        "bank_conflicts": traced.bank_conflicts,
        "lanes": lanes.collect::<Vec<_>>(),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn frames(frames: &[Frame]) -> Vec<Json> {
    let frame = |frame: &Frame| json!({ "file": frame.file, "line": frame.line, "column": frame.column, "function": frame.function });
    frames.iter().map(frame).collect()
}

pub(crate) fn dim(dim: Dim3) -> [u32; 3] {
    [dim.x, dim.y, dim.z]
}
