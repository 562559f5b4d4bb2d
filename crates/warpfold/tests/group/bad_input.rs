//! What a group refuses. Each error names the shard that is meant.

use warpfold::{Device, DeviceError, Dot, Error, Group, Max, Sum};

use crate::{simulated, support::devices};

#[test]
fn a_group_has_devices_and_each_once() {
    assert!(matches!(Group::of(&[]), Err(Error::NoDevices)));
    for device in devices() {
        let others = [Device::simulator(), device.clone(), device.clone()];
        let twice = Group::of(&others).unwrap_err();
        assert!(matches!(twice, Error::SameDevice { first: 1, second: 2 }), "{twice:?}");
        assert_eq!(twice.to_string(), "devices 1 and 2 of the group are the same one");
        // A device that was opened again is the same GPU.
        if let Some(ordinal) = device.info().ordinal {
            let again = Device::cuda(ordinal).unwrap();
            assert!(matches!(Group::of(&[device, again]), Err(Error::SameDevice { .. })));
        }
    }
}

#[test]
fn all_gpus_are_a_group_if_there_is_one() {
    match (Device::all().unwrap().len(), Group::all()) {
        (0, Err(Error::NoDevices)) => {}
        (gpus, Ok(group)) => assert_eq!(group.devices().len(), gpus),
        (gpus, group) => panic!("{group:?} with {gpus} GPUs"),
    }
}

#[test]
fn each_device_has_one_shard() {
    let group = simulated(3);
    let values = [1u32; 10];
    for shards in [0, 1, 2, 4] {
        let error = group.reduce(vec![&values[..]; shards], Sum).unwrap_err();
        assert!(
            matches!(error, Error::ShardCount { what: "shards", given, devices: 3 } if given == shards),
            "{error:?}"
        );
    }
}

#[test]
fn no_elements_have_no_maximum() {
    let group = simulated(3);
    let none: [&[i64]; 3] = [&[]; 3];
    assert!(matches!(group.reduce(none, Max), Err(Error::Empty { op: "maximum" })));
    assert_eq!(group.reduce(none, Sum).unwrap(), 0);
    assert_eq!(group.reduce([&[], &[-5i64][..], &[]], Max).unwrap(), -5);
}

fn of_shard(error: Error, expected: usize) -> Error {
    let text = error.to_string();
    let Error::Shard { shard, device, cause } = error else { panic!("{error:?}") };
    assert_eq!(shard, expected);
    assert_eq!(text, format!("shard {shard}, on {device}: {cause}"));
    *cause
}

#[test]
fn a_wrong_shard_is_named() {
    let group = simulated(3);
    let mut shards = group.shard(&[1.0f32; 100]).unwrap();
    // Memory of another device of the same group is refused too.
    shards.swap(1, 2);
    let cause = of_shard(group.reduce(&shards, Sum).unwrap_err(), 1);
    assert!(matches!(cause, Error::Device(DeviceError::OtherDevice("buffer"))), "{cause:?}");
    shards.swap(1, 2);
    assert_eq!(group.reduce(&shards, Sum).unwrap(), 100.0);

    let (long, short) = ([1.0f32; 5], [1.0f32; 4]);
    let pairs = [(&long[..], &long[..]), (&short[..], &short[..]), (&long[..], &short[..])];
    let cause = of_shard(group.reduce(pairs, Dot).unwrap_err(), 2);
    assert!(matches!(cause, Error::Lengths { first: 5, second: 4 }), "{cause:?}");
}
