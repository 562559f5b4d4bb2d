//! How each series of a chart of lines looks. No two series look the same.

use plotters_backend::BackendCoord;

use super::{Chart, Role};
use crate::output::theme;

/// The number of shapes of marks.
const SHAPES: usize = 8;
/// The number of ways in which a line of the crowd is dashed, with the way without dashes.
const DASHES: usize = 4;
/// The colours of a crowded chart. The last colour of [`theme::SERIES`] is a grey, which would look
/// like the lines of the crowd.
const IN_CROWD: usize = theme::SERIES - 1;

/// The look of one series.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Look {
    /// The CSS class of the series and of its name.
    pub(super) class: String,
    /// The CSS class of its line.
    pub(super) line: String,
    shape: usize,
}

impl Look {
    /// The order in which series are drawn. Those that a reader looks for lie above the others.
    pub(super) fn order(&self) -> usize {
        if self.is_of_crowd() {
            0
        } else if self.class == "ideal" {
            1
        } else {
            2
        }
    }

    /// Whether it is one of the grey lines of a crowd.
    pub(super) fn is_of_crowd(&self) -> bool {
        self.class.starts_with("crowd")
    }

    /// The attributes that give a mark its outline and its place. The marks of a crowd are small.
    pub(super) fn mark(&self, (x, y): BackendCoord) -> String {
        if self.is_of_crowd() {
            format!("transform=\"translate({x} {y}) scale(.7)\" d=\"{}\"", self.outline(0.0, 0.0))
        } else {
            format!("d=\"{}\"", self.outline(f64::from(x), f64::from(y)))
        }
    }

    fn outline(&self, x: f64, y: f64) -> String {
        match self.shape {
            0 => format!("M{} {y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", x - 3.5),
            1 => format!("M{} {}h6v6h-6z", x - 3.0, y - 3.0),
            2 => format!("M{x} {}l4.5 4.5-4.5 4.5-4.5-4.5z", y - 4.5),
            3 => format!("M{x} {}l4 7h-8z", y - 4.0),
            4 => format!("M{x} {}l4-7h-8z", y + 4.0),
            5 => format!("M{} {}h3v3h3v3h-3v3h-3v-3h-3v-3h3z", x - 1.5, y - 4.5),
            6 => format!("M{} {}h3v9h-3z", x - 1.5, y - 4.5),
            _ => format!("M{} {}h9v3h-9z", x - 4.5, y - 1.5),
        }
    }
}

impl Chart {
    /// Whether there are more lines than colours. Then only the highlighted lines have colours, and
    /// all others are a crowd in grey.
    pub(super) fn is_crowded(&self) -> bool {
        self.series.iter().filter(|series| series.role != Role::Ideal).count() > theme::SERIES
    }

    /// The look of each series, if the series are lines.
    pub(super) fn looks(&self) -> Vec<Look> {
        let crowded = self.is_crowded();
        let (mut coloured, mut greys, mut ideals) = (0, 0, 0);
        let mut look = |role: Role| {
            let next = |count: &mut usize| {
                *count += 1;
                *count - 1
            };
            let has_colour = !crowded || (role == Role::Highlighted && coloured < IN_CROWD);
            match role {
                Role::Ideal => Look {
                    class: "ideal".into(),
                    line: "line".into(),
                    shape: next(&mut ideals) % SHAPES,
                },
                _ if has_colour => {
                    let index = next(&mut coloured);
                    Look {
                        class: format!("series-{}", index + 1),
                        line: "line".into(),
                        shape: index % SHAPES,
                    }
                }
                _ => {
                    let index = next(&mut greys);
                    let fill =
                        if (index / SHAPES).is_multiple_of(2) { "crowd hollow" } else { "crowd" };
                    let line = match index / (2 * SHAPES) % DASHES {
                        0 => "line".to_owned(),
                        dash => format!("line dash-{dash}"),
                    };
                    Look { class: fill.into(), line, shape: index % SHAPES }
                }
            }
        };
        self.series.iter().map(|series| look(series.role)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::output::{Axis, Kind, Series};

    fn chart(roles: impl IntoIterator<Item = Role>) -> Chart {
        let series = |(index, role)| Series { role, ..Series::new(format!("{index}"), vec![]) };
        Chart {
            id: "c".into(),
            title: "C".into(),
            description: "C.".into(),
            kind: Kind::Lines,
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            series: roles.into_iter().enumerate().map(series).collect(),
            references: vec![],
        }
    }

    #[test]
    fn no_two_lines_look_the_same() {
        for count in [1, 6, 7, 18, 40, 60] {
            for highlighted in [0, 1, 3, 5, 8] {
                let role =
                    |index| if index < highlighted { Role::Highlighted } else { Role::Plain };
                let looks = chart((0..count).map(role).chain([Role::Ideal])).looks();
                let different: HashSet<_> = looks.iter().collect();
                assert_eq!(different.len(), count + 1, "{looks:?}");
            }
        }
    }

    #[test]
    fn colours_are_for_few() {
        let classes = |roles: &[Role]| -> Vec<String> {
            chart(roles.iter().copied()).looks().into_iter().map(|look| look.class).collect()
        };
        assert_eq!(classes(&[Role::Plain, Role::Ideal]), ["series-1", "ideal"]);
        let mut roles = [Role::Plain; 8];
        roles[6] = Role::Highlighted;
        let found = classes(&roles);
        assert_eq!((found[0].as_str(), found[6].as_str()), ("crowd hollow", "series-1"));
        // A sixth highlighted line would be grey in any case.
        assert_eq!(classes(&[Role::Highlighted; 8])[4..6], ["series-5", "crowd hollow"]);
    }
}
