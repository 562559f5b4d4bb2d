//! The outcome of a transposition, written for people and for programs.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value as Json;

use super::{Difference, Moves, Plan, Tiles, Variant};
use crate::{
    device::{DeviceInfo, Dim3},
    experiment::{self, JsonSpeed, Outcome, Times},
};

/// A transposition and the check of its result.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The device on which it ran.
    pub device: &'a DeviceInfo,
    /// The launch.
    pub plan: &'a Plan,
    /// The static shared memory of one block, in bytes.
    pub shared_bytes: u32,
    /// Where the elements are from, such as `seed 1` or a file's name.
    pub input: String,
    /// The first wrong element of the output; `None` if the output is right.
    pub difference: Option<Difference>,
    /// The times of the runs; `None` if nothing was launched.
    pub times: Option<Times>,
}

impl<'a> Report<'a> {
    /// Makes the report of an outcome.
    pub fn new(
        device: &'a DeviceInfo,
        plan: &'a Plan,
        shared_bytes: u32,
        input: String,
        outcome: &Outcome<Vec<u8>>,
        difference: Option<Difference>,
    ) -> Self {
        Self { device, plan, shared_bytes, input, difference, times: Times::new(&outcome.times) }
    }

    /// Whether the output is right.
    pub fn agrees(&self) -> bool {
        self.difference.is_none()
    }

    /// The number of bytes that are moved: the matrix is read once and written once.
    fn bytes(&self) -> f64 {
        2.0 * self.plan.problem.bytes() as f64
    }
}

impl experiment::Report for Report<'_> {
    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let Plan { problem, tile, kernel, shape } = self.plan;
        let device = &self.device.name;
        writeln!(out, "device     {device}")?;
        writeln!(out, "kernel     {kernel} (variant {})", problem.variant)?;
        writeln!(
            out,
            "input      {} x {} {} elements, {}",
            problem.rows, problem.cols, problem.element, self.input
        )?;
        let shape =
            shape.map(|shape| format!("grid {}, block {}", dim(shape.grid), dim(shape.block)));
        match &shape {
            Some(shape) if self.shared_bytes > 0 => {
                writeln!(
                    out,
                    "launch     {shape}, {} bytes of shared memory each",
                    self.shared_bytes
                )?;
            }
            Some(shape) => writeln!(out, "launch     {shape}")?,
            None => writeln!(out, "launch     none")?,
        }
        let (rows, cols) = problem.output_extent();
        match &self.difference {
            None => writeln!(out, "result     {rows} x {cols} elements (agree exactly)")?,
            Some(difference) => {
                writeln!(out, "result     {rows} x {cols} elements (DISAGREE: {difference})")?;
            }
        }
        match (self.times, shape) {
            (Some(times), Some(shape)) => {
                writeln!(
                    out,
                    "{device}: {shape}, tile {tile}: {}",
                    times.describe(self.device, self.bytes())
                )
            }
            _ => writeln!(out, "{device}: nothing to transpose, nothing launched"),
        }
    }

    fn to_json(&self) -> Json {
        let Plan { problem, tile, kernel, shape } = self.plan;
        let extent = |dim: Option<Dim3>| dim.map_or([0; 3], |Dim3 { x, y, z }| [x, y, z]);
        let object = JsonReport {
            device: &self.device.name,
            variant: problem.variant.facts().name,
            kernel,
            element: problem.element.name(),
            rows: problem.rows,
            cols: problem.cols,
            tile: *tile,
            grid: extent(shape.map(|shape| shape.grid)),
            block: extent(shape.map(|shape| shape.block)),
            shared_bytes: self.shared_bytes,
            launches: usize::from(shape.is_some()),
            input: &self.input,
            agree: self.agrees(),
            difference: self.difference.as_ref().map(|difference| JsonDifference {
                row: difference.row,
                col: difference.col,
                found: format!("0x{}", difference.found),
                expected: format!("0x{}", difference.expected),
            }),
            speed: JsonSpeed::new(self.device, self.times, self.bytes()),
        };
        serde_json::to_value(object).expect("numbers and strings are JSON")
    }

    fn wrong(&self) -> Option<String> {
        self.difference
            .as_ref()
            .map(|difference| format!("wrong result of {}: {difference}", self.plan.kernel))
    }
}

#[derive(Serialize)]
struct JsonReport<'a> {
    device: &'a str,
    variant: &'a str,
    kernel: &'a str,
    #[serde(rename = "type")]
    element: &'a str,
    rows: u64,
    cols: u64,
    tile: u32,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    launches: usize,
    input: &'a str,
    agree: bool,
    difference: Option<JsonDifference>,
    #[serde(flatten)]
    speed: JsonSpeed,
}

#[derive(Serialize)]
struct JsonDifference {
    row: usize,
    col: usize,
    found: String,
    expected: String,
}

/// An extent such as `125 x 125`, with the third dimension if it is not 1.
fn dim(Dim3 { x, y, z }: Dim3) -> String {
    if z == 1 { format!("{x} x {y}") } else { format!("{x} x {y} x {z}") }
}

/// Writes the list of the variants, one paragraph for each.
///
/// # Errors
///
/// The writer's errors.
pub fn write_list(out: &mut impl Write) -> io::Result<()> {
    for variant in Variant::all() {
        let facts = variant.facts();
        let (does, tiles) = (
            match facts.moves {
                Moves::Copies => "copies",
                Moves::Transposes => "transposes",
                Moves::TransposesInPlace => "transposes squares in place",
            },
            match facts.tiles {
                Tiles::Lecture => "tiles of 16 or 32",
                Tiles::Vectors => "a tile for each width of elements",
            },
        );
        writeln!(out, "{:<13} {does}, {tiles}", facts.name)?;
        writeln!(out, "              {}", facts.sentence)?;
        writeln!(out, "              lecture: {}", facts.lecture)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        device::DeviceKind,
        experiment::{Report as _, test_device},
        transpose::{ElementType, Problem, plan},
    };

    fn with_report(
        kind: DeviceKind,
        rows: u64,
        difference: Option<Difference>,
        check: impl FnOnce(&Report),
    ) {
        let info = test_device(kind);
        let problem =
            Problem { variant: Variant::Padded, element: ElementType::F32, rows, cols: 4000 };
        let plan = plan(&problem, None, 1 << 40).unwrap();
        let times =
            if rows == 0 { vec![] } else { [300, 200, 250].map(Duration::from_micros).to_vec() };
        let outcome = Outcome { result: Vec::new(), times };
        check(&Report::new(&info, &plan, 4224, "seed 1".into(), &outcome, difference));
    }

    fn text(report: &Report) -> String {
        let mut text = Vec::new();
        report.write_text(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_gpu_has_a_bandwidth_of_reads_and_writes() {
        with_report(DeviceKind::Cuda, 4000, None, |report| {
            insta::assert_snapshot!(text(report), @r"
            device     Test device
            kernel     transpose_padded_b4_t32 (variant padded)
            input      4000 x 4000 f32 elements, seed 1
            launch     grid 250 x 63, block 32 x 8, 4224 bytes of shared memory each
            result     4000 x 4000 elements (agree exactly)
            Test device: grid 250 x 63, block 32 x 8, tile 32: median 250.0 us of 3 runs (200.0 us to 300.0 us), 512.0 GB/s, 51.2 % of the memory's peak
            ");
            let json = report.to_json();
            assert_eq!(
                (json["gb_per_s"].as_f64(), json["agree"].as_bool()),
                (Some(512.0), Some(true))
            );
            assert_eq!(json["grid"], serde_json::json!([250, 63, 1]));
        });
    }

    #[test]
    fn the_simulator_has_none() {
        with_report(DeviceKind::Simulator, 1, None, |report| {
            assert!(
                text(report).ends_with("GB/s of simulation (wall clock here, not a GPU's speed)\n")
            );
            assert_eq!(report.to_json()["time_kind"], "simulation");
        });
    }

    #[test]
    fn a_wrong_element_is_shown() {
        let difference = Difference { row: 3, col: 4, found: "0a".into(), expected: "0b".into() };
        with_report(DeviceKind::Cuda, 4000, Some(difference), |report| {
            assert!(!report.agrees());
            assert!(
                text(report).contains(
                    "(DISAGREE: the element in row 3 and column 4 is 0x0a, and it must be 0x0b)"
                ),
                "{}",
                text(report)
            );
            assert_eq!(report.to_json()["difference"]["expected"], "0x0b");
        });
    }

    #[test]
    fn nothing_takes_no_time() {
        with_report(DeviceKind::Cuda, 0, None, |report| {
            assert!(
                text(report).ends_with("Test device: nothing to transpose, nothing launched\n")
            );
            let json = report.to_json();
            assert!(json["time_us"].is_null() && json["launches"] == 0);
        });
    }

    #[test]
    fn the_list_has_every_variant() {
        let mut text = Vec::new();
        write_list(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            text.lines().filter(|line| !line.starts_with(' ')).count(),
            Variant::all().len()
        );
    }
}
