//! The commands `simt list` and `simt parse`.

use std::path::PathBuf;

use serde_json::{Value as Json, json};
use simt::{Kernel, Param};

use crate::{Failure, load, print, tables};

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
    let mut table = tables::new(
        &["kernel", "parameters", "static shared", "dynamic shared", "threads at most"],
        &[0, 1, 3],
    );
    for kernel in module.kernels() {
        let params: Vec<String> = kernel.params().iter().map(param_type).collect();
        let dynamic = if kernel.uses_dynamic_shared() { "yes" } else { "no" };
        let threads = kernel
            .max_threads_per_block()
            .map_or_else(|| "any".to_owned(), |most| most.to_string());
        table.add_row([
            kernel.name().to_owned(),
            params.join(", "),
            kernel.static_shared_bytes().to_string(),
            dynamic.to_owned(),
            threads,
        ]);
    }
    print(&tables::text(&table))
}

/// Prints that a file can be run. If it cannot be run, loading it prints the reason.
pub(crate) fn parse(args: &Args) -> Result<(), Failure> {
    let module = load::module(&args.file)?;
    let kernels = module.kernels().len();
    if args.json {
        return print(&format!("{:#}\n", json!({ "module": module.name(), "kernels": kernels })));
    }
    let noun = if kernels == 1 { "kernel" } else { "kernels" };
    print(&format!("{}: {kernels} {noun}, no errors\n", module.name()))
}

fn kernel_json(kernel: &Kernel) -> Json {
    let param = |param: &Param| json!({ "name": param.name, "type": type_name(param), "bytes": param.size, "align": param.align });
    json!({
        "name": kernel.name(),
        "params": kernel.params().iter().map(param).collect::<Vec<_>>(),
        "static_shared_bytes": kernel.static_shared_bytes(),
        "uses_dynamic_shared": kernel.uses_dynamic_shared(),
        "max_threads_per_block": kernel.max_threads_per_block(),
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
