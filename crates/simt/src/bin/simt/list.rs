//! The commands `simt list` and `simt parse`.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use simt::{Kernel, Param, Refusal};

use crate::{Failure, json, load, print, tables};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The PTX file
    #[arg(value_name = "KERNEL.PTX")]
    file: PathBuf,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Prints the kernels, their parameters and their shared memory.
pub(crate) fn list(args: &Args) -> Result<(), Failure> {
    let module = load::module(&args.file)?;
    if args.json {
        let kernels: Vec<Json> = module.kernels().iter().map(kernel_json).collect();
        return print(&format!("{:#}\n", json!({ "module": module.name(), "kernels": kernels })));
    }
    let mut heads =
        vec!["kernel", "parameters", "static shared", "dynamic shared", "threads at most"];
    let mut left = vec![0, 1, 3];
    // Most files have no kernel that cannot be run, and need no column for it.
    let has_refused = module.kernels().iter().any(|kernel| !kernel.refusals().is_empty());
    if has_refused {
        left.push(heads.len());
        heads.push("cannot be run");
    }
    let mut table = tables::new(&heads, &left);
    for kernel in module.kernels() {
        let params: Vec<String> = kernel.params().iter().map(param_type).collect();
        let dynamic = if kernel.uses_dynamic_shared() { "yes" } else { "no" };
        let threads = kernel
            .max_threads_per_block()
            .map_or_else(|| "any".to_owned(), |most| most.to_string());
        let mut row = vec![
            kernel.name().to_owned(),
            params.join(", "),
            kernel.static_shared_bytes().to_string(),
            dynamic.to_owned(),
            threads,
        ];
        if has_refused {
            row.push(match kernel.refusals() {
                [] => String::new(),
                [only] => format!("line {}", only.line),
                [first, others @ ..] => format!("line {} and {} more", first.line, others.len()),
            });
        }
        table.add_row(row);
    }
    print(&tables::text(&table))
}

/// Prints whether a file can be run. For each kernel that cannot be run, prints the instructions
/// that are not simulated.
pub(crate) fn parse(args: &Args) -> Result<(), Failure> {
    let module = load::module(&args.file)?;
    let kernels = module.kernels().len();
    let refused: Vec<&Kernel> =
        module.kernels().iter().filter(|kernel| !kernel.refusals().is_empty()).collect();
    if args.json {
        let refused: Vec<Json> = refused.iter().map(|kernel| refused_json(kernel)).collect();
        let json = json!({ "module": module.name(), "kernels": kernels, "refused": refused });
        print(&format!("{json:#}\n"))?;
    } else {
        let noun = if kernels == 1 { "kernel" } else { "kernels" };
        let mut text = format!("{}: {kernels} {noun}", module.name());
        match refused.len() {
            0 => text += ", no errors\n",
            count => {
                let _ = writeln!(text, ", of which {count} cannot be run");
            }
        }
        for kernel in &refused {
            let _ = writeln!(text, "kernel `{}`", kernel.name());
            for refusal in kernel.refusals() {
                let Refusal { function, line, instruction, reason, frames, .. } = refusal;
                let _ = write!(text, "  line {line}");
                if function != kernel.name() {
                    let _ = write!(text, ", in function `{function}`");
                }
                if let Some(frame) = frames.first() {
                    let _ = write!(text, ", compiled from {frame}");
                }
                let _ = writeln!(text, ": {reason}: `{instruction}`");
            }
        }
        print(&text)?;
    }
    if refused.is_empty() { Ok(()) } else { Err(Failure::Unusable) }
}

fn refused_json(kernel: &Kernel) -> Json {
    json!({ "kernel": kernel.name(), "instructions": refusals_json(kernel) })
}

fn refusals_json(kernel: &Kernel) -> Vec<Json> {
    let one = |refusal: &Refusal| {
        let Refusal { function, line, column, instruction, reason, frames, .. } = refusal;
        json!({
            "function": function,
            "line": line,
            "column": column,
            "instruction": instruction,
            "reason": reason,
            "frames": json::frames(frames),
        })
    };
    kernel.refusals().iter().map(one).collect()
}

fn kernel_json(kernel: &Kernel) -> Json {
    let param = |param: &Param| json!({ "name": param.name, "type": type_name(param), "bytes": param.size, "align": param.align });
    json!({
        "name": kernel.name(),
        "params": kernel.params().iter().map(param).collect::<Vec<_>>(),
        "static_shared_bytes": kernel.static_shared_bytes(),
        "uses_dynamic_shared": kernel.uses_dynamic_shared(),
        "max_threads_per_block": kernel.max_threads_per_block(),
        "refused": refusals_json(kernel),
    })
}

/// The type of a parameter: `u64` for example, or `b8[24]` for a structure.
fn param_type(param: &Param) -> String {
    let (name, element) = (type_name(param), u64::from(param.ty.size()));
    if param.size == element { name } else { format!("{name}[{}]", param.size / element.max(1)) }
}

/// The name of the type without its dot.
fn type_name(param: &Param) -> String {
    param.ty.to_string().trim_start_matches('.').to_owned()
}
