//! Tests of the sources that the guide includes: each begins at the first line after the file's own
//! introduction.

use std::{fs, path::Path};

use super::{pages, root};

#[test]
fn included_sources_begin_after_their_introduction() {
    let mut included = Vec::new();
    for page in pages() {
        for part in page.text.split("{{#include ").skip(1) {
            let include = part.split("}}").next().unwrap();
            let (file, line) =
                include.trim_end_matches(':').rsplit_once(':').unwrap_or((include, "1"));
            let path = root().join(&page.name).parent().unwrap().join(file);
            let source = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {file}: {error}", page.name));
            // The introduction has this many lines, and an empty line follows it.
            let header = source.lines().take_while(|line| line.starts_with("//!")).count();
            assert_eq!(
                include,
                format!("{file}:{}:", header + 2),
                "{}: the source begins after the introduction of {} lines",
                page.name,
                header
            );
            assert!(line.parse::<usize>().is_ok());
            included.push(Path::new(file).file_name().unwrap().to_owned());
        }
    }
    for entry in fs::read_dir(root().join("kernels/src/ladder")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(
            included.contains(&name),
            "no chapter of the guide shows kernels/src/ladder/{}",
            name.display()
        );
    }
}
