//! Tests of each format on the same document, and on documents that are unusual.

use super::*;

/// Characters that have a special meaning in one of the formats.
pub(super) const NASTY: &str = "<a> & \"b\" | 'c', `d` *e* _f_\nnext \\ line";

pub(super) fn document() -> Document {
    let columns = vec![
        Column::new("rung", "rung"),
        Column::new("launches", "launches"),
        Column::new("time_us", "time").in_unit("us"),
        Column::new("speedup", "step"),
    ];
    let mut table = Table::new("ladder", "The ladder", columns);
    table.push([Cell::from("1"), Cell::Integer(12_345), Cell::number(43.01, 1), Cell::Missing]);
    table.push([
        Cell::from("2"),
        Cell::Integer(3),
        Cell::number(28.149, 1),
        Cell::number(1.528, 2),
    ]);
    table.notes.push("Median of 41 runs.".into());
    Document {
        title: "reduce ladder".into(),
        environment: vec![("device".into(), "H100".into()), ("n".into(), "2^22".into())],
        tables: vec![table],
        ..Document::default()
    }
}

fn nasty() -> Document {
    let mut table =
        Table::new("nasty", NASTY, vec![Column::new("key, \"x\"", NASTY), Column::new("n", "n")]);
    table.push([Cell::from(NASTY), Cell::number(f64::NAN, 1)]);
    table.push([Cell::from(""), Cell::number(f64::NEG_INFINITY, 1)]);
    table.notes.push(NASTY.into());
    Document {
        title: NASTY.into(),
        environment: vec![(NASTY.into(), NASTY.into())],
        tables: vec![table],
        ..Document::default()
    }
}

pub(super) fn written(document: &Document, format: Format) -> String {
    let mut bytes = Vec::new();
    document.write(format, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn formats_are_read_as_they_are_spelt() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let error = "yaml".parse::<Format>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown format 'yaml': it is one of table, markdown, csv, json, svg, html"
    );
}

#[test]
fn a_terminal_gets_aligned_tables() {
    insta::assert_snapshot!(written(&document(), Format::Table), @r#"
    reduce ladder

    device  H100
    n       2^22

    The ladder

    | rung | launches | time (us) | step |
    |------|----------|-----------|------|
    | 1    |   12 345 |      43.0 |      |
    | 2    |        3 |      28.1 | 1.53 |

    Median of 41 runs.
    "#);
    insta::assert_snapshot!(written(&nasty(), Format::Table), @r#"
    <a> & "b" | 'c', `d` *e* _f_ next \ line

    <a> & "b" | 'c', `d` *e* _f_ next \ line  <a> & "b" | 'c', `d` *e* _f_ next \ line

    <a> & "b" | 'c', `d` *e* _f_ next \ line

    | <a> & "b" | 'c', `d` *e* _f_ | n |
    | next \ line                  |   |
    |------------------------------|---|
    | <a> & "b" | 'c', `d` *e* _f_ |   |
    | next \ line                  |   |
    |                              |   |

    <a> & "b" | 'c', `d` *e* _f_ next \ line
    "#);
}

#[test]
fn markdown_is_escaped() {
    insta::assert_snapshot!(written(&document(), Format::Markdown), @r#"
    # reduce ladder

    - device: H100
    - n: 2^22

    ## The ladder

    | rung | launches | time (us) | step |
    |------|---------:|----------:|-----:|
    | 1    |   12 345 |      43.0 |      |
    | 2    |        3 |      28.1 | 1.53 |

    Median of 41 runs.
    "#);
    insta::assert_snapshot!(written(&nasty(), Format::Markdown), @r#"
    # \<a\> \& "b" \| 'c', \`d\` \*e\* \_f\_<br>next \\ line

    - \<a\> \& "b" \| 'c', \`d\` \*e\* \_f\_<br>next \\ line: \<a\> \& "b" \| 'c', \`d\` \*e\* \_f\_<br>next \\ line

    ## \<a\> \& "b" \| 'c', \`d\` \*e\* \_f\_<br>next \\ line

    | \<a\> \& "b" \| 'c', \`d\` \*e\* \_f\_<br>next \\ line | n |
    |--------------------------------------------------------|--:|
    | \<a\> \& "b" \| 'c', \`d\` \*e\* \_f\_<br>next \\ line |   |
    |                                                        |   |

    \<a\> \& "b" \| 'c', \`d\` \*e\* \_f\_<br>next \\ line
    "#);
}

#[test]
fn csv_is_read_back() {
    assert_eq!(
        written(&document(), Format::Csv),
        "rung,launches,time_us,speedup\n1,12345,43.01,\n2,3,28.149,1.528\n"
    );
    let text = written(&nasty(), Format::Csv);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap(), vec!["key, \"x\"", "n"]);
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows, [vec![NASTY, ""], vec!["", ""]]);
    assert!(matches!(
        Document::default().write(Format::Csv, &mut Vec::new()),
        Err(OutputError::NoTable)
    ));
}

#[test]
fn json_keeps_numbers_whole() {
    let mut document = document();
    document.tables[0].push([
        Cell::Missing,
        Cell::Integer(u64::MAX),
        Cell::number(f64::INFINITY, 1),
        Cell::number(0.1, 2),
    ]);
    let json: serde_json::Value = serde_json::from_str(&written(&document, Format::Json)).unwrap();
    assert_eq!(json["environment"], serde_json::json!({ "device": "H100", "n": "2^22" }));
    assert_eq!(json["notes"]["ladder"][0], "Median of 41 runs.");
    let rows = &json["tables"]["ladder"];
    assert_eq!(
        rows[0],
        serde_json::json!({ "rung": "1", "launches": 12345, "time_us": 43.01, "speedup": null })
    );
    assert_eq!(
        rows[2].to_string(),
        r#"{"rung":null,"launches":18446744073709551615,"time_us":null,"speedup":0.1}"#
    );
    let json: serde_json::Value = serde_json::from_str(&written(&nasty(), Format::Json)).unwrap();
    assert_eq!(json["environment"][NASTY], NASTY);
}

#[test]
fn short_rows_end_in_what_is_missing() {
    let mut document = document();
    document.tables[0].rows.push(vec![Cell::from("3")]);
    assert!(
        written(&document, Format::Table).contains("\n| 3    |          |           |      |\n")
    );
    assert!(written(&document, Format::Csv).ends_with("\n3,,,\n"));
    assert!(
        written(&document, Format::Json)
            .contains(r#"{"rung":"3","launches":null,"time_us":null,"speedup":null}"#)
    );
}

#[test]
#[should_panic(expected = "cells and columns of table ladder")]
fn a_row_has_a_cell_for_each_column() {
    document().tables[0].push([Cell::Missing]);
}

#[test]
fn nothing_at_all_is_written_too() {
    let empty = Document::default();
    assert_eq!(written(&empty, Format::Table), "\n");
    assert_eq!(written(&empty, Format::Markdown), "# \n");
    assert!(serde_json::from_str::<serde_json::Value>(&written(&empty, Format::Json)).is_ok());
    assert!(matches!(empty.write(Format::Svg, &mut Vec::new()), Err(OutputError::NoChart)));

    let mut document = document();
    document.tables[0].rows.clear();
    assert!(written(&document, Format::Table).contains("| rung | launches | time (us) | step |\n"));
    assert_eq!(written(&document, Format::Csv), "rung,launches,time_us,speedup\n");
}

#[test]
fn what_comes_first_can_be_chosen() {
    let mut document = document();
    let second = Table { id: "second".into(), ..document.tables[0].clone() };
    let third = Table { id: "third".into(), ..second.clone() };
    document.tables.extend([second, third]);
    document.put_table_first("third").unwrap();
    let ids: Vec<_> = document.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["third", "ladder", "second"]);
    let error = document.put_table_first("fourth").unwrap_err();
    assert_eq!(error.to_string(), "unknown table 'fourth': there is third, ladder, second");
    let error = document.put_chart_first("any").unwrap_err();
    assert_eq!(error.to_string(), "unknown chart 'any': there is none");
}

#[test]
fn digits_are_in_groups_of_three() {
    for (value, shown) in [
        (0.0, "0.0"),
        (-0.04, "-0.0"),
        (999.94, "999.9"),
        (-1234.56, "-1 234.6"),
        (1e6, "1 000 000.0"),
    ] {
        assert_eq!(Cell::number(value, 1).show(), shown);
    }
    assert_eq!(Cell::number(123_456.7, 0).show(), "123 457");
    assert_eq!(Cell::Integer(u64::MAX).show(), "18 446 744 073 709 551 615");
}

#[test]
fn a_page_is_escaped_and_empty_ones_are_whole() {
    let mut nasty = nasty();
    let step = Step { caption: NASTY.into(), svg: "<svg/>".into() };
    let picture = Picture {
        id: "p".into(),
        title: NASTY.into(),
        text_alternative: NASTY.into(),
        steps: vec![step],
    };
    nasty.pictures = vec![picture];
    let page = written(&nasty, Format::Html);
    assert!(!page.contains(NASTY) && !page.contains("<a>"));
    assert!(page.matches(&escape(NASTY)).count() >= 10);
    for (document, sections) in [(Document::default(), 0), (document(), 2), (nasty, 4)] {
        let page = written(&document, Format::Html);
        assert_eq!(page.matches("<section").count(), sections);
        assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    }
}

#[test]
fn columns_are_shown_if_there_is_room_or_on_request() {
    let mut document = document();
    document.tables[0].columns[1].shown = Shown::OnRequest;
    document.tables[0].columns[3].shown = Shown::IfRoom;
    let heads = |document: &Document, width| {
        let mut bytes = Vec::new();
        document.write_within(Format::Table, width, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= width.columns()), "{text}");
        text.lines().find(|line| line.starts_with("| rung")).unwrap().to_owned()
    };
    assert_eq!(heads(&document, Width::File), "| rung | time (us) | step |");
    assert_eq!(heads(&document, Width::Terminal(20)), "| rung | time (us) |");
    let text = written(&document, Format::Table);
    assert!(
        text.ends_with("\nThe column launches is not shown. The option --columns all shows it.\n"),
        "{text}"
    );
    assert!(!written(&document, Format::Markdown).contains("12\u{202f}345"));
    assert!(!written(&document, Format::Html).contains("12\u{202f}345"));
    // Programs get all columns.
    assert!(written(&document, Format::Csv).starts_with("rung,launches,time_us,speedup\n"));
    assert!(written(&document, Format::Json).contains("\"launches\":12345"));

    let mut all = document.clone();
    all.show_all_columns();
    assert_eq!(heads(&all, Width::File), "| rung | launches | time (us) | step |");
    let mut few = document.clone();
    few.choose_columns(&["speedup".into(), "rung".into()]).unwrap();
    assert!(written(&few, Format::Table).contains("\n| step | rung |\n"));
    assert!(!written(&few, Format::Table).contains("not shown"));
    let error = document.choose_columns(&["time".into()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown column 'time': there is rung, launches, time_us, speedup"
    );
}

#[test]
fn lines_of_charts_can_be_highlighted() {
    let chart = |names: &[&str]| Chart {
        id: "c".into(),
        title: "C".into(),
        description: "C.".into(),
        kind: Kind::Lines,
        x: Axis::linear("x"),
        y: Axis::linear("y"),
        series: names.iter().map(|name| Series::new(*name, vec![])).collect(),
        references: vec![],
    };
    let charts = vec![chart(&["variant 3", "variant 13"]), chart(&["variant 3", "tiled"])];
    let mut document = Document { charts, ..Document::default() };
    document.highlight(&["3".into(), "tiled".into()]).unwrap();
    let roles: Vec<Role> =
        document.charts.iter().flat_map(|chart| &chart.series).map(|line| line.role).collect();
    assert_eq!(roles, [Role::Highlighted, Role::Plain, Role::Highlighted, Role::Highlighted]);
    let error = document.highlight(&["33".into()]).unwrap_err();
    assert_eq!(error.to_string(), "unknown line '33': there is variant 3, variant 13, tiled");
    let error = Document::default().highlight(&["3".into()]).unwrap_err();
    assert_eq!(error.to_string(), "unknown line '3': there is none");
}

#[test]
fn numbers_are_not_broken() {
    for (text, joined) in [
        ("1 234 567 of 89", "1\u{202f}234\u{202f}567 of 89"),
        ("26 985.", "26\u{202f}985."),
        ("4194304 256", "4194304 256"),
        ("step 1, 256 1", "step 1, 256 1"),
        ("1 2345", "1 2345"),
    ] {
        assert_eq!(no_break(text), joined);
    }
    assert_eq!(
        wrap("as many as 26 985 of 38 550", 12),
        ["as many as", "26\u{202f}985 of", "38\u{202f}550"]
    );
    assert_eq!(wrap_hard("abcdefgh ij", 5), ["abcde", "fgh", "ij"]);
    let mut text = Vec::new();
    Width::Terminal(20).write("in all there are 26 985", &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "in all there are\n26 985\n");
}

#[test]
fn text_is_escaped_for_xml() {
    assert_eq!(
        escape("<a b=\"c\"> & 'd'\n\u{1}\u{fffe}"),
        "&lt;a b=&quot;c&quot;&gt; &amp; 'd'\n\u{fffd}\u{fffd}"
    );
}

#[test]
fn words_are_wrapped() {
    assert_eq!(wrap("one two  three", 9), ["one two", "three"]);
    assert_eq!(wrap("incomprehensible é", 4), ["incomprehensible", "é"]);
    assert_eq!(wrap("", 4), Vec::<String>::new());
}
