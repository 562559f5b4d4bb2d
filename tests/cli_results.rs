//! Tests of what the commands of `reduce` take and write in the same way: the elements, the rungs,
//! the formats, and what a report says of its result.

mod support;

use serde_json::Value as Json;
use support::{Run, Sandbox};
use warpfold_lab::variant::Variant;

fn reduce(line: &str) -> Run {
    let run = Sandbox::new().reduce_line(line);
    assert_eq!(run.status, Some(0), "{run}");
    run
}

fn json(line: &str) -> Json {
    serde_json::from_str(&reduce(&format!("{line} --json")).stdout).unwrap()
}

#[test]
fn nothing_asked_is_answered_by_examples() {
    let run = Sandbox::new().reduce([] as [&str; 0]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
    let examples: Vec<_> =
        run.stderr.lines().filter_map(|line| line.strip_prefix("  reduce ")).collect();
    assert!(examples.len() == 3 && examples[0].starts_with("ladder "), "{run}");
    assert!(run.stderr.lines().count() < 10, "{run}");
    for example in examples {
        let (command, does) = example.split_once("  ").expect("a command and what it does");
        assert!(does.trim().ends_with(|end: char| end.is_alphanumeric()), "{run}");
        // The example is a command that can run, here with fewer elements.
        let line = match command.trim() {
            "ladder" => "ladder --n 1000 --device sim".to_owned(),
            command => command.replace("2^22", "1000"),
        };
        reduce(&line);
    }
}

/// The lectures' sums: of the floats 0 to 2047, and of 2048 ones.
#[test]
fn the_lectures_elements_give_the_lectures_sums() {
    for (fill, sum) in [("iota", 2_096_128.0), ("ones", 2048.0)] {
        for of_type in ["f32", "f64", "u32"] {
            let report =
                json(&format!("--variant 3 --n 2048 --type {of_type} --fill {fill} --device sim"));
            assert_eq!(report["result"].as_f64(), Some(sum), "{report}");
            assert_eq!(report["input"], fill, "{report}");
        }
    }
    let of = |op: &str| json(&format!("--variant 3 --n 2048 --fill iota --op {op} --device sim"));
    assert_eq!((&of("min")["result"], &of("max")["result"]), (&0.into(), &2047.into()));
}

#[test]
fn every_command_takes_the_fill() {
    for line in [
        "ladder --n 100 --variants 3 --device sim",
        "sweep --sizes 100 --variants 3 --device sim",
        "profile --variant 3 --n 100",
        "compare 3 --n 100",
        "tune --n 1000 --variants 7 --device sim --even-simulated",
        "--variant 3 --n 100 --device sim",
    ] {
        for (flag, shown) in [("--fill iota", "iota"), ("--fill random --seed 5", "seed 5")] {
            let run = reduce(&format!("{line} {flag}"));
            assert!(run.stdout.contains(&format!("elements, {shown}")), "{run}");
        }
    }
}

#[test]
fn all_rungs_are_a_list_of_rungs() {
    for line in ["ladder --n 100 --variants all", "sweep --sizes 100 --variants all"] {
        let document = json(&format!("{line} --device sim"));
        let (_, rows) = document["tables"].as_object().unwrap().iter().next().unwrap();
        let rows = rows.as_array().unwrap().iter().filter(|row| row["variant"] != "ideal").count();
        assert_eq!(rows, Variant::all().len(), "{line}");
    }
}

#[test]
fn a_result_that_wrapped_says_so() {
    for (line, wrapped, note) in [
        ("--n 2 --fill iota", false, ""),
        ("--n 100000 --fill iota", true, "the exact sum does not fit in i32"),
        ("--n 100000 --fill iota --type i64", false, ""),
        ("--n 100000 --fill iota --type f32", false, ""),
        ("--n 100000 --fill iota --op max", false, ""),
        ("--n 3 --type u32 --op prod --seed 3", true, "the exact product does not fit in u32"),
        ("--n 100000 --fill iota --op prod", false, ""),
    ] {
        let line = format!("--variant 6 {line} --device sim");
        let report = json(&line);
        assert_eq!(report["wrapped"], wrapped, "{line}");
        let run = reduce(&line);
        if wrapped {
            assert!(run.stderr.contains(&format!("note: {note}, so the result wrapped")), "{run}");
        } else {
            assert_eq!(run.stderr, "", "{run}");
        }
        assert_eq!(report["interrupted"], false, "{line}");
    }
}

/// The guide says that every command with a table writes it in every format.
#[test]
fn compare_and_profile_write_every_format() {
    for (line, table) in
        [("compare 2 3 12 --n 1000", "compare"), ("profile --variant 2 --n 1000", "figures")]
    {
        let of = |format: &str| reduce(&format!("{line} --format {format}")).stdout;
        let csv = of("csv");
        let conflicts = csv.lines().find(|row| row.starts_with("shared.load.bank_conflicts"));
        let expected =
            json("profile --variant 2 --n 1000")["counters"]["shared"]["load"]["bank_conflicts"]
                .to_string();
        assert!(conflicts.unwrap().split(',').nth(2) == Some(&*expected), "{csv}");
        assert!(of("markdown").contains("| counter"), "{line}");
        assert!(of("svg").starts_with("<svg"), "{line}");
        assert!(of("html").contains("Estimated cost"), "{line}");
        assert_eq!(of("json"), reduce(&format!("{line} --json")).stdout);
        assert_eq!(of("table"), reduce(line).stdout);
        reduce(&format!("{line} --format csv --table {table}"));
        let run = Sandbox::new().reduce_line(&format!("{line} --table none"));
        assert_eq!(run.status, Some(2), "{run}");
    }
    let lines = reduce("profile --variant 2 --n 1000 --format csv --table lines").stdout;
    assert!(lines.contains("kernels/src/ladder/reduce2.rs,"), "{lines}");
    // What rung 12 polls has no ratio in a table either.
    let csv = reduce("compare 2 12 --n 1000 --format csv").stdout;
    let row = csv.lines().find(|row| row.starts_with("warp_instructions,")).unwrap();
    assert!(row.ends_with(','), "{csv}");
}
