//! Writes the picture of a warp's requests as it was asked for.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Context;
use clap::Args;
use warpfold_tools::terminal::{Failure, written};

use super::width;
use crate::requests::Picture;

/// The arguments that choose how a picture is written.
#[derive(Args, Clone, Debug)]
pub struct PictureArgs {
    /// Also write the picture to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl PictureArgs {
    /// Writes a picture to stdout and, if that was asked for, to a file.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if the file or stdout cannot be written.
    pub fn write(&self, picture: &Picture) -> Result<(), Failure> {
        if let Some(path) = &self.svg {
            fs::write(path, picture.to_svg())
                .with_context(|| format!("cannot write {}", path.display()))
                .map_err(Failure::Failed)?;
        }
        let mut out = io::stdout().lock();
        written(if self.json {
            writeln!(out, "{}", picture.to_json())
        } else {
            picture.write_text(width(), &mut out)
        })
    }
}
