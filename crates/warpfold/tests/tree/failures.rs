//! A device fails: the error names it, the other devices end their work, nothing leaks, and the
//! group works again.

use warpfold::{Device, Error, Group, Sum, testing::Faults};

/// The number of elements: each shard has large nodes, single leaves, and parts of leaves.
const N: usize = 100_001;

/// A group of three devices, of which one has a plan of failures.
fn group(failing: usize, faults: Faults) -> Group {
    let mut devices = [Device::simulator(), Device::simulator(), Device::simulator()];
    devices[failing] = Device::simulator().with_faults(faults).unwrap();
    Group::of(&devices).unwrap()
}

fn live(group: &Group) -> Vec<u64> {
    group.devices().iter().map(Device::live_allocations).collect()
}

/// Reductions of memory of the devices, and of the host in pieces.
fn work(group: &Group) -> Result<(), Error> {
    let values = vec![1.0f32; N];
    let sum = group.tree_reducer::<f32, _>(Sum)?;
    assert_eq!(sum.reduce(&group.shard(&values)?)?, N as f32);
    let sum = sum.with_memory_limit(64 << 10);
    assert_eq!(sum.reduce(group.ranges(N).map(|range| &values[range]))?, N as f32);
    Ok(())
}

/// Lets each call of one kind fail in turn, until there are no more such calls. The first device
/// also computes the leaves that shards share.
fn each_call_fails(kind: &str, plan: impl Fn(u64) -> Faults) {
    for failing in [0, 1] {
        let mut failed = 0;
        for k in 0.. {
            let group = group(failing, plan(k));
            match work(&group) {
                Ok(()) => break,
                Err(Error::Shard { shard, cause, .. }) => {
                    assert_eq!(shard, failing, "{kind} {k}");
                    assert!(matches!(*cause, Error::Device(_)), "{kind} {k}: {cause:?}");
                }
                Err(error) => panic!("{kind} {k}: {error:?}"),
            }
            failed += 1;
            work(&group).unwrap_or_else(|error| panic!("after {kind} {k}: {error}"));
            let kept = live(&group);
            work(&group).unwrap();
            assert_eq!(live(&group), kept, "{kind} {k} leaks");
        }
        assert!(failed > 4, "only {failed} calls of kind {kind} failed");
    }
}

#[test]
fn a_failed_call_names_its_shard_and_leaks_nothing() {
    each_call_fails("allocation", |k| Faults::none().alloc(k));
    each_call_fails("launch", |k| Faults::none().launch(k));
    each_call_fails("copy", |k| Faults::none().copy(k));
}
