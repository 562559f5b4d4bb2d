//! The tables and the file of all numbers.

use bench::{Times, gb_per_s, to_us};
use serde_json::{Value as Json, json};
use warpfold_lab::output::{Cell, Column, Table};

use crate::{measure::Line, tree::TreeLine};

fn number(value: f64, decimals: u8) -> Cell {
    Cell::Number { value, decimals }
}

/// What the exchange adds to the time of one GPU with its shard.
pub(crate) fn lines(lines: &[Line], gpus: usize) -> Table {
    let columns = vec![
        Column::new("case", "case"),
        Column::new("together_us", "together").in_unit("us"),
        Column::new("alone_us", "one GPU").in_unit("us"),
        Column::new("added_us", "added").in_unit("us"),
        Column::new("gb_per_s", "input").in_unit("GB/s"),
    ];
    let mut table = Table::new("groups", "Median times of one call", columns);
    for Line { name, shard_bytes, alone, together } in lines {
        let (alone, together) = (alone.median, together.median);
        table.push([
            Cell::Text(name.clone()),
            number(to_us(together), 2),
            number(to_us(alone), 2),
            number(to_us(together) - to_us(alone), 2),
            number(gb_per_s(shard_bytes * gpus as u64, together), 0),
        ]);
    }
    table.notes.push(
        "One GPU is the slower one, with its own shard alone and without an exchange.".to_owned(),
    );
    table
}

/// How much sooner all GPUs reduce an array than one of them.
pub(crate) fn splits(lines: &[Line]) -> Table {
    let columns = vec![
        Column::new("case", "case"),
        Column::new("together_us", "together").in_unit("us"),
        Column::new("alone_us", "one GPU").in_unit("us"),
        Column::new("speed_up", "speed-up"),
    ];
    let mut table = Table::new("splits", "Median times of one call", columns);
    for Line { name, alone, together, .. } in lines {
        let (alone, together) = (to_us(alone.median), to_us(together.median));
        table.push([
            Cell::Text(name.clone()),
            number(together, 2),
            number(alone, 2),
            number(alone / together, 3),
        ]);
    }
    table.notes.push("One GPU reduces the whole array alone.".to_owned());
    table
}

/// What a sum costs whose bits do not depend on the number of GPUs.
pub(crate) fn trees(lines: &[TreeLine]) -> Table {
    let columns = vec![
        Column::new("case", "case"),
        Column::new("tree_us", "in a tree").in_unit("us"),
        Column::new("plain_us", "plain").in_unit("us"),
        Column::new("ratio", "ratio"),
        Column::new("gb_per_s", "in a tree").in_unit("GB/s"),
    ];
    let mut table = Table::new("trees", "Median times of one call as the host sees them", columns);
    for TreeLine { name, bytes, plain, tree } in lines {
        let ratio = to_us(tree.median) / to_us(plain.median);
        table.push([
            Cell::Text(name.clone()),
            number(to_us(tree.median), 1),
            number(to_us(plain.median), 1),
            number(ratio, 3),
            number(gb_per_s(*bytes, tree.median), 0),
        ]);
    }
    table.notes.push("Both calls wait for the result, which the host combines.".to_owned());
    table
}

fn times(times: &Times) -> Json {
    json!({
        "median_us": to_us(times.median),
        "lower_quartile_us": to_us(times.lower_quartile),
        "upper_quartile_us": to_us(times.upper_quartile),
        "min_us": to_us(times.min),
    })
}

pub(crate) fn line_to_json(line: &Line) -> Json {
    json!({
        "name": line.name,
        "shard_bytes": line.shard_bytes,
        "together": times(&line.together),
        "alone": times(&line.alone),
    })
}

pub(crate) fn tree_to_json(line: &TreeLine) -> Json {
    json!({
        "name": line.name,
        "bytes": line.bytes,
        "tree": times(&line.tree),
        "plain": times(&line.plain),
    })
}
