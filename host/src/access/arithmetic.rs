//! Integer division and remainder, compared with shift and mask.

use super::{
    draw::{Section, work_cells, work_charts},
    error::AccessError,
    lab::Lab,
    sass::{self, Each},
    site::{Ran, Site, threads},
    words::check,
};
use crate::{
    device::Arg,
    output::{Cell, Column, Table},
};

/// How many operations a thread does in a timed launch.
const TIMED_ROUNDS: u32 = 256;
/// How many operations a thread does in a counted launch.
const COUNTED_ROUNDS: u32 = 64;

/// The divisor is 2^10.
const SHIFT: u32 = 10;

/// The operation on each number.
#[derive(Clone, Copy)]
enum Operation {
    Quotient,
    Shift,
    Remainder,
    Mask,
}

impl Operation {
    /// The name as part of a kernel's name, and the expression for people.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Quotient => ("quotient", "x / d"),
            Self::Shift => ("shift", "x >> s"),
            Self::Remainder => ("remainder", "x % d"),
            Self::Mask => ("mask", "x & m"),
        }
    }

    fn operand(self) -> u64 {
        match self {
            Self::Quotient | Self::Remainder => 1 << SHIFT,
            Self::Shift => SHIFT.into(),
            Self::Mask => (1 << SHIFT) - 1,
        }
    }

    fn apply(self, x: u64) -> u64 {
        match self {
            Self::Quotient => x / self.operand(),
            Self::Remainder => x % self.operand(),
            Self::Shift => x >> self.operand(),
            Self::Mask => x & self.operand(),
        }
    }
}

/// The operations in pairs. The two operations of a pair give the same result.
const OPERATIONS: [Operation; 4] =
    [Operation::Quotient, Operation::Shift, Operation::Remainder, Operation::Mask];

pub(super) fn divide(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let (sizes, is_timed) = (lab.threads(), lab.is_timed());
    let mut columns = vec![
        Column::new("type", "type"),
        Column::new("operation", "operation"),
        Column::new("sass_instructions", "SASS instructions each"),
        Column::new("instructions", "PTX instructions each"),
    ];
    if is_timed {
        columns.push(Column::new("us", "time").in_unit("us"));
        columns.push(Column::new("gop_per_s", "operations").in_unit("10^9/s"));
    }
    let mut table = Table::new("divide", "Division by 2^10", columns);
    let mut machine = Vec::new();
    let rows = [32, 64].into_iter().flat_map(|bits| OPERATIONS.map(|operation| (bits, operation)));
    lab.rows(
        rows,
        |(bits, operation)| format!("u{bits}: {}", operation.names().1),
        |lab, (bits, operation): (u32, Operation)| {
            let ran = lab.measure(sizes, |site, n| divide_run(site, n, bits, operation))?;
            let each = lab.machine_instructions(&kernel(bits, operation));
            machine.push((bits, operation, each));
            let done = sizes.counted.div_ceil(32) * u64::from(COUNTED_ROUNDS);
            let mut row = vec![
                format!("u{bits}").into(),
                operation.names().1.into(),
                sass::cell(each.map(Each::with_call)),
                Cell::number(ran.counters.warp_instructions as f64 / done as f64, 2),
            ];
            if is_timed {
                row.extend(work_cells(ran.time, sizes.timed * u64::from(TIMED_ROUNDS)));
            }
            table.push(row);
            Ok(())
        },
    )?;
    table.notes.push(lab.sizes_note("threads", sizes.counted, sizes.timed));
    table.notes.push(lab.machine_note());
    table.notes.push(
        "All instructions include those for the next operand and for the sum. A division is one instruction in PTX, but the GPU has \
         no such instruction and runs many others instead, so the PTX instructions say nothing of its cost."
            .into(),
    );
    table.notes.extend(calls_note(&machine));
    let lesson = lesson(&machine);
    table.notes.extend(lesson.clone());
    let speed =
        is_timed.then_some(("operations", "Shifts and masks are many times as fast as divisions."));
    let charts = work_charts(
        &table,
        "Division against shift and mask",
        "operation",
        speed,
        lesson.as_deref().unwrap_or("The machine instructions of each operation."),
    );
    Ok(Section { tables: vec![table], charts })
}

/// The machine instructions of an operation on numbers of so many bits, if they are known.
type Machine = (u32, Operation, Option<Each>);

/// A sentence on the divisions that are calls.
fn calls_note(machine: &[Machine]) -> Option<String> {
    let calls: Vec<_> = machine
        .iter()
        .filter_map(|(bits, operation, each)| {
            let each = (*each)?;
            let (function, instructions) = each.slow?;
            let written = operation.names().1;
            Some(format!(
                "{written} of u{bits} calls {function} and takes {instructions:.2} instructions, and {:.2} without the call",
                each.fast
            ))
        })
        .collect();
    (!calls.is_empty()).then(|| {
        format!(
            "A division of 64 bits is a call, unless both numbers are below 2^32, which those of these kernels are not: {}.",
            calls.join("; ")
        )
    })
}

/// What the slide says, with the numbers of this table.
fn lesson(machine: &[Machine]) -> Option<String> {
    let each = |bits: u32, operation: &str| {
        let of = |machine: &&Machine| machine.0 == bits && machine.1.names().0 == operation;
        Some(machine.iter().find(of)?.2?.with_call())
    };
    let times = |bits, slow, fast| Some(each(bits, slow)? / each(bits, fast)?);
    Some(format!(
        "A division takes {:.1} times the machine instructions of a shift for u32, and {:.1} times for u64; a remainder takes {:.1} \
         and {:.1} times those of a mask.",
        times(32, "quotient", "shift")?,
        times(64, "quotient", "shift")?,
        times(32, "remainder", "mask")?,
        times(64, "remainder", "mask")?
    ))
}

/// The name of the kernel for an operation on numbers of so many bits.
fn kernel(bits: u32, operation: Operation) -> String {
    format!("access_divide_{}_u{bits}", operation.names().0)
}

fn divide_run(
    site: &mut Site<'_>,
    n: u64,
    bits: u32,
    operation: Operation,
) -> Result<Ran, AccessError> {
    let written = operation.names().1;
    let kernel = kernel(bits, operation);
    let rounds = if site.is_timed() { TIMED_ROUNDS } else { COUNTED_ROUNDS };
    let shape = Site::shape_of_threads(n, 0);
    let threads = threads(shape);
    let output = site.zeros(threads as u64 * u64::from(bits / 32))?;
    let operand = if bits == 32 {
        Arg::U32(operation.operand() as u32)
    } else {
        Arg::U64(operation.operand())
    };
    let ran =
        site.run(&kernel, shape, &[Arg::Pointer(output.address()), operand, Arg::U32(rounds)])?;
    let found = output.copy_to_host()?;
    if bits == 32 {
        let expected = (0..threads as u32).map(|thread| {
            let (mut x, mut sum) = (thread, 0_u32);
            for _ in 0..rounds {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                sum = sum.wrapping_add(operation.apply(x.into()) as u32);
            }
            sum
        });
        check(&kernel, written, &found, expected)?;
    } else {
        let found: Vec<u64> = found
            .chunks_exact(2)
            .map(|half| u64::from(half[1]) << 32 | u64::from(half[0]))
            .collect();
        let expected = (0..threads as u64).map(|thread| {
            let (mut x, mut sum) = (thread, 0_u64);
            for _ in 0..rounds {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                sum = sum.wrapping_add(operation.apply(x));
            }
            sum
        });
        check(&kernel, written, &found, expected)?;
    }
    Ok(ran)
}
