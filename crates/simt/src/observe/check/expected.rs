//! Loads whose value is what a compare-and-swap expects.
//!
//! Loops around a compare-and-swap often begin with a plain load of the word. If the load returns
//! an old value, the compare-and-swap fails and the loop goes on with the value that it returns.

use std::collections::HashSet;

use super::detector::Check;
use super::sites::Site;
use crate::exec::env::Env;
use crate::fault::Access;
use crate::ir::{Address, Op, Program, Slot, Space};
use crate::ptx::ast::AtomOp;
use crate::registers::{File, Rule};

/// A place that holds the loaded value: a register, or a local variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Register(Slot),
    Variable(Slot, i64),
}

fn variable(space: Space, address: Address) -> Option<Place> {
    matches!(space, Space::Local | Space::Generic)
        .then_some(Place::Variable(address.base, address.offset))
}

/// Whether moves carry the value of the load at `load` to the compare-and-swap at `swap`, which
/// compares with it.
fn is_expected(program: &Program, load: u32, swap: u32) -> bool {
    let Op::Atomic(swap) = &program.code[swap as usize].op else { return false };
    let Op::Load(load) = &program.code[load as usize].op else { return false };
    if swap.op != AtomOp::Cas {
        return false;
    }
    let mut held: HashSet<Place> =
        load.targets.iter().flatten().map(|target| Place::Register(target.slot)).collect();
    loop {
        let before = held.len();
        for (inst, shape) in program.code.iter().zip(&program.shapes) {
            match &inst.op {
                Op::Alu { operands, .. } => {
                    let Some(shape) = shape.filter(|shape| shape.rule == Rule::Copy) else {
                        continue;
                    };
                    let slot = |file, register| match file {
                        File::Doubles => Place::Register(Slot::Double(register)),
                        _ => Place::Register(Slot::Word(register)),
                    };
                    if shape.reads[0].is_some_and(|file| held.contains(&slot(file, operands.a))) {
                        held.insert(slot(shape.writes, operands.d));
                    }
                }
                Op::Store(store) => {
                    if let ([source], Some(place)) =
                        (&store.sources[..], variable(store.space, store.address))
                        && held.contains(&Place::Register(*source))
                    {
                        held.insert(place);
                    }
                }
                Op::Load(load) => {
                    if let ([Some(target)], Some(place)) =
                        (&load.targets[..], variable(load.space, load.address))
                        && held.contains(&place)
                    {
                        held.insert(Place::Register(target.slot));
                    }
                }
                _ => {}
            }
        }
        if held.len() == before {
            return held.contains(&Place::Register(swap.a));
        }
    }
}

impl Check {
    /// Whether one of two accesses in conflict is a compare-and-swap, and the other one a plain
    /// load whose value it expects.
    pub(super) fn is_compared(
        &mut self,
        env: &Env<'_>,
        (pc, here): (u32, Site),
        there: Site,
    ) -> bool {
        if here.launch != there.launch {
            return false;
        }
        let plain = |site: Site| site.access == Access::Read && !site.is_strong();
        let (load, swap) = match (here.access, there.access) {
            (Access::Atomic, Access::Read) if plain(there) => (there.pc, pc),
            (Access::Read, Access::Atomic) if plain(here) => (pc, there.pc),
            _ => return false,
        };
        let known = self.code.expected.entry((load, swap));
        *known.or_insert_with(|| is_expected(env.program, load, swap))
    }
}
