//! The launches of operations that have kernels of their own for runs of keys: one that finds the
//! runs and reduces them, and one that reduces what the first one leaves over.

use std::sync::Arc;

use crate::device::{Arg, Device, LaunchShape, Stream, WORKSPACE_BYTES};

use super::{
    super::{
        super::{
            Error, Item, SegmentOperation,
            engine::{Cache, Engine},
            input::Place,
            operation::private::KeyedKernels,
        },
        plan,
    },
    RunReducer,
    find::Outputs,
};

/// Threads of a block. `warpfold_device::keyed::THREADS`.
const THREADS: u32 = 128;
/// 2 to this number are the most bytes of the keys of a window, and of its values.
/// `warpfold_device::keyed::BYTES`.
const BYTES: u32 = 13;
/// 2 to this number are the most keys of a window. `warpfold_device::keyed::MOST`.
const MOST: u32 = 11;
/// 2 to this number are the fewest keys of a window.
const FEWEST: u32 = 9;
/// 64-bit words of a record. `warpfold_device::keyed::records::WORDS`.
const RECORD: u64 = 2;
/// The most windows of a warp that reduces what is left over: one for each lane.
const MOST_OF_WARP: u32 = 32;
/// 2 to this number are the most windows of a group.
const MOST_OF_GROUP: u32 = 2;
/// Blocks that a multiprocessor has room for at a time, if it has as much shared memory as that of
/// an H100.
const RESIDENT: u32 = 6;
/// The kernels of an operation for runs of keys, loaded.
#[derive(Debug)]
pub(super) struct Keyed {
    windows: Arc<Engine>,
    left: Arc<Engine>,
}

impl Keyed {
    pub(super) fn new(device: &Device, kernels: KeyedKernels) -> Result<Self, Error> {
        let cache = device.attached::<Cache>();
        Ok(Self {
            windows: cache.engine(device, kernels.windows, 0)?,
            left: cache.engine(device, kernels.left, 0)?,
        })
    }
}

/// How the keys are divided.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Windows {
    /// 2 to this number are the keys of a window.
    log: u32,
    /// The number of windows.
    count: u32,
    /// 2 to this number are the windows of a group, of which a warp reduces what is left over.
    group: u32,
}

impl Windows {
    /// The windows of `n` keys of 2 to the power of `key_log` bytes, with values of 2 to the power
    /// of `log` bytes, if a slot has `words` words. `None` if there are less than two keys, which
    /// the kernels do not take, or if the workspace has no room for what is known of the windows.
    fn of(n: u64, key_log: u32, log: u32, words: u64, multiprocessors: u32) -> Option<Self> {
        if n < 2 {
            return None;
        }
        let most = MOST.min(BYTES - key_log.max(log));
        // If it is possible, each block has one window.
        let blocks = u64::from(multiprocessors * RESIDENT);
        let is_each = |log: &u32| n.div_ceil(1 << log) <= blocks;
        let log = (FEWEST..most).find(is_each).unwrap_or(most);
        let count = n.div_ceil(1 << log);
        // There are still groups for all warps that there is room for.
        let warps = u64::from(multiprocessors) * plan::RESIDENT;
        let group = (count / warps).max(1).ilog2().min(MOST_OF_GROUP);
        // Each window has a record, and each group two slots. A word says which window is next, and
        // the last word is a status.
        let used =
            count.checked_mul(RECORD)? + (count.div_ceil(1 << group) * 2).checked_mul(words)? + 2;
        let is_room = used <= WORKSPACE_BYTES / 8;
        is_room.then_some(Self { log, count: count as u32, group })
    }

    /// The number of groups.
    fn groups(self) -> u32 {
        self.count.div_ceil(1 << self.group)
    }

    /// How many warps reduce what is left over: as many as there is room for at a time, and less if
    /// they have equally many groups then.
    fn warps(self, multiprocessors: u32) -> u32 {
        let resident = multiprocessors * plan::RESIDENT as u32;
        let of_warp = self.groups().div_ceil(resident).min(MOST_OF_WARP >> self.group);
        self.groups().div_ceil(of_warp)
    }
}

impl<B, T: Item, O: SegmentOperation<T>> RunReducer<B, T, O> {
    /// As [`launch_heads`](Self::launch_heads), with the kernels for keys, of 2 to the power of
    /// `key_log` bytes. Does nothing and returns `false` if there are none, or too few or too many
    /// keys for them.
    ///
    /// # Safety
    ///
    /// That of [`launch_heads`](Self::launch_heads).
    pub(super) unsafe fn launch_keyed(
        &self,
        keys: u64,
        key_log: u32,
        values: &Place<'_, T>,
        out: Outputs,
        stream: &Stream,
    ) -> Result<bool, Error> {
        let (n, multiprocessors) = (values.len, self.device().class().multiprocessors());
        let Some(keyed) = &self.keyed else { return Ok(false) };
        let log = size_of::<T>().ilog2();
        let Some(windows) = Windows::of(n, key_log, log, O::SLOT_WORDS, multiprocessors) else {
            return Ok(false);
        };
        let shape = |blocks, threads| LaunchShape::linear(blocks, threads, 0).in_sequence();
        let records = stream.workspace();
        let args = [
            Arg::Pointer(values.address),
            Arg::Pointer(out.output),
            Arg::Pointer(keys),
            Arg::U32(key_log),
            Arg::U64(n),
            Arg::U32(windows.log),
            Arg::Pointer(out.unique),
            Arg::Pointer(out.offsets),
            Arg::U32(out.log),
            Arg::Pointer(out.runs),
            Arg::Pointer(records),
        ];
        // 2 to this number are the bytes of the values of a group.
        let width = windows.log + windows.group + log;
        // Behind the records is the word that says which window is next.
        let slots = records + (u64::from(windows.count) * RECORD + 1) * 8;
        let left = [
            Arg::Pointer(values.address),
            Arg::Pointer(out.output),
            Arg::Pointer(slots),
            Arg::Pointer(records),
            Arg::U32(windows.count),
            Arg::U32(windows.group),
            Arg::Pointer(out.offsets),
            Arg::U32(out.log),
            Arg::U64(n),
            Arg::U32(1 << width.saturating_sub(plan::TILE)),
            Arg::U32(width),
        ];
        // SAFETY: the first kernel reads the keys and the values, and writes no more runs than
        // there are keys. It leaves a record of each window in the workspace, where there is room
        // for them, and the second one takes them. Dropping memory waits for the work that uses it,
        // and a graph retains the memory that it uses.
        unsafe {
            let blocks = windows.count.min(multiprocessors * RESIDENT) + 1;
            stream.launch(keyed.windows.kernel(), shape(blocks, THREADS), &args)?;
            let blocks = windows.warps(multiprocessors).div_ceil(plan::THREADS / 32);
            stream.launch(keyed.left.kernel(), shape(blocks, plan::THREADS), &left)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_with_the_number_of_keys() {
        let of = |n| {
            Windows::of(n, 2, 2, 2, 132).map(|windows| (windows.log, windows.count, windows.group))
        };
        assert_eq!([of(0), of(1)], [None; 2]);
        for (n, count) in [(2, 1), (512, 1), (513, 2)] {
            assert_eq!(of(n), Some((9, count, 0)), "{n} keys");
        }
        let blocks = u64::from(132 * RESIDENT);
        assert_eq!(of(blocks << 9), Some((9, blocks as u32, 0)));
        assert_eq!(of((blocks << 9) + 1), Some((10, blocks as u32 / 2 + 1, 0)));
        assert_eq!(of((blocks << 10) + 1), Some((11, blocks as u32 / 2 + 1, 0)));
        assert_eq!(of(1 << 26), Some((11, 1 << 15, MOST_OF_GROUP)));
    }

    #[test]
    fn the_keys_and_the_values_of_a_window_fit_into_shared_memory() {
        for (key_log, log, window) in [(0, 0, 11), (2, 2, 11), (3, 0, 10), (4, 0, 9), (0, 3, 10)] {
            let windows = Windows::of(1 << 26, key_log, log, 2, 132).unwrap();
            assert_eq!(windows.log, window);
        }
    }

    #[test]
    fn the_workspace_has_room_for_records_and_slots() {
        for multiprocessors in [1, 132, 10_000, 1_000_000] {
            for words in [2, 4, 8, 24] {
                let mut fitted = 0;
                for n in (0..64).map(|log| 1u64 << log) {
                    let windows = Windows::of(n, 4, 2, words, multiprocessors);
                    let Some(windows) = windows else { continue };
                    let slots = 2 * words * u64::from(windows.groups());
                    let used = (u64::from(windows.count) * RECORD + 1 + slots) * 8;
                    // The last word is a status.
                    assert!(used <= WORKSPACE_BYTES - 8, "{n} keys");
                    fitted += 1;
                }
                assert!(fitted > 20, "{multiprocessors} multiprocessors, {words} words");
            }
        }
    }

    #[test]
    fn a_warp_has_at_most_as_many_windows_as_lanes() {
        for (count, group, multiprocessors) in [(1, 0, 132), (16_385, 2, 132), (87_000, 3, 1)] {
            let windows = Windows { log: 9, count, group };
            let warps = windows.warps(multiprocessors);
            let lanes = u64::from(warps) * u64::from(MOST_OF_WARP >> group);
            assert!(lanes >= u64::from(windows.groups()));
            assert!(warps <= windows.groups());
        }
        assert_eq!(Windows { log: 11, count: 16_384, group: 2 }.warps(132), 2048);
    }
}
