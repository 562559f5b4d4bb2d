//! Patterns for names, in which `*` stands for any text.

/// Whether `text` matches `pattern`. The pattern has no other special character than `*`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    let mut rest = rest;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether `pattern` matches a path, or the last parts of it.
pub(super) fn matches_path(pattern: &str, path: &str) -> bool {
    let ends = path.char_indices().filter(|(_, c)| matches!(c, '/' | '\\')).map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).any(|start| matches(pattern, &path[start..]))
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_path};

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("race", "race", true),
            ("race", "races", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "a", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("*b", "abab", true),
            ("a**b", "ab", true),
            ("é*", "été", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_path_may_be_named_by_its_end() {
        for (pattern, path, expected) in [
            ("bfs.cu", "bfs.cu", true),
            ("bfs.cu", "/home/me/src/bfs.cu", true),
            ("src/bfs.cu", "/home/me/src/bfs.cu", true),
            ("src/*.cu", "C:\\me\\src/bfs.cu", true),
            ("fs.cu", "/home/me/src/bfs.cu", false),
            ("src", "/home/me/src/bfs.cu", false),
        ] {
            assert_eq!(matches_path(pattern, path), expected, "{pattern} {path}");
        }
    }
}
