//! A document as one HTML page, which needs no other file and no network.

use std::fmt::Write as _;

use super::{
    Cell, Chart, Document, Picture, Table, chart::Home, no_break, table::not_shown, theme,
};

/// A text with the escapes that it needs. The browser does not break its numbers.
fn escape(text: &str) -> String {
    super::escape(&no_break(text))
}

pub(super) fn page(document: &Document) -> String {
    let title = escape(&document.title);
    let mut main = String::new();
    environment(&mut main, document);
    section(&mut main, "charts", "Charts", &document.charts, chart);
    section(&mut main, "tables", "Tables", &document.tables, table);
    section(&mut main, "pictures", "Step by step", &document.pictures, picture);
    let style = [
        theme::variables().as_str(),
        include_str!("page.css"),
        include_str!("chart.css"),
        include_str!("picture.css"),
    ]
    .concat();
    let script = include_str!("page.js");
    // The content security policy lets the page load nothing from outside.
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">Skip to the content</a>\n\
         <header><h1>{title}</h1><button id=\"scheme\" type=\"button\" hidden></button></header>\n\
         <main id=\"content\" tabindex=\"-1\">\n{main}</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )
}

/// Writes a section with a heading and its parts, or nothing if there are no parts.
fn section<T>(main: &mut String, id: &str, heading: &str, parts: &[T], write: fn(&mut String, &T)) {
    if parts.is_empty() {
        return;
    }
    let _ = writeln!(
        main,
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n<div class=\"{id}\">"
    );
    for part in parts {
        write(main, part);
    }
    main.push_str("</div>\n</section>\n");
}

fn environment(main: &mut String, document: &Document) {
    if document.environment.is_empty() {
        return;
    }
    main.push_str("<section aria-label=\"Environment\">\n<dl>\n");
    for (name, value) in &document.environment {
        let _ = writeln!(main, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    main.push_str("</dl>\n</section>\n");
}

fn chart(main: &mut String, chart: &Chart) {
    let (title, description) = (escape(&chart.title), escape(&chart.description));
    let _ = writeln!(
        main,
        "<figure><figcaption><strong>{title}</strong> {description}</figcaption>\n<div class=\"scroll\">\n{}</div></figure>",
        chart.draw(Home::Page)
    );
}

fn table(main: &mut String, table: &Table) {
    let numeric = table.numeric();
    let columns = table.columns_with_room();
    let id = escape(&table.id);
    let _ = write!(
        main,
        "<div class=\"table\">\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"table-{id}\" tabindex=\"0\">\n\
         <table>\n<caption id=\"table-{id}\">{}</caption>\n<thead><tr>",
        escape(&table.title)
    );
    for (column, numeric) in columns.iter().map(|&index| (&table.columns[index], numeric[index])) {
        let class = if numeric { " class=\"number\"" } else { "" };
        let unit = column
            .unit
            .as_deref()
            .map(|unit| format!(" <span class=\"unit\">{}</span>", escape(unit)));
        let _ = write!(
            main,
            "<th scope=\"col\"{class}>{}{}</th>",
            escape(&column.heading),
            unit.unwrap_or_default()
        );
    }
    main.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        main.push_str("<tr>");
        let cells: Vec<&Cell> = table.cells(row).map(|(_, cell)| cell).collect();
        for (index, (cell, numeric)) in
            columns.iter().map(|&index| (cells[index], numeric[index])).enumerate()
        {
            let (tag, scope) = if index == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let shown = cell.show();
            let missing = shown.is_empty() && !matches!(cell, Cell::Text(_));
            let classes = [(numeric, "number"), (missing, "missing")];
            let classes: Vec<&str> =
                classes.iter().filter(|(holds, _)| *holds).map(|(_, class)| *class).collect();
            let class = if classes.is_empty() {
                String::new()
            } else {
                format!(" class=\"{}\"", classes.join(" "))
            };
            let shown = if missing { "–".to_owned() } else { escape(&shown) };
            let _ = write!(main, "<{tag}{scope}{class}>{shown}</{tag}>");
        }
        main.push_str("</tr>\n");
    }
    main.push_str("</tbody>\n</table>\n</div>\n");
    for note in table.notes.iter().chain(&not_shown(table, &columns)) {
        let _ = writeln!(main, "<p>{}</p>", escape(note));
    }
    main.push_str("</div>\n");
}

fn picture(main: &mut String, picture: &Picture) {
    let (id, title, count) = (escape(&picture.id), escape(&picture.title), picture.steps.len());
    let _ = writeln!(
        main,
        "<section class=\"picture\" aria-labelledby=\"picture-{id}\">\n<h3 id=\"picture-{id}\">{title}</h3>\n\
         <p class=\"quiet\">{}</p>\n<div class=\"controls\" hidden><button type=\"button\">Previous</button>\
         <input type=\"range\" min=\"1\" max=\"{count}\" value=\"1\" aria-label=\"Step\">\
         <button type=\"button\">Next</button></div>\n<p class=\"now\" aria-live=\"polite\" hidden></p>\n\
         <ol class=\"steps\">",
        escape(&picture.text_alternative)
    );
    for (number, step) in (1..).zip(&picture.steps) {
        let caption = escape(&step.caption);
        let _ = writeln!(
            main,
            "<li><figure><figcaption>{caption}</figcaption>\n<div class=\"scroll\" role=\"region\" \
             aria-label=\"Step {number} of {title}\" tabindex=\"0\">\n{}</div></figure></li>",
            step.svg
        );
    }
    main.push_str("</ol>\n</section>\n");
}
