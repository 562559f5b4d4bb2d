//! The names of lines, which stand to the right of the plot, each at the end of its line.

use super::{Chart, axis::has_place};
use crate::output::wrap;

/// The distance between two lines of text.
const LEADING: i32 = 14;
/// The greatest number of characters in a line of a name.
pub(super) const WRAP: usize = 20;

/// The names of all lines of a chart, each as lines of text.
pub(super) struct Names {
    /// A word with which the names of all series begin. In a crowded chart it stands once above the
    /// names.
    pub(super) heading: Option<String>,
    /// The names of the series.
    pub(super) series: Vec<Vec<String>>,
    /// The names of the reference lines that have a place in the chart.
    pub(super) references: Vec<Vec<String>>,
}

impl Names {
    pub(super) fn new(chart: &Chart) -> Self {
        let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
        let heading = shared_word(&names).filter(|_| chart.is_crowded());
        let short = |name: &str| {
            let rest = heading.and_then(|word| name.strip_prefix(word)).unwrap_or(name);
            wrap(rest, WRAP)
        };
        let references =
            chart.references.iter().filter(|line| has_place(chart.y.scale, line.value));
        Self {
            series: names.iter().map(|name| short(name)).collect(),
            references: references.map(|line| wrap(&line.label, WRAP)).collect(),
            heading: heading.map(str::to_owned),
        }
    }

    /// All lines of text.
    pub(super) fn lines(&self) -> impl Iterator<Item = &String> {
        self.series.iter().chain(&self.references).flatten().chain(&self.heading)
    }

    /// The height that all names take together.
    pub(super) fn height(&self) -> i32 {
        self.series.iter().chain(&self.references).map(|name| height(name)).sum()
    }
}

/// The word with which two names or more begin, if each has more words.
fn shared_word<'a>(names: &[&'a str]) -> Option<&'a str> {
    let word = names.first().filter(|_| names.len() > 1)?.split_once(' ')?.0;
    let begins = |name: &&str| {
        name.split_once(' ').is_some_and(|(first, rest)| first == word && !rest.is_empty())
    };
    // A line of another kind, such as the ideal, has a name of one word and keeps it.
    names.iter().all(|name| begins(name) || !name.contains(' ')).then_some(word)
}

/// The height of a name.
pub(super) fn height(name: &[String]) -> i32 {
    LEADING * name.len().max(1) as i32
}

/// The baselines of the lines of a name whose middle is at a height.
pub(super) fn baselines(name: &[String], middle: i32) -> impl Iterator<Item = i32> {
    let first = middle - (name.len() as i32 - 1) * LEADING / 2 + 4;
    (0..name.len() as i32).map(move |line| first + line * LEADING)
}

/// Moves names apart. Each name has the height of the middle that it wants and its own height, in
/// the order from the top down. The result are the heights of the middles. No two names overlap,
/// all are between the ends, and the sum of the squared distances to the wanted heights is the
/// least one.
pub(super) fn apart(wanted: &[(i32, i32)], (top, bottom): (i32, i32)) -> Vec<i32> {
    // If all names touched, this would be the distance of each from the first one. Without these
    // distances the names have to be in order, and may be at the same height.
    let mut offsets = Vec::with_capacity(wanted.len());
    // Neighbours that want to pass each other share the mean of what they want.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (index, &(middle, high)) in wanted.iter().enumerate() {
        let offset = match index {
            0 => 0.0,
            _ => offsets[index - 1] + f64::from(wanted[index - 1].1 + high) / 2.0,
        };
        offsets.push(offset);
        blocks.push((f64::from(middle) - offset, 1));
        while let [.., (above, some), (below, more)] = blocks[..] {
            if above / some as f64 <= below / more as f64 {
                break;
            }
            blocks.pop();
            blocks.pop();
            blocks.push((above + below, some + more));
        }
    }
    let least = f64::from(top + wanted.first().map_or(0, |name| name.1) / 2);
    let most = f64::from(bottom - wanted.last().map_or(0, |name| name.1) / 2)
        - offsets.last().copied().unwrap_or(0.0);
    let middles = blocks
        .iter()
        .flat_map(|&(sum, count)| std::iter::repeat_n(sum / count as f64, count))
        .map(|middle| middle.min(most).max(least));
    middles.zip(offsets).map(|(middle, offset)| (middle + offset).round() as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_move_no_farther_than_they_must() {
        // Far apart: each stays.
        assert_eq!(apart(&[(20, 14), (60, 14)], (0, 100)), [20, 60]);
        // Two at one height move by half their height each.
        assert_eq!(apart(&[(50, 14), (50, 14)], (0, 100)), [43, 57]);
        // A third far away is not moved.
        assert_eq!(apart(&[(20, 14), (20, 14), (90, 14)], (0, 100)), [13, 27, 90]);
        // At an end, all that touch move together.
        assert_eq!(apart(&[(99, 14), (99, 14), (99, 14)], (0, 100)), [65, 79, 93]);
        assert_eq!(apart(&[(0, 14), (0, 28)], (0, 100)), [7, 28]);
        assert_eq!(apart(&[], (0, 100)), [] as [i32; 0]);
    }

    #[test]
    fn what_names_share_is_one_word() {
        assert_eq!(shared_word(&["rung 1", "rung 2", "ideal"]), Some("rung"));
        assert_eq!(shared_word(&["rung 1", "step 2"]), None);
        assert_eq!(shared_word(&["rung 1"]), None);
        assert_eq!(shared_word(&["copy", "tiled"]), None);
    }
}
