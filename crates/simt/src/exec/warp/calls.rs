//! Calls through addresses, and returns from them.

use super::state::Warp;
use crate::exec::raised::LaneFault;
use crate::fault::FaultKind;
use crate::ir::{IndirectCall, Outlined, Program};
use crate::registers::{LANES, Lane};

/// The lanes of `active` for which `holds` is true.
fn lanes(active: u32, holds: impl Fn(usize) -> bool) -> u32 {
    active & (0..LANES).fold(0, |bits, lane| bits | u32::from(holds(lane)) << lane)
}

impl Warp {
    /// The call at `pc` in the lanes of `active`. Returns the lanes that call the same function as
    /// the first of them, and the program counter of that function.
    #[inline(never)]
    pub(super) fn call(
        &mut self,
        call: &IndirectCall,
        program: &Program,
        active: u32,
        pc: u32,
    ) -> Result<(u32, u32), LaneFault> {
        let first = active.trailing_zeros();
        let addresses = &self.registers.doubles[call.target as usize];
        let address = addresses[first as usize];
        let Ok(found) = call.callees.binary_search_by_key(&address, |(address, _)| *address) else {
            return Err(Box::new((first, FaultKind::CallTarget { address })));
        };
        let number = call.callees[found].1 as usize;
        let Outlined { start, link, .. } = program.outlined[number];
        let same = lanes(active, |lane| addresses[lane] == address);
        let links = &self.registers.words[link as usize];
        let again = lanes(same, |lane| links[lane] != 0);
        if again != 0 {
            let lane = again.trailing_zeros();
            return Err(Box::new((lane, self.recursion(program, number, pc, lane as usize))));
        }
        <u32 as Lane>::put(&mut self.registers, link, same, [pc + 1; LANES]);
        Ok((same, start))
    }

    /// The return through `link` in the lanes of `active`. Returns the lanes that return to the
    /// same place as the first of them, and the place.
    #[inline(never)]
    pub(super) fn leave(&mut self, link: u32, active: u32) -> (u32, u32) {
        let links = self.registers.words[link as usize];
        let to = links[active.trailing_zeros() as usize];
        let same = lanes(active, |lane| links[lane] == to);
        <u32 as Lane>::put(&mut self.registers, link, same, [0; LANES]);
        (same, to)
    }

    /// The fault of a lane that calls a function that it has not left yet.
    fn recursion(&self, program: &Program, number: usize, pc: u32, lane: usize) -> FaultKind {
        let functions = &program.outlined;
        let caller = |pc: u32| functions.iter().position(|of| (of.start..of.end).contains(&pc));
        let mut through = Vec::new();
        let mut at = caller(pc);
        while let Some(function) = at.filter(|function| *function != number) {
            through.push(functions[function].name.clone());
            let link = self.registers.words[functions[function].link as usize][lane];
            at = caller(link.wrapping_sub(1));
        }
        through.reverse();
        FaultKind::Recursion { function: functions[number].name.clone(), through }
    }
}
