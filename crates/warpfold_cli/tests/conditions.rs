//! `count`, `any` and `all` of the elements for which a condition holds, of whole arrays, along
//! axes, in segments and by key, compared with plain loops.

// The tests compare exact numbers.
#![allow(clippy::float_cmp)]

mod arrays;
mod program;

use arrays::{Folder, Input, npy, refused, text};
use serde_json::Value;

const TYPES: [&str; 13] =
    ["|b1", "|i1", "|u1", "<u2", "<i4", "<u4", ">i4", "<i8", ">i8", "<u8", "<f2", "<f4", "<f8"];

type Holds = fn(f64) -> bool;

/// Conditions that each type has, by their words. All elements are small.
const CONDITIONS: [(&str, Holds); 7] = [
    ("==1", |x| x == 1.0),
    ("!=1", |x| x != 1.0),
    ("<1", |x| x < 1.0),
    ("<=1", |x| x <= 1.0),
    (">1", |x| x > 1.0),
    (">=1", |x| x >= 1.0),
    ("0..1", |x| (0.0..1.0).contains(&x)),
];

fn result(operation: &str, elements: &[f64], holds: Holds) -> Value {
    let count = elements.iter().filter(|&&x| holds(x)).count();
    match operation {
        "count" => count.into(),
        "any" => (count > 0).into(),
        _ => (count == elements.len()).into(),
    }
}

#[test]
fn results_are_those_of_loops() {
    let folder = Folder::new();
    let mut turn = 0;
    for descr in TYPES {
        let input = Input::new(descr, &[7, 33], turn % 2 == 1);
        folder.write("x.npy", &input.npy());
        let column: Vec<Vec<f64>> =
            (0..33).map(|k| input.elements.iter().copied().skip(k).step_by(33).collect()).collect();
        for (condition, holds) in CONDITIONS {
            let operation = ["count", "any", "all"][turn % 3];
            turn += 1;
            let line = format!("{operation} x.npy --where {condition} --json --verify");
            let report = folder.json(&line);
            assert_eq!(
                report["result"],
                result(operation, &input.elements, holds),
                "{descr} {line}"
            );
            assert_eq!(report["verified"]["agrees"], true, "{descr} {line}");
            let shown = report["where"].as_str().unwrap().replace(' ', "");
            assert_eq!(shown, condition);
            let report = folder.json(&format!("{line} --piece 64"));
            assert_eq!(
                report["result"],
                result(operation, &input.elements, holds),
                "{descr} {line}"
            );

            let rows: Vec<&[f64]> = input.elements.chunks(33).collect();
            let columns: Vec<&[f64]> = column.iter().map(Vec::as_slice).collect();
            for (axis, parts) in [(1, rows), (0, columns)] {
                let report = folder.json(&format!("{line} --axis {axis}"));
                let expected: Vec<_> =
                    parts.iter().map(|part| result(operation, part, holds)).collect();
                assert_eq!(report["results"], Value::from(expected), "{descr} {line} {axis}");
            }
        }
    }
}

#[test]
fn results_of_segments_are_those_of_loops() {
    let folder = Folder::new();
    let offsets = [0u32, 3, 3, 40, 41, 100];
    let bytes: Vec<u8> = offsets.into_iter().flat_map(u32::to_le_bytes).collect();
    folder.write("offsets.npy", &npy("<u4", &[6], false, &bytes));
    let mut turn = 0;
    for descr in TYPES {
        let input = Input::new(descr, &[100], false);
        folder.write("x.npy", &input.npy());
        for (condition, holds) in CONDITIONS {
            let operation = ["count", "any", "all"][turn % 3];
            turn += 1;
            let line = format!(
                "{operation} x.npy --segments offsets.npy --where {condition} --json --verify"
            );
            let expected: Vec<_> = offsets
                .windows(2)
                .map(|pair| &input.elements[pair[0] as usize..pair[1] as usize])
                .map(|segment| result(operation, segment, holds))
                .collect();
            assert_eq!(folder.json(&line)["results"], Value::from(expected), "{descr} {line}");
        }
    }
}

#[test]
fn results_of_runs_are_those_of_loops() {
    let folder = Folder::new();
    let keys: Vec<u16> = (0..100).map(|i| i / 9 * 5 % 7 + u16::from(i == 50)).collect();
    let bytes: Vec<u8> = keys.iter().copied().flat_map(u16::to_le_bytes).collect();
    folder.write("keys.npy", &npy("<u2", &[100], false, &bytes));
    let mut turn = 0;
    for descr in TYPES {
        let input = Input::new(descr, &[100], false);
        folder.write("x.npy", &input.npy());
        for (condition, holds) in CONDITIONS {
            let operation = ["count", "any", "all"][turn % 3];
            turn += 1;
            let line =
                format!("{operation} x.npy --by-key keys.npy --where {condition} --json --verify");
            let mut rest = &input.elements[..];
            let expected: Vec<_> = keys
                .chunk_by(|a, b| a == b)
                .map(|run| {
                    let (own, behind) = rest.split_at(run.len());
                    rest = behind;
                    result(operation, own, holds)
                })
                .collect();
            let report = folder.json(&line);
            assert_eq!(report["results"], Value::from(expected), "{descr} {line}");
            assert_eq!(report["verified"]["agrees"], true, "{descr} {line}");
        }
    }
    let line = "count x.npy --by-key keys.npy --bins 9 --where >0";
    refused(&folder, line, "--by-key: count reduces runs of keys, and no bins; these operations");
}

#[test]
fn constants_are_those_of_the_type() {
    let folder = Folder::new();
    let bytes: Vec<u8> = [0.1f32, f32::NAN, -0.0, f32::INFINITY, 0.3]
        .into_iter()
        .flat_map(f32::to_le_bytes)
        .collect();
    for (line, expected) in [
        ("count - --type f32 --where ==0.1", "1"),
        ("count - --type f32 --where >=0.1", "3"),
        ("count - --type f32 --where ==0", "1"),
        ("count - --type f32 --where !=nan", "5"),
        ("count - --type f32 --where <inf", "3"),
        ("all - --type f32 --where <=inf", "false"),
        ("any - --type f32 --where ==-inf", "false"),
        ("count - --type f32 --where -1..0.25", "2"),
        ("count - --type i128 --where >-170141183460469231731687303715884105728", "1"),
        ("count - --type u8 --where 255..0", "0"),
    ] {
        let bytes = if line.contains("i128") { &bytes[..16] } else { &bytes };
        let output = folder.run_with(&format!("{line} --verify"), bytes);
        assert_eq!(text(&output.stdout).trim_end(), expected, "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn every_byte_but_0_is_true() {
    let folder = Folder::new();
    for (condition, count) in
        [("==true", "3"), ("!=true", "1"), (">false", "3"), ("==0", "1"), (">=0", "4"), (">1", "0")]
    {
        let line = format!("count - --type bool --where {condition} --verify");
        let output = folder.run_with(&line, &[0, 1, 2, 255]);
        assert_eq!(text(&output.stdout).trim_end(), count, "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn other_conditions_are_refused() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("|u1", &[4, 5], false).npy());
    folder.write("b.npy", &Input::new("|b1", &[4, 5], false).npy());
    for (line, error) in [
        ("count x.npy --where 5", "--where '5': a condition is one of ==, !="),
        ("count x.npy --where =5", "--where '=5': a condition is one of ==, !="),
        ("any x.npy --where >", "--where '>': a condition is one of ==, !="),
        ("all x.npy --where >300", "--where '> 300': 300 is no u8, as the elements are"),
        ("count x.npy --where <0.5", "--where '< 0.5': 0.5 is no u8, as the elements are"),
        ("count x.npy --where 0..x", "--where '0..x': x is no u8, as the elements are"),
        ("count b.npy --where ==2", "--where '== 2': 2 is no bool, as the elements are"),
        ("sum x.npy --where >5", "--where '> 5': sum has no condition, and count, any and all"),
    ] {
        refused(&folder, line, error);
    }
}
