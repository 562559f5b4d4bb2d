//! The table of the times of several GPUs, from the results that are kept.

use std::{fmt::Write as _, fs};

use serde_json::Value as Json;

use super::times::{kept_runs, number, short_name};

/// The name of a case in the results, and what it is.
const CASES: [(&str, &str); 7] = [
    ("f32 sum 2 x 2^16", "sum of f32, 2^16 on each GPU"),
    ("f32 sum 2 x 2^20", "sum of f32, 2^20 on each GPU"),
    ("f32 sum 2 x 2^28", "sum of f32, 2^28 on each GPU"),
    ("f32 max 2 x 2^20", "maximum of f32, 2^20"),
    ("f32 argmax 2 x 2^20", "its index, 2^20"),
    ("f32 moments 2 x 2^20", "mean and variance of f32, 2^20"),
    ("f32 reproducible sum 2 x 2^20", "reproducible sum of f32, 2^20"),
];
/// PyTorch's case in which nothing is reduced on a GPU.
const SMALLEST: &str = "all-reduce of 2^0 f32";

fn row<'a>(results: &'a Json, name: &str) -> Option<&'a Json> {
    results["rows"].as_array().unwrap().iter().find(|row| row["name"] == name)
}

/// A table for each run that is kept, with the time of several GPUs together, of one of them with
/// its shard alone, and of PyTorch with NCCL on the same GPUs.
pub(super) fn groups() -> String {
    let mut text = String::new();
    for (file, json) in kept_runs("groups.json") {
        let torch = fs::read_to_string(file.with_file_name("groups-torch.json")).unwrap();
        let torch: Json = serde_json::from_str(&torch).unwrap();
        let (gpus, device) = (&json["gpus"], short_name(&json["device"]));
        assert_eq!(*gpus, torch["gpus"], "{}", file.display());
        writeln!(
            text,
            "| {gpus} {device} | together | one of them alone | added | PyTorch and NCCL |\n\
             |---|---:|---:|---:|---:|"
        )
        .unwrap();
        for (case, what) in CASES {
            let ours = row(&json, case).unwrap_or_else(|| panic!("no case {case}"));
            let [together, alone] =
                ["together", "alone"].map(|who| number(&ours[who]["median_us"]));
            let peer = row(&torch, case)
                .map_or_else(|| "–".into(), |row| format!("{:.2} µs", number(&row["torch_us"])));
            let added = together - alone;
            writeln!(
                text,
                "| {what} | {together:.2} µs | {alone:.2} µs | {added:.2} µs | {peer} |"
            )
            .unwrap();
        }
        let smallest = number(&row(&torch, SMALLEST).unwrap()["nccl_us"]);
        writeln!(text, "| NCCL's all-reduce of one f32 | – | – | – | {smallest:.2} µs |\n")
            .unwrap();
    }
    text.trim_end().to_owned() + "\n"
}
