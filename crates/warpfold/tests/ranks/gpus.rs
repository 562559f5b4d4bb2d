//! Ranks with a GPU each. Two GPUs are needed.

use std::{
    cell::RefCell,
    fmt::Debug,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytemuck::bytes_of;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArgMin, BitXor, Buffer, CheckedSum, CountNonzero, Device, DeviceError, Dot, Error, Input, Max,
    Min, MinMax, Operation, Partial, RankError, RankTransport, Ranks, ReproducibleSum, Sum, TopK,
    reducer::{DeviceInput, Single},
};

use crate::{
    meet::{Any, Place},
    parts::cut,
    processes::on_processes,
    results::Random,
    rows, skip,
};

/// How long tests wait for a result that does not come.
const BRIEF: Duration = Duration::from_millis(500);

/// The number of ranks: as many as there are GPUs, up to 4. `None` if there are fewer than two.
/// Until the thread ends, which is the end of a test, the other tests have to wait for the GPUs.
fn count() -> Option<u32> {
    static GPUS: Mutex<()> = Mutex::new(());
    thread_local! {
        static TURN: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    }

    if std::env::var("WARPFOLD_DEVICE").is_ok_and(|device| device == "sim") {
        return None;
    }
    let gpus = Device::all().unwrap().len();
    if gpus < 2 {
        skip::part("all on several GPUs", format!("this machine has {gpus}"));
        return None;
    }
    TURN.with_borrow_mut(|turn| {
        turn.get_or_insert_with(|| GPUS.lock().unwrap_or_else(PoisonError::into_inner));
    });
    Some(gpus.min(4) as u32)
}

/// Whether ranks can use this transport here. If not, a line says that a part does not run.
fn has(transport: RankTransport, ranks: u32) -> bool {
    let group: Vec<_> = (0..ranks).map(|gpu| Device::cuda(gpu).unwrap()).collect();
    let group = warpfold::Group::of(&group).unwrap();
    let (wanted, part) = if transport == RankTransport::Peers {
        (warpfold::Transport::Peers, "all with memory of peers")
    } else {
        (warpfold::Transport::Nccl, "all with NCCL")
    };
    let found = group.with_transport(wanted).transport();
    if let Err(error) = &found {
        skip::part(part, error);
    }
    found.is_ok()
}

/// Joins with the GPU whose number is that of the rank.
fn join(meeting: Any, transport: RankTransport) -> Ranks<Any> {
    let device = Device::cuda(meeting.rank()).unwrap();
    let ranks = Ranks::join_with(&device, meeting, transport).unwrap();
    assert_eq!((ranks.transport(), ranks.note()), (transport, None));
    ranks
}

/// The raw results are those that the host makes of the results of the shards, bit for bit, in many
/// calls of one reducer.
fn compare<T, O>(
    ranks: &Ranks<Any>,
    random: &mut ChaCha8Rng,
    operation: O,
    value: fn(&mut ChaCha8Rng) -> T,
) where
    T: Random,
    O: Operation<T, Arity = Single, Output: Debug>,
    for<'a> &'a Buffer<T>: DeviceInput + Input<Item = T, Arity = Single>,
{
    let device = ranks.device();
    let stream = device.stream().unwrap();
    let mut output = device.alloc(1).unwrap();
    let reducer = device.reducer::<T, O>(operation).unwrap();
    for n in [1, 2, 33, 1025, 70_001] {
        let values: Vec<T> = (0..n).map(|_| value(random)).collect();
        let lengths: Vec<_> =
            cut(random, &values, ranks.ranks() as usize).iter().map(|shard| shard.len()).collect();
        let mine = lengths[ranks.rank() as usize];
        let mut all = ranks.all_reducer::<T, O>(operation, mine).unwrap();
        assert_eq!(all.transport(), ranks.transport());
        for call in 0..4 {
            let values: Vec<T> = values.iter().map(|_| value(random)).collect();
            let mut rest = &values[..];
            let shards: Vec<_> = lengths
                .iter()
                .map(|&len| rest.split_off(..len).map(|shard| device.upload(shard).unwrap()))
                .map(|shard| shard.expect("the lengths are those of the shards"))
                .collect();
            let own = &shards[ranks.rank() as usize];
            let pending = all.reduce_into(own, &mut output, &stream).unwrap();
            if call % 2 == 0 {
                all.check().unwrap();
            }
            let raw = output.copy_to_host().unwrap()[0];
            let folded = shards
                .iter()
                .map(|shard| reducer.partial(shard).unwrap())
                .fold(Partial::EMPTY, Partial::append);
            let expected = folded.raw().unwrap();
            assert_eq!(bytes_of(&raw), bytes_of(&expected), "{} of {n}, call {call}", O::NAME);
            let result = format!("{:?}", pending.finish(raw));
            assert_eq!(result, format!("{:?}", folded.finish()));
        }
        all.check().unwrap();
    }
}

/// What ranks do with each transport.
fn reduce(ranks: &Ranks<Any>, seed: u64) {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    compare::<f32, _>(ranks, random, Sum, f32::small);
    compare::<i32, _>(ranks, random, Sum, i32::any);
    compare::<u8, _>(ranks, random, Max, u8::any);
    compare::<f64, _>(ranks, random, ReproducibleSum, f64::any);
    compare::<f32, _>(ranks, random, ReproducibleSum, f32::any);
    compare::<i64, _>(ranks, random, ArgMin, i64::any);
    compare::<i128, _>(ranks, random, CheckedSum, i128::any);
    compare::<u16, _>(ranks, random, MinMax, u16::any);
    compare::<u64, _>(ranks, random, CountNonzero, u64::any);
    compare::<u128, _>(ranks, random, BitXor, u128::any);
    let device = ranks.device().clone();
    let stream = device.stream().unwrap();

    // No elements, and one element on the last rank.
    let none = device.upload::<i32>(&[]).unwrap();
    let mut total = device.upload(&[7i64]).unwrap();
    let mut sum = ranks.all_reducer::<i32, _>(Sum, 0).unwrap();
    sum.reduce_into(&none, &mut total, &stream).unwrap();
    assert_eq!(total.copy_to_host().unwrap(), [0]);
    let error = ranks.all_reducer::<i32, _>(Min, 0).unwrap_err();
    assert!(matches!(error, RankError::Reduction(Error::Empty { .. })), "{error}");
    let is_last = ranks.rank() == ranks.ranks() - 1;
    let one = device.upload(if is_last { &[-5][..] } else { &[] }).unwrap();
    let mut least = device.alloc(1).unwrap();
    let mut min = ranks.all_reducer::<i32, _>(Min, one.len()).unwrap();
    min.reduce_into(&one, &mut least, &stream).unwrap();
    assert_eq!(least.copy_to_host().unwrap(), [-5]);

    // A pair, and many calls of two reducers that are not waited for.
    let shard = device.upload(&vec![2i32; 1000]).unwrap();
    let mut dot = ranks.all_reducer::<i32, _>(Dot, 1000).unwrap();
    let mut sum = ranks.all_reducer::<i32, _>(Sum, 1000).unwrap();
    let mut dotted = device.alloc(1).unwrap();
    for _ in 0..1000 {
        dot.reduce_into((&shard, &shard), &mut dotted, &stream).unwrap();
        sum.reduce_into(&shard, &mut total, &stream).unwrap();
    }
    dot.check().unwrap();
    sum.check().unwrap();
    let count = i64::from(ranks.ranks());
    assert_eq!(dotted.copy_to_host().unwrap(), [4000 * count]);
    assert_eq!(total.copy_to_host().unwrap(), [2000 * count]);

    // Reducers may be dropped in another order on each rank, and others work after them.
    if ranks.rank().is_multiple_of(2) {
        drop(sum);
        drop(dot);
    } else {
        drop(dot);
        drop(sum);
    }
    compare::<u32, _>(ranks, random, Sum, u32::any);
    // What the kernels cannot combine is refused, because the transport was given.
    let error = ranks.all_reducer::<f32, _>(TopK::<3>, 5).unwrap_err();
    assert!(matches!(error, RankError::Reduction(Error::NotExchanged { .. })), "{error}");
    graphs(ranks);

    // Rows, some of which are posted and some combined where they lie.
    rows::columns(ranks, &rows::COLUMNS, random);
    rows::columns(ranks, &[(1 << 19) + 1], random);
    rows::pairs(ranks);
    rows::graphs(ranks);
}

/// A graph captures calls if no library takes part. Each launch is a new reduction.
fn graphs(ranks: &Ranks<Any>) {
    let device = ranks.device();
    let mut shard = device.upload(&[0u32; 1000]).unwrap();
    let mut total = device.alloc(1).unwrap();
    let mut sum = ranks.all_reducer::<u32, _>(Sum, 1000).unwrap();
    let captured = device.capture(|stream| {
        for _ in 0..3 {
            match sum.reduce_into(&shard, &mut total, stream) {
                Ok(_) => {}
                Err(RankError::Reduction(Error::Device(error))) => return Err(error),
                Err(error) => panic!("{error:?}"),
            }
        }
        Ok(())
    });
    if ranks.transport() != RankTransport::Peers {
        assert!(matches!(captured, Err(DeviceError::Capturing { .. })), "{captured:?}");
        return;
    }
    let (graph, ()) = captured.unwrap();
    // The graph keeps the memory of the other ranks open.
    drop(sum);
    let stream = device.stream().unwrap();
    for value in 1..=5u32 {
        shard.copy_from_host(&vec![value + ranks.rank(); 1000]).unwrap();
        graph.launch(&stream).unwrap();
        let expected: u64 = (0..ranks.ranks()).map(|rank| u64::from(1000 * (value + rank))).sum();
        assert_eq!(total.copy_to_host().unwrap(), [expected]);
    }
}

pub(crate) fn peers(meeting: Any, seed: u64) {
    reduce(&join(meeting, RankTransport::Peers), seed);
}

pub(crate) fn nccl(meeting: Any, seed: u64) {
    reduce(&join(meeting, RankTransport::Nccl), seed);
}

/// The ranks choose, and what the kernels cannot combine passes through the host.
pub(crate) fn chosen(meeting: Any, _seed: u64) {
    let device = Device::cuda(meeting.rank()).unwrap();
    let ranks = Ranks::join(&device, meeting).unwrap();
    println!("{}, {:?}", ranks.transport(), ranks.note());
    let mut best = ranks.all_reducer::<u8, _>(TopK::<2>, 3).unwrap();
    assert_eq!(best.transport(), RankTransport::Host);
    let shard = device.upload(&[1, 9 - ranks.rank() as u8, 2]).unwrap();
    let (mut output, stream) = (device.alloc(1).unwrap(), device.stream().unwrap());
    let pending = best.reduce_into(&shard, &mut output, &stream).unwrap();
    let best = pending.finish(output.copy_to_host().unwrap()[0]).unwrap();
    let best: Vec<_> = best.iter().map(|best| (best.value, best.index)).collect();
    assert_eq!(best, [(9, 1), (8, 4)]);
    let mut sum = ranks.all_reducer::<u8, _>(Sum, 3).unwrap();
    assert_eq!(sum.transport(), ranks.transport());
    let mut total = device.alloc(1).unwrap();
    sum.reduce_into(&shard, &mut total, &stream).unwrap();
    sum.check().unwrap();
    let expected = (0..u64::from(ranks.ranks())).map(|rank| 12 - rank).sum::<u64>();
    assert_eq!(total.copy_to_host().unwrap(), [expected]);
}

/// All ranks have the same GPU.
pub(crate) fn same(meeting: Any, _seed: u64) {
    let device = Device::cuda(0).unwrap();
    let ranks = Ranks::join(&device, meeting).unwrap();
    assert_eq!(ranks.transport(), RankTransport::Host);
    assert!(ranks.note().unwrap().contains("have the same GPU"), "{:?}", ranks.note());
    let shard = device.upload(&[1u32; 3]).unwrap();
    let (mut total, stream) = (device.alloc(1).unwrap(), device.stream().unwrap());
    let mut sum = ranks.all_reducer::<u32, _>(Sum, 3).unwrap();
    sum.reduce_into(&shard, &mut total, &stream).unwrap();
    assert_eq!(total.copy_to_host().unwrap(), [3 * u64::from(ranks.ranks())]);
}

/// The last rank does not come to the second call.
pub(crate) fn peer_is_absent(meeting: Any, _seed: u64) {
    let ranks = join(meeting, RankTransport::Peers);
    let device = ranks.device();
    let shard = device.upload(&[1u32; 3]).unwrap();
    let (mut total, stream) = (device.upload(&[7u64]).unwrap(), device.stream().unwrap());
    let mut sum = ranks.all_reducer::<u32, _>(Sum, 3).unwrap().with_timeout(BRIEF);
    let last = ranks.ranks() - 1;
    if ranks.rank() == last {
        return;
    }
    sum.reduce_into(&shard, &mut total, &stream).unwrap();
    for _ in 0..2 {
        let error = sum.check().unwrap_err();
        assert!(matches!(error, RankError::Absent { rank } if rank == last), "{error:?}");
    }
    assert_eq!(total.copy_to_host().unwrap(), [7]);
    // The device goes on working.
    assert_eq!(device.reduce(&shard, Sum).unwrap(), 3);
}

pub(crate) fn nccl_is_late(meeting: Any, _seed: u64) {
    let ranks = join(meeting, RankTransport::Nccl);
    let device = ranks.device();
    let shard = device.upload(&[1u32; 3]).unwrap();
    let (mut total, stream) = (device.alloc(1).unwrap(), device.stream().unwrap());
    let mut sum = ranks.all_reducer::<u32, _>(Sum, 3).unwrap().with_timeout(BRIEF);
    if ranks.rank() == ranks.ranks() - 1 {
        // The rank stays there until the others have given up.
        std::thread::sleep(4 * BRIEF);
        return;
    }
    sum.reduce_into(&shard, &mut total, &stream).unwrap();
    let error = sum.check().unwrap_err();
    assert!(matches!(error, RankError::Late { waited: BRIEF }), "{error:?}");
    assert!(matches!(sum.check(), Err(RankError::Broken)));
    assert_eq!(device.reduce(&shard, Sum).unwrap(), 3);
}

#[test]
fn processes_use_the_memory_of_peers() {
    let Some(ranks) = count() else { return };
    if has(RankTransport::Peers, ranks) {
        for place in Place::both() {
            on_processes("peers", ranks, &place, None);
        }
        on_processes("peer_is_absent", ranks, &Place::tcp(), None);
    }
}

#[test]
fn processes_use_nccl() {
    let Some(ranks) = count() else { return };
    if has(RankTransport::Nccl, ranks) {
        on_processes("nccl", ranks, &Place::tcp(), None);
        on_processes("nccl_is_late", ranks, &Place::tcp(), None);
    }
}

#[test]
fn threads_use_nccl() {
    let Some(ranks) = count() else { return };
    if has(RankTransport::Nccl, ranks) {
        Place::tcp().all(ranks, |_, meeting| nccl(meeting, 1));
    }
    // Memory of this process cannot be opened as that of another one.
    Place::tcp().all(2, |rank, meeting| {
        let device = Device::cuda(rank).unwrap();
        let error = Ranks::join_with(&device, meeting, RankTransport::Peers).unwrap_err();
        assert!(error.to_string().contains("ranks 0 and 1 are in one process"), "{error}");
    });
}

#[test]
fn processes_choose_a_transport() {
    let Some(ranks) = count() else { return };
    on_processes("chosen", ranks, &Place::folder(), None);
    on_processes("same", 2, &Place::tcp(), None);
    Place::tcp().all(2, |_, meeting| {
        let device = Device::cuda(0).unwrap();
        let error = Ranks::join_with(&device, meeting, RankTransport::Nccl).unwrap_err();
        assert!(error.to_string().contains("ranks 0 and 1 have the same GPU"), "{error}");
    });
}
