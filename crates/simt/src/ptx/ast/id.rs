//! Places in the text, and numbers that stand for registers, functions, source locations and branch targets.

/// A place in the PTX text: byte offsets into [`Module::source`] and the line they begin on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line, from 1.
    pub line: u32,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A register of the function at hand: an index into [`Function::registers`].
    RegId,
    /// An index into [`Module::functions`].
    FunctionId,
    /// An index into [`Module::locations`].
    LocationId,
    /// A branch target: an index into [`Function::body`], always less than its length.
    Target,
}
