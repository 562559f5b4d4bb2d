//! The colours, for a light and for a dark scheme.
//!
//! Style sheets refer to a colour as `var(--name)`. A page sets the variables. A separate SVG file
//! contains the colours themselves, because not every program that draws SVG knows variables.

/// The name of each colour, and its value in the light and in the dark scheme. The colours of text,
/// `accent` and the series have a contrast of 4.5 or more on `paper` and `raised`, and `edge` has 3
/// or more; a test computes it. The series have the hues of Okabe and Ito, which people with any
/// colour vision can tell apart. The hues are darkened or lightened to reach that contrast.
const COLOURS: [(&str, [&str; 2]); 15] = [
    ("paper", ["#ffffff", "#0f1318"]),
    ("raised", ["#f6f8fa", "#171c23"]),
    ("ink", ["#1f2328", "#e6edf3"]),
    ("quiet", ["#57606a", "#9ea7b3"]),
    ("rule", ["#dde1e6", "#2a3038"]),
    ("edge", ["#808a94", "#6b7682"]),
    ("accent", ["#0969da", "#58a6ff"]),
    ("accent-paper", ["#ddf4ff", "#0c2d5e"]),
    ("warn", ["#b3261e", "#ff8a80"]),
    ("series-1", ["#0072b2", "#56b4e9"]),
    ("series-2", ["#bf4f00", "#f28a4b"]),
    ("series-3", ["#007d5b", "#2fbd94"]),
    ("series-4", ["#a8487f", "#dc8fb8"]),
    ("series-5", ["#8a6100", "#e69f00"]),
    ("series-6", ["#57606a", "#a3adb8"]),
];

/// The number of series that have a colour of their own. Further series use the same colours again.
pub(super) const SERIES: usize = 6;

const LIGHT: usize = 0;
const DARK: usize = 1;

/// Replaces the variables in a style sheet for a separate file, which then follows the reader's
/// scheme. The style sheet must have one rule on each line.
pub(crate) fn resolve(css: &str) -> String {
    let paint = |line: &str, scheme: usize| {
        let paint = |line: String, (name, colours): &(&str, [&str; 2])| {
            line.replace(&format!("var(--{name})"), colours[scheme])
        };
        COLOURS.iter().fold(line.to_owned(), paint)
    };
    let light: Vec<_> = css.lines().map(|line| paint(line, LIGHT)).collect();
    let dark: Vec<_> =
        css.lines().filter(|line| line.contains("var(")).map(|line| paint(line, DARK)).collect();
    format!("{}\n@media (prefers-color-scheme: dark) {{\n{}\n}}", light.join("\n"), dark.join("\n"))
}

/// The variables of a page. Their values are those of the reader's scheme, unless the attribute
/// `data-scheme` of the root element names a scheme.
pub(super) fn variables() -> String {
    let list = |scheme: usize| {
        let variables =
            COLOURS.iter().map(|(name, colours)| format!("--{name}: {};", colours[scheme]));
        variables.collect::<Vec<_>>().join(" ")
    };
    let (light, dark) = (list(LIGHT), list(DARK));
    format!(
        ":root {{ color-scheme: light; {light} }}\n:root[data-scheme=dark] {{ color-scheme: dark; {dark} }}\n\
         @media (prefers-color-scheme: dark) {{\n:root:not([data-scheme=light]) {{ color-scheme: dark; {dark} }}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2.2: the relative luminance of an sRGB colour.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn pair(name: &str) -> [&'static str; 2] {
        COLOURS.iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn contrast_is_that_of_wcag_aa() {
        for (name, _) in COLOURS {
            let least = match name {
                "ink" | "quiet" | "warn" | "accent" => 4.5,
                "edge" => 3.0,
                _ if name.starts_with("series-") => 4.5,
                _ => continue,
            };
            for below in ["paper", "raised"] {
                for (above, below) in pair(name).into_iter().zip(pair(below)) {
                    let found = contrast(above, below);
                    assert!(found >= least, "{name} {above} on {below}: {found:.2}");
                }
            }
        }
        for (above, below) in pair("ink").into_iter().zip(pair("accent-paper")) {
            assert!(contrast(above, below) >= 4.5, "{above} on {below}");
        }
    }

    #[test]
    fn all_variables_are_known() {
        for css in
            [include_str!("chart.css"), include_str!("picture.css"), include_str!("page.css")]
        {
            for name in css.split("var(--").skip(1).map(|rest| rest.split(')').next().unwrap()) {
                assert!(COLOURS.iter().any(|(known, _)| *known == name), "{name}");
            }
        }
        assert!(!resolve(include_str!("chart.css")).contains("var("));
    }
}
