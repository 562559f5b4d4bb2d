//! Programs of several ranks. Each case runs under `mpirun` with several numbers of ranks, and the
//! program of the ranks is this one.
//!
//! `cargo test --test ranks NAME` runs the cases whose names contain NAME.

mod cases;
mod devices;
mod into;

use std::{
    env,
    process::{Command, ExitCode, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// The variable that names the case, for the ranks.
const CASE: &str = "WARPFOLD_MPI_CASE";
/// The variable of the seed of random inputs, as in warpfold's own tests. All ranks need the same.
const SEED: &str = "WARPFOLD_TEST_SEED";
/// No case takes as long as that, unless ranks wait for ever.
const LIMIT: Duration = Duration::from_mins(2);

/// What the ranks of a case do.
type Work = fn();

/// How a program of ranks ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// All ranks end well.
    Well,
    /// So many ranks do not say that all is as expected, and the launcher reports a failure.
    Reported { missing: usize },
}

fn main() -> ExitCode {
    if let Ok(name) = env::var(CASE) {
        let (_, work, _, end) = cases::ALL.into_iter().find(|case| case.0 == name).expect("a case");
        work();
        // The line of a rank that has found all as expected.
        println!("{name} is fine");
        if end != End::Well {
            // The launcher ends all ranks when the first of them ends in this way.
            sleep(Duration::from_secs(1));
        }
        return ExitCode::SUCCESS;
    }
    let wanted = env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let seed = env::var(SEED).unwrap_or_else(|_| rand::random::<u64>().to_string());
    println!("{SEED}={seed}");
    let mut failed = 0;
    for (name, _, sizes, end) in cases::ALL.into_iter().filter(|case| case.0.contains(&wanted)) {
        for &size in sizes {
            let itself = env::current_exe().expect("this program has a path");
            let mut program = mpirun(size);
            program.arg(itself).env(CASE, name).env(SEED, &seed);
            match judge(program, name, size, end) {
                Ok(()) => println!("test {name} with {size} ranks ... ok"),
                Err(reason) => {
                    println!("test {name} with {size} ranks ... FAILED: {reason}");
                    failed += 1;
                }
            }
        }
    }
    if "the_program_reduces_a_file".contains(&wanted) {
        cases::the_program_reduces_a_file();
        println!("test the_program_reduces_a_file ... ok");
    }
    if "the_program_times_calls".contains(&wanted) {
        cases::the_program_times_calls();
        println!("test the_program_times_calls ... ok");
    }
    ExitCode::from(u8::from(failed > 0))
}

/// `mpirun` with so many ranks, also as root and on few cores.
fn mpirun(ranks: usize) -> Command {
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
    mpirun.args(["-n", &ranks.to_string()]);
    mpirun
}

/// Runs a program of ranks, and says what is wrong with its end.
fn judge(mut program: Command, name: &str, size: usize, end: End) -> Result<(), String> {
    let (status, output) = run(&mut program)?;
    let fine = output.matches(&format!("{name} is fine")).count();
    let expected = match end {
        End::Well => size,
        End::Reported { missing } => size - missing,
    };
    if fine != expected || status != (end == End::Well) {
        return Err(format!("{fine} ranks are fine, success is {status}:\n{output}"));
    }
    Ok(())
}

/// Runs a program to its end, and returns whether it was successful and what it has written.
fn run(program: &mut Command) -> Result<(bool, String), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let file = std::fs::File::create(&log).expect("a file");
    let mut child = program
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("a second handle"))
        .stderr(file)
        .spawn()
        .map_err(|error| format!("mpirun does not start: {error}"))?;
    let written = || String::from_utf8_lossy(&std::fs::read(&log).expect("the log")).into_owned();
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok((status.success(), written()));
        }
        if begin.elapsed() > LIMIT {
            let _ = child.kill();
            return Err(format!("no end after {} s:\n{}", LIMIT.as_secs(), written()));
        }
        sleep(Duration::from_millis(5));
    }
}
