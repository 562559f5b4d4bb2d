//! Reductions by key: runs of equal keys and bins, by keys of every type, compared with results of
//! plain loops; and counts of keys.

mod arrays;
mod help;
mod program;

use arrays::{Folder, Input, compare, npy, refused, refused_with, saved, text};
use serde_json::Value;

/// The operations that have bins.
const OPERATIONS: [&str; 9] =
    ["sum", "mean", "var", "std", "min", "max", "minmax", "argmin", "argmax"];

/// The types of keys, as NumPy writes them. The last two have runs only.
const KEYS: [&str; 9] = ["|u1", "<u2", "<u4", "<i4", ">i4", "<u8", "<i8", "|i1", "<i2"];

/// The bytes of a .npy file with these keys.
fn keys(descr: &'static str, keys: &[i64]) -> Vec<u8> {
    let size: usize = descr[2..].parse().expect("a size");
    let bytes = keys.iter().flat_map(|key| {
        let mut bytes = key.to_le_bytes()[..size].to_vec();
        if descr.starts_with('>') {
            bytes.reverse();
        }
        bytes
    });
    npy(descr, &[keys.len()], false, &bytes.collect::<Vec<u8>>())
}

/// Keys in which some runs are long, and some keys come again.
fn some_keys(n: usize) -> Vec<i64> {
    (0..n).map(|i| ((i / 7) * 5 % 11 + usize::from(i > n / 2 && i % 3 == 0)) as i64).collect()
}

/// The key and the elements of each run.
fn runs<'a>(keys: &[i64], elements: &'a [f64]) -> Vec<(i64, &'a [f64])> {
    let mut rest = elements;
    let runs = keys.chunk_by(|a, b| a == b).map(|run| {
        let (own, behind) = rest.split_at(run.len());
        rest = behind;
        (run[0], own)
    });
    runs.collect()
}

fn numbers(value: &Value) -> Vec<i64> {
    let numbers = value.as_array().expect("a list").iter();
    numbers.map(|number| number.as_i64().expect("a number")).collect()
}

#[test]
fn runs_are_those_of_loops() {
    let folder = Folder::new();
    let kinds =
        ["|b1", "|i1", "|u1", "<u2", "<i4", ">i4", "<u4", "<i8", "<u8", "<f2", "<V2", "<f4", "<f8"];
    let of_keys = some_keys(300);
    for (k, descr) in kinds.into_iter().enumerate() {
        let input = Input::new(descr, &[300], false);
        folder.write("x.npy", &input.npy());
        let dtype = if descr == "<V2" { "--type bf16" } else { "" };
        for (j, operation) in OPERATIONS.into_iter().enumerate() {
            folder.write("k.npy", &keys(KEYS[(k + j) % KEYS.len()], &of_keys));
            let line = format!("{operation} x.npy {dtype} --by-key k.npy --json --verify");
            let report = folder.json(&line);
            let runs = runs(&of_keys, &input.elements);
            assert_eq!(report["shape"], Value::from(vec![runs.len()]), "{line}");
            assert_eq!(report["verified"]["agrees"], true, "{line}");
            assert_eq!((&report["by_key"], &report["bins"]), (&"k.npy".into(), &Value::Null));
            let expected: Vec<i64> = runs.iter().map(|run| run.0).collect();
            assert_eq!(numbers(&report["keys"]), expected, "{line}");
            let expected: Vec<i64> = runs.iter().map(|run| run.1.len() as i64).collect();
            assert_eq!(numbers(&report["counts"]), expected, "{line}");
            let results = report["results"].as_array().expect("results");
            for (k, (result, (_, elements))) in results.iter().zip(runs).enumerate() {
                compare(operation, result, elements, &format!("{line}: {descr} {k}"));
            }
        }
    }
}

/// Of two arrays and of what has no bins, `--by-key` and `--bins` are refused.
#[test]
fn every_operation_has_runs_and_bins_or_says_so() {
    let folder = Folder::new();
    folder.write("i.npy", &Input::new("|i1", &[36], false).npy());
    folder.write("f.npy", &Input::new("<f4", &[36], false).npy());
    folder.write("w.npy", &Input::new("<u8", &[36], false).npy());
    let of_keys: Vec<i64> = (0..36).map(|i| [5, 3, 5][(i / 9).min(2)]).collect();
    folder.write("k.npy", &keys("<u4", &of_keys));
    for operation in help::operations() {
        let operation = operation.as_str();
        if ["dot", "distance", "squared-distance"].contains(&operation) {
            let line = format!("{operation} i.npy i.npy --by-key k.npy");
            refused(&folder, &line, "takes two arrays");
            continue;
        }
        let file = match operation {
            "compensated" | "wide" | "exact" | "nansum" | "nanmean" | "logsumexp" => "f.npy",
            "topk" => "f.npy -k 3",
            _ => "i.npy",
        };
        let line = format!("{operation} {file} --by-key k.npy --verify");
        let output = folder.run(&line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        let lines: Vec<_> = text(&output.stdout).lines().collect();
        assert_eq!((lines.len(), lines[0]), (4, "shape (3,)"), "{line}");
        for (line, start) in lines[1..].iter().zip(["5 9 ", "3 9 ", "5 18 "]) {
            assert!(line.starts_with(start), "{operation}: {line}");
        }
        let stderr = text(&output.stderr);
        assert!(stderr.contains("3 of 3 results agree with the CPU's"), "{line}: {stderr}");

        let settings = if operation == "topk" { "-k 3" } else { "" };
        let line = format!("{operation} w.npy {settings} --by-key k.npy --bins 6");
        if !OPERATIONS.contains(&operation) {
            let error = format!("{operation} reduces runs of keys, and no bins; these operations");
            refused(&folder, &line, &error);
        } else if operation == "sum" {
            assert!(folder.run(&line).status.success(), "{line}");
        } else {
            refused(&folder, &line, "bin 0 is empty");
        }
    }
}

/// The results of runs are those of the segments between the same places, to the last digit.
#[test]
fn runs_are_the_segments_of_their_offsets() {
    let folder = Folder::new();
    let of_keys = some_keys(2000);
    folder.write("k.npy", &keys("<i8", &of_keys));
    let mut offsets = vec![0];
    for run in of_keys.chunk_by(|a, b| a == b) {
        offsets.push(offsets[offsets.len() - 1] + run.len() as i64);
    }
    folder.write("o.npy", &keys("<u4", &offsets));
    for descr in ["|u1", "<i4", "<f4", "<f8"] {
        folder.write("x.npy", &Input::new(descr, &[2000], false).npy());
        for operation in help::operations() {
            let operation = if operation == "topk" { "topk -k 5".to_owned() } else { operation };
            let line = |how: &str| format!("{operation} x.npy {how} --json");
            let (runs, segments) = (line("--by-key k.npy"), line("--segments o.npy"));
            let (runs, segments) = (folder.run(&runs), folder.run(&segments));
            assert_eq!(runs.status.code(), segments.status.code(), "{descr} {operation}");
            if runs.status.success() {
                let [runs, segments] = [runs, segments].map(|output| {
                    serde_json::from_slice::<Value>(&output.stdout).expect("one JSON object")
                });
                for field in ["results", "result_type", "wrapped"] {
                    assert_eq!(runs[field], segments[field], "{descr} {operation}");
                }
            }
        }
    }
}

#[test]
fn bins_are_those_of_loops() {
    let folder = Folder::new();
    let kinds = ["|b1", "|u1", "<i4", ">i4", "<u4", "<i8", "<u8", "<f2", "<V2", "<f4", "<f8"];
    let of_keys: Vec<i64> = (0..400).map(|i| i * i % 13 % 7).collect();
    let bins = 1 + *of_keys.iter().max().expect("there are keys");
    for (k, descr) in kinds.into_iter().enumerate() {
        let input = Input::new(descr, &[400], false);
        folder.write("x.npy", &input.npy());
        let dtype = if descr == "<V2" { "--type bf16" } else { "" };
        for (j, operation) in OPERATIONS.into_iter().enumerate() {
            folder.write("k.npy", &keys(KEYS[(k + j) % 7], &of_keys));
            // Only a sum has a result of nothing.
            let more = if operation == "sum" { 3 } else { 0 };
            let used: Vec<i64> = (0..bins).filter(|bin| of_keys.contains(bin)).collect();
            assert_eq!(used.len(), bins as usize, "each bin has elements");
            let line = format!(
                "{operation} x.npy {dtype} --by-key k.npy --bins {} --json --verify",
                bins + more
            );
            let report = folder.json(&line);
            assert_eq!(report["shape"], Value::from(vec![bins + more]), "{line}");
            assert_eq!(report["bins"], bins + more, "{line}");
            assert_eq!(report["verified"]["agrees"], true, "{line}");
            let results = report["results"].as_array().expect("results");
            for (bin, result) in (0..).zip(results) {
                let positions: Vec<usize> = (0..400).filter(|&i| of_keys[i] == bin).collect();
                let own: Vec<f64> = positions.iter().map(|&i| input.elements[i]).collect();
                assert_eq!(report["counts"][bin as usize], own.len(), "{line}");
                let mut result = result.clone();
                if let Some(index) = result["index"].as_u64() {
                    // The index is that of all elements.
                    let place = positions.iter().position(|&i| i as u64 == index);
                    result["index"] = place.expect("an element of the bin").into();
                }
                compare(operation, &result, &own, &format!("{line}: {descr} {bin}"));
            }
        }
    }
}

#[test]
fn each_line_has_key_number_and_result() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[5], false).npy());
    folder.write("k.npy", &keys("<i8", &[-3, -3, 9, -3, -3]));
    let found = folder.run("sum x.npy --by-key k.npy --verify");
    assert_eq!(text(&found.stdout), "shape (3,)\n-3 2 -1.25\n9 1 2.0\n-3 2 -2.25\n");
    assert!(text(&found.stderr).contains("3 of 3 results agree with the CPU's"));
    folder.write("b.npy", &keys("<u2", &[2, 0, 2, 2, 0]));
    let found = folder.run("sum x.npy --by-key b.npy --bins 4 --verify --verbose");
    assert_eq!(text(&found.stdout), "shape (4,)\n0 2 0.0\n1 0 0.0\n2 3 -1.5\n3 0 0.0\n");
    let stderr = text(&found.stderr);
    assert!(stderr.contains("sum in 4 bin(s) (keys: b.npy) of 5 f32 elements"), "{stderr}");
    let found = folder.run("argmax x.npy --by-key b.npy --bins 3 --output y.npy");
    assert_eq!(found.status.code(), Some(2), "bin 1 is empty");
    folder.write("b.npy", &keys("<u2", &[1, 0, 1, 1, 0]));
    let found = folder.run("argmax x.npy --by-key b.npy --bins 2 --output y.npy");
    assert_eq!(text(&found.stdout), "shape (2,)\n0 2 1\n1 3 2\n");
    let (header, numbers) = saved(&folder.path("y.npy"));
    assert!(header.contains("'descr': '<u8'") && header.contains("'shape': (2,)"), "{header}");
    let numbers: Vec<u64> = numbers.into_iter().map(|number| number as u64).collect();
    assert_eq!(numbers, [1, 2]);
    let report = folder.json("sum x.npy --by-key b.npy --bins 2 --json --repeat 2");
    let times = &report["times"];
    let product = times["bytes_per_second"].as_f64().zip(times["median_seconds"].as_f64());
    // Four bytes of an element, and two of its key.
    let bytes = product.map(|(rate, seconds)| rate * seconds);
    assert!(bytes.is_some_and(|bytes| (bytes - 30.0).abs() < 1e-6), "{bytes:?}");
}

#[test]
fn keys_and_values_come_from_pipes() {
    let folder = Folder::new();
    let (values, of_keys) = (Input::new("<i4", &[90], true), some_keys(90));
    folder.write("x.npy", &values.npy());
    folder.write("k.npy", &keys("<u4", &of_keys));
    for bins in ["", "--bins 12"] {
        let from_file = folder.run(&format!("sum x.npy --by-key k.npy {bins} --verify"));
        assert!(from_file.status.success(), "{}", text(&from_file.stderr));
        let line = format!("sum - --by-key k.npy {bins}");
        let values_piped = folder.run_with(&line, &values.npy());
        assert_eq!(text(&values_piped.stdout), text(&from_file.stdout));
        let line = format!("sum x.npy --by-key - {bins}");
        let keys_piped = folder.run_with(&line, &keys("<u4", &of_keys));
        assert_eq!(text(&keys_piped.stdout), text(&from_file.stdout));
    }
}

#[test]
fn a_sum_of_integers_is_exact() {
    let folder = Folder::new();
    let large = [1i64 << 62, -5, 1 << 62, i64::MIN, 1, i64::MIN];
    let large: Vec<u8> = large.into_iter().flat_map(i64::to_le_bytes).collect();
    folder.write("x.npy", &npy("<i8", &[6], false, &large));
    folder.write("k.npy", &keys("|u1", &[0, 1, 0, 2, 1, 2]));
    let output = folder.run("sum x.npy --by-key k.npy --bins 3 --verify");
    assert_eq!(
        text(&output.stdout),
        "shape (3,)\n0 2 9223372036854775808\n1 2 -4\n2 2 -18446744073709551616\n"
    );
    folder.write("k.npy", &keys("|u1", &[0, 1, 1, 2, 3, 4]));
    let output = folder.run("sum x.npy --by-key k.npy --verify");
    assert!(text(&output.stdout).contains("\n1 2 4611686018427387899\n"));
    folder.write("k.npy", &keys("|u1", &[0, 1, 2, 2, 4, 4]));
    let stdout = |line: &str| text(&folder.run(line).stdout).to_owned();
    assert_eq!(
        stdout("sum x.npy --by-key k.npy --verify"),
        "shape (4,)\n0 1 4611686018427387904\n1 1 -5\n2 2 -4611686018427387904\n\
         4 2 -9223372036854775807\n"
    );
    folder.write("k.npy", &keys("|u1", &[0, 0, 1, 1, 1, 1]));
    let large = [i64::MIN, i64::MIN, i64::MAX, i64::MAX, 5, 6];
    let large: Vec<u8> = large.into_iter().flat_map(i64::to_le_bytes).collect();
    folder.write("x.npy", &npy("<i8", &[6], false, &large));
    assert_eq!(
        stdout("sum x.npy --by-key k.npy --verify"),
        "shape (2,)\n0 2 -18446744073709551616\n1 4 18446744073709551625\n"
    );
    let wrapped = folder.run("wrapping-sum x.npy --by-key k.npy --verify");
    assert_eq!(text(&wrapped.stdout), "shape (2,)\n0 2 0\n1 4 9\n");
    let checked = folder.run("checked-sum x.npy --by-key k.npy");
    assert_eq!((checked.status.code(), text(&checked.stdout)), (Some(1), ""));
    assert!(text(&checked.stderr).contains("result 0: "), "{}", text(&checked.stderr));
}

#[test]
fn elements_of_128_bits_have_runs() {
    let folder = Folder::new();
    let elements = [i128::MAX, 1, -7, i128::MIN];
    let bytes: Vec<u8> = elements.into_iter().flat_map(i128::to_le_bytes).collect();
    folder.write("k.npy", &keys("<u2", &[8, 8, 8, 1]));
    for (operation, lines) in [
        (
            "max",
            ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"],
        ),
        ("argmin", ["2", "0"]),
        (
            "sum",
            ["170141183460469231731687303715884105721", "-170141183460469231731687303715884105728"],
        ),
    ] {
        let line = format!("{operation} - --type i128 --by-key k.npy --verify");
        let output = folder.run_with(&line, &bytes);
        let expected = format!("shape (2,)\n8 3 {}\n1 1 {}\n", lines[0], lines[1]);
        assert_eq!(text(&output.stdout), expected, "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn no_elements_have_no_runs() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[0], false).npy());
    folder.write("k.npy", &keys("<u4", &[]));
    let stdout = |line: &str| text(&folder.run(line).stdout).to_owned();
    assert_eq!(stdout("max x.npy --by-key k.npy --verify"), "shape (0,)\n");
    assert_eq!(stdout("sum x.npy --by-key k.npy --bins 1 --verify"), "shape (1,)\n0 0 0.0\n");
    assert_eq!(stdout("sum x.npy --by-key k.npy --bins 0"), "shape (0,)\n");
    assert_eq!(stdout("bincount k.npy --bins 2"), "shape (2,)\n0 0\n1 0\n");
}

#[test]
fn what_has_no_keys_is_refused() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<i4", &[3, 4], false).npy());
    folder.write("bytes.npy", &Input::new("|i1", &[12], false).npy());
    folder.write("k.npy", &keys("<u4", &[0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]));
    folder.write("short.npy", &keys("<u4", &[0, 1]));
    folder.write("negative.npy", &keys("<i4", &[0, 0, 0, -7, 1, 1, 1, 1, 1, 1, 1, -9]));
    folder.write("i1.npy", &keys("|i1", &[0; 12]));
    folder.write("float.npy", &Input::new("<f4", &[12], false).npy());
    folder.write("raw", &[0; 12]);
    for (line, error) in [
        ("sum x.npy --by-key short.npy", "there are 2 keys, and x.npy has 12 elements"),
        ("sum x.npy --by-key k.npy --bins 2", "key 4 is 2, and bins go from 0 to 1"),
        ("sum x.npy --by-key negative.npy --bins 5", "key 3 is -7, and bins go from 0 to 4"),
        ("min x.npy --by-key negative.npy --bins 5", "key 3 is -7, and bins go from 0 to 4"),
        ("sum x.npy --by-key k.npy --bins 0", "key 0 is no bin, and there are no bins"),
        ("min x.npy --by-key k.npy --bins 4", "bin 3 is empty, and the minimum of no elements"),
        ("sum x.npy --by-key k.npy --bins 65537", "65537 bins are too many: at most 65536"),
        ("sum x.npy --by-key k.npy --bins many", "--bins"),
        ("sum x.npy --bins 3", "--bins: its numbers are the keys of --by-key, which is missing"),
        ("sum x.npy --by-key i1.npy --bins 3", "i1.npy: keys of bins are u8, u16, u32, i32"),
        ("sum x.npy --by-key float.npy", "integers of at most 64 bits, and these are f32"),
        ("sum x.npy --by-key raw", "--by-key raw: keys have a header"),
        ("sum x.npy --by-key missing.npy", "--by-key: cannot read missing.npy"),
        ("sum - --by-key -", "--by-key: '-' is the array already"),
        ("sum x.npy --by-key k.npy --axis 0", "in segments or by key, so leave out --axis"),
        ("sum x.npy --by-key k.npy --segments k.npy", "or by key, so leave out --segments"),
        ("sum x.npy --by-key k.npy --piece 16", "reduced by key is loaded as a whole"),
        ("sum x.npy x.npy --by-key k.npy", "one array is reduced by key, not x.npy and x.npy"),
        ("dot x.npy x.npy --by-key k.npy", "dot takes two arrays"),
        (
            "product x.npy --by-key k.npy --bins 3",
            "product reduces runs of keys, and no bins; these operations have bins: sum, mean",
        ),
        (
            "norm2 x.npy --by-key k.npy",
            "x.npy: there is no norm2 of i32 elements: it has bool, i8, u8, i16, u16, f16, bf16",
        ),
        ("minmax x.npy --by-key k.npy --output y.npy", "one number for each key"),
        ("exact bytes.npy --by-key k.npy", "there is no exact of i8 elements"),
        ("sum bytes.npy --by-key k.npy --bins 3", "there is no sum of bins of i8 elements"),
        ("bincount negative.npy --bins 5", "key 3 is -7, and bins go from 0 to 4"),
        ("bincount i1.npy --bins 5", "i1.npy: keys of bins are u8"),
        ("bincount float.npy --bins 5", "float.npy: keys are integers of at most 64 bits"),
        ("bincount raw --bins 5", "raw: keys have a header"),
        ("bincount missing.npy --bins 5", "cannot read missing.npy"),
        ("bincount k.npy --bins 65537", "65537 bins are too many"),
    ] {
        refused(&folder, line, error);
    }
    assert!(!folder.path("y.npy").exists());
    let cut = &keys("<u4", &[0; 12])[..160];
    refused_with(&folder, "sum x.npy --by-key -", cut, "announces 48 bytes of elements");
    refused_with(&folder, "bincount - --bins 1", cut, "announces 48 bytes of elements");
    assert_eq!(folder.run("bincount k.npy").status.code(), Some(2), "--bins is missing");
}

#[test]
fn keys_are_counted() {
    let folder = Folder::new();
    let of_keys: Vec<i64> = (0..5000).map(|i| i * i % 97 % 23).collect();
    let counts: Vec<usize> =
        (0..25).map(|bin| of_keys.iter().filter(|&&key| key == bin).count()).collect();
    for descr in &KEYS[..7] {
        folder.write("k.npy", &keys(descr, &of_keys));
        let report = folder.json("bincount k.npy --bins 25 --json --verify");
        assert_eq!(report["results"], Value::from(counts.clone()), "{descr}");
        assert_eq!((&report["n"], &report["verified"]), (&5000.into(), &true.into()), "{descr}");
    }
    let output = folder.run("bincount k.npy --bins 25 --verify --output c.npy");
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    assert_eq!((lines.len(), lines[0]), (22, "shape (25,)"));
    assert_eq!(lines[3], format!("2 {}", counts[2]));
    assert_eq!(lines[21], "… and 5 more; --output FILE keeps them all");
    assert!(text(&output.stderr).contains("the CPU's counts are the same"));
    let (header, numbers) = saved(&folder.path("c.npy"));
    assert!(header.contains("'descr': '<u8'") && header.contains("'shape': (25,)"), "{header}");
    let numbers: Vec<usize> = numbers.into_iter().map(|number| number as usize).collect();
    assert_eq!(numbers, counts);
    let from_pipe = folder.run_with("bincount - --bins 25", &keys("<u4", &of_keys));
    assert_eq!(text(&from_pipe.stdout), text(&output.stdout));
}
