//! Tests of the page that `--format html` writes, in a real browser.
//!
//! `WARPFOLD_SCREENSHOTS` names a folder for screenshots. They are for those who change the page's
//! design.

#[path = "support/chromium.rs"]
mod chromium;
mod support;

use std::{env, fs, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chromium::Chromium;
use serde_json::{Value as Json, json};
use warpfold_lab::{
    access::{self, Drawn, Pattern},
    element::{ElementType, Values},
    explain::{LECTURE_VALUES, Request, explain, parse_values},
    op::Op,
    output::{Axis, Cell, Chart, Column, Document, Format, Kind, Reference, Series, Table},
    requests::player,
    variant::Variant,
};

/// The ladder of the README: the bandwidths of i32 sums on an H100 in GB/s, at 2^22, 2^24 and 2^28
/// elements.
const LADDER: [(&str, &str, [f64; 3]); 7] = [
    ("1", "interleaved, divergent", [390.0, 414.0, 423.0]),
    ("2", "interleaved, bank conflicts", [596.0, 656.0, 680.0]),
    ("3", "sequential addressing", [748.0, 840.0, 877.0]),
    ("4", "first add during load", [1259.0, 1535.0, 1658.0]),
    ("5", "last warp unrolled", [1540.0, 1960.0, 2164.0]),
    ("6", "completely unrolled", [1623.0, 2080.0, 2306.0]),
    ("7", "many elements per thread", [1801.0, 2431.0, 2788.0]),
];
const PEAK: f64 = 3352.0;

fn ladder_table() -> Table {
    let columns = vec![
        Column::new("rung", "rung"),
        Column::new("idea", "idea"),
        Column::new("n", "elements"),
        Column::new("time_us", "time").in_unit("us"),
        Column::new("gb_per_s", "bandwidth").in_unit("GB/s"),
        Column::new("step_speedup", "step").in_unit("times"),
        Column::new("speedup", "cumulative").in_unit("times"),
        Column::new("peak_percent", "of peak").in_unit("%"),
    ];
    let mut table = Table::new("ladder", "The ladder at 2^22 elements", columns);
    let mut before: Option<f64> = None;
    for (rung, idea, [gb_per_s, ..]) in LADDER {
        table.push([
            rung.into(),
            idea.into(),
            Cell::Integer(1 << 22),
            Cell::number(f64::from(4 << 22) / gb_per_s / 1e3, 2),
            Cell::number(gb_per_s, 1),
            before.map(|before| Cell::number(gb_per_s / before, 2)).unwrap_or_default(),
            Cell::number(gb_per_s / LADDER[0].2[0], 2),
            Cell::number(100.0 * gb_per_s / PEAK, 1),
        ]);
        before = Some(gb_per_s);
    }
    table.notes.push(
        "Median of 41 runs; blocks of 256; one launch that leaves a partial sum for each block."
            .into(),
    );
    table
        .notes
        .push("Bandwidth is the input's bytes over the time: <4 bytes> & \"n\" elements.".into());
    table
}

fn reference(label: &str, value: f64) -> Reference {
    Reference { label: label.into(), value }
}

fn charts() -> Vec<Chart> {
    let sizes = [22, 24, 28].map(|power| f64::from(1 << power));
    let sweep = |(rung, _, figures): &(&str, &str, [f64; 3])| {
        Series::new(
            format!("rung {rung}"),
            sizes.iter().copied().zip(figures.iter().copied()).collect(),
        )
    };
    let strides = || (1..=64).map(f64::from);
    let power = |x: &f64| (*x as u32).is_power_of_two();
    vec![
        Chart {
            id: "ladder".into(),
            title: "Bandwidth of each rung at 2^22 elements".into(),
            description: "Bars grow from 390 GB/s at rung 1 to 1801 GB/s at rung 7, 54 % of the memory's peak.".into(),
            kind: Kind::Bars { categories: LADDER.iter().map(|rung| rung.0.into()).collect() },
            x: Axis::linear("rung"),
            y: Axis::linear("bandwidth (GB/s)"),
            series: vec![Series::of_bars("i32", LADDER.map(|rung| rung.2[0]))],
            references: vec![reference("peak 3352", PEAK), reference("CUB 1890", 1890.0)],
        },
        Chart {
            id: "sweep".into(),
            title: "Bandwidth over size".into(),
            description: "Each rung is faster the more elements it has; rung 7 comes nearest to the peak.".into(),
            kind: Kind::Lines,
            x: Axis::log2("elements"),
            y: Axis::linear("bandwidth (GB/s)"),
            series: LADDER[2..].iter().map(sweep).collect(),
            references: vec![reference("peak", PEAK), reference("CUB", 3101.0)],
        },
        Chart {
            id: "sectors".into(),
            title: "Sectors per request over stride".into(),
            description: "4-byte loads ask for 4 sectors at stride 1 and for 32 from stride 8 on.".into(),
            kind: Kind::Lines,
            x: Axis::log2("stride (elements)"),
            y: Axis::log2("sectors per request"),
            series: [4.0, 8.0, 16.0f64]
                .map(|bytes| {
                    let sectors = |stride: f64| (stride, (bytes * stride).min(32.0));
                    Series::new(format!("{bytes} bytes"), strides().filter(power).map(sectors).collect())
                })
                .into(),
            references: vec![],
        },
        Chart {
            id: "conflicts".into(),
            title: "Bank conflicts over stride".into(),
            description: "Odd strides have none; a stride of 32 has 31 for each request.".into(),
            kind: Kind::Lines,
            x: Axis::linear("stride (elements)"),
            y: Axis::linear("conflicts per request"),
            series: vec![Series::new(
                "4 bytes",
                strides()
                    .take(33)
                    .map(|stride| (stride, f64::from(1 << (stride as u32).trailing_zeros()) - 1.0))
                    .collect(),
            )],
            references: vec![],
        },
        Chart {
            id: "both".into(),
            title: "Bandwidth of each rung, by size".into(),
            description: "The upper rungs gain more from a larger input.".into(),
            kind: Kind::Bars { categories: LADDER.iter().map(|rung| rung.1.into()).collect() },
            x: Axis::linear("idea"),
            y: Axis::linear("bandwidth (GB/s)"),
            series: vec![
                Series::of_bars("2^22 elements", LADDER.map(|rung| rung.2[0])),
                Series::of_bars("2^28 elements", LADDER.map(|rung| rung.2[2])),
            ],
            references: vec![],
        },
    ]
}

fn document() -> Document {
    let library = support::library();
    let lecture = parse_values(LECTURE_VALUES, ElementType::I32).unwrap();
    let explained = |variant, values: &Values, id: &str, banks| {
        explain(&library, &Request { variant, op: Op::Sum, block: None }, values)
            .unwrap()
            .to_picture(id, banks)
    };
    let requests = ["1", "2", "32", "33"].map(|stride| {
        let drawn = Drawn::parse(Pattern::SharedStride, Some(stride), 1).unwrap();
        access::explain(&library, &drawn).unwrap()
    });
    Document {
        interrupted: false,
        title: "reduce ladder".into(),
        environment: [
            ("device", "NVIDIA H100 80GB HBM3"),
            ("driver", "CUDA 13.0"),
            ("elements", "4194304 i32, seed 1"),
            ("command", "reduce ladder --n 4194304 --type i32 --format html"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
        tables: vec![ladder_table()],
        charts: charts(),
        pictures: vec![
            explained(Variant::Sequential, &lecture, "rung-3", false),
            explained(
                Variant::InterleavedContiguous,
                &Values::I32((1..=64).collect()),
                "rung-2",
                true,
            ),
            player("access-stride", "access stride: one request of a warp".into(), &requests),
        ],
    }
}

/// A script that lists each visible text of the page, with its contrast to the background behind
/// its middle.
const CONTRASTS: &str = r#"
(() => {
  const channel = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const isSeen = (paint) => paint !== "none" && parse(paint)[3] !== 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode, element = text.parentElement;
    if (!text.data.trim() || element.closest("script, style, title, desc")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    if (box.width === 0 || box.right < 0) continue;
    const style = getComputedStyle(element);
    const above = element instanceof SVGElement ? style.fill : style.color;
    let below = null;
    for (const other of document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2)) {
      if (other instanceof SVGTextContentElement || other instanceof SVGSVGElement) continue;
      const style = getComputedStyle(other);
      const paint = other instanceof SVGElement ? style.fill : style.backgroundColor;
      if (isSeen(paint)) { below = paint; break; }
    }
    below ??= getComputedStyle(document.body).backgroundColor;
    const [a, b] = [luminance(parse(above)), luminance(parse(below))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push({ text: text.data.trim().slice(0, 40), above, below, contrast });
  }
  return found;
})()
"#;

/// A script that gives the numbers of the visible steps of the first picture, and their caption.
const SHOWN: &str = "(() => { const picture = document.querySelector('.picture'); \
    const steps = [...picture.querySelectorAll('.steps > li')]; \
    return [steps.flatMap((step, index) => step.getClientRects().length ? [index + 1] : []), \
        picture.querySelector('.now').textContent]; })()";

fn shown(browser: &mut Chromium) -> (Vec<u64>, String) {
    let shown = browser.evaluate(SHOWN);
    let steps = shown[0].as_array().unwrap().iter().map(|step| step.as_u64().unwrap()).collect();
    (steps, shown[1].as_str().unwrap().to_owned())
}

/// Each picture shows this step and no other one.
fn one_step_is_visible(browser: &mut Chromium, step: u64) {
    let visible = "[...document.querySelectorAll('.picture')].map((picture) => \
        [...picture.querySelectorAll('.steps > li')].flatMap((step, index) => step.getClientRects().length ? [index + 1] : []))";
    let visible = browser.evaluate(visible);
    let pictures = visible.as_array().unwrap();
    assert!(
        pictures.len() > 1 && pictures.iter().all(|steps| *steps == json!([step])),
        "{visible}"
    );
}

/// No number of a table is on two lines.
fn numbers_are_whole(browser: &mut Chromium) {
    let broken = "[...document.querySelectorAll('td, th, p, figcaption')].filter((element) => /\\d \\d{3}(?!\\d)/.test(element.textContent)).length";
    assert_eq!(browser.evaluate(broken), 0);
    let high = "[...document.querySelectorAll('td.number')].filter((cell) => { const range = document.createRange(); \
        range.selectNodeContents(cell); return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1; }).length";
    assert_eq!(browser.evaluate(high), 0);
}

fn is_quiet(browser: &Chromium, path: &Path) {
    let said =
        browser.told(&["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"]);
    assert!(said.is_empty(), "{said:?}");
    let requests = browser.told(&["Network.requestWillBeSent"]);
    let urls: Vec<&str> =
        requests.iter().map(|request| request["request"]["url"].as_str().unwrap()).collect();
    let page = format!("file://{}", path.display());
    // An icon without content causes no request either.
    let others: Vec<_> =
        urls.iter().filter(|url| **url != page && !url.starts_with("data:")).collect();
    assert!(urls.contains(&page.as_str()) && others.is_empty(), "{urls:?}");
}

fn screenshot(browser: &mut Chromium, name: &str) {
    if let Some(folder) = env::var_os("WARPFOLD_SCREENSHOTS") {
        let taken =
            browser.call("Page.captureScreenshot", &json!({ "captureBeyondViewport": true }));
        let bytes = BASE64_STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
        fs::write(Path::new(&folder).join(name), bytes).unwrap();
    }
}

/// All parts of the page are in one test, because a browser takes its time to start.
#[test]
fn the_page_works_in_a_browser() {
    let Some(mut browser) = Chromium::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (path, document) = (folder.path().join("page.html"), document());
    document.write(Format::Html, &mut fs::File::create(&path).unwrap()).unwrap();

    browser.look((1280, 900), false);
    browser.open(&path);
    is_quiet(&browser, &path);
    has_all_parts(&mut browser, &document);
    steps_advance(&mut browser, document.pictures[0].steps.len() as u64);
    scheme_is_followed(&mut browser);
    is_quiet(&browser, &path);

    for (name, size) in [("phone", (390, 844)), ("light", (1280, 900)), ("wide", (1920, 1080))] {
        for dark in [false, true] {
            let name = if dark { format!("{name}-dark.png") } else { format!("{name}.png") };
            browser.look(size, dark);
            browser.open(&path);
            screenshot(&mut browser, &name);
            one_step_is_visible(&mut browser, 1);
            browser.evaluate("document.querySelectorAll('.controls button:last-child').forEach((next) => { next.click(); next.click(); next.click(); })");
            one_step_is_visible(&mut browser, 4);
            screenshot(&mut browser, &format!("step-{name}"));
            let widths = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]");
            assert_eq!(widths[0], widths[1], "{name}: the page is wider than its window");
            numbers_are_whole(&mut browser);
        }
    }
    for dark in [false, true] {
        // The window is large enough for the whole page, so that each text has a place in it.
        browser.look((1600, 12_000), dark);
        browser.open(&path);
        browser.evaluate(
            "for (const hidden of document.querySelectorAll('[hidden]')) hidden.hidden = false",
        );
        texts_are_readable(&mut browser);
    }
    files_are_drawn(&mut browser, folder.path(), document.clone());
    without_script_all_is_there(&mut browser, &path, &document);
}

/// Charts can be written as separate files, which the browser draws.
fn files_are_drawn(browser: &mut Chromium, folder: &Path, mut document: Document) {
    for chart in document.charts.clone() {
        document.put_chart_first(&chart.id).unwrap();
        let path = folder.join(format!("{}.svg", chart.id));
        document.write(Format::Svg, &mut fs::File::create(&path).unwrap()).unwrap();
        for (scheme, paper) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(15, 19, 24)")] {
            browser.look((600, 400), scheme == "dark");
            browser.open(&path);
            is_quiet(browser, &path);
            assert_eq!(
                browser.evaluate("getComputedStyle(document.querySelector('.paper')).fill"),
                paper
            );
            screenshot(browser, &format!("{}-{scheme}.png", chart.id));
        }
    }
}

fn has_all_parts(browser: &mut Chromium, document: &Document) {
    assert_eq!(browser.evaluate("document.title"), document.title.as_str());
    let marks = browser
        .evaluate("[...document.querySelectorAll('svg.chart')].map((chart) => chart.querySelectorAll('.mark').length)");
    let points =
        |chart: &Chart| chart.series.iter().map(|series| series.points.len()).sum::<usize>();
    assert_eq!(marks, json!(document.charts.iter().map(points).collect::<Vec<_>>()));
    // Each mark is visible: it has a colour and an extent.
    let unseen = "[...document.querySelectorAll('.mark')].filter((mark) => { const box = mark.getBoundingClientRect(); \
        return box.width < 1 || box.height < 1 || getComputedStyle(mark).fill === 'none'; }).length";
    assert_eq!(browser.evaluate(unseen), 0);
    let rows =
        browser.evaluate("[...document.querySelectorAll('tbody')].map((body) => body.rows.length)");
    assert_eq!(
        rows,
        json!(document.tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>())
    );
    let cells = "[...document.querySelectorAll('tbody tr:first-child > *')].map((cell) => cell.textContent)";
    let cells = browser.evaluate(cells);
    assert_eq!(
        cells,
        json!([
            "1",
            "interleaved, divergent",
            "4\u{202f}194\u{202f}304",
            "43.02",
            "390.0",
            "–",
            "1.00",
            "11.6"
        ])
    );
    let note = browser.evaluate("document.querySelectorAll('.table p')[1].textContent");
    assert_eq!(note, document.tables[0].notes[1].as_str());

    // Each picture has a description for readers who cannot see it, in an element whose id exists
    // once.
    let untold = "[...document.querySelectorAll('svg')].filter((svg) => svg.getAttribute('role') !== 'img' || \
        !svg.getAttribute('aria-labelledby').split(' ').every((id) => { const named = document.querySelectorAll(`[id='${id}']`); \
        return named.length === 1 && named[0].textContent.length > 3; })).map((svg) => svg.outerHTML.slice(0, 200))";
    assert_eq!(browser.evaluate(untold), json!([]));
    let ids =
        browser.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)");
    let mut ids: Vec<&str> =
        ids.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    // Headings go down one level at a time.
    let levels = browser.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.localName[1]))",
    );
    let levels: Vec<u64> =
        levels.as_array().unwrap().iter().map(|level| level.as_u64().unwrap()).collect();
    assert!(levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
}

fn steps_advance(browser: &mut Chromium, count: u64) {
    assert_eq!(shown(browser), (vec![1], format!("Step 1 of {count}: the values")));
    browser.click(".controls button:last-child");
    assert_eq!(shown(browser).0, [2]);
    browser.click(".controls button:last-child");
    let told = format!("Step 3 of {count}: step 1, stride 8: 8 threads, then barrier");
    assert_eq!(shown(browser), (vec![3], told));
    browser.click(".controls button:first-child");
    assert_eq!(shown(browser).0, [2]);

    // The button has the focus, so it gets these keys.
    for (key, step) in [
        ("ArrowRight", 3),
        ("End", count),
        ("ArrowRight", count),
        ("ArrowLeft", count - 1),
        ("Home", 1),
    ] {
        browser.press(key);
        assert_eq!(shown(browser).0, [step], "{key}");
    }
    browser.press("ArrowLeft");
    assert_eq!(shown(browser).0, [1]);
    browser.evaluate("document.querySelector('.controls input').focus()");
    browser.press("ArrowRight");
    assert_eq!(shown(browser).0, [2]);
    // If nothing has the focus, the arrows are for the picture in the middle of the window.
    browser.evaluate("document.activeElement.blur(); document.querySelector('.picture').scrollIntoView({ block: 'center' })");
    browser.press("ArrowRight");
    assert_eq!(shown(browser).0, [3]);
    browser.press("Home");
    assert_eq!(shown(browser).0, [3]);
    // A click on the middle of the slider shows the step in the middle.
    browser.click(".controls input");
    assert_eq!(shown(browser).0, [count.div_ceil(2)]);
}

fn scheme_is_followed(browser: &mut Chromium) {
    let background = "getComputedStyle(document.body).backgroundColor";
    let [light, dark] = ["rgb(255, 255, 255)", "rgb(15, 19, 24)"];
    assert_eq!(browser.evaluate(background), light);
    browser.look((1280, 900), true);
    assert_eq!(browser.evaluate(background), dark);
    browser.click("#scheme");
    assert_eq!(browser.evaluate(background), light);
    browser.look((1280, 900), false);
    browser.click("#scheme");
    assert_eq!(browser.evaluate(background), dark);
    assert_eq!(browser.evaluate("document.querySelector('#scheme').textContent"), "Light");
}

fn texts_are_readable(browser: &mut Chromium) {
    let texts = browser.evaluate(CONTRASTS);
    let texts = texts.as_array().unwrap();
    assert!(texts.len() > 500, "{} texts", texts.len());
    let faint: Vec<&Json> =
        texts.iter().filter(|text| text["contrast"].as_f64().unwrap() < 4.5).collect();
    assert!(faint.is_empty(), "{faint:#?}");
    // The computed contrasts do differ between colours, so the check above means something.
    assert!(texts.iter().any(|text| text["contrast"].as_f64().unwrap() > 12.0));
}

fn without_script_all_is_there(browser: &mut Chromium, path: &Path, document: &Document) {
    browser.look((1280, 900), false);
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(path);
    let seen = |selector: &str| {
        format!(
            "[...document.querySelectorAll('{selector}')].filter((found) => found.getClientRects().length).length"
        )
    };
    let steps: usize = document.pictures.iter().map(|picture| picture.steps.len()).sum();
    assert_eq!(browser.evaluate(&seen(".steps > li")), steps);
    assert_eq!(browser.evaluate(&seen(".steps figcaption")), steps);
    assert_eq!(browser.evaluate(&seen("button, input")), 0);
}
