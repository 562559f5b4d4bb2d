//! The commands in the documentation, and the output that the documentation shows for them.
//!
//! A block marked `console` holds commands, each after `$ `. A `\` at the end of a line continues
//! the command on the next line. A command must end with exit status 0, or with the status in a
//! comment behind it, such as `# exit status 1`. Blocks marked `text` that follow, up to the next
//! `console` block or heading, show the output of the last command, stderr before stdout. `...` on
//! a line stands for omitted lines, and `[..]` for an omitted part of a line.
//!
//! In a table, a text set as code is a command if it begins with the name of a program (see
//! [`PROGRAMS`]).

// Each test binary uses only a part of this file.
#![allow(dead_code)]

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use snapbox::IntoData as _;

/// The programs with which a command in a table may begin. In a table, `reduce …` is short for
/// `cargo run --bin reduce -- …`.
pub(crate) const PROGRAMS: [&str; 4] = ["access", "cargo", "reduce", "transpose"];

/// A file of the documentation.
pub(crate) struct Page {
    /// Its path from the repository's root.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Page {
    /// Reads these files, and all pages of these folders, in the order of their names.
    ///
    /// # Panics
    /// Panics if one of them cannot be read.
    pub(crate) fn read(root: &Path, names: &[&str]) -> Vec<Self> {
        let mut files: Vec<PathBuf> = Vec::new();
        for name in names {
            let path = root.join(name);
            if path.is_dir() {
                let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
                let mut pages: Vec<_> = entries
                    .filter(|path| path.extension().is_some_and(|ext| ext == "md"))
                    .collect();
                pages.sort();
                files.extend(pages);
            } else {
                files.push(path);
            }
        }
        let page = |path: PathBuf| Self {
            name: path.strip_prefix(root).unwrap().display().to_string(),
            text: fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        };
        files.into_iter().map(page).collect()
    }

    /// The parts of the page, each with its place in the text.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES).into_offset_iter()
    }

    /// The file and line of an offset in the text, for messages.
    pub(crate) fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.name, 1 + self.text[..offset].matches('\n').count())
    }
}

/// A command as the documentation shows it.
pub(crate) struct Command {
    /// The file and line of the command.
    pub(crate) place: String,
    /// The command as it is written, on one line.
    pub(crate) line: String,
    pub(crate) words: Vec<String>,
    /// The expected exit status.
    pub(crate) status: i32,
    /// The expected output, one entry for each text block.
    pub(crate) shown: Vec<String>,
    /// Whether the command is from a table.
    pub(crate) in_table: bool,
}

impl Command {
    /// The differences between the output and the shown text.
    pub(crate) fn differences(&self, stdout: &str, stderr: &str) -> Vec<String> {
        let assert = snapbox::Assert::new().normalize_paths(false);
        let printed = trimmed(&format!("{stderr}{stdout}"));
        let differs = |shown: &String| {
            let printed = printed.as_str().into_data();
            let error =
                assert.try_eq(Some(&"printed"), printed, trimmed(shown).into_data()).err()?;
            Some(format!("{}: $ {}\n{error}", self.place, self.line))
        };
        self.shown.iter().filter_map(differs).collect()
    }
}

/// The text without spaces at the ends of its lines.
fn trimmed(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// All commands of a page.
///
/// # Panics
/// Panics if a block does not have the form that the module describes.
pub(crate) fn commands(page: &Page) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    // These variables are the state of the parser: the language and text of the current block,
    // whether text blocks belong to a command, and whether the parser is in a table.
    let mut block: Option<(String, String)> = None;
    let mut follows_console = false;
    let mut table = false;
    for (event, range) in page.events() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                block = Some((info.into_string(), String::new()));
            }
            Event::Text(text) => {
                if let Some((_, content)) = &mut block {
                    content.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => match block.take() {
                Some((language, content)) if language == "console" => {
                    let place = page.place(range.start);
                    commands.extend(
                        console_lines(&place, &content).iter().map(|line| command(&place, line)),
                    );
                    follows_console = true;
                }
                Some((language, content)) if language == "text" && follows_console => {
                    commands.last_mut().expect("a command came before").shown.push(content);
                }
                _ => {}
            },
            Event::Start(Tag::Heading { .. }) => follows_console = false,
            Event::Start(Tag::Table(_)) => table = true,
            Event::End(TagEnd::Table) => table = false,
            Event::Code(code)
                if table && PROGRAMS.contains(&code.split(' ').next().unwrap_or_default()) =>
            {
                commands
                    .push(Command { in_table: true, ..command(&page.place(range.start), &code) });
            }
            _ => {}
        }
    }
    commands
}

/// The commands of a block. A command that continues on the next line becomes one line.
fn console_lines(place: &str, content: &str) -> Vec<String> {
    let joined = content.replace("\\\n", " ");
    let line = |line: &str| match line.strip_prefix("$ ") {
        Some(command) => command.to_owned(),
        None => panic!(
            "{place}: '{line}' is no command: what a command prints belongs into a text block"
        ),
    };
    joined.lines().map(line).collect()
}

fn command(place: &str, line: &str) -> Command {
    let words = shlex::split(line)
        .unwrap_or_else(|| panic!("{place}: '{line}' cannot be split into words"));
    let status = match line.split_once("# exit status ") {
        Some((_, number)) => number
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{place}: '{line}': which exit status?")),
        None => 0,
    };
    Command {
        place: place.to_owned(),
        line: line.to_owned(),
        words,
        status,
        shown: Vec::new(),
        in_table: false,
    }
}
