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
/// 2 to this number are the most bytes of the keys of a window. `warpfold_device::keyed::BYTES`.
const BYTES: u32 = 14;
/// 2 to this number are the most keys of a window. `warpfold_device::keyed::MOST`.
const MOST: u32 = 12;
/// 2 to this number are the fewest keys of a window.
const FEWEST: u32 = 9;
/// 64-bit words of a record. `warpfold_device::keyed::records::WORDS`.
const RECORD: u64 = 2;
/// The most windows of a warp that reduces what is left over: one for each lane.
const MOST_OF_WARP: u32 = 32;
/// How many windows there are at least for each multiprocessor, unless they have the fewest keys.
/// If they have the most keys, there are twice as many.
const WINDOWS_OF_MULTIPROCESSOR: u64 = 4;

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
}

/// The most keys for each multiprocessor, of 2 to the power of `key_log` bytes, with values of 2 to
/// the power of `log` bytes. With more of them, longer runs take less time if one kernel finds all
/// runs and another one reduces them. (bench/NOTEBOOK.md, attempts 120 and 122.)
const fn most_of_multiprocessor(key_log: u32, log: u32) -> u64 {
    match (key_log, log) {
        (..=2, 2) => 1 << 18,
        (..=3, ..=2) => 1 << 17,
        _ => 1 << 13,
    }
}

impl Windows {
    /// The windows of `n` keys of 2 to the power of `key_log` bytes, with values of 2 to the power
    /// of `log` bytes, if a slot has `words` words. `None` if there are less than two keys, which
    /// the kernels do not take, or so many that other kernels are faster, or that the workspace has
    /// no room for what is known of their windows.
    fn of(n: u64, key_log: u32, log: u32, words: u64, multiprocessors: u32) -> Option<Self> {
        let multiprocessors = u64::from(multiprocessors);
        if !(2..=most_of_multiprocessor(key_log, log) * multiprocessors).contains(&n) {
            return None;
        }
        let wanted = WINDOWS_OF_MULTIPROCESSOR * multiprocessors;
        let most = if n < (2 * wanted) << MOST { MOST - 1 } else { MOST };
        let log = (n / wanted).max(1).ilog2().clamp(FEWEST, most.min(BYTES - key_log));
        let count = n.div_ceil(1 << log);
        // Each window has a record and two slots. The last word is a status.
        let is_room = count < (WORKSPACE_BYTES / 8).div_ceil(RECORD + 2 * words);
        is_room.then_some(Self { log, count: count as u32 })
    }

    /// How many warps reduce what is left over: as many as there is room for at a time, and less if
    /// they have equally many windows then.
    fn warps(self, multiprocessors: u32) -> u32 {
        let resident = multiprocessors * plan::RESIDENT as u32;
        self.count.div_ceil(self.count.div_ceil(resident).min(MOST_OF_WARP))
    }
}

impl<B, T: Item, O: SegmentOperation<T>> RunReducer<B, T, O> {
    /// As [`launch_heads`](Self::launch_heads), with the kernels for keys, of 2 to the power of
    /// `key_log` bytes. Does nothing and returns `false` if there are none, or too many keys for
    /// them.
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
        let windows = Windows::of(n, key_log, log, O::SLOT_WORDS, multiprocessors);
        let Some(windows) = windows else { return Ok(false) };
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
        // 2 to this number are the bytes of the values of a window.
        let width = windows.log + log;
        let slots = records + u64::from(windows.count) * RECORD * 8;
        let left = [
            Arg::Pointer(values.address),
            Arg::Pointer(out.output),
            Arg::Pointer(slots),
            Arg::Pointer(records),
            Arg::Pointer(out.offsets),
            Arg::U32(out.log),
            Arg::U64(n),
            Arg::U32(1 << width.saturating_sub(plan::TILE)),
            Arg::U32(width),
            Arg::U32(windows.count),
        ];
        // SAFETY: the first kernel reads the keys and the values, and writes no more runs than
        // there are keys. It leaves a record of each window in the workspace, where there is room
        // for them, and the second one takes them. Dropping memory waits for the work that uses it,
        // and a graph retains the memory that it uses.
        unsafe {
            stream.launch(keyed.windows.kernel(), shape(windows.count + 1, THREADS), &args)?;
            let blocks = windows.warps(multiprocessors).div_ceil(plan::THREADS / 32);
            stream.launch(keyed.left.kernel(), shape(blocks, plan::THREADS), &left)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most keys of 2 to the power of `key_log` bytes that a device of 132 multiprocessors
    /// takes in windows, with values of 4 bytes.
    fn limit(key_log: u32) -> u64 {
        most_of_multiprocessor(key_log, 2) * 132
    }

    #[test]
    fn windows_grow_with_the_number_of_keys() {
        let of = |n| Windows::of(n, 2, 2, 2, 132).map(|windows| (windows.log, windows.count));
        assert_eq!([of(0), of(1)], [None; 2]);
        for (n, count) in [(2, 1), (512, 1), (513, 2)] {
            assert_eq!(of(n), Some((9, count)), "{n} keys");
        }
        let wanted = WINDOWS_OF_MULTIPROCESSOR * 132;
        assert_eq!(of((wanted << 10) - 1), Some((9, 2 * wanted as u32)));
        assert_eq!(of(wanted << 10), Some((10, wanted as u32)));
        assert_eq!(of(wanted << 11), Some((11, wanted as u32)));
        assert_eq!(of((wanted << 13) - 1), Some((11, 4 * wanted as u32)));
        assert_eq!(of(wanted << 13), Some((12, 2 * wanted as u32)));
        assert_eq!(of(limit(2)), Some((12, 16 * wanted as u32)));
        assert_eq!(of(limit(2) + 1), None);
    }

    #[test]
    fn long_keys_and_values_have_other_kernels_sooner() {
        let most = |key_log, log| {
            let fits = |n: &u64| Windows::of(*n, key_log, log, 2, 1).is_some();
            (1..30).map(|log| 1 << log).filter(fits).max()
        };
        for (key_log, log, expected) in [
            (0, 2, 18),
            (2, 2, 18),
            (3, 2, 17),
            (4, 2, 13),
            (2, 1, 17),
            (3, 1, 17),
            (4, 1, 13),
            (0, 3, 13),
        ] {
            assert_eq!(most(key_log, log), Some(1 << expected), "2^{key_log} and 2^{log} bytes");
        }
    }

    #[test]
    fn the_keys_of_a_window_fit_into_shared_memory() {
        for (key_log, log) in [(0, 12), (1, 12), (2, 12), (3, 11), (4, 10)] {
            let windows = Windows::of(limit(key_log), key_log, 2, 2, 132).unwrap();
            assert_eq!(windows.log, log);
            assert!(windows.log + key_log <= BYTES);
        }
    }

    #[test]
    fn the_workspace_has_room_for_records_and_slots() {
        for multiprocessors in [1, 132, 10_000, 1_000_000] {
            for words in [2, 4, 8, 24] {
                for key_log in [2, 3, 4] {
                    let mut fitted = 0;
                    for n in (0..50).map(|log| 1u64 << log) {
                        let windows = Windows::of(n, key_log, 2, words, multiprocessors);
                        let Some(windows) = windows else { continue };
                        let used = u64::from(windows.count) * (RECORD + 2 * words) * 8;
                        // The last word is a status.
                        assert!(used <= WORKSPACE_BYTES - 8, "{n} keys");
                        fitted += 1;
                    }
                    assert!(fitted > 12, "{multiprocessors} multiprocessors, {words} words");
                }
            }
        }
    }

    #[test]
    fn a_warp_has_at_most_as_many_windows_as_lanes() {
        for (count, multiprocessors) in [(1, 132), (16_385, 132), (87_000, 1)] {
            let warps = Windows { log: 9, count }.warps(multiprocessors);
            assert!(u64::from(warps) * u64::from(MOST_OF_WARP) >= u64::from(count));
            assert!(warps <= count);
        }
        assert_eq!(Windows { log: 12, count: 16_384 }.warps(132), 16_384u32.div_ceil(6));
    }
}
