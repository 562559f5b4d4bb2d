//! Reduces arrays piece by piece, on one or several devices. While the devices reduce, the next
//! pieces are read.

use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, ScopedJoinHandle},
};

use anyhow::anyhow;
use num_bigint::BigInt;
use warpfold::{Device, Error, reducer::Item};
use warpfold_tools::terminal::{Failure, Progress, failed, interrupted, refused};

use crate::{
    answer::{Answer, Value},
    done::{Done, failure, on},
    elements::Elements,
    reference::{Facts, Number},
    task::{Bench, Operands, Task},
};

/// One operand: elements that were read already, and the rest.
pub(crate) struct Operand<T> {
    pub(crate) head: Vec<T>,
    pub(crate) rest: Elements<T>,
}

impl<T: Item> Operand<T> {
    /// The next `len` elements, or those that are left.
    fn next(&mut self, len: usize) -> Result<Vec<T>, Failure> {
        let rest = self.head.split_off(len.min(self.head.len()));
        let mut piece = std::mem::replace(&mut self.head, rest);
        let before = piece.len();
        if before < len {
            piece.resize(len, T::zeroed());
            let read = self.rest.read(&mut piece[before..])?;
            piece.truncate(before + read);
        }
        Ok(piece)
    }
}

/// A piece of the operands.
struct Piece<T> {
    first: Vec<T>,
    second: Option<Vec<T>>,
}

/// Reduces the operands in pieces of `len` elements, which the devices take in turns. The results
/// of the pieces are combined in order, so the bits of the result depend on `len`, and not on the
/// number of devices of one class.
pub(crate) fn reduce<T: Item + Number>(
    task: &dyn Task<T>,
    devices: &[Device],
    (mut first, mut second): (Operand<T>, Option<Operand<T>>),
    len: usize,
    mut facts: Option<&mut Facts>,
    progress: &Progress,
) -> Result<Done, Failure> {
    let mut depth = 0;
    for device in devices {
        depth = depth.max(task.depth(device, len as u64).map_err(failure)?);
    }
    let mut combined = Combined::new(task);
    let mut pieces = 0;
    thread::scope(|scope| {
        let mut workers: Vec<_> = devices
            .iter()
            .map(|device| {
                let (to_worker, pieces) = sync_channel(1);
                let (results, from_worker) = sync_channel(2);
                let thread = scope.spawn(move || work(task, device, len, &pieces, &results));
                Worker { pieces: Some(to_worker), results: from_worker, thread }
            })
            .collect();
        let on = on(&devices[0]);
        let mut lengths = std::collections::VecDeque::new();
        loop {
            let piece = Piece {
                first: first.next(len)?,
                second: second.as_mut().map(|second| second.next(len)).transpose()?,
            };
            let n = piece.first.len();
            if let Some(second) = piece.second.as_ref().filter(|second| second.len() != n) {
                // One of the operands has ended.
                let before = pieces as u64 * len as u64;
                let (first, second) = (before + n as u64, before + second.len() as u64);
                return Err(refused(anyhow!(
                    "after {} elements one input ends and the other does not: both must have the same number",
                    first.min(second)
                )));
            }
            if let Some(facts) = &mut facts {
                facts.feed(&piece.first, piece.second.as_deref());
            }
            if n > 0 {
                let worker = &mut workers[pieces % devices.len()];
                let sent = worker.pieces.as_ref().is_some_and(|to| to.send(piece).is_ok());
                lengths.push_back(n as u64);
                pieces += 1;
                if !sent {
                    break;
                }
                progress
                    .say(format!("{on}: {} elements", (pieces as u64 - 1) * len as u64 + n as u64));
            }
            // At most two pieces of each device are under way.
            while lengths.len() > 2 * devices.len() - 1 || (n < len && !lengths.is_empty()) {
                let at = (pieces - lengths.len()) % devices.len();
                let Ok(raw) = workers[at].results.recv() else { break };
                combined.add(&raw.map_err(failure)?, lengths.pop_front().unwrap_or(0))?;
            }
            if n < len {
                break;
            }
            if interrupted() {
                return Err(Failure::Interrupted(anyhow!(
                    "{} elements were reduced, and more were to come",
                    combined.n
                )));
            }
        }
        for worker in &mut workers {
            worker.pieces = None;
        }
        workers.into_iter().try_for_each(|worker| {
            worker.thread.join().map_err(|_| failed(anyhow!("a thread of a device panicked")))
        })
    })?;
    let n = combined.n;
    Ok(Done {
        answer: combined.finish()?,
        n,
        depth: depth + pieces as u64,
        times: Vec::new(),
        pieces: pieces as u64,
    })
}

struct Worker<'scope, T> {
    pieces: Option<SyncSender<Piece<T>>>,
    results: Receiver<Result<Vec<u8>, Error>>,
    thread: ScopedJoinHandle<'scope, ()>,
}

/// Reduces pieces of at most `len` elements on a device until there are no more.
fn work<T: Item>(
    task: &dyn Task<T>,
    device: &Device,
    len: usize,
    pieces: &Receiver<Piece<T>>,
    results: &SyncSender<Result<Vec<u8>, Error>>,
) {
    let mut bench = None;
    for piece in pieces {
        if results.send(reduce_piece(task, device, len, &mut bench, &piece)).is_err() {
            break;
        }
    }
}

fn reduce_piece<T: Item>(
    task: &dyn Task<T>,
    device: &Device,
    len: usize,
    bench: &mut Option<Box<dyn Bench<T>>>,
    piece: &Piece<T>,
) -> Result<Vec<u8>, Error> {
    let bench = match bench {
        Some(bench) => bench,
        None => bench.insert(task.bench(device, len)?),
    };
    bench.load(Operands { first: &piece.first, second: piece.second.as_deref() })?;
    bench.launch()?;
    bench.raw()
}

/// The combined results of the pieces so far. The kernels of some operations are exact up to
/// [`Task::most`] elements; beyond, there are several such results, which are integers and are
/// added.
struct Combined<'a, T: Item> {
    task: &'a dyn Task<T>,
    raw: Option<Vec<u8>>,
    /// The number of elements in `raw`.
    raw_n: u64,
    /// The sum of the results that are complete.
    closed: Option<BigInt>,
    n: u64,
}

impl<'a, T: Item> Combined<'a, T> {
    fn new(task: &'a dyn Task<T>) -> Self {
        Self { task, raw: None, raw_n: 0, closed: None, n: 0 }
    }

    fn add(&mut self, raw: &[u8], n: u64) -> Result<(), Failure> {
        // Lists of elements are combined here, and have no limit.
        let most = if self.task.operation().is_top() { u64::MAX } else { self.task.most() };
        if self.raw_n > most - n {
            if let Answer::One(Value::Int(sum)) = self.open()? {
                self.closed = Some(self.closed.take().unwrap_or_default() + sum);
            }
            (self.raw, self.raw_n) = (None, 0);
        }
        self.raw = Some(self.task.combine(self.raw.as_deref(), raw, self.n));
        (self.raw_n, self.n) = (self.raw_n + n, self.n + n);
        Ok(())
    }

    /// The answer for the elements in `raw`.
    fn open(&self) -> Result<Answer, Failure> {
        self.task.answer(self.raw.as_deref(), self.raw_n).map_err(failure)
    }

    fn finish(self) -> Result<Answer, Failure> {
        let answer = self.open()?;
        Ok(match (self.closed, answer) {
            (Some(closed), Answer::One(Value::Int(last))) => Answer::One(Value::Int(closed + last)),
            (_, answer) => answer,
        })
    }
}
