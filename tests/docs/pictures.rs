//! The pictures that no command draws: the README's, which shows measurements that `bench/results`
//! keeps, and the guide's picture of the levels at which partial results meet.

use std::fs;

use warpfold_lab::levels;
use warpfold_lab::output::{Axis, Chart, Kind, Reference, Series};

use super::{
    assert_file, root,
    times::{kept, kept_runs, number, short_name},
};

/// The README's picture.
const PICTURE: &str = "guide/src/pictures/ladder-h100.svg";
/// The picture of the levels.
const LEVELS: &str = "guide/src/pictures/levels.svg";
/// The GPU of all of its bars.
const DEVICE: &str = "H100 80GB HBM3";
/// The table with the rungs' bandwidths, without the extension.
const LADDER: &str = "lab.ladder-i32-2^28";
/// The case of the reducer's results with the same work: both wrap, and both have 2^28 elements.
const CASE: &str = "wrapping_i32_2^28";
/// The way in which both tables measure: the time between two events, with one call between them.
const CALLS: &str = "single";

/// The variants and their bandwidths in a kept table.
fn rungs(table: &str) -> Vec<(String, f64)> {
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let column = |heading: &str| {
        let found = rows[0].iter().position(|other| other.starts_with(heading));
        found.unwrap_or_else(|| panic!("no column {heading} in {:?}", rows[0]))
    };
    let (variant, bandwidth) = (column("variant"), column("bandwidth"));
    let digits = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let row = |row: &Vec<&str>| (row[variant].to_owned(), digits(row[bandwidth]).parse().unwrap());
    rows[2..].iter().map(row).collect()
}

#[test]
fn the_ladders_picture_shows_the_results() {
    // The newest results of that GPU which have the reducer and CUB at the same work.
    let of_gpu = kept_runs("reducer.json").into_iter().rev();
    let mut of_gpu =
        of_gpu.filter(|(_, json)| short_name(&json["environment"]["device"]) == DEVICE);
    let (reducer, json) = of_gpu.next().unwrap();
    let is_row = |row: &&serde_json::Value| {
        row["case"] == CASE && row["calls"] == CALLS && row["cache"] == "warm"
    };
    let row = json["rows"].as_array().unwrap().iter().find(is_row).unwrap();
    let gb_per_s =
        |of: &str| number(&row["bytes"]) / number(&row["times"][of][0]["median_us"]) / 1e3;

    let (ladder, json) = kept_runs("ladder.json").pop().unwrap();
    assert_eq!(short_name(&json["device"]), DEVICE);
    let peak = number(&json["peak_gb_per_s"]);
    let folder = ladder.parent().unwrap();
    let mut bars = rungs(&kept(folder, &format!("{LADDER}.md"), "The ladder"));
    let count = bars.len();
    bars.push(("CUB".into(), gb_per_s("cub")));
    bars.push(("production reducer".into(), gb_per_s("warpfold")));

    let series = |name: &str, shown: std::ops::Range<usize>| {
        let points = shown.map(|index| (index as f64, bars[index].1)).collect();
        Series::new(name, points)
    };
    let chart = Chart {
        id: "ladder".into(),
        title: "Bandwidth of each rung, of CUB and of the production reducer".into(),
        description: format!(
            "The sum of n = 2^28 = 268 435 456 i32 elements on an {DEVICE}: one whole call."
        ),
        kind: Kind::Bars { categories: bars.iter().map(|(name, _)| name.clone()).collect() },
        x: Axis::linear("variant"),
        y: Axis::linear("bandwidth (GB/s)"),
        series: vec![
            series("rungs", 0..count),
            series("CUB", count..count + 1),
            series("production reducer", count + 1..count + 2),
        ],
        references: vec![Reference {
            label: format!("peak of the memory, {peak:.0}"),
            value: peak,
        }],
    };
    assert_file(&root().join(PICTURE), &chart.to_svg()).unwrap();

    // The README says from which tables the bars are.
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let name =
        |path: &std::path::Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    let tables = [name(&folder.join(format!("{LADDER}.md"))), name(&reducer)];
    for table in tables.iter().map(String::as_str).chain([CASE]) {
        assert!(readme.contains(table), "the README does not name {table}");
    }
}

#[test]
fn the_picture_of_the_levels_is_the_labs() {
    assert_file(&root().join(LEVELS), &levels::to_svg()).unwrap();
}
