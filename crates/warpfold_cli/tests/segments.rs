//! Reductions of segments: arrays of every type, offsets of every type, and segments of many
//! lengths, compared with results of plain loops.

mod arrays;
mod help;
mod program;

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use arrays::{Folder, Input, compare, expected, npy, refused, refused_with, saved, text};
use serde_json::Value;

/// The operations that are compared with loops for each type.
const OPERATIONS: [&str; 9] =
    ["sum", "mean", "var", "std", "min", "max", "minmax", "argmin", "argmax"];

/// The types of offsets, as NumPy writes them.
const OFFSETS: [&str; 5] = ["<u4", "<i4", "<u8", "<i8", ">i8"];

/// The bytes of a .npy file with these offsets.
fn offsets(descr: &'static str, offsets: &[usize]) -> Vec<u8> {
    let elements = offsets.iter().map(|&offset| offset as f64).collect();
    Input { descr, shape: vec![offsets.len()], elements, is_fortran: false }.npy()
}

/// The bytes of a .npy file with offsets that no array has.
fn wrong_offsets(offsets: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    npy("<i8", &[offsets.len()], false, &bytes)
}

/// Compares the results in a report with those of plain loops.
fn check(report: &Value, operation: &str, elements: &[f64], offsets: &[usize], what: &str) {
    let segments = offsets.len() - 1;
    assert_eq!(report["shape"], Value::from(vec![segments]), "{what}");
    assert_eq!(report["n"], elements.len(), "{what}");
    assert_eq!(report["verified"]["agrees"], true, "{what}");
    let results = report["results"].as_array().expect("results");
    assert_eq!(results.len(), segments, "{what}");
    for (k, (result, ends)) in results.iter().zip(offsets.windows(2)).enumerate() {
        compare(operation, result, &elements[ends[0]..ends[1]], &format!("{what}: {k}"));
    }
}

#[test]
fn results_are_those_of_loops() {
    let folder = Folder::new();
    let kinds =
        ["|b1", "|i1", "|u1", "<i4", ">i4", "<u4", "<i8", "<u8", "<f2", "<V2", "<f4", "<f8"];
    // The first elements and the last ones lie in no segment.
    let full = [3, 4, 6, 9, 41, 170, 171, 299, 300];
    // Only a sum has a result of nothing.
    let gaps = [0, 0, 5, 5, 5, 37, 300, 300];
    for (k, descr) in kinds.into_iter().enumerate() {
        let input = Input::new(descr, &[304], false);
        folder.write("x.npy", &input.npy());
        let dtype = if descr == "<V2" { "--type bf16" } else { "" };
        for (j, operation) in OPERATIONS.into_iter().enumerate() {
            let ends = if operation == "sum" { &gaps[..] } else { &full };
            let of_offsets = OFFSETS[(k + j) % OFFSETS.len()];
            folder.write("o.npy", &offsets(of_offsets, ends));
            let line = format!("{operation} x.npy {dtype} --segments o.npy --json --verify");
            let what = format!("{line}: {descr} {of_offsets}");
            let report = folder.json(&line);
            check(&report, operation, &input.elements, ends, &what);
        }
    }
}

#[test]
fn offsets_of_every_type_give_the_same() {
    let folder = Folder::new();
    let ends = [0, 1, 1, 30, 31, 500];
    let input = Input::new("<f4", &[500], false);
    folder.write("x.npy", &input.npy());
    for descr in OFFSETS {
        folder.write("o.npy", &offsets(descr, &ends));
        let report = folder.json("sum x.npy --segments o.npy --json --verify");
        check(&report, "sum", &input.elements, &ends, descr);
    }
}

#[test]
fn a_long_segment_lies_between_short_ones() {
    let folder = Folder::new();
    let n = 131_072 + 77;
    let ends = [0, 2, 9, n - 7, n - 6, n];
    for (descr, operations) in
        [("<f4", ["sum", "argmax", "var"]), ("<i4", ["sum", "minmax", "mean"])]
    {
        let input = Input::new(descr, &[n], false);
        folder.write("x.npy", &input.npy());
        folder.write("o.npy", &offsets("<u4", &ends));
        for operation in operations {
            let line = format!("{operation} x.npy --segments o.npy --json --verify");
            check(&folder.json(&line), operation, &input.elements, &ends, &line);
        }
    }
}

#[test]
fn empty_segments_and_no_segments_have_results() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[4], false).npy());
    folder.write("empty.npy", &Input::new("<f4", &[0], false).npy());
    folder.write("zeros.npy", &offsets("<u4", &[0, 0, 0]));
    folder.write("ends.npy", &offsets("<i4", &[4, 4]));
    folder.write("one.npy", &offsets("<i8", &[2]));
    let stdout = |line: &str| text(&folder.run(line).stdout).to_owned();
    for values in ["x.npy", "empty.npy"] {
        let sums = stdout(&format!("sum {values} --segments zeros.npy --verify --repeat 2"));
        assert_eq!(sums, "shape (2,)\n0.0\n0.0\n", "{values}");
    }
    assert_eq!(stdout("sum x.npy --segments ends.npy --verify"), "shape (1,)\n0.0\n");
    assert_eq!(stdout("max x.npy --segments one.npy --verify"), "shape (0,)\n");
    for (operation, result_type) in
        [("sum", "f32"), ("max", "f32"), ("mean", "f64"), ("argmax", "u64"), ("minmax", "f32")]
    {
        let report = folder.json(&format!("{operation} x.npy --segments one.npy --json"));
        let found = (&report["shape"], &report["results"], &report["result_type"]);
        let none = Value::Array(Vec::new());
        assert_eq!(found, (&vec![0].into(), &none, &result_type.into()), "{operation}");
    }
    for (operation, name) in [
        ("min", "minimum"),
        ("max", "maximum"),
        ("minmax", "minimum and maximum"),
        ("argmin", "index of the minimum"),
        ("argmax", "index of the maximum"),
        ("mean", "mean"),
        ("std", "mean"),
    ] {
        let error = format!("segment 0 is empty, and the {name} of no elements is not defined");
        refused(&folder, &format!("{operation} x.npy --segments zeros.npy"), &error);
    }
}

#[test]
fn every_operation_has_segments_or_says_so() {
    let folder = Folder::new();
    folder.write("i.npy", &Input::new("|i1", &[36], false).npy());
    folder.write("f.npy", &Input::new("<f4", &[36], false).npy());
    folder.write("o.npy", &offsets("<u4", &[0, 9, 18, 36]));
    for operation in help::operations() {
        let operation = operation.as_str();
        let file = match operation {
            "compensated" | "wide" | "exact" | "nansum" | "nanmean" | "logsumexp" => "f.npy",
            "topk" => "f.npy -k 3",
            _ => "i.npy",
        };
        let line = format!("{operation} {file} --segments o.npy --verify");
        if ["dot", "distance", "squared-distance"].contains(&operation) {
            refused(
                &folder,
                &format!("{operation} i.npy i.npy --segments o.npy"),
                "takes two arrays",
            );
        } else {
            let output = folder.run(&line);
            assert!(output.status.success(), "{line}: {}", text(&output.stderr));
            let lines: Vec<_> = text(&output.stdout).lines().collect();
            assert_eq!((lines.len(), lines[0]), (4, "shape (3,)"), "{line}");
            let stderr = text(&output.stderr);
            assert!(stderr.contains("3 of 3 results agree with the CPU's"), "{line}: {stderr}");
        }
    }
}

#[test]
fn what_has_no_segments_is_refused() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<i4", &[3, 4], false).npy());
    folder.write("o.npy", &offsets("<u4", &[0, 4, 12]));
    folder.write("raw", &[0; 12]);
    folder.write("o.csv", b"0,4,12");
    folder.write("none.npy", &offsets("<u8", &[]));
    folder.write("beyond.npy", &offsets("<u4", &[0, 4, 13]));
    folder.write("far.npy", &offsets("<u8", &[0, 4, 12, 1 << 40]));
    folder.write("falling.npy", &wrong_offsets(&[0, 4, 8, 7, 12]));
    folder.write("negative.npy", &wrong_offsets(&[-1, 4]));
    folder.write("float.npy", &Input::new("<f4", &[3], false).npy());
    folder.write("short.npy", &Input::new("<u2", &[3], false).npy());
    folder.write("table.npy", &Input::new("<u4", &[2, 2], false).npy());
    folder.write("scalar.npy", &Input::new("<u4", &[], false).npy());
    folder.write("dates.npy", &npy("<M8[s]", &[2], false, &[0; 16]));
    let whole = offsets("<u4", &[0, 4, 12]);
    folder.write("cut.npy", &whole[..whole.len() - 4]);
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/several.npz");
    let archive = archive.display();
    for (line, error) in [
        ("sum x.npy --segments beyond.npy", "segment 1 does not lie within the 12 elements"),
        ("sum x.npy --segments far.npy", "segment 2 does not lie within the 12 elements"),
        ("max x.npy --segments falling.npy", "segment 2 does not lie within the 12 elements"),
        ("sum x.npy --segments negative.npy", "segment 0 does not lie within the 12 elements"),
        ("sum x.npy --segments none.npy", "none.npy: there are no offsets"),
        ("sum x.npy --segments float.npy", "u32, i32, u64 or i64, and these are f32"),
        ("sum x.npy --segments short.npy", "u32, i32, u64 or i64, and these are u16"),
        ("sum x.npy --segments dates.npy", "u32, i32, u64 or i64, and these are '<M8[s]'"),
        ("sum x.npy --segments table.npy", "offsets have one dimension, and this array has 2"),
        ("sum x.npy --segments scalar.npy", "offsets have one dimension, and this array has 0"),
        ("sum x.npy --segments raw", "--segments raw: offsets have a header"),
        ("sum x.npy --segments raw --type i32", "a .npy file or an array of an .npz file"),
        ("sum x.npy --segments -", "--segments standard input: offsets have a header"),
        ("sum - --segments -", "--segments: '-' is the array already"),
        ("sum x.npy --segments o.csv", "--segments: o.csv is text by its name"),
        ("sum x.npy --segments cut.npy", "announces 12 bytes of elements, and 8 follow"),
        ("sum x.npy --segments missing.npy", "--segments: cannot read missing.npy"),
        (&format!("sum x.npy --segments {archive}"), "has 3 arrays (a, b, c): name one"),
        (&format!("sum x.npy --segments {archive}:a"), "several.npz:a: offsets are u32"),
        ("sum x.npy --segments o.npy --axis 0", "along axes or in segments, so leave out --axis"),
        ("sum x.npy --segments o.npy --keepdims", "it keeps the axes of --axis"),
        ("sum x.npy --segments o.npy --piece 16", "without --piece 16"),
        ("sum x.npy x.npy --segments o.npy", "in segments, not x.npy and x.npy together"),
        ("minmax x.npy --segments o.npy --output y.npy", "save the results of min and of max"),
        (
            "norm2 x.npy --segments o.npy",
            "x.npy: there is no norm2 of i32 elements: it has bool, i8, u8, i16, u16, f16, bf16, f32, f64",
        ),
        ("argmax raw --segments o.npy", "name their type with --type"),
    ] {
        refused(&folder, line, error);
    }
    assert!(!folder.path("y.npy").exists());
    let cut = &Input::new("<i4", &[12], false).npy()[..160];
    let line = "sum - --segments o.npy";
    refused_with(&folder, line, cut, "announces 48 bytes of elements, and 32 follow");
    let (line, cut) = ("sum x.npy --segments -", &whole[..whole.len() - 4]);
    refused_with(&folder, line, cut, "announces 12 bytes of elements, and 8 follow");
    refused_with(&folder, line, b"0,4,12", "--segments standard input: offsets have a header");
}

/// Ctrl-C ends the reduction of segments, and nothing is printed as a result.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_it() {
    let folder = Folder::new();
    folder.write("o.npy", &offsets("<u4", &[0, 7, 1 << 20]));
    let elements = Input::new("|u1", &[1 << 20], false).npy();
    let mut child = program::warpfold()
        .args(["sum", "-", "--segments", "o.npy", "--device", "sim"])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    // When so much is read, the command listens for Ctrl-C: the pipe and the header hold less.
    stdin.write_all(&elements[..1 << 19]).expect("the command reads");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
    // It may have ended already.
    let _ = stdin.write_all(&elements[1 << 19..]);
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(130), ""), "{stderr}");
    assert!(stderr.starts_with("interrupted: "), "{stderr}");
}

#[test]
fn a_sum_of_integers_is_exact() {
    let folder = Folder::new();
    let large = [1i64 << 62, 1 << 62, 1, -5, i64::MIN, i64::MIN];
    let large: Vec<u8> = large.into_iter().flat_map(i64::to_le_bytes).collect();
    folder.write("x.npy", &npy("<i8", &[6], false, &large));
    folder.write("o.npy", &offsets("<u4", &[0, 2, 4, 4, 6]));
    let output = folder.run("sum x.npy --segments o.npy --verify");
    assert_eq!(
        text(&output.stdout),
        "shape (4,)\n9223372036854775808\n-4\n0\n-18446744073709551616\n"
    );
    assert!(text(&output.stderr).contains("4 of 4 results agree with the CPU's"));
    let report = folder.json("sum x.npy --segments o.npy --json");
    assert_eq!((&report["result_type"], &report["wrapped"]), (&"i128".into(), &Value::Null));
    refused(
        &folder,
        "sum x.npy --segments o.npy --output y.npy",
        "NumPy has no type that holds all of these results",
    );
    let greatest = npy("<u8", &[3], false, &[0xff; 24]);
    folder.write("x.npy", &greatest);
    folder.write("o.npy", &offsets("<u4", &[0, 3]));
    let output = folder.run("sum x.npy --segments o.npy --verify");
    assert_eq!(text(&output.stdout), "shape (1,)\n55340232221128654845\n");
}

#[test]
fn json_has_each_result() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[2, 3], false).npy());
    folder.write("o.npy", &offsets("<u8", &[0, 1, 5]));
    let report = folder.json("minmax x.npy --segments o.npy --json --verify --repeat 3");
    assert_eq!(
        (&report["operation"], &report["segments"], &report["shape"], &report["pieces"]),
        (&"minmax".into(), &"o.npy".into(), &vec![2].into(), &1.into())
    );
    assert_eq!((&report["axes"], &report["result"]), (&Value::Null, &Value::Null));
    assert_eq!((&report["inputs"], &report["n"]), (&vec!["x.npy"].into(), &6.into()));
    assert_eq!(report["verified"]["reference"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["verified"]["error_bound"], Value::Array(vec![Value::Null; 2]));
    let times = &report["times"];
    assert_eq!(times["seconds"].as_array().map(Vec::len), Some(3));
    // The last element lies in no segment.
    let product = times["bytes_per_second"].as_f64().zip(times["median_seconds"].as_f64());
    let bytes = product.map(|(rate, seconds)| rate * seconds);
    assert!(bytes.is_some_and(|bytes| (bytes - 20.0).abs() < 1e-6), "{bytes:?}");
    let output = folder.run("sum x.npy --segments o.npy --repeat 2 --verbose");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("in the median of 2 runs"), "{stderr}");
    assert!(stderr.contains("sum in 2 segment(s) (offsets: o.npy) of 6 f32 elements"), "{stderr}");
}

#[test]
fn ddof_is_that_of_each_segment() {
    let folder = Folder::new();
    let input = Input::new("<f8", &[12], false);
    folder.write("x.npy", &input.npy());
    folder.write("o.npy", &offsets("<u8", &[0, 3, 4, 12]));
    let report = folder.json("var x.npy --segments o.npy --ddof 1 --json --verify");
    let results = report["results"].as_array().expect("results");
    assert_eq!(results[1], "NaN");
    for (result, row) in [(&results[0], &input.elements[..3]), (&results[2], &input.elements[4..])]
    {
        let n = row.len() as f64;
        let sample = expected("var", row) * n / (n - 1.0);
        let found = result.as_f64().expect("a number");
        assert!((found - sample).abs() <= 1e-12 * sample, "{found} {sample}");
    }
}

#[test]
fn results_are_saved_in_one_dimension() {
    let folder = Folder::new();
    let (input, ends) = (Input::new("<f4", &[4, 6], false), [1, 2, 9, 24]);
    folder.write("x.npy", &input.npy());
    folder.write("o.npy", &offsets("<i4", &ends));
    for (operation, descr) in
        [("sum", "<f4"), ("max", "<f4"), ("mean", "<f8"), ("std", "<f8"), ("argmin", "<u8")]
    {
        let line = format!("{operation} x.npy --segments o.npy --output y.npy");
        let output = folder.run(&line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        let (header, numbers) = saved(&folder.path("y.npy"));
        for part in [format!("'descr': '{descr}'"), "'shape': (3,)".into()] {
            assert!(header.contains(&part), "{operation}: {header}");
        }
        assert_eq!(numbers.len(), 3, "{operation}");
        for (found, ends) in numbers.iter().zip(ends.windows(2)) {
            let expected = expected(operation, &input.elements[ends[0]..ends[1]]);
            assert!((found - expected).abs() <= 1e-12, "{operation}: {found} {expected}");
        }
    }
}

#[test]
fn arrays_of_every_kind_are_taken_flat() {
    let folder = Folder::new();
    let ends = [0, 7, 8, 60];
    folder.write("o.npy", &offsets("<u4", &ends));
    // Big-endian elements and those in Fortran order are read, and others are mapped.
    for (descr, is_fortran) in [("<i4", false), ("<i4", true), (">i4", false), (">i4", true)] {
        let input = Input::new(descr, &[3, 4, 5], is_fortran);
        folder.write("x.npy", &input.npy());
        for operation in ["sum", "argmax"] {
            let line = format!("{operation} x.npy --segments o.npy --json --verify");
            let what = format!("{line}: {descr} {is_fortran}");
            check(&folder.json(&line), operation, &input.elements, &ends, &what);
        }
        let from_file = folder.run("sum x.npy --segments o.npy");
        let from_pipe = folder.run_with("sum - --segments o.npy", &input.npy());
        assert_eq!(text(&from_pipe.stdout), text(&from_file.stdout), "{descr} {is_fortran}");
    }
    let raw: Vec<u8> = (0..60u32).flat_map(u32::to_le_bytes).collect();
    folder.write("raw", &raw);
    let sums = "shape (3,)\n21\n7\n1742\n";
    let from_file = folder.run("sum raw --type u32 --segments o.npy --verify");
    assert_eq!(text(&from_file.stdout), sums);
    let from_pipe = folder.run_with("sum - --type u32 --segments o.npy --verify", &raw);
    assert_eq!(text(&from_pipe.stdout), sums);
    let line = "sum raw --type u32 --segments - --json";
    let report = folder.run_with(line, &offsets("<u4", &ends));
    let report: Value = serde_json::from_slice(&report.stdout).expect("stdout is one JSON object");
    assert_eq!(
        (&report["segments"], &report["results"][2]),
        (&"standard input".into(), &1742.into())
    );
}

#[test]
fn archives_have_values_and_offsets() {
    let folder = Folder::new();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    // The numbers from 0 to 4999 are values, and offsets of segments of one element.
    let numbers = files.join("compressed.npz").display().to_string();
    let report =
        folder.json(&format!("sum {numbers} --segments {numbers}:x --json --verify --repeat 1"));
    assert_eq!(report["results"], (0..4999).collect::<Value>());
    assert_eq!(report["segments"], format!("{numbers}:x"));
    let output = folder.run(&format!("max {numbers} --segments {numbers}"));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    assert_eq!((lines.len(), lines[0], lines[20]), (22, "shape (4999,)", "19"));
    assert_eq!(lines[21], "… and 4979 more; --output FILE keeps them all");
}
