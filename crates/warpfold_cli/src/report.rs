//! Writes results: the value alone, one JSON object, a `.npy` file, or more on stderr.

use std::{
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use serde::Serialize;
use serde_json::value::RawValue;
use warpfold::Device;
use warpfold_tools::{
    arrays::{Dtype, write_npy},
    terminal::{Failure, failed, note, refused, written},
};

use crate::{
    answer::{Answer, Value},
    device::name,
    operation::Operation,
    run::Outcome,
};

/// All that there is to say about a reduction.
pub(crate) struct Report<'a> {
    pub(crate) operation: Operation,
    pub(crate) inputs: &'a [String],
    pub(crate) dtype: Dtype,
    pub(crate) devices: &'a [Device],
    pub(crate) outcome: &'a Outcome,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonResult {
    One(Box<RawValue>),
    Extremes { min: Box<RawValue>, max: Box<RawValue> },
}

#[derive(Serialize)]
struct Json {
    operation: &'static str,
    result: JsonResult,
    /// The type of the result; `null` if no type of 128 bits holds it.
    result_type: Option<&'static str>,
    /// The element at the index that is the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    element: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrapped: Option<bool>,
    inputs: Vec<String>,
    r#type: &'static str,
    n: u64,
    pieces: u64,
    devices: Vec<JsonDevice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<JsonVerdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<JsonTimes>,
}

#[derive(Serialize)]
struct JsonDevice {
    device: String,
    name: String,
}

#[derive(Serialize)]
struct JsonVerdict {
    agrees: bool,
    /// The CPU's result, as text.
    reference: String,
    /// `null` if the result must be the same, or if no bound holds.
    error_bound: Option<f64>,
}

#[derive(Serialize)]
struct JsonTimes {
    /// `gpu` or `simulation`.
    kind: &'static str,
    median_seconds: f64,
    bytes_per_second: f64,
    seconds: Vec<f64>,
}

impl Report<'_> {
    /// Writes the result to stdout, alone or as JSON.
    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        if json {
            let text = serde_json::to_string_pretty(&self.json()).map_err(failed)?;
            written(writeln!(stdout, "{text}"))
        } else {
            written(writeln!(stdout, "{}", self.outcome.answer))
        }
    }

    fn json(&self) -> Json {
        let Outcome { answer, n, wrapped, verdict, times, pieces } = self.outcome;
        let (result, shown, element) = match answer {
            Answer::One(value) => (JsonResult::One(value.json()), value.clone(), None),
            Answer::Extremes { min, max } => {
                (JsonResult::Extremes { min: min.json(), max: max.json() }, min.clone(), None)
            }
            Answer::Indexed { index, value } => {
                let index = Value::Int((*index).into());
                (JsonResult::One(index.json()), index, Some(value.json()))
            }
        };
        let times = median(times).map(|median| JsonTimes {
            kind: self.devices[0].info().kind.time_kind(),
            median_seconds: median.as_secs_f64(),
            bytes_per_second: self.bytes() as f64 / median.as_secs_f64(),
            seconds: times.iter().map(Duration::as_secs_f64).collect(),
        });
        Json {
            operation: self.operation.name(),
            result,
            result_type: self.result_type(&shown).map(Dtype::name),
            element,
            wrapped: *wrapped,
            inputs: self.inputs.to_vec(),
            r#type: self.dtype.name(),
            n: *n,
            pieces: *pieces,
            devices: self
                .devices
                .iter()
                .map(|device| JsonDevice { device: name(device), name: device.info().name.clone() })
                .collect(),
            verified: verdict.as_ref().map(|verdict| JsonVerdict {
                agrees: verdict.agrees,
                reference: verdict.reference.clone(),
                error_bound: verdict.bound.filter(|bound| bound.is_finite()),
            }),
            times,
        }
    }

    /// The type of an element of the result: that of the elements for an element, and else that of
    /// the value.
    fn result_type(&self, value: &Value) -> Option<Dtype> {
        use Operation as O;
        match (self.operation, value) {
            (
                O::Min
                | O::Max
                | O::MinMax
                | O::Minimum
                | O::Maximum
                | O::BitAnd
                | O::BitOr
                | O::BitXor
                | O::WrappingSum,
                Value::Int(_),
            ) if self.dtype != Dtype::Bool => Some(self.dtype),
            _ => value.dtype(),
        }
    }

    fn bytes(&self) -> u64 {
        let operands = if self.operation.is_pair() { 2 } else { 1 };
        self.outcome.n * operands * self.dtype.size() as u64
    }

    /// Writes notes to stderr: what every user must know, and with `verbose` the rest.
    pub(crate) fn notes(&self, verbose: bool) {
        let Outcome { n, wrapped, verdict, times, pieces, answer } = self.outcome;
        if *wrapped == Some(true) {
            note(format_args!(
                "the result wrapped around, because the exact {} does not fit into its type",
                self.operation
            ));
        }
        if let Some(median) = median(times) {
            note(format_args!(
                "{:?} in the median of {} runs{}: {:.1} GB/s",
                median,
                times.len(),
                if self.devices[0].info().ordinal.is_some() { "" } else { " of the simulator" },
                self.bytes() as f64 / median.as_secs_f64() / 1e9
            ));
        }
        if let Some(verdict) = verdict.as_ref().filter(|verdict| verdict.agrees) {
            match verdict.bound {
                None => note(format_args!("the CPU's result is the same: {}", verdict.reference)),
                Some(bound) if bound.is_infinite() => note(format_args!(
                    "the CPU's result is {}, and no bound holds, because partial results may leave the range of the type",
                    verdict.reference
                )),
                Some(bound) => note(format_args!(
                    "the CPU's result is {}, and the difference is within {bound:.3e}",
                    verdict.reference
                )),
            }
        }
        if verbose {
            let names: Vec<_> = self
                .devices
                .iter()
                .map(|device| format!("{} ({})", name(device), device.info().name))
                .collect();
            note(format_args!(
                "{} of {n} {} elements from {}, in {pieces} piece(s), on {}",
                self.operation,
                self.dtype,
                self.inputs.join(", "),
                names.join(", ")
            ));
            if let Some(reason) = self.devices[0].fallback_note() {
                note(reason);
            }
            if let Answer::Indexed { index, value } = answer {
                note(format_args!("the element {index} is {value}"));
            }
        }
    }

    /// Saves the result as a `.npy` file: an array without dimensions or, of two values, with one.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Failure> {
        let (values, shape): (Vec<Value>, &[u64]) = match &self.outcome.answer {
            Answer::One(value) => (vec![value.clone()], &[]),
            Answer::Extremes { min, max } => (vec![min.clone(), max.clone()], &[2]),
            Answer::Indexed { index, .. } => (vec![Value::Int((*index).into())], &[]),
        };
        let dtype = self.result_type(&values[0]).filter(|dtype| dtype.numpy().is_some());
        let Some(dtype) = dtype else {
            return Err(refused(anyhow!(
                "--output {}: NumPy has no type that holds {}",
                path.display(),
                self.outcome.answer
            )));
        };
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| {
                let mut bytes = value.bytes();
                bytes.truncate(dtype.size());
                bytes
            })
            .collect();
        write_npy(path, dtype, shape, &bytes)
            .with_context(|| format!("--output {}: the file cannot be written", path.display()))
            .map_err(failed)
    }
}

/// The median time. `None` if there are no times.
fn median(times: &[Duration]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    let (low, high) = (times.get(times.len().checked_sub(1)? / 2)?, times.get(times.len() / 2)?);
    Some((*low + *high) / 2)
}
