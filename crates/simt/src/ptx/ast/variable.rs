//! Variables: declared storage, and its initial contents.

use super::id::{FunctionId, Span};
use super::types::{Space, Type};

/// A symbol that names storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarRef {
    /// A variable of the module: an index into [`Module::variables`](super::Module::variables).
    Module(u32),
    /// A variable of the function: an index into
    /// [`Function::variables`](super::Function::variables).
    Function(u32),
    /// A parameter of the function: an index into [`Function::params`](super::Function::params).
    Param(u32),
    /// A return parameter: an index into [`Function::returns`](super::Function::returns).
    Return(u32),
}

/// A variable with storage.
#[derive(Debug, Clone)]
pub struct Variable {
    /// The name, as written.
    pub name: String,
    /// `.global`, `.const`, `.shared`, `.local`, or `.param` (the scratch of a call sequence).
    pub space: Space,
    /// The linkage.
    pub linkage: Linkage,
    /// The type of one element.
    pub ty: Type,
    /// The length of the element's vector: 1, 2 (`.v2`) or 4 (`.v4`).
    pub vector: u8,
    /// `None` for a scalar. `Some(n)` for an array of n elements over all its dimensions. `Some(0)`
    /// for `extern ... x[]`, whose size comes with the launch.
    pub count: Option<u64>,
    /// The alignment in bytes, a power of two.
    pub align: u32,
    /// The initial contents. Without them, the storage begins as zeros (`.global`, `.const`) or
    /// undefined (other spaces).
    pub init: Option<Initializer>,
    /// The place of the declaration.
    pub span: Span,
}

impl Variable {
    /// The size in bytes; 0 for an `extern x[]` without a size.
    pub fn size(&self) -> u64 {
        u64::from(self.ty.size()) * u64::from(self.vector) * self.count.unwrap_or(1)
    }

    /// Whether this is dynamic shared memory: `.extern .shared x[]`.
    pub fn is_dynamic_shared(&self) -> bool {
        self.space == Space::Shared && self.linkage == Linkage::Extern && self.count == Some(0)
    }
}

/// The initial contents of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Initializer {
    /// The bytes, little-endian. There are exactly [`Variable::size`] of them.
    pub bytes: Vec<u8>,
    /// The addresses that are added to `bytes`. Each has 8 bytes.
    pub relocations: Vec<Relocation>,
}

/// An address inside an initialiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// The offset of the address in the bytes.
    pub offset: u64,
    /// The thing whose address this is.
    pub target: RelocationTarget,
    /// The number to add to the address.
    pub addend: i64,
    /// Whether this is the generic address (`generic(x)`), and not the address in the variable's
    /// own space. A function has one address.
    pub generic: bool,
}

/// The thing whose address an initialiser contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationTarget {
    /// A variable: an index into [`Module::variables`](super::Module::variables).
    Variable(u32),
    /// A device function.
    Function(FunctionId),
}

/// The linkage of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// The symbol is visible in this module alone.
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
