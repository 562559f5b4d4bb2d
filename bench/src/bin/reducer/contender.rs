//! The contenders that are not warpfold's: functions of other libraries, and an empty kernel. The
//! reducer and its twin are in `ours`.

use std::cell::Cell;

use anyhow::Context;
use bench::peers::{PeerCall, PeerFunction};
use warpfold::device::{Buffer, Device, Kernel, LaunchShape, Stream};

use crate::{
    cases::{Case, Element, Operation as Op},
    data::{Number, number_at},
};

/// The size of an output in bytes. Every result fits into it.
pub(crate) const RESULT_BYTES: usize = 64;

/// The arguments of one reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The address of the first element.
    pub(crate) input: u64,
    /// The address of the first element of the second input. Only operations on pairs use it.
    pub(crate) right: u64,
    /// The number of elements in each input.
    pub(crate) n: u64,
}

/// An implementation of reductions that takes part in the comparison.
pub(crate) trait Contender {
    /// The name of the contender.
    fn name(&self) -> &str;
    /// Whether calls may be recorded in a graph.
    fn can_be_captured(&self) -> bool {
        true
    }
    /// Starts a reduction on a stream.
    fn call(&self, call: Call, stream: &Stream) -> anyhow::Result<()>;
    /// The result of the last call, after it has ended.
    fn result(&self) -> anyhow::Result<Vec<Number>>;
    /// The address of the result on the device, and the places of its numbers. It is `None` if
    /// there is no result or if the result goes to the host. The memory at the address has
    /// [`RESULT_BYTES`] bytes.
    fn output(&self) -> Option<(u64, &Layout)> {
        None
    }
}

/// The place of each number of a result, in bytes from the start of the result, and its type.
pub(crate) type Layout = Vec<(usize, Element)>;

/// The layout of the results of the functions in `bench/peers`, which the headers of those files
/// describe.
pub(crate) fn peer_layout(op: Op, element: Element) -> Layout {
    use Element::{Bf16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let size = element.size() as usize;
    match op {
        Op::Sum | Op::Wrapping => match element {
            I8 | I16 => vec![(0, I32)],
            U8 | U16 => vec![(0, U32)],
            other => vec![(0, other)],
        },
        Op::SumWide => match element {
            I8 | I16 | I32 => vec![(0, I64)],
            U8 | U16 | U32 => vec![(0, U64)],
            F16 | Bf16 => vec![(0, F32)],
            F32 => vec![(0, F64)],
            other => vec![(0, other)],
        },
        Op::AnyOrder | Op::Exact | Op::Min | Op::Max | Op::MaxAbs => vec![(0, element)],
        Op::ArgMin | Op::ArgMax => vec![(0, element), (16, I64)],
        Op::MinMax => vec![(0, element), (size, element)],
        Op::Dot | Op::SquaredDistance | Op::SumAbs | Op::SumSquares => match element {
            F16 | Bf16 => vec![(0, F32)],
            other => vec![(0, other)],
        },
        Op::Moments => vec![(0, U64), (8, F64), (16, F64)],
    }
}

pub(crate) fn numbers(bytes: &[u8], layout: &Layout) -> Vec<Number> {
    layout.iter().map(|&(at, element)| number_at(bytes, at, element)).collect()
}

/// A function of another library, as a contender.
pub(crate) struct Peer<'a> {
    name: String,
    function: PeerFunction<'a>,
    temp: Buffer<u8>,
    out: Buffer<u8>,
    layout: Layout,
}

impl<'a> Peer<'a> {
    /// Allocates the temporary memory and the output for calls of one case.
    pub(crate) fn new(
        device: &Device,
        name: &str,
        function: PeerFunction<'a>,
        case: &Case,
    ) -> anyhow::Result<Self> {
        let temp_bytes = function.temp_bytes(case.n).with_context(|| name.to_owned())?;
        Ok(Self {
            name: name.to_owned(),
            function,
            temp: device.alloc(temp_bytes)?,
            out: device.alloc(RESULT_BYTES)?,
            layout: peer_layout(case.op, case.element),
        })
    }
}

/// Starts a function of another library on a stream.
fn call_peer(
    function: PeerFunction,
    temp: &Buffer<u8>,
    out: u64,
    call: Call,
    stream: &Stream,
) -> anyhow::Result<()> {
    let handle = stream.raw().context("the functions of other libraries need a GPU")?;
    let call = PeerCall { input: call.input, right: call.right, out, n: call.n };
    // SAFETY: the device that made the stream has made its context current in this thread, which
    // uses no other. The addresses are those of parts of the input, of `temp`, and of an output of
    // RESULT_BYTES. All this memory lives until a wait for the stream, and calls on one stream do
    // not overlap.
    unsafe { function.call((temp.address(), temp.len()), call, handle) }
}

impl Contender for Peer<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn call(&self, call: Call, stream: &Stream) -> anyhow::Result<()> {
        call_peer(self.function, &self.temp, self.out.address(), call, stream)
            .with_context(|| self.name.clone())
    }

    fn result(&self) -> anyhow::Result<Vec<Number>> {
        Ok(numbers(&self.out.copy_to_host()?, &self.layout))
    }

    fn output(&self) -> Option<(u64, &Layout)> {
        Some((self.out.address(), &self.layout))
    }
}

/// A function of Thrust, as a contender. It waits for the end of the reduction and returns the
/// result to the host.
pub(crate) struct Thrust<'a> {
    name: String,
    function: PeerFunction<'a>,
    temp: Buffer<u8>,
    result: Cell<[u64; RESULT_BYTES / 8]>,
    layout: Layout,
}

impl<'a> Thrust<'a> {
    pub(crate) fn new(
        device: &Device,
        name: &str,
        function: PeerFunction<'a>,
        case: &Case,
    ) -> anyhow::Result<Self> {
        let temp = device.alloc(function.temp_bytes(case.n).with_context(|| name.to_owned())?)?;
        Ok(Self {
            name: name.to_owned(),
            function,
            temp,
            result: Cell::new([0; RESULT_BYTES / 8]),
            layout: peer_layout(case.op, case.element),
        })
    }
}

impl Contender for Thrust<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn can_be_captured(&self) -> bool {
        false
    }

    fn call(&self, call: Call, stream: &Stream) -> anyhow::Result<()> {
        let out = self.result.as_ptr().expose_provenance() as u64;
        call_peer(self.function, &self.temp, out, call, stream).with_context(|| self.name.clone())
    }

    fn result(&self) -> anyhow::Result<Vec<Number>> {
        Ok(numbers(bytemuck::bytes_of(&self.result.get()), &self.layout))
    }
}

/// A contender whose kernel does nothing. Its time is the least that any call can take.
pub(crate) struct Empty {
    kernel: Kernel,
}

/// The PTX of a kernel that returns at once.
const EMPTY: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry empty() { ret; }
";

impl Empty {
    pub(crate) fn new(device: &Device) -> anyhow::Result<Self> {
        Ok(Self { kernel: device.load("empty.ptx", EMPTY)?.kernel("empty")? })
    }
}

impl Contender for Empty {
    fn name(&self) -> &'static str {
        "empty"
    }

    fn call(&self, _call: Call, stream: &Stream) -> anyhow::Result<()> {
        // SAFETY: the kernel does nothing.
        let _: () = unsafe { stream.launch(&self.kernel, LaunchShape::linear(1, 32, 0), &[])? };
        Ok(())
    }

    fn result(&self) -> anyhow::Result<Vec<Number>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_results_are_read_where_their_functions_put_them() {
        let mut bytes = [0; RESULT_BYTES];
        bytes[..4].copy_from_slice(&(-7i32).to_le_bytes());
        bytes[16..24].copy_from_slice(&42i64.to_le_bytes());
        let found = numbers(&bytes, &peer_layout(Op::ArgMin, Element::I32));
        assert_eq!(
            found,
            [Number::Int { value: -7, bits: 32 }, Number::Int { value: 42, bits: 64 }]
        );
        let sum = |element| numbers(&bytes, &peer_layout(Op::Sum, element));
        assert_eq!(sum(Element::I8), [Number::Int { value: -7, bits: 32 }]);
        assert_eq!(sum(Element::U16), [Number::Int { value: (-7i32 as u32).into(), bits: 32 }]);
        assert!(matches!(sum(Element::F16)[..], [Number::Float { .. }]));
    }
}
