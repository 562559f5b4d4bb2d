//! The source lines of instructions: PTX ISA, "Debugging Directives", `.file` and `.loc`.

use std::fmt;

use super::{LocationId, Module};

/// A `.file` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The number that `.loc` uses.
    pub index: u32,
    /// The path as written.
    pub path: String,
}

/// A place in the source from which the PTX was compiled (`.loc`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The index of the file in [`Module::files`].
    pub file: u32,
    /// The line, from 1; 0 if the compiler gave none.
    pub line: u32,
    /// The column, from 1; 0 if the compiler gave none.
    pub column: u32,
    /// The place at which this code was inlined, with the name of the inlined function.
    pub inlined_at: Option<InlinedAt>,
}

/// The call site of inlined code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InlinedAt {
    /// The name of the inlined function as the compiler wrote it, if the debug strings contain it.
    /// nvcc writes mangled names.
    pub function: Option<String>,
    /// The call site.
    pub location: LocationId,
}

/// One place of a chain of inlined calls, in a form that can be shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The path as the compiler wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if the compiler gave none.
    pub column: u32,
    /// The function that contains the place. Line tables name it only for inlined code.
    pub function: Option<String>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 { write!(f, ":{}", self.column) } else { Ok(()) }
    }
}

impl Module {
    /// The place of an instruction, followed by the places at which it was inlined, innermost
    /// first. Places for which the compiler gave no line are left out.
    ///
    /// ```
    /// let module = simt::ptx::parse(
    ///     "inlined.ptx",
    ///     ".version 7.2
    ///     .target sm_75
    ///     .address_size 64
    ///     .visible .entry k() {
    ///         .loc 1 9 3
    ///         .loc 2 4 5, function_name $name, inlined_at 1 9 3
    ///         bar.sync 0;
    ///         ret;
    ///     }
    ///     .file 1 \"kernel.rs\"
    ///     .file 2 \"library.rs\"
    ///     .section .debug_str { $name: .b8 119, 97, 105, 116, 0 }",
    /// )?;
    /// let barrier = &module.functions[0].body[0];
    /// let frames = module.frames(barrier.location.expect("it has a line"));
    /// assert_eq!((frames[0].file.as_str(), frames[0].line), ("library.rs", 4));
    /// assert_eq!(frames[0].function.as_deref(), Some("wait"));
    /// assert_eq!((frames[1].file.as_str(), frames[1].line), ("kernel.rs", 9));
    /// # Ok::<(), simt::ptx::Diagnostic>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `location` is of another module.
    pub fn frames(&self, location: LocationId) -> Vec<Frame> {
        frames(&self.files, &self.locations, location)
    }
}

/// The function behind [`Module::frames`], which gets the tables of a module.
pub(crate) fn frames(
    files: &[SourceFile],
    locations: &[Location],
    location: LocationId,
) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut next = Some(location);
    while let Some(id) = next {
        let Location { file, line, column, ref inlined_at } = locations[id.index()];
        if line > 0 {
            let file = files[file as usize].path.clone();
            let function = inlined_at.as_ref().and_then(|inlined| inlined.function.clone());
            frames.push(Frame { file, line, column, function });
        }
        // A call site always has a lower number than the code that is inlined there.
        next = inlined_at.as_ref().map(|inlined| inlined.location);
    }
    frames
}
