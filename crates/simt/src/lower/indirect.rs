//! Calls through addresses.
//!
//! The functions that a kernel may call through an address are not inlined. Each is lowered once,
//! before the kernel, with registers and local memory of its own. A call leaves the arguments in a
//! part of local memory that all these functions share, and the program counter of the next
//! instruction in the link register of the function. The function first copies the arguments into
//! its own memory, because it may call another one; in the end it leaves its result in another
//! shared part, and returns through its link register. Two calls of one function can therefore not
//! be active at once in a thread, and recursion is a fault.
//!
//! A warp prefers the lanes with the lowest program counter, so functions have lower ones than
//! their callers: the lanes that call run first, and meet the others after the call.

use std::collections::HashSet;

use super::frame::{Frame, index, storage};
use super::lowering::{Lowering, Result};
use crate::ir::layout::function_address;
use crate::ir::{self, Guard, IndirectCall, Op, Outlined, Space};
use crate::ptx::ast::{
    self, CallArg, CallReturn, Callees, Function, FunctionId, Ordering, Param, RegId, Type, Value,
};

/// The alignment of arguments and results in the shared parts of local memory.
const ALIGN: u64 = 16;
/// All indirect calls of a kernel have at most this many possible callees together.
const MAX_CALLEES: usize = 1 << 20;

/// The offsets of parameters in a shared part of local memory, and the size of the part.
fn offsets(params: &[Param]) -> (Vec<u64>, u64) {
    let mut end = 0;
    let place = |param: &Param| {
        let at = end;
        end += param.size().next_multiple_of(ALIGN);
        at
    };
    (params.iter().map(place).collect(), end)
}

impl<'a> Lowering<'a> {
    /// The functions that an indirect call may call.
    fn callees(&self, callees: &Callees) -> Vec<FunctionId> {
        let sizes = |params: &[Param]| params.iter().map(Param::size).collect::<Vec<_>>();
        match callees {
            Callees::Targets(targets) => targets.clone(),
            Callees::Prototype(prototype) => {
                let (params, returns) = (sizes(&prototype.params), sizes(&prototype.returns));
                let fits = |id: &&FunctionId| {
                    let function = &self.module.functions[id.index()];
                    function.defined
                        && !function.is_entry()
                        && sizes(&function.params) == params
                        && sizes(&function.returns) == returns
                };
                self.module.address_taken.iter().filter(fits).copied().collect()
            }
        }
    }

    /// The functions that a kernel may call through an address, directly or from other functions.
    fn called_through_addresses(&self, kernel: &'a Function) -> Vec<FunctionId> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let (mut read, mut work) = (HashSet::new(), vec![kernel]);
        while let Some(function) = work.pop() {
            for instruction in &function.body {
                let callees = match &instruction.op {
                    ast::Op::Call { callee, .. } => vec![*callee],
                    ast::Op::CallIndirect { callees, .. } => {
                        let callees = self.callees(callees);
                        found.extend(callees.iter().filter(|callee| seen.insert(**callee)));
                        callees
                    }
                    _ => continue,
                };
                let unread = callees.into_iter().filter(|callee| read.insert(*callee));
                work.extend(unread.map(|callee| &self.module.functions[callee.index()]));
            }
        }
        found
    }

    /// Lowers the functions that a kernel may call through an address.
    pub(super) fn outline(&mut self, kernel: &'a Function) -> Result<()> {
        let functions = self.called_through_addresses(kernel);
        let most = |params: fn(&Function) -> &Vec<Param>| {
            let sizes =
                functions.iter().map(|id| offsets(params(&self.module.functions[id.index()])).1);
            sizes.max().unwrap_or(0)
        };
        let (arguments, results) = (most(|f| &f.params), most(|f| &f.returns));
        self.arguments = self.place_local(arguments, ALIGN)?;
        self.results = self.place_local(results, ALIGN)?;
        for (number, id) in functions.iter().enumerate() {
            let link = index(self.temporary(Type::B32));
            self.zeroed_words.push(link);
            let name = self.module.functions[id.index()].name.clone();
            self.outlined.push(Outlined { name, start: 0, end: 0, link });
            self.outlined_numbers.insert(*id, number as u32);
        }
        self.is_outlining = true;
        let lowered = self.outline_all(&functions);
        self.is_outlining = false;
        self.stack.clear();
        lowered
    }

    fn outline_all(&mut self, functions: &[FunctionId]) -> Result<()> {
        // Functions that were found later are called by those that were found earlier.
        for (number, id) in functions.iter().enumerate().rev() {
            let start = self.code.len() as u32;
            self.outline_one(*id, self.outlined[number].link)?;
            let end = self.code.len() as u32;
            self.outlined[number] = Outlined { start, end, ..self.outlined[number].clone() };
            if self.is_full {
                break;
            }
        }
        Ok(())
    }

    fn outline_one(&mut self, id: FunctionId, link: u32) -> Result<()> {
        let function = &self.module.functions[id.index()];
        let first = &function.body[0];
        (self.span, self.location, self.fresh) = (first.span, first.location, false);
        self.guard = Guard::ALWAYS;
        self.stack = vec![id];
        let place = |lowering: &mut Self, params: &[Param]| {
            let place = |param: &Param| {
                let at = lowering.place_local(param.size(), u64::from(param.align).max(8))?;
                Ok((Space::Local, at))
            };
            params.iter().map(place).collect::<Result<Vec<_>>>()
        };
        let (params, returns) = (place(self, &function.params)?, place(self, &function.returns)?);
        let arguments = offsets(&function.params).0;
        for ((param, (_, to)), from) in function.params.iter().zip(&params).zip(arguments) {
            self.copy_local(self.arguments + from, *to, param.size());
        }
        let mut frame = self.frame(function, params, returns.clone())?;
        self.body(&mut frame)?;
        (self.guard, self.fresh) = (Guard::ALWAYS, false);
        let results = offsets(&function.returns).0;
        for ((result, (_, from)), to) in function.returns.iter().zip(returns).zip(results) {
            self.copy_local(from, self.results + to, result.size());
        }
        self.emit(Op::Return { link });
        // The function keeps its local memory, because it may be active while others run.
        self.local_top = self.local_end;
        Ok(())
    }

    pub(super) fn call_indirect(
        &mut self,
        frame: &Frame<'a>,
        target: RegId,
        callees: &'a Callees,
        returns: &[CallReturn],
        args: &[CallArg],
    ) -> Result<()> {
        let target = index(self.value(frame, Value::Reg(target), Type::B64)?);
        let (params, results) = match callees {
            Callees::Prototype(prototype) => (&prototype.params, &prototype.returns),
            Callees::Targets(targets) => {
                let first = &self.module.functions[targets[0].index()];
                (&first.params, &first.returns)
            }
        };
        for ((arg, param), at) in args.iter().zip(params).zip(offsets(params).0) {
            let to = self.arguments + at;
            match arg {
                CallArg::Param(var) => self.copy_local(storage(frame, *var).1, to, param.size()),
                CallArg::Value(value) => self.local_store(frame, *value, param.ty, to)?,
            }
        }
        let number = |id: FunctionId| (function_address(id.0), self.outlined_numbers[&id]);
        let mut callees: Vec<(u64, u32)> = self.callees(callees).into_iter().map(number).collect();
        callees.sort_unstable();
        self.callees += callees.len();
        if self.callees > MAX_CALLEES {
            self.is_full = true;
            return self
                .refuse(format!("more than {MAX_CALLEES} functions that may be called here"));
        }
        self.emit(Op::CallIndirect(Box::new(IndirectCall { target, callees })));
        for ((result, param), at) in returns.iter().zip(results).zip(offsets(results).0) {
            let from = self.results + at;
            match result {
                CallReturn::Param(var) => {
                    self.copy_local(from, storage(frame, *var).1, param.size());
                }
                CallReturn::Reg(reg) => self.local_load(frame, *reg, param.ty, from),
            }
        }
        Ok(())
    }

    /// Copies bytes between two places in local memory, in the widest parts that are aligned.
    fn copy_local(&mut self, from: u64, to: u64, bytes: u64) {
        let mut done = 0;
        while done < bytes {
            let width = [8, 4, 2, 1]
                .into_iter()
                .find(|width| (from | to | done).is_multiple_of(*width) && bytes - done >= *width);
            let width = width.unwrap_or(1);
            let slot = self.temporary(Type::B64);
            let (ordering, written) = (Ordering::Weak, ast::Space::Param);
            let at = |lowering: &mut Self, at| ir::Address {
                base: lowering.constant(at, Type::B64),
                offset: 0,
            };
            let (source, target) = (at(self, from + done), at(self, to + done));
            self.emit(Op::Load(Box::new(ir::Load {
                space: Space::Local,
                address: source,
                width: width as u32,
                signed: false,
                ordering,
                written,
                targets: vec![Some(ir::Target { slot, bits: 64 })],
            })));
            self.emit(Op::Store(Box::new(ir::Store {
                space: Space::Local,
                address: target,
                width: width as u32,
                ordering,
                written,
                sources: vec![slot],
            })));
            done += width;
        }
    }
}
