//! Tests of `reduce ladder`, `sweep`, `tune`, `quiz` and `generate` as their user meets them.

mod support;

use std::fmt::Write as _;

use cuda_builder::manifest::{FILE_NAME as MANIFEST, sha256_hex};
use serde_json::{Value as Json, json};
use support::{Run, Sandbox, device_flag, skip};
use warpfold_lab::{
    device::DeviceChoice, ladder::HISTORY, ptx::PtxLibrary, tune::FILE_NAME, variant::Variant,
};

fn json(run: &Run) -> Json {
    assert_eq!(run.status, Some(0), "{run}");
    parse(run)
}

fn parse(run: &Run) -> Json {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

fn rows<'a>(document: &'a Json, table: &str) -> &'a Vec<Json> {
    document["tables"][table].as_array().unwrap_or_else(|| panic!("{document}"))
}

fn labels() -> Vec<&'static str> {
    Variant::all().map(|variant| variant.facts().label).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn bad_arguments_are_refused_in_one_sentence() {
    let sandbox = Sandbox::new();
    let mut text = String::new();
    for line in [
        "ladder --variants 3,nine",
        "ladder --variants 7..1",
        "ladder --n many",
        "ladder --n 0",
        "ladder --n 0 --op min",
        "ladder --op mean",
        "ladder --type f16",
        "ladder --device tpu",
        "ladder --reps 0",
        "ladder --seed x",
        "ladder --block -1",
        "ladder --block 3",
        "ladder --variants 5,6 --block 32",
        "ladder --format pdf",
        "ladder --n 64 --format csv --table nonsense",
        "ladder --n 64 --format svg --chart nonsense",
        "ladder --ptx-dir none",
        "sweep --sizes 2^28..2^10",
        "sweep --sizes 0..5",
        "sweep --sizes 5,0",
        "sweep --sizes x..y",
        "sweep --sizes ",
        "sweep --sizes 1..10 --step 1",
        "sweep --variants x",
        "quiz --n 0",
        "quiz --n x",
        "quiz --type f16",
        "tune --n x",
        "tune --device sim",
        "tune --device sim --even-simulated --n 0",
        "tune --device sim --even-simulated --n 0 --op max --variants 3",
        "generate man nonsense",
        "generate complete-bash ladder",
    ] {
        let mut args: Vec<_> = line.split(' ').collect();
        if ["ladder", "sweep"].contains(&args[0]) && !line.contains("--device") {
            args.extend(["--device", "sim"]);
        }
        let run = sandbox.reduce(args);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        // The list of variants is cut off, because other tests check it.
        let stderr = run
            .stderr
            .split_once(": it is 0 to")
            .map_or(run.stderr.clone(), |(error, _)| format!("{error}\n"));
        write!(text, "$ reduce {line}\n{stderr}").unwrap();
    }
    insta::assert_snapshot!(text, @r"
    $ reduce ladder --variants 3,nine
    error: unknown variant 'nine'
    $ reduce ladder --variants 7..1
    error: --variants '7..1': 1 does not come after 7 in the ladder
    $ reduce ladder --n many
    error: --n 'many': it must be a whole number from 0 to 2^64 - 1, such as 4194304 or 2^22
    $ reduce ladder --n 0
    error: n = 0: nothing is launched, so there is nothing to measure
    $ reduce ladder --n 0 --op min
    error: n = 0: nothing is launched, so there is nothing to measure
    $ reduce ladder --op mean
    error: unknown operation 'mean': it is one of sum, min, max, prod
    $ reduce ladder --type f16
    error: unknown type 'f16': it is one of i32, u32, i64, u64, f32, f64
    $ reduce ladder --device tpu
    error: unknown device 'tpu': it is one of auto, cuda, sim
    $ reduce ladder --reps 0
    error: --reps 0: at least one run is needed
    $ reduce ladder --seed x
    error: --seed 'x': it must be a whole number from 0 to 2^64 - 1, such as 1
    $ reduce ladder --block -1
    error: --block '-1': it must be a whole number from 0 to 2^64 - 1, such as 256
    $ reduce ladder --block 3
    error: block 3: variant 0 works with blocks of a power of two from 1 to 1024 threads
    $ reduce ladder --variants 5,6 --block 32
    error: block 32: variant 5 works with blocks of a power of two from 64 to 1024 threads
    $ reduce ladder --format pdf
    error: unknown format 'pdf': it is one of table, markdown, csv, json, svg, html
    $ reduce ladder --n 64 --format csv --table nonsense
    error: unknown table 'nonsense': there is ladder
    $ reduce ladder --n 64 --format svg --chart nonsense
    error: unknown chart 'nonsense': there is cost, sectors, instructions, conflicts
    $ reduce ladder --ptx-dir none
    error: none: cannot read the manifest `none/manifest.json`: No such file or directory (os error 2)
    $ reduce sweep --sizes 2^28..2^10
    error: --sizes '2^28..2^10': the range is empty, because 268435456 is more than 1024
    $ reduce sweep --sizes 0..5
    error: --sizes '0..5': a range must begin with at least 1
    $ reduce sweep --sizes 5,0
    error: --sizes '5,0': each size must be at least 1, because 0 elements need no launch
    $ reduce sweep --sizes x..y
    error: --sizes 'x': it must be a whole number from 0 to 2^64 - 1, such as 2^10..2^28 or 1000,5000
    $ reduce sweep --sizes 
    error: --sizes '': it must be a whole number from 0 to 2^64 - 1, such as 2^10..2^28 or 1000,5000
    $ reduce sweep --sizes 1..10 --step 1
    error: --step 1: it must be at least 2
    $ reduce sweep --variants x
    error: unknown variant 'x'
    $ reduce quiz --n 0
    error: n = 0: nothing is launched, so there is nothing to measure
    $ reduce quiz --n x
    error: --n 'x': it must be a whole number from 0 to 2^64 - 1, such as 1048576 or 2^20
    $ reduce quiz --type f16
    error: unknown type 'f16': it is one of i32, u32, i64, u64, f32, f64
    $ reduce tune --n x
    error: --n 'x': it must be a whole number from 0 to 2^64 - 1, such as 16777216 or 2^24
    $ reduce tune --device sim
    error: --device sim: times on the simulator say nothing about a GPU, so there is nothing to tune there
    $ reduce tune --device sim --even-simulated --n 0
    error: n = 0: nothing is launched, so there is nothing to measure
    $ reduce tune --device sim --even-simulated --n 0 --op max --variants 3
    error: n = 0: nothing is launched, so there is nothing to measure
    $ reduce generate man nonsense
    error: unknown subcommand 'nonsense': it is one of ladder, sweep, tune, quiz, profile, compare, explain, rows, generate
    $ reduce generate complete-bash ladder
    error: subcommand 'ladder': a completion script always covers the whole of reduce
    ");
}

#[test]
fn more_than_the_memory_is_refused_before_anything_runs() {
    for line in [
        "ladder --n 99999999999999",
        "sweep --sizes 2^10..99999999999999",
        "quiz --n 99999999999999 --reveal",
    ] {
        let device = if line.starts_with("quiz") { "" } else { " --device sim" };
        let run = Sandbox::new().reduce_line(&format!("{line}{device}"));
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains("of device memory; the device has "), "{run}");
    }
}

/// The speedups follow from the other columns by another formula: a cumulative speedup is the
/// product of the speedups of the single steps.
#[test]
fn the_ladder_has_every_rung_and_its_speedups_add_up() {
    let document = json(
        &Sandbox::new()
            .reduce_line(&format!("ladder --n 2^16 --json --counters --device {}", device_flag())),
    );
    let rows = rows(&document, "ladder");
    let (ideal, rungs) = rows.split_last().unwrap();
    let found: Vec<_> = rungs.iter().map(|row| row["variant"].as_str().unwrap()).collect();
    assert_eq!(found, labels());
    assert_eq!(ideal["variant"], "ideal");
    assert_eq!(
        (&ideal["sectors"], &ideal["bank_conflicts"]),
        (&json!((65536 * 4) / 32 + 1), &json!(0))
    );
    assert_eq!(ideal["cost_in_issue_slots"], json!(14 * (65536 * 4 / 32 + 1) + 2 * 65536 / 32));

    let on_gpu = device_flag() == "cuda";
    let pairs = [
        ("cost_in_issue_slots", "step_by_cost", "cumulative_by_cost"),
        ("time_us", "step_speedup", "cumulative_speedup"),
    ];
    for (value, step, cumulative) in &pairs[..if on_gpu { 2 } else { 1 }] {
        let mut product = 1.0;
        // How often rung 12 polls is the simulator's own order, so it has no speedup by cost.
        let polls = |row: &Json| *value == "cost_in_issue_slots" && row["variant"] == "12";
        let measured: Vec<_> =
            rungs.iter().filter(|row| row["check"] == "ok" && !polls(row)).collect();
        assert!(measured[0][step].is_null() && measured[0][cumulative].is_null());
        for pair in measured.windows(2) {
            let figure =
                |row: &Json, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
            product *= figure(pair[1], step);
            assert!(
                close(figure(pair[1], step) * figure(pair[1], value), figure(pair[0], value)),
                "{}",
                pair[1]
            );
            assert!(close(product, figure(pair[1], cumulative)), "{}", pair[1]);
        }
    }
    for row in rungs {
        // Each rung reads its whole input.
        assert!(
            row["check"] == "refused" || row["sectors"].as_u64() >= Some(65536 * 4 / 32),
            "{row}"
        );
        match row["check"].as_str() {
            Some("ok") if on_gpu => {
                let (time, gb_per_s) =
                    (row["time_us"].as_f64().unwrap(), row["gb_per_s"].as_f64().unwrap());
                assert!(close(gb_per_s * time, 65536.0 * 4.0 / 1e3), "{row}");
            }
            Some("ok") => {
                assert!(row.get("time_us").is_none() && row.get("gb_per_s").is_none(), "{row}");
            }
            Some("refused") => {
                let variant = row["variant"].as_str().unwrap();
                let notes = document["notes"]["ladder"].as_array().unwrap();
                let reason = format!("Variant {variant} is refused: ");
                assert!(
                    notes.iter().any(|note| note.as_str().unwrap().starts_with(&reason)),
                    "{document}"
                );
            }
            _ => panic!("{row}"),
        }
    }
}

#[test]
fn counters_are_those_of_a_profile() {
    let sandbox = Sandbox::new();
    let document = json(
        &sandbox
            .reduce_line("ladder --variants 0..7 --n 5001 --type f64 --op max --json --device sim"),
    );
    for row in &rows(&document, "ladder")[..9] {
        let variant = row["variant"].as_str().unwrap();
        // Rung 7 takes a grid of any size, and the ladder chose the grid by the simulator's
        // multiprocessors. So the profile gets the same grid.
        let grid = if variant == "7" { format!(" --grid {}", row["grid"]) } else { String::new() };
        let line = format!(
            "profile --variant {variant} --n 5001 --type f64 --op max --registers 20 --json{grid}"
        );
        let profile = json(&sandbox.reduce_line(&line));
        assert_eq!(
            row["cost_in_issue_slots"], profile["waste"]["cost_in_issue_slots"],
            "{variant}"
        );
        let counters = &profile["counters"];
        let sectors = counters["global"]["load"]["sectors"].as_u64().unwrap()
            + counters["global"]["store"]["sectors"].as_u64().unwrap();
        assert_eq!(row["sectors"], json!(sectors), "{variant}");
        assert_eq!(row["divergent_branches"], counters["divergent_branches"], "{variant}");
        let conflicts = |kind: &str| counters["shared"][kind]["bank_conflicts"].as_u64().unwrap();
        assert_eq!(
            row["bank_conflicts"],
            json!(conflicts("load") + conflicts("store")),
            "{variant}"
        );
    }
}

#[test]
fn history_is_the_lectures_own() {
    let document =
        json(&Sandbox::new().reduce_line("ladder --n 1000 --history --json --device sim"));
    let row = |label: &str| {
        rows(&document, "ladder").iter().find(|row| row["variant"] == label).unwrap().clone()
    };
    let liu = |label: &str| (row(label)["liu_ms"].as_f64(), row(label)["liu_gb_per_s"].as_f64());
    assert_eq!(liu("1"), (Some(8.054), Some(2.083)));
    assert_eq!(liu("2"), (Some(3.456), Some(4.854)));
    assert_eq!(liu("3"), (Some(1.722), Some(9.741)));
    assert_eq!(liu("4"), (Some(0.965), Some(17.377)));
    assert_eq!(liu("5"), (None, None));
    let steps = ["2", "3", "4"].map(|label| row(label)["liu_step"].clone());
    assert_eq!(json!(steps), json!([2.33, 2.01, 1.78]));
    assert_eq!(row("4")["liu_cumulative"], json!(8.34));
    let gtx280 =
        ["1", "2", "3", "4", "5", "6", "7"].map(|label| row(label)["gtx280_gb_per_s"].clone());
    assert_eq!(json!(gtx280), json!([3.77, 8.33, 16.34, 27.16, 37.68, 50.64, 77.21]));
    assert_eq!(row("1")["gtx280_melem_per_s"], json!(0.94));
    assert_eq!(row("global")["udacity_ms"], json!(0.65));
    assert!(row("0")["liu_ms"].is_null() && row("0")["gtx280_gb_per_s"].is_null());
    assert_eq!(HISTORY.len(), 8);
}

#[test]
fn a_wrong_result_is_a_row_and_status_1() {
    let library = PtxLibrary::embedded().unwrap();
    let ptx = library.find("reduce3_sum_i32", (9, 0)).unwrap();
    let text = ptx.text.replace("add.s32", "sub.s32");
    let mut manifest = library.manifest().clone();
    let module = manifest.modules.iter_mut().find(|module| module.file == ptx.file).unwrap();
    module.sha256 = sha256_hex(text.as_bytes());
    let sandbox = Sandbox::new();
    sandbox.write(MANIFEST, manifest.to_json().as_bytes());
    sandbox.write(&ptx.file, text.as_bytes());
    for line in ["ladder --n 1000", "sweep --sizes 1000"] {
        let run = sandbox.reduce_line(&format!("{line} --variants 3 --ptx-dir . --device sim"));
        assert_eq!(run.status, Some(1), "{run}");
        assert!(
            run.stdout.contains("| WRONG |") && run.stdout.contains("Variant 3 is WRONG: it gave "),
            "{run}"
        );
        assert!(run.stderr.starts_with("error: wrong result: reduce3_sum_i32 gave "), "{run}");
    }
    let run =
        sandbox.reduce_line("tune --n 1000 --variants 3 --ptx-dir . --device sim --even-simulated");
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    // The files of the other rungs do not exist.
    let run = sandbox.reduce_line("ladder --n 1000 --variants 2 --ptx-dir . --device sim");
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
}

#[test]
fn rungs_that_cannot_run_are_rows_with_a_reason() {
    let run =
        Sandbox::new().reduce_line("ladder --variants 3,5,7 --block 32 --n 1000 --device sim");
    assert_eq!(run.status, Some(0), "{run}");
    let refused: Vec<_> = run.stdout.lines().filter(|line| line.ends_with("| refused |")).collect();
    assert_eq!(refused.len(), 2, "{run}");
    let reason = "Variant 5 is refused: block 32: variant 5 works with blocks of a power of two from 64 to 1024\nthreads.\n";
    assert!(run.stdout.contains(reason), "{run}");
}

#[test]
fn every_format_is_written() {
    let sandbox = Sandbox::new();
    for (line, table) in [
        ("ladder --n 1000 --variants 1..3 --device sim", "ladder"),
        ("sweep --sizes 100,1000 --variants 3,7 --device sim", "sweep"),
        ("quiz --n 5000 --reveal", "traffic"),
        ("tune --n 5000 --variants 3 --device sim --even-simulated", "tuned"),
    ] {
        let write = |format: &str| {
            let run = sandbox.reduce_line(&format!("{line} --format {format}"));
            // A table without a chart cannot be written as a picture.
            let drawn = ["ladder", "sweep"].contains(&table);
            assert_eq!(run.status, Some(if format == "svg" && !drawn { 2 } else { 0 }), "{run}");
            run
        };
        assert!(write("table").stdout.contains("| variant |"));
        assert!(
            write("markdown").stdout.contains("| variant |")
                || write("markdown").stdout.contains("| n |")
        );
        let csv = write("csv");
        let mut reader = csv::Reader::from_reader(csv.stdout.as_bytes());
        assert!(reader.headers().unwrap().iter().any(|header| header == "variant"), "{csv}");
        let records: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
        let rows = rows(&json(&write("json")), table).len();
        assert_eq!(records.len(), rows, "{csv}");
        let svg = write("svg");
        assert!(svg.status == Some(2) || roxmltree::Document::parse(&svg.stdout).is_ok(), "{svg}");
        let html = write("html");
        assert!(
            html.stdout.starts_with("<!doctype html>")
                || html.stdout.starts_with("<!DOCTYPE html>"),
            "{html}"
        );
        assert_eq!(
            html.stdout.contains("variant 3, sequential"),
            table == "ladder",
            "pictures of the rungs, in the ladder"
        );
    }
    let alias = sandbox.reduce_line("quiz --n 77 --json");
    assert_eq!(alias.stdout, sandbox.reduce_line("quiz --n 77 --format json").stdout);
}

#[test]
fn a_table_and_a_chart_can_be_chosen() {
    let sandbox = Sandbox::new();
    let run = sandbox.reduce_line("quiz --n 5000 --format csv --table answer");
    assert!(run.stdout.starts_with("of,numerator,denominator,"), "{run}");
    let run = sandbox.reduce_line("ladder --n 1000 --device sim --format svg --chart conflicts");
    assert!(run.stdout.contains("Bank conflicts of each rung"), "{run}");
}

#[test]
fn a_sweep_is_its_ladders() {
    let sandbox = Sandbox::new();
    let document = json(
        &sandbox
            .reduce_line("sweep --sizes 1000..9000 --step 3 --variants 2,7 --device sim --json"),
    );
    let sweep = rows(&document, "sweep");
    let found: Vec<_> = sweep
        .iter()
        .map(|row| (row["n"].as_u64().unwrap(), row["variant"].as_str().unwrap()))
        .collect();
    assert_eq!(
        found,
        [(1000, "2"), (1000, "7"), (3000, "2"), (3000, "7"), (9000, "2"), (9000, "7")]
    );
    for pair in sweep.chunks(2) {
        let line = format!("ladder --variants 2,7 --device sim --json --n {}", pair[0]["n"]);
        let ladder = json(&sandbox.reduce_line(&line));
        for (row, rung) in pair.iter().zip(rows(&ladder, "ladder")) {
            for key in ["grid", "sectors", "bank_conflicts", "cost_in_issue_slots", "check"] {
                assert_eq!(row[key], rung[key], "{key}: {row}");
            }
        }
    }
    let series = document["charts"]["cost"]["series"].as_array().unwrap();
    let names: Vec<_> = series.iter().map(|series| series["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["variant 2", "variant 7", "ideal"]);
    assert_eq!(series[0]["points"].as_array().unwrap().len(), 3);
    let run = sandbox.reduce_line("sweep --variants 7 --device sim --format csv");
    assert!(run.stderr.contains("note: on the simulator, the sizes are 2^10..2^20"), "{run}");
    assert_eq!(run.stdout.lines().count(), 1 + 6, "{run}");
}

/// The ratio of bytes is a sum of 3 m - blocks over a sum of m + blocks. The sums run over the
/// stages, and m is the number of elements of a stage.
#[test]
fn the_quiz_is_exact_for_any_n() {
    for n in [1, 2, 1023, 1024, 1025, 777_777, 1 << 20, (1 << 20) + 1] {
        let document = json(&Sandbox::new().reduce_line(&format!("quiz --n {n} --json")));
        let (mut global, mut shared, mut m) = (0, 0, n);
        loop {
            let blocks = u64::div_ceil(m, 1024);
            global += 3 * m - blocks;
            shared += m + blocks;
            if blocks == 1 {
                break;
            }
            m = blocks;
        }
        let traffic = rows(&document, "traffic");
        assert_eq!(
            (&traffic[0]["bytes"], &traffic[1]["bytes"]),
            (&json!(4 * global), &json!(4 * shared)),
            "n = {n}"
        );
        let answer = &rows(&document, "answer")[0];
        let (numerator, denominator) =
            (answer["numerator"].as_u64().unwrap(), answer["denominator"].as_u64().unwrap());
        assert_eq!(numerator * shared, denominator * global, "n = {n}");
        let rounded = (numerator as f64 / denominator as f64).round();
        assert_eq!(answer["nearest"].as_u64(), Some(rounded as u64), "n = {n}");
    }
}

#[test]
fn the_quiz_asks_before_it_answers() {
    let sandbox = Sandbox::new();
    let quiz = |line: &str| {
        let run = sandbox.reduce_line(&format!("quiz --n 2^20 {line}"));
        assert_eq!(run.status, Some(0), "{run}");
        run.stdout
    };
    let asked = quiz("");
    assert!(asked.contains("how many times as much memory bandwidth"), "{asked}");
    assert!(asked.contains("--answer") && asked.contains("--reveal"), "{asked}");
    assert!(!asked.contains("3071") && !asked.contains("3 071"), "the answer is told: {asked}");
    assert!(quiz("--answer 3").starts_with("3 is right."));
    assert!(quiz("--answer 4").starts_with("4 is not right: the answer is 3"));
    assert!(quiz("--reveal").contains("3071 / 1025"));
    let run = sandbox.reduce_line("quiz --answer many");
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.starts_with("error: --answer 'many': it must be a whole number"), "{run}");
    assert_eq!(sandbox.reduce_line("quiz --answer 3 --reveal").status, Some(2));
}

#[test]
fn without_a_gpu_there_is_nothing_to_tune() {
    if support::open(DeviceChoice::Cuda).is_ok() {
        skip::test("there is a GPU");
        return;
    }
    let run = Sandbox::new().reduce_line("tune");
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    let reason = "error: there is no GPU, and times on the simulator say nothing about a GPU, so there is nothing to tune there";
    assert!(run.stderr.lines().any(|line| line == reason), "{run}");
}

#[test]
fn what_was_tuned_is_used_ignored_and_forgotten() {
    let sandbox = Sandbox::new();
    let cache = sandbox.path("cache/warpfold").join(FILE_NAME);
    let line = "--variant 7 --n 5000 --device sim";
    let is_tuned = |run: &Run| {
        assert_eq!(run.status, Some(0), "{run}");
        run.stdout.lines().any(|line| line.starts_with("tuned      block "))
    };
    assert!(!is_tuned(&sandbox.reduce_line(line)));

    let tuned = json(
        &sandbox.reduce_line("tune --n 5000 --variants 3,7 --device sim --even-simulated --json"),
    );
    let best = rows(&tuned, "tuned");
    assert_eq!(
        best.iter().map(|row| row["variant"].as_str().unwrap()).collect::<Vec<_>>(),
        ["3", "7"]
    );
    // Each best time is one of the measured times.
    for row in best {
        let same = |tried: &&Json| {
            ["variant", "block", "grid", "time_us"].iter().all(|key| tried[key] == row[key])
        };
        assert_eq!(rows(&tuned, "tried").iter().filter(same).count(), 1, "{row}");
    }
    let kept: Json = serde_json::from_slice(&std::fs::read(&cache).unwrap()).unwrap();
    assert_eq!((&kept["version"], kept["entries"].as_array().unwrap().len()), (&json!(1), 2));

    assert!(is_tuned(&sandbox.reduce_line(line)));
    assert_eq!(json(&sandbox.reduce_line(&format!("{line} --json")))["tuned"], true);
    assert!(is_tuned(&sandbox.reduce_line("--variant 7 --n 100 --device sim --finish host")));
    for not_asked in [" --block 64", " --grid 2", " --no-tuned", " --op max", " --type f32"] {
        assert!(!is_tuned(&sandbox.reduce_line(&format!("{line}{not_asked}"))), "{not_asked}");
    }
    let output =
        sandbox.command().env("WARPFOLD_NO_TUNE", "1").args(line.split(' ')).output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("\ntuned "));
    let ladder = json(&sandbox.reduce_line("ladder --n 5000 --variants 4,7 --device sim --json"));
    let notes = ladder["notes"]["ladder"].to_string();
    assert!(
        notes.contains("Variant 7 has its tuned shape: ")
            && !notes.contains("Variant 4 has its tuned shape"),
        "{notes}"
    );
    assert_eq!(rows(&ladder, "ladder")[1]["block"], best[1]["block"]);

    // An entry for another GPU stays but is not used. An impossible shape is not used either.
    let edit = |change: &dyn Fn(&mut Json)| {
        let mut contents = kept.clone();
        contents["entries"].as_array_mut().unwrap().iter_mut().for_each(change);
        std::fs::write(&cache, contents.to_string()).unwrap();
    };
    edit(&|entry| entry["device"] = "another GPU".into());
    assert!(!is_tuned(&sandbox.reduce_line(line)));
    json(&sandbox.reduce_line("tune --n 5000 --variants 4 --device sim --even-simulated --json"));
    let merged: Json = serde_json::from_slice(&std::fs::read(&cache).unwrap()).unwrap();
    assert_eq!(merged["entries"].as_array().unwrap().len(), 3);
    edit(&|entry| entry["block"] = 3.into());
    let run = sandbox.reduce_line(line);
    assert!(!is_tuned(&run), "{run}");
    assert!(
        run.stderr
            .contains("note: the tuned shape of variant 7 cannot be used here, and is ignored"),
        "{run}"
    );
    std::fs::write(&cache, "no JSON").unwrap();
    let run = sandbox.reduce_line(line);
    assert!(!is_tuned(&run), "{run}");
    assert!(run.stderr.contains("is not a file of tuned shapes of version 1"), "{run}");

    let run = sandbox.reduce_line("tune --clear");
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), ""), "{run}");
    assert!(run.stderr.starts_with("note: the file "), "{run}");
    assert!(!cache.exists());
    assert!(sandbox.reduce_line("tune --clear").stderr.starts_with("note: there is no file "));
    assert!(!is_tuned(&sandbox.reduce_line(line)));
}

#[test]
fn completions_and_pages_name_every_flag() {
    let sandbox = Sandbox::new();
    let flags = |help: &str| -> Vec<String> {
        let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let mut flags: Vec<_> = words
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .map(str::to_owned)
            .collect();
        flags.sort();
        flags.dedup();
        flags
    };
    let bash = sandbox.reduce_line("generate complete-bash").stdout;
    for subcommand in
        ["", "ladder", "sweep", "tune", "quiz", "profile", "compare", "explain", "generate"]
    {
        let help = sandbox.reduce_line(&format!("{subcommand} --help"));
        assert_eq!(help.status, Some(0), "{help}");
        let page = sandbox.reduce_line(&format!("generate man {subcommand}"));
        assert_eq!(page.status, Some(0), "{page}");
        let page = page.stdout.replace("\\-", "-");
        for flag in flags(&help.stdout) {
            assert!(page.contains(&flag), "{flag} of {subcommand} is not in its page");
            assert!(bash.contains(&flag), "{flag} of {subcommand} is not completed");
        }
    }
    for shell in ["elvish", "fish", "powershell", "zsh"] {
        let run = sandbox.reduce_line(&format!("generate complete-{shell}"));
        assert!(run.status == Some(0) && run.stdout.contains("even-simulated"), "{run}");
    }
    pipe("bash", &["-n"], &bash);
    pipe(
        "mandoc",
        &["-T", "lint", "-W", "error"],
        &sandbox.reduce_line("generate man ladder").stdout,
    );
}

/// Runs a program, if it exists, and passes it this input. The program must succeed.
fn pipe(program: &str, args: &[&str], input: &str) {
    use std::{
        io::Write as _,
        process::{Command, Stdio},
    };
    let child =
        Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let Ok(mut child) = child else {
        skip::part(&format!("what {program} reads"), "there is no such program");
        return;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{program}");
}

/// Tests of Ctrl-C.
#[cfg(unix)]
mod interrupts {
    use std::{
        fs,
        process::{Command, Stdio},
        thread,
        time::Duration,
    };

    use super::*;

    /// Runs `reduce`, waits until it catches the signal, and interrupts it `after` this time.
    fn interrupted(sandbox: &Sandbox, line: &str, after: Duration) -> Run {
        let mut command = sandbox.command();
        command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        while !listens(child.id()) {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(after);
        let kill =
            Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
        assert!(kill.success());
        let output = child.wait_with_output().unwrap();
        Run {
            command: format!("reduce {line}"),
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Whether a process catches SIGINT. Also true if the system does not report that, or if the
    /// process has ended.
    fn listens(process: u32) -> bool {
        if !cfg!(target_os = "linux") {
            thread::sleep(Duration::from_millis(500));
            return true;
        }
        let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else {
            return true;
        };
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        // SIGINT is signal 2, and the lowest bit of the mask is signal 1.
        caught.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
    }

    /// Interrupts work that never ends by itself, in the middle. Each try waits longer, until a
    /// part of the work is done.
    fn interrupted_in_the_middle(line: &str, is_something: impl Fn(&Run) -> bool) -> Run {
        let mut after = Duration::from_millis(200);
        loop {
            let run = interrupted(&Sandbox::new(), line, after);
            assert_eq!(run.status, Some(130), "{run}");
            if is_something(&run) {
                return run;
            }
            assert!(after < Duration::from_mins(1), "{run}");
            after *= 2;
        }
    }

    #[test]
    fn a_sweep_ends_with_what_was_measured() {
        let line = "sweep --sizes 2^8..2^27 --variants 1 --device sim --json";
        let run = interrupted_in_the_middle(line, |run| !run.stdout.is_empty());
        let document = parse(&run);
        let done = rows(&document, "sweep").len();
        assert!((1..20).contains(&done), "{run}");
        assert_eq!(document["interrupted"], true, "{run}");
        let note =
            format!("The command was interrupted: {done} of 20 sizes were measured completely.");
        assert_eq!(document["notes"]["sweep"][0], json!(note), "{run}");
        assert_eq!(
            run.stderr,
            format!("interrupted: {done} of 20 sizes were measured completely\n"),
            "{run}"
        );
    }

    #[test]
    fn a_ladder_ends_with_what_was_measured() {
        let ones = ["1"; 200].join(",");
        let line = format!("ladder --n 2^21 --variants {ones} --device sim --format csv");
        let run = interrupted_in_the_middle(&line, |run| run.stdout.lines().count() > 1);
        let rungs = run.stdout.lines().filter(|line| line.ends_with(",ok")).count();
        assert!(
            run.stderr
                .contains(&format!("interrupted: {rungs} of 200 rungs were measured completely")),
            "{run}"
        );
    }

    #[test]
    fn a_reduction_ends_between_its_runs() {
        let line = "--variant 6 --n 2^16 --reps 1000000 --device sim --json";
        let run = interrupted_in_the_middle(line, |run| !run.stdout.is_empty());
        let report = parse(&run);
        let reps = report["time_us"]["reps"].as_u64().unwrap();
        assert_eq!(
            (&report["agree"], &report["interrupted"]),
            (&true.into(), &true.into()),
            "{run}"
        );
        let last = format!("interrupted: {reps} of 1000000 runs were finished\n");
        assert!(run.stderr.ends_with(&last), "{run}");
    }

    #[test]
    fn a_launch_ends_in_its_middle() {
        // The simulation takes seconds; preparing the elements takes less time than the wait.
        let run = interrupted(
            &Sandbox::new(),
            "--variant 1 --n 2^26 --device sim",
            Duration::from_millis(400),
        );
        assert_eq!((run.status, run.stdout.as_str()), (Some(130), ""), "{run}");
        assert_eq!(run.stderr, "interrupted: no run was finished\n", "{run}");
        let run = interrupted(
            &Sandbox::new(),
            "profile --variant 1 --n 2^25",
            Duration::from_millis(200),
        );
        assert_eq!((run.status, run.stdout.as_str()), (Some(130), ""), "{run}");
    }

    #[test]
    fn tuning_keeps_the_rungs_that_were_done() {
        let sandbox = Sandbox::new();
        let line = "tune --n 2^23 --variants 7 --device sim --even-simulated --json";
        let run = interrupted(&sandbox, line, Duration::ZERO);
        assert_eq!(run.status, Some(130), "{run}");
        let document = parse(&run);
        assert!(rows(&document, "tuned").is_empty(), "{run}");
        assert_eq!(document["interrupted"], true, "{run}");
        assert_eq!(
            document["notes"]["tuned"][0], "The command was interrupted: 0 of 1 rungs were tuned.",
            "{run}"
        );
        assert!(!sandbox.path("cache/warpfold").join(FILE_NAME).exists());
    }
}

/// The variable COLUMNS stands for the width of a terminal here. Nothing that these commands write
/// for people is wider, and a choice of columns is never cut off.
#[test]
fn no_line_is_wider_than_the_terminal() {
    let sandbox = Sandbox::new();
    let commands = [
        ("reduce", "ladder --n 70000 --device sim"),
        ("reduce", "ladder --n 70000 --device sim --columns all --history"),
        ("reduce", "sweep --sizes 1000,70000 --device sim"),
        ("reduce", "profile --variant 2 --n 70000"),
        ("reduce", "compare 1 2 3 --n 70000"),
        ("transpose", "compare --rows 100 --device sim --history"),
        ("transpose", "profile --variant padded --rows 100"),
        ("access", "width --device sim"),
        ("access", "stride --device sim"),
    ];
    for (tool, line) in commands {
        for width in [40, 60, 80, 100, 132] {
            let mut command = sandbox.command_of(tool);
            command.args(line.split(' ')).env("COLUMNS", width.to_string());
            let output = command.output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && text.lines().count() > 5, "{tool} {line}: {text}");
            for shown in text.lines() {
                assert!(
                    shown.chars().count() <= width,
                    "{tool} {line} at {width}:\n{shown}\n{text}"
                );
            }
        }
    }
    // All columns of a ladder are there in a narrow terminal too, below each other.
    let mut command = sandbox.command_of("reduce");
    command.args("ladder --n 1000 --device sim --columns all".split(' ')).env("COLUMNS", "60");
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(text.contains("cumulative") && !text.contains("not shown"), "{text}");
}

#[test]
fn columns_are_chosen_by_their_names() {
    let sandbox = Sandbox::new();
    let line = "ladder --n 1000 --variants 2,3 --device sim --columns";
    let run = sandbox.reduce_line(&format!("{line} cost_in_issue_slots,variant"));
    assert!(run.stdout.contains("\n| cost (slots) | variant |\n"), "{run}");
    let run = sandbox.reduce_line(&format!("{line} costs"));
    let error = "error: unknown column 'costs': there is variant, name, grid, block, sectors,";
    assert!(run.status == Some(2) && run.stderr.contains(error), "{run}");
    // Programs get all columns, whatever people see.
    let all = sandbox.reduce_line(&format!("{line} variant --format csv"));
    assert!(all.stdout.starts_with("variant,name,grid,block,sectors,"), "{all}");
    let run = sandbox.reduce_line("sweep --sizes 1000 --variants 2,3 --device sim --highlight 4");
    let error = "error: unknown line '4': there is variant 2, variant 3, ideal";
    assert!(run.status == Some(2) && run.stderr.contains(error), "{run}");
}
