//! A device fails: the error names it, nothing leaks, and the next call works.

use warpfold::{
    Device, Error, Group, Item, Operation, ReproducibleSum, Sum, reducer::Single, testing::Faults,
};

use crate::outputs;

/// A group of three devices, of which the middle one has a plan of failures.
fn group(faults: Faults) -> Group {
    let middle = Device::simulator().with_faults(faults).unwrap();
    Group::of(&[Device::simulator(), middle, Device::simulator()]).unwrap()
}

#[test]
fn a_failed_call_names_its_device_and_the_next_call_works() {
    type Plan = fn(u64) -> Faults;
    let plans: [(&str, Plan); 3] = [
        ("allocation", |k| Faults::none().alloc(k)),
        ("launch", |k| Faults::none().launch(k)),
        ("copy", |k| Faults::none().copy(k)),
    ];
    for (kind, plan) in plans {
        let mut failed = 0;
        for k in 0.. {
            let group = group(plan(k));
            let live =
                || -> Vec<u64> { group.devices().iter().map(Device::live_allocations).collect() };
            let work = || -> Result<(), Error> {
                let shards = group.shard(&[1u32; 3000])?;
                let mut sum = group.all_reducer::<u32, _>(Sum)?;
                let streams = group.streams()?;
                let mut totals = Vec::new();
                for (shard, device) in group.devices().iter().enumerate() {
                    let cause = |error: warpfold::DeviceError| Error::Shard {
                        shard,
                        device: String::new(),
                        cause: Box::new(error.into()),
                    };
                    totals.push(device.alloc::<u64>(1).map_err(cause)?);
                }
                let mut first = Ok(());
                for _ in 0..2 {
                    // A call that fails does not disturb the one after it.
                    first = first.and(sum.reduce_into(&shards, &mut totals, &streams).map(|_| ()));
                }
                sum.reduce_into(&shards, &mut totals, &streams)?;
                sum.check()?;
                first?;
                for total in &totals {
                    if let Ok(total) = total.copy_to_host() {
                        assert_eq!(total, [3000]);
                    }
                }
                Ok(())
            };
            // The planned failure comes once, in one of the first runs or not at all.
            let errors: Vec<_> = (0..3).filter_map(|_| work().err()).collect();
            match &errors[..] {
                [] => break,
                [Error::Shard { shard: 1, .. }] => failed += 1,
                errors => panic!("{kind} {k}: {errors:?}"),
            }
            let kept = live();
            work().unwrap();
            assert_eq!(live(), kept, "{kind} {k} leaks");
        }
        assert!(failed > 1, "only {failed} calls of kind {kind} failed");
    }
}

#[test]
fn outputs_are_left_alone_if_a_launch_fails() {
    let group = group(Faults::none().launch(0));
    let shards = group.shard(&[1u32; 300]).unwrap();
    let streams = group.streams().unwrap();
    let mut totals = outputs::<u32, _>(&group, Sum);
    for total in &mut totals {
        total.copy_from_host(&[7]).unwrap();
    }
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap();
    let error = sum.reduce_into(&shards, &mut totals, &streams).unwrap_err();
    assert!(matches!(error, Error::Shard { shard: 1, .. }), "{error:?}");
    assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [7]));
    sum.reduce_into(&shards, &mut totals, &streams).unwrap();
    sum.check().unwrap();
    assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [300]));
}

/// How many calls of a reduction of the shards of `values` end well before a launch of the middle
/// device fails, whose launch number `k` fails.
fn calls_before_launch<T: Item, O: Operation<T, Arity = Single>>(
    k: u64,
    values: &[T],
    operation: O,
) -> usize {
    let group = group(Faults::none().launch(k));
    let shards = group.shard(values).unwrap();
    let streams = group.streams().unwrap();
    let mut totals = outputs::<T, O>(&group, operation);
    let mut reducer = group.all_reducer::<T, _>(operation).unwrap();
    (0..4).take_while(|_| reducer.reduce_into(&shards, &mut totals, &streams).is_ok()).count()
}

#[test]
fn a_device_needs_one_launch_or_two_for_an_exact_sum() {
    assert_eq!(calls_before_launch(2, &[1u32; 30], Sum), 2);
    assert_eq!(calls_before_launch(2, &[1.0f32; 30], ReproducibleSum), 1);
    // A device without elements only takes part in the exchange.
    assert_eq!(calls_before_launch(2, &[1u32; 1], Sum), 2);
    assert_eq!(calls_before_launch(2, &[1.0f32; 1], ReproducibleSum), 2);
}
