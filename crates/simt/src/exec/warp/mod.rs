//! A warp: 32 lanes that advance as a list of splits, and the interpreter's loop.
//!
//! A split is a set of lanes at one program counter. Lanes that disagree at a branch become two
//! splits, and splits whose program counters are equal become one again. The split with the lowest
//! program counter runs first, because compilers place the point where paths join after the paths.
//! No split waits for longer than a quantum, because a lane may wait for another lane of its warp.

mod calls;
mod meet;
mod run;
mod state;

pub(crate) use run::Outcome;
pub(crate) use state::Warp;
