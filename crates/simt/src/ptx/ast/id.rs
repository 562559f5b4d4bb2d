//! Places in the text, and numbers that stand for registers, functions, source locations and branch
//! targets.

/// A place in the PTX text: byte offsets into [`Module::source`](super::Module::source), and the
/// line on which they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
    /// The line, from 1.
    pub line: u32,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A register of one function: an index into
    /// [`Function::registers`](super::Function::registers).
    RegId,
    /// A function: an index into [`Module::functions`](super::Module::functions).
    FunctionId,
    /// A source location: an index into [`Module::locations`](super::Module::locations).
    LocationId,
    /// A branch target: an index into [`Function::body`](super::Function::body), always less than
    /// its length.
    Target,
}
