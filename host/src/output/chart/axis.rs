//! How values are spread over an axis: its ends, its ticks, and their labels.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::Scale;
use crate::output::grouped;

/// The approximate number of steps between the ticks of a linear axis.
const STEPS: f64 = 5.0;
/// The greatest number of steps between the ticks of an axis of powers.
const POWERS: i32 = 10;

/// An axis with its ends and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The least and the greatest value. On a linear axis, 0 counts as a value.
    ends: Range<f64>,
    /// Values with a line and a label.
    pub(super) ticks: Vec<f64>,
    /// The names of categories, which stand in place of numbers.
    names: Vec<String>,
}

/// Whether a value has a place on an axis.
pub(super) fn has_place(scale: Scale, value: f64) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

impl Spread {
    /// An axis with a place for all of the values that can have one.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| has_place(scale, *value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        match scale {
            Scale::Linear => Self::linear(low.min(0.0), high.max(0.0)),
            Scale::Log2 | Scale::Log10 if low > high => Self::powers(scale, 1.0, base(scale)),
            Scale::Log2 | Scale::Log10 => Self::powers(scale, low, high),
        }
    }

    fn linear(low: f64, high: f64) -> Self {
        let high = if low < high { high } else { 1.0 };
        let about = high / STEPS - low / STEPS;
        let power = 10f64.powf(about.log10().floor());
        let step =
            [1.0, 2.0, 5.0].into_iter().map(|digit| digit * power).find(|step| *step >= about);
        let step = step.unwrap_or(10.0 * power);
        // The small tolerance keeps a rounding error from adding a step.
        let (first, last) =
            ((low / step + 1e-9).floor() as i64, (high / step - 1e-9).ceil() as i64);
        let place = |tick: i64| (tick as f64 * step).clamp(f64::MIN, f64::MAX);
        let ticks = (first..=last).map(place).collect();
        let ends = low..high;
        Self {
            scale: Scale::Linear,
            low: place(first),
            high: place(last),
            ends,
            ticks,
            names: Vec::new(),
        }
    }

    /// The same axis, but a linear one ends with its values and not with a tick.
    pub(super) fn tight(mut self) -> Self {
        if self.scale == Scale::Linear {
            (self.low, self.high) = (self.ends.start, self.ends.end);
            self.ticks.retain(|tick| self.ends.start <= *tick && *tick <= self.ends.end);
        }
        self
    }

    fn powers(scale: Scale, low: f64, high: f64) -> Self {
        let base = base(scale);
        let power = |value: f64| value.ln() / base.ln();
        let first = (power(low) + 1e-9).floor() as i32;
        let last = ((power(high) - 1e-9).ceil() as i32).max(first + 1);
        let stride = (last - first + POWERS - 1) / POWERS;
        let ticks = (first..=last)
            .filter(|power| power.rem_euclid(stride) == 0)
            .map(|power| base.powi(power).min(f64::MAX));
        Self {
            scale,
            low: base.powi(first),
            high: base.powi(last).min(f64::MAX),
            ends: low..high,
            ticks: ticks.collect(),
            names: Vec::new(),
        }
    }

    /// An axis of categories, whose names stand from the top down at 0, 1, 2, …
    pub(super) fn categories(names: &[String]) -> Self {
        let count = names.len().max(1) as f64;
        let ticks = (0..names.len()).map(|index| index as f64).collect();
        Self {
            scale: Scale::Linear,
            low: count - 0.5,
            high: -0.5,
            ends: 0.0..count,
            ticks,
            names: names.to_vec(),
        }
    }

    /// The value at which bars begin.
    pub(super) fn base(&self) -> f64 {
        if self.scale == Scale::Linear { 0.0 } else { self.low }
    }

    /// A value as this axis writes it.
    pub(super) fn label(&self, value: f64) -> String {
        if let Some(name) = self.names.get(value as usize) {
            return name.clone();
        }
        // Small powers are read more easily as numbers.
        let power = match self.scale {
            Scale::Linear => None,
            Scale::Log2 => {
                Some(value.log2()).filter(|_| !(1.0 / 64.0..=4096.0).contains(&self.far()))
            }
            Scale::Log10 => Some(value.log10()).filter(|_| !(1e-3..=1e4).contains(&self.far())),
        };
        match power.filter(|power| (power - power.round()).abs() < 1e-9) {
            Some(power) => format!("{}^{}", base(self.scale), power.round()),
            None => figure(value),
        }
    }

    /// The end of the axis that is farther from 1, as a factor.
    fn far(&self) -> f64 {
        if self.high * self.low >= 1.0 { self.high } else { self.low }
    }

    /// The place of a value on the axis, from 0 at the low end to 1 at the high end.
    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log2 | Scale::Log10 => {
                (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
            }
        }
    }
}

fn base(scale: Scale) -> f64 {
    if scale == Scale::Log10 { 10.0 } else { 2.0 }
}

/// A number with about three digits. Whole numbers up to a hundred thousand keep all their digits.
pub(super) fn figure(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    for (unit, suffix) in [(1e12_f64, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if size >= unit.max(1e5) && size < 1e15 {
            return format!("{sign}{} {suffix}", trimmed(size / unit));
        }
    }
    match size {
        0.0 => "0".to_owned(),
        s if !(1e-2..1e15).contains(&s) => format!("{value:.1e}"),
        s if s >= 100.0 || s.fract() == 0.0 => format!("{sign}{}", grouped(s.round() as u64)),
        s => format!("{sign}{}", trimmed(s)),
    }
}

/// Three digits, without zeros at the end of a fraction.
fn trimmed(value: f64) -> String {
    let decimals = match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

impl Ranged for Spread {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        low + (self.place(*value) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // plotters asks for two kinds of lines: fine lines, of which there are none, and lines with
        // labels.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Spread {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(spread: &Spread) -> String {
        spread.ticks.iter().map(|tick| spread.label(*tick)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_read_well() {
        let cases: &[(Scale, &[f64], &str)] = &[
            (Scale::Linear, &[390.0, 1801.0], "0 500 1 000 1 500 2 000"),
            (Scale::Linear, &[3352.0], "0 1 000 2 000 3 000 4 000"),
            (Scale::Linear, &[0.31], "0 0.1 0.2 0.3 0.4"),
            (Scale::Linear, &[31.0], "0 10 20 30 40"),
            (Scale::Linear, &[4_194_304.0], "0 1 M 2 M 3 M 4 M 5 M"),
            (Scale::Linear, &[-3.0, 5.0], "-4 -2 0 2 4 6"),
            (Scale::Linear, &[0.0], "0 0.2 0.4 0.6 0.8 1"),
            (Scale::Linear, &[], "0 0.2 0.4 0.6 0.8 1"),
            (Scale::Linear, &[f64::NAN, f64::INFINITY, 1.0], "0 0.2 0.4 0.6 0.8 1"),
            (Scale::Log2, &[1.0, 32.0], "1 2 4 8 16 32"),
            (
                Scale::Log2,
                &[1024.0, (1 << 28) as f64],
                "2^10 2^12 2^14 2^16 2^18 2^20 2^22 2^24 2^26 2^28",
            ),
            (Scale::Log2, &[1000.0, 5000.0], "2^9 2^10 2^11 2^12 2^13"),
            (Scale::Log2, &[64.0], "64 128"),
            (Scale::Log2, &[0.0, -1.0, 8.0, 16.0], "8 16"),
            (Scale::Log2, &[], "1 2"),
            (Scale::Log2, &[0.001, 1.0], "2^-10 2^-9 2^-8 2^-7 2^-6 2^-5 2^-4 2^-3 2^-2 2^-1 2^0"),
            (Scale::Log10, &[3.0, 2000.0], "1 10 100 1 000 10 000"),
            (Scale::Log10, &[1.0, 1e8], "10^0 10^1 10^2 10^3 10^4 10^5 10^6 10^7 10^8"),
        ];
        for (scale, values, expected) in cases {
            assert_eq!(
                labels(&Spread::around(*scale, values.iter().copied())),
                *expected,
                "{scale:?} {values:?}"
            );
        }
    }

    #[test]
    fn all_values_are_between_the_ends() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for values in [
                [1e-300, 1e300],
                [0.3, 0.3],
                [7.0, 1e6],
                [f64::MAX, f64::MAX / 3.0],
                [f64::MIN_POSITIVE; 2],
            ] {
                let spread = Spread::around(scale, values.into_iter());
                for value in values {
                    let place = spread.place(value);
                    assert!(
                        (-1e-6..=1.0 + 1e-6).contains(&place),
                        "{scale:?} {values:?}: {place} in {spread:?}"
                    );
                }
                assert!(spread.ticks.len() <= 12, "{spread:?}");
            }
        }
    }

    #[test]
    fn figures_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.001, "1.0e-3"),
            (0.25, "0.25"),
            (9.5, "9.5"),
            (43.01, "43"),
            (596.4, "596"),
            (-1801.0, "-1 801"),
            (65536.0, "65 536"),
            (131_072.0, "131 k"),
            (4_194_304.0, "4.19 M"),
            (1e20, "1.0e20"),
        ];
        for (value, expected) in cases {
            assert_eq!(figure(value), expected);
        }
    }
}
