//! The output of the command `simt` in the documentation is the output that it prints.

#[path = "../../../tests/support/console.rs"]
mod console;

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

#[test]
fn its_commands_run_and_print_what_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = console::Page::read(&root, &["README.md", "crates/simt/README.md", "guide/src"]);
    let commands: Vec<_> = pages.iter().flat_map(console::commands).collect();
    let own = tempfile::tempdir().unwrap();
    let vector = root.join("crates/simt/tests/data/foreign/vector.O3.sm_75.ptx");
    fs::copy(vector, own.path().join("vector.ptx")).unwrap();
    let mut count = 0;
    for command in &commands {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        // Installed commands run in a folder of the reader.
        let (args, folder) = match words.as_slice() {
            ["cargo", "run", "-p", "warpfold-simt", "--", args @ ..] => (args, root.as_path()),
            ["simt", args @ ..] => (args, own.path()),
            _ => continue,
        };
        let binary = env::var_os("SIMT_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_simt").into());
        let output = Command::new(binary)
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(
            output.status.code(),
            Some(command.status),
            "{}: $ {}\n{stdout}{stderr}",
            command.place,
            command.line
        );
        let wrong = command.differences(&stdout, &stderr);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        count += 1;
    }
    assert!(count > 0, "the documentation has no such command");
}
