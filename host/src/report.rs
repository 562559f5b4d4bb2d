//! The outcome of a reduction, written for people and for programs.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Number, Value as Json};
use simt::occupancy::Gpu;

use crate::{
    device::{DeviceInfo, LaunchShape},
    element::Value,
    experiment::{self, JsonSpeed, Outcome, Times},
    launch::{Finish, Plan, Stage},
    profile::describe_gpu,
    reference::Reference,
    tune::Entry,
    variant::{Operands, Variant},
};

/// A reduction, its result and the check of the result.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The device on which it ran.
    pub device: &'a DeviceInfo,
    /// The GPU for which the launches were planned; `None` if that is the device itself.
    pub planned_for: Option<Gpu>,
    /// The launches.
    pub plan: &'a Plan,
    /// Where the elements are from, such as `seed 1` or a file's name.
    pub input: String,
    /// The result of the last run.
    pub result: Value,
    /// The value that the result should have.
    pub reference: Reference,
    /// The times of the runs; `None` if nothing was launched.
    pub times: Option<Times>,
    /// The entry of the tuning that chose the shape; `None` if tuning did not choose it.
    pub tuned: Option<&'a Entry>,
    /// Whether the exact result does not fit in the type; see [`wraps`](crate::reference::wraps).
    pub wrapped: bool,
}

impl<'a> Report<'a> {
    /// Makes the report of an outcome. It says nothing of another GPU, of tuning or of wrapping.
    pub fn new(
        device: &'a DeviceInfo,
        plan: &'a Plan,
        input: String,
        outcome: &Outcome<Value>,
        reference: Reference,
    ) -> Self {
        Self {
            device,
            planned_for: None,
            plan,
            input,
            result: outcome.result,
            reference,
            times: Times::new(&outcome.times),
            tuned: None,
            wrapped: false,
        }
    }

    /// Whether the result is right.
    pub fn agrees(&self) -> bool {
        self.reference.agrees(self.result)
    }

    /// The number of bytes of the input, which is read once.
    fn bytes(&self) -> f64 {
        self.plan.problem.n as f64 * f64::from(self.plan.problem.element.size())
    }

    fn describe_agreement(&self) -> String {
        let bound = self.reference.error_bound();
        match (self.agrees(), self.result.as_float().zip(self.reference.value().as_float())) {
            (true, _) if bound.is_infinite() => {
                "agrees in sign; partial products may leave the range of the type".into()
            }
            (true, Some((result, _))) if bound > 0.0 && !result.is_finite() => {
                "agrees: partial sums may leave the range of the type".into()
            }
            (true, Some((result, value))) if bound > 0.0 => {
                format!(
                    "agrees: the difference is {:.1e}, the bound {bound:.1e}",
                    (result - value).abs()
                )
            }
            (true, _) => "agrees exactly".into(),
            (false, Some(_)) if bound > 0.0 => {
                format!("DISAGREES: the bound of the error is {bound:.1e}")
            }
            (false, _) => "DISAGREES: it must be the same".into(),
        }
    }
}

impl experiment::Report for Report<'_> {
    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let Plan { problem, kernel, stages, finish, .. } = self.plan;
        let facts = problem.variant.facts();
        writeln!(out, "device     {}", self.device.name)?;
        writeln!(out, "kernel     {kernel} (variant {}, {})", facts.label, facts.name)?;
        writeln!(out, "input      {} {} elements, {}", problem.n, problem.element, self.input)?;
        writeln!(out, "launches   {}", describe_launches(self.plan))?;
        if let Some(tuned) = self.tuned {
            writeln!(out, "tuned      {}", tuned.describe())?;
        }
        if let Some(gpu) = &self.planned_for {
            writeln!(out, "gpu        {}", describe_gpu(gpu))?;
        }
        writeln!(out, "result     {}", self.result)?;
        writeln!(out, "reference  {} ({})", self.reference.value(), self.describe_agreement())?;
        match (self.times, stages.first()) {
            (Some(times), Some(first)) => {
                let shape = format!("grid {}, block {}", first.shape.grid.x, first.shape.block.x);
                writeln!(
                    out,
                    "{}: {shape}, finish {finish}: {}",
                    self.device.name,
                    times.describe(self.device, self.bytes())
                )
            }
            _ => writeln!(out, "{}: nothing to reduce, nothing launched", self.device.name),
        }
    }

    /// Integers become JSON numbers, exactly. Finite floats become JSON numbers too (an `f32` is
    /// widened to `f64`, which is exact); the other floats become the strings `"inf"`, `"-inf"` and
    /// `"nan"`. `gpu` is the GPU for which the launches were planned, or `null` if that is the
    /// device itself. `tuned` says whether [tuning](crate::tune) chose the shape.
    fn to_json(&self) -> Json {
        let Plan { problem, kernel, block, finish, stages, .. } = self.plan;
        let first = stages.first().map(|stage| stage.shape);
        let object = JsonReport {
            device: &self.device.name,
            gpu: self.planned_for.map(|gpu| gpu.name),
            variant: problem.variant.facts().label,
            variant_name: problem.variant.facts().name,
            kernel,
            op: problem.op.name(),
            element: problem.element.name(),
            n: problem.n,
            grid: first.map_or(0, |shape| shape.grid.x),
            block: *block,
            shared_bytes: first.map_or(0, |shape| shape.shared_bytes),
            finish: finish.name(),
            launches: stages.len(),
            tuned: self.tuned.is_some(),
            input: &self.input,
            result: json_value(self.result),
            reference: json_value(self.reference.value()),
            agree: self.agrees(),
            wrapped: self.wrapped,
            error_bound: json_float(self.reference.error_bound()),
            speed: JsonSpeed::new(self.device, self.times, self.bytes()),
        };
        serde_json::to_value(object).expect("numbers and strings are JSON")
    }

    fn wrong(&self) -> Option<String> {
        self.reference.check(&self.plan.kernel, self.result).err().map(|wrong| wrong.to_string())
    }
}

#[derive(Serialize)]
struct JsonReport<'a> {
    device: &'a str,
    gpu: Option<&'a str>,
    variant: &'a str,
    variant_name: &'a str,
    kernel: &'a str,
    op: &'a str,
    #[serde(rename = "type")]
    element: &'a str,
    n: u64,
    grid: u32,
    block: u32,
    shared_bytes: u32,
    finish: &'a str,
    launches: usize,
    tuned: bool,
    input: &'a str,
    result: Json,
    reference: Json,
    agree: bool,
    wrapped: bool,
    error_bound: Json,
    #[serde(flatten)]
    speed: JsonSpeed,
}

pub(crate) fn json_value(value: Value) -> Json {
    match value {
        Value::I32(value) => value.into(),
        Value::U32(value) => value.into(),
        Value::I64(value) => value.into(),
        Value::U64(value) => value.into(),
        Value::F32(value) => json_float(value.into()),
        Value::F64(value) => json_float(value),
    }
}

fn json_float(value: f64) -> Json {
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => "nan".into(),
        None => if value > 0.0 { "inf" } else { "-inf" }.into(),
    }
}

/// The launches of a plan in one line, such as `8192 x 256 with 1024 bytes of shared memory each,
/// then 16 x 256, then 1 x 256`.
pub(crate) fn describe_launches(plan: &Plan) -> String {
    const SHOWN: usize = 4;
    let Some((first, later)) = plan.stages.split_first() else {
        return "none".into();
    };
    let shape = |stage: &Stage| {
        let LaunchShape { grid, block, cluster, cooperative, .. } = stage.shape;
        let bound = match (cluster, cooperative) {
            (2.., _) => format!(" in clusters of {cluster}"),
            (_, true) => " at once".to_owned(),
            _ => String::new(),
        };
        format!("{} x {}{bound}", grid.x, block.x)
    };
    let mut parts = vec![match first.shape.shared_bytes {
        0 => shape(first),
        bytes => format!("{} with {bytes} bytes of shared memory each", shape(first)),
    }];
    parts.extend(later.iter().take(SHOWN).map(shape));
    if later.len() > SHOWN {
        parts.push(format!("{} more", later.len() - SHOWN));
    }
    if plan.finish == Finish::Host && plan.partials() > 1 {
        parts.push(format!("the host combines {} (not timed)", plan.partials()));
    }
    parts.join(", then ")
}

/// Writes the list of the rungs, one paragraph for each.
///
/// # Errors
///
/// The writer's errors.
pub fn write_list(out: &mut impl Write) -> io::Result<()> {
    for variant in Variant::all() {
        let facts = variant.facts();
        writeln!(out, "{:<7} {}", facts.label, facts.name)?;
        writeln!(out, "        {}", facts.sentence)?;
        let nvidia =
            facts.nvidia.map_or_else(|| "none".to_owned(), |name| format!("{name} of `reduction`"));
        writeln!(out, "        lecture: {}; NVIDIA's sample: {nvidia}", facts.lecture)?;
        if facts.operands != Operands::All {
            writeln!(out, "        restricted: {}", facts.operands.reason())?;
        }
        if facts.capability > (7, 5) {
            writeln!(
                out,
                "        needs compute capability {}.{}",
                facts.capability.0, facts.capability.1
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        device::DeviceKind,
        element::Values,
        experiment::{Report as _, test_device},
        launch::{DeviceLimits, Problem, Request, plan},
        op::Op,
    };

    fn with_report(
        kind: DeviceKind,
        values: &Values,
        op: Op,
        result: Value,
        check: impl FnOnce(&Report),
    ) {
        let info = test_device(kind);
        let n = values.len() as u64;
        let problem =
            Problem { variant: Variant::CompletelyUnrolled, op, element: values.element(), n };
        let plan = plan(&problem, &Request::default(), &DeviceLimits::new(&info, 1 << 30)).unwrap();
        let times =
            if n == 0 { vec![] } else { [30, 10, 20, 20].map(Duration::from_micros).to_vec() };
        let reference = Reference::new(values, op, plan.depth());
        check(&Report::new(&info, &plan, "seed 1".into(), &Outcome { result, times }, reference));
    }

    fn text(report: &Report) -> String {
        let mut text = Vec::new();
        report.write_text(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_gpu_has_a_bandwidth() {
        let values = Values::I32(vec![1; 100_000]);
        with_report(DeviceKind::Cuda, &values, Op::Sum, Value::I32(100_000), |report| {
            insta::assert_snapshot!(text(report), @r"
            device     Test device
            kernel     reduce6_sum_i32_b256 (variant 6, completely-unrolled)
            input      100000 i32 elements, seed 1
            launches   196 x 256 with 1024 bytes of shared memory each, then 1 x 256
            result     100000
            reference  100000 (agrees exactly)
            Test device: grid 196, block 256, finish relaunch: median 20.0 us of 4 runs (10.0 us to 30.0 us), 20.0 GB/s, 2.0 % of the memory's peak
            ");
            let json = report.to_json();
            assert_eq!(json["gb_per_s"].as_f64(), Some(20.0));
            assert_eq!(json["time_us"]["median"].as_f64(), Some(20.0));
        });
    }

    #[test]
    fn the_simulator_has_none() {
        let values = Values::F32(vec![0.1; 3]);
        with_report(DeviceKind::Simulator, &values, Op::Sum, Value::F32(0.3), |report| {
            let text = text(report);
            assert!(text.contains("simulated in median 20.0 us"), "{text}");
            assert!(
                text.ends_with("GB/s of simulation (wall clock here, not a GPU's speed)\n"),
                "{text}"
            );
            let json = report.to_json();
            assert!(
                json["peak_gb_per_s"].is_null()
                    && json["agree"] == true
                    && json["time_kind"] == "simulation"
            );
            assert_eq!(json["result"].as_f64(), Some(f64::from(0.3f32)));
        });
    }

    #[test]
    fn overflow_on_the_way_is_explained() {
        let values = Values::F32(vec![3e38, 3e38]);
        with_report(DeviceKind::Cuda, &values, Op::Sum, Value::F32(f32::INFINITY), |report| {
            let text = text(report);
            assert!(
                text.contains("(agrees: partial sums may leave the range of the type)"),
                "{text}"
            );
        });
        let values = Values::F64(vec![1e300, 1e300]);
        with_report(DeviceKind::Cuda, &values, Op::Prod, Value::F64(f64::INFINITY), |report| {
            let text = text(report);
            assert!(
                text.contains("(agrees in sign; partial products may leave the range of the type)"),
                "{text}"
            );
        });
    }

    #[test]
    fn a_wrong_result_is_shouted() {
        with_report(DeviceKind::Cuda, &Values::I32(vec![1, 2]), Op::Sum, Value::I32(4), |report| {
            assert!(!report.agrees());
            assert!(text(report).contains("reference  3 (DISAGREES: it must be the same)"));
            assert_eq!(report.to_json()["agree"], false);
        });
    }

    #[test]
    fn nothing_takes_no_time() {
        with_report(DeviceKind::Cuda, &Values::U64(vec![]), Op::Prod, Value::U64(1), |report| {
            assert!(text(report).ends_with("Test device: nothing to reduce, nothing launched\n"));
            let json = report.to_json();
            assert!(json["time_us"].is_null() && json["gb_per_s"].is_null() && json["grid"] == 0);
        });
    }

    #[test]
    fn json_keeps_integers_and_names_what_is_no_number() {
        let values = Values::U64(vec![u64::MAX]);
        with_report(DeviceKind::Cuda, &values, Op::Max, Value::U64(u64::MAX), |report| {
            assert!(report.to_json().to_string().contains("\"result\":18446744073709551615"));
        });
        let values = Values::F64(vec![f64::INFINITY]);
        with_report(DeviceKind::Cuda, &values, Op::Sum, Value::F64(f64::INFINITY), |report| {
            assert_eq!(report.to_json()["result"], "inf");
        });
        assert_eq!(json_float(f64::NAN), "nan");
        assert_eq!(json_float(f64::NEG_INFINITY), "-inf");
    }

    #[test]
    fn the_list_has_every_rung() {
        let mut text = Vec::new();
        write_list(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap().lines().filter(|line| !line.starts_with(' ')).count(),
            Variant::all().len()
        );
    }
}
