//! A document for programs, as CSV and as JSON.

use std::io::{self, Write};

use serde_json::{Map, Number, Value as Json, json};

use super::{Axis, Cell, Chart, Document, Kind, Table};

pub(super) fn write_csv(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.columns.iter().map(|column| &column.key))?;
    for row in &table.rows {
        writer.write_record(table.cells(row).map(|(_, cell)| match cell {
            Cell::Text(text) => text.clone(),
            Cell::Integer(value) => value.to_string(),
            Cell::Number { value, .. } if value.is_finite() => value.to_string(),
            Cell::Number { .. } | Cell::Missing => String::new(),
        }))?;
    }
    writer.flush()
}

pub(super) fn write_json(document: &Document, out: &mut impl Write) -> io::Result<()> {
    let Document { title, environment, tables, charts, pictures: _, interrupted } = document;
    let environment: Map<_, _> =
        environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let rows: Map<_, _> = tables.iter().map(|table| (table.id.clone(), rows(table))).collect();
    let notes: Map<_, _> =
        tables.iter().map(|table| (table.id.clone(), json!(table.notes))).collect();
    let charts: Map<_, _> = charts.iter().map(|drawn| (drawn.id.clone(), chart(drawn))).collect();
    let object = json!({ "title": title, "environment": environment, "interrupted": interrupted, "tables": rows, "notes": notes, "charts": charts });
    writeln!(out, "{object}")
}

fn rows(table: &Table) -> Json {
    let row = |row| {
        table
            .cells(row)
            .map(|(column, cell)| (column.key.clone(), value(cell)))
            .collect::<Map<_, _>>()
    };
    table.rows.iter().map(|cells| Json::Object(row(cells))).collect()
}

fn value(cell: &Cell) -> Json {
    match cell {
        Cell::Text(text) => json!(text),
        Cell::Integer(value) => json!(value),
        Cell::Number { value, .. } => number(*value),
        Cell::Missing => Json::Null,
    }
}

fn number(value: f64) -> Json {
    Number::from_f64(value).map_or(Json::Null, Json::Number)
}

fn chart(chart: &Chart) -> Json {
    let Chart { id: _, title, description, kind, x, y, series, references } = chart;
    let axis = |axis: &Axis| json!({ "label": axis.label, "scale": axis.scale.name() });
    let mut object = Map::new();
    object.insert("title".into(), json!(title));
    object.insert("description".into(), json!(description));
    object.insert("kind".into(), json!(kind.name()));
    if let Kind::Bars { categories } = kind {
        object.insert("categories".into(), json!(categories));
    }
    object.insert("x".into(), axis(x));
    object.insert("y".into(), axis(y));
    let series = series.iter().map(|series| {
        let points = series.points.iter().map(|&(x, y)| json!([number(x), number(y)]));
        json!({ "name": series.name, "points": points.collect::<Vec<_>>() })
    });
    object.insert("series".into(), series.collect());
    let references = references
        .iter()
        .map(|reference| json!({ "label": reference.label, "value": number(reference.value) }));
    object.insert("references".into(), references.collect());
    Json::Object(object)
}
