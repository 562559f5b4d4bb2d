//! Results for machines.

use serde_json::{Map, Value as Json, json};
use simt::{Counters, Dim3, Fault, Frame, InstructionCounters};

/// Counters under their dotted names, nested.
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
    })
}

pub(crate) fn frames(frames: &[Frame]) -> Vec<Json> {
    let frame = |frame: &Frame| json!({ "file": frame.file, "line": frame.line, "column": frame.column, "function": frame.function });
    frames.iter().map(frame).collect()
}

pub(crate) fn dim(dim: Dim3) -> [u32; 3] {
    [dim.x, dim.y, dim.z]
}
