//! The surface that plotters draws on. It writes SVG and leaves the colours to a style sheet.

use std::{convert::Infallible, fmt::Write as _};

use plotters::{
    element::{Drawable, PointCollection},
    style::RGBColor,
};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    text_anchor::{HPos, VPos},
};

use crate::output::escape;

/// The class `grid`. plotters knows colours and a style sheet knows classes, so here a colour
/// stands for a class.
pub(super) const GRID: RGBColor = RGBColor(0, 0, 1);
/// The class `axis`.
pub(super) const AXIS: RGBColor = RGBColor(0, 0, 2);

/// SVG elements, one after the other.
pub(super) struct Paper<'a> {
    pub(super) body: &'a mut String,
    /// Width and height in units of the `viewBox`.
    pub(super) size: (u32, u32),
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Paper<'_> {
    fn line(&mut self, points: impl Iterator<Item = BackendCoord>, color: BackendColor) {
        let class = if color.rgb == (GRID.0, GRID.1, GRID.2) { "grid" } else { "axis" };
        let _ = writeln!(self.body, "<path class=\"{class}\" d=\"{}\"/>", path(points));
    }
}

/// The `d` attribute of a path through these points.
pub(super) fn path(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{x} {y}")).collect();
    format!("M{}", points.join("L"))
}

/// A text element. `anchor` is `start`, `middle` or `end`. A text that is only a power, such as
/// `2^10`, gets a raised exponent.
pub(super) fn text((x, y): BackendCoord, class: &str, anchor: &str, text: &str) -> String {
    let text = match text.split_once('^').filter(|(_, power)| power.parse::<i32>().is_ok()) {
        Some((base, power)) => {
            format!("{}<tspan class=\"power\" dy=\"-4\">{power}</tspan>", escape(base))
        }
        None => escape(text),
    };
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

impl DrawingBackend for Paper<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, _: BackendColor) -> Drawn {
        let _ = writeln!(self.body, "<rect x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\"/>");
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.line([from, to].into_iter(), style.color());
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        points: I,
        style: &S,
    ) -> Drawn {
        self.line(points.into_iter(), style.color());
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        label: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Drawn {
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        let down = match style.anchor().v_pos {
            VPos::Top => 0.8,
            VPos::Center => 0.35,
            VPos::Bottom => 0.0,
        };
        self.body.push_str(&text(
            (x, y + (down * style.size()).round() as i32),
            "tick",
            anchor,
            label,
        ));
        Ok(())
    }
}

/// SVG that depends on where plotters places some points of the chart.
pub(super) struct Placed<F> {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) draw: F,
}

impl<'a, F> PointCollection<'a, (f64, f64)> for &'a Placed<F> {
    type Point = &'a (f64, f64);
    type IntoIter = &'a [(f64, f64)];

    fn point_iter(self) -> &'a [(f64, f64)] {
        &self.points
    }
}

impl<F: Fn(&[BackendCoord]) -> String> Drawable<Paper<'_>> for Placed<F> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        points: I,
        paper: &mut Paper<'_>,
        _: (u32, u32),
    ) -> Drawn {
        let points: Vec<_> = points.collect();
        paper.body.push_str(&(self.draw)(&points));
        Ok(())
    }
}
