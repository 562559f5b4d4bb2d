//! `cargo xtask check-ptx`: assembles the committed PTX with ptxas for every generation of GPU that
//! it can run on, and checks the result.

mod loads;
pub(crate) mod sass;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use cuda_builder::manifest::{Kernel, Manifest, Module, SharedKind};
use rayon::prelude::*;

use self::loads::Round;
use self::sass::Instruction;
use crate::ptx_folder::{FOLDERS, Form};
use crate::{kernel_name, root};

/// One architecture of each generation of GPU for which a driver would compile the files.
pub(crate) const ARCHS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// The architectures whose machine code is read as well. Two are enough, because the address space
/// of an access depends on the PTX and not on the generation; and nvdisasm already takes half of
/// the time.
const DISASSEMBLED: [&str; 2] = ["sm_75", "sm_90"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of ptxas and nvdisasm [default: they are looked for on the PATH]
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,

    /// The folder of PTX to check [default: both committed folders]
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,

    /// The architectures to assemble for, because each takes about a minute
    #[arg(long, value_name = "ARCH", value_delimiter = ',', default_values = ARCHS, value_parser = ARCHS)]
    archs: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let tools = args.tools.as_deref().map(Tools::in_folder).transpose()?;
    let Some(tools) = tools.or_else(Tools::on_path) else {
        println!(
            "not checked: ptxas and nvdisasm are not on the PATH (name their folder with --tools)"
        );
        return Ok(());
    };
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folders: Vec<PathBuf> = match &args.ptx_dir {
        Some(folder) => vec![folder.clone()],
        None => committed(&root(), scratch.path())?,
    };
    let manifests: Vec<Manifest> =
        folders.iter().map(|folder| Manifest::read(folder)).collect::<Result<_, _>>()?;

    let mut jobs = Vec::new();
    for arch in &args.archs {
        for (folder, manifest) in folders.iter().zip(&manifests) {
            let batches = batches(folder, loaded(&manifest.modules, arch))?;
            jobs.extend(batches.into_iter().map(|batch| (batch, arch)));
        }
    }
    let reports: Vec<Report<'_>> = jobs
        .par_iter()
        .map(|(batch, arch)| assemble(&tools, batch, arch, scratch.path()))
        .collect::<Result<_, _>>()?;

    let kernels: BTreeMap<&str, &Kernel> = manifests
        .iter()
        .flat_map(|manifest| manifest.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel)))
        .collect();
    let faults: Vec<String> = reports.iter().flat_map(|report| report.faults(&kernels)).collect();
    println!("arch     files kernels max registers with LDS and STS");
    for arch in &args.archs {
        let of_arch: Vec<_> = reports.iter().filter(|report| report.arch == arch).collect();
        let entries = || of_arch.iter().flat_map(|report| report.entries.values());
        let registers = entries().map(|entry| entry.registers).max().unwrap_or(0);
        let shared = entries().filter(|entry| entry.shared_loads && entry.shared_stores).count();
        let shared =
            if DISASSEMBLED.contains(&arch.as_str()) { shared.to_string() } else { "-".to_owned() };
        let files: usize = of_arch.iter().map(|report| report.files).sum();
        println!("{arch:7} {files:>6} {:>7} {registers:>13} {shared:>16}", entries().count());
    }
    if !faults.is_empty() {
        bail!(
            "ptxas and the manifest disagree with what a kernel should be:\n  {}",
            faults.join("\n  ")
        );
    }
    Ok(())
}

/// The committed folders. Archives are unpacked to a folder in `scratch`, as ptxas reads files.
fn committed(root: &Path, scratch: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for folder in FOLDERS {
        folders.push(match folder.form {
            Form::Files => root.join(folder.path),
            Form::Archives => {
                let unpacked = scratch.join(folder.path);
                folder.unpack(root, &unpacked)?;
                unpacked
            }
        });
    }
    Ok(folders)
}

/// NVIDIA's assembler and disassembler.
pub(crate) struct Tools {
    pub(crate) ptxas: PathBuf,
    pub(crate) nvdisasm: PathBuf,
}

impl Tools {
    pub(crate) fn in_folder(folder: &Path) -> anyhow::Result<Self> {
        let tool = |name: &str| {
            let path = folder.join(name);
            if path.is_file() {
                Ok(path)
            } else {
                bail!("there is no {name} in {}", folder.display())
            }
        };
        Ok(Self { ptxas: tool("ptxas")?, nvdisasm: tool("nvdisasm")? })
    }

    pub(crate) fn on_path() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find_map(|folder| Self::in_folder(&folder).ok())
    }
}

/// The number of an architecture, or `None` if the name has a suffix, as the architecture-specific
/// `sm_90a`.
fn number(arch: &str) -> Option<u32> {
    arch.strip_prefix("sm_")?.parse().ok()
}

/// True if PTX for `target` may be assembled for `arch`. `arch` may be later than `target`, unless
/// the target is architecture-specific.
fn runs_on(target: &str, arch: &str) -> bool {
    match (number(target), number(arch)) {
        (Some(target), Some(arch)) => target <= arch,
        _ => target == arch,
    }
}

/// The modules that are loaded on an architecture. If a name has several modules, it is the one for
/// the latest target.
fn loaded<'a>(modules: &'a [Module], arch: &str) -> impl Iterator<Item = &'a Module> {
    let mut latest: BTreeMap<&str, &Module> = BTreeMap::new();
    for module in modules.iter().filter(|module| runs_on(&module.arch, arch)) {
        let best = latest.entry(&module.name).or_insert(module);
        if number(&module.arch) > number(&best.arch) {
            *best = module;
        }
    }
    latest.into_values()
}

/// Files that are assembled together, because nvdisasm takes half a second to start and reads only
/// one cubin. The code of a kernel does not depend on the other kernels in the cubin.
struct Batch<'a> {
    /// The folder of the files.
    folder: &'a Path,
    /// The architecture that their PTX is for.
    target: &'a str,
    files: Vec<&'a str>,
}

/// The most files in a batch. There are enough that the start of nvdisasm costs little, and few
/// enough that all cores have work.
const FILES_TOGETHER: usize = 24;

fn batches<'a>(
    folder: &'a Path,
    modules: impl Iterator<Item = &'a Module>,
) -> anyhow::Result<Vec<Batch<'a>>> {
    let mut plain: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut batches = Vec::new();
    for Module { arch, file, .. } in modules {
        let ptx =
            fs::read_to_string(folder.join(file)).with_context(|| format!("cannot read {file}"))?;
        // ptxas accepts only one line table, so a file with such a table is assembled alone.
        if ptx.contains("\n\t.file") {
            batches.push(Batch { folder, target: arch, files: vec![file] });
        } else {
            plain.entry(arch).or_default().push(file);
        }
    }
    for (target, files) in plain {
        batches.extend(files.chunks(FILES_TOGETHER).map(|files| Batch {
            folder,
            target,
            files: files.to_vec(),
        }));
    }
    Ok(batches)
}

/// The facts that ptxas and nvdisasm report about a batch.
struct Report<'a> {
    target: &'a str,
    arch: &'a str,
    files: usize,
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Entry {
    stack_bytes: u32,
    spill_bytes: u32,
    registers: u32,
    shared_loads: bool,
    shared_stores: bool,
    generic: bool,
    /// The rounds of loads in a production kernel's code for sm_90; `None` for all other code.
    rounds: Option<Vec<Round>>,
}

fn assemble<'a>(
    tools: &Tools,
    batch: &Batch<'a>,
    arch: &'a str,
    scratch: &Path,
) -> anyhow::Result<Report<'a>> {
    let name = batch.files[0];
    let cubin = scratch.join(format!("{name}.{arch}.cubin"));
    let mut ptxas = Command::new(&tools.ptxas);
    ptxas
        .args(["-v", "-arch", arch, "-o"])
        .arg(&cubin)
        .args(batch.files.iter().map(|file| batch.folder.join(file)));
    let (_, log) = output(ptxas).with_context(|| match batch.files.len() {
        1 => format!("{name} does not assemble for {arch}"),
        count => format!("{name} and {} more do not assemble together for {arch}", count - 1),
    })?;
    let mut entries = read_log(&log);
    if DISASSEMBLED.contains(&arch) {
        let mut nvdisasm = Command::new(&tools.nvdisasm);
        nvdisasm.arg("-c").arg(&cubin);
        let (sass, _) = output(nvdisasm).with_context(|| format!("{name} for {arch}"))?;
        read_sass(&sass, batch.target, &mut entries);
    }
    fs::remove_file(&cubin).with_context(|| format!("cannot remove {}", cubin.display()))?;
    Ok(Report { target: batch.target, arch, files: batch.files.len(), entries })
}

/// Runs a tool and returns what it wrote on stdout and stderr.
pub(crate) fn output(mut command: Command) -> anyhow::Result<(String, String)> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{} failed: {}", command.get_program().display(), stderr.trim());
    }
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), stderr))
}

/// Reads the facts that `ptxas -v` reports about each entry.
fn read_log(log: &str) -> BTreeMap<String, Entry> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    let mut current = None;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            current = rest.split('\'').next().map(str::to_owned);
        }
        let Some(entry) = current.as_ref().map(|name| entries.entry(name.clone()).or_default())
        else {
            continue;
        };
        // The lines are `0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads` and
        // `Used 12 registers, used 1 barriers`.
        for part in line.split(", ") {
            let number =
                || part.split_whitespace().find_map(|word| word.parse::<u32>().ok()).unwrap_or(0);
            if part.ends_with("bytes stack frame") {
                entry.stack_bytes += number();
            } else if part.contains("bytes spill") {
                entry.spill_bytes += number();
            } else if part.contains("Used ") && part.ends_with("registers") {
                entry.registers = number();
            }
        }
    }
    entries
}

/// The most bytes that a kernel may spill, stores and loads together, on an architecture.
fn most_spilled(name: &str, arch: &str) -> u32 {
    let is_one_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if is_one_of(&["rows_", "maderows_"]) {
        // The bounds of these are those with which ptxas spills nothing on sm_90.
        if name.ends_with("_single") {
            return if arch == "sm_120" { 28 } else { 0 };
        }
        // Kernels for elements of one or two bytes keep more numbers than there are registers for
        // as many warps as hide the latency of memory.
        let is_of_bytes = ["_i8", "_u8"].iter().any(|end| name.ends_with(end));
        let is_narrow = is_of_bytes || name.ends_with("16");
        let is_pair = is_one_of(&["rows_dot_", "rows_ssd_"]);
        return match arch {
            "sm_75" | "sm_80" => match (is_narrow, is_pair) {
                (true, true) => 236,
                (true, false) => 192,
                (false, true) => 56,
                (false, false) => 52,
            },
            // A few kernels for words need some registers more on sm_120 than on sm_90.
            "sm_120" if !is_narrow => 144,
            "sm_120" if name == "rows_maxabs_i8" => 244,
            "sm_120" if name.starts_with("rows_logsumexp_") => 156,
            "sm_120" if is_of_bytes => 188,
            "sm_120" if name.starts_with("rows_moments_") => 104,
            "sm_120" if name.starts_with("maderows_sum") => 84,
            "sm_120" => 60,
            "sm_100" if is_of_bytes && name.starts_with("rows_moments_") => 108,
            _ if name == "rows_maxabs_i8" => 216,
            _ if name == "rows_within_u8" => 96,
            // Where blocks meet, a lane has the words of up to eight of them in registers, and
            // these operations need many registers themselves.
            _ if name.starts_with("rows_product_") => 60,
            _ if is_of_bytes && name.starts_with("rows_sum") => 112,
            _ if is_narrow && name.starts_with("rows_logsumexp_") => 84,
            _ if is_narrow
                && is_one_of(&["rows_moments_", "maderows_moments_", "maderows_sum"]) =>
            {
                60
            }
            _ if is_of_bytes => 60,
            _ if ["maderows_sum_f32", "maderows_sumsq_f32"].contains(&name) => 32,
            _ if is_narrow || name.starts_with("rows_logsumexp_") => 16,
            _ if ["rows_max_f64", "rows_min_f64"].contains(&name) => 28,
            // Many keep the number of the thread from the beginning of the kernel until its blocks
            // meet.
            _ => 8,
        };
    }
    // The bound is that of the fastest kernels on an H200. It was not tuned for devices before
    // sm_90, because none of them has run these kernels yet. Sums of integers of 32 bits have 64.
    if name.starts_with("keyed_") {
        return match arch {
            "sm_75" | "sm_80" => 640,
            _ if name.starts_with("keyed_sum_") => 44,
            _ => 8,
        };
    }
    if let Some(kernel) = name.strip_prefix("segments_") {
        return most_spilled_for_segments(kernel, arch);
    }
    // The bound leaves them fewer registers than shared memory has room for, as it does segments.
    if arch == "sm_120" && name.starts_with("bins_sum_") {
        return 72;
    }
    // On sm_120 the last block of these kernels keeps the first part of a sum in memory while it
    // waits for the other blocks.
    let is_moments = is_one_of(&["reduce_moments_", "made_moments_", "fused_moments_"]);
    if arch == "sm_120" && is_moments { 40 } else { 0 }
}

/// How many bytes the kernel `segments_<kernel>` may spill, loads included.
///
/// A multiprocessor of sm_120 has shared memory for fewer warps than one of sm_90, but the PTX is
/// the same. So its bound lets these kernels spill there, though registers would be free. On sm_90
/// it leaves 64 registers for each of 32 warps. An argmin of segments of 64 elements that spilled
/// 12 bytes took no longer than with 76 registers and 24 warps (H200, attempt 131 of
/// `bench/NOTEBOOK.md`). Since attempt 137 it spills 52, and takes 2 % longer.
fn most_spilled_for_segments(kernel: &str, arch: &str) -> u32 {
    let (op, element) = kernel.rsplit_once('_').unwrap_or((kernel, ""));
    let is_index = op.starts_with("arg");
    match (arch, op) {
        ("sm_90" | "sm_100", "moments") => 16,
        ("sm_90" | "sm_100", "minmax") if element.ends_with("128") => 100,
        ("sm_90" | "sm_100", "logsumexp") => 84,
        ("sm_90" | "sm_100", "checked") => 60,
        ("sm_90" | "sm_100", "within") => 52,
        ("sm_90" | "sm_100", "product") => 36,
        (
            "sm_90" | "sm_100",
            "minmax" | "maxabs" | "maximum" | "minimum" | "sumsq" | "compensated",
        ) => 24,
        ("sm_90" | "sm_100", _) if is_index => 76,
        ("sm_120", "moments") => 284,
        ("sm_120", "minmax" | "checked") => 268,
        ("sm_120", _) if is_index => 280,
        ("sm_120", "max" | "logsumexp") => 204,
        ("sm_120", "within") => 180,
        ("sm_120", "product" | "maxabs") => 172,
        ("sm_120", "compensated") => 156,
        ("sm_120", "sumsq") => 140,
        ("sm_120", "sum" | "sumabs") => 132,
        ("sm_120", "count") => 116,
        ("sm_120", "and" | "or" | "xor" | "min" | "minimum" | "maximum" | "wrapping") => 108,
        ("sm_120", "nansum") => 88,
        ("sm_120", "wide") => 52,
        ("sm_120", "top4") => 32,
        // These keep in memory what a range needs at its end: an element has two words.
        ("sm_120", "top8") if element.ends_with("64") => 48,
        _ => 0,
    }
}

/// Reads from the SASS which kinds of memory instructions each kernel has, and in which order it
/// uses its loads. `target` is the architecture that the PTX is for.
fn read_sass(sass: &str, target: &str, entries: &mut BTreeMap<String, Entry>) {
    for section in sass.split("\n.text.").skip(1) {
        let (name, code) = section.split_once(":\n").unwrap_or((section, ""));
        let Some(entry) = entries.get_mut(name) else { continue };
        for line in code.lines() {
            let Some(Instruction { opcode, .. }) = Instruction::read(line) else { continue };
            match opcode.split('.').next().unwrap_or_default() {
                "LDS" => entry.shared_loads = true,
                "STS" => entry.shared_stores = true,
                // Accesses of another block's shared memory are no generic accesses. On sm_90 they
                // have no instructions of their own, but unlike all other accesses they use no
                // descriptor. PTX for earlier architectures has no such accesses.
                "LD" | "ST" | "ATOM" => {
                    entry.generic |= target != "sm_90" || line.contains("desc[");
                }
                _ => {}
            }
        }
        // Such PTX is disassembled only for sm_90, so this is the code that runs on sm_90.
        if target == "sm_90" && kernel_name::has_rounds(name) {
            entry.rounds = Some(loads::rounds(code));
        }
    }
}

impl Report<'_> {
    /// Returns one line for each fault of a kernel.
    fn faults(&self, kernels: &BTreeMap<&str, &Kernel>) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |name: &str, what: String| {
            faults.push(format!("{name} ({} PTX, {}): {what}", self.target, self.arch));
        };
        for (name, entry) in &self.entries {
            let most = most_spilled(name, self.arch);
            if entry.spill_bytes > most || entry.stack_bytes > most {
                fault(
                    name,
                    format!(
                        "{} bytes of stack, {} of spills",
                        entry.stack_bytes, entry.spill_bytes
                    ),
                );
            }
            if entry.generic {
                fault(name, "a generic load, store or atomic".to_owned());
            }
            if entry.rounds.as_ref().is_some_and(Vec::is_empty) {
                fault(name, "no round of 128-bit loads".to_owned());
            }
            for (round, number) in entry.rounds.iter().flatten().zip(1..) {
                let least = round.least_ahead();
                if round.ahead < least {
                    let Round { loads, ahead } = round;
                    let what = format!(
                        "round {number}: the first use after {ahead} of {loads} loads, not {least}"
                    );
                    fault(name, what);
                }
            }
            let Some(kernel) = kernels.get(name.as_str()) else {
                fault(name, "it is not in the manifest".to_owned());
                continue;
            };
            if !DISASSEMBLED.contains(&self.arch) {
                continue;
            }
            match kernel.shared {
                SharedKind::None if entry.shared_loads || entry.shared_stores => {
                    fault(name, "shared memory that the manifest does not tell of".to_owned());
                }
                SharedKind::None => {}
                _ if entry.shared_loads && entry.shared_stores => {}
                _ => {
                    fault(
                        name,
                        "no LDS or no STS, though the kernel uses shared memory".to_owned(),
                    );
                }
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Compile time = 3.520 ms
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
";
    const SASS: &str = "
.text.a:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDS.64 R2, [R4+0x20] ;
        /*0020*/                   STS [R4], R0 ;
        /*0030*/                   LDG.E R0, desc[UR4][R2.64] ;
.L_x_0:
.text.b:
        /*0000*/              @P1  LD.E R1, desc[UR4][R2.64] ;
";

    fn report() -> Report<'static> {
        let mut entries = read_log(LOG);
        read_sass(SASS, "sm_75", &mut entries);
        Report { target: "sm_75", arch: "sm_90", files: 1, entries }
    }

    fn kernel(name: &str, shared: SharedKind) -> Kernel {
        Kernel {
            name: name.into(),
            module: "m".into(),
            params: Vec::new(),
            block_size: None,
            element: None,
            op: None,
            shared,
            static_shared_bytes: 0,
        }
    }

    #[test]
    fn log_and_sass_are_read_by_kernel() {
        let report = report();
        let a = Entry {
            stack_bytes: 16,
            spill_bytes: 12,
            registers: 12,
            shared_loads: true,
            shared_stores: true,
            generic: false,
            rounds: None,
        };
        assert_eq!(report.entries["a"], a);
        assert_eq!(
            report.entries["b"],
            Entry { registers: 255, generic: true, ..Entry::default() }
        );
    }

    #[test]
    fn the_shared_memory_of_another_block_is_no_generic_access() {
        for (instruction, generic) in
            [("LD.E R2, [R2] ;", false), ("LD.E R2, desc[UR4][R2.64] ;", true)]
        {
            let mut entries = read_log(LOG);
            let sass = format!("\n.text.a:\n        /*0000*/                   {instruction}\n");
            read_sass(&sass, "sm_90", &mut entries);
            assert_eq!(entries["a"].generic, generic, "{instruction}");
        }
    }

    #[test]
    fn few_kernels_may_spill() {
        assert_eq!(["sm_75", "sm_90"].map(|arch| most_spilled("rows_sum_f16", arch)), [192, 16]);
        assert_eq!(["sm_90", "sm_120"].map(|arch| most_spilled("rows_sum_f32", arch)), [8, 144]);
        assert_eq!(["sm_75", "sm_120"].map(|arch| most_spilled("rows_sum_i128", arch)), [52, 144]);
        assert_eq!(["sm_90", "sm_100"].map(|arch| most_spilled("rows_maxabs_i8", arch)), [216; 2]);
        let top = ["segments_top8_f64", "segments_top8_f32"];
        assert_eq!(top.map(|name| most_spilled(name, "sm_120")), [48, 0]);
        assert_eq!(["sm_90", "sm_120"].map(|arch| most_spilled("made_moments_f32", arch)), [0, 40]);
        let indices = "segments_argmin_f32";
        assert_eq!(["sm_75", "sm_90"].map(|arch| most_spilled(indices, arch)), [0, 76]);
        let sums = "segments_sum_f32";
        assert_eq!(["sm_75", "sm_90", "sm_120"].map(|arch| most_spilled(sums, arch)), [0, 0, 132]);
        for name in ["reduce_sum_f32", "bins_counts_u8", "reduce3_i32"] {
            assert_eq!(["sm_75", "sm_120"].map(|arch| most_spilled(name, arch)), [0, 0], "{name}");
        }
    }

    #[test]
    fn spills_generic_accesses_and_missing_shared_ones_are_faults() {
        let (a, b) = (kernel("a", SharedKind::None), kernel("b", SharedKind::Static));
        assert_eq!(
            report().faults(&BTreeMap::from([("a", &a), ("b", &b)])),
            [
                "a (sm_75 PTX, sm_90): 16 bytes of stack, 12 of spills",
                "a (sm_75 PTX, sm_90): shared memory that the manifest does not tell of",
                "b (sm_75 PTX, sm_90): a generic load, store or atomic",
                "b (sm_75 PTX, sm_90): no LDS or no STS, though the kernel uses shared memory",
            ]
        );
        assert!(report().faults(&BTreeMap::new())[1].ends_with("it is not in the manifest"));
    }

    #[test]
    fn both_committed_folders_have_the_files_of_their_manifests() {
        let scratch = tempfile::tempdir().unwrap();
        let folders = committed(&root(), scratch.path()).unwrap();
        assert_eq!(folders.len(), FOLDERS.len());
        for folder in folders {
            let modules = Manifest::read(&folder).unwrap().modules;
            let missing = modules.iter().find(|module| !folder.join(&module.file).is_file());
            assert_eq!(missing, None, "{}", folder.display());
        }
    }

    #[test]
    fn a_round_that_waits_early_is_a_fault() {
        let load = "        /*0000*/                   LDG.E.NA.128 R8, desc[UR4][R2.64] ;\n";
        let uses = "        /*0010*/                   IADD3 R0, R8, R0, RZ ;\n";
        let (good, bad) =
            (format!("{load}{load}{load}{uses}{load}"), format!("{load}{load}{uses}{load}{load}"));
        let faults = |code: &str, target| {
            let mut entries = BTreeMap::from([("reduce_sum_i32".to_owned(), Entry::default())]);
            read_sass(&format!("\n.text.reduce_sum_i32:\n{code}"), target, &mut entries);
            let kernel = kernel("reduce_sum_i32", SharedKind::None);
            let kernels = BTreeMap::from([("reduce_sum_i32", &kernel)]);
            Report { target, arch: "sm_90", files: 1, entries }.faults(&kernels)
        };
        assert_eq!(faults(&good, "sm_90"), [""; 0]);
        assert_eq!(
            faults(&format!("{good}.L_x_0:\n{bad}"), "sm_90"),
            ["reduce_sum_i32 (sm_90 PTX, sm_90): round 2: the first use after 2 of 4 loads, not 3"]
        );
        assert_eq!(
            faults(uses, "sm_90"),
            ["reduce_sum_i32 (sm_90 PTX, sm_90): no round of 128-bit loads"]
        );
        assert_eq!(faults(&bad, "sm_75"), [""; 0], "what does not run on sm_90");
    }

    #[test]
    fn files_without_a_table_of_lines_go_together() {
        let folder = tempfile::tempdir().unwrap();
        let module = |(name, arch, text): (&str, &str, &str)| {
            let file = format!("{name}.{arch}.ptx");
            fs::write(folder.path().join(&file), text).unwrap();
            Module { name: name.into(), arch: arch.into(), file, sha256: String::new() }
        };
        let plain = ".version 7.0\n";
        let lines = ".version 7.2\n\t.file\t1 \"a.rs\"\n";
        let files = [
            ("a", "sm_75", plain),
            ("b", "sm_75", lines),
            ("c", "sm_75", plain),
            ("c", "sm_90", plain),
        ]
        .map(module);
        let batches = batches(folder.path(), files.iter()).unwrap();
        let batches: Vec<_> =
            batches.iter().map(|batch| (batch.target, batch.files.join(" "))).collect();
        assert_eq!(
            batches,
            [
                ("sm_75", "b.sm_75.ptx"),
                ("sm_75", "a.sm_75.ptx c.sm_75.ptx"),
                ("sm_90", "c.sm_90.ptx")
            ]
            .map(|(target, files)| (target, files.to_owned()))
        );
    }

    #[test]
    fn of_a_module_the_latest_target_is_loaded() {
        let module = |name: &str, arch: &str| Module {
            name: name.to_owned(),
            arch: arch.to_owned(),
            file: format!("{name}.{arch}.ptx"),
            sha256: String::new(),
        };
        let modules = [
            module("a", "sm_90"),
            module("a", "sm_75"),
            module("b", "sm_75"),
            module("c", "sm_90"),
        ];
        let files =
            |arch| loaded(&modules, arch).map(|module| module.file.as_str()).collect::<Vec<_>>();
        assert_eq!(files("sm_80"), ["a.sm_75.ptx", "b.sm_75.ptx"]);
        assert_eq!(files("sm_120"), ["a.sm_90.ptx", "b.sm_75.ptx", "c.sm_90.ptx"]);
    }

    #[test]
    fn a_target_runs_on_later_generations_unless_specific() {
        assert!(runs_on("sm_75", "sm_120"));
        assert!(!runs_on("sm_90", "sm_80"));
        assert!(!runs_on("sm_90a", "sm_100"));
    }

    #[test]
    fn a_named_folder_without_the_tools_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Tools::in_folder(folder.path()).err().unwrap().to_string();
        assert_eq!(error, format!("there is no ptxas in {}", folder.path().display()));
    }
}
