//! The rules of the PTX ISA that the grammar does not express: types, state spaces, sizes, calls.
//!
//! A module that passes can be lowered and run without further checks of these rules. The validator
//! does not repeat the checks of the parser: names are declared, labels exist, and modifiers and
//! types fit the opcode.

mod asynchronous;
mod instruction;
mod operand;

use super::ast::{Function, Instruction, Linkage, Module, Op, Space, Span, Type, Unknown};
use super::diagnostic::{Diagnostic, Error, Result};

/// A kernel has at most this many bytes of parameters.
const MAX_KERNEL_PARAMS: u64 = 32764;

/// Checks a parsed module.
///
/// # Errors
/// A [`Diagnostic`] for the first broken rule, in the order of the text.
pub fn validate(module: &Module) -> std::result::Result<(), Diagnostic> {
    check(module, |_, _, error| Err(error))
}

/// Checks a parsed module as [`validate`] does. Instructions that are right but cannot be run
/// become [`Op::Unknown`].
pub(super) fn validate_with_unknown(module: &mut Module) -> std::result::Result<(), Diagnostic> {
    let mut found = Vec::new();
    check(module, |function, index, error| {
        if !error.unknown {
            return Err(error);
        }
        let Error { span, message, help, .. } = error;
        found.push((function, index, Unknown { span, message, help }));
        Ok(())
    })?;
    for (function, index, unknown) in found {
        module.functions[function].body[index].op = Op::Unknown(Box::new(unknown));
    }
    Ok(())
}

/// Checks a module. `refused` gets the error of an instruction, with the indices of the function
/// and of the instruction.
fn check(
    module: &Module,
    mut refused: impl FnMut(usize, usize, Error) -> Result<()>,
) -> std::result::Result<(), Diagnostic> {
    let checked = variables(module).and_then(|()| {
        module.functions.iter().enumerate().try_for_each(|(number, function)| {
            params(function)?;
            function.body.iter().enumerate().try_for_each(|(index, instruction)| {
                Checker { module, function, instruction }
                    .instruction()
                    .or_else(|error| refused(number, index, error))
            })
        })
    });
    checked.map_err(|error| error.locate(&module.name, &module.source))
}

fn variables(module: &Module) -> Result<()> {
    for variable in &module.variables {
        if variable.linkage == Linkage::Extern && variable.space != Space::Shared {
            let message = format!(
                "`{}` is defined in another module, and there is no linker here",
                variable.name
            );
            return Err(Error::new(variable.span, message));
        }
    }
    Ok(())
}

fn params(function: &Function) -> Result<()> {
    if function.returns.len() > 1 {
        return Err(Error::new(
            function.span,
            format!("`{}` returns more than one value", function.name),
        ));
    }
    for param in function.params.iter().chain(&function.returns) {
        if param.ty == Type::Pred {
            return Err(Error::new(
                param.span,
                format!("parameter `{}` cannot be a predicate", param.name),
            ));
        }
    }
    if !function.is_entry() {
        return Ok(());
    }
    let end = function.params.iter().fold(0u64, |end, param| {
        end.checked_next_multiple_of(u64::from(param.align))
            .unwrap_or(u64::MAX)
            .saturating_add(param.size())
    });
    if end > MAX_KERNEL_PARAMS {
        let message = format!(
            "the parameters of `{}` take {end} bytes, more than {MAX_KERNEL_PARAMS}",
            function.name
        );
        return Err(Error::new(function.span, message));
    }
    Ok(())
}

/// The checker of one instruction, with its function and module.
struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    instruction: &'a Instruction,
}

impl<'a> Checker<'a> {
    fn span(&self) -> Span {
        self.instruction.span
    }

    /// The opcode and its modifiers, for messages.
    fn name(&self) -> &'a str {
        let text = self.module.text(self.span());
        let text = if text.starts_with('@') {
            text.split_once(char::is_whitespace).map_or(text, |(_, rest)| rest)
        } else {
            text
        };
        text.trim_start().split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default()
    }

    /// Like [`Self::fail`], for an instruction that is right but cannot be run.
    fn unknown<T>(&self, message: impl AsRef<str>) -> Result<T> {
        self.fail(message).map_err(|error| Error { unknown: true, ..error })
    }

    /// An error whose message begins with the instruction's name.
    fn fail<T>(&self, message: impl AsRef<str>) -> Result<T> {
        Err(Error::new(self.span(), format!("`{}`: {}", self.name(), message.as_ref())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::{FunctionId, Target};
    use super::super::parser::parse;
    use super::*;

    /// The message about a kernel whose first instruction was changed after parsing.
    fn refusal(line: &str, change: impl FnOnce(&mut Op)) -> String {
        let text = format!(
            ".version 8.0\n.target sm_75\n.func f() {{ ret; }}\n.entry k() {{ .reg .b32 %r<2>; l: {line} ret; t: .branchtargets l; }}"
        );
        let mut module = parse("t.ptx", &text).unwrap_or_else(|error| panic!("{error}"));
        validate(&module).unwrap_or_else(|error| panic!("{error}"));
        change(&mut module.functions[1].body[0].op);
        validate(&module).map_or_else(|error| error.message, |()| panic!("{line} was taken"))
    }

    #[test]
    fn indices_are_inside() {
        let changed = refusal("bra l;", |op| {
            if let Op::Bra { target, .. } = op {
                *target = Target(2);
            }
        });
        assert_eq!(changed, "`bra`: the branch leaves the function");
        let changed = refusal("brx.idx %r1, t;", |op| {
            if let Op::BrxIdx { targets, .. } = op {
                targets.push(Target(9));
            }
        });
        assert_eq!(changed, "`brx.idx`: the branch leaves the function");
        let changed = refusal("call f;", |op| {
            if let Op::Call { callee, .. } = op {
                *callee = FunctionId(2);
            }
        });
        assert_eq!(changed, "`call`: the function does not exist");
    }

    #[test]
    fn an_arrival_says_how_many_threads() {
        let changed = refusal("bar.arrive 0, 64;", |op| {
            if let Op::Barrier { threads, .. } = op {
                *threads = None;
            }
        });
        assert_eq!(changed, "`bar.arrive`: the number of threads is missing");
    }
}
