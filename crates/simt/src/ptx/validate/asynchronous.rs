//! The rules for clusters, mbarriers and asynchronous copies.

use super::super::ast::{Imm, Op, Space, Type, Value};
use super::super::diagnostic::Result;
use super::Checker;

/// An mbarrier has this many bytes.
const MBARRIER: u64 = 8;
/// Bulk copies move units of this many bytes.
const BULK_UNIT: u64 = 16;
/// An mbarrier can wait for at most this many arrivals and bytes.
const MAX_COUNT: u64 = (1 << 20) - 1;

impl Checker<'_> {
    pub(super) fn cluster(&self) -> Result<()> {
        match self.instruction.op {
            Op::Mapa { space, ty, dst, src, rank } => {
                self.reg(dst, ty)?;
                self.shared_address(space, src, ty)?;
                self.value(rank, Type::U32)
            }
            Op::GetCtaRank { space, ty, dst, src } => {
                self.reg(dst, Type::U32)?;
                self.shared_address(space, src, ty)
            }
            _ => Ok(()),
        }
    }

    /// Checks an address of shared memory that is given as a value. A variable is allowed only if
    /// the instruction names the space.
    fn shared_address(&self, space: Space, value: Value, ty: Type) -> Result<()> {
        if let Value::Address(var, _) = value {
            let own = self.module.space_of(self.function, var);
            if space != Space::SharedCluster || own != Space::Shared {
                let name = self.module.name_of(self.function, var);
                return self.fail(format!(
                    "`{name}` is in the {} space, not in the {} space",
                    own.name(),
                    space.name()
                ));
            }
        }
        if space == Space::Generic && ty.bits() != 64 {
            return self.fail("generic addresses have 64 bits");
        }
        self.value(value, ty)
    }

    pub(super) fn mbarrier(&self) -> Result<()> {
        match self.instruction.op {
            Op::MbarrierInit { space, addr, count } => {
                self.address(addr, space, MBARRIER, true)?;
                self.count(count, 1)
            }
            Op::MbarrierInval { space, addr } | Op::AsyncArrive { space, addr, .. } => {
                self.address(addr, space, MBARRIER, true)
            }
            Op::MbarrierArrive { expects, no_complete, space, dst, addr, operand, .. } => {
                self.maybe_reg(dst, Type::B64)?;
                if dst.is_some() && space == Space::SharedCluster {
                    return self.fail("the state of another block's mbarrier is not returned: the destination is `_`");
                }
                if dst.is_none() && no_complete {
                    return self.fail("its result is the state, and it cannot be `_`");
                }
                self.address(addr, space, MBARRIER, true)?;
                operand.map_or(Ok(()), |operand| self.count(operand, u64::from(!expects)))
            }
            Op::MbarrierTx { space, addr, count, .. } => {
                self.address(addr, space, MBARRIER, true)?;
                self.count(count, 0)
            }
            Op::MbarrierWait { parity, space, dst, addr, phase, time, .. } => {
                self.reg(dst, Type::Pred)?;
                self.address(addr, space, MBARRIER, true)?;
                self.value(phase, if parity { Type::U32 } else { Type::B64 })?;
                time.map_or(Ok(()), |time| self.value(time, Type::U32))
            }
            Op::MbarrierPending { dst, state } => {
                self.reg(dst, Type::U32)?;
                self.value(state, Type::B64)
            }
            _ => Ok(()),
        }
    }

    /// Checks a number of arrivals or bytes.
    fn count(&self, value: Value, least: u64) -> Result<()> {
        self.value(value, Type::U32)?;
        match value {
            Value::Imm(Imm::Int(count)) if !(least..=MAX_COUNT).contains(&count) => {
                self.fail(format!("the count {count} is not one of {least} to {MAX_COUNT}"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn copy(&self) -> Result<()> {
        match self.instruction.op {
            Op::BulkCopy { to, from, dst, src, size, mbarrier, mask } => {
                self.address(dst, to, BULK_UNIT, true)?;
                self.address(src, from, BULK_UNIT, false)?;
                self.value(size, Type::U32)?;
                if let Value::Imm(Imm::Int(bytes)) = size
                    && !bytes.is_multiple_of(BULK_UNIT)
                {
                    return self.fail(format!("the size {bytes} is not a multiple of {BULK_UNIT}"));
                }
                if let Some(mbarrier) = mbarrier {
                    self.address(mbarrier, to, MBARRIER, true)?;
                }
                mask.map_or(Ok(()), |mask| self.value(mask, Type::U16))
            }
            Op::AsyncCopy { bytes, dst, src, from } => {
                self.address(dst, Space::Shared, u64::from(bytes), true)?;
                self.address(src, Space::Global, u64::from(bytes), false)?;
                from.map_or(Ok(()), |from| self.value(from, Type::U32))
            }
            _ => Ok(()),
        }
    }
}
