//! Results that every device of a group gets: they are the left fold of the partial results of the
//! shards, bit for bit, on each device, in each of several calls.

#[path = "../support/groups.rs"]
mod groups;
#[path = "../support/parts.rs"]
mod parts;
#[path = "../support/seed.rs"]
mod seed;
#[path = "../support/spoil.rs"]
mod spoil;
#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod failures;
mod graphs;
mod lost;
mod results;
mod rows;
mod transport;

use std::{
    cell::RefCell,
    sync::{Mutex, MutexGuard, PoisonError},
};

use groups::{simulated, upload};
use support::{DEVICE_VARIABLE, skip};
use warpfold::{Buffer, Device, Error, Group, Item, Operation, Transport};

/// The GPUs of this machine, if there are several. Until the thread ends, which is the end of a
/// test, the other tests have to wait for them, because calls of different reducers must not
/// overlap.
fn gpus() -> Option<Group> {
    static GPUS: Mutex<()> = Mutex::new(());
    thread_local! {
        static TURN: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    }

    if std::env::var(DEVICE_VARIABLE).is_ok_and(|device| device == "sim") {
        return None;
    }
    let gpus = Device::all().unwrap();
    if gpus.len() < 2 {
        skip::part("all on several GPUs", format!("this machine has {}", gpus.len()));
        return None;
    }
    TURN.with_borrow_mut(|turn| {
        turn.get_or_insert_with(|| GPUS.lock().unwrap_or_else(PoisonError::into_inner));
    });
    Some(Group::of(&gpus[..gpus.len().min(8)]).unwrap())
}

/// The same GPUs, whose results NCCL carries, if there is NCCL.
fn gpus_with_nccl() -> Option<Group> {
    let group = gpus()?.with_transport(Transport::Nccl);
    match group.transport() {
        Ok(_) => Some(group),
        Err(Error::NoNccl { reason }) => {
            skip::part("all with NCCL", reason);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// One output on each device.
fn outputs<T: Item, O: Operation<T>>(group: &Group, _operation: O) -> Vec<Buffer<O::Raw>> {
    group.devices().iter().map(|device| device.alloc(1).unwrap()).collect()
}
