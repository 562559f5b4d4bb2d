//! The launches of a kernel for rows.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::device::{Arg, Device, Kernel, LaunchShape, Stream};

use super::{
    super::{Error, Item, even, input::Place, operation::MORE},
    layout::Layout,
    pairs, plan,
    repair::Repair,
};

/// The blocks of a multiprocessor that are spread evenly over all of them. With four, most
/// operations take 3 to 9 % longer, and so do columns behind a kernel of another library.
/// (bench/NOTEBOOK.md, attempt 136.)
const SPREAD: RangeInclusive<u32> = 1..=3;

/// A kernel for rows, and what its launches need to know of the operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::reducer) struct Call<'a> {
    pub(in crate::reducer) kernel: &'a Kernel,
    /// The name of the operation.
    pub(in crate::reducer) op: &'static str,
    /// The most words of an accumulator.
    pub(in crate::reducer) words: u64,
    /// The arguments that this kernel takes behind those of all kernels for rows.
    pub(in crate::reducer) more: &'a [Arg],
    /// If the kernel has a way for columns: what its ways depend on, and the kernel for rows of
    /// which each warp has a single tile.
    pub(in crate::reducer) ways: Option<(plan::Ways, &'a Kernel)>,
    /// The kernel that sums rows again where this one has no proof of a sum.
    pub(in crate::reducer) repair: Option<Repair<'a>>,
}

impl Call<'_> {
    /// Adds to `stream` the launches that reduce a whole array as one row, and leave its raw result
    /// at `out`, an address of the same device.
    pub(in crate::reducer) fn launch_whole<T: Item>(
        &self,
        device: &Device,
        place: Place<'_, T>,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        let bytes = size_of::<T>() as u64;
        let layout = Layout::new(&[place.len], &[1], |_| true, bytes)?;
        self.launch(device, &[(place, 0, layout)], out, stream)
    }

    /// Adds to `stream` the launches that leave the raw results at `out`, an address of the same
    /// device. Each array begins at an element of its place. There is at least one row.
    pub(super) fn launch<T: Item>(
        &self,
        device: &Device,
        arrays: &[(Place<'_, T>, u64, Layout)],
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        for (place, ..) in arrays {
            place.admit(device, stream)?;
        }
        #[cfg(feature = "cudarc")]
        let lent = arrays
            .iter()
            .map(|(place, ..)| place.borrow_for(stream))
            .collect::<Result<Vec<_>, _>>()?;
        let bytes = size_of::<T>() as u64;
        let address_of = |array: usize| {
            let (place, offset, _) = &arrays[array];
            place.address.wrapping_add(offset.wrapping_mul(bytes))
        };
        let (address, layout) = (address_of(0), &arrays[0].2);
        let is_pair = arrays.len() > 1;
        let (rows, length) = (layout.rows(), layout.length());
        let multiprocessors = device.class().multiprocessors();
        let ways = self.ways.map(|(ways, _)| ways);
        let cases = [(ways, plan::MOST_ROWS), (None, plan::MOST_ROWS), (None, 1)];
        let (tile, second, work) = cases
            .into_iter()
            .find_map(|(ways, most_rows)| {
                let (tile, second) = if is_pair {
                    let (layouts, addresses) = ([layout, &arrays[1].2], [address, address_of(1)]);
                    let [tile, second] =
                        pairs::tiles(layouts, bytes, addresses, most_rows, multiprocessors);
                    (tile, Some(second))
                } else {
                    let tile = plan::tile(layout, bytes, address, ways, most_rows, multiprocessors);
                    (tile, None)
                };
                let work = plan::work(&tile, rows, length, self.words, multiprocessors)?;
                // The tasks of columns have few tiles, so that the slots of many do not fit. One
                // launch of longer tasks is better than several.
                let is_best = tile.staging != plan::Staging::Columns || work.groups <= work.at_once;
                is_best.then_some((tile, second, work))
            })
            .ok_or_else(|| {
                let most = plan::most_elements(bytes, self.words) / arrays.len() as u64;
                Error::TooLong { op: self.op, item: T::NAME, n: length, most }
            })?;
        let seconds = second.map(|tile| second_arguments(address_of(1), &tile));
        let is_single = tile.is_single(rows, length, bytes);
        let more = seconds.as_ref().map_or(self.more, |seconds| &seconds[..]);
        // The list is filled where it lies, because it is long, and the host would move it.
        let mut args = Args::new();
        let mut group = 0;
        while group < work.groups {
            let groups = (work.groups - group).min(work.at_once);
            let first = group * tile.rows;
            let end = (first + groups * tile.rows).min(rows);
            let addresses = [address, out, stream.workspace()];
            let rows = (first, end, length);
            args.clear();
            let (kernel, [blocks, threads]) = match self.ways {
                Some((_, single)) if is_single => {
                    push_single_arguments(&mut args, addresses, rows, &tile, work.tiles);
                    (single, plan::single_blocks(groups, work.tiles, multiprocessors))
                }
                _ => {
                    push_arguments(&mut args, addresses, rows, &tile, &work, groups);
                    (self.kernel, [work.blocks(groups), plan::THREADS.into()])
                }
            };
            args.extend_from_slice(more);
            let (blocks, threads) = (blocks as u32, threads as u32);
            let shared_bytes = even::shared_bytes(kernel, blocks, 0, SPREAD, device);
            let shape = LaunchShape::linear(blocks, threads, shared_bytes).in_sequence();
            // SAFETY: the kernel reads the elements of the array and writes one raw result for each
            // row at `out`; this memory is borrowed, or the caller of the raw slice's `unsafe`
            // constructor has vouched for it, and `Array` has checked that the elements lie within
            // it. The kernel also writes slots of the stream's workspace, which `plan::work` keeps
            // within bounds and the stream keeps clean. Dropping memory waits for the work that
            // uses it, and a graph retains the memory that it uses.
            unsafe { stream.launch(kernel, shape, &args)? };
            group += groups;
        }
        if let Some(repair) = self.repair {
            // SAFETY: as above.
            let launched = unsafe { repair.launch(device, address, layout, out, stream) };
            // Without this launch, the note of the launches before stays in the workspace.
            launched.inspect_err(|_| stream.distrust_workspace())?;
        }
        #[cfg(feature = "cudarc")]
        for lent in lent.into_iter().flatten() {
            Borrowed::give_back(lent)?;
        }
        Ok(())
    }
}

/// Arguments of a kernel. Those of one array are allocated nowhere.
type Args = SmallVec<[Arg; 64]>;

/// The number of arguments that all kernels for rows have.
const ARGUMENTS: usize = 24 + 2 * plan::DIMS;
const _: () = assert!(ARGUMENTS + MORE <= 64);

/// The arguments of the second array, which lies at `address`.
fn second_arguments(address: u64, tile: &plan::Tile) -> Args {
    let mut args = Args::new();
    args.push(Arg::Pointer(address));
    let small = [
        tile.row_step,
        tile.step,
        tile.staging as u64,
        tile.unit,
        tile.fast.into(),
        tile.kept.len() as u64,
        tile.reduced.len() as u64,
    ];
    args.extend_from_slice(&small.map(|number| Arg::U32(number as u32)));
    push_dims(&mut args, tile);
    args
}

/// Appends the arguments of a launch for the rows from `first` to `end`, which are `groups` groups.
fn push_arguments(
    args: &mut Args,
    addresses: [u64; 3],
    (first, end, length): (u64, u64, u64),
    tile: &plan::Tile,
    work: &plan::Work,
    groups: u64,
) {
    // Whole arrays are appended, because a chain of iterators takes the host much longer, and a
    // small reduction takes no longer than the host needs for its launch.
    args.extend_from_slice(&addresses.map(Arg::Pointer));
    args.extend_from_slice(&[first, end, length].map(Arg::U64));
    let small = [
        tile.rows,
        tile.steps,
        tile.row_step,
        tile.step,
        work.tiles,
        work.task,
        work.tasks,
        groups,
        work.team.ilog2().into(),
        tile.lanes,
        plan::share_of(tile.lanes),
        tile.bundle.map_or(0, plan::share_of),
        tile.bundle_gap(),
        tile.staging as u64,
        tile.unit,
        tile.fast.into(),
        tile.kept.len() as u64,
        tile.reduced.len() as u64,
    ];
    args.extend_from_slice(&small.map(|number| Arg::U32(number as u32)));
    push_dims(args, tile);
}

/// Appends the arguments of the kernel for rows of which each warp has a single tile, as
/// [`push_arguments`]. A row has `tiles` tiles.
fn push_single_arguments(
    args: &mut Args,
    addresses: [u64; 3],
    (first, end, length): (u64, u64, u64),
    tile: &plan::Tile,
    tiles: u64,
) {
    args.extend_from_slice(&addresses.map(Arg::Pointer));
    args.extend_from_slice(&[first, end].map(Arg::U64));
    let small = [
        length,
        tile.rows,
        tile.row_step,
        tiles,
        plan::share_of(tiles),
        tile.lanes,
        plan::share_of(tile.lanes),
        tile.staging as u64,
    ];
    args.extend_from_slice(&small.map(|number| Arg::U32(number as u32)));
    args.push(Arg::I64(tile.kept[0].stride));
}

/// Appends the arguments of the dimensions.
fn push_dims(args: &mut Args, tile: &plan::Tile) {
    let absent = plan::DIMS - tile.kept.len() - tile.reduced.len();
    for dims in [&tile.kept, &tile.reduced] {
        for &plan::Dim { size, stride } in dims {
            args.extend_from_slice(&[Arg::U64(size), Arg::I64(stride)]);
        }
    }
    for _ in 0..absent {
        args.extend_from_slice(&[Arg::U64(1), Arg::I64(0)]);
    }
}
