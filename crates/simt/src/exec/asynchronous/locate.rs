//! Where the operands of asynchronous instructions lie.

use crate::exec::address::{Position, address_of};
use crate::exec::copies::{End, SharedCell};
use crate::exec::env::Env;
use crate::fault::{Access, FaultKind, Nearest, Space};
use crate::ir::MemoryOperand;
use crate::registers::Registers;

/// The unit of bulk copies in bytes: their addresses and their sizes are multiples of it.
pub(super) const UNIT: u64 = 16;

/// The place of a lane's operand in shared memory, of which the lane accesses `bytes` bytes. An
/// mbarrier must be aligned to its size, and a copy to its unit.
pub(super) fn locate(
    operand: &MemoryOperand,
    env: &Env<'_>,
    registers: &Registers,
    lane: u32,
    access: Access,
    bytes: u64,
) -> Result<SharedCell, FaultKind> {
    let address = address_of(registers, operand.address, lane as usize);
    let (position, offset) = Position::of(operand.space, address, env.rank);
    let Position::Shared(peer) = position else {
        return Err(FaultKind::NotShared { address });
    };
    if let Some(kind) = peer.and_then(|rank| env.refuses_peer(rank)) {
        return Err(kind);
    }
    let align = if bytes.is_power_of_two() { bytes.min(UNIT) } else { UNIT };
    if !offset.is_multiple_of(align) {
        return Err(FaultKind::Misaligned {
            space: Space::Shared,
            access,
            bytes,
            address: offset,
            align,
        });
    }
    let size = env.shared.len() as u64;
    let end = offset.saturating_add(bytes);
    if end > size {
        let nearest = Some(Nearest { base: 0, bytes: size, missed_by: end - size, past_end: true });
        return Err(FaultKind::OutOfBounds {
            space: Space::Shared,
            access,
            bytes,
            address: offset,
            nearest,
        });
    }
    Ok(SharedCell { rank: env.rank_of(peer), offset: offset as u32 })
}

/// The place of one end (the source or the destination) of a lane's copy.
pub(super) fn end(
    operand: &MemoryOperand,
    env: &mut Env<'_>,
    registers: &Registers,
    lane: u32,
    access: Access,
    (bytes, align): (u64, u64),
) -> Result<End, FaultKind> {
    let address = address_of(registers, operand.address, lane as usize);
    let (Position::Global, address) = Position::of(operand.space, address, env.rank) else {
        return locate(operand, env, registers, lane, access, bytes).map(End::Shared);
    };
    if !address.is_multiple_of(align) {
        return Err(FaultKind::Misaligned { space: Space::Global, access, bytes, address, align });
    }
    let view = &env.job.memory;
    if bytes > 0 && view.find(address, bytes, &mut env.hint).is_none() {
        return Err(view.explain(access, address, bytes));
    }
    Ok(End::Global(address))
}
