//! The glossary: each chapter of the guide links the first use of each term to it.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::console::Page;
use super::root;

/// The words of the terms, in small letters, and the headings that explain them. Longer words come
/// before their parts.
const TERMS: [(&[&str], &str); 16] = [
    (&["multiprocessors", "multiprocessor"], "multiprocessor"),
    (&["grids", "grid"], "grid"),
    (&["blocks", "block"], "block"),
    (&["warps", "warp"], "warp"),
    (&["lanes", "lane"], "lane"),
    (&["divergence", "divergent", "diverges", "diverge"], "divergence"),
    (&["occupancy"], "occupancy"),
    (&["issue slots", "issue slot"], "issue-slot"),
    (&["sectors", "sector"], "sector"),
    (&["coalesced"], "coalesced-access"),
    (&["bank conflicts", "bank conflict"], "bank-conflict"),
    (&["banks", "bank"], "bank"),
    (&["wavefronts", "wavefront"], "wavefront"),
    (&["identity"], "identity"),
    (&["finish"], "finish"),
    (&["sass"], "sass"),
];

/// The terms in a text, in no particular order.
fn terms(text: &str) -> Vec<&'static str> {
    let mut text = text.to_lowercase();
    let mut found = Vec::new();
    for (words, term) in TERMS {
        for word in words {
            let is_word = |at: usize| {
                let beside = |c: Option<char>| {
                    c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
                };
                !beside(text[..at].chars().next_back())
                    && !beside(text[at + word.len()..].chars().next())
            };
            let places: Vec<_> =
                text.match_indices(word).map(|(at, _)| at).filter(|&at| is_word(at)).collect();
            if !places.is_empty() {
                found.push(term);
                // A bank conflict is no bank.
                for at in places {
                    text.replace_range(at..at + word.len(), &" ".repeat(word.len()));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// For each term, whether its first use in the prose of a page is a link to the glossary. Headings,
/// tables, code and pictures do not count, nor do the texts of other links.
fn first_uses(page: &Page) -> BTreeMap<&'static str, bool> {
    let mut uses = BTreeMap::new();
    let mut link: Option<String> = None;
    let mut outside = 0;
    for (event, _) in page.events() {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => link = Some(dest_url.to_string()),
            Event::End(TagEnd::Link) => link = None,
            Event::Start(
                Tag::Heading { .. } | Tag::Table(_) | Tag::CodeBlock(_) | Tag::Image { .. },
            ) => outside += 1,
            Event::End(TagEnd::Heading(_) | TagEnd::Table | TagEnd::CodeBlock | TagEnd::Image) => {
                outside -= 1;
            }
            Event::Text(text) if outside == 0 => match &link {
                Some(link) => {
                    if let Some(term) = link.strip_prefix("glossary.md#") {
                        let term = TERMS.iter().find(|(_, known)| *known == term);
                        let (_, term) = term.unwrap_or_else(|| panic!("{}: {link}", page.name));
                        uses.entry(*term).or_insert(true);
                    }
                }
                None => {
                    for term in terms(&text) {
                        uses.entry(term).or_insert(false);
                    }
                }
            },
            _ => {}
        }
    }
    uses
}

#[test]
fn the_first_use_of_each_term_is_linked() {
    let mut wrong = Vec::new();
    let mut linked = 0;
    for page in Page::read(&root(), &["guide/src"]) {
        let name = page.name.rsplit('/').next().unwrap_or_default();
        if ["glossary.md", "SUMMARY.md", "slides.md"].contains(&name) {
            continue;
        }
        for (term, is_linked) in first_uses(&page) {
            if is_linked {
                linked += 1;
            } else {
                wrong.push(format!("{}: the first use of '{term}' is no link", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(linked > 50, "{linked}");
}

#[test]
fn every_term_is_explained() {
    let page = &Page::read(&root(), &["guide/src/glossary.md"])[0];
    for (words, term) in TERMS {
        let heading = format!("## {}", term.replace('-', " "));
        assert!(page.text.to_lowercase().contains(&heading), "{words:?}: {heading}");
    }
}
