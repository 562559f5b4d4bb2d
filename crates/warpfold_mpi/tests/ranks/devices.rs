//! What ranks do whose devices get the results, and who meet by MPI.

use std::{process, thread, time::Duration};

use rand::Rng as _;
use warpfold::{
    ArgMin, Device, Max, RankError, RankTransport, Ranks, Rendezvous as _, RendezvousError,
    ReproducibleSum, Sum,
};
use warpfold_mpi::MpiCommunicator;

use crate::cases::{cuts, random, world, world_of_gpus};

/// Joins the ranks with simulators, whose results pass through the hosts.
fn join(world: &MpiCommunicator) -> Ranks<&MpiCommunicator> {
    let ranks = Ranks::join(world.device(), world).unwrap();
    assert_eq!((ranks.rank(), ranks.ranks()), (world.rank(), world.size()));
    assert_eq!(ranks.transport(), RankTransport::Host);
    ranks
}

pub(crate) fn bytes() {
    let world = world();
    let mut meeting = &world;
    let mut random = random();
    for round in 0..5 {
        let sent: Vec<Vec<u8>> = (0..world.size())
            .map(|_| {
                let most = if round == 4 { 1 << 20 } else { 100 };
                (0..random.random_range(0..=most)).map(|_| random.random()).collect()
            })
            .collect();
        assert_eq!(meeting.all_gather(&sent[world.rank() as usize]).unwrap(), sent);
    }
    // A rank that reduces instead is found out.
    if world.rank() + 1 == world.size() && world.size() > 1 {
        let error = world.reduce(&[1u8], Sum).unwrap_err();
        assert!(matches!(error, warpfold_mpi::Error::Calls { .. }), "{error:?}");
    } else if world.size() > 1 {
        let error = meeting.all_gather(b"").unwrap_err();
        assert!(error.to_string().contains("calls 'sum of u8"), "{error}");
    }
    assert_eq!(meeting.all_gather(b"a").unwrap().len(), world.size() as usize);
}

pub(crate) fn results() {
    let world = world_of_gpus();
    let ranks = Ranks::join(world.device(), &world).unwrap();
    println!("{}, {:?}", ranks.transport(), ranks.note());
    let (device, alone) = (world.device(), Device::simulator());
    let (mut random, stream) = (random(), device.stream().unwrap());
    for n in [1usize, 33, 1025, 20_001] {
        let values: Vec<f32> = (0..n).map(|_| random.random_range(-1e6..1e6)).collect();
        let cuts = cuts(&mut random, n, world.size());
        let mine = &values[cuts[world.rank() as usize]..cuts[world.rank() as usize + 1]];
        let shard = device.upload(mine).unwrap();
        let mut sum = ranks.all_reducer::<f32, _>(ReproducibleSum, mine.len()).unwrap();
        let mut least = ranks.all_reducer::<f32, _>(ArgMin, mine.len()).unwrap();
        let (mut total, mut place) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
        for _ in 0..3 {
            let pending = sum.reduce_into(&shard, &mut total, &stream).unwrap();
            let found = pending.finish(total.copy_to_host().unwrap()[0]).unwrap();
            let expected = alone.reduce(&values, ReproducibleSum).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits());
            // Calls of the communicator itself may come in between.
            assert_eq!(world.reduce(mine, ReproducibleSum).unwrap().to_bits(), expected.to_bits());
            let pending = least.reduce_into(&shard, &mut place, &stream).unwrap();
            let found = pending.finish(place.copy_to_host().unwrap()[0]).unwrap();
            assert_eq!(found, alone.reduce(&values, ArgMin).unwrap());
        }
    }
}

pub(crate) fn other_reducers() {
    let world = world();
    let ranks = join(&world);
    let is_other = world.rank() == 1;
    let error = if is_other {
        ranks.all_reducer::<u32, _>(Max, 1).unwrap_err()
    } else {
        ranks.all_reducer::<u32, _>(Sum, 1).unwrap_err()
    };
    let RankError::Calls { rank: 1, ours, theirs } = &error else { panic!("{error:?}") };
    assert!(ours.contains("sum of u32") && theirs.contains("maximum of u32"), "{error}");
    ranks.all_reducer::<u32, _>(Sum, 1).unwrap();
}

/// Rank 2 does not come to the second call.
pub(crate) fn missing() {
    let world = world().with_timeout(Duration::from_millis(1500));
    let ranks = join(&world);
    let device = world.device();
    let (shard, stream) = (device.upload(&[1u8]).unwrap(), device.stream().unwrap());
    let mut output = device.alloc(1).unwrap();
    let mut sum = ranks.all_reducer::<u8, _>(Sum, 1).unwrap();
    sum.reduce_into(&shard, &mut output, &stream).unwrap();
    let total = u64::from(world.size());
    assert_eq!(output.copy_to_host().unwrap(), [total]);
    if world.rank() == 2 {
        thread::sleep(Duration::from_secs(100));
    }
    let error = sum.reduce_into(&shard, &mut output, &stream).unwrap_err();
    let is_named = matches!(error, RankError::Rendezvous(RendezvousError::Missing { rank: 2, .. }));
    assert!(is_named, "{error:?}");
    let error = sum.reduce_into(&shard, &mut output, &stream).unwrap_err();
    assert!(matches!(error, RankError::Rendezvous(RendezvousError::Broken)), "{error:?}");
    assert_eq!(output.copy_to_host().unwrap(), [total]);
}

/// Rank 1 is killed between two calls.
pub(crate) fn killed() {
    let world = world();
    let ranks = join(&world);
    let device = world.device();
    let (shard, stream) = (device.upload(&[1u8]).unwrap(), device.stream().unwrap());
    let mut output = device.alloc(1).unwrap();
    let mut sum = ranks.all_reducer::<u8, _>(Sum, 1).unwrap();
    sum.reduce_into(&shard, &mut output, &stream).unwrap();
    if world.rank() == 1 {
        process::abort();
    }
    let _ = sum.reduce_into(&shard, &mut output, &stream);
    unreachable!("the launcher has ended this rank");
}
