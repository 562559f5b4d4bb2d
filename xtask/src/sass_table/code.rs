//! Finds the loop of a kernel in its machine code, and counts what one turn of the loop runs.

use anyhow::{Context, bail};

use super::{Loop, Slow};
use crate::check_ptx::sass::Instruction;

/// The code of one kernel: its instructions, and the index at which each label stands.
pub(super) struct Code<'a> {
    instructions: Vec<Instruction<'a>>,
    labels: Vec<(&'a str, usize)>,
}

/// The kernels in the output of `nvdisasm -c`.
pub(super) fn kernels(sass: &str) -> Vec<(&str, Code<'_>)> {
    let sections = sass.split("\n.text.").skip(1);
    let kernel = |section| {
        let (name, text) = str::split_once(section, ":\n")?;
        Some((name, Code::read(text)))
    };
    sections.filter_map(kernel).collect()
}

impl<'a> Code<'a> {
    fn read(text: &'a str) -> Self {
        let (mut instructions, mut labels) = (Vec::new(), Vec::new());
        for line in text.lines() {
            if let Some(instruction) = Instruction::read(line) {
                instructions.push(instruction);
            } else if let Some(label) = line.strip_suffix(':') {
                labels.push((label, instructions.len()));
            }
        }
        Self { instructions, labels }
    }

    /// The index of the label that an instruction names, as in ``BRA `(.L_x_7)``.
    fn target(&self, at: usize) -> anyhow::Result<usize> {
        let operands = self.instructions[at].operands;
        let name = operands.split_once("`(").and_then(|(_, rest)| rest.split(')').next());
        let name = name.with_context(|| format!("no label in '{operands}'"))?;
        let found = self.labels.iter().find(|(label, _)| *label == name);
        Ok(found.with_context(|| format!("no label {name}"))?.1)
    }

    fn is_branch(&self, at: usize) -> bool {
        base(self.instructions[at].opcode) == "BRA"
    }

    /// The predicate of a branch, without its sign. Branches of a whole warp have it as an operand.
    fn condition(&self, at: usize) -> Option<&'a str> {
        let Instruction { predicate, opcode, operands } = self.instructions[at];
        let condition = if opcode.starts_with("BRA.U") {
            operands.split_once(',').map(|(condition, _)| condition)
        } else {
            predicate.map(|predicate| predicate.trim_start_matches('@'))
        };
        condition.map(|condition| condition.trim_start_matches('!'))
    }

    /// Whether the code from here comes to a call before it branches.
    fn comes_to_a_call(&self, from: usize) -> bool {
        self.instructions[from..]
            .iter()
            .find_map(|instruction| match base(instruction.opcode) {
                "CALL" => Some(true),
                "BRA" | "BSYNC" | "EXIT" | "RET" => Some(false),
                _ => None,
            })
            .unwrap_or(false)
    }

    /// How many instructions one turn of a loop runs. A turn goes from the index `first` to the
    /// branch at `last`. If `calls`, it takes the way through a call wherever there is one.
    fn turn(&self, first: usize, last: usize, calls: bool) -> anyhow::Result<Turn<'a>> {
        let mut turn = Turn::default();
        let mut at = first;
        loop {
            turn.instructions += 1;
            if at == last {
                return Ok(turn);
            }
            at = match base(self.instructions[at].opcode) {
                "BRA" => {
                    let target = self.target(at)?;
                    let next = if self.condition(at).is_none() {
                        target
                    } else {
                        match (self.comes_to_a_call(target), self.comes_to_a_call(at + 1)) {
                            (true, false) if calls => target,
                            (false, true) if !calls => target,
                            (true, false) | (false, true) => at + 1,
                            _ => bail!("a branch in the loop that leads to no call, or to two"),
                        }
                    };
                    if next <= at || next > last {
                        bail!("a branch leads out of the loop, or back");
                    }
                    next
                }
                "CALL" => {
                    let subroutine = self.target(at)?;
                    turn.instructions += self.subroutine(subroutine)?;
                    turn.calls += 1;
                    turn.function = self.name(subroutine);
                    at + 1
                }
                "EXIT" | "RET" => bail!("the loop ends in its middle"),
                _ => at + 1,
            };
        }
    }

    /// How many instructions a subroutine has, which must not branch.
    fn subroutine(&self, from: usize) -> anyhow::Result<u32> {
        for (count, instruction) in (1..).zip(&self.instructions[from..]) {
            match base(instruction.opcode) {
                "RET" if instruction.predicate.is_none() => return Ok(count),
                "BRA" | "CALL" | "EXIT" | "RET" => bail!("a subroutine that branches"),
                _ => {}
            }
        }
        bail!("a subroutine without an end")
    }

    /// The name of a subroutine without what ptxas puts before it, as in
    /// `$__internal_0_$__cuda_sm20_rem_u64`.
    fn name(&self, at: usize) -> Option<&'a str> {
        let labels = self.labels.iter().filter(|(_, index)| *index == at);
        labels.filter_map(|(label, _)| label.rsplit_once('$')).map(|(_, name)| name).next()
    }

    /// By how much the loop's counter grows in one turn, which is how many operations the turn
    /// does. The counter is what the condition of the loop's last branch compares.
    fn step(&self, first: usize, last: usize) -> anyhow::Result<u32> {
        let condition = self.condition(last).context("a loop without an end")?;
        let body = &self.instructions[first..last];
        let compares = |instruction: &&Instruction<'_>| {
            base(instruction.opcode).ends_with("ISETP")
                && words(instruction.operands).next() == Some(condition)
        };
        let compared = body.iter().rev().find(compares).context("the loop compares nothing")?;
        let counters: Vec<&str> = words(compared.operands).skip(2).collect();
        let added = |instruction: &Instruction<'_>| {
            let mut operands = words(instruction.operands);
            let result = operands.next().filter(|result| counters.contains(result))?;
            let sources: Vec<&str> = operands.collect();
            let is_add = ["IADD3", "UIADD3", "VIADD", "IADD", "UIADD"]
                .contains(&base(instruction.opcode))
                && sources.contains(&result);
            let number = sources
                .iter()
                .find_map(|source| u32::from_str_radix(source.strip_prefix("0x")?, 16).ok());
            number.filter(|_| is_add)
        };
        let mut steps = body.iter().filter_map(added);
        match (steps.next(), steps.next()) {
            (Some(step), None) if step.is_power_of_two() && step <= 16 => Ok(step),
            found => bail!("the loop's counter grows by {found:?}"),
        }
    }
}

/// What one turn of a loop runs.
#[derive(Default)]
struct Turn<'a> {
    instructions: u32,
    calls: u32,
    function: Option<&'a str>,
}

/// The loop that does most of a kernel's work, which is its longest one. The names of the kernel
/// and of the architecture are left empty.
pub(super) fn hot_loop(code: &Code<'_>) -> anyhow::Result<Loop> {
    let mut longest = None;
    for last in (0..code.instructions.len()).filter(|&at| code.is_branch(at)) {
        // A branch without a condition that leads to itself stands after the end of the code.
        let first = code.target(last)?;
        if first < last && longest.is_none_or(|(begin, end)| end - begin < last - first) {
            longest = Some((first, last));
        }
    }
    let (first, last) = longest.context("there is none")?;
    let operations = code.step(first, last)?;
    let [fast, slow] = [code.turn(first, last, false)?, code.turn(first, last, true)?];
    if fast.calls != 0 || ![0, operations].contains(&slow.calls) {
        bail!("{} calls in a turn of {operations} operations", slow.calls);
    }
    let slow = slow
        .function
        .map(|function| Slow { function: function.to_owned(), instructions: slow.instructions });
    Ok(Loop {
        kernel: String::new(),
        arch: String::new(),
        operations,
        instructions: fast.instructions,
        slow,
    })
}

/// An opcode without its modifiers.
fn base(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or_default()
}

/// The operands, without signs and without what they say of the registers' reuse.
fn words(operands: &str) -> impl Iterator<Item = &str> {
    operands.split(',').map(|word| {
        let word = word.trim().trim_start_matches(['-', '!', '|']);
        word.strip_suffix(".reuse").unwrap_or(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code with an address before each instruction, as nvdisasm prints it.
    fn code(lines: &str) -> String {
        let line = |line: &str| {
            let line = line.trim();
            if line.is_empty() || line.ends_with(':') {
                line.to_owned()
            } else {
                format!("        /*0000*/                   {line} ;")
            }
        };
        lines.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    fn only_loop(lines: &str) -> anyhow::Result<Loop> {
        hot_loop(&Code::read(&code(lines)))
    }

    #[test]
    fn a_turn_is_divided_by_its_operations() {
        let found = only_loop(
            "MOV R1, RZ
            .L_x_2:
            UIADD3 UR5, UR5, 0x8, URZ
            IMAD R0, R0.reuse, R5, 0x3c6ef35f
            ISETP.NE.U32.AND P0, PT, R4, UR5, PT
            @P0 BRA `(.L_x_2)
            .L_x_3:
            UIADD3 UR4, UR4, 0x1, URZ
            ISETP.NE.U32.AND P0, PT, R12, UR4, PT
            @P0 BRA `(.L_x_3)
            EXIT
            .L_x_4:
            BRA `(.L_x_4)",
        );
        let found = found.unwrap();
        assert_eq!((found.operations, found.instructions, found.slow), (8, 4, None));
    }

    #[test]
    fn a_call_is_a_second_way() {
        let found = only_loop(
            ".L_x_1:
            UIADD3 UR4, UPT, UPT, UR4, 0x1, URZ
            UISETP.NE.U32.AND UP0, UPT, UR4, UR5, UPT
            @P1 BRA `(.L_x_2)
            IMAD R1, R1, R1, RZ
            BRA `(.L_x_3)
            .L_x_2:
            MOV R2, 0x390
            CALL.REL.NOINC `($__internal_0_$__cuda_sm20_rem_u64)
            .L_x_3:
            BSYNC B0
            BRA.U UP0, `(.L_x_1)
            EXIT
            $__internal_0_$__cuda_sm20_rem_u64:
            I2F.U64.RP R3, R4
            RET.REL.NODEC R6 `(kernel)",
        );
        let found = found.unwrap();
        // The fast way has the first three, two of its own, and the last two. The slow way has two
        // of its own as well, and the subroutine's two.
        assert_eq!((found.operations, found.instructions), (1, 7));
        let slow = Slow { function: "__cuda_sm20_rem_u64".into(), instructions: 9 };
        assert_eq!(found.slow, Some(slow));
    }

    #[test]
    fn what_is_not_understood_is_a_fault() {
        let counted = "UIADD3 UR5, UR5, 0x8, URZ
            ISETP.NE.U32.AND P0, PT, R4, UR5, PT";
        let fault = |lines: &str| only_loop(lines).unwrap_err().to_string();
        assert_eq!(fault("EXIT"), "there is none");
        let branches =
            format!(".L_x_1:\n{counted}\n@P1 BRA `(.L_x_2)\nNOP\n.L_x_2:\n@P0 BRA `(.L_x_1)");
        assert!(fault(&branches).starts_with("a branch in the loop"));
        let unknown_step = ".L_x_1:\nISETP.NE.U32.AND P0, PT, R4, R5, PT\n@P0 BRA `(.L_x_1)";
        assert!(fault(unknown_step).starts_with("the loop's counter grows by"));
        let leaves = format!(".L_x_1:\n{counted}\n@P1 EXIT\n@P0 BRA `(.L_x_1)");
        assert_eq!(fault(&leaves), "the loop ends in its middle");
    }
}
