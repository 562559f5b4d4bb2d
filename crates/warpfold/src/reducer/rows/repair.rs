//! The launches that sum rows again where those before have no proof of a sum.

use crate::device::{Arg, Device, Kernel, Stream};

use super::{
    super::{
        Error,
        repair::{MOST_ELEMENTS, shape},
    },
    layout::Layout,
    plan,
};

/// A kernel for rows that sums again, and the bytes of its results.
#[derive(Clone, Copy, Debug)]
pub(in crate::reducer) struct Repair<'a> {
    pub(in crate::reducer) kernel: &'a Kernel,
    pub(in crate::reducer) result_bytes: u64,
}

/// The number of arguments of the kernel.
const ARGUMENTS: usize = 9 + 2 * plan::DIMS;

/// The most rows of a launch.
fn most_rows(length: u64) -> u64 {
    (MOST_ELEMENTS / length.max(1)).max(1)
}

impl Repair<'_> {
    /// Adds to `stream` the launches behind those that have left the results of all rows at `out`.
    /// Mostly it is one launch. The array begins at `address`.
    ///
    /// # Safety
    ///
    /// The array and the results are there, in memory that a graph retains or that somebody has
    /// vouched for, as in [`Call::launch`](super::Call::launch).
    pub(super) unsafe fn launch(
        &self,
        device: &Device,
        address: u64,
        layout: &Layout,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        let (rows, length) = (layout.rows(), layout.length());
        let most = most_rows(length);
        let mut first = 0;
        while first < rows {
            let count = most.min(rows - first);
            let is_last = first + count == rows;
            let scalars = [
                Arg::Pointer(address),
                Arg::Pointer(out + first * self.result_bytes),
                Arg::Pointer(stream.workspace()),
                Arg::U64(first),
                Arg::U64(count),
                Arg::U64(length),
                // The launches behind this one look at the note, too.
                Arg::U32(u32::from(!is_last)),
                Arg::U32(layout.kept.len() as u32),
                Arg::U32(layout.reduced.len() as u32),
            ];
            let dims = layout.kept.iter().chain(&layout.reduced);
            let dims = dims.flat_map(|dim| [Arg::U64(dim.size), Arg::I64(dim.stride)]);
            let mut args = [Arg::U64(0); ARGUMENTS];
            let rest = args.len() - scalars.len();
            let none = [Arg::U64(1), Arg::I64(0)].into_iter().cycle();
            for (arg, value) in
                args.iter_mut().zip(scalars.into_iter().chain(dims.chain(none).take(rest)))
            {
                *arg = value;
            }
            // SAFETY: the kernel reads elements and results, and writes results. It also writes
            // words of the stream's workspace, and leaves zeros there.
            unsafe { stream.launch(self.kernel, shape(count * length, device), &args)? };
            first += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_launch_has_too_many_elements() {
        assert_eq!(most_rows(0), MOST_ELEMENTS);
        assert_eq!(most_rows(1), MOST_ELEMENTS);
        assert_eq!(most_rows(1000) * 1000 / 1000, MOST_ELEMENTS / 1000);
        // The longest rows are of halves.
        let longest = plan::most_elements(2, super::super::super::repair::WORDS);
        assert!(longest < MOST_ELEMENTS && most_rows(longest) * longest <= MOST_ELEMENTS);
    }
}
