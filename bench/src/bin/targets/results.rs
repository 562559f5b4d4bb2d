//! What was measured: the cases in the files of one folder.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value as Json;

/// A case and its times.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The operation, as rows.json names it; empty in segments.json.
    pub(crate) op: String,
    pub(crate) element: String,
    pub(crate) shape: Vec<u64>,
    /// The number of elements of the input.
    pub(crate) elements: u64,
    /// The bytes that are read, and in segments.json those that are written too.
    pub(crate) bytes: u64,
    /// The median time of one call of each contender, in microseconds.
    pub(crate) us: BTreeMap<String, f64>,
    /// The time of an empty kernel, in microseconds.
    pub(crate) empty_us: Option<f64>,
}

/// What a case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rows of so many elements, which lie one after another.
    Rows(u64),
    /// Columns or middle axes, of which so many bytes lie in one piece.
    Columns(u64),
    /// Segments with offsets: so many of about this mean length.
    Offsets {
        count: u64,
        is_mixed: bool,
    },
    /// Other operations than sums over such segments, of which no target speaks.
    OffsetsOfOthers,
    Keys,
    Counts,
    BinSums,
}

/// The cases of a folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// The name of the device.
    pub(crate) device: String,
    pub(crate) rows: Vec<Row>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    environment: BTreeMap<String, Json>,
    rows: Vec<Entry>,
}

/// A case as the benchmarks and rows.py write it.
#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    op: String,
    #[serde(default, rename = "type")]
    element: String,
    #[serde(default)]
    shape: Vec<u64>,
    #[serde(default)]
    strides: Vec<u64>,
    #[serde(default)]
    axes: Vec<usize>,
    #[serde(default)]
    bytes: u64,
    read_bytes: Option<u64>,
    #[serde(default)]
    elements: u64,
    segments: Option<u64>,
    #[serde(default)]
    has_offsets: bool,
    empty_us: Option<f64>,
    #[serde(default)]
    times: BTreeMap<String, Time>,
    #[serde(default)]
    quartiles_us: BTreeMap<String, Option<[f64; 3]>>,
}

#[derive(Deserialize)]
struct Time {
    median_us: f64,
}

/// The files of rows, each with the file of PyTorch's times for the same cases.
const ROWS: [[&str; 2]; 2] =
    [["rows.json", "rows-torch.json"], ["rows-place.json", "rows-place-torch.json"]];

impl Results {
    /// Reads the files of a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut results = Self::default();
        for [ours, torch] in ROWS {
            let Some(file) = read(&folder.join(ours))? else { continue };
            let others = read(&folder.join(torch))?.map_or_else(Vec::new, |file| file.rows);
            results.add(file, others);
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        names.retain(|name| {
            name.starts_with("segments") && name.split('.').next_back() == Some("json")
        });
        for name in names {
            if let Some(file) = read(&folder.join(name))? {
                results.add(file, Vec::new());
            }
        }
        ensure!(!results.rows.is_empty(), "{}: there are no results", folder.display());
        Ok(results)
    }

    fn add(&mut self, file: File, others: Vec<Entry>) {
        let of = |key: &str| file.environment.get(key).and_then(Json::as_str).unwrap_or_default();
        let device = of("device");
        // Older files say the number of elements once for all of their cases.
        let elements = of("elements").parse().unwrap_or_default();
        device.clone_into(&mut self.device);
        let mut others: BTreeMap<_, _> =
            others.into_iter().map(|other| (other.name, other.times)).collect();
        for entry in file.rows {
            let more = others.remove(&entry.name).unwrap_or_default();
            self.rows.push(entry.row(more, elements));
        }
    }
}

fn read(file: &Path) -> anyhow::Result<Option<File>> {
    if !file.exists() {
        return Ok(None);
    }
    let parsed = fs::read_to_string(file).map_err(anyhow::Error::from);
    let parsed = parsed.and_then(|text| Ok(serde_json::from_str(&text)?));
    parsed.map(Some).with_context(|| format!("cannot read {}", file.display()))
}

impl Entry {
    /// The case, with times of other programs.
    fn row(self, more: BTreeMap<String, Time>, elements: u64) -> Row {
        let kind = self.kind();
        let medians = self.times.into_iter().chain(more).map(|(who, time)| (who, time.median_us));
        let quartiles = self.quartiles_us.into_iter();
        let quartiles = quartiles.filter_map(|(who, times)| Some((who, times?[1])));
        let us = medians.chain(quartiles).collect();
        let of_shape = self.shape.iter().product();
        let elements = match (self.elements, self.shape.is_empty()) {
            (0, true) => elements,
            (0, false) => of_shape,
            (elements, _) => elements,
        };
        Row {
            element: self.element,
            bytes: self.read_bytes.unwrap_or(self.bytes),
            empty_us: self.empty_us,
            name: self.name,
            op: self.op,
            shape: self.shape,
            kind,
            elements,
            us,
        }
    }

    fn kind(&self) -> Kind {
        if let Some(count) = self.segments {
            return match &self.name {
                name if name.contains(" count into ") => Kind::Counts,
                name if name.contains(" into ") => Kind::BinSums,
                name if name.contains(" by key ") => Kind::Keys,
                name if name.contains(" of segments, ") => Kind::OffsetsOfOthers,
                name => Kind::Offsets { count, is_mixed: !name.contains("all of") },
            };
        }
        if self.has_offsets {
            let count = self.shape[0];
            return Kind::Offsets { count, is_mixed: false };
        }
        // Axes in the order in which they lie in memory, without those of one element.
        let mut axes: Vec<usize> =
            (0..self.shape.len()).filter(|&axis| self.shape[axis] > 1).collect();
        axes.sort_by_key(|&axis| self.strides[axis]);
        let is_reduced = |axis: &usize| self.axes.contains(axis);
        let size = |axes: &[usize]| axes.iter().map(|&axis| self.shape[axis]).product::<u64>();
        let is_dense = axes.iter().scan(1, |next, &axis| {
            let is_next = self.strides[axis] == *next;
            *next = self.strides[axis] * self.shape[axis];
            Some(is_next)
        });
        let dense = &axes[..is_dense.take_while(|&is_next| is_next).count()];
        let is_rows = dense.len() == axes.len() && axes.is_sorted_by_key(|axis| !is_reduced(axis));
        if is_rows || axes.is_empty() {
            let reduced: Vec<usize> = axes.into_iter().filter(is_reduced).collect();
            return Kind::Rows(size(&reduced));
        }
        // The piece that lies together is of kept or of reduced axes alone.
        let first = dense.first().map(is_reduced);
        let piece = dense.iter().take_while(|axis| Some(is_reduced(axis)) == first).count();
        let bytes = match self.element.as_str() {
            "u8" => 1,
            "f16" => 2,
            "f64" => 8,
            _ => 4,
        };
        Kind::Columns(size(&dense[..piece]) * bytes)
    }
}
