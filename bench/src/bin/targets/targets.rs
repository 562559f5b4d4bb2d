//! The targets of rows, columns, segments, keys and bins.

use crate::results::{Kind, Results, Row};

/// A target.
pub(crate) struct Target {
    pub(crate) what: &'static str,
    pub(crate) bound: Bound,
    /// The cases that the target is about.
    select: fn(&Row) -> bool,
    number: Number,
}

/// A bound. If it has two numbers, they are those of an H100 and of an H200.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    Least(f64),
    LeastOn([f64; 2]),
    Most(f64),
}

/// The number of a case that is compared with the bound.
enum Number {
    /// The time of this contender, divided by our time.
    Times(&'static str),
    /// The bytes that are read and written, in GB/s. There are four written for each row.
    RowBandwidth,
    /// The greater bandwidth of two neighbouring lengths of rows, divided by the smaller one.
    Neighbours,
    /// The bandwidth divided by that of the memory.
    Peak,
    /// Our time without that of an empty kernel, in microseconds.
    OverEmpty,
}

/// The GB/s of the memory of an H100 and of an H200.
const PEAKS: [f64; 2] = [3350.0, 4800.0];

/// The bytes of inputs that no cache holds.
const BEYOND_CACHE: u64 = 128 << 20;

/// The most elements of a small problem whose time over an empty kernel has a target.
const FEW: u64 = 1 << 14;

/// The shapes of small problems.
const SMALL: [[u64; 2]; 4] = [[32, 32], [1000, 10], [1, 1_000_000], [1_000_000, 1]];

/// All targets.
pub(crate) const TARGETS: &[Target] = &{
    use Bound::{Least, LeastOn, Most};
    use Number::{Neighbours, OverEmpty, Peak, RowBandwidth, Times};
    const fn target(
        what: &'static str,
        bound: Bound,
        number: Number,
        select: fn(&Row) -> bool,
    ) -> Target {
        Target { what, bound, select, number }
    }
    [
        target("rows beyond the cache, twin", Least(0.95), Times("twin"), |row| {
            row.is_rows() && row.is_streamed() && row.is_large()
        }),
        target("rows in the cache, twin", Least(0.95), Times("twin"), |row| {
            row.is_rows() && row.is_streamed() && !row.is_large()
        }),
        target("rows of 64 f32 and more, GB/s", LeastOn([3050.0, 4450.0]), RowBandwidth, |row| {
            row.is_large() && row.is_sum_of_f32_rows(64)
        }),
        target("rows of neighbouring lengths, GB/s", Most(1.15), Neighbours, |row| {
            row.is_large() && row.is_sum_of_f32_rows(1)
        }),
        target("rows, CUB", Least(1.0), Times("cub"), Row::is_rows),
        target("rows, torch eager", Least(1.0), Times("torch"), Row::is_rows),
        target("rows, torch.compile", Least(1.0), Times("compiled"), Row::is_rows),
        target("ArgMin of rows of 16 to 512, CUB", Least(3.0), Times("cub"), |row| {
            row.op == "argmin" && matches!(row.kind, Kind::Rows(16..=512))
        }),
        target("columns, runs from 64 bytes, twin", Least(0.90), Times("twin"), |row| {
            row.is_columns() && row.is_streamed()
        }),
        target("columns, torch eager", Least(1.0), Times("torch"), Row::is_columns),
        target("columns, torch.compile", Least(1.0), Times("compiled"), Row::is_columns),
        target("1048576x64 and 65536x1024, torch eager", Least(1.3), Times("torch"), |row| {
            row.is_columns()
                && [[1_048_576, 64], [65536, 1024]].iter().any(|shape| row.shape == shape)
        }),
        target(
            "sum, std, argmax of 65536x1024 over 0, torch eager",
            Least(1.5),
            Times("torch"),
            |row| {
                row.is_columns()
                    && row.shape == [65536, 1024]
                    && ["sum", "moments", "argmax"].contains(&row.op.as_str())
            },
        ),
        target("logsumexp of columns, torch eager", Least(6.0), Times("torch"), |row| {
            row.is_columns() && row.op == "logsumexp"
        }),
        target("narrower runs, twin", Least(0.85), Times("twin"), |row| {
            matches!(row.kind, Kind::Columns(..64)) && row.is_large()
        }),
        target("offsets, mean 1, of the peak", Least(0.60), Peak, |row| row.has_mean(1, 1)),
        target("offsets, mean 2 to 8, of the peak", Least(0.75), Peak, |row| row.has_mean(2, 8)),
        target("offsets, mean from 16 on, of the peak", Least(0.85), Peak, |row| {
            row.has_mean(16, u64::MAX)
        }),
        target("offsets, mixed lengths, of the peak", Least(0.85), Peak, Row::is_mixed),
        target("offsets, mean up to 4, CUB", Least(100.0), Times("cub"), |row| row.has_mean(1, 4)),
        target("offsets, mean 16, CUB", Least(40.0), Times("cub"), |row| row.has_mean(16, 16)),
        target("offsets, mean 64, CUB", Least(12.0), Times("cub"), |row| row.has_mean(64, 64)),
        target("offsets, mean 256, CUB", Least(3.3), Times("cub"), |row| row.has_mean(256, 256)),
        target("offsets, mean 1024, CUB", Least(1.5), Times("cub"), |row| row.has_mean(1024, 1024)),
        target("offsets, CUB", Least(1.0), Times("cub"), |row| {
            matches!(row.kind, Kind::Offsets { .. }) && row.empty_us.is_none()
        }),
        target("offsets, power law, CUB", Least(55.0), Times("cub"), |row| {
            row.is_mixed() && row.name == "f32 power law 1.2"
        }),
        target("offsets, power law with empty ones, CUB", Least(120.0), Times("cub"), |row| {
            row.is_mixed() && row.name.contains("half empty")
        }),
        target("offsets, one giant, CUB", Least(80.0), Times("cub"), |row| {
            row.is_mixed() && row.name.contains("one giant")
        }),
        target("by key, CUB", Least(1.2), Times("cub"), |row| row.kind == Kind::Keys),
        target("counts of bins, CUB", Least(1.0), Times("cub"), |row| row.kind == Kind::Counts),
        target("sums of bins under skew, atomics", Least(3.0), Times("atomics"), |row| {
            row.kind == Kind::BinSums && !row.name.contains("uniform")
        }),
        target("small problems in a graph, torch eager", Least(2.0), Times("torch"), |row| {
            SMALL.iter().any(|shape| row.shape == shape)
        }),
        target("small problems over an empty kernel, us", Most(1.3), OverEmpty, |row| {
            row.elements <= FEW
        }),
    ]
};

impl Row {
    fn is_rows(&self) -> bool {
        matches!(self.kind, Kind::Rows(_)) && self.empty_us.is_none()
    }

    /// Whether the operation is to be as fast as the memory. Lists of the greatest elements and
    /// exact sums are not: their arithmetic takes longer.
    fn is_streamed(&self) -> bool {
        !self.op.starts_with("top") && self.op != "exact"
    }

    /// Whether columns or middle axes lie in pieces of at least 64 bytes, beyond the cache.
    fn is_columns(&self) -> bool {
        matches!(self.kind, Kind::Columns(64..)) && self.is_large() && self.empty_us.is_none()
    }

    fn is_large(&self) -> bool {
        self.bytes >= BEYOND_CACHE
    }

    /// Whether segments beyond the cache have several lengths.
    fn is_mixed(&self) -> bool {
        self.is_large() && matches!(self.kind, Kind::Offsets { is_mixed: true, .. })
    }

    fn is_sum_of_f32_rows(&self, least: u64) -> bool {
        let is_long = matches!(self.kind, Kind::Rows(length) if length >= least);
        is_long && self.is_rows() && (self.op.as_str(), self.element.as_str()) == ("sum", "f32")
    }

    /// Whether segments beyond the cache have equal lengths from `least` to `most`.
    fn has_mean(&self, least: u64, most: u64) -> bool {
        match self.kind {
            Kind::Offsets { count, is_mixed: false } if self.empty_us.is_none() => {
                self.is_large() && (least..=most).contains(&(self.elements / count.max(1)))
            }
            _ => false,
        }
    }

    /// The bandwidth in GB/s of rows with results of four bytes.
    fn row_bandwidth(&self) -> Option<f64> {
        let Kind::Rows(length) = self.kind else { return None };
        let written = 4 * self.elements / length.max(1);
        Some((self.bytes + written) as f64 / self.us.get("warpfold")? / 1e3)
    }
}

/// What a target reached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reached {
    pub(crate) worst: f64,
    pub(crate) median: f64,
    pub(crate) best: f64,
    pub(crate) cases: usize,
    pub(crate) is_met: bool,
    /// The name of the worst case.
    pub(crate) worst_case: String,
}

impl Target {
    /// The bound on a device; `None` if none was set for it.
    pub(crate) fn bound_on(&self, device: &str) -> Option<f64> {
        match self.bound {
            Bound::Least(bound) | Bound::Most(bound) => Some(bound),
            Bound::LeastOn(bounds) => Some(bounds[gpu(device)?]),
        }
    }

    /// Compares the results with the target; `None` if nothing of it was measured.
    pub(crate) fn reached(&self, results: &Results) -> Option<Reached> {
        let bound = self.bound_on(&results.device)?;
        let mut numbers = self.numbers(results);
        let is_most = matches!(self.bound, Bound::Most(_));
        // The worst case comes first.
        numbers.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        if is_most {
            numbers.reverse();
        }
        let (worst, worst_case) = numbers.first()?.clone();
        Some(Reached {
            is_met: if is_most { worst <= bound } else { worst >= bound },
            median: numbers[numbers.len() / 2].0,
            best: numbers[numbers.len() - 1].0,
            cases: numbers.len(),
            worst,
            worst_case,
        })
    }

    /// The numbers of all cases, each with the name of the case.
    fn numbers(&self, results: &Results) -> Vec<(f64, String)> {
        let rows: Vec<&Row> = results.rows.iter().filter(|row| (self.select)(row)).collect();
        if let Number::Neighbours = self.number {
            return neighbours(&rows);
        }
        let of = |row: &&Row| Some((self.number(row, &results.device)?, row.name.clone()));
        rows.iter().filter_map(of).collect()
    }

    fn number(&self, row: &Row, device: &str) -> Option<f64> {
        let ours = row.us.get("warpfold")?;
        match self.number {
            Number::Times(who) => Some(row.us.get(who)? / ours),
            Number::RowBandwidth | Number::Neighbours => row.row_bandwidth(),
            Number::Peak => Some(row.bytes as f64 / ours / 1e3 / PEAKS[gpu(device)?]),
            Number::OverEmpty => Some(ours - row.empty_us?),
        }
    }
}

/// Which of the two devices this is.
fn gpu(device: &str) -> Option<usize> {
    ["H100", "H200"].iter().position(|name| device.contains(name))
}

/// The ratios of the bandwidths of rows whose lengths differ by one, in arrays of about one size.
fn neighbours(rows: &[&Row]) -> Vec<(f64, String)> {
    let mut numbers = Vec::new();
    for one in rows {
        for other in rows {
            let (Kind::Rows(length), Kind::Rows(next)) = (one.kind, other.kind) else { continue };
            let is_one_size = one.elements.abs_diff(other.elements) * 100 < one.elements;
            if next != length + 1 || !is_one_size {
                continue;
            }
            if let (Some(a), Some(b)) = (one.row_bandwidth(), other.row_bandwidth()) {
                numbers.push((a.max(b) / a.min(b), format!("{}; {}", one.name, other.name)));
            }
        }
    }
    numbers
}
