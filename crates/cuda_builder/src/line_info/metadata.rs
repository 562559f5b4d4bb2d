//! The debug metadata of textual IR: LLVM Language Reference, "Specialized Metadata Nodes".

use std::collections::HashMap;

use super::{LineTable, Number, Place, Position, index, malformed};
use crate::error::CudaBuilderError;
use crate::ir::unescape;

/// Replaces each place in the metadata of `ir` by a number. Returns the new IR and the table of the
/// numbers.
///
/// # Errors
/// A node is missing, or is not of the kind that its use demands.
pub(crate) fn number(ir: &str) -> Result<(String, LineTable), CudaBuilderError> {
    let nodes: HashMap<&str, Node<'_>> =
        ir.lines().filter_map(Node::read).map(|node| (node.id, node)).collect();
    let mut reader = Reader {
        nodes: &nodes,
        table: LineTable::default(),
        numbers: HashMap::new(),
        known: HashMap::new(),
    };
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        match Node::read(line) {
            Some(node) if node.kind == "DILocation" => {
                out.push_str(&reader.rewrite_location(&node)?);
            }
            Some(node) if node.kind == "DISubprogram" => {
                out.push_str(&reader.rewrite_function(&node)?);
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    Ok((out, reader.table))
}

/// A line `!7 = distinct !DIKind(field: value, …)`.
struct Node<'a> {
    id: &'a str,
    /// The text between the id and the kind: `distinct ` or nothing.
    distinct: &'a str,
    kind: &'a str,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Node<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (id, node) = line.split_once(" = ")?;
        id.strip_prefix('!')?.parse::<u32>().ok()?;
        let at = node.find("!DI").filter(|&at| ["", "distinct "].contains(&&node[..at]))?;
        let (kind, fields) = node[at + 1..].strip_suffix(')')?.split_once('(')?;
        Some(Self { id, distinct: &node[..at], kind, fields: split_fields(fields) })
    }

    fn field(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Result<u32, CudaBuilderError> {
        let value = self.field(name).unwrap_or("0");
        value.parse().map_err(|_| {
            malformed(format!("{} of {} is {value}, which is no number", name, self.id))
        })
    }

    /// The text of a field that is a string. It is empty if there is no such field.
    fn text(&self, name: &str) -> String {
        unescape(self.field(name).unwrap_or_default().trim_matches('"'))
    }
}

/// Splits `a: 1, b: "x, y"` at the commas outside of strings.
fn split_fields(text: &str) -> Vec<(&str, &str)> {
    let mut quoted = false;
    let outside = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    text.split(outside).filter_map(|field| field.trim().split_once(": ")).collect()
}

struct Reader<'a> {
    nodes: &'a HashMap<&'a str, Node<'a>>,
    table: LineTable,
    numbers: HashMap<Place, Number>,
    /// The number of each location that was looked at; `None` for a location without a line.
    known: HashMap<&'a str, Option<Number>>,
}

impl<'a> Reader<'a> {
    /// The rewritten location. It lies in the function into which it was inlined, and its number is
    /// the line.
    fn rewrite_location(&mut self, node: &Node<'a>) -> Result<String, CudaBuilderError> {
        let number = self.location(node, 0)?.unwrap_or(0);
        let mut outermost = node;
        while let Some(at) = outermost.field("inlinedAt") {
            outermost = self.node(at)?;
        }
        let scope = self.function(outermost)?.id;
        let column = u32::from(number != 0);
        Ok(format!(
            "{} = {}!DILocation(line: {number}, column: {column}, scope: {scope})",
            node.id, node.distinct
        ))
    }

    /// The rewritten function. A number replaces the line that llc gives to the first instructions.
    fn rewrite_function(&mut self, node: &Node<'a>) -> Result<String, CudaBuilderError> {
        let position =
            Position { file: self.file(node)?, line: node.number("scopeLine")?, column: 0 };
        let number =
            if position.line == 0 { 0 } else { self.intern(Place { position, inlined: None }) };
        let field = |(name, value): &(&str, &str)| match *name {
            "scopeLine" => format!("scopeLine: {number}"),
            _ => format!("{name}: {value}"),
        };
        let fields: Vec<_> = node.fields.iter().map(field).collect();
        Ok(format!("{} = {}!DISubprogram({})", node.id, node.distinct, fields.join(", ")))
    }

    /// The number of a location. It is `None` if the location, or a place where it was inlined, has
    /// no line.
    fn location(
        &mut self,
        node: &Node<'a>,
        depth: usize,
    ) -> Result<Option<Number>, CudaBuilderError> {
        if let Some(&known) = self.known.get(node.id) {
            return Ok(known);
        }
        if node.kind != "DILocation" || depth > self.nodes.len() {
            return Err(malformed(format!(
                "{} of the LLVM IR is used as a location and is none",
                node.id
            )));
        }
        let position = Position {
            file: self.file(self.node(scope(node)?)?)?,
            line: node.number("line")?,
            column: node.number("column")?,
        };
        let inlined = match node.field("inlinedAt") {
            None => Some(None),
            Some(at) => {
                let function = self.function(node)?.text("name");
                let at = self.location(self.node(at)?, depth + 1)?;
                at.map(|at| Some((index(&mut self.table.functions, function), at)))
            }
        };
        let number = inlined
            .filter(|_| position.line != 0)
            .map(|inlined| self.intern(Place { position, inlined }));
        self.known.insert(node.id, number);
        Ok(number)
    }

    fn intern(&mut self, place: Place) -> Number {
        let places = &mut self.table.places;
        *self.numbers.entry(place).or_insert_with(|| {
            places.push(place);
            places.len() as Number
        })
    }

    fn node(&self, id: &str) -> Result<&'a Node<'a>, CudaBuilderError> {
        self.nodes.get(id).ok_or_else(|| malformed(format!("the LLVM IR has no metadata {id}")))
    }

    /// The function that contains a location, found through the blocks around the location.
    fn function(&self, location: &Node<'a>) -> Result<&'a Node<'a>, CudaBuilderError> {
        let mut node = self.node(scope(location)?)?;
        for _ in 0..self.nodes.len() {
            match node.kind {
                "DISubprogram" => return Ok(node),
                _ => node = self.node(scope(node)?)?,
            }
        }
        Err(malformed(format!("{} of the LLVM IR is in no function", location.id)))
    }

    /// The index in the table of the path of a scope's file. A `.` that only means the current
    /// folder is left out of the path.
    fn file(&mut self, scope: &Node<'a>) -> Result<usize, CudaBuilderError> {
        let file = scope
            .field("file")
            .ok_or_else(|| malformed(format!("{} of the LLVM IR has no file", scope.id)))?;
        let file = self.node(file)?;
        let (folder, name) = (file.text("directory"), file.text("filename"));
        let name = name.strip_prefix("./").unwrap_or(&name);
        let path = match folder.as_str() {
            "" | "." => name.to_owned(),
            _ if name.starts_with('/') => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        Ok(index(&mut self.table.files, path))
    }
}

/// The `scope` of a node.
fn scope<'a>(node: &Node<'a>) -> Result<&'a str, CudaBuilderError> {
    node.field("scope").ok_or_else(|| malformed(format!("{} of the LLVM IR has no scope", node.id)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::IR;
    use super::*;

    /// The places that the number in the rewritten location `id` stands for, the innermost first.
    fn chain(ir: &str, id: &str) -> Vec<String> {
        let (numbered, table) = number(ir).unwrap();
        let line = numbered.lines().find(|line| line.starts_with(&format!("{id} = "))).unwrap();
        let found = line.split_once("line: ").unwrap().1.split(',').next().unwrap();
        let mut next = found.parse().ok().filter(|&number| number != 0);
        let mut chain = Vec::new();
        while let Some(number) = next {
            let Place { position, inlined } = table.place(number);
            let function = inlined.map_or("", |(function, _)| &table.functions[function]);
            chain.push(format!(
                "{}:{}:{} {function}",
                table.files[position.file], position.line, position.column
            ));
            next = inlined.map(|(_, at)| at);
        }
        chain
    }

    #[test]
    fn a_chain_leads_from_the_innermost_place_to_the_kernel() {
        let expected = [
            "core/src/ptr.rs:8:3 add<(i32, i32)>",
            "src/tree.rs:5:1 tree<\"x\", i32>",
            "src/lib.rs:12:7 ",
        ];
        assert_eq!(chain(IR, "!13"), expected);
        assert_eq!(chain(IR, "!10"), ["src/lib.rs:11:5 "]);
    }

    #[test]
    fn blocks_and_functions_are_told_apart() {
        // A macro makes a block of another file inside the function.
        assert_eq!(chain(IR, "!11"), ["/abs/macro.rs:4:9 tree<\"x\", i32>", "src/lib.rs:12:7 "]);
    }

    #[test]
    fn locations_move_to_the_function_that_has_the_code() {
        let (numbered, table) = number(IR).unwrap();
        for id in ["!10", "!11", "!12", "!13", "!16"] {
            let line = numbered.lines().find(|line| line.starts_with(&format!("{id} = "))).unwrap();
            assert!(line.ends_with(", column: 1, scope: !5)"), "{line}");
        }
        assert!(numbered.contains("!12 = distinct !DILocation("), "{numbered}");
        assert!(numbered.contains("define ptx_kernel void @k(ptr %p) !dbg !5 {\n"), "{numbered}");
        // llc names the function's own line at the beginning of the code.
        let function = numbered.lines().find(|line| line.starts_with("!5 = ")).unwrap();
        let (head, tail) = function.split_once("line: 10, scopeLine: ").unwrap();
        assert_eq!(head, "!5 = distinct !DISubprogram(name: \"k\", scope: !1, file: !1, ");
        let place = table.place(tail.split(',').next().unwrap().parse().unwrap());
        assert_eq!((place.position.line, place.position.column, place.inlined), (10, 0, None));
    }

    #[test]
    fn the_same_chain_has_one_number_and_no_line_has_none() {
        let (_, table) = number(IR).unwrap();
        let distinct: std::collections::HashSet<_> = table.places.iter().collect();
        assert_eq!(distinct.len(), table.places.len());
        assert_eq!(chain(IR, "!14"), [""; 0]);
        // Here the place at which the code was inlined has no line.
        assert_eq!(
            chain(
                &IR.replace(
                    "!12 = distinct !DILocation(line: 12",
                    "!12 = distinct !DILocation(line: 0"
                ),
                "!13"
            ),
            [""; 0]
        );
    }

    #[test]
    fn ir_without_debug_metadata_stays_as_it_is() {
        let ir = "define void @f() {\n  ret void\n}\n\n!0 = !{i32 2, !\"Dwarf Version\"}\n";
        assert_eq!(number(ir).unwrap(), (ir.to_owned(), LineTable::default()));
    }

    #[test]
    fn broken_metadata_is_refused() {
        for (from, to, message) in [
            (
                "!6 = distinct !DISubprogram",
                "!60 = distinct !DISubprogram",
                "the LLVM IR has no metadata !6",
            ),
            ("line: 8,", "line: x,", "line of !13 is x, which is no number"),
            (
                "!5, inlinedAt: !12)",
                "!5, inlinedAt: !6)",
                "!6 of the LLVM IR is used as a location and is none",
            ),
            (
                "column: 1, scope: !6, inlinedAt: !12)",
                "column: 1, inlinedAt: !12)",
                "!16 of the LLVM IR has no scope",
            ),
            (
                "scope: !1, file: !1, line: 10",
                "scope: !1, line: 10",
                "!5 of the LLVM IR has no file",
            ),
            (
                "!7 = distinct !DILexicalBlock(scope: !6",
                "!7 = distinct !DILexicalBlock(scope: !7",
                "!11 of the LLVM IR is in no function",
            ),
            (
                "column: 7, scope: !5)",
                "column: 7, scope: !5, inlinedAt: !12)",
                "!12 of the LLVM IR is used as a location and is none",
            ),
        ] {
            let broken = IR.replacen(from, to, 1);
            assert_ne!(broken, IR, "{from}");
            let error = number(&broken).unwrap_err().to_string();
            assert_eq!(error, format!("the PTX cannot be given the source's lines: {message}"));
        }
    }
}
