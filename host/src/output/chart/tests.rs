//! Tests that read the drawn SVG back as XML.

use roxmltree::{Document as Xml, Node};

use super::*;
use crate::output::{Document, Format, OutputError, tests::NASTY};

const SVG: &str = "http://www.w3.org/2000/svg";

fn lines(series: Vec<Series>) -> Chart {
    Chart {
        id: "sweep".into(),
        title: "Bandwidth over size".into(),
        description: "It grows.".into(),
        kind: Kind::Lines,
        x: Axis::log2("elements"),
        y: Axis::linear("bandwidth (GB/s)"),
        series,
        references: vec![Reference { label: "peak".into(), value: 3352.0 }],
    }
}

fn bars(names: &[&str], series: Vec<Series>) -> Chart {
    Chart {
        kind: Kind::Bars { categories: names.iter().map(|name| (*name).into()).collect() },
        x: Axis::linear("rung"),
        ..lines(series)
    }
}

fn classed<'a>(root: Node<'a, 'a>, class: &str) -> Vec<Node<'a, 'a>> {
    let has = |node: &Node<'_, '_>| {
        node.attribute("class").is_some_and(|all| all.split(' ').any(|word| word == class))
    };
    root.descendants().filter(has).collect()
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap_or_else(|| panic!("{name} of {node:?}")).parse().unwrap()
}

/// The text of a node with its parts, such as exponents.
fn content(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|part| part.text().filter(|_| part.is_text())).collect()
}

/// Draws a chart and proves that it is well-formed, that it has its title and description, and that
/// each text is inside the picture and touches no other text.
fn checked(chart: &Chart, look: impl FnOnce(Node<'_, '_>)) {
    let svg = chart.to_svg();
    let xml = Xml::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let root = xml.root_element();
    assert!(root.has_tag_name((SVG, "svg")) && root.attribute("role") == Some("img"));
    let told = |name| content(root.children().find(|node| node.has_tag_name((SVG, name))).unwrap());
    assert_eq!((told("title"), told("desc")), (chart.title.clone(), chart.description.clone()));

    let (width, height) = (number(root, "width"), number(root, "height"));
    let mut boxes: Vec<(f64, f64, f64, f64, String)> = Vec::new();
    for node in root.descendants().filter(|node| node.has_tag_name((SVG, "text"))) {
        let shown = content(node);
        let size = if node.attribute("class") == Some("title") { 14.0 } else { 12.0 };
        // In a wide font, a letter is 0.55 times its size wide on average.
        let wide = shown.chars().count() as f64 * size * 0.55;
        let left = number(node, "x")
            - match node.attribute("text-anchor") {
                Some("middle") => wide / 2.0,
                Some("end") => wide,
                _ => 0.0,
            };
        let (right, y) = (left + wide, number(node, "y"));
        let top = y - size * 0.75;
        assert!(
            left >= 0.0 && right <= width && top >= 0.0 && y <= height,
            "'{shown}' is outside: {svg}"
        );
        for (l, t, r, b, other) in &boxes {
            assert!(
                right <= *l || left >= *r || y <= *t || top >= *b,
                "'{shown}' is on '{other}': {svg}"
            );
        }
        boxes.push((left, top, right, y, shown));
    }
    for mark in classed(root, "mark").into_iter().filter(|mark| mark.has_attribute("x")) {
        assert!(
            number(mark, "x") >= 0.0 && number(mark, "x") + number(mark, "width") <= width,
            "{svg}"
        );
    }
    look(root);
}

fn texts(root: Node<'_, '_>, class: &str) -> Vec<String> {
    classed(root, class)
        .into_iter()
        .filter(|node| node.has_tag_name((SVG, "text")))
        .map(content)
        .collect()
}

#[test]
fn bars_are_as_long_as_their_values() {
    let names = ["1", "2", "7", "global"];
    let chart = bars(&names, vec![Series::of_bars("i32", [390.0, 596.4, 1801.0, 0.0])]);
    checked(&chart, |root| {
        let marks = classed(root, "mark");
        let data: Vec<_> =
            marks.iter().map(|mark| (number(*mark, "data-x"), number(*mark, "data-y"))).collect();
        assert_eq!(data, [(0.0, 390.0), (1.0, 596.4), (2.0, 1801.0), (3.0, 0.0)]);
        let widths: Vec<f64> = marks.iter().map(|mark| number(*mark, "width")).collect();
        let unit = widths[2] / 1801.0;
        for (width, (_, value)) in widths.iter().zip(&data) {
            assert!((width - value * unit).abs() < 1.0, "{widths:?}");
        }
        // The bars stand from the top down, each beside its name.
        let heights: Vec<f64> = marks.iter().map(|mark| number(*mark, "y")).collect();
        assert!(heights.is_sorted(), "{heights:?}");
        assert_eq!(texts(root, "value"), ["390", "596", "1 801", "0"]);
        let ticks = texts(root, "tick");
        assert!(names.iter().all(|name| ticks.iter().any(|tick| tick == name)), "{ticks:?}");
        assert_eq!(classed(root, "reference").len(), 1);
        assert_eq!(content(marks[3]), "global: 0");
    });
}

#[test]
fn bars_of_several_series_stand_beside_each_other() {
    let names: Vec<String> = (0..16).map(|index| format!("rung {index} with a name")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let series = |index: usize| {
        Series::of_bars(format!("series {index}"), (0..16).map(|rung| (rung * index) as f64 - 8.0))
    };
    let mut chart = bars(&names, (1..=4).map(series).collect());
    chart.references =
        [10.0, 11.0, 12.0].map(|value| Reference { label: format!("at {value}"), value }).into();
    checked(&chart, |root| {
        assert_eq!(classed(root, "series").len(), 4);
        assert_eq!(classed(root, "legend").len(), 4);
        assert_eq!(classed(root, "reference").len(), 3);
        let mut bars: Vec<(f64, f64)> = classed(root, "mark")
            .iter()
            .map(|mark| (number(*mark, "y"), number(*mark, "height")))
            .collect();
        assert_eq!(bars.len(), 64);
        bars.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(bars.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{bars:?}");
    });
}

#[test]
fn lines_go_through_their_points() {
    let sizes = [1 << 10, 1 << 16, 1 << 22].map(f64::from);
    let series =
        |name: &str, high| Series::new(name, sizes.iter().map(|x| (*x, x.log2() * high)).collect());
    checked(&lines(vec![series("rung 1", 10.0), series("rung 7", 100.0)]), |root| {
        assert_eq!(classed(root, "series").len(), 2);
        assert_eq!(classed(root, "line").len(), 2);
        let marks = classed(root, "mark");
        assert_eq!(
            marks.iter().map(|mark| number(*mark, "data-x")).collect::<Vec<_>>(),
            [sizes, sizes].concat()
        );
        assert_eq!(content(marks[5]), "rung 7, 2^22: 2 200");
        // Equal factors take equal steps, and greater values are higher.
        let place = |mark: &Node<'_, '_>| -> Vec<f64> {
            let start = mark.attribute("d").unwrap()[1..].split('a').next().unwrap().to_owned();
            start.split(' ').map(|part| part.split('h').next().unwrap().parse().unwrap()).collect()
        };
        let places: Vec<_> = marks[..3].iter().map(place).collect();
        assert!((places[0][0] + places[2][0] - 2.0 * places[1][0]).abs() <= 1.0, "{places:?}");
        assert!(places[0][1] > places[1][1] && places[1][1] > places[2][1], "{places:?}");
        assert_eq!(texts(root, "label"), ["rung 1", "rung 7", "peak"]);
        // The titles of the lines are for a pointer on them.
        assert_eq!(content(classed(root, "series")[1].first_element_child().unwrap()), "rung 7");
        assert!(texts(root, "tick").contains(&"210".to_owned()));
    });
}

#[test]
fn what_has_no_place_is_left_out_and_breaks_the_line() {
    let points = vec![
        (1.0, 1.0),
        (2.0, f64::NAN),
        (0.0, 5.0),
        (4.0, 2.0),
        (8.0, 3.0),
        (16.0, f64::INFINITY),
        (-2.0, 1.0),
    ];
    let mut chart = lines(vec![Series::new("a", points)]);
    chart.references.push(Reference { label: "nowhere".into(), value: f64::NAN });
    checked(&chart, |root| {
        let shown: Vec<f64> =
            classed(root, "mark").iter().map(|mark| number(*mark, "data-x")).collect();
        assert_eq!(shown, [1.0, 4.0, 8.0]);
        assert_eq!((classed(root, "line").len(), classed(root, "reference").len()), (1, 1));
    });

    chart.y = Axis::log10("conflicts");
    chart.references.clear();
    chart.series = vec![Series::new("a", vec![(1.0, 0.0), (2.0, 0.5), (4.0, 50.0)])];
    checked(&chart, |root| assert_eq!(classed(root, "mark").len(), 2));

    // Bars on an axis of powers begin at its lowest power, which is 1 here. So 10 is a third of the
    // way to 1000.
    let chart =
        Chart { y: Axis::log10("requests"), references: vec![], ..bars(&["a", "b", "c"], vec![]) };
    let chart = Chart {
        series: vec![Series::of_bars("s", [0.0, 10.0, 1000.0]), Series::of_bars("t", [1.0])],
        ..chart
    };
    checked(&chart, |root| {
        let widths: Vec<f64> =
            classed(root, "mark").iter().map(|mark| number(*mark, "width")).collect();
        assert!(
            widths.len() == 3 && (widths[1] - 3.0 * widths[0]).abs() <= 3.0 && widths[2] == 0.0,
            "{widths:?}"
        );
    });

    // Points beyond the categories, or between them, are left out.
    let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (0.5, 2.0), (-1.0, 2.0)];
    checked(&bars(&["a", "b"], vec![Series::new("s", points)]), |root| {
        assert_eq!(classed(root, "mark").len(), 1);
    });
}

#[test]
fn little_and_nothing_are_drawn_too() {
    for x in [Axis::linear("x"), Axis::log2("x"), Axis::log10("x")] {
        for y in [Axis::linear("y"), Axis::log2("y"), Axis::log10("y")] {
            for (points, shown) in
                [(vec![], 0), (vec![(3.0, 5.0)], 1), (vec![(1.0, 7.0), (2.0, 7.0)], 2)]
            {
                let chart = Chart {
                    x: x.clone(),
                    y: y.clone(),
                    references: vec![],
                    ..lines(vec![Series::new("s", points)])
                };
                checked(&chart, |root| {
                    assert_eq!(classed(root, "mark").len(), shown);
                    assert_eq!(texts(root, "label").contains(&"no data".to_owned()), shown == 0);
                });
            }
        }
    }
    checked(&lines(vec![]), |root| assert_eq!(classed(root, "reference").len(), 1));
    checked(&bars(&[], vec![]), |root| assert_eq!(classed(root, "mark").len(), 0));
}

#[test]
fn names_stand_apart_where_lines_meet() {
    let together = |index: usize| {
        Series::new(format!("series {index}"), vec![(1.0, 1.0), (64.0, 32.0 - index as f64 / 8.0)])
    };
    let mut chart = lines((0..6).map(together).collect());
    chart.references = vec![
        Reference { label: "peak".into(), value: 32.5 },
        Reference { label: "zero".into(), value: 0.0 },
    ];
    checked(&chart, |root| assert_eq!(texts(root, "label").len(), 8));

    // A crowd of lines is grey, but for those that are highlighted. All have their names, with the
    // word that all share above them, and long names have several lines.
    let mut chart = lines((0..18).map(together).collect());
    chart.series[0].name = "series with a name that would take more than the room beside".into();
    chart.series[7].role = Role::Highlighted;
    let points = vec![(1.0, 1.0), (64.0, 29.0)];
    chart.series.push(Series::new("ideal", points).in_role(Role::Ideal));
    checked(&chart, |root| {
        assert_eq!(classed(root, "legend").len(), 0);
        assert_eq!(texts(root, "series-1"), ["7"]);
        assert_eq!(texts(root, "ideal"), ["ideal"]);
        // Grey lines that end within a pixel of the one before share a name.
        let names = texts(root, "crowd").join(" ").replace(',', "");
        let mut names: Vec<&str> = names.split(' ').collect();
        names.retain(|name| name.parse::<u32>().is_ok());
        assert_eq!(names.len(), 16, "{names:?}");
        assert!(texts(root, "crowd").len() < 16);
        assert!(texts(root, "axis-label").contains(&"series".to_owned()));
        // Each series has a title, a line, and marks that look like those of no other series.
        let mut looks: Vec<String> = Vec::new();
        for series in classed(root, "series") {
            let mark = classed(series, "mark")[0].attribute("d").unwrap();
            let shape = mark.split_once(|c: char| c.is_ascii_lowercase()).unwrap().1;
            let line = classed(series, "line")[0].attribute("class").unwrap();
            looks.push(format!("{} {line} {shape}", series.attribute("class").unwrap()));
        }
        looks.sort();
        looks.dedup();
        assert_eq!(looks.len(), 19, "{looks:?}");
    });
}

#[test]
fn few_bars_of_many_series_need_no_legend() {
    let only = |category: usize, value: f64| {
        Series::new(format!("bar {category}"), vec![(category as f64, value)])
    };
    let mut chart = bars(&["a", "b", "c"], vec![only(0, 3.0), only(1, 2.0), only(2, 100.0)]);
    chart.references = vec![Reference { label: "peak".into(), value: 105.0 }];
    checked(&chart, |root| {
        assert_eq!((classed(root, "legend").len(), classed(root, "mark").len()), (0, 3));
        let heights: Vec<f64> =
            classed(root, "mark").iter().map(|mark| number(*mark, "y")).collect();
        let steps = [heights[1] - heights[0], heights[2] - heights[1]];
        assert!((steps[0] - steps[1]).abs() <= 1.0 && steps[0] < 25.0, "{heights:?}");
        // The line at the peak would strike the last value through, so the value is in its bar.
        assert_eq!(texts(root, "inside"), ["100"]);
    });
}

#[test]
fn names_are_escaped() {
    let nasty = NASTY.replace('\n', " ");
    let mut chart = bars(
        &[&nasty, "<b>"],
        vec![Series::of_bars(&nasty, [1.0, 2.0]), Series::of_bars("&amp;", [1.0, 2.0])],
    );
    for text in [&mut chart.title, &mut chart.description, &mut chart.x.label, &mut chart.y.label] {
        nasty.clone_into(text);
    }
    chart.references[0].label.clone_from(&nasty);
    chart.id = "\"<&>".into();
    checked(&chart, |root| {
        assert!(root.attribute("aria-labelledby").unwrap().contains("chart-\"<&>-title"));
        assert_eq!(classed(root, "series")[0].attribute("data-series"), Some(nasty.as_str()));
        assert!(texts(root, "tick").contains(&nasty));
    });
}

#[test]
fn the_chart_that_is_first_is_written() {
    let named = |id: &str| Chart { id: id.into(), ..lines(vec![]) };
    let mut document = Document { charts: vec![named("one"), named("two")], ..Document::default() };
    let first = |document: &Document| {
        let mut bytes = Vec::new();
        document.write(Format::Svg, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert!(first(&document).contains("chart-one-title"));
    document.put_chart_first("two").unwrap();
    assert!(first(&document).contains("chart-two-title"));
    let error = document.put_chart_first("three").unwrap_err();
    assert!(matches!(error, OutputError::UnknownChart { .. }));
    assert_eq!(error.to_string(), "unknown chart 'three': there is two, one");
}
