//! The table of the times of several GPUs, from the results that are kept.

use std::{fmt::Write as _, fs};

use serde_json::Value as Json;

use super::times::{kept_runs, number, short_name};

/// The name of a case in the results, with `N` for the number of GPUs, and what it is.
const CASES: [(&str, &str); 7] = [
    ("f32 sum N x 2^16", "sum of f32, 2^16 on each GPU"),
    ("f32 sum N x 2^20", "sum of f32, 2^20 on each GPU"),
    ("f32 sum N x 2^28", "sum of f32, 2^28 on each GPU"),
    ("f32 max N x 2^20", "maximum of f32, 2^20"),
    ("f32 argmax N x 2^20", "its index, 2^20"),
    ("f32 moments N x 2^20", "mean and variance of f32, 2^20"),
    ("f32 reproducible sum N x 2^20", "reproducible sum of f32, 2^20"),
];
/// PyTorch's case in which nothing is reduced on a GPU.
const SMALLEST: &str = "all-reduce of 2^0 f32";

fn row<'a>(results: &'a Json, name: &str) -> Option<&'a Json> {
    results["rows"].as_array().unwrap().iter().find(|row| row["name"] == name)
}

/// A table for each run that is kept, with the time of several GPUs together, of one of them with
/// its shard alone, and of PyTorch with NCCL, if that was measured on as many GPUs of the kind.
pub(super) fn groups() -> String {
    let mut text = String::new();
    for (file, json) in kept_runs("groups.json") {
        let torch = fs::read_to_string(file.with_file_name("groups-torch.json")).ok();
        let torch: Option<Json> = torch.map(|text| serde_json::from_str(&text).unwrap());
        let (gpus, device) = (&json["gpus"], short_name(&json["device"]));
        assert!(torch.iter().all(|torch| torch["gpus"] == *gpus), "{}", file.display());
        let peer = |case: &str, key: &str| {
            let row = row(torch.as_ref()?, case)?;
            Some(format!("{:.2} µs", number(&row[key])))
        };
        writeln!(
            text,
            "| {gpus} {device} | together | one of them alone | added | PyTorch and NCCL |\n\
             |---|---:|---:|---:|---:|"
        )
        .unwrap();
        for (case, what) in CASES {
            let case = case.replace('N', &gpus.to_string());
            let ours = row(&json, &case).unwrap_or_else(|| panic!("no case {case}"));
            let [together, alone] =
                ["together", "alone"].map(|who| number(&ours[who]["median_us"]));
            let peer = peer(&case, "torch_us").unwrap_or_else(|| "–".into());
            let added = together - alone;
            writeln!(
                text,
                "| {what} | {together:.2} µs | {alone:.2} µs | {added:.2} µs | {peer} |"
            )
            .unwrap();
        }
        if let Some(smallest) = peer(SMALLEST, "nccl_us") {
            writeln!(text, "| NCCL's all-reduce of one f32 | – | – | – | {smallest} |").unwrap();
        }
        text += "\n";
    }
    text.trim_end().to_owned() + "\n"
}
