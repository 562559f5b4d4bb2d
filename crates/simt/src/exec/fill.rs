//! The values that registers hold before a block runs: constants, special registers and addresses
//! of variables.

use crate::dim::Dim3;
use crate::exec::job::Job;
use crate::ir::{Init, Program};
use crate::limits::MAX_SHARED_BYTES;
use crate::ptx::ast::{Axis, SpecialReg};
use crate::registers::{LANES, Registers};

/// The registers of a warp. The registers that no instruction writes hold their values already.
pub(super) fn registers(job: &Job<'_>, program: &Program, warp: u32) -> Registers {
    let mut registers = Registers {
        words: vec![[0; LANES]; program.words],
        doubles: vec![[0; LANES]; program.doubles],
        predicates: vec![0; program.predicates],
    };
    let value = |init: Init, lane: usize| match init {
        Init::Const(value) => value,
        Init::Special(special) => u64::from(special_value(special, job, warp, lane as u32)),
        Init::Variable(index, addend) => job.variables[index as usize].wrapping_add_signed(addend),
    };
    for (register, init) in &program.word_values {
        registers.words[*register as usize] = std::array::from_fn(|lane| value(*init, lane) as u32);
    }
    for (register, init) in &program.double_values {
        registers.doubles[*register as usize] = std::array::from_fn(|lane| value(*init, lane));
    }
    registers
}

/// Sets to zero the registers that a lane may read before it writes them.
pub(super) fn zero(registers: &mut Registers, program: &Program) {
    for &register in &program.zeroed_words {
        registers.words[register as usize] = [0; LANES];
    }
    for &register in &program.zeroed_doubles {
        registers.doubles[register as usize] = [0; LANES];
    }
    for &register in &program.zeroed_predicates {
        registers.predicates[register as usize] = 0;
    }
}

/// The value of a special register that holds a part of the block's position, in clusters of
/// `cluster` blocks; `None` for every other register.
pub(super) fn positional(special: SpecialReg, position: Dim3, cluster: u32) -> Option<u32> {
    let Dim3 { x, y, z } = position;
    let axis = |dim: Dim3, axis: Axis| match axis {
        Axis::X => dim.x,
        Axis::Y => dim.y,
        Axis::Z => dim.z,
    };
    match special {
        SpecialReg::Ctaid(a) => Some(axis(position, a)),
        SpecialReg::ClusterId(a) => Some(axis(Dim3 { x: x / cluster, y, z }, a)),
        SpecialReg::ClusterCtaid(a) => Some(axis(Dim3::from((x % cluster, 0, 0)), a)),
        SpecialReg::ClusterCtaRank => Some(x % cluster),
        _ => None,
    }
}

/// The value of a special register that does not change while a block runs. The registers that hold
/// the block's position are set later.
pub(super) fn special_value(special: SpecialReg, job: &Job<'_>, warp: u32, lane: u32) -> u32 {
    let block = job.config.block;
    let axis = |dim: Dim3, axis: Axis| match axis {
        Axis::X => dim.x,
        Axis::Y => dim.y,
        Axis::Z => dim.z,
    };
    match special {
        SpecialReg::Tid(a) => {
            axis(block.position(u64::from(warp) * LANES as u64 + u64::from(lane)), a)
        }
        SpecialReg::Ntid(a) => axis(block, a),
        SpecialReg::Nctaid(a) => axis(job.config.grid, a),
        SpecialReg::NClusterId(a) => {
            axis(Dim3 { x: job.config.grid.x / job.cluster, ..job.config.grid }, a)
        }
        SpecialReg::ClusterNctaid(a) => axis(Dim3::from((job.cluster, 1, 1)), a),
        SpecialReg::ClusterNctaRank => job.cluster,
        SpecialReg::IsExplicitCluster => u32::from(job.has_clusters),
        SpecialReg::EnvReg(1) => (job.workspace >> 32) as u32,
        SpecialReg::EnvReg(2) => job.workspace as u32,
        SpecialReg::LaneId => lane,
        SpecialReg::WarpId => warp,
        SpecialReg::NWarpId => block.count().div_ceil(LANES as u128) as u32,
        SpecialReg::NSmId => 1,
        SpecialReg::LaneMaskEq => 1 << lane,
        SpecialReg::LaneMaskLt => (1 << lane) - 1,
        SpecialReg::LaneMaskLe => u32::MAX >> (31 - lane),
        SpecialReg::LaneMaskGe => u32::MAX << lane,
        SpecialReg::LaneMaskGt => !(u32::MAX >> (31 - lane)),
        SpecialReg::TotalSmemSize => {
            job.kernel.static_shared_bytes() + job.config.dynamic_shared_bytes
        }
        SpecialReg::DynamicSmemSize => job.config.dynamic_shared_bytes,
        // The simulator reserves no shared memory. A reserved part would begin after everything
        // that a block can have.
        SpecialReg::ReservedSmemOffset => MAX_SHARED_BYTES,
        // The multiprocessor and the grid have the number 0, because there is one of each. The
        // position is set later, and clocks are read by instructions of their own.
        SpecialReg::Ctaid(_)
        | SpecialReg::ClusterId(_)
        | SpecialReg::ClusterCtaid(_)
        | SpecialReg::ClusterCtaRank
        | SpecialReg::ReservedSmemCap
        | SpecialReg::EnvReg(_)
        | SpecialReg::SmId
        | SpecialReg::GridId
        | SpecialReg::Clock
        | SpecialReg::ClockHi
        | SpecialReg::Clock64
        | SpecialReg::GlobalTimer
        | SpecialReg::GlobalTimerLo
        | SpecialReg::GlobalTimerHi => 0,
    }
}
