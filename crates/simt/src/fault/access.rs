//! Accesses to memory, as faults and reports name them.

use std::fmt;

/// The state space to which an access went, after generic addresses were resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory, including `.const` variables.
    Global,
    /// The block's shared memory.
    Shared,
    /// The thread's local memory.
    Local,
    /// The kernel's parameters.
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
        })
    }
}

/// The kind of an access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// A load (`ld`).
    Read,
    /// A store (`st`).
    Write,
    /// An atomic or a reduction (`atom` or `red`).
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
        })
    }
}

/// The allocation that is nearest to an out-of-bounds access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearest {
    /// The first address of the allocation.
    pub base: u64,
    /// The size of the allocation in bytes.
    pub bytes: u64,
    /// How many bytes the access reaches past the end of the allocation, or how many bytes before
    /// its start the access begins.
    pub missed_by: u64,
    /// Whether the access lies past the end of the allocation; otherwise it lies before the start.
    pub past_end: bool,
}
