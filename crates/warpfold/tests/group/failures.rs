//! A device of a group fails: the error names it, the other devices end their work, nothing leaks,
//! and the group works again.

use warpfold::{Device, DeviceError, Error, Group, Sum, testing::Faults};

/// The number of elements, which is several chunks of each shard.
const N: usize = 6000;

/// A group of three devices, of which the middle one has a plan of failures.
fn group(faults: Faults) -> Group {
    let middle = Device::simulator().with_faults(faults).unwrap();
    Group::of(&[Device::simulator(), middle, Device::simulator()]).unwrap()
}

fn live(group: &Group) -> Vec<u64> {
    group.devices().iter().map(Device::live_allocations).collect()
}

/// Everything that a group does: uploads, reductions on the devices, and of the host in chunks.
fn work(group: &Group) -> Result<(), Error> {
    let values: Vec<u32> = (0..N as u32).collect();
    let sum = group.reducer::<u32, _>(Sum)?;
    let shards = group.shard(&values)?;
    assert_eq!(sum.reduce(&shards)?, 17_997_000);
    let sum = sum.with_memory_limit(2048);
    assert_eq!(sum.reduce(group.ranges(N).map(|range| &values[range]))?, 17_997_000);
    Ok(())
}

/// Lets each call of one kind fail in turn, until there are no more such calls.
fn each_call_fails(kind: &str, plan: impl Fn(u64) -> Faults, is_lost: bool) {
    let mut failed = 0;
    for k in 0.. {
        let group = group(plan(k));
        match work(&group) {
            Ok(()) => break,
            Err(Error::Shard { shard: 1, cause, .. }) => {
                assert!(matches!(*cause, Error::Device(_)), "{kind} {k}: {cause:?}");
            }
            Err(error) => panic!("{kind} {k}: {error:?}"),
        }
        failed += 1;
        if is_lost {
            let lost = work(&group).unwrap_err();
            assert!(matches!(lost, Error::Shard { shard: 1, .. }), "{kind} {k}: {lost:?}");
        } else {
            work(&group).unwrap_or_else(|error| panic!("after {kind} {k}: {error}"));
        }
        // What is left are the outputs and the staging memory that reducers keep for later calls.
        let kept = live(&group);
        let again = work(&group).is_ok();
        assert_eq!((again, live(&group)), (!is_lost, kept), "{kind} {k} leaks");
    }
    assert!(failed > 2, "only {failed} calls of kind {kind} failed");
}

#[test]
fn a_failed_call_names_its_shard_and_leaks_nothing() {
    each_call_fails("allocation", |k| Faults::none().alloc(k), false);
    each_call_fails("launch", |k| Faults::none().launch(k), false);
    each_call_fails("copy", |k| Faults::none().copy(k), false);
}

#[test]
fn a_lost_device_is_named_each_time() {
    each_call_fails("loss", |k| Faults::none().lost(k), true);
}

/// The first error in the order of the shards is reported, whichever device fails first.
#[test]
fn the_first_of_two_errors_is_reported() {
    let failing = || Device::simulator().with_faults(Faults::none().launch(0)).unwrap();
    let group = Group::of(&[Device::simulator(), failing(), failing()]).unwrap();
    let shards = group.shard(&[1u32; 300]).unwrap();
    let Err(Error::Shard { shard: 1, cause, .. }) = group.reduce(&shards, Sum) else {
        panic!("the launch of shard 1 fails")
    };
    assert!(matches!(*cause, Error::Device(DeviceError::Driver { code: 701, .. })), "{cause:?}");
    // Both failures are over, because both devices were asked.
    assert_eq!(group.reduce(&shards, Sum).unwrap(), 300);
}
