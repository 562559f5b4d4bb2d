//! Compares the numbers in one folder of results with the targets, and prints one table, which it
//! also writes to `targets.txt` in the folder.

mod results;
mod targets;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Parser;
use warpfold_lab::output::{Cell, Column, Document, Format, Table, Width};

use crate::{
    results::Results,
    targets::{Bound, TARGETS},
};

/// Says which targets the results in a folder meet
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The folder with the files rows*.json and segments*.json
    folder: PathBuf,
}

/// What is said of a target.
const VERDICTS: [&str; 3] = ["met", "missed", "not measured"];

/// The width of the table, in which no name of a case is broken.
const TABLE_COLUMNS: usize = 180;

fn main() -> ExitCode {
    match run(&Args::parse().folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> anyhow::Result<()> {
    let results = Results::read(folder)?;
    let document = Document {
        title: "Targets of rows, columns, segments, keys and bins".to_owned(),
        environment: vec![("device".to_owned(), results.device.clone())],
        tables: vec![table(&results)],
        ..Document::default()
    };
    let mut text = Vec::new();
    document.write_within(Format::Table, Width::Terminal(TABLE_COLUMNS), &mut text)?;
    let file = folder.join("targets.txt");
    fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    print!("{}", String::from_utf8(text)?);
    Ok(())
}

fn table(results: &Results) -> Table {
    let names = ["target", "bound", "worst", "median", "best", "cases", "verdict", "worst case"];
    let columns = names.map(|name| Column::new(name.replace(' ', "_"), name)).to_vec();
    let mut table = Table::new("targets", "Targets and what was reached", columns);
    let mut counts = [0, 0, 0];
    for target in TARGETS {
        let sign = if matches!(target.bound, Bound::Most(_)) { "<=" } else { ">=" };
        let bound = target.bound_on(&results.device);
        let bound = bound.map_or(Cell::Missing, |bound| Cell::Text(format!("{sign} {bound}")));
        let reached = target.reached(results);
        let verdict = match &reached {
            Some(reached) if reached.is_met => VERDICTS[0],
            Some(_) => VERDICTS[1],
            None => VERDICTS[2],
        };
        if let Some(count) = VERDICTS.iter().position(|&one| one == verdict) {
            counts[count] += 1;
        }
        let mut cells = vec![Cell::Text(target.what.to_owned()), bound];
        if let Some(reached) = reached {
            let numbers = [reached.worst, reached.median, reached.best];
            cells.extend(numbers.map(|number| Cell::number(number, 3)));
            cells.push(Cell::Integer(reached.cases as u64));
            cells.push(verdict.into());
            cells.push(Cell::Text(reached.worst_case));
        } else {
            cells.extend([Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing]);
            cells.extend([verdict.into(), Cell::Missing]);
        }
        table.push(cells);
    }
    let [met, missed, unknown] = counts;
    table.notes.push(format!("{met} targets are met, {missed} missed, {unknown} not measured."));
    table.notes.push(
        "A number beside a peer's name is the time of that peer divided by ours. Arrays of 128 MiB \
         and more are beyond the cache. A target is met if the worst case meets it."
            .to_owned(),
    );
    table
}
