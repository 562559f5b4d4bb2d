//! Tests of the times that the README and the guide show: they are those of the newest folder of
//! `bench/results`.
//!
//! The times stand between `<!-- times: WHAT -->` and `<!-- end of times -->`. `WHAT` is one of
//! these:
//!
//! - `ladder`;
//! - the beginning of a kernel's name, such as `reduce3`;
//! - two such beginnings, such as `reduce3 over reduce2`, which shows their speedup as well;
//! - a file of the folder and the beginning of a heading in it, such as
//!   `lab.access.md: Wide access`, which shows the table below that heading;
//! - `reducer`, which shows the production reducer beside CUB, call after call, from the newest
//!   such run on each device;
//! - `place`, which shows what it adds between two other kernels, beside CUB, in the same way;
//! - `groups`, which shows several GPUs beside one of them and beside PyTorch with NCCL, from all
//!   such runs;
//! - `layouts`, which shows rows, axes and segments beside CUB and PyTorch, from the newest run of
//!   each case on an H100 and an H200.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value as Json;

use super::{assert_file, groups::groups, numbers::joined, pages, root};

const BEGIN: &str = "<!-- times: ";
const END: &str = "<!-- end of times -->";

/// The files of this name in the results, each with its contents. The newest is the last.
pub(super) fn kept_runs(name: &str) -> Vec<(PathBuf, Json)> {
    let folders =
        fs::read_dir(root().join("bench/results")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        folders.map(|folder| folder.join(name)).filter(|file| file.is_file()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        (file, json)
    };
    files.into_iter().map(read).collect()
}

/// The newest run on a GPU. The names of the folders tell which is the newest.
fn newest() -> (PathBuf, Json) {
    kept_runs("ladder.json").pop().unwrap()
}

/// The driver's name for a device, without the name of the maker.
pub(super) fn short_name(device: &Json) -> &str {
    device.as_str().unwrap().trim_start_matches("NVIDIA ")
}

/// The rung of a row's kernel, such as `reduce3` for `reduce3_sum_i32`.
fn rung(row: &Json) -> &str {
    row["kernel"].as_str().unwrap().split("_sum_").next().unwrap()
}

/// The label of a rung that `reduce --variant` takes, such as `3` for `reduce3`.
fn label_of(rung: &str) -> &str {
    match rung.strip_prefix("reduce") {
        Some(number) => number,
        None if rung == "atomicwarp" => "atomic-warp",
        None => rung,
    }
}

/// The rows for sums of i32 of one size, in the order of the file.
fn rows(results: &Json, n: u64) -> Vec<&Json> {
    let is_one =
        |row: &&Json| row["n"] == n && row["kernel"].as_str().unwrap().contains("_sum_i32");
    results["rows"].as_array().unwrap().iter().filter(is_one).collect()
}

pub(super) fn number(json: &Json) -> f64 {
    json.as_f64().unwrap_or_else(|| panic!("{json} is no number"))
}

fn median(row: &Json) -> f64 {
    number(&row["rust"]["median_us"])
}

/// The table below a heading of a file in the results.
pub(super) fn kept(folder: &Path, file: &str, heading: &str) -> String {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    let mut below =
        text.lines().skip_while(|line| !line.trim_start_matches(['#', ' ']).starts_with(heading));
    // If the file lacks the heading, no lines are left here.
    let table = below
        .by_ref()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let table: String = table.flat_map(|line| [line, "\n"]).collect();
    if table.is_empty() {
        "No measurement of this is kept in `bench/results`.\n".into()
    } else {
        table
    }
}

/// The newest run of the production reducer on each device in the files of this name, under the
/// name of the device.
fn newest_reducers(file: &str) -> BTreeMap<String, Json> {
    let named =
        |(_, json): (_, Json)| (short_name(&json["environment"]["device"]).to_owned(), json);
    kept_runs(file).into_iter().map(named).collect()
}

/// The worst of the ratios of the rounds.
fn worst_ratio(row: &Json) -> f64 {
    row["ratios"].as_array().unwrap().iter().map(number).fold(f64::INFINITY, f64::min)
}

/// A table with the ratios of the times that CUB and we add between a kernel that writes the input
/// and a kernel that reads the result, in a graph.
fn places() -> String {
    const CASES: [(&str, &str); 8] = [
        ("sum_f32", "sum of f32"),
        ("sum_f64", "sum of f64"),
        ("sum_f16", "sum of f16"),
        ("sum_i8", "sum of i8, in i64"),
        ("minmax_f32", "minimum and maximum of f32"),
        ("argmin_f32", "index of the minimum of f32"),
        ("dot_f32", "dot product of f32"),
        ("moments_f32", "mean and variance of f32"),
    ];
    // Some operations have a size that is not quite round, and the sum of f32 has the round one.
    const SIZES: [(&str, std::ops::RangeInclusive<u64>); 5] = [
        ("2^12", 1 << 12..=1 << 12),
        ("30000", 30_000..=30_000),
        ("200000", 200_000..=200_003),
        ("10^6", 1_000_000..=1_000_000),
        ("10^7", 10_000_000..=10_000_019),
    ];
    let mut text = String::new();
    for (device, json) in newest_reducers("place.json") {
        let sizes = SIZES.map(|(name, _)| name).join(" | ");
        writeln!(text, "| {device} | {sizes} |\n|---|---:|---:|---:|---:|---:|").unwrap();
        for (case, name) in CASES {
            let ratios = SIZES.map(|(_, n)| {
                let is_row = |row: &&Json| {
                    let label = row["case"].as_str().unwrap();
                    label.starts_with(&format!("{case}_"))
                        && row["offset"] == 0
                        && n.contains(&row["n"].as_u64().unwrap())
                        && row["chain"] == "graph"
                        && row["producer"] == "data"
                };
                let row = json["rows"].as_array().unwrap().iter().find(is_row).unwrap();
                format!("{:.2}", worst_ratio(row))
            });
            writeln!(text, "| {name} | {} |", ratios.join(" | ")).unwrap();
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// A table with the ratios of CUB's time to ours, and with our bandwidth at the largest size.
fn reducers() -> String {
    const CASES: [(&str, &str); 8] = [
        ("wrapping_i32", "sum of i32, wrapping"),
        ("sum_f32", "sum of f32"),
        ("sum_f64", "sum of f64"),
        ("sum_i8", "sum of i8, in i64"),
        ("min_f32", "minimum of f32"),
        ("argmin_f32", "its index"),
        ("dot_f32", "dot product of f32"),
        ("sumsq_f32", "sum of squares of f32"),
    ];
    const EXPONENTS: [u32; 5] = [12, 16, 20, 24, 28];
    let mut text = String::new();
    for (device, json) in newest_reducers("reducer.json") {
        let sizes = EXPONENTS.map(|exponent| format!("2^{exponent}")).join(" | ");
        writeln!(
            text,
            "| {device} | {sizes} | GB/s at 2^28 |\n|---|---:|---:|---:|---:|---:|---:|"
        )
        .unwrap();
        for (case, name) in CASES {
            let row = |exponent: u32| {
                let case = format!("{case}_2^{exponent}");
                let rows = json["rows"].as_array().unwrap();
                rows.iter()
                    .find(|row| {
                        row["case"] == *case && row["calls"] == "graph" && row["cache"] == "warm"
                    })
                    .unwrap()
            };
            let ratios =
                EXPONENTS.map(|exponent| format!("{:.2}", worst_ratio(row(exponent)))).join(" | ");
            let largest = row(28);
            let gb_per_s = number(&largest["bytes"])
                / number(&largest["times"]["warpfold"][0]["median_us"])
                / 1e3;
            writeln!(text, "| {name} | {ratios} | {gb_per_s:.0} |").unwrap();
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// A table with our bandwidth for rows, axes, segments, keys and bins, and the ratios of the other
/// libraries' times to ours.
fn layouts() -> String {
    // The name of a case, and what it is.
    const ROWS: [(&str, &str); 10] = [
        ("f32 sum rows 16777216x4", "sum of f32, rows of 4"),
        ("f32 sum rows 671088x100", "rows of 100"),
        ("f32 sum rows 65536x1024", "rows of 1024"),
        ("f32 sum rows 1x67108864", "one row of 2^26"),
        ("f32 argmax rows 4194304x16", "index of the maximum of f32, rows of 16"),
        ("u8 sum rows 262144x1024", "sum of u8, rows of 1024"),
        ("f32 logsumexp rows 65536x1024", "logsumexp of f32, rows of 1024"),
        ("f32 sum 1048576x64 over 0", "sum of f32, 64 columns of 2^20"),
        ("f32 sum 1024x65536 over 0", "2^16 columns of 1024"),
        ("f32 sum 64x256x64x64 over 0 2 3", "64x256x64x64 along axes 0, 2 and 3"),
    ];
    const SEGMENTS: [(&str, &str); 14] = [
        ("f32 all of 1", "sum of f32, segments of 1"),
        ("f32 all of 4", "segments of 4"),
        ("f32 all of 16", "segments of 16"),
        ("f32 all of 100", "segments of 100"),
        ("f32 all of 1024", "segments of 1024"),
        ("f32 0 to 32", "segments of 0 to 32"),
        ("f32 power law 1.2", "lengths by a power law, 5 on average"),
        ("f32 one giant", "one segment of 2^25 among 2^25 of 1"),
        ("f32 by key all of 4", "sum of f32 by key of u32, runs of 4"),
        ("f32 by key all of 100", "runs of 100"),
        ("f32 by key all of 65536", "runs of 65536"),
        ("u8 count into 256 bins, uniform", "counts of u8 in 256 bins"),
        ("u32 count into 256 bins, uniform", "counts of u32 in 256 bins"),
        ("f32 sum into 256 bins, uniform", "sums of f32 in 256 bins by key of u32"),
    ];
    let [of_rows, of_torch, of_segments] =
        ["rows.json", "rows-torch.json", "segments.json"].map(kept_runs);
    // The newest run of a case on a device.
    let newest = |runs: &[(PathBuf, Json)], device: &str, name: &str| {
        runs.iter().rev().find_map(|(_, json)| {
            let is_of_device = short_name(&json["environment"]["device"]).contains(device);
            let mut rows = json["rows"].as_array().unwrap().iter();
            rows.find(|row| is_of_device && row["name"] == name).cloned()
        })
    };
    let mut text = String::from(
        "| | H100: GB/s | CUB's time / ours | PyTorch's | H200: GB/s | CUB's | PyTorch's |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let cells = |bytes: &Json, ours: f64, peers: [Option<f64>; 2]| {
        let ratio = |peer: Option<f64>| {
            peer.map_or_else(|| "–".to_owned(), |peer| format!("{:.2}", peer / ours))
        };
        let (gb_per_s, [cub, torch]) = (number(bytes) / ours / 1e3, peers.map(ratio));
        format!(" {gb_per_s:.0} | {cub} | {torch} |")
    };
    for (name, what) in ROWS {
        write!(text, "| {what} |").unwrap();
        for device in ["H100", "H200"] {
            let row = newest(&of_rows, device, name);
            let row = row.unwrap_or_else(|| panic!("no case {name}"));
            let torch = newest(&of_torch, device, name)
                .and_then(|row| row["times"]["torch"]["median_us"].as_f64());
            let median = |who: &str| row["times"][who]["median_us"].as_f64();
            let ours = median("warpfold").unwrap();
            text += &cells(&row["bytes"], ours, [median("cub"), torch]);
        }
        text.push('\n');
    }
    for (name, what) in SEGMENTS {
        write!(text, "| {what} |").unwrap();
        for device in ["H100", "H200"] {
            let row = newest(&of_segments, device, name);
            let row = row.unwrap_or_else(|| panic!("no case {name}"));
            let median = |who: &str| row["quartiles_us"][who][1].as_f64();
            text += &cells(&row["bytes"], median("warpfold").unwrap(), [median("cub"), None]);
        }
        text.push('\n');
    }
    text
}

/// The text that belongs between the marks.
fn table(what: &str, folder: &Path, results: &Json) -> String {
    let sizes = [1 << 22, 1 << 24, 1 << 28];
    let per_size = sizes.map(|n| rows(results, n));
    let mut text = String::new();
    if what == "ladder" {
        text += "| rung | 2^22: GB/s | ratio | 2^24: GB/s | ratio | 2^28: GB/s | ratio |\n";
        text += "|---|---:|---:|---:|---:|---:|---:|\n";
        for row in &per_size[0] {
            let label = rung(row);
            write!(text, "| {} |", label_of(label)).unwrap();
            for rows in &per_size {
                let row =
                    rows.iter().find(|row| rung(row) == label).expect("each rung at each size");
                let ratio =
                    row["ratio"].as_f64().map_or_else(String::new, |ratio| format!("{ratio:.3}"));
                write!(text, " {:.0} | {ratio} |", number(&row["rust"]["gb_per_s"])).unwrap();
            }
            text.push('\n');
        }
        return text;
    }
    let (label, slower) =
        what.split_once(" over ").map_or((what, None), |(label, slower)| (label, Some(slower)));
    // The times of all launches of one rung for each size; `None` if one is missing.
    let whole = |label: &str| -> Option<Vec<f64>> {
        SIZES.iter().map(|size| time_of_all_launches(folder, size, label_of(label))).collect()
    };
    let Some(times) = whole(label) else {
        return "No time of this rung is kept in `bench/results`.\n".into();
    };
    let device = short_name(&results["device"]);
    writeln!(text, "| {device}, sum of i32 | 2^22 | 2^24 | 2^28 |\n|---|---:|---:|---:|").unwrap();
    let mut line = |name: &str, cells: Vec<String>| {
        writeln!(text, "| {name} | {} |", cells.join(" | ")).unwrap();
    };
    let peak = number(&results["peak_gb_per_s"]);
    let gb_per_s = |(n, time): (u64, &f64)| 4.0 * n as f64 / time / 1e3;
    let rates: Vec<f64> = sizes.into_iter().zip(&times).map(gb_per_s).collect();
    line("time of all launches", times.iter().map(|time| format!("{time:.1} µs")).collect());
    line("bandwidth", rates.iter().map(|rate| format!("{rate:.0} GB/s")).collect());
    line(
        "share of the memory's peak",
        rates.iter().map(|rate| format!("{:.1} %", rate / peak * 100.0)).collect(),
    );
    if let Some((slower, before)) = slower.and_then(|slower| Some((slower, whole(slower)?))) {
        let ratios = times.iter().zip(before).map(|(time, slow)| format!("{:.2}", slow / time));
        line(&format!("speedup over rung {}", label_of(slower)), ratios.collect());
    }
    // The first launch alone is timed beside that of the same kernel in CUDA C++.
    let first: Option<Vec<&Json>> =
        per_size.iter().map(|rows| rows.iter().copied().find(|row| rung(row) == label)).collect();
    if let Some(rows) = first {
        let each = |cell: &dyn Fn(&Json) -> String| rows.iter().map(|row| cell(row)).collect();
        line("time of the first launch alone", each(&|row| format!("{:.1} µs", median(row))));
        if rows.iter().all(|row| row["ratio"].is_number()) {
            line(
                "nvcc's time over ours, first launch",
                each(&|row| format!("{:.3}", number(&row["ratio"]))),
            );
        }
    }
    text
}

/// The sizes of the kept ladders, as the names of their files have them.
const SIZES: [&str; 3] = ["2^22", "2^24", "2^28"];

/// The time of all launches of a rung in the kept ladder of one size, in microseconds.
fn time_of_all_launches(folder: &Path, size: &str, label: &str) -> Option<f64> {
    let table = kept(folder, &format!("lab.ladder-i32-{size}.md"), "The ladder");
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.replace(char::is_whitespace, "")).collect()
    };
    let mut rows = table.lines().map(cells);
    let column = rows.next()?.iter().position(|name| name == "time(us)")?;
    rows.find(|cells| cells.get(1).is_some_and(|cell| cell == label))?.get(column)?.parse().ok()
}

#[test]
fn times_are_those_of_the_results() {
    let (file, results) = newest();
    let folder = file.parent().unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let mut parts = page.text.split(BEGIN);
        let mut text = parts.next().unwrap().to_owned();
        for part in parts {
            let what = part.split(" -->").next().unwrap();
            let (_, rest) = part
                .split_once(END)
                .unwrap_or_else(|| panic!("{}: times without an end", page.name));
            let shown = match what.split_once(".md: ") {
                Some((file, heading)) => joined(&kept(folder, &format!("{file}.md"), heading)),
                None if what == "reducer" => reducers(),
                None if what == "place" => places(),
                None if what == "layouts" => layouts(),
                None if what == "groups" => groups(),
                None => table(what, folder, &results),
            };
            write!(text, "{BEGIN}{what} -->\n\n{shown}\n{END}{rest}").unwrap();
            count += 1;
        }
        if let Err(error) = assert_file(&root().join(&page.name), &text) {
            wrong.push(format!("{} is not what {} says\n{error}", page.name, file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 10, "only {count} places with times");
}
