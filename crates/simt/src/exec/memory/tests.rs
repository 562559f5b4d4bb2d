//! Tests that are small enough for Miri: `cargo +nightly miri test -p warpfold-simt --lib memory`.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::{
    FIRST_ADDRESS, GUARD, Memory, MemoryError, MergedStores, REMEMBERED_FREED, load, update,
};
use crate::fault::{Access, FaultKind, Nearest, Space};

fn words<const N: usize>(values: [u64; N]) -> [AtomicU64; N] {
    values.map(AtomicU64::new)
}

fn values(words: &[AtomicU64]) -> Vec<u64> {
    words.iter().map(|word| word.load(Relaxed)).collect()
}

#[test]
fn host_copies_agree_with_a_plain_array_at_every_offset_and_length() {
    const SIZE: usize = 19;
    for offset in 0..SIZE {
        for length in 0..=SIZE - offset {
            let memory = Memory::new(64);
            let base = memory.alloc(SIZE as u64).unwrap();
            let mut expected: Vec<u8> = (100..100 + SIZE as u8).collect();
            memory.write(base, &expected).unwrap();
            let patch: Vec<u8> = (0..length as u8).collect();
            memory.write(base + offset as u64, &patch).unwrap();
            expected[offset..offset + length].copy_from_slice(&patch);
            let mut all = [0; SIZE];
            memory.read(base, &mut all).unwrap();
            assert_eq!(all[..], expected, "after {length} bytes at {offset}");
            let mut part = vec![0; length];
            memory.read(base + offset as u64, &mut part).unwrap();
            assert_eq!(part, patch);
        }
    }
}

#[test]
fn host_copies_outside_an_allocation_are_refused_and_change_nothing() {
    let memory = Memory::new(64);
    let base = memory.alloc(12).unwrap();
    for (address, length) in
        [(base, 13), (base + 12, 1), (base - 1, 1), (base + 11, 2), (u64::MAX, 1), (0, 1)]
    {
        let refused = MemoryError::OutOfBounds { address, bytes: length as u64 };
        assert_eq!(memory.write(address, &vec![7; length]), Err(refused.clone()));
        assert_eq!(memory.read(address, &mut vec![0; length]), Err(refused));
    }
    let mut bytes = [1; 12];
    memory.read(base, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 12]);
}

#[test]
fn capacity_is_counted_in_bytes_and_comes_back() {
    let memory = Memory::new(100);
    let first = memory.alloc(60).unwrap();
    assert_eq!((first % 256, memory.used(), memory.capacity()), (0, 60, 100));
    assert_eq!(
        memory.alloc(41),
        Err(MemoryError::OutOfMemory { asked: 41, free: 40, capacity: 100 })
    );
    assert_eq!(memory.alloc(0), Err(MemoryError::ZeroBytes));
    memory.free(first).unwrap();
    assert_eq!(memory.free(first), Err(MemoryError::NotAnAllocation { address: first }));
    let second = memory.alloc(100).unwrap();
    assert!(second >= first + 60 + GUARD, "a freed range is not handed out again");
    assert_eq!(memory.used(), 100);
}

#[test]
fn absurd_sizes_are_refused() {
    let memory = Memory::new(u64::MAX);
    for asked in [u64::MAX, 1 << 63, 1 << 47] {
        assert!(matches!(
            memory.alloc(asked),
            Err(MemoryError::OutOfMemory { .. } | MemoryError::HostOutOfMemory { .. })
        ));
    }
    assert_eq!(memory.used(), 0);
}

#[test]
fn loads_extract_every_width_at_every_aligned_offset() {
    let bytes: Vec<u8> = (1..=16).map(|i| i * 15).collect();
    let words = words([0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())));
    for width in [1usize, 2, 4, 8] {
        for offset in (0..16).step_by(width) {
            let expected =
                (0..width).fold(0, |value, i| value | u64::from(bytes[offset + i]) << (8 * i));
            assert_eq!(load(&words, offset, width as u32), expected, "{width} bytes at {offset}");
        }
    }
}

#[test]
fn updates_change_their_bytes_alone() {
    for width in [1u32, 2, 4, 8] {
        for offset in (0..16).step_by(width as usize) {
            let words = words([0x1111_1111_1111_1111; 2]);
            // The closure also sets bits above the width of the access. `update` must cut them off.
            let old = update(&words, offset, width, |old| !old | !(u64::MAX >> (64 - 8 * width)));
            let ones = 0x1111_1111_1111_1111 >> (64 - 8 * width);
            assert_eq!(old, ones);
            let mut expected = [0x11u8; 16];
            expected[offset..offset + width as usize].fill(0xee);
            let bytes: Vec<u8> = values(&words).into_iter().flat_map(u64::to_le_bytes).collect();
            assert_eq!(bytes, expected, "{width} bytes at {offset}");
        }
    }
}

#[test]
fn updates_of_racing_threads_all_count() {
    const EACH: u64 = if cfg!(miri) { 20 } else { 10_000 };
    let words = words([0; 2]);
    std::thread::scope(|scope| {
        for half in [0, 4, 0, 4] {
            let words = &words;
            scope.spawn(move || {
                for _ in 0..EACH {
                    update(words, half, 4, |old| old + 1);
                    // This load and this store race with the other threads, which is allowed at any
                    // time.
                    words[1].store(load(words, half, 4), Relaxed);
                }
            });
        }
    });
    assert_eq!(words[0].load(Relaxed), ((2 * EACH) << 32) | (2 * EACH));
}

#[test]
fn merged_stores_agree_with_single_ones() {
    // Each store is a byte offset, a width and a value. The cases are whole words, parts of words,
    // overlaps, and a step back.
    let cases: [&[(usize, u32, u64)]; 5] = [
        &[(0, 4, 0xaaaa_aaaa), (4, 4, 0xbbbb_bbbb), (8, 4, 0xcccc_cccc)],
        &[(0, 1, 1), (1, 1, 2), (1, 1, 3), (9, 1, 4)],
        &[(8, 2, 0xffff_0001), (0, 8, u64::MAX), (10, 2, 2)],
        &[(4, 4, 1), (12, 4, 2), (0, 4, 3), (4, 4, 4)],
        &[(0, 8, 1), (0, 1, 0xff), (0, 8, 2)],
    ];
    for stores in cases {
        let (merged, single) =
            (words([0x7777_7777_7777_7777; 2]), words([0x7777_7777_7777_7777; 2]));
        let mut pending = MergedStores::default();
        for &(offset, width, value) in stores {
            pending.push(&merged, offset, value, width);
            update(&single, offset, width, |_| value);
        }
        pending.flush(&merged);
        assert_eq!(values(&merged), values(&single), "{stores:x?}");
    }
}

#[test]
fn a_view_finds_allocations_whatever_the_hint() {
    let memory = Memory::new(1 << 12);
    let bases = [8, 256, 100].map(|bytes| memory.alloc(bytes).unwrap());
    let view = memory.view();
    for hint in 0..4 {
        for (base, bytes) in bases.into_iter().zip([8, 256, 100]) {
            let find = |address, length| {
                view.find(address, length, &mut hint.clone()).map(|found| found.base)
            };
            assert_eq!(find(base, bytes), Some(base));
            assert_eq!(find(base + bytes - 1, 1), Some(base));
            assert_eq!(find(base, bytes + 1), None);
            assert_eq!(find(base + bytes, 1), None);
            assert_eq!(find(base - 1, 1), None);
        }
        assert!(view.find(u64::MAX, 1, &mut hint.clone()).is_none());
        assert!(view.find(0, 1, &mut hint.clone()).is_none());
    }
}

#[test]
fn a_view_keeps_what_is_freed_beside_it() {
    let memory = Memory::new(64);
    let base = memory.alloc(8).unwrap();
    memory.write(base, &[9; 8]).unwrap();
    let view = memory.view();
    memory.free(base).unwrap();
    let found = view.find(base, 8, &mut 0).unwrap();
    assert_eq!(load(&found.words, 0, 1), 9);
    assert!(memory.view().find(base, 8, &mut 0).is_none());
}

#[test]
fn misses_are_explained() {
    let memory = Memory::new(1 << 12);
    let (a, b, gone) =
        (memory.alloc(16).unwrap(), memory.alloc(8).unwrap(), memory.alloc(4).unwrap());
    memory.free(gone).unwrap();
    let view = memory.view();
    let explain = |address| view.explain(Access::Read, address, 4);
    let outside = |address, base, bytes, missed_by, past_end| FaultKind::OutOfBounds {
        space: Space::Global,
        access: Access::Read,
        bytes: 4,
        address,
        nearest: Some(Nearest { base, bytes, missed_by, past_end }),
    };
    assert_eq!(explain(4095), FaultKind::Null { access: Access::Read, bytes: 4, address: 4095 });
    assert_eq!(
        explain(gone + 3),
        FaultKind::Freed {
            access: Access::Read,
            bytes: 4,
            address: gone + 3,
            base: gone,
            length: 4
        }
    );
    assert_eq!(explain(a + 14), outside(a + 14, a, 16, 2, true));
    assert_eq!(explain(a - 4), outside(a - 4, a, 16, 4, false));
    assert_eq!(explain(b - 4), outside(b - 4, b, 8, 4, false));
    assert_eq!(explain(u64::MAX), outside(u64::MAX, b, 8, u64::MAX - b - 8, true));
    let empty = Memory::new(1).view().explain(Access::Write, FIRST_ADDRESS, 1);
    assert!(matches!(empty, FaultKind::OutOfBounds { nearest: None, .. }));
}

#[test]
fn freed_ranges_are_forgotten_oldest_first() {
    let memory = Memory::new(1 << 20);
    let freed = |count: usize| {
        (0..count).fold(0, |_, _| {
            let address = memory.alloc(1).unwrap();
            memory.free(address).unwrap();
            address
        })
    };
    let first = freed(1);
    let last = freed(REMEMBERED_FREED);
    let explain = |address| memory.view().explain(Access::Read, address, 1);
    assert!(matches!(explain(last), FaultKind::Freed { .. }));
    assert!(!matches!(explain(first), FaultKind::Freed { .. }));
}

#[test]
fn variables_are_placed_once_and_a_failure_is_not_kept() {
    let memory = Memory::new(16);
    let fail = memory.module_variables(7, || Err(MemoryError::ZeroBytes));
    assert_eq!(fail, Err(MemoryError::ZeroBytes));
    let placed = memory.module_variables(7, || Ok(vec![1, 2])).unwrap();
    let again = memory.module_variables(7, || panic!("they have their place")).unwrap();
    assert_eq!(placed, again);
}
