//! The order in which ptxas put the loads of a round and their uses. It matters because a block
//! that waits for its first vector before it has asked for the last keeps memory less busy.

use std::collections::BTreeSet;

use super::sass::Instruction;

/// A basic block with at least two 128-bit loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round {
    /// The number of its 128-bit loads.
    pub(super) loads: usize,
    /// The number of loads that are issued before the first instruction that reads a loaded value.
    /// If that instruction is in a later basic block, it is the number of all loads.
    pub(super) ahead: usize,
}

impl Round {
    /// How many loads of the round should be issued before the first use.
    pub(super) fn least_ahead(self) -> usize {
        (self.loads * 3).div_ceil(4)
    }
}

/// The rounds of one kernel. `sass` is the kernel's SASS as nvdisasm prints it for sm_90.
pub(super) fn rounds(sass: &str) -> Vec<Round> {
    let mut rounds = Vec::new();
    let mut block = Block::default();
    for line in sass.lines() {
        if line.starts_with(".L_") {
            rounds.extend(std::mem::take(&mut block).round());
        } else if let Some(instruction) = Instruction::read(line) {
            block.step(&instruction);
        }
    }
    rounds.extend(block.round());
    rounds
}

/// The part of a basic block that has been read so far.
#[derive(Default)]
struct Block {
    loads: usize,
    ahead: Option<usize>,
    /// The registers that hold a value from a load of the block.
    loaded: BTreeSet<u32>,
}

impl Block {
    /// Takes the next instruction into account. If an instruction is unusual, this check may miss a
    /// use, but it never reports a false error. An operand of several registers is known by its
    /// first register. That is enough, because a load fills four registers from a multiple of four,
    /// so all registers of a pair come from the same load. A predicated write counts as a write,
    /// and the first operand counts as written, although a store reads it.
    fn step(&mut self, instruction: &Instruction<'_>) {
        let mut operands = instruction
            .operands
            .split([',', '[', ']'])
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let written = operands.next().and_then(register);
        if operands.filter_map(register).any(|read| self.loaded.contains(&read)) {
            self.ahead.get_or_insert(self.loads);
        }
        let Some(written) = written else { return };
        if is_vector_load(instruction.opcode) {
            self.loads += 1;
            self.loaded.extend(written..written + 4);
        } else {
            self.loaded.remove(&written);
        }
    }

    fn round(self) -> Option<Round> {
        let Self { loads, ahead, .. } = self;
        (loads >= 2).then(|| Round { loads, ahead: ahead.unwrap_or(loads) })
    }
}

/// True for a load of the input. Loads for polling are marked strong and do not count, because
/// polling has to wait for each load.
fn is_vector_load(opcode: &str) -> bool {
    let mut parts = opcode.split('.');
    parts.next() == Some("LDG")
        && parts.clone().any(|part| part == "128")
        && !parts.any(|part| part == "STRONG")
}

/// The register's number in `R8`, `-R8`, `|R8|`, `~R8.reuse` or `R8.64+0x10`; `None` for uniform
/// registers and for `RZ`.
fn register(operand: &str) -> Option<u32> {
    let digits = operand.trim_start_matches(['-', '~', '|']).strip_prefix('R')?;
    digits.split(|digit: char| !digit.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `loads` and `ahead` of each round in these instructions and labels.
    fn read(lines: &[&str]) -> Vec<(usize, usize)> {
        let line = |text: &&str| {
            if text.starts_with(".L_") {
                format!("{text}\n")
            } else {
                format!("        /*0040*/   {text} ;\n")
            }
        };
        rounds(&lines.iter().map(line).collect::<String>())
            .iter()
            .map(|round| (round.loads, round.ahead))
            .collect()
    }

    #[test]
    fn loads_are_counted_until_the_first_use() {
        let load = ["LDG.E.NA.128 R8, desc[UR4][R8.64]", "LDG.E.NA.128 R12, desc[UR4][R4.64+0x10]"];
        let more = ["LDG.E.NA.128 R16, desc[UR4][R6.64]", "IMAD.WIDE.U32 R4, R40, 0x10, R42"];
        let uses = "IADD3 R2, R11, R2, RZ";
        assert_eq!(read(&[load[0], load[1], more[1], more[0], uses]), [(3, 3)]);
        assert_eq!(read(&[load[0], load[1], uses, more[0]]), [(3, 2)]);
        assert_eq!(read(&[load[0], uses, more[0], uses, load[1]]), [(3, 1)]);
        assert_eq!(read(&[load[0], more[1], load[1]]), [(2, 2)], "none is used");
        assert_eq!(read(&[load[0], uses]), [], "one load is no round");
    }

    #[test]
    fn a_label_ends_a_round() {
        let (a, b) = ("LDG.E.NA.128 R8, desc[UR4][R2.64]", "LDG.E.NA.128 R12, desc[UR4][R4.64]");
        let uses = "IADD3 R0, R8, R0, RZ";
        let lines = [
            a,
            b,
            "@P0 BRA `(.L_x_1)",
            ".L_x_0:",
            uses,
            b,
            a,
            ".L_x_1:",
            b,
            ".L_x_2:",
            b,
            a,
            uses,
            b,
        ];
        assert_eq!(read(&lines), [(2, 2), (2, 2), (3, 2)]);
    }

    #[test]
    fn predicated_loads_and_uses_count() {
        let (a, b) =
            ("@!P1 LDG.E.NA.128 R8, desc[UR4][R2.64]", "@P6 LDG.E.NA.128 R12, desc[UR4][R4.64]");
        assert_eq!(read(&[a, b, "@!P1 IMNMX R0, R8, R0, !PT"]), [(2, 2)]);
        assert_eq!(read(&[a, "@!P1 IMNMX R0, R8, R0, !PT", b]), [(2, 1)]);
        assert_eq!(read(&["@!UP1 LDG.E.128.CONSTANT R8, desc[UR4][R2.64]", b]), [(2, 2)]);
    }

    #[test]
    fn polling_and_narrow_loads_are_ignored() {
        let polls = [
            "LDG.E.128.STRONG.GPU R8, desc[UR8][R2.64]",
            "LDG.E.128.STRONG.GPU R12, desc[UR8][R4.64]",
        ];
        assert_eq!(read(&[polls[0], polls[1], "IADD3 R0, R8, R12, RZ"]), []);
        let (a, b) = ("LDG.E.NA.128 R16, desc[UR4][R2.64]", "LDG.E.NA.128 R20, desc[UR4][R4.64]");
        assert_eq!(read(&[polls[0], a, "IADD3 R0, R8, R0, RZ", b]), [(2, 2)]);
        assert_eq!(
            read(&["LDG.E.64 R8, desc[UR4][R2.64]", a, "IADD3 R0, R8, R0, RZ", b]),
            [(2, 2)]
        );
    }

    #[test]
    fn a_register_that_is_overwritten_is_not_loaded_any_more() {
        let (a, b) = ("LDG.E.NA.128 R8, desc[UR4][R2.64]", "LDG.E.NA.128 R12, desc[UR4][R4.64]");
        assert_eq!(read(&[a, "IMAD.MOV.U32 R9, RZ, RZ, R0", "IADD3 R0, R9, R0, RZ", b]), [(2, 2)]);
        assert_eq!(read(&[a, "IMAD.MOV.U32 R9, RZ, RZ, R0", "IADD3 R0, R10, R0, RZ", b]), [(2, 1)]);
        assert_eq!(
            read(&[a, "IADD3 R8, R8, R0, RZ", b]),
            [(2, 1)],
            "what reads and writes it uses it"
        );
    }

    #[test]
    fn registers_are_found_in_all_their_forms() {
        for (operand, number) in [
            ("R8", Some(8)),
            ("-R12.reuse", Some(12)),
            ("|R3|", Some(3)),
            ("-|R3|", Some(3)),
            ("~R255", Some(255)),
            ("R14.64+0x10", Some(14)),
            ("R10.H1_H1", Some(10)),
            ("RZ", None),
            ("UR4", None),
            ("!P1", None),
            ("0x10", None),
            ("`(.L_x_4)", None),
        ] {
            assert_eq!(register(operand), number, "{operand}");
        }
    }

    #[test]
    fn three_quarters_go_ahead() {
        let least = |loads| Round { loads, ahead: 0 }.least_ahead();
        assert_eq!([8, 7, 4, 3, 2].map(least), [6, 6, 3, 3, 2]);
    }
}
