//! From a `.loc` to the chain of calls it stands in.

use std::fmt;

use super::ast::{Location, LocationId, Module, SourceFile};

/// A place in the source that PTX was compiled from: one link of a chain of inlined calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file's path as the compiler wrote it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 means the compiler gave none.
    pub column: u32,
    /// The inlined function that the place lies in; `None` in the kernel itself, or where the compiler gave none.
    pub function: Option<String>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 { write!(f, ":{}", self.column) } else { Ok(()) }
    }
}

impl Module {
    /// The chain of inlined calls that a place stands in, innermost first. Places without a line are left out.
    pub fn frames(&self, location: LocationId) -> Vec<Frame> {
        frames(&self.files, &self.locations, location)
    }
}

/// [`Module::frames`] of a module's tables.
pub(crate) fn frames(files: &[SourceFile], locations: &[Location], location: LocationId) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut next = Some(location);
    // A chain names each place once, so that a circle, which no compiler writes, ends.
    while let Some(place) = next.filter(|_| frames.len() < locations.len()) {
        let Location { file, line, column, inlined_at } = &locations[place.index()];
        let path = files.get(*file as usize).map_or("", |file| file.path.as_str());
        if *line > 0 {
            let function = inlined_at.as_ref().and_then(|call| call.function.clone());
            frames.push(Frame { file: path.to_owned(), line: *line, column: *column, function });
        }
        next = inlined_at.as_ref().map(|call| call.location);
    }
    frames
}
