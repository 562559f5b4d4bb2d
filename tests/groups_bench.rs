//! Tests of the soak of groups, for seconds on simulators: it passes, finds wrong kernels, and
//! repeats the round in which it found them.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Output},
};

/// Runs the benchmark, and returns its exit status, its stdout and its stderr. On a machine without
/// cargo, it is the binary in the folder that `WARPFOLD_BIN_DIR` names.
fn groups(args: &str, kernels: Option<&tempfile::TempDir>) -> (Option<i32>, String, String) {
    let binary = match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => PathBuf::from(folder).join("groups"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_groups")),
    };
    let mut command = Command::new(binary);
    command.args(args.split_whitespace());
    if let Some(folder) = kernels {
        command.env("WARPFOLD_PTX_DIR", folder.path());
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    (status.code(), stdout, stderr)
}

/// A folder with the kernels, of which one subtracts instead of adding.
fn faulty_kernels(faulty: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut changed = 0;
    for kernel in warpfold::testing::kernels() {
        for (arch, capability) in [("sm_75", (7, 5)), ("sm_90", (9, 0))] {
            let mut text = kernel.text(capability).unwrap().clone();
            if kernel.name() == faulty {
                let right = text.clone();
                text = text.replace("add.rn.f32", "sub.rn.f32");
                changed += usize::from(text != right);
            }
            fs::write(folder.path().join(format!("{}.{arch}.ptx", kernel.name())), text).unwrap();
        }
    }
    assert_eq!(changed, 2, "{faulty}");
    folder
}

#[test]
fn a_second_is_all_right() {
    let (status, stdout, stderr) = groups("--soak 1 --seed 7 --device sim,sim,sim", None);
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    let lines: Vec<_> = stdout.lines().collect();
    let (first, last) = (lines[0], lines[lines.len() - 1]);
    assert!(first.starts_with("3 devices, simulator") && first.ends_with("seed 7"), "{first}");
    assert!(last.ends_with(", all right") && !last.contains(" 0 calls"), "{last}");
    // One line for each operation, for whole arrays and for rows.
    for case in [" sum of f32", " sum of rows of f32", "reproducible sum of f64"] {
        assert!(lines.iter().any(|line| line.ends_with(case)), "{case}: {stdout}");
    }
}

/// Neither of the two kernels that combine results may be wrong, and nothing else is.
#[test]
fn a_wrong_exchange_ends_it_and_can_be_repeated() {
    for faulty in ["exchange_sum_f32", "direct_sum_f32"] {
        let kernels = faulty_kernels(faulty);
        let device = "--device sim,sim";
        let (status, stdout, stderr) =
            groups(&format!("--soak 60 --seed 7 {device}"), Some(&kernels));
        assert_eq!(status, Some(1), "{faulty}: {stdout}{stderr}");
        let command = stderr.split("`groups ").nth(1).and_then(|rest| rest.split('`').next());
        let command = command.unwrap_or_else(|| panic!("{stderr}"));
        let wrong = |stderr: &str| {
            let cause = stderr.lines().last().unwrap().to_owned();
            assert!(cause.contains(" is right"), "{stderr}");
            cause
        };
        // The same round alone goes wrong too. With the right kernels it does not.
        let (status, _, again) = groups(&format!("{command} {device}"), Some(&kernels));
        assert_eq!(status, Some(1), "{faulty}: {again}");
        assert_eq!(wrong(&stderr), wrong(&again));
        let (status, stdout, stderr) = groups(&format!("{command} {device}"), None);
        assert_eq!(status, Some(0), "{faulty}: {stdout}{stderr}");
    }
}

#[test]
fn what_it_cannot_do_is_refused() {
    for args in
        ["--seed 1", "--device sim", "--soak 1 --device cpu", "--soak many", "--soak 1 --json x"]
    {
        assert_eq!(groups(args, None).0, Some(2), "{args}");
    }
}
