//! Tests of the page on the slides: the command of each prints what the page tells to look for.

use std::{
    process,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{commands::binary, root};

/// What the page says about a slide on a GPU alone.
const ON_A_GPU: &str = "times, on a GPU";

/// A slide's command, and what to look for in its output; `None` if only a GPU shows it.
struct Slide {
    name: String,
    command: Vec<String>,
    look_for: Option<String>,
}

fn slides() -> Vec<Slide> {
    let text = std::fs::read_to_string(root().join("guide/src/slides.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.contains("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, .., command, look_for] = cells[..] else { panic!("{row}") };
        let plain = command.trim_matches('`');
        // The only quoted argument of the page is a list of values.
        let command = plain
            .split('"')
            .enumerate()
            .flat_map(|(index, part)| match index % 2 {
                1 => vec![part.to_owned()],
                _ => part.split_whitespace().map(str::to_owned).collect(),
            })
            .collect();
        let look_for = (look_for != ON_A_GPU).then(|| look_for.trim_matches('`').to_owned());
        Slide { name: name.to_owned(), command, look_for }
    })
    .collect()
}

/// A text with single spaces and without the lines of tables, so that only words and numbers
/// matter.
fn single_spaced(text: &str) -> String {
    text.replace('|', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_command_of_each_slide_prints_what_to_look_for() {
    let slides = slides();
    assert_eq!(slides.len(), 77);
    let shown: Vec<&Slide> = slides.iter().filter(|slide| slide.look_for.is_some()).collect();
    assert!(shown.len() >= 65, "only {} slides are shown without a GPU", shown.len());
    for slide in &slides {
        let on_gpu = slide.command.windows(2).any(|pair| pair == ["--device", "cuda"]);
        assert_eq!(on_gpu, slide.look_for.is_none(), "{}", slide.name);
    }

    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(slide) = shown.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let output = process::Command::new(binary(&slide.command[0]))
                        .args(&slide.command[1..])
                        .env_clear()
                        .env("WARPFOLD_LIBCUDA", "/no/driver/here")
                        .env("WARPFOLD_NO_TUNE", "1")
                        .stdin(process::Stdio::null())
                        .output()
                        .unwrap();
                    let text = single_spaced(&String::from_utf8_lossy(&output.stdout));
                    // What is looked for is whole words.
                    let wanted = format!(" {}", single_spaced(slide.look_for.as_deref().unwrap()));
                    if !output.status.success() || !format!(" {text} ").contains(&wanted) {
                        let message = format!("{}: no '{wanted}' in {text:.1500}", slide.name);
                        wrong.lock().unwrap().push(message);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
