//! Tests of the commands in the documentation: each is run, and must print the shown text.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{assert_file, console, pages, root};
use console::Command;

/// The programs that this test runs.
const BINARIES: [&str; 3] = ["reduce", "transpose", "access"];

/// The beginnings of commands that this test does not run, each with the reason.
const ELSEWHERE: [(&str, &str); 21] = [
    ("cargo xtask ", "the tests of xtask parse it"),
    ("cargo run -p warpfold-simt -- ", "the tests of simt run it"),
    ("simt ", "the tests of simt run it"),
    ("cargo run --bin warpfold ", "the tests of warpfold-cli run it"),
    ("warpfold ", "the tests of warpfold-cli run it"),
    ("cargo run -p bench --bin soak ", "the tests of bench run it"),
    ("cargo test", "this is a part of it"),
    ("cargo build --release --manifest-path crates/warpfold_mpi/", "it needs an MPI"),
    ("mpirun ", "it measures, and needs an MPI"),
    ("cargo doc ", "it builds what rustdoc's own step of CI builds"),
    ("cargo bench ", "it measures"),
    ("cargo install ", "it downloads"),
    ("cargo deny ", "CI runs it"),
    ("cargo semver-checks ", "it needs a release to compare with"),
    ("sudo apt-get install ", "it installs"),
    ("export LD_LIBRARY_PATH=", "it is for a backend that is not here"),
    ("mdbook ", "CI builds the book"),
    ("bundle/", "it runs on a GPU machine"),
    ("python -m warpfold ", "the tests of the Python package run it"),
    ("python python/examples/", "the tests of the Python package run it"),
    ("python3 bench/", "it measures, and needs Python's packages"),
];

/// Pictures that no command of this test makes. The module `pictures` makes them.
const DRAWN: [&str; 2] = ["ladder-h100.svg", "levels.svg"];

/// The folder of the committed pictures.
const PICTURES: &str = "guide/src/pictures";

/// A command for a program of this package.
struct Program<'a> {
    command: &'a Command,
    name: &'a str,
    args: Vec<&'a str>,
    /// The file to which its output goes.
    redirect: Option<&'a str>,
}

impl Program<'_> {
    fn does_the_same(&self, other: &Self) -> bool {
        (self.name, &self.args, self.redirect) == (other.name, &other.args, other.redirect)
    }
}

/// The program that a command runs; `None` if the command is run elsewhere.
fn program(command: &Command) -> Result<Option<Program<'_>>, String> {
    if ELSEWHERE.iter().any(|(beginning, _)| command.line.starts_with(beginning)) {
        return Ok(None);
    }
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let (name, mut args) = match words.as_slice() {
        ["cargo", "run", "--bin", name, "--", args @ ..]
        | ["cargo", "run", "--release", "--bin", name, "--", args @ ..] => (*name, args.to_vec()),
        [name, args @ ..] if command.in_table && *name != "cargo" => (*name, args.to_vec()),
        _ => {
            return Err(format!(
                "{}: '{}' is a command that no test knows",
                command.place, command.line
            ));
        }
    };
    if !BINARIES.contains(&name) {
        return Err(format!("{}: there is no program {name}", command.place));
    }
    let redirect = match args.as_slice() {
        [.., ">", file] => Some(*file),
        _ => None,
    };
    if redirect.is_some() {
        args.truncate(args.len() - 2);
    }
    Ok(Some(Program { command, name, args, redirect }))
}

/// A folder that looks like the repository, in which a command runs. The command may read
/// everything, and the files that it writes are not committed.
fn sandbox() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bench", "crates", "guide", "host", "kernels", "tests"] {
        link(&root().join(name), &folder.path().join(name));
    }
    // The README uses this file, which holds the elements 1 2 3 4.
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }";
    npy.extend(format!("{header:<117}\n").into_bytes());
    npy.extend((1..=4_i32).flat_map(i32::to_le_bytes));
    fs::write(folder.path().join("data.npy"), npy).unwrap();
    folder
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) {
    std::os::unix::fs::symlink(from, to).unwrap();
}

#[cfg(windows)]
fn link(from: &Path, to: &Path) {
    std::os::windows::fs::symlink_dir(from, to).unwrap();
}

/// The binary of a program. On a machine without cargo, it is in the folder that
/// `WARPFOLD_BIN_DIR` names.
pub(crate) fn binary(name: &str) -> PathBuf {
    let folder = match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_BIN_EXE_reduce")).parent().unwrap().to_owned(),
    };
    std::path::absolute(folder).unwrap().join(name).with_extension(env::consts::EXE_EXTENSION)
}

/// Runs a command on the simulator, and returns all differences from the text that the
/// documentation shows.
fn run(Program { command, name, args, redirect }: &Program<'_>) -> Vec<String> {
    let sandbox = sandbox();
    let output = process::Command::new(binary(name))
        .args(args)
        .current_dir(sandbox.path())
        // The output must not depend on the machine, so there is no GPU, no ptxas and no remembered
        // tuning.
        .env_clear()
        .env("WARPFOLD_LIBCUDA", "/no/driver/here")
        .env("XDG_CACHE_HOME", sandbox.path().join("cache"))
        .stdin(process::Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return vec![format!("{}: {name} cannot be run: {error}", command.place)],
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let told = format!(
        "{}: $ {}\nstatus: {:?}\n--- stdout\n{stdout}--- stderr\n{stderr}---",
        command.place,
        command.line,
        output.status.code()
    );

    // Without a GPU this checks only that the arguments are valid. The output of a GPU is not
    // compared.
    if args.windows(2).any(|pair| pair == ["--device", "cuda"]) {
        let absent =
            output.status.code() == Some(1) && stderr.starts_with("error: there is no CUDA device");
        return if absent {
            Vec::new()
        } else {
            vec![format!("{told}\nit must say that there is no CUDA device")]
        };
    }
    let mut wrong = Vec::new();
    if output.status.code() != Some(command.status) {
        wrong.push(format!("{told}\nthe exit status must be {}", command.status));
    }
    wrong.extend(command.differences(&stdout, &stderr));
    if let Some(file) = redirect {
        fs::write(sandbox.path().join(file), &output.stdout).unwrap();
    }
    for picture in drawn(args, *redirect) {
        let compared = fs::read_to_string(sandbox.path().join(picture))
            .map_err(|error| format!("{picture}: {error}"))
            .and_then(|text| assert_file(&root().join(PICTURES).join(picture), &text));
        if let Err(error) = compared {
            wrong.push(format!("{}: $ {}\n{error}", command.place, command.line));
        }
    }
    wrong
}

/// The file names of the pictures that a command makes.
fn drawn<'a>(args: &[&'a str], redirect: Option<&'a str>) -> Vec<&'a str> {
    let named = args.windows(2).filter(|pair| pair[0] == "--svg").map(|pair| pair[1]);
    named
        .chain(redirect.filter(|file| Path::new(file).extension().is_some_and(|ext| ext == "svg")))
        .collect()
}

#[test]
fn every_command_runs_and_prints_what_is_shown() {
    let commands: Vec<Command> = pages().iter().flat_map(console::commands).collect();
    assert!(!commands.is_empty());
    let mut wrong = Vec::new();
    let mut programs: Vec<Program<'_>> = Vec::new();
    for command in &commands {
        match program(command) {
            // A command that is shown again without its output is run only once.
            Ok(Some(found))
                if command.shown.is_empty()
                    && programs.iter().any(|other| found.does_the_same(other)) => {}
            Ok(found) => programs.extend(found),
            Err(error) => wrong.push(error),
        }
    }

    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let messages = run(program);
                    found.lock().unwrap().extend(messages);
                }
            });
        }
    });
    wrong.extend(found.into_inner().unwrap());

    let mut made: Vec<&str> =
        programs.iter().flat_map(|program| drawn(&program.args, program.redirect)).collect();
    made.extend(DRAWN);
    for entry in fs::read_dir(root().join(PICTURES)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !made.contains(&name.as_str()) {
            wrong.push(format!(
                "{PICTURES}/{name}: neither a command of README and guide makes it, nor is it drawn by hand"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
