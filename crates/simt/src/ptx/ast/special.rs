//! Special registers: they tell a thread its position, the time, and facts about the launch.

use super::types::Type;

/// An axis of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Axis {
    X,
    Y,
    Z,
}

/// Special registers (PTX ISA 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum SpecialReg {
    Tid(Axis),
    Ntid(Axis),
    Ctaid(Axis),
    Nctaid(Axis),
    ClusterId(Axis),
    NClusterId(Axis),
    ClusterCtaid(Axis),
    ClusterNctaid(Axis),
    ClusterCtaRank,
    ClusterNctaRank,
    /// This register is a predicate.
    IsExplicitCluster,
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    TotalSmemSize,
    DynamicSmemSize,
    /// `%reserved_smem_offset_begin`, `_end`, `_0` and `_1`: offsets of the shared memory that the
    /// system reserves for itself.
    ReservedSmemOffset,
    /// `%reserved_smem_offset_cap`: how much shared memory the system reserves for itself.
    ReservedSmemCap,
    /// `%envreg<32>`: values that the driver passes to its own code.
    EnvReg(u8),
}

impl SpecialReg {
    /// The type of the register's value.
    pub const fn ty(self) -> Type {
        match self {
            Self::Clock64 | Self::GlobalTimer | Self::GridId => Type::U64,
            Self::IsExplicitCluster => Type::Pred,
            _ => Type::U32,
        }
    }
}
