//! Storage of variables: shared memory of the kernel, local memory of the frames.

use super::frame::{Frame, Register, index};
use super::lowering::{Lowering, Result};
use crate::ir::{Slot, Space};
use crate::ptx::ast::{self, Function, Type};

/// The greatest size of a kernel's static shared memory in bytes.
const MAX_STATIC_SHARED: u64 = 227 * 1024;
/// The greatest size of a thread's local memory in bytes.
const MAX_LOCAL: u64 = 512 * 1024;

impl<'a> Lowering<'a> {
    pub(super) fn frame(
        &mut self,
        function: &'a Function,
        params: Vec<(Space, u64)>,
        returns: Vec<(Space, u64)>,
    ) -> Result<Frame<'a>> {
        let registers = function
            .registers
            .iter()
            .map(|register| match register.ty {
                Type::Pred => {
                    let predicate = self.predicate();
                    self.zeroed_predicates.push(predicate);
                    Register::Predicate(predicate)
                }
                Type::B128 => {
                    let halves = [0; 2].map(|_| index(self.temporary(Type::B64)));
                    self.zeroed_doubles.extend(halves);
                    Register::Pair(halves[0])
                }
                ty => {
                    let slot = self.temporary(ty);
                    match slot {
                        Slot::Word(word) => self.zeroed_words.push(word),
                        Slot::Double(double) => self.zeroed_doubles.push(double),
                    }
                    Register::Value(slot)
                }
            })
            .collect();
        let mut variables = Vec::new();
        for (number, variable) in function.variables.iter().enumerate() {
            self.span = variable.span;
            let (size, align) = (variable.size(), u64::from(variable.align));
            variables.push(match variable.space {
                ast::Space::Shared if variable.is_dynamic_shared() => 0,
                ast::Space::Shared => {
                    let key = (function.name.as_str(), number);
                    let at = match self.function_shared.get(&key) {
                        Some(at) => *at,
                        None => self.place_shared(size, align)?,
                    };
                    self.function_shared.insert(key, at);
                    at
                }
                ast::Space::Local | ast::Space::Param => self.place_local(size, align)?,
                space => {
                    return self.refuse(format!(
                        ".{} variables inside a function are not simulated",
                        space.name()
                    ));
                }
            });
        }
        let is_kernel = function.is_entry();
        Ok(Frame { function, registers, variables, params, returns, is_kernel })
    }

    pub(super) fn place_shared(&mut self, size: u64, align: u64) -> Result<u64> {
        let at = self.shared_end.next_multiple_of(align.max(1));
        self.shared_end = at.saturating_add(size);
        if self.shared_end > MAX_STATIC_SHARED {
            return self
                .refuse(format!("more than {MAX_STATIC_SHARED} bytes of static shared memory"));
        }
        Ok(at)
    }

    pub(super) fn place_local(&mut self, size: u64, align: u64) -> Result<u64> {
        let at = self.local_top.next_multiple_of(align.max(1));
        self.local_top = at.saturating_add(size);
        if self.local_top > MAX_LOCAL {
            return self
                .refuse(format!("more than {MAX_LOCAL} bytes of local memory for each thread"));
        }
        self.local_end = self.local_end.max(self.local_top);
        Ok(at)
    }
}
