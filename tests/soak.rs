//! Tests of the soak, for some seconds on the simulator: it passes, repeats a single call, and
//! finds wrong kernels.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

/// The command that runs the soak. On a machine without cargo, it is the binary in the folder that
/// `WARPFOLD_BIN_DIR` names.
fn soak(args: &str) -> Command {
    let binary = match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => PathBuf::from(folder).join("soak"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_soak")),
    };
    let mut command = Command::new(binary);
    command.args(["--device", "sim"]).args(args.split_whitespace());
    command
}

/// Runs a command and returns its exit status, its stdout and its stderr.
fn texts(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    (status.code(), stdout, stderr)
}

/// A folder with the kernels in which the first distance of the shuffles is wrong.
fn faulty_kernels() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for kernel in warpfold::testing::kernels() {
        for (arch, capability) in [("sm_75", (7, 5)), ("sm_90", (9, 0))] {
            let file = folder.path().join(format!("{}.{arch}.ptx", kernel.name()));
            let text = kernel.text(capability).unwrap();
            fs::write(file, text.replace(", 16, 31, -1;", ", 15, 31, -1;")).unwrap();
        }
    }
    folder
}

#[test]
fn three_seconds_are_all_right() {
    let (status, stdout, stderr) = texts(&mut soak("--quick --seconds 3 --seed 7"));
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    let [first, last] = stdout.lines().collect::<Vec<_>>()[..] else { panic!("{stdout}") };
    assert!(
        first.starts_with("device simulator") && first.ends_with("4 threads, 3 s, seed 7"),
        "{first}"
    );
    assert!(last.contains(" calls, all right; ") && !last.starts_with("0 calls"), "{last}");
}

/// A new simulator offers a share of the memory that the host can spare. Here the host can spare
/// less at the end of the soak than at its start, which is none of the soak's business.
#[test]
fn memory_that_another_program_takes_is_not_missing() {
    let mut command = soak("--seconds 2 --threads 2 --seed 7");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    // The first line comes before the soak looks at the free memory, and its first call after that.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let taken = vec![0x5au8; 256 << 20];
    line.clear();
    stdout.read_line(&mut line).unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(0), "{line}{}", String::from_utf8_lossy(&stderr));
    assert!(line.ends_with("; no memory is missing\n"), "{line}");
    assert_eq!(std::hint::black_box(taken).len(), 256 << 20);
}

#[test]
fn a_wrong_result_ends_it_and_can_be_repeated() {
    let faulty = faulty_kernels();
    let run = |args: &str| texts(soak(args).env("WARPFOLD_PTX_DIR", faulty.path()));
    let (status, stdout, stderr) = run("--quick --seconds 60 --threads 2 --seed 7");
    assert_eq!(status, Some(1), "{stdout}{stderr}");
    let number = stderr.split("`soak --call ").nth(1).and_then(|rest| rest.split(' ').next());
    let number = number.unwrap_or_else(|| panic!("{stderr}"));
    assert!(stderr.contains("wrong"), "{stderr}");
    // The same call alone goes wrong too. With the right kernels it does not.
    let (status, _, again) = run(&format!("--quick --call {number}"));
    assert_eq!(status, Some(1), "{again}");
    let reason = again.trim_start_matches("error: ").trim();
    assert!(stderr.contains(reason), "{stderr}{again}");
    let (status, stdout, stderr) = texts(&mut soak(&format!("--quick --call {number}")));
    assert_eq!((status, &*stdout), (Some(0), &*format!("call {number} is right\n")), "{stderr}");
}

#[test]
fn what_it_cannot_do_is_refused() {
    for args in ["--threads 0", "--seconds many", "--call -1"] {
        assert_eq!(texts(&mut soak(args)).0, Some(2), "{args}");
    }
}
