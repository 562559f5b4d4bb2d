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
    condition::Condition,
    device::name,
    operation::Operation,
    parts::Parts,
    run::Outcome,
};

/// All that there is to say about a reduction.
pub(crate) struct Report<'a> {
    pub(crate) operation: Operation,
    pub(crate) condition: Option<&'a Condition>,
    pub(crate) inputs: &'a [String],
    pub(crate) dtype: Dtype,
    pub(crate) devices: &'a [Device],
    pub(crate) outcome: &'a Outcome,
}

/// The most results of parts that are printed for people.
pub(crate) const PRINTED: usize = 20;

#[derive(Serialize)]
#[serde(untagged)]
enum JsonResult {
    One(Box<RawValue>),
    Extremes {
        min: Box<RawValue>,
        max: Box<RawValue>,
    },
    /// A result of a part. That of a whole array has its element beside it.
    Indexed(JsonIndexed),
    /// The elements that `topk` finds.
    Ranked(Vec<JsonIndexed>),
}

#[derive(Serialize)]
struct JsonIndexed {
    index: u64,
    element: Box<RawValue>,
}

#[derive(Serialize)]
struct Json {
    operation: &'static str,
    /// The condition for elements that count.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#where: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<JsonResult>,
    /// The axes that were reduced, numbered from 0 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    axes: Option<Vec<isize>>,
    /// The array with the offsets of the segments that were reduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<String>,
    /// The array with the keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_key: Option<String>,
    /// The number of bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<usize>,
    /// The key of each run, or the number of each bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<Box<RawValue>>>,
    /// The number of elements of each run or bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<u64>>,
    /// The shape of the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<u64>>,
    /// The results of the parts, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<JsonResult>>,
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
    reference: OneOrAll<String>,
    /// `null` if the result must be the same, or if no bound holds.
    error_bound: OneOrAll<Option<f64>>,
}

/// What belongs to the only result, or to each result of a part.
#[derive(Serialize)]
#[serde(untagged)]
enum OneOrAll<V> {
    One(V),
    All(Vec<V>),
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
            written(self.print_lines(&mut stdout))
        }
    }

    /// Writes the result, or the shape and the first of the results of parts.
    fn print_lines(&self, stdout: &mut impl io::Write) -> io::Result<()> {
        let Outcome { answers, parts, .. } = self.outcome;
        if let Some(parts) = parts {
            writeln!(stdout, "shape {}", shape_text(&parts.shape()))?;
        }
        for (part, answer) in answers.iter().take(PRINTED).enumerate() {
            if let Some(Parts::Keyed(keyed)) = parts {
                write!(stdout, "{} {} ", keyed.key(part), keyed.length(part))?;
            }
            writeln!(stdout, "{answer}")?;
        }
        if answers.len() > PRINTED {
            let whole = match self.operation {
                Operation::MinMax => "--json prints",
                _ => "--output FILE keeps",
            };
            writeln!(stdout, "… and {} more; {whole} them all", answers.len() - PRINTED)?;
        }
        Ok(())
    }

    fn json(&self) -> Json {
        let Outcome { answers, parts, n, wrapped, times, pieces, .. } = self.outcome;
        let (mut result, mut element, mut results) = (None, None, None);
        match (parts, &answers[..]) {
            (None, [Answer::Indexed { index, value }]) => {
                result = Some(JsonResult::One(Value::Int((*index).into()).json()));
                element = Some(value.json());
            }
            (None, answers) => result = answers.first().map(json_result),
            (Some(_), answers) => results = Some(answers.iter().map(json_result).collect()),
        }
        let (axes, segments) = match parts {
            Some(Parts::Rows(axes)) => (Some(axes.numbers.clone()), None),
            Some(Parts::Segments(segments)) => (None, Some(segments.name.clone())),
            Some(Parts::Keyed(_)) | None => (None, None),
        };
        let keyed = match parts {
            Some(Parts::Keyed(keyed)) => Some(keyed),
            _ => None,
        };
        let groups = || keyed.map(|keyed| 0..keyed.count());
        let times = median(times).map(|median| JsonTimes {
            kind: self.devices[0].info().kind.time_kind(),
            median_seconds: median.as_secs_f64(),
            bytes_per_second: self.bytes() as f64 / median.as_secs_f64(),
            seconds: times.iter().map(Duration::as_secs_f64).collect(),
        });
        Json {
            operation: self.operation.name(),
            r#where: self.condition.map(ToString::to_string),
            result,
            axes,
            segments,
            by_key: keyed.map(|keyed| keyed.keys.name.clone()),
            bins: keyed.and_then(|keyed| keyed.bins),
            keys: keyed.zip(groups()).map(|(keyed, groups)| {
                groups.map(|group| Value::Int(keyed.key(group).into()).json()).collect()
            }),
            counts: keyed
                .zip(groups())
                .map(|(keyed, groups)| groups.map(|group| keyed.length(group)).collect()),
            shape: parts.as_ref().map(Parts::shape),
            results,
            result_type: self.result_type().map(Dtype::name),
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
            verified: self.json_verdict(),
            times,
        }
    }

    fn json_verdict(&self) -> Option<JsonVerdict> {
        let Outcome { parts, verdicts, .. } = self.outcome;
        let references = verdicts.iter().map(|verdict| verdict.reference.clone());
        let bounds = verdicts.iter().map(|verdict| verdict.bound.filter(|bound| bound.is_finite()));
        (!verdicts.is_empty()).then(|| JsonVerdict {
            agrees: verdicts.iter().all(|verdict| verdict.agrees),
            reference: one_or_all(references, parts.is_some()),
            error_bound: one_or_all(bounds, parts.is_some()),
        })
    }

    /// The most elements that `topk` has found.
    fn longest(&self) -> usize {
        let lengths = self.outcome.answers.iter().map(|answer| match answer {
            Answer::Ranked(best) => best.len(),
            _ => 0,
        });
        lengths.max().unwrap_or(0)
    }

    /// The numbers of the results, in order: two for each result of `minmax`, and the indices of
    /// `topk`, with 2^64 - 1 behind those of a part that has fewer elements than the longest.
    fn values(&self) -> Vec<Value> {
        let longest = self.longest();
        let of = |answer: &Answer| match answer {
            Answer::One(value) => vec![value.clone()],
            Answer::Extremes { min, max } => vec![min.clone(), max.clone()],
            Answer::Indexed { index, .. } => vec![Value::Int((*index).into())],
            Answer::Ranked(best) => {
                let indices = best.iter().map(|&(index, _)| index);
                let none = std::iter::repeat_n(u64::MAX, longest - best.len());
                indices.chain(none).map(|index| Value::Int(index.into())).collect()
            }
        };
        self.outcome.answers.iter().flat_map(of).collect()
    }

    /// The type of the results: that of the elements for an element, and else the narrowest that
    /// holds all of them. Indices in parts, and those of `topk`, have 64 bits and no sign.
    fn result_type(&self) -> Option<Dtype> {
        use Operation as O;
        match self.operation {
            O::Min
            | O::Max
            | O::MinMax
            | O::Minimum
            | O::Maximum
            | O::BitAnd
            | O::BitOr
            | O::BitXor => Some(self.dtype),
            O::WrappingSum if self.dtype != Dtype::Bool => Some(self.dtype),
            O::Mean | O::Var | O::Std => Some(Dtype::F64),
            operation if operation.is_top() => Some(Dtype::U64),
            operation if operation.is_ordered() && self.outcome.parts.is_some() => Some(Dtype::U64),
            _ => match (self.values().as_slice(), &self.outcome.of_nothing) {
                ([], Some(Answer::One(value))) => value.dtype(),
                (values, _) => Value::common_dtype(values),
            },
        }
    }

    /// The bytes of the elements, and of the keys, that a run reads.
    fn bytes(&self) -> u64 {
        let n = match &self.outcome.parts {
            Some(Parts::Rows(axes)) => axes.read(),
            Some(Parts::Segments(segments)) => segments.elements(),
            _ if self.operation.is_pair() => 2 * self.outcome.n,
            _ => self.outcome.n,
        };
        let keys = match &self.outcome.parts {
            Some(Parts::Keyed(keyed)) => keyed.keys.bytes(),
            _ => 0,
        };
        n * self.dtype.size() as u64 + keys
    }

    /// Writes notes to stderr: what every user must know, and with `verbose` the rest.
    pub(crate) fn notes(&self, verbose: bool) {
        let Outcome { answers, parts, n, wrapped, verdicts, times, pieces, .. } = self.outcome;
        if *wrapped == Some(true) {
            note(format_args!(
                "{} wrapped around, because the exact {} does not fit into its type",
                if parts.is_some() { "at least one result" } else { "the result" },
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
        if parts.is_some() {
            self.note_verdicts();
        } else if let Some(verdict) = verdicts.first().filter(|verdict| verdict.agrees) {
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
                "{}{}{} of {n} {} elements from {}, in {pieces} piece(s), on {}",
                self.operation,
                self.condition.map_or(String::new(), |condition| format!(" where {condition}")),
                parts.as_ref().map_or(String::new(), |parts| format!(" {}", parts.described())),
                self.dtype,
                self.inputs.join(", "),
                names.join(", ")
            ));
            if let Some(reason) = self.devices[0].fallback_note() {
                note(reason);
            }
            if let (None, [Answer::Indexed { index, value }]) = (parts, &answers[..]) {
                note(format_args!("the element {index} is {value}"));
            }
        }
    }

    /// Says that the CPU's results of the parts are the same, unless one differs.
    fn note_verdicts(&self) {
        let verdicts = &self.outcome.verdicts;
        if verdicts.is_empty() || verdicts.iter().any(|verdict| !verdict.agrees) {
            return;
        }
        let n = verdicts.len();
        let unbounded = verdicts.iter().filter(|verdict| verdict.bound == Some(f64::INFINITY));
        match unbounded.count() {
            0 => note(format_args!("{n} of {n} results agree with the CPU's")),
            free => note(format_args!(
                "{n} of {n} results agree with the CPU's, and no bound holds for {free} of them, \
                 because partial results may leave the range of the type"
            )),
        }
    }

    /// Saves the result as a `.npy` file: an array without dimensions or, of two values, with one;
    /// or the results of parts in their shape. The indices of `topk` have one dimension more.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Failure> {
        let values = self.values();
        let shape = match (&self.outcome.parts, values.len()) {
            (parts, _) if self.operation.is_top() => {
                let mut shape = parts.as_ref().map(Parts::shape).unwrap_or_default();
                shape.push(self.longest() as u64);
                shape
            }
            (Some(parts), _) => parts.shape(),
            (None, 1) => Vec::new(),
            (None, _) => vec![2],
        };
        let dtype = self.result_type().filter(|dtype| dtype.numpy().is_some());
        let Some(dtype) = dtype else {
            let results = match (&self.outcome.parts, &self.outcome.answers[..]) {
                (None, [answer]) => answer.to_string(),
                _ => "all of these results".into(),
            };
            return Err(refused(anyhow!(
                "--output {}: NumPy has no type that holds {results}",
                path.display()
            )));
        };
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| {
                let mut bytes = value.bytes();
                let sign = if value.is_negative_integer() { 0xff } else { 0 };
                bytes.resize(dtype.size(), sign);
                bytes
            })
            .collect();
        write_npy(path, dtype, &shape, &bytes)
            .with_context(|| format!("--output {}: the file cannot be written", path.display()))
            .map_err(failed)
    }
}

fn one_or_all<V>(mut values: impl Iterator<Item = V>, are_all: bool) -> OneOrAll<V> {
    match (are_all, values.next()) {
        (false, Some(value)) => OneOrAll::One(value),
        (_, first) => OneOrAll::All(first.into_iter().chain(values).collect()),
    }
}

fn json_result(answer: &Answer) -> JsonResult {
    match answer {
        Answer::One(value) => JsonResult::One(value.json()),
        Answer::Extremes { min, max } => JsonResult::Extremes { min: min.json(), max: max.json() },
        Answer::Indexed { index, value } => JsonResult::Indexed(json_indexed(*index, value)),
        Answer::Ranked(best) => JsonResult::Ranked(
            best.iter().map(|(index, value)| json_indexed(*index, value)).collect(),
        ),
    }
}

fn json_indexed(index: u64, value: &Value) -> JsonIndexed {
    JsonIndexed { index, element: value.json() }
}

/// A shape as NumPy writes it.
fn shape_text(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => {
            let sizes: Vec<_> = shape.iter().map(ToString::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

/// The median time. `None` if there are no times.
fn median(times: &[Duration]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    let (low, high) = (times.get(times.len().checked_sub(1)? / 2)?, times.get(times.len() / 2)?);
    Some((*low + *high) / 2)
}
