//! Calls that are refused. Nothing is written then, and the next call works.

use warpfold::{
    BottomK, Buffer, Device, DeviceError, Error, Group, Max, Sum, TopK, reducer::DeviceInput,
};

use crate::{outputs, simulated};

#[test]
fn groups_that_cannot_exchange_results_are_refused() {
    let error = simulated(9).all_reducer::<f32, _>(Sum).unwrap_err();
    assert!(matches!(error, Error::TooManyDevices { devices: 9, most: 8 }), "{error:?}");
    let error = simulated(2).all_reducer::<f32, _>(TopK::<3>).unwrap_err();
    assert!(matches!(error, Error::NotExchanged { item: "f32", .. }), "{error:?}");
    let error = simulated(2).all_reducer::<i64, _>(BottomK::<8>).unwrap_err();
    assert!(matches!(error, Error::NotExchanged { item: "i64", .. }), "{error:?}");
    if let Ok(gpu) = Device::cuda(0) {
        let mixed = Group::of(&[Device::simulator(), gpu]).unwrap();
        let error = mixed.all_reducer::<f32, _>(Sum).unwrap_err();
        assert!(matches!(error, Error::NotPeers { from: 0, to: 1, .. }), "{error:?}");
    }
}

/// The position of the shard and its error, of an error of a shard.
fn of_shard(error: Error) -> (usize, Error) {
    match error {
        Error::Shard { shard, cause, .. } => (shard, *cause),
        other => panic!("{other:?} is no error of a shard"),
    }
}

#[test]
fn a_call_that_does_not_fit_is_refused() {
    let group = simulated(2);
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap();
    let shards = group.shard(&[1u32; 100]).unwrap();
    let streams = group.streams().unwrap();
    let mut totals = outputs::<u32, _>(&group, Sum);
    let is_unchanged = |totals: &[Buffer<u64>]| {
        assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [7]));
    };
    for total in &mut totals {
        total.copy_from_host(&[7]).unwrap();
    }

    let counts = [
        sum.reduce_into(&shards[..1], &mut totals, &streams).unwrap_err(),
        sum.reduce_into(&shards, &mut totals[1..], &streams).unwrap_err(),
        sum.reduce_into(&shards, &mut totals, streams.iter().chain(&streams)).unwrap_err(),
    ];
    for (error, (what, given)) in counts.iter().zip([("shards", 1), ("outputs", 1), ("streams", 4)])
    {
        assert!(
            matches!(error, Error::ShardCount { what: of, given: n, devices: 2 } if *of == what && *n == given),
            "{error:?}"
        );
    }
    is_unchanged(&totals);

    // The objects of the other device.
    let swapped = [&shards[1], &shards[0]];
    let (shard, error) = of_shard(sum.reduce_into(swapped, &mut totals, &streams).unwrap_err());
    assert!(
        matches!((shard, &error), (0, Error::Device(DeviceError::OtherDevice("buffer")))),
        "{error:?}"
    );
    let (shard, error) =
        of_shard(sum.reduce_into(&shards, &mut totals, streams.iter().rev()).unwrap_err());
    assert!(
        matches!((shard, &error), (0, Error::Device(DeviceError::OtherDevice(_)))),
        "{error:?}"
    );
    let mut wide = [group.devices()[0].alloc(1).unwrap(), group.devices()[1].alloc(2).unwrap()];
    let (shard, error) = of_shard(sum.reduce_into(&shards, &mut wide, &streams).unwrap_err());
    assert!(matches!((shard, &error), (1, Error::Output { len: 2 })), "{error:?}");
    totals.reverse();
    let (shard, error) = of_shard(sum.reduce_into(&shards, &mut totals, &streams).unwrap_err());
    assert!(
        matches!((shard, &error), (0, Error::Device(DeviceError::OtherDevice("buffer")))),
        "{error:?}"
    );
    totals.reverse();
    is_unchanged(&totals);

    // All of it works after that.
    sum.reduce_into(&shards, &mut totals, &streams).unwrap();
    assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [100]));
}

#[test]
fn no_elements_have_no_extreme() {
    let group = simulated(3);
    let shards = group.shard::<f32>(&[]).unwrap();
    let streams = group.streams().unwrap();
    let mut max = group.all_reducer::<f32, _>(Max).unwrap();
    let mut results = outputs::<f32, _>(&group, Max);
    let error = max.reduce_into(&shards, &mut results, &streams).unwrap_err();
    assert!(matches!(error, Error::Empty { .. }), "{error:?}");
    // One element is enough, wherever it is.
    for place in 0..3 {
        let values: Vec<Vec<f32>> =
            (0..3).map(|shard| if shard == place { vec![-2.5] } else { vec![] }).collect();
        let shards: Vec<_> = group
            .devices()
            .iter()
            .zip(&values)
            .map(|(device, values)| device.upload(values).unwrap())
            .collect();
        takes_inputs(&shards[0]);
        max.reduce_into(&shards, &mut results, &streams).unwrap();
        assert!(results.iter().all(|result| result.copy_to_host().unwrap() == [-2.5]));
    }
}

/// Shards are inputs of [`Device::reduce`] as well.
fn takes_inputs(_input: impl DeviceInput) {}
