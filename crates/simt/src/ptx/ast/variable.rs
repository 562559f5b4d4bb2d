//! Variables: declared storage, and what it begins with.

use super::id::Span;
use super::types::{Space, Type};

/// A symbol that names storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarRef {
    /// [`Module::variables`].
    Module(u32),
    /// [`Function::variables`].
    Function(u32),
    /// [`Function::params`].
    Param(u32),
    /// [`Function::returns`].
    Return(u32),
}

/// A variable with storage.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `.global`, `.const`, `.shared`, `.local`, or `.param` (the scratch of a call sequence).
    pub space: Space,
    /// How it links.
    pub linkage: Linkage,
    /// Element type.
    pub ty: Type,
    /// 1, 2 or 4: `.v2`, `.v4`.
    pub vector: u8,
    /// `None`: a scalar. `Some(n)`: an array of n elements over all its dimensions. `Some(0)`: `extern ... x[]`, whose
    /// size comes with the launch.
    pub count: Option<u64>,
    /// In bytes, a power of two.
    pub align: u32,
    /// The first contents; without it, storage begins zeroed (`.global`, `.const`) or undefined (others).
    pub init: Option<Initializer>,
    /// The declaration.
    pub span: Span,
}

impl Variable {
    /// Size in bytes; 0 for the unsized `extern x[]`.
    pub fn size(&self) -> u64 {
        u64::from(self.ty.size()) * u64::from(self.vector) * self.count.unwrap_or(1)
    }

    /// Whether it is dynamic shared memory: `.extern .shared x[]`.
    pub fn is_dynamic_shared(&self) -> bool {
        self.space == Space::Shared && self.linkage == Linkage::Extern && self.count == Some(0)
    }
}

/// The first contents of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Initializer {
    /// Little-endian, exactly [`Variable::size`] bytes.
    pub bytes: Vec<u8>,
    /// Addresses to add into `bytes`, 8 bytes each.
    pub relocations: Vec<Relocation>,
}

/// The address of a variable inside an initialiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Where in the bytes.
    pub offset: u64,
    /// Whose address, an index into [`Module::variables`].
    pub variable: u32,
    /// What to add to it.
    pub addend: i64,
    /// `generic(x)`: the generic address, not the one in the variable's own space.
    pub generic: bool,
}

/// How a symbol links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// Seen in this module alone.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}
