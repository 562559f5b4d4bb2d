//! What carries results between devices.

use warpfold::{Device, DeviceError, Error, Group, Sum, Transport, device::Link};

use crate::{gpus, gpus_with_nccl, outputs, simulated};

#[test]
fn simulators_use_the_memory_of_peers() {
    let group = simulated(3);
    assert_eq!(group.link(2, 0).unwrap(), Some(Link::Simulated));
    assert_eq!(group.link(1, 1).unwrap(), None);
    assert_eq!(group.transport().unwrap(), Transport::Peers);
    let peers = group.clone().with_transport(Transport::Peers);
    assert_eq!(peers.transport().unwrap(), Transport::Peers);
    let nccl = group.with_transport(Transport::Nccl);
    for error in
        [nccl.transport().unwrap_err(), nccl.all_reducer::<f32, _>(Sum).map(drop).unwrap_err()]
    {
        assert!(
            matches!(&error, Error::NoNccl { reason } if reason.contains("simulated")),
            "{error:?}"
        );
    }
    // The group does all that needs no transport.
    assert_eq!(nccl.reduce(&nccl.shard(&[1u32; 50]).unwrap(), Sum).unwrap(), 50);
}

#[test]
fn a_gpu_and_a_simulator_are_apart() {
    let Some(group) = gpus() else { return };
    let mixed = Group::of(&[group.devices()[0].clone(), Device::simulator()]).unwrap();
    assert_eq!(mixed.link(0, 1).unwrap(), Some(Link::Apart));
    assert_eq!(mixed.link(1, 0).unwrap(), Some(Link::Apart));
    let error = mixed.transport().unwrap_err();
    assert!(
        matches!(&error, Error::NotPeers { from: 0, to: 1, nccl } if nccl.contains("simulated")),
        "{error:?}"
    );
    let peers = mixed.with_transport(Transport::Peers);
    assert!(matches!(peers.transport(), Err(Error::NotPeers { .. })));
}

#[test]
fn gpus_say_how_they_are_connected() {
    let Some(group) = gpus() else { return };
    let link = group.link(0, 1).unwrap().unwrap();
    assert_ne!(link, Link::Simulated);
    assert_eq!(group.link(1, 0).unwrap(), Some(link));
    if link != Link::Apart && group.devices().len() == 2 {
        assert_eq!(group.transport().unwrap(), Transport::Peers);
    }
}

#[test]
fn graphs_do_not_capture_nccl() {
    let Some(group) = gpus_with_nccl() else { return };
    let shards = group.shard(&[1u32; 1000]).unwrap();
    let mut totals = outputs::<u32, _>(&group, Sum);
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap();
    let captured = group.capture(|streams| {
        sum.reduce_into(&shards, &mut totals, streams.iter().copied()).map(drop)
    });
    let Err(Error::Shard { shard: 0, cause, .. }) = captured else { panic!("{captured:?}") };
    assert!(matches!(*cause, Error::Device(DeviceError::Capturing { .. })), "{cause:?}");
    // The reducer goes on working.
    let streams = group.streams().unwrap();
    let pending = sum.reduce_into(&shards, &mut totals, &streams).unwrap();
    sum.check().unwrap();
    for total in &totals {
        assert_eq!(pending.finish(total.copy_to_host().unwrap()[0]).unwrap(), 1000);
    }
}
