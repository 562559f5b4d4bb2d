//! Puts the lines of the source into the PTX, with whole chains of inlining.
//!
//! LLVM 22 prints `.loc file line column` of the innermost place only, so code that was inlined
//! from `core` would lead to `core` and nowhere else. LLVM also prints labels that only debuggers
//! need, which makes the text four times as long. So llc gets numbers of this module's own instead
//! of lines, and this module then replaces each printed number by the places that it stands for:
//!
//! 1. [`number`] reads the metadata of the optimised IR. Each `!DILocation` is moved to the
//!    function into which it was inlined, and its line becomes the number of its chain of places.
//! 2. [`LineTable::print`] replaces the `.loc` of such a number by the `.loc` lines of the chain,
//!    in the form that nvcc prints. After the code it writes the table of files and the names of
//!    inlined functions.
//!
//! A place inlined at another is written `.loc F L C, function_name LABEL, inlined_at F L C`. The
//! last three numbers refer to the latest `.loc` of that place in the same function, and so to the
//! chain that it described. So a chain is written from the outermost place inwards, and a place
//! whose latest `.loc` already describes the right chain is left out. (PTX ISA, "Debugging
//! Directives: .loc", since PTX 7.2.)
//!
//! LLVM drops the line of instructions that it moves or merges, which mostly compute addresses.
//! Such an instruction gets the line of the next instruction in its block that has one, or else of
//! the instruction before it.

mod metadata;

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::error::CudaBuilderError;

pub(crate) use metadata::number;

/// The places that the numbers in a module's rewritten IR stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineTable {
    /// Number `n` is at index `n - 1`, because LLVM takes line 0 for no line.
    places: Vec<Place>,
    files: Vec<String>,
    functions: Vec<String>,
}

/// The number of a place. It is not 0.
type Number = u32;

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    position: Position,
    /// The function that contains the position, by its index in [`LineTable::functions`], and the
    /// number of the place where that function was inlined.
    inlined: Option<(usize, Number)>,
}

/// A file, line and column, as `.loc` and `inlined_at` name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Position {
    /// The index in [`LineTable::files`].
    file: usize,
    line: u32,
    column: u32,
}

/// A line in the body of a function.
enum Line {
    Instruction(Option<Number>),
    Label,
    Other,
}

impl LineTable {
    /// Puts the true lines into the PTX that llc printed for the rewritten IR.
    ///
    /// # Errors
    /// The PTX has a number that this table lacks, or does not look as llc prints it.
    pub(crate) fn print(&self, ptx: &str) -> Result<String, CudaBuilderError> {
        let mut printer = Printer {
            table: self,
            out: String::with_capacity(ptx.len() * 2),
            files: vec![],
            functions: vec![],
        };
        let mut lines = ptx.lines();
        while let Some(line) = lines.next() {
            if is_directive(line, ".section") {
                // Only debuggers read such a section, which has one line or more. It is left out.
                if !line.contains('}') && !lines.any(|line| line.trim() == "}") {
                    return Err(malformed("a section of the PTX does not end"));
                }
            } else if !is_directive(line, ".file") {
                printer.line(line);
                if line == "{" {
                    let body = read_body(&mut lines, self.places.len())?;
                    printer.body(body);
                }
            }
        }
        printer.tables()?;
        Ok(printer.out)
    }

    fn place(&self, number: Number) -> Place {
        self.places[number as usize - 1]
    }
}

/// Reads the body of a function up to its closing brace. Each instruction has the number that llc
/// gave to it.
fn read_body<'a>(
    lines: &mut std::str::Lines<'a>,
    places: usize,
) -> Result<Vec<(&'a str, Line)>, CudaBuilderError> {
    let mut number = None;
    let mut body = Vec::new();
    for line in lines {
        let code = line.split("//").next().unwrap_or_default().trim();
        if is_directive(line, ".loc") {
            // `.loc file line column`
            let found = code.split_whitespace().nth(2).and_then(|word| word.parse::<Number>().ok());
            let found = found.filter(|&found| found as usize <= places);
            let found = found.ok_or_else(|| {
                malformed(format!("`{code}` in the PTX is not of the lines that llc was given"))
            })?;
            number = Some(found).filter(|&found| found != 0);
        } else if let Some(label) = code.strip_suffix(':') {
            if !["$L__tmp", "$L__func_begin", "$L__func_end"]
                .iter()
                .any(|known| label.starts_with(known))
            {
                body.push((line, Line::Label));
            }
        } else if code.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@') {
            body.push((line, Line::Instruction(number)));
        } else {
            body.push((line, Line::Other));
            if line == "}" {
                fill(&mut body);
                return Ok(body);
            }
        }
    }
    Err(malformed("a function of the PTX does not end"))
}

/// Gives each instruction without a number the number of the next instruction in its block, or else
/// of the instruction before it.
fn fill(body: &mut [(&str, Line)]) {
    let mut known = None;
    for (_, line) in body.iter_mut().rev() {
        match line {
            Line::Instruction(number) => {
                *number = number.or(known);
                known = *number;
            }
            Line::Label => known = None,
            Line::Other => {}
        }
    }
    known = None;
    for (_, line) in body {
        if let Line::Instruction(number) = line {
            *number = number.or(known);
            known = *number;
        }
    }
}

fn is_directive(line: &str, name: &str) -> bool {
    line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '\t']))
}

fn malformed(what: impl Into<String>) -> CudaBuilderError {
    CudaBuilderError::LineInfo(what.into())
}

/// Writes PTX. It numbers files and functions in the order in which they are first used.
struct Printer<'a> {
    table: &'a LineTable,
    out: String,
    files: Vec<usize>,
    functions: Vec<usize>,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn body(&mut self, body: Vec<(&str, Line)>) {
        let mut described = HashMap::new();
        let mut current = None;
        for (text, line) in body {
            match line {
                Line::Instruction(Some(number)) if current != Some(number) => {
                    self.describe(number, &mut described);
                    current = Some(number);
                }
                _ => {}
            }
            self.line(text);
        }
    }

    /// Writes the `.loc` of a place. Before it come those of the places in its chain that the
    /// latest `.loc` lines do not describe. `described` has the latest number of each position.
    fn describe(&mut self, number: Number, described: &mut HashMap<Position, Number>) {
        let Place { position, inlined } = self.table.place(number);
        if let Some((_, at)) = inlined
            && described.get(&self.table.place(at).position) != Some(&at)
        {
            self.describe(at, described);
        }
        let mut line = format!("\t.loc\t{}", self.position(position));
        if let Some((function, at)) = inlined {
            let function = index(&mut self.functions, function);
            let at = self.position(self.table.place(at).position);
            write!(line, ", function_name $F{function}, inlined_at {at}")
                .expect("a String takes all");
        }
        self.line(&line);
        described.insert(position, number);
    }

    fn position(&mut self, Position { file, line, column }: Position) -> String {
        format!("{} {line} {column}", index(&mut self.files, file) + 1)
    }

    /// Writes the table of files and the names of the functions.
    fn tables(&mut self) -> Result<(), CudaBuilderError> {
        for (i, file) in std::mem::take(&mut self.files).into_iter().enumerate() {
            let path = &self.table.files[file];
            if path.contains(|c: char| c == '"' || c.is_control()) {
                return Err(malformed(format!("the path {path:?} cannot stand in PTX")));
            }
            self.line(&format!("\t.file\t{} \"{path}\"", i + 1));
        }
        if self.functions.is_empty() {
            return Ok(());
        }
        self.line("\t.section\t.debug_str\n\t{");
        for (i, function) in std::mem::take(&mut self.functions).into_iter().enumerate() {
            let bytes: Vec<_> = self.table.functions[function]
                .bytes()
                .chain([0])
                .map(|byte| byte.to_string())
                .collect();
            self.line(&format!("$F{i}:\n.b8 {}", bytes.join(",")));
        }
        self.line("\t}");
        Ok(())
    }
}

/// The index of `value` in `values`. A new value is put at the end.
fn index<T: PartialEq>(values: &mut Vec<T>, value: T) -> usize {
    values.iter().position(|known| *known == value).unwrap_or_else(|| {
        values.push(value);
        values.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const IR: &str = r#"define ptx_kernel void @k(ptr %p) !dbg !5 {
  %a = load i32, ptr %p, align 4, !dbg !10
  ret void, !dbg !13
}

!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "src/lib.rs", directory: ".", checksumkind: CSK_MD5, checksum: "00")
!2 = !DIFile(filename: "./tree.rs", directory: "src")
!3 = !DIFile(filename: "core/src/ptr.rs", directory: "")
!4 = !DIFile(filename: "/abs/macro.rs", directory: "/elsewhere")
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 10, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!6 = distinct !DISubprogram(name: "tree<\22x\22, i32>", linkageName: "_R", scope: !2, file: !2, line: 3, scopeLine: 3, unit: !0)
!7 = distinct !DILexicalBlock(scope: !6, file: !4, line: 2, column: 1)
!8 = distinct !DISubprogram(name: "add<(i32, i32)>", scope: !3, file: !3, line: 7, scopeLine: 7, unit: !0)
!10 = !DILocation(line: 11, column: 5, scope: !5)
!11 = !DILocation(line: 4, column: 9, scope: !7, inlinedAt: !12)
!12 = distinct !DILocation(line: 12, column: 7, scope: !5)
!13 = !DILocation(line: 8, column: 3, scope: !8, inlinedAt: !16)
!14 = !DILocation(line: 0, scope: !6, inlinedAt: !12)
!15 = !DILocation(line: 13, column: 5, scope: !5, inlinedAt: !12)
!16 = distinct !DILocation(line: 5, column: 1, scope: !6, inlinedAt: !12)
"#;

    /// Prints a function with this body as [`LineTable::print`] does. In `.loc N;`, `N` is a
    /// location of [`IR`].
    fn print(body: &str) -> Result<String, CudaBuilderError> {
        let (numbered, table) = number(IR).unwrap();
        let line_of = |id: &str| {
            let line = numbered.lines().find(|line| line.starts_with(&format!("{id} = "))).unwrap();
            line.split_once("ine: ").unwrap().1.split(',').next().unwrap().to_owned()
        };
        let mut ptx = format!(
            ".version 7.2\n.visible .entry k()\n{{\n{body}\n}}\n\t.section\t.debug_macinfo\t{{\t}}\n\t.file\t1 \"./src/lib.rs\"\n"
        );
        for id in ["!10", "!11", "!12", "!13", "!16"] {
            ptx = ptx.replace(
                &format!(".loc {id};"),
                &format!("\t.loc\t1 {} 1      // lib.rs:{id}", line_of(id)),
            );
        }
        table.print(&ptx)
    }

    /// The lines between the braces.
    fn printed(body: &str) -> Vec<String> {
        let ptx = print(body).unwrap();
        let body = ptx.split_once("{\n").unwrap().1.split_once("\n}\n").unwrap().0;
        body.lines().map(|line| line.trim().replace('\t', " ")).collect()
    }

    #[test]
    fn chains_are_written_from_the_outermost_place_inwards() {
        assert_eq!(
            printed(".loc !13;\nadd;"),
            [
                ".loc 1 12 7",
                ".loc 2 5 1, function_name $F0, inlined_at 1 12 7",
                ".loc 3 8 3, function_name $F1, inlined_at 2 5 1",
                "add;"
            ]
        );
    }

    #[test]
    fn what_stands_is_not_written_again() {
        assert_eq!(
            printed(
                ".loc !13;\nadd;\n.loc !11;\nsub;\n.loc !11;\nmul;\n.loc !10;\n.loc !13;\nxor;"
            ),
            [
                ".loc 1 12 7",
                ".loc 2 5 1, function_name $F0, inlined_at 1 12 7",
                ".loc 3 8 3, function_name $F1, inlined_at 2 5 1",
                "add;",
                ".loc 4 4 9, function_name $F0, inlined_at 1 12 7",
                "sub;",
                "mul;",
                ".loc 3 8 3, function_name $F1, inlined_at 2 5 1",
                "xor;"
            ]
        );
    }

    #[test]
    fn the_tables_follow_the_code() {
        let ptx = print(".loc !13;\nadd;").unwrap();
        let tables = "}\n\t.file\t1 \"src/lib.rs\"\n\t.file\t2 \"src/tree.rs\"\n\t.file\t3 \"core/src/ptr.rs\"\n\
                      \t.section\t.debug_str\n\t{\n\
                      $F0:\n.b8 116,114,101,101,60,34,120,34,44,32,105,51,50,62,0\n\
                      $F1:\n.b8 97,100,100,60,40,105,51,50,44,32,105,51,50,41,62,0\n\t}\n";
        assert!(ptx.ends_with(tables), "{ptx}");
        assert!(print(".loc !10;\nadd;").unwrap().ends_with("}\n\t.file\t1 \"src/lib.rs\"\n"));
    }

    #[test]
    fn an_instruction_without_a_line_gets_the_next_ones_in_its_block() {
        let body = ".loc !10;\n@%p bra $L__BB0_1;\n\t.loc\t1 0 1\nshl;\nadd;\n.loc !12;\nld;\n$L__BB0_1:     // in loop\n\
                    \t.loc\t1 0 1\nmov;\n$L__BB0_2:\n.loc !10;\nst;";
        assert_eq!(
            printed(body),
            [
                ".loc 1 11 5",
                "@%p bra $L__BB0_1;",
                ".loc 1 12 7",
                "shl;",
                "add;",
                "ld;",
                "$L__BB0_1:     // in loop",
                "mov;",
                "$L__BB0_2:",
                ".loc 1 11 5",
                "st;"
            ]
        );
    }

    #[test]
    fn labels_for_debuggers_go_and_all_else_stays() {
        let body = "\t.reg .b32 \t%r<3>;\n$L__func_begin0:\n\n// %bb.0:\n$L__tmp0:\n\t{ // callseq 0, 0\n\tcall f, \n\t(\n\t);\n\t}\n$L__tmp1:\n$L__func_end0:\n   // -- End";
        assert_eq!(
            printed(body),
            [
                ".reg .b32  %r<3>;",
                "",
                "// %bb.0:",
                "{ // callseq 0, 0",
                "call f, ",
                "(",
                ");",
                "}",
                "// -- End"
            ]
            .map(|line| line.trim_end().to_owned())
        );
    }

    #[test]
    fn ptx_that_is_not_llcs_is_refused() {
        for (body, message) in [
            (
                "\t.loc\t1 99 1\nadd;",
                "`.loc\t1 99 1` in the PTX is not of the lines that llc was given",
            ),
            ("\t.loc\t1\nadd;", "`.loc\t1` in the PTX is not of the lines that llc was given"),
            (
                "\t.loc\t1 -1 1\nadd;",
                "`.loc\t1 -1 1` in the PTX is not of the lines that llc was given",
            ),
        ] {
            let error = print(body).unwrap_err().to_string();
            assert_eq!(error, format!("the PTX cannot be given the source's lines: {message}"));
        }
        let table = LineTable::default();
        let message = |ptx| table.print(ptx).unwrap_err().to_string();
        assert!(message("{\nret;\n").ends_with("a function of the PTX does not end"));
        assert!(
            message("\t.section\t.debug_info\n\t{\n.b8 0\n")
                .ends_with("a section of the PTX does not end")
        );
        assert_eq!(
            table.print("\t.section\t.debug_info\n\t{\n.b8 0\n\t}\n.target x\n").unwrap(),
            ".target x\n"
        );
    }

    #[test]
    fn a_path_that_ptx_cannot_spell_is_refused() {
        let (_, table) = number(&IR.replace("src/lib.rs", "src/\\22lib.rs")).unwrap();
        let begin = table.places.iter().position(|place| place.inlined.is_none()).unwrap() + 1;
        let error =
            table.print(&format!("{{\n\t.loc\t1 {begin} 1\nadd;\n}}\n")).unwrap_err().to_string();
        assert!(error.ends_with("the path \"src/\\\"lib.rs\" cannot stand in PTX"), "{error}");
    }
}
