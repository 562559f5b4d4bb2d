//! Memory that the kernels of all ranks use.
//!
//! Each rank allocates some, and opens that of the others. Memory that another process has open
//! must not be freed. So a rank that needs its memory no longer closes that of the others, and
//! tells them so in a later step that all ranks take. When all have closed what belongs together,
//! each of them frees its own part.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    device::{
        Buffer, Device, DeviceError,
        ipc::{HANDLE_BYTES, Opened},
    },
    rendezvous::Rendezvous,
};

use super::{
    RankError,
    message::{Failed, outcomes},
};

/// The parts of all ranks of some memory, which the kernels of this rank's device can use.
#[derive(Debug)]
pub(super) struct Links {
    device: Device,
    /// All ranks have the same number for what belongs together.
    number: u64,
    /// `None` only while this is dropped.
    own: Option<Own>,
    /// The parts of other ranks. There is nothing at the place of this rank.
    opened: Vec<Option<Opened>>,
    graves: Arc<Graves>,
}

/// A part of this rank. It is leaked unless it is freed by hand, because another process may have
/// it open.
#[derive(Debug)]
struct Own(Option<Buffer<u8>>);

impl Own {
    fn address(&self) -> u64 {
        self.0.as_ref().map_or(0, Buffer::address)
    }

    /// Frees the memory, which no other process has open.
    fn free(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        mem::forget(self.0.take());
    }
}

/// Parts of this rank that it needs no longer, by their numbers. It has closed the parts of other
/// ranks that belong to them.
#[derive(Debug, Default)]
pub(super) struct Graves(Mutex<Vec<(u64, Own)>>);

impl Graves {
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Own)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers, as the other ranks get to know them.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.lock().iter().flat_map(|(number, _)| number.to_le_bytes()).collect()
    }

    /// Frees what all ranks have closed. Each of `all` is what [`to_bytes`](Self::to_bytes) of a
    /// rank has made.
    pub(super) fn free(&self, all: &[&[u8]]) {
        let mut kept = Vec::new();
        for (number, own) in self.lock().drain(..) {
            let bytes = number.to_le_bytes();
            let mut closed = all.iter().map(|numbers| numbers.chunks_exact(8));
            if closed.all(|mut numbers| numbers.any(|other| other == bytes)) {
                own.free();
            } else {
                kept.push((number, own));
            }
        }
        self.lock().append(&mut kept);
    }
}

impl Links {
    /// Allocates at least `bytes` on each rank, all of them 0, and opens them to all. All ranks
    /// call this, with the same `number`, which no other memory has.
    pub(super) fn share<R: Rendezvous>(
        device: &Device,
        meeting: &mut R,
        graves: &Arc<Graves>,
        number: u64,
        bytes: u64,
    ) -> Result<Result<Self, Failed>, RankError> {
        let exported = device.alloc_exported(bytes as usize);
        let exported = exported.map(|(own, handle)| (Own(Some(own)), handle));
        let told = exported.as_ref().map(|(_, handle)| &handle[..]);
        let handles = outcomes(meeting, "share memory", told)?;
        let (own, handles) = match (exported, handles) {
            (Ok((own, _)), Ok(handles)) => (own, handles),
            (exported, handles) => {
                // Nobody has a handle yet that could be opened.
                let error = exported.map(|(own, _)| own.free()).err();
                return Ok(Err(Failed::on_a_rank(handles, error)));
            }
        };
        let opened = open(device, meeting.rank(), &handles);
        let outcome = outcomes(meeting, "open memory", opened.as_ref().map(|_| &[][..]))?;
        match (opened, outcome) {
            (Ok(opened), Ok(_)) => {
                let (device, graves) = (device.clone(), Arc::clone(graves));
                Ok(Ok(Self { device, number, own: Some(own), opened, graves }))
            }
            (opened, outcome) => {
                let error = opened.map(drop).err();
                // The others may free their memory when this rank has closed it.
                if outcomes::<_, DeviceError>(meeting, "close memory", Ok(&[]))?.is_ok() {
                    own.free();
                }
                Ok(Err(Failed::on_a_rank(outcome, error)))
            }
        }
    }

    /// The address of the part of a rank.
    pub(super) fn address(&self, rank: usize) -> u64 {
        match &self.opened[rank] {
            Some(opened) => opened.address(),
            None => self.own.as_ref().map_or(0, Own::address),
        }
    }
}

/// Opens the memory of all other ranks.
fn open(
    device: &Device,
    own: u32,
    handles: &[Vec<u8>],
) -> Result<Vec<Option<Opened>>, DeviceError> {
    let handles = (0..).zip(handles);
    let opened = handles.map(|(rank, handle)| match <[u8; HANDLE_BYTES]>::try_from(&handle[..]) {
        _ if rank == own => Ok(None),
        Ok(handle) => device.open_exported(handle).map(Some),
        Err(_) => Err(DeviceError::OtherDevice("handle")),
    });
    opened.collect()
}

impl Drop for Links {
    fn drop(&mut self) {
        // The kernels of this rank write into the memory of the others, which is closed now.
        self.device.finish_work();
        self.opened.clear();
        if let Some(own) = self.own.take() {
            self.graves.lock().push((self.number, own));
        }
    }
}

#[cfg(all(test, feature = "simulator", feature = "testing"))]
mod tests {
    use std::{net::TcpListener, thread, time::Duration};

    use crate::{TcpRendezvous, testing::Faults};

    use super::*;

    /// What two ranks, each with one of these devices, get when they share memory, and what they
    /// tell each other about memory that they have closed.
    fn share(devices: [&Device; 2]) -> [Result<Links, String>; 2] {
        let timeout = Duration::from_secs(30);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let share = |device: &Device, mut meeting: TcpRendezvous| {
            let graves = Arc::default();
            let links = Links::share(device, &mut meeting, &graves, 5, 1000).unwrap();
            links.map_err(|failed| RankError::from(failed).to_string())
        };
        thread::scope(|scope| {
            let other = scope
                .spawn(|| share(devices[1], TcpRendezvous::new(address, 1, 2, timeout).unwrap()));
            let own = share(devices[0], TcpRendezvous::listening(listener, 2, timeout).unwrap());
            [own, other.join().unwrap()]
        })
    }

    #[test]
    fn ranks_share_memory_or_all_of_them_learn_which_one_cannot() {
        let (mut shared, mut failed) = (0, 0);
        // The device of rank 1 is lost at one of its calls.
        for k in 0..12 {
            let healthy = Device::simulator();
            let ill = Device::simulator().with_faults(Faults::none().lost(k)).unwrap();
            match share([&healthy, &ill]) {
                [Ok(first), Ok(second)] => {
                    shared += 1;
                    // Each knows the address of both.
                    assert_eq!(first.address(0), second.address(0));
                    assert_eq!(first.address(1), second.address(1));
                    assert_eq!(healthy.live_allocations(), 1);
                    let graves = [&first, &second].map(|links| Arc::clone(&links.graves));
                    drop((first, second));
                    let closed = graves.each_ref().map(|graves| graves.to_bytes());
                    let closed: Vec<_> = closed.iter().map(Vec::as_slice).collect();
                    for graves in &graves {
                        graves.free(&closed);
                    }
                }
                [Err(first), Err(second)] => {
                    failed += 1;
                    assert!(first.starts_with("rank 1 has failed: cannot"), "{first}");
                    assert!(second.starts_with("cannot"), "{second}");
                }
                different => panic!("call {k}: {different:?}"),
            }
            assert_eq!([&healthy, &ill].map(Device::live_allocations), [0, 0], "call {k}");
        }
        assert!(shared > 0 && failed > 3, "{shared} have shared memory, {failed} have not");
        // There is no memory on rank 0.
        let ill = Device::simulator().with_faults(Faults::none().alloc(0)).unwrap();
        let [first, second] = share([&ill, &Device::simulator()]).map(Result::unwrap_err);
        assert!(first.starts_with("cannot allocate"), "{first}");
        assert!(second.starts_with("rank 0 has failed: cannot allocate"), "{second}");
    }

    #[test]
    fn what_all_ranks_have_closed_is_freed_and_the_rest_is_leaked() {
        let device = Device::simulator();
        let graves = Graves::default();
        for number in [3, 1, 2] {
            let own = Own(Some(device.alloc(8).unwrap()));
            assert_ne!(own.address(), 0);
            graves.lock().push((number, own));
        }
        assert_eq!(device.live_allocations(), 3);
        let told = graves.to_bytes();
        let bytes = |numbers: &[u64]| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
        };
        assert_eq!(told, bytes(&[3, 1, 2]));
        let free = |others: &[&[u64]]| {
            let others = others.iter().map(|numbers| bytes(numbers));
            let all: Vec<_> = [graves.to_bytes()].into_iter().chain(others).collect();
            graves.free(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
            (graves.to_bytes(), device.live_allocations())
        };
        // Another rank has closed nothing, or something else.
        assert_eq!(free(&[&[1, 2, 3], &[]]), (bytes(&[3, 1, 2]), 3));
        assert_eq!(free(&[&[9, 1], &[1, 7, 2]]), (bytes(&[3, 2]), 2));
        assert_eq!(free(&[&[2, 3], &[3]]), (bytes(&[2]), 1));
        drop(graves);
        assert_eq!(device.live_allocations(), 1, "another process may have the memory open");
    }
}
