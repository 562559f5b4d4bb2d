//! A module: everything that one PTX file declares.

use std::sync::Arc;

use super::function::Function;
use super::id::{FunctionId, Span};
use super::location::{Location, SourceFile};
use super::types::Space;
use super::variable::{VarRef, Variable};

/// A whole PTX file.
#[derive(Debug, Clone)]
pub struct Module {
    /// The module's name in diagnostics, usually the name of the file.
    pub name: String,
    /// The text that was parsed. Spans are offsets into it.
    pub source: Arc<str>,
    /// `.version`: the major and the minor number.
    pub version: (u32, u32),
    /// `.target`: `sm_75` and options such as `debug`, in order.
    pub targets: Vec<String>,
    /// `.address_size` in bits. It is always 64, because others are refused.
    pub address_size: u32,
    /// The variables at module scope.
    pub variables: Vec<Variable>,
    /// The kernels and device functions, declared or defined. Each name occurs once.
    pub functions: Vec<Function>,
    /// The device functions whose addresses the module contains, in `mov` instructions and in
    /// initialised variables. Each occurs once.
    pub address_taken: Vec<FunctionId>,
    /// The `.file` entries, in order of appearance.
    pub files: Vec<SourceFile>,
    /// The distinct `.loc` places, to which [`Instruction::location`](super::Instruction::location)
    /// refers.
    pub locations: Vec<Location>,
}

impl Module {
    /// The text under a span.
    pub fn text(&self, span: Span) -> &str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// The column in which a span begins, in characters from 1.
    pub fn column(&self, span: Span) -> u32 {
        let before = self.source.get(..span.start as usize).unwrap_or_default();
        before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<(FunctionId, &Function)> {
        let index = self.functions.iter().position(|function| function.name == name)?;
        Some((FunctionId(index as u32), &self.functions[index]))
    }

    /// The variable that a reference names, seen from `function`. `None` for parameters (see
    /// [`Function::param`]).
    pub fn variable<'a>(&'a self, function: &'a Function, var: VarRef) -> Option<&'a Variable> {
        match var {
            VarRef::Module(index) => self.variables.get(index as usize),
            VarRef::Function(index) => function.variables.get(index as usize),
            VarRef::Param(_) | VarRef::Return(_) => None,
        }
    }

    /// The state space of a symbol, seen from `function`.
    pub fn space_of(&self, function: &Function, var: VarRef) -> Space {
        self.variable(function, var).map_or(Space::Param, |variable| variable.space)
    }

    /// A symbol's name, seen from `function`.
    pub fn name_of<'a>(&'a self, function: &'a Function, var: VarRef) -> &'a str {
        match self.variable(function, var) {
            Some(variable) => &variable.name,
            None => function.param(var).map_or("", |param| &param.name),
        }
    }
}
