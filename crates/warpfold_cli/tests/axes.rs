//! Reductions along axes: arrays of one to four dimensions, in both orders, compared with results
//! of plain loops.

mod arrays;
mod help;
mod program;

use std::path::Path;

use arrays::{Folder, Input, compare, expected, npy, refused, refused_with, saved, text};
use serde_json::Value;

/// The rows of an array along these axes, in C order of the other axes.
fn rows(input: &Input, axes: &[usize]) -> Vec<Vec<f64>> {
    let kept: Vec<_> = (0..input.shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let mut rows = vec![Vec::new(); kept.iter().map(|&axis| input.shape[axis]).product()];
    for (number, &x) in input.elements.iter().enumerate() {
        let indices = input.indices(number);
        let row = kept.iter().fold(0, |sum, &axis| sum * input.shape[axis] + indices[axis]);
        rows[row].push(x);
    }
    rows
}

#[test]
fn results_are_those_of_loops() {
    let folder = Folder::new();
    let shapes: [(&[usize], &[&[isize]]); 6] = [
        (&[37], &[&[0], &[-1]]),
        (&[5, 7], &[&[0], &[1], &[-1], &[0, 1], &[-1, 0]]),
        (&[1, 33], &[&[0], &[1]]),
        (&[3, 4, 5], &[&[0], &[1], &[-1], &[0, 1], &[0, 2], &[2, 1], &[0, 1, 2]]),
        (&[2, 1, 3, 70], &[&[1], &[0, 2], &[-1, -4], &[3]]),
        (&[2, 3, 2, 3], &[&[0, 2], &[1, 3], &[2], &[0, 1, 3]]),
    ];
    let kinds: [(&str, &[&str]); 10] = [
        ("<f4", &["sum", "argmax", "mean", "compensated", "wide", "norm2"]),
        ("<i4", &["sum", "argmin", "wrapping-sum", "norm1", "bit-xor"]),
        ("<f8", &["sum", "var", "min", "maximum", "logsumexp", "nanmean"]),
        ("|u1", &["max", "sum-squares", "mean"]),
        ("|i1", &["min", "max-abs", "sum"]),
        ("<f2", &["sum", "max", "count"]),
        ("|b1", &["sum", "any", "max"]),
        ("<u2", &["sum", "argmax"]),
        (">i4", &["sum", "argmin"]),
        ("<i8", &["max", "var"]),
    ];
    let mut turn = 0;
    for (shape, all_axes) in shapes {
        for (descr, operations) in kinds {
            for is_fortran in [false, true] {
                let input = Input::new(descr, shape, is_fortran);
                folder.write("x.npy", &input.npy());
                // Each input is reduced along some of the axes by some of the operations in turn.
                for axes in all_axes.iter().skip(turn % 2).step_by(2) {
                    let operation = operations[turn % operations.len()];
                    turn += 1;
                    check(&folder, &input, operation, axes, turn % 3 == 0);
                }
                turn += 1;
            }
        }
    }
}

fn check(folder: &Folder, input: &Input, operation: &str, axes: &[isize], keeps_dims: bool) {
    let words: Vec<_> = axes.iter().map(ToString::to_string).collect();
    let keepdims = if keeps_dims { "--keepdims" } else { "" };
    let line = format!("{operation} x.npy --axis {} {keepdims} --json --verify", words.join(","));
    let what = format!("{line}: {} {:?} {}", input.descr, input.shape, input.is_fortran);
    let report = folder.json(&line);

    let rank = input.shape.len();
    let axes: Vec<usize> =
        axes.iter().map(|&axis| axis.rem_euclid(rank as isize) as usize).collect();
    let shape: Vec<usize> = (0..rank)
        .filter(|axis| keeps_dims || !axes.contains(axis))
        .map(|axis| if axes.contains(&axis) { 1 } else { input.shape[axis] })
        .collect();
    assert_eq!(report["axes"], Value::from(axes.clone()), "{what}");
    assert_eq!(report["shape"], Value::from(shape), "{what}");
    assert_eq!(report["n"], input.elements.len(), "{what}");
    assert_eq!(report["verified"]["agrees"], true, "{what}");
    let (rows, results) = (rows(input, &axes), report["results"].as_array().expect("results"));
    assert_eq!(results.len(), rows.len(), "{what}");
    for (k, (result, row)) in results.iter().zip(&rows).enumerate() {
        compare(operation, result, row, &format!("{what}: {k}"));
    }
}

#[test]
fn every_operation_has_rows_or_says_so() {
    let folder = Folder::new();
    folder.write("i.npy", &Input::new("|i1", &[4, 9], false).npy());
    folder.write("f.npy", &Input::new("<f4", &[4, 9], true).npy());
    for operation in help::operations() {
        let file = match operation.as_str() {
            "compensated" | "wide" | "exact" | "nansum" | "nanmean" | "logsumexp" => "f.npy",
            _ => "i.npy",
        };
        let file = match operation.as_str() {
            "dot" | "distance" | "squared-distance" => "i.npy i.npy",
            _ => file,
        };
        let file = if operation == "topk" { "f.npy -k 3" } else { file };
        let line = format!("{operation} {file} --axis 1 --verify");
        let output = folder.run(&line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        let lines: Vec<_> = text(&output.stdout).lines().collect();
        assert_eq!((lines.len(), lines[0]), (5, "shape (4,)"), "{line}");
        assert!(
            text(&output.stderr).contains("4 of 4 results agree with the CPU's"),
            "{line}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn what_has_no_rows_is_refused() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<i4", &[3, 4], false).npy());
    folder.write("scalar.npy", &Input::new("<i4", &[], false).npy());
    folder.write("empty.npy", &Input::new("<f4", &[0, 3], false).npy());
    folder.write("raw", &[0; 12]);
    let whole = npy("<i8", &[2, 1], false, &[[0xff; 8], [0xff; 8]].concat());
    folder.write("cut.npy", &whole[..whole.len() - 8]);
    let wide: [u128; 2] = [1 << 100, 3];
    let wide: Vec<u8> = wide.into_iter().flat_map(u128::to_le_bytes).collect();
    folder.write("wide.npy", &npy("<V16", &[2, 1], false, &wide));
    for (line, error) in [
        ("sum x.npy --axis 2", "axis 2 is none of an array of 2 dimensions"),
        ("sum x.npy --axis -3", "axis -3 is none of an array of 2 dimensions"),
        ("sum scalar.npy --axis 0", "axis 0 is none of an array of 0 dimensions"),
        ("sum x.npy --axis 0,0", "axis 0 is named twice"),
        ("sum x.npy --axis 1,-1", "axis -1 is named twice"),
        ("sum x.npy --axis 0 --axis 0", "axis 0 is named twice"),
        ("sum x.npy --axis first", "--axis 'first': an axis is a whole number"),
        ("sum x.npy --axis 0,", "--axis '': an axis is a whole number"),
        ("sum x.npy --axis 1.5", "--axis '1.5': an axis is a whole number"),
        ("sum x.npy --axis --json", "--axis '--json': an axis is a whole number"),
        ("sum x.npy --axis 9223372036854775808", "an axis is a whole number"),
        ("sum x.npy --axis -9223372036854775808", "is none of an array of 2 dimensions"),
        ("sum x.npy --axis 9223372036854775807", "is none of an array of 2 dimensions"),
        ("sum x.npy --keepdims", "--keepdims: it keeps the axes of --axis, which is missing"),
        ("sum x.npy x.npy --axis 0", "one array is reduced along axes, not x.npy and x.npy"),
        ("sum x.npy --axis 0 --piece 16", "without --piece 16"),
        ("minmax x.npy --axis 0 --output y.npy", "save the results of min and of max"),
        ("sum raw --type i32 --axis 0", "raw: --axis needs an array with a shape"),
        ("sum - --type i32 --axis 0", "standard input: --axis needs an array with a shape"),
        ("max empty.npy --axis 0", "the maximum of no elements is not defined"),
        ("sum cut.npy --axis 0", "announces 16 bytes of elements, and 8 follow"),
        ("exact x.npy --axis 0", "there is no exact of i32 elements"),
        ("norm2 x.npy --axis 0", "there is no norm2 of i32 elements"),
        (
            "max wide.npy --type u128 --axis 1 --output y.npy",
            "--output y.npy: NumPy has no type that holds all of these results",
        ),
    ] {
        refused(&folder, line, error);
    }
    assert!(!Path::new(&folder.path("y.npy")).exists());
    let cut = &Input::new("<i4", &[3, 4], true).npy()[..160];
    refused_with(&folder, "sum - --axis 0", cut, "announces 48 bytes of elements, and 32 follow");
}

/// Arrays of all orders and of shapes that are broadcast, compared with plain loops.
#[test]
fn pairs_are_broadcast() {
    let folder = Folder::new();
    let shapes: [[&[usize]; 4]; 6] = [
        [&[5, 33], &[5, 33], &[1], &[5, 33]],
        [&[5, 33], &[33], &[1], &[5, 33]],
        [&[33], &[5, 1], &[0], &[5, 33]],
        [&[2, 3, 70], &[3, 1], &[0, 2], &[2, 3, 70]],
        [&[4, 1, 6], &[5, 1], &[1], &[4, 5, 6]],
        [&[7], &[7], &[0], &[7]],
    ];
    // All numbers are small, so that every sum is exact.
    for descr in ["<f4", "|i1", "|b1", "<f2"] {
        for [first, second, axes, shape] in shapes {
            for (one_is_fortran, other_is_fortran) in [(false, false), (true, false), (false, true)]
            {
                let a = Input::new(descr, first, one_is_fortran);
                let mut b = Input::new(descr, second, other_is_fortran);
                b.elements.reverse();
                folder.write("a.npy", &a.npy());
                folder.write("b.npy", &b.npy());
                let list: Vec<_> = axes.iter().map(ToString::to_string).collect();
                for operation in ["dot", "squared-distance"] {
                    let list = list.join(",");
                    let line = format!("{operation} a.npy b.npy --axis {list} --json --verify");
                    let what = format!("{line}: {descr} {first:?} {second:?}");
                    let report = folder.json(&line);
                    assert_eq!(report["verified"]["agrees"], true, "{what}");
                    assert_eq!(report["n"], shape.iter().product::<usize>(), "{what}");
                    let wanted = pairs(operation, &a, &b, axes, shape);
                    let found: Vec<_> = report["results"]
                        .as_array()
                        .expect("results")
                        .iter()
                        .map(|result| result.as_f64().expect("a number"))
                        .collect();
                    assert!(found == wanted, "{what}: {found:?}, not {wanted:?}");
                }
            }
        }
    }
}

/// The dot products or squared distances along axes of the shape of both arrays, by a plain loop.
fn pairs(operation: &str, a: &Input, b: &Input, axes: &[usize], shape: &[usize]) -> Vec<f64> {
    let element = |input: &Input, indices: &[usize]| {
        let own = indices[indices.len() - input.shape.len()..].iter().zip(&input.shape);
        let number = own.fold(0, |sum, (&index, &size)| sum * size + index.min(size - 1));
        input.elements[number]
    };
    let whole =
        Input { shape: shape.to_vec(), elements: Vec::new(), ..Input::new("<f8", &[], false) };
    let kept: Vec<_> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let mut results = vec![0.0; kept.iter().map(|&axis| shape[axis]).product()];
    for number in 0..shape.iter().product() {
        let indices = whole.indices(number);
        let row = kept.iter().fold(0, |sum, &axis| sum * shape[axis] + indices[axis]);
        let (x, y) = (element(a, &indices), element(b, &indices));
        results[row] += if operation == "dot" { x * y } else { (x - y) * (x - y) };
    }
    results
}

#[test]
fn pairs_are_saved_or_refused() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[3, 4], false).npy());
    folder.write("y.npy", &Input::new("<f4", &[3], false).npy());
    folder.write("v.npy", &Input::new("<f4", &[4], false).npy());
    folder.write("raw", &[0; 48]);
    for (line, error) in [
        ("dot x.npy y.npy --axis 1", "[3, 4] and [3] cannot be taken in pairs"),
        ("dot x.npy v.npy --axis 2", "axis 2 is none of an array of 2 dimensions"),
        ("dot x.npy raw --axis 1 --type f32", "raw: --axis needs an array with a shape"),
        ("dot x.npy v.npy --axis 1 --piece 16", "without --piece 16"),
        ("dot x.npy v.npy", "4"),
    ] {
        refused(&folder, line, error);
    }
    let line = "distance x.npy v.npy --axis -1 --keepdims --output z.npy --verify --repeat 2";
    let output = folder.run(line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (header, numbers) = saved(&folder.path("z.npy"));
    assert!(header.contains("'shape': (3, 1)"), "{header}");
    assert_eq!(numbers.len(), 3);
    let piped = Input::new("<f4", &[4], false).npy();
    let output = folder.run_with("dot x.npy - --axis 1 --verify", &piped);
    assert!(text(&output.stderr).contains("3 of 3 results agree"), "{}", text(&output.stderr));
}

#[test]
fn empty_rows_and_no_rows_have_results() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[0, 3], false).npy());
    let stdout = |line: &str| text(&folder.run(line).stdout).to_owned();
    assert_eq!(stdout("sum x.npy --axis 0 --verify"), "shape (3,)\n0.0\n0.0\n0.0\n");
    assert_eq!(stdout("sum x.npy --axis 0 --keepdims"), "shape (1, 3)\n0.0\n0.0\n0.0\n");
    assert_eq!(stdout("max x.npy --axis 1 --verify"), "shape (0,)\n");
    for (operation, result_type) in [
        ("sum", "f32"),
        ("max", "f32"),
        ("mean", "f64"),
        ("count", "i64"),
        ("argmax", "u64"),
        ("any", "bool"),
        ("minmax", "f32"),
    ] {
        let report = folder.json(&format!("{operation} x.npy --axis 1 --json --repeat 2"));
        let found = (&report["shape"], &report["results"], &report["result_type"]);
        let none = Value::Array(Vec::new());
        assert_eq!(found, (&vec![0].into(), &none, &result_type.into()), "{operation}");
    }
}

#[test]
fn a_row_has_its_exact_sum_and_its_error() {
    let folder = Folder::new();
    let large = [1i64 << 62, 1 << 62, 1, -5];
    let large: Vec<u8> = large.into_iter().flat_map(i64::to_le_bytes).collect();
    folder.write("x.npy", &npy("<i8", &[2, 2], false, &large));
    let sum = folder.run("sum x.npy --axis 1 --verify");
    assert_eq!(text(&sum.stdout), "shape (2,)\n9223372036854775808\n-4\n");
    let wrapping = folder.run("wrapping-sum x.npy --axis 1 --verify");
    assert_eq!(text(&wrapping.stdout), "shape (2,)\n-9223372036854775808\n-4\n");
    assert!(text(&wrapping.stderr).contains("at least one result wrapped around"));
    assert_eq!(folder.json("wrapping-sum x.npy --axis 0 --json")["wrapped"], false);
    assert_eq!(folder.json("sum-squares x.npy --axis 1 --json")["wrapped"], true);
    let checked = folder.run("checked-sum x.npy --axis 1");
    assert_eq!((checked.status.code(), text(&checked.stdout)), (Some(1), ""));
    assert!(
        text(&checked.stderr)
            .contains("result 0: the sum is 9223372036854775808, which no i64 holds")
    );
}

#[test]
fn twenty_results_are_printed() {
    let folder = Folder::new();
    for (rows, more) in [(20, ""), (21, "1"), (45, "25")] {
        folder.write("x.npy", &Input::new("|u1", &[rows, 2], false).npy());
        for (operation, whole) in [("sum", "--output FILE keeps"), ("minmax", "--json prints")] {
            let output = folder.run(&format!("{operation} x.npy --axis 1"));
            let mut lines = text(&output.stdout).lines();
            assert_eq!(lines.next(), Some(format!("shape ({rows},)").as_str()));
            assert_eq!(lines.by_ref().take(20).count(), 20);
            let last = (!more.is_empty()).then(|| format!("… and {more} more; {whole} them all"));
            assert_eq!(lines.next(), last.as_deref(), "{operation} {rows}");
        }
    }
}

#[test]
fn json_has_each_result() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[2, 3], true).npy());
    let report = folder.json("minmax x.npy --axis -1 --keepdims --json --verify --repeat 3");
    assert_eq!(
        (&report["operation"], &report["axes"], &report["shape"], &report["pieces"]),
        (&"minmax".into(), &vec![1].into(), &vec![2, 1].into(), &1.into())
    );
    for result in report["results"].as_array().expect("results") {
        assert!(result["min"].as_f64() <= result["max"].as_f64(), "{result}");
    }
    assert_eq!(report["verified"]["reference"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["verified"]["error_bound"], Value::Array(vec![Value::Null; 2]));
    assert_eq!(report["times"]["seconds"].as_array().map(Vec::len), Some(3));
    assert_eq!((&report["result"], &report["element"]), (&Value::Null, &Value::Null));
    // Without axes, the report has what it had before.
    let report = folder.json("argmax x.npy --json --verify");
    assert!(report["result"].is_u64() && report["element"].is_f64());
    assert!(report["verified"]["reference"].is_string());
    assert_eq!((&report["axes"], &report["results"]), (&Value::Null, &Value::Null));
    let output = folder.run("sum x.npy --axis 0 --repeat 2 --verbose");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("in the median of 2 runs") && stderr.contains("sum along axis 0 of 6"));
}

#[test]
fn results_are_saved_in_their_shape() {
    let folder = Folder::new();
    for is_fortran in [false, true] {
        let input = Input::new("<f4", &[2, 3, 4], is_fortran);
        folder.write("x.npy", &input.npy());
        let rows = rows(&input, &[1]);
        for (operation, keepdims, shape, descr) in [
            ("max", "", "(2, 4)", "<f4"),
            ("sum", "--keepdims", "(2, 1, 4)", "<f4"),
            ("mean", "", "(2, 4)", "<f8"),
            ("argmax", "", "(2, 4)", "<u8"),
            ("count", "", "(2, 4)", "<i8"),
            ("any", "", "(2, 4)", "|b1"),
        ] {
            let output =
                folder.run(&format!("{operation} x.npy --axis 1 {keepdims} --output y.npy"));
            assert!(output.status.success(), "{operation}: {}", text(&output.stderr));
            let (header, numbers) = saved(&folder.path("y.npy"));
            for part in [format!("'descr': '{descr}'"), format!("'shape': {shape}")] {
                assert!(header.contains(&part), "{operation}: {header}");
            }
            assert_eq!(numbers.len(), rows.len(), "{operation}");
            for (found, row) in numbers.iter().zip(&rows) {
                let expected = expected(operation, row);
                assert!((found - expected).abs() <= 1e-12, "{operation}: {found} {expected}");
            }
        }
    }
    // The type is one that holds all results, and the file is an input again.
    let integers = [-1i64, 200, 7, -300];
    let bytes: Vec<u8> = integers.into_iter().flat_map(i64::to_le_bytes).collect();
    folder.write("x.npy", &npy("<i8", &[4, 1], false, &bytes));
    folder.run("sum x.npy --axis 1 --output y.npy");
    let again = folder.json("min y.npy --axis 0 --json");
    assert_eq!((&again["results"][0], &again["type"]), (&(-300).into(), &"i64".into()));
}

#[test]
fn pipes_and_archives_have_shapes() {
    let folder = Folder::new();
    let input = Input::new("<i4", &[3, 5], true);
    folder.write("x.npy", &input.npy());
    let from_file = folder.run("sum x.npy --axis 0");
    let from_pipe = folder.run_with("sum - --axis 0", &input.npy());
    assert_eq!(text(&from_pipe.stdout), text(&from_file.stdout));
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/several.npz");
    let line = format!("argmax {}:b --axis 0 --verify", archive.display());
    let output = folder.run(&line);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
