//! Calls of functions that the system provides.

use super::frame::{Frame, index, storage};
use super::lowering::{Lowering, Result};
use crate::alu::bits;
use crate::ir::{self, Assertion, Op, Print, Slot, Space};
use crate::ptx::ast::{self, CallArg, CallReturn, Function, Ordering, Param, SystemFunction, Type};
use crate::registers::Operands;

impl<'a> Lowering<'a> {
    pub(super) fn call_system(
        &mut self,
        frame: &Frame<'a>,
        system: SystemFunction,
        function: &Function,
        returns: &[CallReturn],
        args: &[CallArg],
    ) -> Result<()> {
        let mut values = Vec::new();
        for (arg, param) in args.iter().zip(&function.params) {
            values.push(index(self.argument(frame, *arg, param)?));
        }
        match (system, &values[..]) {
            (SystemFunction::Vprintf, [format, arguments]) => {
                let target = self.temporary(Type::B32);
                let print = Print { format: *format, arguments: *arguments, target };
                self.emit(Op::Print(Box::new(print)));
                if let [result] = returns {
                    self.result(frame, *result, target)?;
                }
            }
            (SystemFunction::AssertFail, [message, file, line, function, _]) => {
                let (message, file, line, function) = (*message, *file, *line, *function);
                let assertion = Assertion { message, file, line, function };
                self.emit(Op::Assert(Box::new(assertion)));
            }
            _ => return self.refuse("the call does not fit the function"),
        }
        Ok(())
    }

    /// The register with an argument.
    fn argument(&mut self, frame: &Frame<'a>, arg: CallArg, param: &Param) -> Result<Slot> {
        let ty = if param.size() == 8 { Type::B64 } else { Type::B32 };
        match arg {
            CallArg::Value(value) => self.value(frame, value, ty),
            CallArg::Param(var) => {
                let slot = self.temporary(ty);
                let (space, at) = storage(frame, var);
                let address = ir::Address { base: self.constant(at, Type::B64), offset: 0 };
                self.emit(Op::Load(Box::new(ir::Load {
                    space,
                    address,
                    width: ty.size(),
                    signed: false,
                    ordering: Ordering::Weak,
                    written: ast::Space::Param,
                    targets: vec![Some(ir::Target { slot, bits: ty.bits() })],
                })));
                Ok(slot)
            }
        }
    }

    /// Puts the result of a call, a word, where the caller wants it.
    fn result(&mut self, frame: &Frame<'a>, result: CallReturn, slot: Slot) -> Result<()> {
        let (space, at) = match result {
            CallReturn::Param(var) => storage(frame, var),
            CallReturn::Reg(reg) => {
                let operands = Operands { a: index(slot), ..Operands::default() };
                return self.alu_slots(frame, Some(bits::copy(false)), (reg, Type::B32), operands);
            }
        };
        let address = ir::Address { base: self.constant(at, Type::B64), offset: 0 };
        debug_assert_eq!(
            space,
            Space::Local,
            "the validator lets only .param variables stand here"
        );
        self.emit(Op::Store(Box::new(ir::Store {
            space,
            address,
            width: 4,
            ordering: Ordering::Weak,
            written: ast::Space::Param,
            sources: vec![slot],
        })));
        Ok(())
    }
}
