//! Tests of the links: each leads to a file that exists, and to a heading in that file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use pulldown_cmark::{Event, Tag, TagEnd};

use super::{
    console::{Page, commands},
    pages, root,
};

/// All documents that are written for readers.
fn documents() -> Vec<Page> {
    let mut documents = pages();
    documents.extend(Page::read(
        &root(),
        &["ARCHITECTURE.md", "CONTRIBUTING.md", "bench/results/README.md", "kernels/README.md"],
    ));
    let mut crates: Vec<_> =
        fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.sort();
    for folder in crates.iter().map(|path| path.strip_prefix(root()).unwrap()) {
        let readme = folder.join("README.md");
        if root().join(&readme).is_file() {
            documents.extend(Page::read(&root(), &[readme.to_str().unwrap()]));
        }
    }
    documents
}

/// The names by which the headings of a page can be reached, as GitHub and mdBook make them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut heading: Option<String> = None;
    for (event, _) in page.events() {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let name: String = heading
                    .take()
                    .unwrap_or_default()
                    .to_lowercase()
                    .chars()
                    .filter_map(|c| match c {
                        ' ' => Some('-'),
                        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                        _ => None,
                    })
                    .collect();
                let count = seen.entry(name.clone()).or_default();
                anchors.insert(if *count == 0 { name } else { format!("{name}-{count}") });
                *count += 1;
            }
            _ => {}
        }
    }
    anchors
}

/// Resolves each `..` in a path without asking the file system.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                assert!(normal.pop(), "{}: it leaves the repository", path.display());
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    let mut wrong = Vec::new();
    for page in &documents {
        for (event, range) in page.events() {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = &event
            else {
                continue;
            };
            if ["https://", "http://", "mailto:"].iter().any(|scheme| dest_url.starts_with(scheme))
            {
                continue;
            }
            let (file, fragment) = dest_url.split_once('#').unwrap_or((dest_url, ""));
            let target = match file {
                "" => PathBuf::from(&page.name),
                file => normal(&Path::new(&page.name).parent().unwrap().join(file)),
            };
            let mut complain =
                |what: &str| wrong.push(format!("{}: {dest_url}: {what}", page.place(range.start)));
            if !root().join(&target).exists() {
                complain("there is no such file");
            } else if page.name.starts_with("guide/src") && !target.starts_with("guide/src") {
                complain(
                    "a page of the book can only link to its other pages: name the file instead",
                );
            } else if !fragment.is_empty() {
                let known =
                    documents.iter().find(|other| Path::new(&other.name) == target).map(anchors);
                if !known.is_some_and(|anchors| anchors.contains(fragment)) {
                    complain("there is no such heading");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_picture_has_a_text_alternative() {
    for page in documents() {
        let mut alternative: Option<String> = None;
        for (event, range) in page.events() {
            match event {
                Event::Start(Tag::Image { .. }) => alternative = Some(String::new()),
                Event::Text(text) => {
                    if let Some(alternative) = &mut alternative {
                        alternative.push_str(&text);
                    }
                }
                Event::End(TagEnd::Image) => {
                    let words = alternative.take().unwrap_or_default().split_whitespace().count();
                    assert!(
                        words >= 3,
                        "{}: the picture's text alternative says nothing",
                        page.place(range.start)
                    );
                }
                _ => {}
            }
        }
    }
}

#[test]
fn the_book_has_each_of_its_pages_once() {
    let summary = fs::read_to_string(root().join("guide/src/SUMMARY.md")).unwrap();
    for entry in fs::read_dir(root().join("guide/src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "SUMMARY.md" && Path::new(&name).extension().is_some_and(|ext| ext == "md") {
            assert_eq!(summary.matches(&format!("({name})")).count(), 1, "{name} in SUMMARY.md");
        }
    }
}

#[test]
fn every_slide_has_a_command() {
    let pages = pages();
    let slides =
        pages.iter().find(|page| page.name.ends_with("slides.md")).expect("the chapter on slides");
    let places: Vec<String> = commands(slides).into_iter().map(|command| command.place).collect();
    let rows = slides.events().filter(|(event, _)| matches!(event, Event::Start(Tag::TableRow)));
    let mut count = 0;
    for (_, range) in rows {
        count += 1;
        let place = slides.place(range.start);
        assert!(places.contains(&place), "{place}: {} has no command", &slides.text[range]);
    }
    assert!(count > 40, "only {count} slides");
}

#[test]
fn nothing_is_left_to_be_written() {
    for page in documents() {
        for mark in ["TODO", "TBD", "FIXME", "XXX", "???"] {
            assert!(!page.text.contains(mark), "{}: {mark}", page.name);
        }
    }
}
