//! The times that README and guide show: they are those of the newest folder of `bench/results`.
//!
//! They stand between `<!-- times: WHAT -->` and `<!-- end of times -->`, where `WHAT` is `ladder` or the beginning of
//! a kernel's name, such as `reduce3`.

use std::{fmt::Write as _, fs, path::PathBuf};

use serde_json::Value as Json;

use super::{assert_file, pages, root};

const BEGIN: &str = "<!-- times: ";
const END: &str = "<!-- end of times -->";

/// The newest run on a GPU, by the name of its folder.
fn newest() -> (PathBuf, Json) {
    let folders = fs::read_dir(root().join("bench/results")).unwrap().map(|entry| entry.unwrap().path());
    let file = folders.map(|folder| folder.join("ladder.json")).filter(|file| file.is_file()).max().unwrap();
    let json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    (file, json)
}

/// The kernel's rung, as in `reduce3` of `reduce3_sum_i32`.
fn rung(row: &Json) -> &str {
    row["kernel"].as_str().unwrap().split("_sum_").next().unwrap()
}

/// The rows of sums of i32 of one size, in the file's order.
fn rows(results: &Json, n: u64) -> Vec<&Json> {
    let is_one = |row: &&Json| row["n"] == n && row["kernel"].as_str().unwrap().contains("_sum_i32");
    results["rows"].as_array().unwrap().iter().filter(is_one).collect()
}

fn number(json: &Json) -> f64 {
    json.as_f64().unwrap_or_else(|| panic!("{json} is no number"))
}

/// What stands between the marks.
fn table(what: &str, results: &Json) -> String {
    let sizes = [1 << 22, 1 << 24, 1 << 28];
    let per_size = sizes.map(|n| rows(results, n));
    let mut text = String::new();
    if what == "ladder" {
        text += "| rung | 2^22: GB/s | ratio | 2^24: GB/s | ratio | 2^28: GB/s | ratio |\n";
        text += "|---|---:|---:|---:|---:|---:|---:|\n";
        for row in &per_size[0] {
            let label = rung(row);
            write!(text, "| {} |", label.strip_prefix("reduce").unwrap_or(label)).unwrap();
            for rows in &per_size {
                let row = rows.iter().find(|row| rung(row) == label).unwrap();
                write!(text, " {:.0} | {:.3} |", number(&row["rust"]["gb_per_s"]), number(&row["ratio"])).unwrap();
            }
            text.push('\n');
        }
        return text;
    }
    let places: Vec<_> = per_size.iter().map(|rows| rows.iter().position(|row| rung(row) == what)).collect();
    let Some(places) = places.into_iter().collect::<Option<Vec<usize>>>() else {
        return "No time of this rung on a GPU is kept in `bench/results`.\n".into();
    };
    let device = results["device"].as_str().unwrap().trim_start_matches("NVIDIA ");
    writeln!(text, "| {device}, sum of i32 | 2^22 | 2^24 | 2^28 |\n|---|---:|---:|---:|").unwrap();
    let mut line = |name: &str, cell: &dyn Fn(&Json, Option<&Json>) -> String| {
        write!(text, "| {name} |").unwrap();
        for (rows, &place) in per_size.iter().zip(&places) {
            let before = place.checked_sub(1).map(|before| rows[before]);
            write!(text, " {} |", cell(rows[place], before)).unwrap();
        }
        text.push('\n');
    };
    let peak = number(&results["peak_gb_per_s"]);
    line("time of a launch", &|row, _| format!("{:.1} µs", number(&row["rust"]["median_us"])));
    line("bandwidth", &|row, _| format!("{:.0} GB/s", number(&row["rust"]["gb_per_s"])));
    line("share of the memory's peak", &|row, _| format!("{:.1} %", number(&row["rust"]["gb_per_s"]) / peak * 100.0));
    if places.iter().all(|&place| place > 0) {
        let before = rung(per_size[0][places[0] - 1]);
        let before = before.strip_prefix("reduce").map_or(before.to_owned(), |number| format!("rung {number}"));
        line(&format!("speedup over {before}"), &|row, before| {
            format!("{:.2}", number(&before.unwrap()["rust"]["median_us"]) / number(&row["rust"]["median_us"]))
        });
    }
    line("nvcc's time over ours", &|row, _| format!("{:.3}", number(&row["ratio"])));
    text
}

#[test]
fn times_are_those_of_the_results() {
    let (file, results) = newest();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let mut parts = page.text.split(BEGIN);
        let mut text = parts.next().unwrap().to_owned();
        for part in parts {
            let what = part.split(" -->").next().unwrap();
            let (_, rest) = part.split_once(END).unwrap_or_else(|| panic!("{}: times without an end", page.name));
            write!(text, "{BEGIN}{what} -->\n\n{}\n{END}{rest}", table(what, &results)).unwrap();
            count += 1;
        }
        if let Err(error) = assert_file(&root().join(&page.name), &text) {
            wrong.push(format!("{} is not what {} says\n{error}", page.name, file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 10, "only {count} places with times");
}
