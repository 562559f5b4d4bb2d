//! The best few elements: whole arrays and rows of every type, compared with a sort, and what is
//! refused.

mod arrays;
mod program;

use arrays::{Folder, Input, npy, refused, saved, text};
use serde_json::{Value, json};

/// What `topk` finds among these elements, as JSON has it.
fn expected(elements: &[f64], k: usize, is_smallest: bool) -> Vec<(u64, f64)> {
    let mut all: Vec<_> = elements.iter().enumerate().map(|(i, &x)| (i as u64, x)).collect();
    all.sort_by(|a, b| if is_smallest { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) });
    all.truncate(k);
    all
}

fn found(result: &Value) -> Vec<(u64, f64)> {
    let best = result.as_array().expect("a list");
    best.iter()
        .map(|best| (best["index"].as_u64().unwrap(), best["element"].as_f64().unwrap()))
        .collect()
}

#[test]
fn results_are_those_of_a_sort() {
    let folder = Folder::new();
    let kinds = ["|b1", "|u1", "<i4", ">i4", "<u4", "<i8", "<u8", "<f2", "<V2", "<f4", "<f8"];
    for (turn, descr) in kinds.into_iter().enumerate() {
        let input = Input::new(descr, &[9, 34], turn % 2 == 1);
        folder.write("x.npy", &input.npy());
        let dtype = if descr == "<V2" { "--type bf16" } else { "" };
        let (k, is_smallest) = (turn % 8 + 1, turn % 3 == 0);
        let smallest = if is_smallest { "--smallest" } else { "" };
        let line = format!("topk x.npy -k {k} {smallest} {dtype} --json --verify");
        let whole = folder.json(&line);
        assert_eq!(whole["verified"]["agrees"], true, "{descr} {line}");
        assert_eq!(found(&whole["result"]), expected(&input.elements, k, is_smallest), "{line}");
        let line = format!("{line} --axis 1");
        let rows = folder.json(&line);
        assert_eq!(rows["verified"]["agrees"], true, "{descr} {line}");
        let results = rows["results"].as_array().unwrap();
        assert_eq!(results.len(), 9);
        for (result, row) in results.iter().zip(input.elements.chunks(34)) {
            assert_eq!(found(result), expected(row, k, is_smallest), "{descr} {line}");
        }
    }
}

#[test]
fn pieces_and_several_files_are_one_array() {
    let folder = Folder::new();
    let input = Input::new("<f4", &[500], false);
    folder.write("x.npy", &input.npy());
    let [whole, pieces] = ["", "--piece 64"].map(|piece| {
        let report = folder.json(&format!("topk x.npy x.npy -k 7 --json --verify {piece}"));
        assert_eq!(report["verified"]["agrees"], true);
        report["result"].clone()
    });
    assert_eq!(whole, pieces);
    let twice = [&input.elements[..], &input.elements].concat();
    assert_eq!(found(&whole), expected(&twice, 7, false));
}

#[test]
fn it_prints_and_saves_indices() {
    let folder = Folder::new();
    let bytes: Vec<u8> = [2.5f32, f32::NAN, 9.0, -1.0, 9.0, f32::INFINITY]
        .into_iter()
        .flat_map(f32::to_le_bytes)
        .collect();
    folder.write("x.npy", &npy("<f4", &[3, 2], false, &bytes));
    let printed = |line: &str| text(&folder.run(line).stdout).to_owned();
    assert_eq!(printed("topk x.npy -k 3"), "5:inf 2:9.0 4:9.0\n");
    assert_eq!(printed("topk x.npy -k 8 --smallest"), "3:-1.0 0:2.5 2:9.0 4:9.0 5:inf 1:NaN\n");
    // A row has two elements, however many are asked for.
    let rows = "shape (3,)\n0:2.5 1:NaN\n0:9.0 1:-1.0\n1:inf 0:9.0\n";
    assert_eq!(printed("topk x.npy -k 5 --axis 1 --output rows.npy"), rows);
    let (header, indices) = saved(&folder.path("rows.npy"));
    assert!(header.contains("'shape': (3, 2)") && header.contains("<u8"), "{header}");
    assert_eq!(indices, [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(printed("topk x.npy -k 1 --output one.npy"), "5:inf\n");
    assert!(saved(&folder.path("one.npy")).0.contains("'shape': (1,)"));
    let report = folder.json("topk x.npy -k 1 --json");
    assert_eq!(report["result"], json!([{ "index": 5, "element": "inf" }]));
    assert_eq!((&report["operation"], &report["result_type"]), (&json!("topk"), &json!("u64")));
}

#[test]
fn segments_and_runs_are_those_of_a_sort() {
    let folder = Folder::new();
    let whole = |numbers: &[f64], descr| Input {
        descr,
        shape: vec![numbers.len()],
        elements: numbers.to_vec(),
        is_fortran: false,
    };
    let ends = [0usize, 1, 1, 30, 33, 300];
    folder.write("o.npy", &whole(&ends.map(|end| end as f64), "<u4").npy());
    let keys: Vec<i32> = (0..300).map(|i| i / 20 * 7 % 5).collect();
    let numbers: Vec<f64> = keys.iter().map(|&key| key.into()).collect();
    folder.write("k.npy", &whole(&numbers, "<i4").npy());
    for (turn, descr) in ["|u1", "<i4", "<u8", "<f2", "<f4", "<f8"].into_iter().enumerate() {
        let input = Input::new(descr, &[300], false);
        folder.write("x.npy", &input.npy());
        let (k, is_smallest) = (turn + 3, turn % 2 == 1);
        let smallest = if is_smallest { "--smallest" } else { "" };
        let line = format!("topk x.npy -k {k} {smallest} --json --verify");
        let check = |how: &str, parts: Vec<&[f64]>| {
            let report = folder.json(&format!("{line} {how}"));
            assert_eq!(report["verified"]["agrees"], true, "{descr} {how}");
            let results = report["results"].as_array().unwrap();
            assert_eq!(results.len(), parts.len(), "{descr} {how}");
            for (result, part) in results.iter().zip(parts) {
                assert_eq!(found(result), expected(part, k, is_smallest), "{descr} {how}");
            }
        };
        let segments = ends.windows(2).map(|pair| &input.elements[pair[0]..pair[1]]);
        check("--segments o.npy", segments.collect());
        let mut rest = &input.elements[..];
        let runs = keys.chunk_by(|a, b| a == b).map(|run| {
            let (own, behind) = rest.split_at(run.len());
            rest = behind;
            own
        });
        check("--by-key k.npy", runs.collect());
    }
    // A line for each segment, and an array in which short ones are filled up.
    folder.write("x.npy", &whole(&[4.0, 9.0, 7.0, 9.0], "<u4").npy());
    folder.write("o.npy", &whole(&[0.0, 1.0, 1.0, 4.0], "<u4").npy());
    let printed = folder.run("topk x.npy -k 2 --segments o.npy --output best.npy").stdout;
    assert_eq!(text(&printed), "shape (3,)\n0:4\n\n0:9 2:9\n");
    let (header, indices) = saved(&folder.path("best.npy"));
    assert!(header.contains("'shape': (3, 2)") && header.contains("<u8"), "{header}");
    let none = u64::MAX as f64;
    assert_eq!(indices, [0.0, none, none, none, 0.0, 2.0]);
    folder.write("k.npy", &whole(&[6.0, 6.0, 6.0, 1.0], "<u4").npy());
    let printed = folder.run("topk x.npy -k 2 --by-key k.npy").stdout;
    assert_eq!(text(&printed), "shape (2,)\n6 3 1:9 2:7\n1 1 0:9\n");
}

#[test]
fn what_it_refuses() {
    let folder = Folder::new();
    folder.write("x.npy", &Input::new("<f4", &[4, 5], false).npy());
    folder.write("i1.npy", &Input::new("|i1", &[4], false).npy());
    for (line, error) in [
        ("topk x.npy", "topk: -k is missing, the number of elements to find: 1 to 8"),
        ("topk x.npy --smallest", "topk: -k is missing"),
        ("topk x.npy -k 0", "-k 0: 1 to 8 elements can be found"),
        ("topk x.npy -k 9", "-k 9: 1 to 8 elements can be found"),
        ("topk x.npy -k two", "-k 'two': it must be a whole number"),
        ("sum x.npy -k 2", "-k 2: only topk takes it, not sum"),
        ("argmax x.npy --smallest", "--smallest: only topk takes it, not argmax"),
        ("topk i1.npy -k 2", "there is no topk of i8 elements"),
        ("topk x.npy -k 2 --axis 2", "axis 2 is none of an array of 2 dimensions"),
        (
            "topk x.npy -k 2 --by-key x.npy --bins 3",
            "--by-key: topk reduces runs of keys, and no bins",
        ),
    ] {
        refused(&folder, line, error);
    }
}
