//! `cargo xtask sass-table`: the machine instructions of the loops in the kernels of `access
//! divide` and `access math`.
//!
//! PTX has one instruction for an integer division, and a GPU has none, so counts of the PTX would
//! make a division look cheap. This command assembles the committed PTX, disassembles it, and
//! counts the instructions of the loop in which a kernel repeats its operation. The lab shows these
//! counts without ptxas, because the table is committed.

mod code;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use cuda_builder::manifest::{Manifest, sha256_hex};
use serde::{Deserialize, Serialize};

use crate::check_ptx::{ARCHS, Tools, output};
use crate::root;

/// The modules whose kernels repeat an operation in a loop.
const MODULES: [&str; 2] = ["access_divide", "access_math"];

/// The committed table, which the lab embeds.
const TABLE: &str = "host/data/sass.json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of ptxas and nvdisasm [default: they are looked for on the PATH]
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,

    /// Compare the committed table with what the tools give, and write nothing
    #[arg(long)]
    check: bool,
}

/// The whole table.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The version of ptxas and nvdisasm.
    tools: String,
    /// The hash of each PTX file.
    ptx: BTreeMap<String, String>,
    loops: Vec<Loop>,
}

/// The loop of one kernel on one architecture.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Loop {
    kernel: String,
    arch: String,
    /// How many operations one turn of the loop does.
    operations: u32,
    /// The instructions of one turn, without any call.
    instructions: u32,
    /// The turn in which every operation calls a subroutine, if there is such a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    slow: Option<Slow>,
}

/// A turn of a loop in which every operation calls a subroutine.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Slow {
    /// The name of the subroutine.
    function: String,
    /// The instructions of one turn, with those of the subroutine.
    instructions: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let tools = args.tools.as_deref().map(Tools::in_folder).transpose()?;
    let Some(tools) = tools.or_else(Tools::on_path) else {
        bail!("ptxas and nvdisasm are not on the PATH: name their folder with --tools");
    };
    let table = Table::make(&tools, &root().join("kernels/ptx"))?;
    let file = root().join(TABLE);
    let text = table.to_json()?;
    if !args.check {
        fs::write(&file, text).with_context(|| format!("cannot write {TABLE}"))?;
        println!("{TABLE}: {} loops, by {}", table.loops.len(), table.tools);
        return Ok(());
    }
    let committed = fs::read_to_string(&file).with_context(|| format!("cannot read {TABLE}"))?;
    let committed: Table =
        serde_json::from_str(&committed).with_context(|| format!("{TABLE} is not such a table"))?;
    println!("{}", committed.compare(&table)?);
    Ok(())
}

impl Table {
    fn make(tools: &Tools, folder: &Path) -> anyhow::Result<Self> {
        let manifest = Manifest::read(folder)?;
        let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
        let cubin = scratch.path().join("cubin");
        let (mut ptx, mut loops) = (BTreeMap::new(), Vec::new());
        for module in manifest.modules.iter().filter(|module| MODULES.contains(&&*module.name)) {
            let file = folder.join(&module.file);
            let text = fs::read(&file).with_context(|| format!("cannot read {}", module.file))?;
            ptx.insert(module.file.clone(), sha256_hex(&text));
            for arch in ARCHS {
                let mut ptxas = Command::new(&tools.ptxas);
                ptxas.args(["-arch", arch, "-o"]).arg(&cubin).arg(&file);
                output(ptxas).with_context(|| format!("{} for {arch}", module.file))?;
                let mut nvdisasm = Command::new(&tools.nvdisasm);
                nvdisasm.arg("-c").arg(&cubin);
                let (sass, _) = output(nvdisasm)?;
                for (kernel, code) in code::kernels(&sass) {
                    let turn = code::hot_loop(&code)
                        .with_context(|| format!("the loop of {kernel} for {arch}"))?;
                    loops.push(Loop { kernel: kernel.to_owned(), arch: arch.to_owned(), ..turn });
                }
            }
        }
        loops.sort_by(|a, b| (&a.kernel, &a.arch).cmp(&(&b.kernel, &b.arch)));
        Ok(Self { tools: version(tools)?, ptx, loops })
    }

    /// JSON with a line for each loop.
    fn to_json(&self) -> anyhow::Result<String> {
        let loops: Vec<String> =
            self.loops.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        Ok(format!(
            "{{\"tools\":{},\n\"ptx\":{},\n\"loops\":[\n{}\n]}}\n",
            serde_json::to_string(&self.tools)?,
            serde_json::to_string(&self.ptx)?,
            loops.join(",\n")
        ))
    }

    /// Compares this committed table with a fresh one. Returns a sentence for people.
    fn compare(&self, fresh: &Self) -> anyhow::Result<String> {
        if self.ptx != fresh.ptx {
            bail!("{TABLE} is of other PTX than the committed one: run `cargo xtask sass-table`");
        }
        if self.tools != fresh.tools {
            return Ok(format!(
                "{TABLE} was made by {}, and {} is here, so the counts are not compared",
                self.tools, fresh.tools
            ));
        }
        if self.loops.len() != fresh.loops.len() {
            bail!("{TABLE} has {} loops, and there are {}", self.loops.len(), fresh.loops.len());
        }
        if let Some((old, new)) = self.loops.iter().zip(&fresh.loops).find(|(old, new)| old != new)
        {
            bail!("{TABLE} has {old:?}, and the tools give {new:?}");
        }
        Ok(format!("{TABLE}: {} loops are as {} makes them", self.loops.len(), self.tools))
    }
}

/// A text such as `ptxas 13.5.37 and nvdisasm 13.5.37`.
fn version(tools: &Tools) -> anyhow::Result<String> {
    let of = |tool: &Path| {
        let mut command = Command::new(tool);
        command.arg("--version");
        let (text, _) = output(command)?;
        let version = text.split(", V").nth(1).and_then(|rest| rest.split_whitespace().next());
        anyhow::Ok(version.context("the tool does not say its version")?.to_owned())
    };
    Ok(format!("ptxas {} and nvdisasm {}", of(&tools.ptxas)?, of(&tools.nvdisasm)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(tools: &str, hash: &str, instructions: u32) -> Table {
        let row = Loop {
            kernel: "k".into(),
            arch: "sm_90".into(),
            operations: 8,
            instructions,
            slow: None,
        };
        let ptx = BTreeMap::from([("k.ptx".to_owned(), hash.to_owned())]);
        Table { tools: tools.into(), ptx, loops: vec![row] }
    }

    #[test]
    fn a_changed_count_is_a_fault_for_the_same_tools_alone() {
        let kept = table("ptxas 1", "a", 31);
        assert!(kept.compare(&table("ptxas 1", "a", 31)).unwrap().contains("1 loops are as"));
        assert!(kept.compare(&table("ptxas 1", "a", 30)).is_err());
        assert!(kept.compare(&table("ptxas 2", "a", 30)).unwrap().contains("not compared"));
        assert!(kept.compare(&table("ptxas 2", "b", 31)).is_err(), "the PTX has changed");
    }

    #[test]
    fn the_committed_table_is_of_the_committed_ptx() {
        let text = fs::read_to_string(root().join(TABLE)).unwrap();
        let table: Table = serde_json::from_str(&text).unwrap();
        assert_eq!(table.to_json().unwrap(), text);
        assert_eq!(table.ptx.len(), MODULES.len());
        for (file, hash) in &table.ptx {
            let ptx = fs::read(root().join("kernels/ptx").join(file)).unwrap();
            assert_eq!(sha256_hex(&ptx), *hash, "{file}: run `cargo xtask sass-table`");
        }
        let manifest = Manifest::read(&root().join("kernels/ptx")).unwrap();
        let kernels =
            manifest.kernels.iter().filter(|kernel| MODULES.contains(&&*kernel.module)).count();
        assert_eq!(table.loops.len(), kernels * ARCHS.len());
    }
}
