//! The paper of a picture: an SVG that grows from the top down.

use std::fmt::{self, Write as _};

use super::{escape, theme, wrap};

/// The margin around a whole picture.
pub(crate) const MARGIN: f64 = 16.0;
/// The distance between two lines of text.
pub(crate) const LEADING: f64 = 17.0;
/// The width of a character of text. Like the next width, it is more than a character takes on
/// average.
pub(crate) const TEXT_CHAR: f64 = 7.6;
/// The width of a character of bold text.
const STRONG_CHAR: f64 = 8.4;
/// The least number of characters in a full line of text. In a wide picture, lines are longer.
const WRAP: f64 = 60.0;

const STYLE: &str = include_str!("picture.css");

/// A picture in progress.
pub(crate) struct Canvas {
    /// The beginning of the ids of its elements.
    pub(crate) id: String,
    body: String,
    /// How far the picture has grown.
    pub(crate) y: f64,
    /// The width of the picture.
    pub(crate) right: f64,
}

impl Canvas {
    /// An empty picture of this width; `id` begins the ids of its elements.
    pub(crate) const fn new(id: String, right: f64) -> Self {
        Self { id, body: String::new(), y: MARGIN, right }
    }

    /// The whole `svg` element. `title` and `desc` describe the picture in words. A picture that
    /// stands in a file of its own is `styled`; in a page, the page has the style sheet.
    pub(crate) fn frame(&self, title: &str, desc: &str, styled: bool, height: f64) -> String {
        let Self { id, body, right: width, .. } = self;
        let (title, desc) = (escape(title), escape(desc));
        let style = if styled {
            format!("<style>\n{}\n</style>\n", theme::resolve(STYLE))
        } else {
            String::new()
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"explained\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-labelledby=\"{id}title {id}desc\">\n\
             <title id=\"{id}title\">{title}</title>\n<desc id=\"{id}desc\">{desc}</desc>\n{style}\
             <defs><marker id=\"{id}tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path class=\"tip\" d=\"M0 1 8 4 0 7z\"/></marker></defs>\n\
             <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n{body}</svg>\n"
        )
    }

    /// Adds an element.
    pub(crate) fn push(&mut self, element: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    /// Adds a text at a place.
    pub(crate) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let text = escape(text);
        self.push(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    /// Writes text over the whole width, and makes the picture wider if a long word needs it.
    pub(crate) fn lines(&mut self, text: &str, class: &str) {
        let char_width = if class == "strong" { STRONG_CHAR } else { TEXT_CHAR };
        let room = (self.right - 2.0 * MARGIN) / char_width;
        for line in wrap(text, room.max(WRAP) as usize) {
            self.right = self.right.max(2.0 * MARGIN + line.chars().count() as f64 * char_width);
            self.y += LEADING;
            self.text(MARGIN, self.y - 4.0, class, &line);
        }
    }
}
