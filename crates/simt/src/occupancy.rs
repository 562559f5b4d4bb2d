//! How many blocks of a launch a multiprocessor holds at once: CUDA's occupancy, computed without
//! the GPU.
//!
//! The limits are those of the CUDA C++ Programming Guide ("Compute Capabilities", technical
//! specifications). As NVIDIA's occupancy calculator does, registers are given to warps in units of
//! 256 within a quarter of the multiprocessor, and shared memory is given in units of 128 or 256
//! bytes. Shared memory is assumed to be as large as the multiprocessor can make it, at the cost of
//! its L1 cache.
//!
//! ```
//! use simt::occupancy::{Gpu, Limit, occupancy};
//!
//! let h100: Gpu = "h100".parse()?;
//! let full = occupancy(&h100, 256, 1024, Some(32));
//! assert_eq!((full.blocks_per_sm, full.warps_per_sm, full.percent), (8, 64, 100.0));
//! let heavy = occupancy(&h100, 256, 1024, Some(64));
//! assert_eq!((heavy.blocks_per_sm, heavy.limited_by), (4, Limit::Registers));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::limits::MAX_THREADS_PER_BLOCK;
use crate::registers::LANES;

/// The properties of a GPU that decide the occupancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpu {
    /// A short name, such as `h100` or `rtx4090`.
    pub name: &'static str,
    /// The compute capability: major and minor.
    pub compute_capability: (u32, u32),
    /// How many multiprocessors (SMs) the GPU has.
    pub multiprocessors: u32,
    /// The limits of one multiprocessor.
    pub sm: Multiprocessor,
}

/// The limits of a multiprocessor, which depend on the compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multiprocessor {
    /// The greatest number of resident blocks.
    pub blocks: u32,
    /// The greatest number of resident warps of 32 threads.
    pub warps: u32,
    /// How many registers of 32 bits there are.
    pub registers: u32,
    /// Registers are given to a warp in units of this many.
    pub register_unit: u32,
    /// The greatest shared memory of all blocks together, in bytes.
    pub shared_bytes: u32,
    /// The greatest shared memory of one block, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory is given in units of this many bytes.
    pub shared_unit: u32,
    /// The shared memory that the system reserves for itself in each block, in bytes.
    pub reserved_shared_bytes: u32,
}

/// The greatest number of registers of a thread.
const MAX_REGISTERS: u32 = 255;
/// A multiprocessor has this many parts, each with a scheduler and its share of the registers.
const PARTITIONS: u32 = 4;

const KIB: u32 = 1024;

const fn sm(blocks: u32, warps: u32, shared_kib: u32) -> Multiprocessor {
    // From compute capability 8.0 on, the system reserves 1 KiB in each block, and one block may
    // have all the rest.
    Multiprocessor {
        blocks,
        warps,
        registers: 64 * KIB,
        register_unit: 256,
        shared_bytes: shared_kib * KIB,
        shared_bytes_per_block: (shared_kib - 1) * KIB,
        shared_unit: 128,
        reserved_shared_bytes: KIB,
    }
}

const fn sm_before_8(blocks: u32, warps: u32, shared_kib: u32) -> Multiprocessor {
    Multiprocessor {
        shared_bytes_per_block: shared_kib * KIB,
        shared_unit: 256,
        reserved_shared_bytes: 0,
        ..sm(blocks, warps, shared_kib)
    }
}

const SM_70: Multiprocessor = sm_before_8(32, 64, 96);
const SM_75: Multiprocessor = sm_before_8(16, 32, 64);
const SM_80: Multiprocessor = sm(32, 64, 164);
const SM_86: Multiprocessor = sm(16, 48, 100);
const SM_89: Multiprocessor = sm(24, 48, 100);
const SM_90: Multiprocessor = sm(32, 64, 228);
const SM_100: Multiprocessor = sm(32, 64, 228);
const SM_120: Multiprocessor = sm(24, 48, 100);

const fn gpu(
    name: &'static str,
    compute_capability: (u32, u32),
    multiprocessors: u32,
    sm: Multiprocessor,
) -> Gpu {
    Gpu { name, compute_capability, multiprocessors, sm }
}

/// If a name stands for several products, the table holds the product for SXM sockets. If there is
/// no such product, it holds the largest one.
const GPUS: [Gpu; 12] = [
    gpu("v100", (7, 0), 80, SM_70),
    gpu("t4", (7, 5), 40, SM_75),
    gpu("a100", (8, 0), 108, SM_80),
    gpu("a10", (8, 6), 72, SM_86),
    gpu("rtx3090", (8, 6), 82, SM_86),
    gpu("l4", (8, 9), 58, SM_89),
    gpu("l40s", (8, 9), 142, SM_89),
    gpu("rtx4090", (8, 9), 128, SM_89),
    gpu("h100", (9, 0), 132, SM_90),
    gpu("h200", (9, 0), 132, SM_90),
    gpu("b200", (10, 0), 148, SM_100),
    gpu("rtx5090", (12, 0), 170, SM_120),
];

impl Gpu {
    /// All GPUs that are known by name, in the order of compute capabilities.
    pub const fn all() -> &'static [Gpu] {
        &GPUS
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// A name that no GPU in [`Gpu::all`] has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown GPU '{0}': it is one of {names}", names = GPUS.map(|gpu| gpu.name).join(", "))]
pub struct UnknownGpu(pub String);

impl FromStr for Gpu {
    type Err = UnknownGpu;

    /// Reads the name of a GPU. Upper and lower case, spaces, `-` and `_` make no difference.
    fn from_str(text: &str) -> Result<Gpu, UnknownGpu> {
        let plain: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).collect();
        let gpu = GPUS.into_iter().find(|gpu| gpu.name.eq_ignore_ascii_case(&plain));
        gpu.ok_or_else(|| UnknownGpu(text.to_owned()))
    }
}

/// The limit that prevents another block on a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The number of warps, and with it the number of threads.
    Warps,
    /// The number of blocks.
    Blocks,
    /// The number of registers.
    Registers,
    /// The size of shared memory.
    Shared,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
        })
    }
}

/// The part of a launch that a multiprocessor holds at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Occupancy {
    /// The number of resident blocks; 0 if not even one fits.
    pub blocks_per_sm: u32,
    /// The number of resident warps.
    pub warps_per_sm: u32,
    /// The resident warps in percent of the greatest number that the multiprocessor allows.
    pub percent: f64,
    /// The limit that prevents another block. If there are several such limits, it is the first in
    /// the order of [`Limit`].
    pub limited_by: Limit,
}

/// How many blocks of `threads` threads a multiprocessor of `gpu` holds at once, if each block has
/// `shared_bytes` bytes of shared memory (static and dynamic together) and each thread has
/// `registers` registers. If `registers` is `None`, the limit on registers is left out, and the
/// result is an upper bound.
///
/// No block fits if a block has no threads or more than 1024, or if a thread has more than 255
/// registers.
pub fn occupancy(gpu: &Gpu, threads: u32, shared_bytes: u32, registers: Option<u32>) -> Occupancy {
    let sm = &gpu.sm;
    let warps = threads.div_ceil(LANES as u32).max(1);
    let by_warps =
        if (1..=MAX_THREADS_PER_BLOCK).contains(&threads) { sm.warps / warps } else { 0 };
    let by_registers =
        registers.map_or(u32::MAX, |registers| blocks_by_registers(sm, warps, registers));
    let limits = [
        (by_warps, Limit::Warps),
        (sm.blocks, Limit::Blocks),
        (by_registers, Limit::Registers),
        (blocks_by_shared(sm, shared_bytes), Limit::Shared),
    ];
    let (blocks_per_sm, limited_by) = limits
        .into_iter()
        .reduce(|least, other| if other.0 < least.0 { other } else { least })
        .unwrap_or(limits[0]);
    let warps_per_sm = blocks_per_sm * warps;
    Occupancy {
        blocks_per_sm,
        warps_per_sm,
        percent: 100.0 * f64::from(warps_per_sm) / f64::from(sm.warps),
        limited_by,
    }
}

fn blocks_by_registers(sm: &Multiprocessor, warps: u32, registers: u32) -> u32 {
    if registers > MAX_REGISTERS {
        return 0;
    }
    let of_warp = (registers * LANES as u32).next_multiple_of(sm.register_unit).max(1);
    // The driver checks a launch as if each part had as many warps as the fullest part.
    if of_warp * warps.next_multiple_of(PARTITIONS) > sm.registers {
        return 0;
    }
    sm.registers / PARTITIONS / of_warp * PARTITIONS / warps
}

fn blocks_by_shared(sm: &Multiprocessor, bytes: u32) -> u32 {
    if bytes > sm.shared_bytes_per_block {
        return 0;
    }
    let of_block = (bytes + sm.reserved_shared_bytes).next_multiple_of(sm.shared_unit);
    sm.shared_bytes.checked_div(of_block).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(gpu: &str, threads: u32, shared_bytes: u32, registers: Option<u32>) -> Occupancy {
        occupancy(&gpu.parse().unwrap(), threads, shared_bytes, registers)
    }

    /// The expected numbers of blocks are the results of `cudaOccMaxActiveBlocksPerMultiprocessor`
    /// in CUDA 13's `cuda_occupancy.h`, with as much shared memory as possible.
    #[test]
    fn it_agrees_with_nvidias_calculator() {
        #[rustfmt::skip]
        let launches = [
            (256, 1024, 32),
            (256, 1024, 16),
            (1024, 4096, 32),
            (1024, 4096, 65),
            (96, 0, 40),
            (32, 0, 16),
            (64, 512, 255),
            (512, 50_000, 33),
            (128, 9000, 24),
            (1, 1, 1),
            (1000, 0, 64),
            (256, 65_000, 20),
            (256, 100_000, 20),
            (64, 232_448, 20),
            (320, 30, 48),
            (416, 0, 37),
        ];
        #[rustfmt::skip]
        let blocks = [
            ("v100", [8, 8, 2, 0, 16, 32, 4, 1, 10, 32, 1, 1, 0, 0, 4, 3]),
            ("t4", [4, 4, 1, 0, 10, 16, 4, 1, 7, 16, 1, 1, 0, 0, 3, 2]),
            ("a100", [8, 8, 2, 0, 16, 32, 4, 3, 16, 32, 1, 2, 1, 0, 4, 3]),
            ("rtx3090", [6, 6, 1, 0, 16, 16, 4, 2, 10, 16, 1, 1, 1, 0, 4, 3]),
            ("rtx4090", [6, 6, 1, 0, 16, 24, 4, 2, 10, 24, 1, 1, 1, 0, 4, 3]),
            ("h100", [8, 8, 2, 0, 16, 32, 4, 3, 16, 32, 1, 3, 2, 1, 4, 3]),
            ("b200", [8, 8, 2, 0, 16, 32, 4, 3, 16, 32, 1, 3, 2, 1, 4, 3]),
            ("rtx5090", [6, 6, 1, 0, 16, 24, 4, 2, 10, 24, 1, 1, 1, 0, 4, 3]),
        ];
        for (gpu, blocks) in blocks {
            for ((threads, shared_bytes, registers), blocks) in launches.into_iter().zip(blocks) {
                let result = of(gpu, threads, shared_bytes, Some(registers));
                assert_eq!(
                    result.blocks_per_sm, blocks,
                    "{gpu}: {threads} threads, {shared_bytes} bytes, {registers}"
                );
                assert_eq!(result.warps_per_sm, blocks * threads.div_ceil(32));
            }
        }
    }

    #[test]
    fn what_limits_is_named() {
        for (launch, limit, percent) in [
            ((256, 1024, Some(16)), Limit::Warps, 100.0),
            ((32, 0, None), Limit::Blocks, 50.0),
            ((256, 1024, Some(64)), Limit::Registers, 50.0),
            ((256, 100_000, Some(16)), Limit::Shared, 25.0),
            ((1024, 0, Some(65)), Limit::Registers, 0.0),
            ((256, 0, Some(256)), Limit::Registers, 0.0),
            ((256, 227 * 1024 + 1, None), Limit::Shared, 0.0),
            ((1025, 0, None), Limit::Warps, 0.0),
            ((0, 0, None), Limit::Warps, 0.0),
        ] {
            let (threads, shared_bytes, registers) = launch;
            let result = of("h100", threads, shared_bytes, registers);
            assert_eq!(
                (result.limited_by, result.percent.to_bits()),
                (limit, f64::to_bits(percent)),
                "{launch:?}"
            );
        }
    }

    #[test]
    fn unknown_registers_leave_the_most_there_can_be() {
        for gpu in Gpu::all() {
            let unknown = occupancy(gpu, 256, 1024, None).blocks_per_sm;
            assert_eq!(unknown, occupancy(gpu, 256, 1024, Some(1)).blocks_per_sm, "{gpu}");
            assert!((0..=255).all(|registers| {
                occupancy(gpu, 256, 1024, Some(registers)).blocks_per_sm <= unknown
            }));
        }
    }

    #[test]
    fn names_parse_however_they_are_spelled() {
        for gpu in Gpu::all() {
            assert_eq!(gpu.name.parse(), Ok(*gpu));
        }
        assert_eq!("RTX 4090".parse(), "rtx4090".parse::<Gpu>());
        let error = "gtx480".parse::<Gpu>().unwrap_err().to_string();
        assert!(error.starts_with("unknown GPU 'gtx480': it is one of v100, t4, a100,"), "{error}");
    }
}
