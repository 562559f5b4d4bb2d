//! Tests that the commands of the lab print the same numbers for the same work.

mod support;

use serde_json::Value as Json;
use support::Sandbox;
use warpfold_lab::{tune::FILE_NAME, variant::Variant};

fn run(tool: &str, line: &str) -> String {
    let run = Sandbox::new().tool(tool, line.split_whitespace());
    assert_eq!(run.status, Some(0), "{run}");
    run.stdout
}

fn json(tool: &str, line: &str) -> Json {
    serde_json::from_str(&run(tool, &format!("{line} --json"))).unwrap()
}

/// The number at the end of a path of keys.
fn number(json: &Json, path: &str) -> u64 {
    let at = path.split('.').fold(json, |json, key| &json[key]);
    at.as_u64().unwrap_or_else(|| panic!("{path}: {at}"))
}

/// The figures that a row of the ladder has of a profile.
fn row_of(profile: &Json) -> Json {
    let sum = |kinds: &[&str], last: &str| -> u64 {
        kinds.iter().map(|kind| number(profile, &format!("counters.{kind}.{last}"))).sum()
    };
    let copied = sum(&["async_copy", "bulk"], "bytes");
    let global = ["global.load", "global.store", "global.atomic", "global.reduction"];
    serde_json::json!({
        "variant": profile["variant"],
        "grid": profile["launches"][0]["grid"],
        "block": profile["launches"][0]["block"],
        "sectors": sum(&global, "sectors") + copied.div_ceil(32),
        "bank_conflicts":
            sum(&["shared.load", "shared.store", "shared.atomic"], "bank_conflicts"),
        "divergent_branches": profile["counters"]["divergent_branches"],
        "instructions_per_32_elements":
            profile["derived"]["warp_instructions_per_32_elements"]["value"].as_f64(),
        "cost_in_issue_slots": profile["waste"]["cost_in_issue_slots"],
    })
}

/// The same figures of a row of the ladder, or of a sweep.
fn row(row: &Json) -> Json {
    let keys = [
        "variant",
        "grid",
        "block",
        "sectors",
        "bank_conflicts",
        "divergent_branches",
        "instructions_per_32_elements",
        "cost_in_issue_slots",
    ];
    keys.iter()
        .map(|&key| {
            let value = match row[key].as_f64() {
                Some(value) if key == "instructions_per_32_elements" => value.into(),
                _ => row[key].clone(),
            };
            (key.to_owned(), value)
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The work with its GPU, and the rungs that do it.
const WORKS: [(&str, &[&str]); 5] = [
    ("--n 65536", &[]),
    ("--n 65537 --type f64 --op max", &["11", "atomic", "atomic-warp"]),
    ("--n 1025 --type u32", &[]),
    ("--n 300000 --gpu t4", &["11", "13", "14"]),
    ("--n 300001 --block 128 --gpu b200", &["global"]),
];

#[test]
fn ladder_sweep_compare_and_profile_agree() {
    for (work, refused) in WORKS {
        let labels: Vec<_> = Variant::all()
            .map(|variant| variant.facts().label)
            .filter(|label| !refused.contains(label))
            .collect();
        let ladder =
            json("reduce", &format!("ladder {work} --device sim --variants {}", labels.join(",")));
        let sizes = work.replace("--n", "--sizes");
        let sweep =
            json("reduce", &format!("sweep {sizes} --device sim --variants {}", labels.join(",")));
        let compare =
            json("reduce", &format!("compare {} {work} --registers 32", labels.join(" ")));
        let rows = [&ladder["tables"]["ladder"], &sweep["tables"]["sweep"]];
        for (index, label) in labels.iter().enumerate() {
            let context = format!("variant {label}, {work}");
            let compared = &compare["profiles"][index];
            let mut profile =
                json("reduce", &format!("profile --variant {label} {work} --registers 32"));
            profile.as_object_mut().unwrap().remove("lines");
            let variant: Variant = label.parse().unwrap();
            if variant.polls() {
                // How often it polls may differ between two runs, but the launches do not.
                for key in ["grid", "block"] {
                    let expected = &profile["launches"][0][key];
                    assert_eq!(&compared["launches"][0][key], expected, "{context}");
                    for rows in rows {
                        assert_eq!(&rows[index][key], expected, "{context}");
                    }
                }
                continue;
            }
            assert_eq!(*compared, profile, "{context}");
            for rows in rows {
                assert_eq!(row(&rows[index]), row_of(&profile), "{context}");
            }
        }
    }
}

/// The cells of each row of the tables in a text.
fn cells(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.map(|row| row.split('|').map(str::trim).collect()).collect()
}

#[test]
fn the_tables_for_people_agree_with_each_other() {
    let work = "--n 70001";
    let mut checked = 0;
    for label in ["7", "14"] {
        // Two variants fit on a page, so that no name is broken.
        let compare = run("reduce", &format!("compare 2 {label} {work}"));
        let header = &cells(&compare)[0];
        let column =
            header.iter().position(|cell| *cell == format!("variant {label}")).expect("a column");
        let profile = run("reduce", &format!("profile --variant {label} {work}"));
        for figure in cells(&profile).iter().filter(|row| row.len() == 4).skip(2) {
            let row = cells(&compare).into_iter().find(|row| row[0] == figure[0]);
            assert_eq!(row.map(|row| row[column]), Some(figure[2]), "{label}: {figure:?}");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn one_gpu_is_assumed_by_default_and_named_everywhere() {
    let ladder = json("reduce", "ladder --n 2^20 --device sim --variants 7,12");
    let named = "h100, 132 multiprocessors";
    assert_eq!(ladder["environment"]["planned for"], named);
    assert_eq!(ladder["tables"]["ladder"][0]["grid"], 132 * 8);
    let compare = json("reduce", "compare 7 12 --n 2^20");
    assert_eq!((&compare["gpu"], &compare["profiles"][0]["gpu"]), (&"h100".into(), &"h100".into()));
    let reduced = json("reduce", "--variant 7 --n 2^20 --device sim");
    assert_eq!((&reduced["gpu"], &reduced["grid"]), (&"h100".into(), &(132 * 8).into()));
    for line in [
        "--variant 7 --n 100 --device sim",
        "ladder --n 100 --device sim",
        "sweep --sizes 100 --device sim",
        "tune --n 100 --variants 7 --device sim --even-simulated",
        "compare 7 --n 100",
        "profile --variant 7 --n 100",
    ] {
        let run = Sandbox::new().reduce_line(line);
        assert!(run.stdout.contains(named), "{run}");
    }
    // A T4 has fewer multiprocessors, and each holds fewer threads.
    let grids = |gpu: &str| -> Vec<u64> {
        let ladder =
            json("reduce", &format!("ladder --n 2^20 --device sim --variants 7,12 --gpu {gpu}"));
        ladder["tables"]["ladder"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|row| row["grid"].as_u64())
            .collect()
    };
    assert_eq!(grids("t4"), [40 * 8, 40 * 4]);
    for (variant, grid) in [(7, 40 * 8), (12, 40 * 4)] {
        let line = format!("--variant {variant} --n 2^20 --device sim --gpu t4");
        assert_eq!(json("reduce", &line)["grid"], grid, "{line}");
    }
    // A T4 has no clusters.
    let run = Sandbox::new().reduce_line("--variant 13 --n 100 --device sim --gpu t4");
    assert_eq!(run.status, Some(1), "{run}");
    let run = Sandbox::new().reduce_line("ladder --gpu gtx480 --device sim");
    assert_eq!(run.status, Some(2), "{run}");
}

/// A shape that tuning saved counts for each command alike, and each says so.
#[test]
fn saved_shapes_are_used_by_all_commands() {
    let sandbox = Sandbox::new();
    let json = |line: &str| -> Json {
        let run = sandbox.reduce_line(&format!("{line} --json"));
        assert_eq!(run.status, Some(0), "{run}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    json("tune --n 5000 --variants 3,7 --device sim --even-simulated");
    // Other shapes than those that are taken without tuning.
    let cache = sandbox.path("cache/warpfold").join(FILE_NAME);
    let mut saved: Json = serde_json::from_slice(&std::fs::read(&cache).unwrap()).unwrap();
    for entry in saved["entries"].as_array_mut().unwrap() {
        let is_seventh = entry["variant"] == "multiple-elements";
        entry["block"] = if is_seventh { 64 } else { 128 }.into();
        entry["blocks_per_multiprocessor"] = if is_seventh { 2.into() } else { Json::Null };
    }
    std::fs::write(&cache, saved.to_string()).unwrap();

    let work = "--n 2^17";
    // For each variant, the grid and the block of each command, and whether they are tuned.
    let shapes = |more: &str| {
        let ladder = json(&format!("ladder {work} --device sim --variants 3,4,7{more}"));
        let sweep = json(&format!("sweep --sizes 2^17 --device sim --variants 3,4,7{more}"));
        let compare = json(&format!("compare 3 4 7 {work}{more}"));
        [3, 4, 7]
            .iter()
            .enumerate()
            .map(|(index, variant)| {
                let profile = json(&format!("profile --variant {variant} {work}{more}"));
                let reduced = json(&format!("--variant {variant} {work} --device sim{more}"));
                let note = format!("Variant {variant} has its tuned shape: ");
                let of =
                    |json: &Json, tuned: bool| (json["grid"].clone(), json["block"].clone(), tuned);
                let expected = of(&reduced, reduced["tuned"].as_bool().unwrap());
                for document in [(&ladder, "ladder"), (&sweep, "sweep")] {
                    let (document, table) = document;
                    let tuned = document["notes"][table].to_string().contains(&note);
                    assert_eq!(
                        of(&document["tables"][table][index], tuned),
                        expected,
                        "{table}{more}"
                    );
                }
                for profile in [&profile, &compare["profiles"][index]] {
                    let tuned = profile["tuned"].as_bool().unwrap();
                    assert_eq!(
                        of(&profile["launches"][0], tuned),
                        expected,
                        "variant {variant}{more}"
                    );
                }
                expected
            })
            .collect::<Vec<_>>()
    };
    let shape = |grid: u64, block: u64, tuned: bool| (grid.into(), block.into(), tuned);
    let untuned = [shape(512, 256, false), shape(256, 256, false), shape(256, 256, false)];
    assert_eq!(shapes(""), [shape(1024, 128, true), shape(256, 256, false), shape(264, 64, true)]);
    assert_eq!(shapes(" --no-tuned"), untuned);
    assert_eq!(shapes(" --block 256"), untuned);
    // The entries are for sums of i32.
    assert!(shapes(" --op max").iter().all(|(_, _, tuned)| !tuned));

    for (line, told) in [
        (
            "--variant 7 --n 2^17 --device sim",
            "tuned      block 64, 2 blocks for each multiprocessor, by reduce tune with n = 5000",
        ),
        (
            "profile --variant 7 --n 2^17",
            "tuned      block 64, 2 blocks for each multiprocessor, by reduce tune with n = 5000",
        ),
        (
            "compare 3 --n 2^17",
            "Variant 3 has its tuned shape: grid 1024, block 128, by reduce tune with n = 5000.",
        ),
        (
            "compare 7 --n 2^17 --format markdown",
            "Variant 7 has its tuned shape: grid 264, block 64, by reduce tune with n = 5000.",
        ),
        (
            "profile --variant 7 --n 2^17 --format markdown",
            "Variant 7 has its tuned shape: grid 264, block 64, by reduce tune with n = 5000.",
        ),
        (
            "ladder --variants 7 --n 2^17 --device sim",
            "Variant 7 has its tuned shape: grid 264, block 64, by reduce tune with n = 5000.",
        ),
    ] {
        let run = sandbox.reduce_line(line);
        assert!(run.stdout.contains(told), "{run}");
    }
}

/// Whether two numbers are the same, or were before they were written in decimal digits.
fn near(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= expected.abs() * 1e-14,
        (found, expected) => found == expected,
    }
}

/// The figures of a transposition that `transpose compare` and `transpose profile` have both.
#[test]
fn transpositions_agree() {
    // The first two are counted whole, and the others are scaled.
    for (work, variants) in [
        ("--rows 512", &["tiled", "padded", "best", "in-place", "naive-store"][..]),
        ("--rows 100 --cols 75 --tile 16", &["tiled", "diagonal", "strided-copy"]),
        ("--rows 2048", &["tiled", "naive-load", "in-place"]),
        ("--rows 1025", &["tiled", "swizzled", "best", "in-place", "naive-store"]),
        ("--rows 1500 --cols 37 --type u8", &["tiled", "copy", "best"]),
    ] {
        let compare = json("transpose", &format!("compare {work} --device sim"));
        let rows = compare["tables"]["transpose"].as_array().unwrap();
        for name in variants {
            let context = format!("{name} {work}");
            let row = rows.iter().find(|row| row["variant"] == *name).expect("a row");
            let tile = if *name == "best" { work.replace(" --tile 16", "") } else { work.into() };
            let profile = json("transpose", &format!("profile --variant {name} {tile}"));
            let counter = |counter: &str| {
                let rows = profile["tables"]["counters"].as_array().unwrap();
                let row = rows.iter().find(|row| row["counter"] == counter).expect("a counter");
                row["value"].as_u64().unwrap()
            };
            let sum = |kinds: &[&str], what: &str| -> u64 {
                kinds.iter().map(|kind| counter(&format!("{kind}.{what}"))).sum()
            };
            let per = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
            let shared = ["shared.load", "shared.store"];
            assert_eq!(row["bank_conflicts"], sum(&shared, "bank_conflicts"), "{context}");
            for (key, expected) in [
                (
                    "load_sectors_per_request",
                    per(counter("global.load.sectors"), counter("global.load.requests")),
                ),
                (
                    "store_sectors_per_request",
                    per(counter("global.store.sectors"), counter("global.store.requests")),
                ),
                (
                    "shared_wavefronts_per_request",
                    per(sum(&shared, "wavefronts"), sum(&shared, "requests")),
                ),
                (
                    "bytes_moved_per_byte",
                    per(
                        counter("bytes_moved"),
                        counter("global.load.bytes") + counter("global.store.bytes"),
                    ),
                ),
            ] {
                assert!(near(row[key].as_f64(), expected), "{context}: {key}: {expected:?}");
            }
        }
    }
}

/// A column of a tile lies in one bank: each of the reads of a warp has 31 conflicts.
#[test]
fn the_conflicts_of_large_matrices_are_all_counted() {
    for (rows, conflicts) in [(4096_u64, 16_252_928), (2048, 4_063_232), (4000, 15_500_000)] {
        let compare = json("transpose", &format!("compare --rows {rows} --device sim"));
        let tiled = compare["tables"]["transpose"].as_array().unwrap().iter();
        let tiled = tiled.clone().find(|row| row["variant"] == "tiled").unwrap();
        assert_eq!(tiled["bank_conflicts"], conflicts, "{rows}");
        assert_eq!(conflicts, rows * rows / 32 * 31);
        assert_eq!(compare["environment"]["counters"], "scaled exactly from smaller matrices");
        let chart = &compare["charts"]["wavefronts"]["series"];
        assert!(chart.is_array(), "{chart}");
    }
}

/// The guide shows a table of 16384 x 16384 elements from an H100. Its times are measured there,
/// and its counters are those of the simulator.
#[test]
fn the_guides_table_of_an_h100_has_these_counters() {
    let page =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../guide/src/transposition.md");
    // Pages have narrow no-break spaces between digits.
    let page = std::fs::read_to_string(page).unwrap().replace('\u{202f}', " ");
    let (_, shown) = page.split_once("<!-- times: lab.transpose.md").unwrap();
    let (shown, _) = shown.split_once("<!-- end of times -->").unwrap();
    let counted = run("transpose", "compare --rows 16384 --device sim");
    let counted: Vec<_> = cells(&counted);
    let mut compared = 0;
    for row in cells(shown).iter().skip(2) {
        let of = counted.iter().find(|of| of[0] == row[0]).unwrap_or_else(|| panic!("{row:?}"));
        // The first columns are the variant and the tile. Then come the times, if there are any.
        assert_eq!(row[6..11], of[2..7], "{}", row[0]);
        compared += 1;
    }
    assert_eq!(compared, 11);
}

/// How often rung 12 polls is the simulator's own order.
#[test]
fn polls_are_neither_hardware_nor_judged() {
    let sentence = "The order in which the simulator runs blocks decides how often they poll";
    let profile = json("reduce", "profile --variant 12 --n 2^18");
    assert_eq!(profile["counters"]["global"]["level"], "simulator");
    assert_eq!(profile["counters"]["level"], "simulator");
    assert_eq!(profile["waste"]["kinds"], serde_json::json!([]));
    assert!(profile["waste"]["sentence"].as_str().unwrap().contains(sentence), "{profile}");
    let text = run("reduce", "profile --variant 12 --n 2^18");
    let level = |name: &str| {
        let row = cells(&text).into_iter().find(|row| row[0] == name);
        row.unwrap_or_else(|| panic!("{name}: {text}"))[1].to_owned()
    };
    assert_eq!(level("global.load.sectors"), "simulator");
    assert_eq!(level("warp_instructions"), "simulator");
    assert_eq!(level("shared.store.wavefronts"), "hardware");
    // Lines of text are broken where they would be wider than a page.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(sentence), "{text}");

    let compare = json("reduce", "compare 7 12 10 --n 2^18");
    let ratios = compare["ratios"].as_object().unwrap();
    for polled in ["warp_instructions", "branches", "global.load.sectors", "bytes_moved"] {
        assert!(ratios[polled][1].is_null(), "{polled}");
    }
    // What does not poll is compared: rung 12 has three barriers where rung 10 has two.
    assert!(ratios["barriers"][1].is_f64() && ratios["shared.store.bytes"][1].is_f64());
    assert!(ratios["warp_instructions"][2].is_f64());
    assert_eq!(compare["profiles"][0]["counters"]["global"]["level"], "hardware");

    let ladder = json("reduce", "ladder --variants 11,12,13 --n 2^18 --device sim");
    let rows = ladder["tables"]["ladder"].as_array().unwrap();
    for key in ["step_by_cost", "cumulative_by_cost", "percent_of_ideal"] {
        assert!(rows[1][key].is_null() && rows[2][key].is_f64(), "{key}");
    }
    // The step of rung 13 is one from rung 11, because rung 12 cannot be compared.
    let cost = |row: usize| rows[row]["cost_in_issue_slots"].as_f64().unwrap();
    assert!(near(rows[2]["step_by_cost"].as_f64(), Some(cost(0) / cost(2))));
    let notes = ladder["notes"]["ladder"].to_string();
    assert!(notes.contains("The blocks of rung 12 wait") && notes.contains(sentence));
    for chart in ["cost", "sectors", "instructions"] {
        assert!(ladder["charts"][chart]["series"][0]["points"][1][1].is_null(), "{chart}");
    }
}
