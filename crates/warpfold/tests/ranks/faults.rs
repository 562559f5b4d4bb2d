//! A rank does something else than the others, fails, or does not come: all ranks get an error that
//! names it, in bounded time, and the outputs are left alone.

use std::{
    sync::Barrier,
    time::{Duration, Instant},
};

use warpfold::{
    CheckedSum, CountWhere, Device, Error, Is, Max, RankError, RankTransport, Ranks,
    RendezvousError, Sum, TopK, testing::Faults,
};

use crate::meet::{Any, LONG, Place, SHORT};

/// A rank whose device is a simulator.
fn join(meeting: Any) -> Ranks<Any> {
    Ranks::join(&Device::simulator(), meeting).unwrap()
}

/// A call works.
fn works(ranks: &Ranks<Any>) {
    let device = ranks.device();
    let shard = device.upload(&[1u32; 100]).unwrap();
    let (mut total, stream) = (device.alloc(1).unwrap(), device.stream().unwrap());
    let mut sum = ranks.all_reducer::<u32, _>(Sum, 100).unwrap();
    let pending = sum.reduce_into(&shard, &mut total, &stream).unwrap();
    let total = pending.finish(total.copy_to_host().unwrap()[0]).unwrap();
    assert_eq!(total, 100 * u64::from(ranks.ranks()));
}

#[test]
fn ranks_that_make_other_reducers_are_named_with_both_calls() {
    for place in Place::both() {
        place.all(4, |rank, meeting| {
            let ranks = join(meeting);
            let is_other = rank == 2;
            let expect = |error: RankError, ours: &str, theirs: &str| {
                let RankError::Calls { rank: 2, ours: of_root, theirs: of_other } = &error else {
                    panic!("{error:?}")
                };
                assert!(of_root.contains(ours) && of_other.contains(theirs), "{error}");
            };
            // Another operation.
            let error = if is_other {
                ranks.all_reducer::<u32, _>(Max, 3).unwrap_err()
            } else {
                ranks.all_reducer::<u32, _>(Sum, 3).unwrap_err()
            };
            expect(error, "sum of u32", "maximum of u32");
            // Another type.
            let error = if is_other {
                ranks.all_reducer::<u64, _>(Sum, 3).unwrap_err()
            } else {
                ranks.all_reducer::<u32, _>(Sum, 3).unwrap_err()
            };
            expect(error, "sum of u32", "sum of u64");
            // Another constant.
            let operation = CountWhere(Is::Greater(if is_other { 1 } else { 2 }));
            let error = ranks.all_reducer::<u32, _>(operation, 3).unwrap_err();
            expect(error, "of u32", "of u32");
            works(&ranks);
            // Another function.
            let device = ranks.device();
            let (shard, mut total) = (device.upload(&[1u32; 3]).unwrap(), device.alloc(1).unwrap());
            let mut sum = ranks.all_reducer::<u32, _>(Sum, 3).unwrap();
            let error = if is_other {
                ranks.all_reducer::<u32, _>(Sum, 3).unwrap_err()
            } else {
                let stream = device.stream().unwrap();
                sum.reduce_into(&shard, &mut total, &stream).unwrap_err()
            };
            expect(error, "reduce_into: sum of u32", "all_reducer: sum of u32");
            works(&ranks);
        });
    }
}

#[test]
fn arrays_without_a_result_are_an_error_of_all() {
    Place::tcp().all(3, |rank, meeting| {
        let ranks = join(meeting);
        let error = ranks.all_reducer::<f32, _>(Max, 0).unwrap_err();
        assert!(matches!(error, RankError::Reduction(Error::Empty { .. })), "{error:?}");
        let most = usize::MAX / 2;
        let error = ranks.all_reducer::<f32, _>(TopK::<2>, most).unwrap_err();
        assert!(matches!(error, RankError::Reduction(Error::TooLong { .. })), "{error:?}");
        // Together the shards have more elements than can be counted.
        let error = ranks.all_reducer::<f32, _>(Sum, usize::MAX).unwrap_err();
        assert!(matches!(error, RankError::Reduction(Error::TooLong { .. })), "{error:?}");
        // An overflow is found when the result is finished, on each rank.
        let device = ranks.device();
        let (shard, mut total) = (device.upload(&[1i32 << 30]).unwrap(), device.alloc(1).unwrap());
        let mut sum = ranks.all_reducer::<i32, _>(CheckedSum, 1).unwrap();
        let pending = sum.reduce_into(&shard, &mut total, &device.stream().unwrap()).unwrap();
        let error = pending.finish(total.copy_to_host().unwrap()[0]).unwrap_err();
        assert!(matches!(error, Error::Overflow { .. }), "{error:?}");
        assert_eq!(ranks.rank(), rank);
        works(&ranks);
    });
}

#[test]
fn a_failed_device_is_told_to_all() {
    for failing in 0..3 {
        Place::tcp().all(3, |rank, meeting| {
            let mut device = Device::simulator();
            let is_failing = rank == failing;
            if is_failing {
                // The first allocation is that of the reducer, and the first launch that of a call.
                device = device.with_faults(Faults::none().alloc(0).launch(0)).unwrap();
            }
            let ranks = Ranks::join(&device, meeting).unwrap();
            let expect = |error: RankError| match error {
                RankError::Reduction(Error::Device(_)) if is_failing => {}
                RankError::Rank { rank, reason } if rank == failing && !is_failing => {
                    assert!(reason.contains("bytes") || reason.contains("injected"), "{reason}");
                }
                error => panic!("{error:?}"),
            };
            expect(ranks.all_reducer::<u32, _>(Sum, 3).unwrap_err());
            let mut sum = ranks.all_reducer::<u32, _>(Sum, 3).unwrap();
            let shard = device.upload(&[1u32; 3]).unwrap();
            let (mut total, stream) = (device.upload(&[7]).unwrap(), device.stream().unwrap());
            expect(sum.reduce_into(&shard, &mut total, &stream).unwrap_err());
            assert_eq!(total.copy_to_host().unwrap(), [7]);
            // The same reducer goes on working.
            sum.reduce_into(&shard, &mut total, &stream).unwrap();
            assert_eq!(total.copy_to_host().unwrap(), [9]);
            works(&ranks);
        });
    }
}

#[test]
fn wrong_calls_are_told_to_all() {
    Place::tcp().all(2, |rank, meeting| {
        let ranks = join(meeting);
        let device = ranks.device();
        let shards = [3, 4].map(|len| device.upload(&vec![1u32; len]).unwrap());
        let stream = device.stream().unwrap();
        let mut sum = ranks.all_reducer::<u32, _>(Sum, 3).unwrap();
        let mut total = device.upload(&[7u64]).unwrap();
        // A shard of another length.
        let error = sum.reduce_into(&shards[rank as usize], &mut total, &stream).unwrap_err();
        match (rank, &error) {
            (0, RankError::Rank { rank: 1, reason }) => {
                assert!(reason.contains("made for 3"), "{reason}");
            }
            (1, RankError::Length { given: 4, agreed: 3 }) => {}
            _ => panic!("{error:?}"),
        }
        // An output of another length.
        let mut wide = device.upload(&vec![7u64; 1 + rank as usize]).unwrap();
        let error = sum.reduce_into(&shards[0], &mut wide, &stream).unwrap_err();
        match (rank, &error) {
            (0, RankError::Rank { rank: 1, .. })
            | (1, RankError::Reduction(Error::Output { len: 2 })) => {}
            _ => panic!("{error:?}"),
        }
        // A stream of another device.
        let other = Device::simulator().stream().unwrap();
        let stream = if rank == 1 { &stream } else { &other };
        let error = sum.reduce_into(&shards[0], &mut total, stream).unwrap_err();
        match (rank, &error) {
            (0, RankError::Reduction(Error::Device(_))) | (1, RankError::Rank { rank: 0, .. }) => {}
            _ => panic!("{error:?}"),
        }
        // A graph cannot capture a call that waits.
        let captured = device.capture(|stream| {
            sum.reduce_into(&shards[0], &mut total, stream).map(drop).map_err(|error| match error {
                RankError::Reduction(Error::Device(error)) => error,
                error => panic!("{error:?}"),
            })
        });
        assert!(captured.is_err() || rank == 1, "rank 1 may be told of rank 0");
        assert_eq!(total.copy_to_host().unwrap(), [7]);
        works(&ranks);
    });
}

#[test]
fn a_rank_that_leaves_is_an_error_of_the_others_in_bounded_time() {
    for leaving in 0..3 {
        for place in Place::both() {
            let begin = Instant::now();
            place.all(3, |rank, meeting| {
                let ranks = join(meeting);
                let device = ranks.device().clone();
                let shard = device.upload(&[1u32; 3]).unwrap();
                let (mut total, stream) = (device.upload(&[7]).unwrap(), device.stream().unwrap());
                let mut sum = ranks.all_reducer::<u32, _>(Sum, 3).unwrap();
                if rank == leaving {
                    return;
                }
                let error = sum.reduce_into(&shard, &mut total, &stream).unwrap_err();
                assert!(
                    matches!(error, RankError::Rendezvous(RendezvousError::Closed { rank }) if rank == leaving),
                    "{error:?}"
                );
                assert_eq!(total.copy_to_host().unwrap(), [7]);
                let error = ranks.all_reducer::<u32, _>(Sum, 3).unwrap_err();
                assert!(
                    matches!(error, RankError::Rendezvous(RendezvousError::Broken)),
                    "{error:?}"
                );
            });
            // Nobody has waited for the timeout.
            assert!(begin.elapsed() < LONG);
        }
    }
}

#[test]
fn a_rank_that_does_not_come_to_a_call_is_named() {
    for place in Place::both() {
        let end = Barrier::new(3);
        place.each([0, 1, 2], 3, SHORT, |rank, come| {
            let ranks = join(come.unwrap());
            if rank != 1 {
                let error = ranks.all_reducer::<u32, _>(Sum, 3).unwrap_err();
                let expected = RendezvousError::Missing { rank: 1, waited: SHORT };
                assert_eq!(error.to_string(), expected.to_string());
            }
            end.wait();
        });
    }
}

#[test]
fn transports_are_agreed_on_and_must_work() {
    Place::tcp().all(1, |_, meeting| {
        let host = Ranks::join(&Device::simulator(), meeting).unwrap();
        assert_eq!(host.transport(), RankTransport::Host);
        let note = host.note().unwrap();
        assert!(note.contains("rank 0 has no GPU"), "{note}");
    });
    Place::tcp().all(2, |_, meeting| {
        let host = Ranks::join_with(&Device::simulator(), meeting, RankTransport::Host).unwrap();
        assert_eq!((host.transport(), host.note()), (RankTransport::Host, None));
        works(&host);
    });
    for transport in [RankTransport::Peers, RankTransport::Nccl] {
        Place::tcp().all(2, |_, meeting| {
            let error = Ranks::join_with(&Device::simulator(), meeting, transport).unwrap_err();
            assert!(
                matches!(&error, RankError::NoTransport { transport: of, .. } if *of == transport),
                "{error:?}"
            );
        });
    }
    Place::tcp().all(3, |rank, meeting| {
        let device = Device::simulator();
        let error = if rank == 1 {
            Ranks::join_with(&device, meeting, RankTransport::Host).unwrap_err()
        } else {
            Ranks::join(&device, meeting).unwrap_err()
        };
        assert!(matches!(error, RankError::Transports { rank: 1, .. }), "{error:?}");
    });
}

#[test]
fn other_programs_are_found_out() {
    Place::tcp().each([0, 1], 2, Duration::from_secs(10), |rank, come| {
        let mut meeting = come.unwrap();
        if rank == 1 {
            // It exchanges bytes, and these are no messages.
            meeting.all_gather(b"something else").unwrap();
            return;
        }
        let error = Ranks::join(&Device::simulator(), meeting).unwrap_err();
        assert!(matches!(error, RankError::Message { rank: 1 }), "{error:?}");
    });
}
