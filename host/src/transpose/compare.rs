//! A comparison of all variants: their times on a GPU, and their counters on the simulator.

use std::time::Duration;

use simt::{Banks, Counters, Traffic};

use super::{
    ElementType, Matrix, Plan, PlanError, Problem, Variant, check,
    counted::{Counted, count_all},
    plan,
    run::{Buffers, Transposition},
};
use crate::{
    device::{Device, DeviceInfo, DeviceKind},
    experiment::{Experiment, RunError, Runner, Runs, Times},
    output::{Axis, Cell, Chart, Column, Document, Kind, Reference, Series, Table},
    ptx::PtxLibrary,
};

/// A variant and its measurements.
#[derive(Clone, Debug)]
pub struct Competitor {
    /// The launch.
    pub plan: Plan,
    /// The times of the runs; `None` on the simulator.
    pub times: Option<Times>,
    /// The counters of the variant.
    pub counted: Counted,
}

/// All variants at the same work.
#[derive(Clone, Debug)]
pub struct Comparison {
    device: DeviceInfo,
    element: ElementType,
    rows: u64,
    cols: u64,
    runs: Runs,
    /// The times of a copy from device to device.
    copy: Option<Times>,
    competitors: Vec<Competitor>,
    /// The notes for the reader of the comparison.
    notes: Vec<String>,
}

impl Comparison {
    /// Runs all variants that can do the work, and checks each result. On a GPU the variants take
    /// turns, with a copy from device to device among them, and the median of the times of each one
    /// counts. The counters come from a simulator; see [`Counted`]. `before` is called before each
    /// step with a description of the step.
    ///
    /// A variant that has no tile of the requested size takes its own.
    ///
    /// # Errors
    ///
    /// See [`CompareError`].
    pub fn measure(
        device: &Device,
        library: &PtxLibrary,
        work: (ElementType, u64, u64),
        tile: Option<u64>,
        runs: Runs,
        before: &mut dyn FnMut(String),
    ) -> Result<Self, CompareError> {
        let (element, rows, cols) = work;
        if rows == 0 || cols == 0 {
            return Err(CompareError::Nothing { rows, cols });
        }
        // All variants with the lecture's tiles take the same sizes, so the check of one of them is
        // enough.
        check(&Problem { variant: Variant::Tiled, element, rows, cols }, tile)?;
        let mut notes = Vec::new();
        let mut plans = Vec::new();
        let memory = device.free_memory().map_err(RunError::from)?;
        for variant in Variant::all() {
            let problem = Problem { variant, element, rows, cols };
            let tile = tile.filter(|&tile| check(&problem, Some(tile)).is_ok());
            match plan(&problem, tile, memory) {
                Ok(plan) => plans.push(plan),
                Err(PlanError::NotSquare { .. }) => {
                    notes.push(format!(
                        "Variant {variant} is left out: the matrix is not a square."
                    ));
                }
                Err(error) => return Err(error.into()),
            }
        }

        let counted = count_all(library, &plans, before)?;
        let (copy, times) = match device.info().kind {
            DeviceKind::Simulator => (None, vec![None; plans.len()]),
            DeviceKind::Cuda => take_turns(device, library, &plans, runs, before)?,
        };
        let measured = plans.into_iter().zip(counted).zip(times);
        let competitors =
            measured.map(|((plan, counted), times)| Competitor { plan, times, counted }).collect();
        Ok(Self {
            device: device.info().clone(),
            element,
            rows,
            cols,
            runs,
            copy,
            competitors,
            notes,
        })
    }

    /// The variants and their measurements, in the order of the lecture.
    pub fn competitors(&self) -> &[Competitor] {
        &self.competitors
    }

    /// Whether less was measured than was asked for.
    pub fn is_cut_short(&self) -> bool {
        let asked = self.runs.timed as usize;
        let is_short =
            |competitor: &Competitor| competitor.times.is_none_or(|times| times.reps < asked);
        self.device.kind == DeviceKind::Cuda && self.competitors.iter().any(is_short)
    }

    /// The bandwidth in GB/s: the bytes that are read and written, over the median time.
    fn gb_per_s(&self, times: &Times) -> f64 {
        times.gb_per_s(2.0 * self.rows as f64 * self.cols as f64 * f64::from(self.element.size()))
    }

    /// The comparison as one table and its charts. With `history`, the lecture's own figures stand
    /// beside the measurements.
    pub fn document(&self, history: bool) -> Document {
        let mut environment = vec![("device".to_owned(), self.device.name.clone())];
        if let Some(peak) = self.device.peak_bytes_per_second {
            environment.push(("peak".to_owned(), format!("{:.1} GB/s", peak / 1e9)));
        }
        if let Some(copy) = &self.copy {
            environment.push((
                "device-to-device copy".to_owned(),
                format!("{:.1} GB/s", self.gb_per_s(copy)),
            ));
            let Runs { warm_up, timed } = self.runs;
            environment.push((
                "runs".to_owned(),
                format!("median of {timed}, after {warm_up} to warm up"),
            ));
        }
        let scaled = self.competitors.iter().any(|competitor| competitor.counted.scaled);
        environment.push((
            "counters".to_owned(),
            if scaled {
                "scaled exactly from smaller matrices"
            } else {
                "counted on the whole matrix"
            }
            .to_owned(),
        ));
        Document {
            title: format!(
                "Transposition of {} x {} {} elements",
                self.rows, self.cols, self.element
            ),
            environment,
            tables: vec![self.table(history)],
            charts: self.charts(),
            pictures: Vec::new(),
            interrupted: self.is_cut_short(),
        }
    }

    fn table(&self, history: bool) -> Table {
        let mut columns = vec![Column::new("variant", "variant"), Column::new("tile", "tile")];
        if self.copy.is_some() {
            columns.push(Column::new("time_us", "time").in_unit("us"));
            columns.push(Column::new("gb_per_s", "bandwidth").in_unit("GB/s"));
            columns.push(Column::new("percent_of_copy", "of copy").in_unit("%"));
            columns.push(Column::new("speedup", "speedup").in_unit("x"));
        }
        columns.push(Column::new("load_sectors_per_request", "sectors per load"));
        columns.push(Column::new("store_sectors_per_request", "sectors per store"));
        columns.push(Column::new("shared_wavefronts_per_request", "wavefronts per shared access"));
        columns.push(Column::new("bank_conflicts", "bank conflicts"));
        columns.push(Column::new("bytes_moved_per_byte", "bytes moved per byte"));
        if history {
            columns.push(Column::new("gtx280_gb_per_s", "GTX 280").in_unit("GB/s"));
            columns.push(Column::new("gtx280_speedup", "GTX 280").in_unit("x"));
        }
        let mut table = Table::new("transpose", "All variants", columns);
        let naive = self
            .competitors
            .iter()
            .find(|competitor| competitor.plan.problem.variant == Variant::NaiveStore);
        let naive_times = naive.and_then(|naive| naive.times);
        let naive_gtx280 = Variant::NaiveStore.facts().gtx280_gb_per_s;
        for Competitor { plan, times, counted: Counted { counters, .. } } in &self.competitors {
            let variant = plan.problem.variant;
            let mut row: Vec<Cell> = vec![variant.facts().name.into(), u64::from(plan.tile).into()];
            if let Some(copy) = &self.copy {
                let ratio = |other: &Times| {
                    times.map(|times| other.median.as_secs_f64() / times.median.as_secs_f64())
                };
                row.push(number(times.map(|times| times.median.as_secs_f64() * 1e6), 2));
                row.push(number(times.map(|times| self.gb_per_s(&times)), 1));
                row.push(number(ratio(copy).map(|ratio| 100.0 * ratio), 1));
                row.push(number(naive_times.as_ref().and_then(ratio), 2));
            }
            let shared = counters.shared;
            let [wavefronts, requests]: [fn(Banks) -> u64; 2] =
                [|banks| banks.wavefronts, |banks| banks.requests];
            let both = |of: fn(Banks) -> u64| of(shared.load) + of(shared.store);
            row.push(number(sectors_per_request(counters.global.load), 2));
            row.push(number(sectors_per_request(counters.global.store), 2));
            row.push(number(per(both(wavefronts), both(requests)), 2));
            row.push(counters.bank_conflicts().into());
            let asked = counters.global.load.bytes + counters.global.store.bytes;
            row.push(number(per(counters.bytes_moved(), asked), 2));
            if history {
                let gtx280 = variant.facts().gtx280_gb_per_s;
                row.push(number(gtx280, 1));
                row.push(number(gtx280.zip(naive_gtx280).map(|(gtx280, naive)| gtx280 / naive), 1));
            }
            table.push(row);
        }
        table.notes = self.table_notes(history);
        table
    }

    fn table_notes(&self, history: bool) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.copy.is_some() {
            notes.push(
                "The bandwidth counts the bytes read and the bytes written. The copy is a device-to-device copy of the same bytes by \
                 the driver. The speedup is relative to naive-store."
                    .to_owned(),
            );
        } else {
            notes.push("The simulator shows counters instead of times, because its times say nothing about a GPU.".to_owned());
        }
        notes.push(self.counters_note());
        if history {
            notes.push(
                "The columns GTX 280 have the lecture's own figures, for 4000 x 4000 floats (J. Filipovič, Optimalizace pro GPU hardware)."
                    .to_owned(),
            );
        }
        notes
    }

    /// A sentence on how the counters were found.
    fn counters_note(&self) -> String {
        let whole: Vec<_> = self
            .competitors
            .iter()
            .filter(|competitor| !competitor.counted.scaled)
            .map(|competitor| competitor.plan.problem.variant.to_string())
            .collect();
        if whole.len() == self.competitors.len() {
            return "The simulator counted one launch of each variant, over the whole matrix."
                .into();
        }
        let rest = if whole.is_empty() {
            String::new()
        } else {
            format!(" Of {} it counted a launch over the whole matrix.", whole.join(", "))
        };
        format!(
            "The counters are those of one launch over {} x {} elements. The simulator counted smaller matrices with the same \
             partial tiles and scaled the counts, which is exact, because each whole tile that is added costs the same.{rest}",
            self.rows, self.cols
        )
    }

    fn charts(&self) -> Vec<Chart> {
        let names = || {
            self.competitors.iter().map(|competitor| competitor.plan.problem.variant.to_string())
        };
        let kind = || Kind::Bars { categories: names().collect() };
        let mut charts = Vec::new();
        if let Some(copy) = &self.copy {
            let bars: Vec<f64> = self
                .competitors
                .iter()
                .map(|competitor| {
                    competitor.times.as_ref().map_or(f64::NAN, |times| self.gb_per_s(times))
                })
                .collect();
            let copy = self.gb_per_s(copy);
            let mut references =
                vec![Reference { label: "device-to-device copy".into(), value: copy }];
            references.extend(
                self.device
                    .peak_bytes_per_second
                    .map(|peak| Reference { label: "peak".into(), value: peak / 1e9 }),
            );
            let listed: Vec<_> = names()
                .zip(&bars)
                .map(|(name, gb_per_s)| format!("{name} {gb_per_s:.0}"))
                .collect();
            charts.push(Chart {
                id: "bandwidth".into(),
                title: "Bandwidth of each variant".into(),
                description: format!(
                    "Bars of GB/s: {}; a copy reaches {copy:.0}.",
                    listed.join(", ")
                ),
                kind: kind(),
                x: Axis::linear("variant"),
                y: Axis::linear("GB/s, read and written"),
                series: vec![Series::of_bars(self.element.name(), bars)],
                references,
            });
        }
        let bars = |of: &dyn Fn(&Counters) -> Option<f64>| -> Vec<f64> {
            self.competitors
                .iter()
                .map(|competitor| of(&competitor.counted.counters).unwrap_or(f64::NAN))
                .collect()
        };
        let loads = bars(&|counters| sectors_per_request(counters.global.load));
        let stores = bars(&|counters| sectors_per_request(counters.global.store));
        let listed: Vec<_> = names()
            .zip(loads.iter().zip(&stores))
            .map(|(name, (load, store))| format!("{name} {load:.1} and {store:.1}"))
            .collect();
        charts.push(Chart {
            id: "sectors".into(),
            title: "Sectors of global memory per request".into(),
            description: format!(
                "Pairs of bars, sectors per load and per store: {}.",
                listed.join(", ")
            ),
            kind: kind(),
            x: Axis::linear("variant"),
            y: Axis::linear("sectors of 32 bytes per request of a warp"),
            series: vec![Series::of_bars("loads", loads), Series::of_bars("stores", stores)],
            references: Vec::new(),
        });
        let loads = bars(&|counters| wavefronts_per_request(counters.shared.load));
        let stores = bars(&|counters| wavefronts_per_request(counters.shared.store));
        let listed: Vec<_> = names()
            .zip(loads.iter().zip(&stores))
            .filter(|(_, (load, _))| load.is_finite())
            .map(|(name, (load, store))| format!("{name} {load:.1} and {store:.1}"))
            .collect();
        charts.push(Chart {
            id: "wavefronts".into(),
            title: "Wavefronts of shared memory per request".into(),
            description: format!(
                "Pairs of bars, wavefronts per load and per store: {}; the others use none.",
                listed.join(", ")
            ),
            kind: kind(),
            x: Axis::linear("variant"),
            y: Axis::linear("wavefronts per request of a warp"),
            series: vec![Series::of_bars("loads", loads), Series::of_bars("stores", stores)],
            references: Vec::new(),
        });
        charts
    }
}

/// Why the variants could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The matrix cannot be transposed on this device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The matrix has no elements, so there is nothing to measure.
    #[error("{rows} x {cols}: nothing is launched, so there is nothing to compare")]
    Nothing {
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        cols: u64,
    },
    /// The host has no memory for the matrix.
    #[error(transparent)]
    Matrix(#[from] super::MatrixError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A result is wrong.
    #[error("wrong result: {kernel} on {device}: {difference}")]
    Wrong {
        /// The name of the kernel.
        kernel: String,
        /// The name of the device on which it ran.
        device: String,
        /// The first wrong element of the result.
        difference: super::Difference,
    },
}

fn number(value: Option<f64>, decimals: u8) -> Cell {
    value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
}

fn per(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn sectors_per_request(traffic: Traffic) -> Option<f64> {
    per(traffic.sectors, traffic.requests)
}

fn wavefronts_per_request(banks: Banks) -> Option<f64> {
    per(banks.wavefronts, banks.requests)
}

/// Compares an output with the right one.
pub(super) fn verify(
    device: &DeviceInfo,
    plan: &Plan,
    matrix: &Matrix,
    output: &[u8],
) -> Result<(), CompareError> {
    match matrix.difference(plan.problem.variant.facts().moves, output) {
        None => Ok(()),
        Some(difference) => Err(CompareError::Wrong {
            kernel: plan.kernel.clone(),
            device: device.name.clone(),
            difference,
        }),
    }
}

type AllTimes = (Option<Times>, Vec<Option<Times>>);

/// The times of a copy and of each plan on a GPU. Ctrl-C ends the runs, and the times measured
/// until then are returned.
fn take_turns(
    device: &Device,
    library: &PtxLibrary,
    plans: &[Plan],
    runs: Runs,
    before: &mut dyn FnMut(String),
) -> Result<AllTimes, CompareError> {
    let Some(Problem { element, rows, cols, .. }) = plans.first().map(|plan| plan.problem) else {
        return Ok((None, Vec::new()));
    };
    before("preparing the input".to_owned());
    let matrix = Matrix::generate(element, rows, cols, 1)?;
    let mut runner = Runner::new(device, library);
    let mut buffers = Buffers::new(device, &matrix).map_err(RunError::from)?;
    let mut kernels = Vec::new();
    for plan in plans {
        before(format!("checking {}", plan.kernel));
        let kernel = runner.kernel::<RunError>(&plan.kernel)?;
        let mut transposition =
            Transposition { device, kernel: &kernel, plan, buffers: &mut buffers };
        transposition.run().map_err(RunError::from)?;
        verify(device.info(), plan, &matrix, &transposition.output().map_err(RunError::from)?)?;
        kernels.push(kernel);
    }

    let mut copies: Vec<Duration> = Vec::new();
    let mut times = vec![Vec::new(); plans.len()];
    for run in 0..runs.total() {
        if device.is_interrupted() {
            break;
        }
        before(format!("run {} of {} on {}", run + 1, runs.total(), device.info().name));
        let timed = run >= runs.warm_up;
        let Buffers { input, output } = &mut buffers;
        let copy = device.time(|| output.copy_from(input)).map_err(RunError::from)?;
        copies.extend(timed.then_some(copy));
        for ((plan, kernel), times) in plans.iter().zip(&kernels).zip(&mut times) {
            let mut transposition = Transposition { device, kernel, plan, buffers: &mut buffers };
            let time = transposition.run().map_err(RunError::from)?;
            times.extend(timed.then_some(time));
        }
    }
    Ok((Times::new(&copies), times.iter().map(|times| Times::new(times)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::Instrument, transpose::Moves};

    #[test]
    fn squares_alone_are_transposed_in_place() {
        let device = Device::simulator_with(Instrument::Count);
        let library = PtxLibrary::embedded().unwrap();
        let measure = |rows, cols| {
            Comparison::measure(
                &device,
                &library,
                (ElementType::F32, rows, cols),
                Some(32),
                Runs::ONCE,
                &mut |_| (),
            )
        };
        let square = measure(64, 64).unwrap();
        assert_eq!(square.competitors().len(), Variant::all().len());
        let other = measure(64, 96).unwrap();
        assert!(
            other
                .competitors()
                .iter()
                .all(|one| one.plan.problem.variant.facts().moves != Moves::TransposesInPlace)
        );
        let notes = &other.document(false).tables[0].notes;
        assert!(notes.iter().any(|note| note.contains("not a square")), "{notes:?}");
        assert!(matches!(measure(0, 5), Err(CompareError::Nothing { .. })));
    }
}
