//! Tests of `bench/TARGETS.md`: its table is that of the newest `targets.txt` of each device, and
//! it says of each target that is missed why it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
};

use super::{assert_file, root};

const BEGIN: &str = "<!-- targets -->\n";
const END: &str = "<!-- end of targets -->";

/// What was reached of a target.
struct Reached {
    bound: String,
    worst: String,
    median: String,
    is_met: bool,
}

/// The targets in the text of a `targets.txt`, in order, and the name of its device.
fn read(text: &str) -> (String, Vec<(String, Reached)>) {
    let device = text.lines().find_map(|line| line.strip_prefix("device  ")).unwrap();
    // The memory's size and kind are left out.
    let device = device.trim_start_matches("NVIDIA ").split(' ').next().unwrap();
    let targets = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, bound, worst, median, _, _, verdict, ..] = cells[..] else { return None };
        let is_met = match verdict {
            "met" => true,
            "missed" => false,
            _ => return None,
        };
        let [bound, worst, median] = [bound, worst, median].map(str::to_owned);
        Some((name.to_owned(), Reached { bound, worst, median, is_met }))
    });
    (device.to_owned(), targets.collect())
}

#[test]
fn missed_targets_are_explained() {
    let folders = fs::read_dir(root().join("bench/results")).unwrap();
    let mut files: Vec<_> =
        folders.map(|folder| folder.unwrap().path().join("targets.txt")).collect();
    files.retain(|file| file.is_file());
    files.sort();
    // The newest of a device is the last.
    let of_devices: BTreeMap<_, _> =
        files.iter().map(|file| read(&fs::read_to_string(file).unwrap())).collect();
    assert_eq!(of_devices.keys().collect::<Vec<_>>(), ["H100", "H200"]);
    let [h100, h200] = ["H100", "H200"].map(|device| &of_devices[device]);
    assert!(h100.len() > 30, "{} targets", h100.len());

    let mut table = String::from(
        "| target | H100: bound | worst | median | H200: bound | worst | median | met |\n\
         |---|---:|---:|---:|---:|---:|---:|---|\n",
    );
    let mut missed = BTreeSet::new();
    for ((name, one), (same, other)) in h100.iter().zip(h200) {
        assert_eq!(name, same);
        let met: Vec<&str> = [(one, "H100"), (other, "H200")]
            .into_iter()
            .filter_map(|(reached, device)| reached.is_met.then_some(device))
            .collect();
        let met = if met.is_empty() { "–".to_owned() } else { met.join(", ") };
        write!(table, "| {name} |").unwrap();
        for Reached { bound, worst, median, .. } in [one, other] {
            write!(table, " {bound} | {worst} | {median} |").unwrap();
        }
        writeln!(table, " {met} |").unwrap();
        if !(one.is_met && other.is_met) {
            missed.insert(name.as_str());
        }
    }

    let path = root().join("bench/TARGETS.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    if let Err(error) = assert_file(&path, &format!("{before}{BEGIN}\n{table}\n{END}{after}")) {
        panic!("{error}");
    }
    let explained: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(explained, missed, "the targets that are explained, and those that are missed");
}
