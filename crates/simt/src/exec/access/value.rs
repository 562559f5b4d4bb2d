//! The values that accesses move between registers and bytes.

use crate::ir::Slot;
use crate::registers::Registers;

#[inline(always)]
pub(super) fn read(bytes: &[u8], at: usize, width: usize) -> u64 {
    let bytes = &bytes[at..at + width];
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("accesses have 1, 2, 4 or 8 bytes"),
    }
}

#[inline(always)]
pub(super) fn source(registers: &Registers, slot: Slot, lane: usize) -> u64 {
    match slot {
        Slot::Word(register) => u64::from(registers.words[register as usize][lane]),
        Slot::Double(register) => registers.doubles[register as usize][lane],
    }
}
