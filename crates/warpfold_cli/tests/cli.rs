//! The command as people use it: pipes, pieces, JSON, saved results, notes, completions.

mod program;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

fn warpfold(args: &[&str]) -> Output {
    with_input(args, &[])
}

/// Runs the command with these bytes in its standard input.
fn with_input(args: &[&str], input: &[u8]) -> Output {
    program::run(&files(), args, input)
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("output is UTF-8")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("output is UTF-8")
}

/// The result on stdout of a command that must go well.
fn result(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output).trim_end().to_owned()
}

fn json(args: &[&str]) -> Value {
    let output = warpfold(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

#[test]
fn the_result_is_all_that_is_printed() {
    let output = warpfold(&["sum", "fortran.npy"]);
    assert_eq!((result(&output).parse::<i64>().is_ok(), stderr(&output)), (true, ""));
}

#[test]
fn alone_it_shows_three_examples() {
    let output = warpfold(&[]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
    assert_eq!(
        stderr(&output)
            .lines()
            .filter(|line| line.contains("  warpfold ") || line.contains("| warpfold "))
            .count(),
        3
    );
}

#[test]
fn pipes_hold_arrays_too() {
    let npy = fs::read(files().join("fortran.npy")).unwrap();
    let whole = result(&warpfold(&["argmax", "fortran.npy"]));
    assert_eq!(result(&with_input(&["argmax", "-"], &npy)), whole);
    assert_eq!(result(&with_input(&["argmax", "-", "--verify", "--piece", "16"], &npy)), whole);
    let raw: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    for more in [&[][..], &["--piece", "4096"], &["--piece", "2^20"]] {
        let args = [&["sum", "-", "--type", "u32", "--verify"][..], more].concat();
        assert_eq!(result(&with_input(&args, &raw)), "4999950000", "{more:?}");
    }
    assert_eq!(
        result(&with_input(
            &["max", "-", "part_1.npy"],
            &fs::read(files().join("i2.npy")).unwrap()
        )),
        "32767"
    );

    for (args, input, error) in [
        (&["sum", "-"][..], &raw[..8], "standard input is no .npy or .npz file"),
        (
            &["sum", "-", "--type", "f64"],
            &raw[..12],
            "standard input: 12 bytes are not a whole number",
        ),
        (&["sum", "-"], &npy[..npy.len() - 4], "announces 480 bytes of elements, and 476 follow"),
        (
            &["sum", "-"],
            &[&npy[..], &[0]].concat(),
            "announces 480 bytes of elements, and 481 follow",
        ),
        (&["sum", "-", "-"], &npy, "'-' is given twice"),
        (&["sum", "-"], &fs::read(files().join("one.npz")).unwrap(), "cannot be read from a pipe"),
    ] {
        let output = with_input(args, input);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{args:?}");
        assert!(stderr(&output).contains(error), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn pieces_give_the_same() {
    for (operation, file) in [
        ("sum", "i4.npy"),
        ("sum", "i8.npy"),
        ("exact", "f8.npy"),
        ("argmax", "f4.npy"),
        ("argmin", "fortran.npy"),
        ("argminimum", "nans.npy"),
        ("minmax", "u2.npy"),
        ("count", "bool.npy"),
        ("all", "bool.npy"),
        ("bit-xor", "u8.npy"),
        ("sum", "empty.npy"),
        ("sum", "compressed.npz"),
    ] {
        let whole = result(&warpfold(&[operation, file]));
        for piece in ["16", "48", "4096"] {
            let output = warpfold(&[operation, file, "--piece", piece, "--verify"]);
            assert_eq!(result(&output), whole, "{operation} {file} {piece}");
        }
    }
    let pair = |more: &[&str]| {
        result(&warpfold(&[&["dot", "rows.npy", "fortran.npy"][..], more].concat()))
    };
    assert_eq!(pair(&["--piece", "32", "--verify"]), pair(&[]));
    // A mean of pieces differs in its last digits.
    let output = warpfold(&["mean", "f8.npy", "--piece", "64", "--verify"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = warpfold(&["max", "empty.npy", "--piece", "64"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json(&["sum", "i4.npy", "--piece", "16", "--json"])["pieces"], 10);
}

#[test]
fn json_has_numbers() {
    let report = json(&["argmax", "f4.npy", "--json", "--verify", "--repeat", "2"]);
    assert_eq!(
        (&report["operation"], &report["type"], &report["n"]),
        (&"argmax".into(), &"f32".into(), &53.into())
    );
    assert_eq!((report["result"].as_u64(), report["element"].is_f64()), (Some(7), true));
    assert_eq!(report["verified"]["agrees"], true);
    // Without an argument it is the first GPU, or the simulator where there is none.
    let device = report["devices"][0]["device"].as_str();
    assert!(matches!(device, Some("sim" | "cuda:0")), "{device:?}");
    assert_eq!(report["times"]["seconds"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["wrapped"], Value::Null);
    let report = json(&["wrapping-sum", "large.npy", "--json"]);
    assert_eq!(
        (&report["wrapped"], &report["result"]),
        (&true.into(), &(-4_611_686_018_427_387_904i64).into())
    );
    assert_eq!(json(&["wrapping-sum", "part_1.npy", "--json"])["wrapped"], false);
    assert_eq!(json(&["dot", "rows.npy", "rows.npy", "--json"])["wrapped"], false);
    assert_eq!(json(&["product", "vast.npy", "--json"])["wrapped"], true);
    assert_eq!(json(&["norm1", "i8.npy", "--json"])["wrapped"], true);
    let report = json(&["minmax", "only_nans.npy", "--json"]);
    assert_eq!((&report["result"]["min"], &report["result_type"]), (&"NaN".into(), &"f64".into()));
    // All digits are there, as a number.
    let output = warpfold(&["sum", "vast.npy", "--json"]);
    assert!(stdout(&output).contains("\"result\": 73786976294838206460,"), "{}", stdout(&output));
}

#[test]
fn a_wrapped_result_says_so() {
    for args in [
        &["wrapping-sum", "large.npy"][..],
        &["product", "vast.npy"],
        &["dot", "large.npy", "large.npy"],
    ] {
        let output = warpfold(args);
        assert!(output.status.success() && stderr(&output).contains("wrapped around"), "{args:?}");
    }
}

#[test]
fn results_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.npy");
    let path = path.to_str().unwrap();
    for (args, dtype, sum) in [
        (&["sum", "fortran.npy"][..], "i64", None),
        (&["max", "u2.npy"], "u16", Some("65535")),
        (&["max", "f2.npy"], "f16", None),
        (&["std", "f4.npy"], "f64", None),
        (&["argmax", "i1.npy"], "i64", Some("5")),
        (&["any", "bool.npy"], "bool", Some("1")),
    ] {
        let printed = result(&warpfold(&[args, &["--output", path]].concat()));
        let read = json(&["sum", path, "--json"]);
        assert_eq!((&read["type"], &read["n"]), (&dtype.into(), &1.into()), "{args:?}");
        let again = result(&warpfold(&["max", path]));
        if dtype != "bool" {
            assert_eq!(again, printed, "{args:?}");
        }
        if let Some(sum) = sum {
            assert_eq!(result(&warpfold(&["sum", path])), sum, "{args:?}");
        }
    }
    result(&warpfold(&["minmax", "i1.npy", "--output", path]));
    assert_eq!(result(&warpfold(&["minmax", path])), "-128 127");
    let output = warpfold(&["sum", "i1.npy", "--output", "missing/folder/x.npy"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
    assert!(stderr(&output).contains("--output missing/folder/x.npy: the file cannot be written"));
}

/// The digits depend on the pieces, and not on the devices that take them in turns.
#[test]
fn several_devices_give_the_same() {
    for args in [
        ["sum", "f4.npy", "--piece", "64"],
        ["mean", "f8.npy", "--piece", "64"],
        ["var", "f8.npy", "--piece", "32"],
        ["argmax", "f4.npy", "--piece", "16"],
        ["exact", "f8.npy", "--piece", "16"],
        ["sum", "empty.npy", "--piece", "16"],
    ] {
        let on = |devices: &str| {
            result(&warpfold(&[&args[..], &["--verify", "--device", devices]].concat()))
        };
        let alone = on("sim");
        for devices in ["sim,sim", "sim,sim,sim", "sim,sim,sim,sim,sim,sim,sim,sim"] {
            assert_eq!(on(devices), alone, "{args:?} on {devices}");
        }
    }
    let report = json(&["sum", "i4.npy", "--piece", "16", "--device", "sim,sim", "--json"]);
    assert_eq!(
        (&report["pieces"], report["devices"].as_array().map(Vec::len)),
        (&10.into(), Some(2))
    );
    for (args, error) in [
        (&["sum", "i4.npy", "--device", "cuda:1,cuda:1"][..], "cuda:1 is there twice"),
        (&["sum", "i4.npy", "--device", "sim,all"], "unknown device 'all'"),
        (&["sum", "rows.npy", "--axis", "0", "--device", "sim,sim"], "one device"),
        (&["bincount", "u1.npy", "--bins", "256", "--device", "sim,sim"], "one device"),
    ] {
        let output = warpfold(args);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{args:?}");
        assert!(stderr(&output).contains(error), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_missing_gpu_is_a_failed_run() {
    // A driver that is no library stands for a machine without one.
    let run = |args: &[&str]| {
        program::warpfold()
            .args(args)
            .current_dir(files())
            .env("WARPFOLD_LIBCUDA", files().join("table.csv"))
            .output()
            .expect("the command runs")
    };
    for device in ["cuda", "cuda:7", "cuda:all", "sim,cuda:1"] {
        let output = run(&["sum", "i4.npy", "--device", device]);
        assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""), "{device}");
    }
    let output = run(&["sum", "i4.npy", "--device", "sim"]);
    assert!(output.status.success());
    let output = run(&["doctor"]);
    assert!(stdout(&output).contains("table.csv") && stdout(&output).contains("would run"));
}

#[test]
fn devices_and_doctor_name_the_simulator() {
    let listed = result(&warpfold(&["devices"]));
    assert!(listed.lines().last().is_some_and(|line| line.starts_with("sim ")), "{listed}");
    let devices = json(&["devices", "--json"]);
    let last = devices["devices"].as_array().and_then(|all| all.last()).expect("there are devices");
    assert_eq!(last["device"], "sim");
    let doctor = warpfold(&["doctor"]);
    for part in ["warpfold ", "driver ", "device ", "would run "] {
        assert!(stdout(&doctor).lines().any(|line| line.starts_with(part)), "{part}");
    }
}

#[test]
fn completions_and_manual_pages_have_values() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = result(&warpfold(&["generate", &format!("complete-{shell}")]));
        for word in ["argminimum", "verify", "device", "doctor"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if ["bash", "fish", "zsh"].contains(&shell) {
            assert!(script.contains("bf16") && script.contains("sim"), "{shell}");
        }
    }
    let page = result(&warpfold(&["generate", "man"]));
    assert!(page.contains(".TH warpfold") && page.contains("argmax"));
    assert!(result(&warpfold(&["generate", "man", "sum"])).contains("npz"));
}

/// Ctrl-C ends a long reduction on the simulator with the status of an interrupted command.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_it() {
    let mut child = program::warpfold()
        .args(["sum", "-", "--type", "u8", "--piece", "16", "--device", "sim"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    // When so much is read, the command has begun to reduce: the pipe holds less.
    stdin.write_all(&vec![1; 1 << 18]).expect("the command reads");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
    // The reduction in pieces looks for Ctrl-C between pieces, so more must come.
    let _ = stdin.write_all(&vec![1; 1 << 18]);
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("interrupted: "), "{}", stderr(&output));
}
