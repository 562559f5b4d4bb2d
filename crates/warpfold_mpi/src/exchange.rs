//! Messages between ranks, with a limit on the time that they are waited for.

use std::{
    mem,
    thread::{sleep, yield_now},
    time::{Duration, Instant},
};

use mpi::{
    request::{Request, StaticScope},
    topology::SimpleCommunicator,
    traits::{Communicator as _, Destination as _, MatchedReceiveVec as _, Source as _},
};

/// The communicator is our own, so that no other message has this tag.
const TAG: i32 = 1;

/// How often a rank looks for a message before it sleeps between two looks. Another program that
/// waits for the core gets it after each look, because it may be the rank that is waited for.
const EAGER_LOOKS: u32 = 1000;

/// The time between two looks after that. It is short beside a message between machines.
const PAUSE: Duration = Duration::from_micros(20);

/// Calls `look` until it returns true or the deadline has passed, and returns the last answer.
pub(crate) fn wait_until(deadline: Instant, mut look: impl FnMut() -> bool) -> bool {
    let mut looks = 0;
    loop {
        if look() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        if looks < EAGER_LOOKS {
            looks += 1;
            yield_now();
        } else {
            sleep(PAUSE);
        }
    }
}

/// The message of `rank`, if it is there.
pub(crate) fn receive(ranks: &SimpleCommunicator, rank: u32) -> Option<Vec<u8>> {
    let sender = ranks.process_at_rank(rank as i32);
    let seen = sender.immediate_matched_probe_with_tag(TAG)?;
    Some(seen.matched_receive_vec().0)
}

/// The message of any rank, with the rank, if one is there.
pub(crate) fn receive_any(ranks: &SimpleCommunicator) -> Option<(u32, Vec<u8>)> {
    let seen = ranks.any_process().immediate_matched_probe_with_tag(TAG)?;
    let (bytes, status) = seen.matched_receive_vec();
    Some((status.source_rank() as u32, bytes))
}

/// Messages under way.
pub(crate) struct Sending {
    requests: Vec<Request<'static, [u8], StaticScope>>,
    bytes: *mut [u8],
}

impl Sending {
    /// Sends the same bytes to each of these ranks, and does not wait.
    pub(crate) fn start(
        ranks: &SimpleCommunicator,
        to: impl Iterator<Item = u32>,
        bytes: Vec<u8>,
    ) -> Self {
        let bytes = Box::into_raw(bytes.into_boxed_slice());
        // SAFETY: the bytes come from a box, nobody writes them, and they are freed only by the
        // drop below, after the last request has ended.
        let shared: &'static [u8] = unsafe { &*bytes };
        let send = |rank: u32| {
            let rank = ranks.process_at_rank(rank as i32);
            rank.immediate_send_with_tag(StaticScope, shared, TAG)
        };
        Self { requests: to.map(send).collect(), bytes }
    }

    /// Whether MPI needs the bytes no more. This also lets MPI go on with its work.
    pub(crate) fn is_done(&mut self) -> bool {
        let requests = mem::take(&mut self.requests);
        self.requests = requests.into_iter().filter_map(|request| request.test().err()).collect();
        self.requests.is_empty()
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.is_done() {
            // SAFETY: the pointer came from a box, and no request uses the bytes any more.
            drop(unsafe { Box::from_raw(self.bytes) });
        } else {
            // A rank that does not come may still be sent to, so that MPI keeps the bytes.
            self.requests.drain(..).for_each(mem::forget);
        }
    }
}
