//! The life of an asynchronous copy: how it begins, when it ends, and which bytes it moves.

use super::mbarrier::{self, Change};
use crate::exec::copies::{Copy, End, SharedCell};
use crate::exec::env::Env;
use crate::exec::memory::{self, MergedStores};
use crate::exec::observer::{At, Observer};
use crate::fault::FaultKind;

/// How many bytes are in flight in copies that will signal this mbarrier.
pub(crate) fn in_flight(env: &Env<'_>, cell: SharedCell) -> i64 {
    let told = env.cluster.copies.told.iter().filter(|copy| copy.mbarrier == Some(cell));
    told.map(|copy| i64::from(copy.bytes)).sum()
}

/// Ends the copies that signal this mbarrier.
pub(crate) fn deliver<O: Observer>(
    env: &mut Env<'_>,
    observer: &mut O,
    cell: SharedCell,
) -> Result<(), FaultKind> {
    let told = std::mem::take(&mut env.cluster.copies.told);
    let (done, others) = told.into_iter().partition(|copy| copy.mbarrier == Some(cell));
    env.cluster.copies.told = others;
    let done: Vec<Copy> = done;
    for copy in done {
        finish(env, observer, &copy);
        mbarrier::change(
            env,
            observer,
            cell,
            Change { complete: copy.bytes, ..Change::default() },
        )?;
    }
    Ok(())
}

/// Moves the bytes of a copy.
fn finish<O: Observer>(env: &mut Env<'_>, observer: &mut O, copy: &Copy) {
    let data = match &copy.data {
        Some(data) => data.clone(),
        None => read(env, copy),
    };
    match copy.to {
        End::Shared(cell) => {
            env.shared_of_mut(Some(cell.rank))[cell.offset as usize..][..data.len()]
                .copy_from_slice(&data);
        }
        End::Global(address) => {
            // The allocation was found when the copy began, and it still exists, because a launch
            // keeps every allocation that it can see.
            let mut hint = 0;
            if let Some(found) = env.job.memory.find(address, data.len() as u64, &mut hint) {
                let offset = (address - found.base) as usize;
                let mut stores = MergedStores::default();
                for (i, word) in data.as_chunks::<4>().0.iter().enumerate() {
                    stores.push(
                        &found.words,
                        offset + i * 4,
                        u64::from(u32::from_le_bytes(*word)),
                        4,
                    );
                }
                stores.flush(&found.words);
            }
        }
    }
    env.acted = true;
    observer.copy_end(env, copy);
}

/// The bytes at the source of a copy, followed by zeros up to the copy's size.
fn read(env: &Env<'_>, copy: &Copy) -> Vec<u8> {
    let mut data = match copy.from {
        End::Shared(cell) => {
            env.shared_of(Some(cell.rank))[cell.offset as usize..][..copy.read as usize].to_vec()
        }
        End::Global(address) => {
            let mut hint = 0;
            let found = env.job.memory.find(address, u64::from(copy.read).max(1), &mut hint);
            let byte = |i: u32| {
                found.map_or(0, |found| {
                    memory::load(&found.words, (address - found.base) as usize + i as usize, 1)
                        as u8
                })
            };
            (0..copy.read).map(byte).collect()
        }
    };
    data.resize(copy.bytes as usize, 0);
    data
}

pub(super) fn begin<O: Observer>(env: &mut Env<'_>, observer: &mut O, at: At, copy: Copy) {
    if copy.bytes == 0 {
        return;
    }
    observer.copy_begin(env, at, &copy);
    let copies = &mut env.cluster.copies;
    if copy.mbarrier.is_some() {
        copies.told.push(copy);
        // A waiting thread is woken, because its next look at the mbarrier may end this copy.
        env.cluster.events += 1;
    } else {
        copies.groups.entry((copy.rank, copy.thread, copy.bulk)).or_default().open.push(copy);
    }
}

/// Ends all groups of a thread except the last `keep`. If `keep` is `None`, ends everything that
/// the thread has begun. With `only_read`, only the sources are read, and the copies stay in
/// flight.
pub(super) fn wait_groups<O: Observer>(
    env: &mut Env<'_>,
    observer: &mut O,
    (thread, bulk): (u32, bool),
    keep: Option<u32>,
    only_read: bool,
) {
    let key = (env.rank, thread, bulk);
    let Some(mut groups) = env.cluster.copies.groups.remove(&key) else { return };
    if keep.is_none() {
        groups.committed.push_back(std::mem::take(&mut groups.open));
    }
    let over = groups.committed.len().saturating_sub(keep.unwrap_or(0) as usize);
    if only_read {
        for copy in
            groups.committed.iter_mut().take(over).flatten().filter(|copy| copy.data.is_none())
        {
            copy.data = Some(read(env, copy));
            observer.copy_read(env, copy);
        }
    } else {
        for copy in groups.committed.drain(..over).flatten() {
            finish(env, observer, &copy);
        }
    }
    if groups.all().next().is_some() {
        env.cluster.copies.groups.insert(key, groups);
    }
}

/// Ends the copies of a block that has ended. None of them needs the block's shared memory any
/// more.
pub(crate) fn finish_block<O: Observer>(env: &mut Env<'_>, observer: &mut O) {
    let rank = env.rank;
    let threads: Vec<_> = env
        .cluster
        .copies
        .groups
        .range((rank, 0, false)..(rank + 1, 0, false))
        .map(|(key, _)| *key)
        .collect();
    for (_, thread, bulk) in threads {
        wait_groups(env, observer, (thread, bulk), None, false);
    }
}
