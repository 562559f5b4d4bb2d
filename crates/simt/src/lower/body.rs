//! Bodies of functions: their instructions in order, and calls, which are inlined.

use super::frame::{Frame, predicate, storage};
use super::lowering::{Lowering, Result};
use crate::fault::FaultKind;
use crate::ir::{Guard, Op, Space};
use crate::ptx::ast::{CallArg, CallReturn, FunctionId};

/// A kernel has at most this many instructions after inlining.
const MAX_INSTRUCTIONS: usize = 1 << 22;
/// A kernel and the functions that it calls have at most this many registers. Each takes up to 256
/// bytes in a warp.
const MAX_REGISTERS: usize = 1 << 20;
/// Calls nest at most this deep.
const MAX_CALL_DEPTH: usize = 256;

impl<'a> Lowering<'a> {
    /// Lowers a function's body; `ret` becomes a branch to its end.
    pub(super) fn body(&mut self, frame: &mut Frame<'a>) -> Result<()> {
        let mut starts = Vec::with_capacity(frame.function.body.len() + 1);
        let outer = std::mem::take(&mut self.pending);
        for instruction in &frame.function.body {
            if self.code.len() > MAX_INSTRUCTIONS {
                self.is_full = true;
                return self
                    .refuse(format!("more than {MAX_INSTRUCTIONS} instructions after inlining"));
            }
            starts.push(self.code.len() as u32);
            (self.span, self.location, self.fresh) = (instruction.span, instruction.location, true);
            self.guard = match instruction.guard {
                Some(guard) => {
                    Guard { register: predicate(frame, guard.reg), negated: guard.negated }
                }
                None => Guard::ALWAYS,
            };
            let (pending, depth, top) = (self.pending.len(), self.stack.len(), self.local_top);
            let guard = self.guard;
            if let Err(refusal) = self.instruction(frame, &instruction.op) {
                if self.is_outlining && !self.is_full {
                    // It is not known that the kernel calls this function, so the refusal becomes
                    // the fault of a thread that comes here.
                    self.guard = guard;
                    self.emit(Op::Trap { kind: FaultKind::Unsupported { reason: refusal.reason } });
                } else {
                    self.note(*refusal);
                }
                // A call may have been left half-way.
                self.pending.truncate(pending);
                self.stack.truncate(depth);
                self.local_top = top;
            }
            if self.is_full {
                return Ok(());
            }
        }
        starts.push(self.code.len() as u32);
        for branch in std::mem::replace(&mut self.pending, outer) {
            match &mut self.code[branch].op {
                Op::Bra { target, .. } => *target = starts[*target as usize],
                Op::BrxIdx { targets, .. } => {
                    for target in targets {
                        *target = starts[*target as usize];
                    }
                }
                _ => unreachable!("only branches are pending"),
            }
        }
        Ok(())
    }

    /// The reason for which the function at `first` on the stack cannot be called.
    fn recursion(&self, first: usize) -> String {
        let name = |id: &FunctionId| format!("`{}`", self.module.functions[id.index()].name);
        let through: Vec<String> = self.stack[first + 1..].iter().map(name).collect();
        let through = if through.is_empty() {
            String::new()
        } else {
            " through ".to_owned() + &through.join(", ")
        };
        format!(
            "{} calls itself{through}, and recursion is not simulated",
            name(&self.stack[first])
        )
    }

    /// Inlines a call.
    pub(super) fn call(
        &mut self,
        frame: &Frame<'a>,
        callee: FunctionId,
        returns: &[CallReturn],
        args: &[CallArg],
    ) -> Result<()> {
        let function = &self.module.functions[callee.index()];
        if let Some(system) = function.system() {
            return self.call_system(frame, system, function, returns, args);
        }
        if !function.defined {
            return self
                .refuse(format!("`{}` is called but not defined in this module", function.name));
        }
        if let Some(first) = self.stack.iter().position(|active| *active == callee) {
            return self.refuse(self.recursion(first));
        }
        if self.stack.len() >= MAX_CALL_DEPTH {
            return self.refuse(format!("calls nest at most {MAX_CALL_DEPTH} deep"));
        }
        let registers = self.words as usize + self.doubles as usize + self.predicates as usize;
        if registers + function.registers.len() > MAX_REGISTERS {
            self.is_full = true;
            return self.refuse(format!("more than {MAX_REGISTERS} registers after inlining"));
        }
        let (span, location, guard, top) = (self.span, self.location, self.guard, self.local_top);
        let mut params = Vec::new();
        for (arg, param) in args.iter().zip(&function.params) {
            params.push(match arg {
                CallArg::Param(var) => storage(frame, *var),
                CallArg::Value(value) => {
                    let at = self.place_local(param.size(), u64::from(param.align))?;
                    self.local_store(frame, *value, param.ty, at)?;
                    (Space::Local, at)
                }
            });
        }
        let mut results = Vec::new();
        for (result, param) in returns.iter().zip(&function.returns) {
            results.push(match result {
                CallReturn::Param(var) => storage(frame, *var),
                CallReturn::Reg(_) => {
                    (Space::Local, self.place_local(param.size(), u64::from(param.align))?)
                }
            });
        }
        // A guarded call branches over the inlined body where the guard is false.
        let skip = (guard != Guard::ALWAYS).then(|| {
            self.guard = Guard { negated: !guard.negated, ..guard };
            self.emit(Op::Bra { target: 0, written: false });
            self.code.len() - 1
        });
        self.stack.push(callee);
        let mut inner = self.frame(function, params, results.clone())?;
        self.body(&mut inner)?;
        self.stack.pop();
        let end = self.code.len() as u32;
        if let Some(skip) = skip {
            self.code[skip].op = Op::Bra { target: end, written: false };
        }
        (self.span, self.location, self.guard, self.local_top) = (span, location, guard, top);
        self.fresh = false;
        for ((result, param), (_, at)) in returns.iter().zip(&function.returns).zip(results) {
            if let CallReturn::Reg(reg) = result {
                self.local_load(frame, *reg, param.ty, at);
            }
        }
        Ok(())
    }
}
