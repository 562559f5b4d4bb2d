//! The output of the command `simt` in the documentation is the output that it prints.

#[path = "../../../tests/support/console.rs"]
mod console;

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

#[test]
fn its_commands_run_and_print_what_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = console::Page::read(&root, &["README.md", "crates/simt/README.md", "guide/src"]);
    let commands: Vec<_> = pages.iter().flat_map(console::commands).collect();
    let mut count = 0;
    for command in &commands {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let ["cargo", "run", "-p", "warpfold-simt", "--", args @ ..] = words.as_slice() else {
            continue;
        };
        let binary = env::var_os("SIMT_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_simt").into());
        let output = Command::new(binary)
            .args(args)
            .current_dir(&root)
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
