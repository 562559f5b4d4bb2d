//! Lowering: from the syntax tree of a kernel to a [`Program`]. Calls are inlined, so that a warp needs no call stack;
//! recursion is refused. Parameters and results of inlined functions live in local memory.

mod asynchronous;
mod error;
mod instruction;
mod steps;

use std::collections::HashMap;

use crate::fault::FaultKind;
use crate::ir::param::{Param, lay_out};
use crate::ir::{Guard, Init, Inst, Op, Place, Program, Slot, Space};
use crate::ptx::ast::{
    self, CallArg, CallReturn, Function, FunctionId, LocationId, RegId, SpecialReg, Type, Value, VarRef,
};
use crate::registers::{AluFn, Operands};

/// Instructions of a kernel after inlining, at most.
const MAX_INSTRUCTIONS: usize = 1 << 22;
/// Registers of a kernel with what it calls: a warp has up to 256 bytes for each.
const MAX_REGISTERS: usize = 1 << 20;
/// Calls inside one another.
const MAX_CALL_DEPTH: usize = 256;
/// Static shared memory of a kernel in bytes, at most.
const MAX_STATIC_SHARED: u64 = 227 * 1024;
/// Local memory of a thread in bytes, at most.
const MAX_LOCAL: u64 = 512 * 1024;
/// Dynamic shared memory begins at a multiple of this.
const DYNAMIC_SHARED_ALIGN: u64 = 16;

pub use error::LoadError;

type Result<T> = std::result::Result<T, LoadError>;

/// Lowers a kernel, and says whether it names dynamic shared memory.
pub(crate) fn lower(module: &ast::Module, kernel: &Function) -> Result<(Program, bool)> {
    let (params, param_bytes) = lay_out(&kernel.params);
    let mut lowering = Lowering::new(module, kernel);
    let params = params.iter().map(|param: &Param| (Space::Param, param.offset)).collect();
    let mut frame = lowering.frame(kernel, params, Vec::new())?;
    lowering.body(&mut frame)?;
    lowering.finish(param_bytes, kernel)
}

/// A declared register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Register {
    Value(Slot),
    Predicate(u32),
}

/// One inlined instance of a function.
struct Frame<'a> {
    function: &'a Function,
    registers: Vec<Register>,
    /// Where the function's variables lie in local or shared memory.
    variables: Vec<u64>,
    params: Vec<(Space, u64)>,
    returns: Vec<(Space, u64)>,
    is_kernel: bool,
}

struct Lowering<'a> {
    module: &'a ast::Module,
    code: Vec<Inst>,
    places: Vec<Place>,
    words: u32,
    doubles: u32,
    predicates: u32,
    word_values: Vec<(u32, Init)>,
    double_values: Vec<(u32, Init)>,
    known: HashMap<(bool, Init), u32>,
    zeroed_words: Vec<u32>,
    zeroed_doubles: Vec<u32>,
    zeroed_predicates: Vec<u32>,
    /// Offsets of the module's shared variables that the kernel names.
    shared: HashMap<u32, u64>,
    /// Offsets of the shared variables declared inside functions: one for all inlined instances.
    function_shared: HashMap<(&'a str, usize), u64>,
    shared_end: u64,
    /// Constants that stand for dynamic shared memory and get their offset at the end: (wide, register, addend).
    dynamic: Vec<(bool, u32, i64)>,
    /// The end of the local memory in use by the frames at hand, and the most it was.
    local_top: u64,
    local_end: u64,
    /// The carry flag.
    carry: Option<u32>,
    /// Branches of the function at hand, whose targets are still indices into its body.
    pending: Vec<usize>,
    /// Functions being inlined.
    stack: Vec<FunctionId>,
    /// What is being lowered, and the source it was compiled from.
    span: ast::Span,
    location: Option<LocationId>,
    /// Whether nothing of it has been emitted yet.
    fresh: bool,
    guard: Guard,
}

impl<'a> Lowering<'a> {
    fn new(module: &'a ast::Module, kernel: &'a Function) -> Lowering<'a> {
        Lowering {
            module,
            code: Vec::new(),
            places: Vec::new(),
            words: 0,
            doubles: 0,
            predicates: 0,
            word_values: Vec::new(),
            double_values: Vec::new(),
            known: HashMap::new(),
            zeroed_words: Vec::new(),
            zeroed_doubles: Vec::new(),
            zeroed_predicates: Vec::new(),
            shared: HashMap::new(),
            function_shared: HashMap::new(),
            shared_end: 0,
            dynamic: Vec::new(),
            local_top: 0,
            local_end: 0,
            carry: None,
            pending: Vec::new(),
            stack: Vec::new(),
            span: kernel.span,
            location: None,
            fresh: true,
            guard: Guard::ALWAYS,
        }
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T> {
        let text = self.module.text(self.span);
        Err(LoadError::Unsupported {
            module: self.module.name.clone(),
            line: self.span.line,
            column: self.module.column(self.span),
            instruction: text.lines().next().unwrap_or_default().trim().to_owned(),
            reason: reason.into(),
        })
    }

    fn frame(
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
                    return self.refuse(format!(".{} variables inside a function are not simulated", space.name()));
                }
            });
        }
        let is_kernel = function.is_entry();
        Ok(Frame { function, registers, variables, params, returns, is_kernel })
    }

    fn place_shared(&mut self, size: u64, align: u64) -> Result<u64> {
        let at = self.shared_end.next_multiple_of(align.max(1));
        self.shared_end = at.saturating_add(size);
        if self.shared_end > MAX_STATIC_SHARED {
            return self.refuse(format!("more than {MAX_STATIC_SHARED} bytes of static shared memory"));
        }
        Ok(at)
    }

    fn place_local(&mut self, size: u64, align: u64) -> Result<u64> {
        let at = self.local_top.next_multiple_of(align.max(1));
        self.local_top = at.saturating_add(size);
        if self.local_top > MAX_LOCAL {
            return self.refuse(format!("more than {MAX_LOCAL} bytes of local memory for each thread"));
        }
        self.local_end = self.local_end.max(self.local_top);
        Ok(at)
    }

    /// Lowers a function's body; `ret` goes to its end.
    fn body(&mut self, frame: &mut Frame<'a>) -> Result<()> {
        let mut starts = Vec::with_capacity(frame.function.body.len() + 1);
        let outer = std::mem::take(&mut self.pending);
        for instruction in &frame.function.body {
            if self.code.len() > MAX_INSTRUCTIONS {
                return self.refuse(format!("more than {MAX_INSTRUCTIONS} instructions after inlining"));
            }
            starts.push(self.code.len() as u32);
            (self.span, self.location, self.fresh) = (instruction.span, instruction.location, true);
            self.guard = match instruction.guard {
                Some(guard) => Guard { register: predicate(frame, guard.reg), negated: guard.negated },
                None => Guard::ALWAYS,
            };
            self.instruction(frame, &instruction.op)?;
        }
        starts.push(self.code.len() as u32);
        for branch in std::mem::replace(&mut self.pending, outer) {
            match &mut self.code[branch].op {
                Op::Bra { target, .. } => *target = starts[*target as usize],
                Op::BrxIdx { targets, .. } => targets.iter_mut().for_each(|target| *target = starts[*target as usize]),
                _ => unreachable!("only branches are pending"),
            }
        }
        Ok(())
    }

    /// Inlines a call.
    fn call(&mut self, frame: &Frame<'a>, callee: FunctionId, returns: &[CallReturn], args: &[CallArg]) -> Result<()> {
        let function = &self.module.functions[callee.index()];
        if function.is_assert_fail() {
            self.emit(Op::Trap { kind: FaultKind::Assertion });
            return Ok(());
        }
        if !function.defined {
            return self.refuse(format!("`{}` is called but not defined in this module", function.name));
        }
        if self.stack.contains(&callee) {
            return self.refuse(format!("`{}` calls itself, and recursion is not simulated", function.name));
        }
        if self.stack.len() >= MAX_CALL_DEPTH {
            return self.refuse(format!("calls nest at most {MAX_CALL_DEPTH} deep"));
        }
        let registers = self.words as usize + self.doubles as usize + self.predicates as usize;
        if registers + function.registers.len() > MAX_REGISTERS {
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
                CallReturn::Reg(_) => (Space::Local, self.place_local(param.size(), u64::from(param.align))?),
            });
        }
        // A guarded call jumps over the inlined body.
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

    fn finish(mut self, param_bytes: u64, kernel: &Function) -> Result<(Program, bool)> {
        let uses_dynamic = !self.dynamic.is_empty();
        let static_shared = self.shared_end;
        let dynamic_base =
            if uses_dynamic { static_shared.next_multiple_of(DYNAMIC_SHARED_ALIGN) } else { static_shared };
        for (wide, register, addend) in std::mem::take(&mut self.dynamic) {
            let init = Init::Const(dynamic_base.wrapping_add_signed(addend));
            if wide { &mut self.double_values } else { &mut self.word_values }.push((register, init));
        }
        self.span = kernel.span;
        if self.code.is_empty() {
            return self.refuse("a kernel without instructions");
        }
        let program = Program {
            code: self.code,
            places: self.places,
            words: self.words as usize,
            doubles: self.doubles as usize,
            predicates: self.predicates as usize,
            word_values: self.word_values,
            double_values: self.double_values,
            zeroed_words: self.zeroed_words,
            zeroed_doubles: self.zeroed_doubles,
            zeroed_predicates: self.zeroed_predicates,
            static_shared: static_shared as u32,
            dynamic_base: dynamic_base as u32,
            local: self.local_end as u32,
            params: param_bytes as u32,
        };
        Ok((program, uses_dynamic))
    }

    fn emit(&mut self, op: Op) {
        let ast::Span { start, end, line } = self.span;
        self.code.push(Inst { guard: self.guard, op });
        let (location, first) = (self.location, std::mem::take(&mut self.fresh));
        self.places.push(Place { start, end, line, location, first });
    }

    /// Emits arithmetic, or refuses the instruction if there is none.
    fn emit_alu(&mut self, f: Option<AluFn>, operands: Operands) -> Result<()> {
        match f {
            Some(f) => {
                self.emit(Op::Alu { f, operands });
                Ok(())
            }
            None => self.refuse("this form of the instruction is not simulated"),
        }
    }

    fn predicate(&mut self) -> u32 {
        self.predicates += 1;
        self.predicates - 1
    }

    /// A fresh register wide enough for a type.
    fn temporary(&mut self, ty: Type) -> Slot {
        if ty.size() == 8 {
            self.doubles += 1;
            Slot::Double(self.doubles - 1)
        } else {
            self.words += 1;
            Slot::Word(self.words - 1)
        }
    }

    /// The register that holds a value nothing writes.
    fn known(&mut self, wide: bool, init: Init) -> Slot {
        if let Some(&register) = self.known.get(&(wide, init)) {
            return slot(wide, register);
        }
        let fresh = self.temporary(if wide { Type::B64 } else { Type::B32 });
        let (values, register) = match fresh {
            Slot::Double(register) => (&mut self.double_values, register),
            Slot::Word(register) => (&mut self.word_values, register),
        };
        values.push((register, init));
        self.known.insert((wide, init), register);
        fresh
    }

    fn constant(&mut self, bits: u64, ty: Type) -> Slot {
        self.known(ty.size() == 8, Init::Const(bits))
    }

    /// A register with the address of a variable plus an offset, in the variable's own space.
    fn address_of(&mut self, frame: &Frame<'a>, var: VarRef, offset: i64, wide: bool) -> Result<Slot> {
        if let Some(variable) = self.module.variable(frame.function, var) {
            if variable.is_dynamic_shared() {
                let register = self.temporary(if wide { Type::B64 } else { Type::B32 });
                self.dynamic.push((wide, index(register), offset));
                return Ok(register);
            }
            if let VarRef::Module(number) = var {
                match variable.space {
                    ast::Space::Shared => {
                        let at = match self.shared.get(&number) {
                            Some(at) => *at,
                            None => self.place_shared(variable.size(), u64::from(variable.align))?,
                        };
                        self.shared.insert(number, at);
                        return Ok(self.known(wide, Init::Const(at.wrapping_add_signed(offset))));
                    }
                    ast::Space::Global | ast::Space::Const if variable.size() > 0 => {
                        return Ok(self.known(wide, Init::Variable(number, offset)));
                    }
                    space => {
                        let name = &variable.name;
                        return self.refuse(format!(".{} variable `{name}` without storage here", space.name()));
                    }
                }
            }
        }
        let (_, at) = storage(frame, var);
        Ok(self.known(wide, Init::Const(at.wrapping_add_signed(offset))))
    }

    /// A register with the value of an operand, as wide as `ty` asks.
    fn value(&mut self, frame: &Frame<'a>, value: Value, ty: Type) -> Result<Slot> {
        let wide = ty.size() == 8;
        let (found, found_ty) = match value {
            Value::Reg(reg) => match frame.registers[reg.index()] {
                Register::Value(found) => (found, frame.function.reg_type(reg)),
                Register::Predicate(_) => return self.refuse("a predicate where a value is needed"),
            },
            Value::Imm(imm) => return Ok(self.constant(imm.bits(ty), ty)),
            Value::Special(special) => (self.special(special), special.ty()),
            Value::Address(var, offset) => return self.address_of(frame, var, offset, wide),
        };
        if matches!(found, Slot::Double(_)) == wide {
            return Ok(found);
        }
        let fresh = self.temporary(ty);
        let f = crate::alu::bits::resize(unsigned(found_ty), ty.bits());
        self.emit(Op::Alu { f, operands: Operands { d: index(fresh), a: index(found), ..Operands::default() } });
        Ok(fresh)
    }

    fn special(&mut self, special: SpecialReg) -> Slot {
        let ty = special.ty();
        let shift = match special {
            SpecialReg::Clock | SpecialReg::Clock64 | SpecialReg::GlobalTimer | SpecialReg::GlobalTimerLo => 0,
            SpecialReg::ClockHi | SpecialReg::GlobalTimerHi => 32,
            _ => return self.known(ty.size() == 8, Init::Special(special)),
        };
        let target = self.temporary(ty);
        self.emit(Op::Clock { target, shift });
        target
    }

    /// Emits arithmetic into a declared register. If that is wider than the result's type, it is extended.
    fn alu(
        &mut self,
        frame: &Frame<'a>,
        f: Option<AluFn>,
        (dst, ty): (RegId, Type),
        sources: &[(Value, Type)],
        x: u32,
    ) -> Result<()> {
        let mut operands = Operands { x, ..Operands::default() };
        for (i, (value, ty)) in sources.iter().enumerate() {
            let source = index(self.value(frame, *value, *ty)?);
            *[&mut operands.a, &mut operands.b, &mut operands.c, &mut operands.x][i] = source;
        }
        self.alu_slots(frame, f, (dst, ty), operands)
    }

    /// [`Lowering::alu`] with sources that are registers already.
    fn alu_slots(
        &mut self,
        frame: &Frame<'a>,
        f: Option<AluFn>,
        (dst, ty): (RegId, Type),
        mut operands: Operands,
    ) -> Result<()> {
        let target = target(frame, dst);
        let bits = frame.function.reg_type(dst).bits();
        if bits <= ty.bits() {
            operands.d = index(target);
            return self.emit_alu(f, operands);
        }
        let narrow = index(self.temporary(ty));
        operands.d = narrow;
        self.emit_alu(f, operands)?;
        let extend = crate::alu::bits::resize(ty, bits);
        self.emit(Op::Alu { f: extend, operands: Operands { d: index(target), a: narrow, ..Operands::default() } });
        Ok(())
    }
}

/// Where a variable with an offset in shared, local or parameter space lies.
fn storage(frame: &Frame<'_>, var: VarRef) -> (Space, u64) {
    match var {
        VarRef::Param(index) => frame.params[index as usize],
        VarRef::Return(index) => frame.returns[index as usize],
        VarRef::Function(index) => {
            let shared = frame.function.variables[index as usize].space == ast::Space::Shared;
            let space = if shared { Space::Shared } else { Space::Local };
            (space, frame.variables[index as usize])
        }
        VarRef::Module(_) => (Space::Global, 0),
    }
}

/// The same width, without sign.
fn unsigned(ty: Type) -> Type {
    match ty.size() {
        1 => Type::B8,
        2 => Type::B16,
        4 => Type::B32,
        _ => Type::B64,
    }
}

fn slot(wide: bool, register: u32) -> Slot {
    if wide { Slot::Double(register) } else { Slot::Word(register) }
}

fn index(slot: Slot) -> u32 {
    match slot {
        Slot::Word(register) | Slot::Double(register) => register,
    }
}

/// A declared value register. The validator has seen to it that it is no predicate.
fn target(frame: &Frame<'_>, reg: RegId) -> Slot {
    match frame.registers[reg.index()] {
        Register::Value(slot) => slot,
        Register::Predicate(_) => unreachable!("the validator lets no predicate stand for a value"),
    }
}

/// A declared predicate.
fn predicate(frame: &Frame<'_>, reg: RegId) -> u32 {
    match frame.registers[reg.index()] {
        Register::Predicate(predicate) => predicate,
        Register::Value(_) => unreachable!("the validator lets no value stand for a predicate"),
    }
}
