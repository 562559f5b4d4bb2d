//! Ranks that are processes: this program starts itself again, as other ranks than its own.

use std::{
    env,
    net::ToSocketAddrs as _,
    process::{self, Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArgMin, Device, FileRendezvous, Max, RankError, RankTransport, Ranks, RendezvousError,
    ReproducibleSum, Sum, TcpRendezvous,
};

use crate::{
    gpus,
    meet::{Any, LONG, Place},
    parts::cut,
    seed,
};

/// The variables that make this program a rank: what it does, which rank it is, of how many, where
/// they meet, how long they wait, and the seed of their random numbers.
const VARIABLES: [&str; 6] = [
    "WARPFOLD_RANK_CASE",
    "WARPFOLD_RANK",
    "WARPFOLD_RANKS",
    "WARPFOLD_RANK_PLACE",
    "WARPFOLD_RANK_MILLISECONDS",
    "WARPFOLD_TEST_SEED",
];

/// What a rank does.
pub(crate) type Work = fn(Any, u64);

/// The name of each case, and what its ranks do.
const CASES: [(&str, Work); 9] = [
    ("reduces", reduces),
    ("is_killed", is_killed),
    ("panics", panics),
    ("peers", gpus::peers),
    ("nccl", gpus::nccl),
    ("chosen", gpus::chosen),
    ("same", gpus::same),
    ("peer_is_absent", gpus::peer_is_absent),
    ("nccl_is_late", gpus::nccl_is_late),
];

/// The ranks of other processes. Those that are left are killed when this is dropped.
struct Others {
    children: Vec<(u32, Child)>,
    /// The rank that is to fail, whose messages are not shown.
    failing: Option<u32>,
}

impl Drop for Others {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Others {
    /// Starts other ranks.
    fn start(
        case: &str,
        others: impl IntoIterator<Item = u32>,
        ranks: u32,
        place: &Place,
        (timeout, seed): (Duration, u64),
        failing: Option<u32>,
    ) -> Self {
        let at = match place {
            Place::Tcp(_, address) => address.to_string(),
            Place::Folder(folder) => folder.path().to_str().unwrap().to_owned(),
        };
        let start = |rank: u32| {
            let values = [
                case.to_owned(),
                rank.to_string(),
                ranks.to_string(),
                at.clone(),
                timeout.as_millis().to_string(),
                seed.to_string(),
            ];
            let child = Command::new(env::current_exe().unwrap())
                .args(["--ignored", "--exact", "processes::a_rank", "--nocapture"])
                .envs(VARIABLES.into_iter().zip(values))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(if failing == Some(rank) { Stdio::null() } else { Stdio::inherit() })
                .spawn();
            (rank, child.unwrap())
        };
        Self { children: others.into_iter().map(start).collect(), failing }
    }

    /// Waits for the end of these ranks, of which only the one that is to fail does so.
    fn end(mut self) {
        let begin = Instant::now();
        for (rank, child) in &mut self.children {
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                assert!(begin.elapsed() < 2 * LONG, "rank {rank} does not end");
                sleep(Duration::from_millis(5));
            };
            assert_eq!(status.success(), Some(*rank) != self.failing, "rank {rank}: {status}");
        }
    }
}

/// Does what the variables say. The other tests start it.
#[test]
#[ignore = "it is a rank of other tests"]
fn a_rank() {
    let [case, rank, ranks, at, timeout, seed] = VARIABLES.map(|name| env::var(name).expect(name));
    let (rank, ranks) = (rank.parse().unwrap(), ranks.parse().unwrap());
    let timeout = Duration::from_millis(timeout.parse().unwrap());
    let meeting: Any = if at.to_socket_addrs().is_ok() {
        Box::new(TcpRendezvous::new(at, rank, ranks, timeout).unwrap())
    } else {
        Box::new(FileRendezvous::new(at, rank, ranks, timeout).unwrap())
    };
    let (_, work) = CASES.into_iter().find(|(name, _)| *name == case).expect("a case");
    work(meeting, seed.parse().unwrap());
}

/// Does the same in this process as rank 0, and in others as the other ranks.
pub(crate) fn on_processes(case: &str, ranks: u32, place: &Place, failing: Option<u32>) {
    let (_, work) = CASES.into_iter().find(|(name, _)| *name == case).expect("a case");
    let seed = seed::random().random();
    let others = Others::start(case, 1..ranks, ranks, place, (LONG, seed), failing);
    work(place.come(0, ranks, LONG).unwrap(), seed);
    others.end();
}

fn reduces(meeting: Any, seed: u64) {
    let device = Device::simulator();
    let ranks = Ranks::join(&device, meeting).unwrap();
    assert_eq!(ranks.transport(), RankTransport::Host);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (stream, alone) = (device.stream().unwrap(), Device::simulator());
    for n in [1, 1000, 10_001] {
        let values: Vec<f64> = (0..n).map(|_| random.random_range(-1e9..1e9)).collect();
        let shard = cut(&mut random, &values, ranks.ranks() as usize)[ranks.rank() as usize];
        let shard = device.upload(shard).unwrap();
        let mut sum = ranks.all_reducer::<f64, _>(ReproducibleSum, shard.len()).unwrap();
        let mut least = ranks.all_reducer::<f64, _>(ArgMin, shard.len()).unwrap();
        let (mut total, mut place) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
        for _ in 0..3 {
            let pending = sum.reduce_into(&shard, &mut total, &stream).unwrap();
            let found = pending.finish(total.copy_to_host().unwrap()[0]).unwrap();
            let expected = alone.reduce(&values, ReproducibleSum).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits());
            let pending = least.reduce_into(&shard, &mut place, &stream).unwrap();
            let found = pending.finish(place.copy_to_host().unwrap()[0]).unwrap();
            assert_eq!(found, alone.reduce(&values, ArgMin).unwrap());
        }
    }
}

#[test]
fn processes_reduce_an_array_together() {
    for ranks in 1..=4 {
        for place in Place::both() {
            on_processes("reduces", ranks, &place, None);
            assert!(place.is_clean());
        }
    }
}

/// The last rank is killed between two calls, and the others get an error in bounded time.
fn is_killed(meeting: Any, _seed: u64) {
    ends(meeting, || process::abort());
}

fn panics(meeting: Any, _seed: u64) {
    ends(meeting, || panic!("on purpose"));
}

fn ends(meeting: Any, end: fn()) {
    let timeout = meeting.timeout();
    let device = Device::simulator();
    let ranks = Ranks::join(&device, meeting).unwrap();
    let shard = device.upload(&[3i32, ranks.rank() as i32]).unwrap();
    let (mut best, stream) = (device.alloc(1).unwrap(), device.stream().unwrap());
    let mut max = ranks.all_reducer::<i32, _>(Max, 2).unwrap();
    max.reduce_into(&shard, &mut best, &stream).unwrap();
    assert_eq!(best.copy_to_host().unwrap(), [3]);
    let last = ranks.ranks() - 1;
    if ranks.rank() == last {
        end();
    }
    let begin = Instant::now();
    let error = max.reduce_into(&shard, &mut best, &stream).unwrap_err();
    match error {
        // A killed process has not left a file that says so.
        RankError::Rendezvous(
            RendezvousError::Closed { rank } | RendezvousError::Missing { rank, .. },
        ) if rank == last => {}
        error => panic!("{error:?}"),
    }
    assert!(begin.elapsed() < 4 * timeout, "an error comes in bounded time");
    assert_eq!(best.copy_to_host().unwrap(), [3]);
}

#[test]
fn a_killed_process_is_an_error_of_the_others() {
    for case in ["is_killed", "panics"] {
        let place = Place::tcp();
        on_processes(case, 3, &place, Some(2));
    }
    // Through files, the others find out by the timeout.
    let place = Place::folder();
    let timeout = Duration::from_secs(2);
    let others = Others::start("is_killed", 1..3, 3, &place, (timeout, 0), Some(2));
    is_killed(place.come(0, 3, timeout).unwrap(), 0);
    others.end();
    assert!(!place.is_clean(), "the killed process has not cleaned up");
    // The next run in the same folder works, whatever is there.
    on_processes("reduces", 3, &place, None);
}

#[test]
fn a_process_that_never_comes_is_an_error_of_the_others() {
    for place in Place::both() {
        let timeout = Duration::from_secs(2);
        // Rank 2 of 3 is not started. The other process fails, too.
        let others = Others::start("reduces", [1], 3, &place, (timeout, 0), Some(1));
        let error = place.come(0, 3, timeout).map(drop).unwrap_err();
        assert!(
            matches!(error, RendezvousError::Missing { rank: 1 | 2, .. }),
            "a slow machine may not have started rank 1 either: {error}"
        );
        others.end();
    }
}

/// Ranks and reducers may go to other threads.
#[test]
fn ranks_can_be_sent_to_threads() {
    fn is_send<T: Send + Sync>() {}
    is_send::<Ranks<TcpRendezvous>>();
    is_send::<Ranks<FileRendezvous>>();
    is_send::<warpfold::RankReducer<f32, Sum, TcpRendezvous>>();
}
