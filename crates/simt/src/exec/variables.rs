//! The `.global` and `.const` variables of modules, and their places in device memory.

use std::sync::Arc;

use crate::exec::memory::{Memory, MemoryError};
use crate::ir::layout::function_address;
use crate::module::Shared;
use crate::ptx::ast::{self, RelocationTarget};

/// Whether a variable is in device memory.
pub(crate) fn in_memory(variable: &ast::Variable) -> bool {
    matches!(variable.space, ast::Space::Global | ast::Space::Const) && variable.size() > 0
}

/// The device addresses of the variables of a module. They are placed when the module first runs on
/// `memory`, or when somebody first asks for an address.
pub(crate) fn place(module: &Shared, memory: &Memory) -> Result<Arc<[u64]>, MemoryError> {
    memory.module_variables(module.id, || {
        let mut addresses = Vec::with_capacity(module.variables.len());
        for variable in &module.variables {
            let placed = if in_memory(variable) { memory.alloc(variable.size()) } else { Ok(0) };
            match placed {
                Ok(address) => addresses.push(address),
                Err(error) => {
                    // If the module's variables do not all fit, none of them is kept.
                    for address in addresses.into_iter().filter(|address| *address != 0) {
                        memory.free(address)?;
                    }
                    return Err(error);
                }
            }
        }
        for (variable, &address) in module.variables.iter().zip(&addresses) {
            // A variable without an initialiser is zero (PTX ISA, "Initializers").
            memory.assume_written_at(address);
            let Some(init) = variable.init.as_ref().filter(|_| in_memory(variable)) else {
                continue;
            };
            let mut bytes = init.bytes.clone();
            for relocation in &init.relocations {
                let base = match relocation.target {
                    RelocationTarget::Variable(index) => addresses[index as usize],
                    RelocationTarget::Function(id) => function_address(id.0),
                };
                let value = base.wrapping_add_signed(relocation.addend);
                let at = relocation.offset as usize;
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            memory.write(address, &bytes)?;
        }
        Ok(addresses)
    })
}
