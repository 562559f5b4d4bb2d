//! The syntax tree of a PTX module.
//!
//! Names are resolved before this tree exists: a register is a [`RegId`] with a declared type, a
//! variable is a [`VarRef`], a function is a [`FunctionId`], and a label is an index into
//! [`Function::body`]. A tree that [`crate::ptx::parse`] returns has passed the validator, so code
//! that lowers it may index by these ids without checks.
//!
//! An instruction is an [`Op`]. There is one variant for each form that differs in its operands,
//! and its modifiers are types. The names follow the PTX ISA, sections 5 to 10.

mod function;
mod id;
mod location;
mod modifiers;
mod module;
mod op;
mod operand;
mod special;
mod types;
mod unknown;
mod variable;
mod video;

pub use function::{
    Callees, Function, FunctionKind, Instruction, Label, Limits, Param, PointerInfo, Prototype,
    Register, SystemFunction,
};
pub use id::{FunctionId, LocationId, RegId, Span, Target};
pub(crate) use location::frames;
pub use location::{Frame, InlinedAt, Location, SourceFile};
pub use modifiers::*;
pub use module::Module;
pub use op::Op;
pub use operand::{Address, AddressBase, Imm, PredicateOperand, Value};
pub use special::{Axis, SpecialReg};
pub use types::{Space, Type};
pub use unknown::Unknown;
pub use variable::{Initializer, Linkage, Relocation, RelocationTarget, VarRef, Variable};
pub use video::{Video, VideoOp, VideoResult};
