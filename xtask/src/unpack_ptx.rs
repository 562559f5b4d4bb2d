//! `cargo xtask unpack-ptx`: writes the PTX of the production kernels as files, which people and
//! other programs can read.

use std::path::PathBuf;

use crate::ptx_folder::{FOLDERS, Form, refuse_committed};
use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder for the PTX and its manifest, which is made if it is not there
    #[arg(value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = root();
    refuse_committed(&root, "DIR", &args.out)?;
    for folder in FOLDERS.into_iter().filter(|folder| folder.form == Form::Archives) {
        let count = folder.unpack(&root, &args.out)?;
        println!("wrote {count} files of {} to {}", folder.path, args.out.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committed_folder_is_left_alone() {
        for folder in FOLDERS {
            let error = run(&Args { out: root().join(folder.path) }).unwrap_err().to_string();
            assert!(error.starts_with(&format!("DIR must not be {}:", folder.path)), "{error}");
        }
    }
}
