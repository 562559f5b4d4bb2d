//! The state of lowering, and the instructions that it emits.

use std::collections::{HashMap, HashSet};

use super::Lowered;
use super::error::Refusal;
use crate::ir::{Guard, Init, Inst, Op, Outlined, Place, Program};
use crate::ptx::ast::{self, Function, FunctionId, LocationId};
use crate::registers::{AluFn, Operands, Shape};

/// The offset of dynamic shared memory is a multiple of this many bytes.
const DYNAMIC_SHARED_ALIGN: u64 = 16;

pub(super) type Result<T> = std::result::Result<T, Box<Refusal>>;

pub(super) struct Lowering<'a> {
    pub(super) module: &'a ast::Module,
    kernel: &'a Function,
    pub(super) refusals: Vec<Refusal>,
    /// The lines and columns of the refusals.
    refused: HashSet<(u32, u32)>,
    /// Whether nothing more is lowered, because a limit is exceeded.
    pub(super) is_full: bool,
    pub(super) code: Vec<Inst>,
    pub(super) shapes: Vec<Option<Shape>>,
    pub(super) places: Vec<Place>,
    pub(super) words: u32,
    pub(super) doubles: u32,
    pub(super) predicates: u32,
    pub(super) word_values: Vec<(u32, Init)>,
    pub(super) double_values: Vec<(u32, Init)>,
    pub(super) known: HashMap<(bool, Init), u32>,
    pub(super) zeroed_words: Vec<u32>,
    pub(super) zeroed_doubles: Vec<u32>,
    pub(super) zeroed_predicates: Vec<u32>,
    /// The offsets of the module's shared variables that the kernel names.
    pub(super) shared: HashMap<u32, u64>,
    /// The offsets of the shared variables that are declared inside functions. All inlined
    /// instances of a function share them.
    pub(super) function_shared: HashMap<(&'a str, usize), u64>,
    pub(super) shared_end: u64,
    /// The constants that are addresses of dynamic shared memory: (wide, register, addend). They
    /// get their values at the end, when the size of the static part is known.
    pub(super) dynamic: Vec<(bool, u32, i64)>,
    /// The end of the local memory that the frames on the stack use, and the greatest value that
    /// this end had.
    pub(super) local_top: u64,
    pub(super) local_end: u64,
    /// The predicate register that holds the carry flag, once the kernel uses the flag.
    pub(super) carry: Option<u32>,
    /// The branches of the function that is being lowered. Their targets are still indices into its
    /// body.
    pub(super) pending: Vec<usize>,
    /// The functions that are being inlined, the outermost first.
    pub(super) stack: Vec<FunctionId>,
    /// The functions that the kernel may call through an address, and their numbers.
    pub(super) outlined: Vec<Outlined>,
    pub(super) outlined_numbers: HashMap<FunctionId, u32>,
    /// Whether such a function is being lowered.
    pub(super) is_outlining: bool,
    /// Where such functions find their arguments in local memory, and where they leave results.
    pub(super) arguments: u64,
    pub(super) results: u64,
    /// How many possible callees all indirect calls have together.
    pub(super) callees: usize,
    /// The index of the kernel's first instruction.
    entry: u32,
    /// The place of the instruction that is being lowered, and the source line from which it was
    /// compiled.
    pub(super) span: ast::Span,
    pub(super) location: Option<LocationId>,
    /// Whether nothing has been emitted for this PTX instruction yet.
    pub(super) fresh: bool,
    pub(super) guard: Guard,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(module: &'a ast::Module, kernel: &'a Function) -> Lowering<'a> {
        Lowering {
            module,
            kernel,
            refusals: Vec::new(),
            refused: HashSet::new(),
            is_full: false,
            code: Vec::new(),
            shapes: Vec::new(),
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
            outlined: Vec::new(),
            outlined_numbers: HashMap::new(),
            is_outlining: false,
            arguments: 0,
            results: 0,
            callees: 0,
            entry: 0,
            span: kernel.span,
            location: None,
            fresh: true,
            guard: Guard::ALWAYS,
        }
    }

    /// Says that the kernel itself is lowered from here on.
    pub(super) fn begin_kernel(&mut self) {
        self.entry = self.code.len() as u32;
        (self.span, self.location, self.guard) = (self.kernel.span, None, Guard::ALWAYS);
    }

    /// Refuses the instruction or declaration that is being lowered.
    pub(super) fn refuse<T>(&self, reason: impl Into<String>) -> Result<T> {
        let text = self.module.text(self.span);
        let words = text.split_whitespace().collect::<Vec<_>>();
        let function =
            self.stack.last().map_or(self.kernel, |id| &self.module.functions[id.index()]);
        Err(Box::new(Refusal {
            function: function.name.clone(),
            line: self.span.line,
            column: self.module.column(self.span),
            instruction: words.join(" "),
            reason: reason.into(),
            frames: self.location.map_or_else(Vec::new, |location| self.module.frames(location)),
        }))
    }

    /// Keeps a refusal. A function that is inlined several times refuses once.
    pub(super) fn note(&mut self, refusal: Refusal) {
        if self.refused.insert((refusal.line, refusal.column)) {
            self.refusals.push(refusal);
        }
    }

    pub(super) fn emit(&mut self, op: Op) {
        let ast::Span { start, end, line } = self.span;
        self.code.push(Inst { guard: self.guard, op });
        self.shapes.push(None);
        let (location, first) = (self.location, std::mem::take(&mut self.fresh));
        self.places.push(Place { start, end, line, location, first });
    }

    /// Emits arithmetic.
    pub(super) fn emit_lifted(&mut self, f: AluFn, operands: Operands) {
        self.emit(Op::Alu { f: f.run, operands });
        self.shapes.pop();
        self.shapes.push(Some(f.shape));
    }

    /// Emits arithmetic, or refuses the instruction if no function computes it.
    pub(super) fn emit_alu(&mut self, f: Option<AluFn>, operands: Operands) -> Result<()> {
        match f {
            Some(f) => {
                self.emit_lifted(f, operands);
                Ok(())
            }
            None => self.refuse("this form of the instruction is not simulated"),
        }
    }

    pub(super) fn finish(mut self, param_bytes: u64) -> Lowered {
        let uses_dynamic = !self.dynamic.is_empty();
        let static_shared = self.shared_end;
        let dynamic_base = if uses_dynamic {
            static_shared.next_multiple_of(DYNAMIC_SHARED_ALIGN)
        } else {
            static_shared
        };
        for (wide, register, addend) in std::mem::take(&mut self.dynamic) {
            let init = Init::Const(dynamic_base.wrapping_add_signed(addend));
            if wide { &mut self.double_values } else { &mut self.word_values }
                .push((register, init));
        }
        let program = Program {
            code: self.code,
            shapes: self.shapes,
            entry: self.entry,
            outlined: self.outlined,
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
        Lowered { program, uses_dynamic_shared: uses_dynamic, refusals: self.refusals }
    }
}
