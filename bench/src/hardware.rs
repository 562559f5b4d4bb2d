//! Measurements of hardware for the launches of a [`plan`](crate::plan): counters of Nsight Compute
//! (`ncu`) and verdicts of compute-sanitizer. This module turns both into JSON files that tests
//! read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use simt::Dim3;

use crate::plan::{Case, Plan};

/// The counters of the simulator that hardware has too, each with its metric (a sum over the chip).
/// For a request in shared memory `ncu` counts instructions.
const COMPARABLE: [(&str, &str); 17] = [
    ("global.load.requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld"),
    ("global.load.sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"),
    ("global.store.requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st"),
    ("global.store.sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st"),
    ("global.atomic.requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom"),
    ("global.atomic.sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom"),
    ("global.reduction.requests", "l1tex__t_requests_pipe_lsu_mem_global_op_red"),
    ("global.reduction.sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_red"),
    ("shared.load.requests", "smsp__inst_executed_op_shared_ld"),
    ("shared.load.wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld"),
    ("shared.load.bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld"),
    ("shared.store.requests", "smsp__inst_executed_op_shared_st"),
    ("shared.store.wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"),
    ("shared.store.bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st"),
    ("shared.atomic.requests", "smsp__inst_executed_op_shared_atom"),
    ("shared.atomic.wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom"),
    ("shared.atomic.bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom"),
];

/// Further metrics, which keep their own names. Some count instructions, but of the machine code
/// and not of the PTX. The others are other counts of the same accesses.
const BESIDE: [&str; 10] = [
    "smsp__inst_executed",
    "smsp__thread_inst_executed",
    "smsp__inst_executed_op_branch",
    "smsp__sass_branch_targets",
    "smsp__sass_branch_targets_threads_divergent",
    "smsp__sass_inst_executed_op_shared_ld",
    "smsp__sass_inst_executed_op_shared_st",
    "smsp__sass_inst_executed_op_shared_atom",
    "smsp__inst_executed_op_global_ld",
    "smsp__inst_executed_op_global_st",
];

/// The metrics to ask `ncu` for, without the suffix `.sum`.
pub fn metrics() -> impl Iterator<Item = &'static str> {
    COMPARABLE.iter().map(|(_, metric)| *metric).chain(BESIDE)
}

/// The machine, the tool and the day of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
pub struct Machine {
    /// The GPU's name
    #[arg(long)]
    pub device: String,
    /// The version of its driver
    #[arg(long)]
    pub driver: String,
    /// The tool and its version
    #[arg(long)]
    pub tool: String,
    /// The day, as 2026-11-22
    #[arg(long)]
    pub date: String,
}

/// The counts of the hardware for all launches of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The machine, the tool and the day.
    #[serde(flatten)]
    pub machine: Machine,
    /// The cases, in the order of the plan.
    pub cases: Vec<RecordedCase>,
}

/// The counts of the hardware for one launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCase {
    /// The case's name in the plan.
    pub name: String,
    /// The counters by the simulator's names, without those that hardware does not have.
    pub counters: BTreeMap<String, u64>,
    /// The further metrics by `ncu`'s names.
    pub metrics: BTreeMap<String, u64>,
}

impl Recording {
    /// Reads a recording; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no recording.
    pub fn read(file: &Path) -> anyhow::Result<Option<Recording>> {
        read(file, "recording")
    }

    /// Parses the raw page that `ncu --csv --page raw` prints for a run of `replay` over the whole
    /// plan.
    ///
    /// # Errors
    ///
    /// If the launches are not those of the plan, in its order, or if the table has another form.
    pub fn from_ncu(machine: Machine, plan: &Plan, csv: &str) -> anyhow::Result<Recording> {
        // Messages may come before the table.
        let start = csv
            .lines()
            .position(|line| line.starts_with("\"ID\""))
            .context("no table begins with \"ID\"")?;
        let table: Vec<&str> = csv.lines().skip(start).collect();
        let table = table.join("\n");
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let head = reader.headers()?.clone();
        let column = |name: &str| head.iter().position(|title| title == name);
        let needed =
            |name: &str| column(name).with_context(|| format!("the table has no column {name}"));
        let (kernel, grid, block) =
            (needed("Kernel Name")?, needed("Grid Size")?, needed("Block Size")?);

        let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>()?;
        // The row below the header has units and no ID, so it is left out.
        let launches: Vec<&csv::StringRecord> =
            rows.iter().filter(|row| !row[0].is_empty()).collect();
        ensure!(
            launches.len() == plan.cases.len(),
            "the plan has {} cases, and {} launches were profiled",
            plan.cases.len(),
            launches.len()
        );
        let cases = plan.cases.iter().zip(launches).map(|(case, row)| {
            check_is(case, &row[kernel], &row[grid], &row[block])
                .with_context(|| format!("case {}", case.name))?;
            let value = |metric: &str| {
                column(&format!("{metric}.sum")).and_then(|column| number(&row[column]))
            };
            let counters = COMPARABLE
                .iter()
                .filter_map(|(name, metric)| Some(((*name).to_owned(), value(metric)?)));
            let metrics =
                BESIDE.iter().filter_map(|metric| Some(((*metric).to_owned(), value(metric)?)));
            Ok(RecordedCase {
                name: case.name.clone(),
                counters: counters.collect(),
                metrics: metrics.collect(),
            })
        });
        Ok(Recording { machine, cases: cases.collect::<anyhow::Result<_>>()? })
    }

    /// Writes JSON with one line for each case.
    ///
    /// # Errors
    ///
    /// If the serializer fails, which is not expected.
    pub fn to_json(&self) -> anyhow::Result<String> {
        to_json(&self.machine, &self.cases)
    }
}

/// Reads a JSON file that should contain a `what`; `None` if there is no such file.
fn read<T: DeserializeOwned>(file: &Path, what: &str) -> anyhow::Result<Option<T>> {
    if !file.exists() {
        return Ok(None);
    }
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is not a {what}", file.display()))
        .map(Some)
}

/// JSON with the machine's members, followed by `cases`. Each case is on a line of its own, so that
/// a diff shows which cases changed.
fn to_json(machine: &Machine, cases: &[impl Serialize]) -> anyhow::Result<String> {
    let head = serde_json::to_string(machine)?;
    let head = head.strip_suffix('}').context("a machine is an object")?;
    let cases: Vec<String> = cases.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!("{head},\"cases\":[\n{}\n]}}\n", cases.join(",\n")))
}

/// Checks that a profiled launch is that of the case.
fn check_is(case: &Case, kernel: &str, grid: &str, block: &str) -> anyhow::Result<()> {
    // For a C++ kernel, ncu prints the parameters too.
    let name = kernel.split('(').next().unwrap_or_default();
    ensure!(name == case.entry, "kernel {kernel} was profiled in its place");
    let same = |text: &str, dim: Dim3| {
        let numbers: Option<Vec<u64>> =
            text.trim_matches(['(', ')']).split(',').map(|side| side.trim().parse().ok()).collect();
        numbers.is_some_and(|numbers| numbers == [dim.x, dim.y, dim.z].map(u64::from))
    };
    ensure!(
        same(grid, case.grid) && same(block, case.block),
        "grid {grid} and block {block} were profiled"
    );
    Ok(())
}

/// Parses a count, with or without separators of thousands; `None` if ncu prints that there is no
/// count.
fn number(text: &str) -> Option<u64> {
    let plain: String = text.chars().filter(|&c| c != ',').collect();
    plain.parse().ok().or_else(|| {
        plain.parse::<f64>().ok().filter(|value| value.fract() == 0.0).map(|value| value as u64)
    })
}

/// compute-sanitizer's tools.
pub const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// The verdicts of compute-sanitizer for the launches of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// The machine, the tool and the day.
    #[serde(flatten)]
    pub machine: Machine,
    /// The cases, in the order of the plan.
    pub cases: Vec<JudgedCase>,
}

/// The verdicts of compute-sanitizer for one launch: for each of its [`TOOLS`], `clean` or the
/// first report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the tools'")]
pub struct JudgedCase {
    /// The case's name in the plan.
    pub name: String,
    /// The report that the plan expects from the simulator's check: `clean`, or a class.
    pub simt: String,
    pub memcheck: String,
    pub racecheck: String,
    pub initcheck: String,
    pub synccheck: String,
}

impl Verdicts {
    /// Reads verdicts; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or has no verdicts.
    pub fn read(file: &Path) -> anyhow::Result<Option<Verdicts>> {
        read(file, "table of verdicts")
    }

    /// Reads the output of the tools. `logs/TOOL/CASE` holds the output of a tool, followed by a
    /// line `exit status N`.
    ///
    /// # Errors
    ///
    /// If a log is missing.
    pub fn from_logs(machine: Machine, plan: &Plan, logs: &Path) -> anyhow::Result<Verdicts> {
        let judge = |case: &Case| {
            let verdict = |tool: &str| {
                let file = logs.join(tool).join(&case.name);
                let log =
                    fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
                anyhow::Ok(verdict(&String::from_utf8_lossy(&log)))
            };
            let [memcheck, racecheck, initcheck, synccheck] = TOOLS.map(verdict);
            Ok(JudgedCase {
                name: case.name.clone(),
                simt: case.mutation.as_ref().map_or("clean", |mutation| &mutation.class).to_owned(),
                memcheck: memcheck?,
                racecheck: racecheck?,
                initcheck: initcheck?,
                synccheck: synccheck?,
            })
        };
        if plan.cases.is_empty() {
            bail!("the plan has no cases");
        }
        Ok(Verdicts {
            machine,
            cases: plan.cases.iter().map(judge).collect::<anyhow::Result<_>>()?,
        })
    }

    /// Writes JSON with one line for each case.
    ///
    /// # Errors
    ///
    /// If the serializer fails, which is not expected.
    pub fn to_json(&self) -> anyhow::Result<String> {
        to_json(&self.machine, &self.cases)
    }
}

/// The verdict in a tool's log: `clean`, `timeout`, or the tool's first report. If the log has none
/// of these, the verdict says so and gives the exit status.
fn verdict(log: &str) -> String {
    let messages: Vec<&str> =
        log.lines().filter_map(|line| line.strip_prefix("========= ")).collect();
    // The details of a report are indented, so they are left out.
    let report = messages.iter().find(|message| {
        !(message.starts_with(' ')
            || message.starts_with("COMPUTE-SANITIZER")
            || message.contains("SUMMARY"))
    });
    let status =
        log.lines().rev().find_map(|line| line.strip_prefix("exit status ")).unwrap_or("unknown");
    let clean = messages.iter().any(|message| {
        message.contains("SUMMARY")
            && (message.contains(": 0 errors") || message.contains(": 0 hazards"))
    });
    match report {
        Some(report) => (*report).to_owned(),
        None if clean && status == "0" => "clean".to_owned(),
        None if matches!(status, "124" | "137") => "timeout".to_owned(),
        None => format!("no verdict (exit status {status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            device: "H100".into(),
            driver: "580".into(),
            tool: "ncu".into(),
            date: "2026-11-22".into(),
        }
    }

    fn plan() -> Plan {
        let case = |name: &str, entry: &str| {
            format!(
                r#"{{"name": "{name}", "ptx": "a.ptx", "entry": "{entry}", "grid": 4, "block": [32, 8], "args": []}}"#
            )
        };
        let text =
            format!(r#"{{"cases": [{}, {}]}}"#, case("first", "copy"), case("second", "sum"));
        serde_json::from_str(&text).unwrap()
    }

    const CSV: &str = r#"==PROF== Connected to process 1
"ID","Kernel Name","Block Size","Grid Size","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed.sum","smsp__inst_executed_op_branch.sum"
"","","","","","inst","inst"
"0","copy","(32, 8, 1)","(4, 1, 1)","1,024","77","n/a"
"1","sum(int *)","(32, 8, 1)","(4, 1, 1)","3","78.0","2"
"#;

    #[test]
    fn the_profilers_table_is_read() {
        let recording = Recording::from_ncu(machine(), &plan(), CSV).unwrap();
        let [first, second] = &*recording.cases else { panic!("two cases") };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("first", "second"));
        assert_eq!(first.counters, BTreeMap::from([("global.load.requests".to_owned(), 1024)]));
        assert_eq!(first.metrics, BTreeMap::from([("smsp__inst_executed".to_owned(), 77)]));
        assert_eq!(second.metrics["smsp__inst_executed"], 78);

        let json = recording.to_json().unwrap();
        assert_eq!(serde_json::from_str::<Recording>(&json).unwrap(), recording);
        assert_eq!(json.lines().count(), 4);
    }

    #[test]
    fn launches_of_another_plan_are_refused() {
        let refused =
            |csv: &str| format!("{:#}", Recording::from_ncu(machine(), &plan(), csv).unwrap_err());
        assert_eq!(
            refused(&CSV.replace("sum(", "max(")),
            "case second: kernel max(int *) was profiled in its place"
        );
        assert!(
            refused(&CSV.replacen("(4, 1, 1)", "(5, 1, 1)", 1))
                .starts_with("case first: grid (5, 1, 1)")
        );
        let shorter = CSV.lines().take(4).collect::<Vec<_>>().join("\n");
        assert_eq!(refused(&shorter), "the plan has 2 cases, and 1 launches were profiled");
        assert_eq!(refused("==ERROR== no"), "no table begins with \"ID\"");
    }

    #[test]
    fn a_verdict_is_the_first_report() {
        for (log, expected) in [
            (
                "========= COMPUTE-SANITIZER\na\tok\n========= ERROR SUMMARY: 0 errors\nexit status 0\n",
                "clean",
            ),
            (
                "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\nexit status 0",
                "clean",
            ),
            (
                "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n\
                 =========     at copy+0x90\n========= ERROR SUMMARY: 1 error\nexit status 9\n",
                "Invalid __global__ read of size 4 bytes",
            ),
            ("========= COMPUTE-SANITIZER\nexit status 124\n", "timeout"),
            ("Segmentation fault\nexit status 139\n", "no verdict (exit status 139)"),
        ] {
            assert_eq!(verdict(log), expected);
        }
    }

    #[test]
    fn logs_become_a_table() {
        let folder = tempfile::tempdir().unwrap();
        for tool in TOOLS {
            fs::create_dir(folder.path().join(tool)).unwrap();
            for name in ["first", "second"] {
                let log = format!("========= {tool} of {name}\nexit status 9\n");
                fs::write(folder.path().join(tool).join(name), log).unwrap();
            }
        }
        let verdicts = Verdicts::from_logs(machine(), &plan(), folder.path()).unwrap();
        assert_eq!(verdicts.cases[1].racecheck, "racecheck of second");
        assert_eq!(
            serde_json::from_str::<Verdicts>(&verdicts.to_json().unwrap()).unwrap(),
            verdicts
        );
        fs::remove_file(folder.path().join("synccheck/first")).unwrap();
        assert!(Verdicts::from_logs(machine(), &plan(), folder.path()).is_err());
    }
}
