//! Allocations that several memories share.

use simt::{
    Arg, FaultKind, LaunchConfig, LaunchError, Memory, MemoryError, ReportKind, TogetherError,
    check_together, launch,
};

use crate::{Devices, config, kernel};

/// Each device stores its rank in the inbox of the next device.
const STORE: &str = "st.global.u32 [%d13], %r13;";

#[test]
fn it_counts_for_its_owner_alone() {
    let [first, second] = [Memory::new(100), Memory::new(10)];
    let address = Memory::alloc_shared(&[&first, &second, &first, &second], 60).unwrap();
    assert_eq!(address % 256, 0);
    assert_eq!((first.used(), second.used()), (60, 0));
    let too_much = MemoryError::OutOfMemory { asked: 60, free: 40, capacity: 100 };
    assert_eq!(Memory::alloc_shared(&[&first, &second], 60), Err(too_much));
    let too_small = MemoryError::OutOfMemory { asked: 60, free: 10, capacity: 10 };
    assert_eq!(Memory::alloc_shared(&[&second, &first], 60), Err(too_small));
    let too_large = Memory::alloc_shared(&[&Memory::new(u64::MAX)], u64::MAX);
    assert!(matches!(too_large, Err(MemoryError::OutOfMemory { .. })), "{too_large:?}");
    assert_eq!(Memory::alloc_shared(&[], 1), Err(MemoryError::NoMemory));
    assert_eq!(Memory::alloc_shared(&[&first], 0), Err(MemoryError::ZeroBytes));
    assert_eq!(
        first.alloc(41),
        Err(MemoryError::OutOfMemory { asked: 41, free: 40, capacity: 100 })
    );
}

#[test]
fn each_memory_frees_its_own_view() {
    let [first, second] = [Memory::new(100), Memory::new(100)];
    let address = Memory::alloc_shared(&[&first, &second], 8).unwrap();
    first.write(address, &[1; 8]).unwrap();
    first.free(address).unwrap();
    assert_eq!((first.used(), second.used()), (0, 0));
    assert_eq!(first.free(address), Err(MemoryError::NotAnAllocation { address }));
    let mut bytes = [0; 8];
    assert!(first.read(address, &mut bytes).is_err());
    second.read(address, &mut bytes).unwrap();
    assert_eq!(bytes, [1; 8]);
    second.free(address).unwrap();
    assert_eq!(second.used(), 0);
    assert!(second.read(address, &mut bytes).is_err());
    // The address is not used again.
    assert_ne!(Memory::alloc_shared(&[&first, &second], 8).unwrap(), address);
}

#[test]
fn addresses_differ_between_all_memories() {
    let memories = [(); 3].map(|()| Memory::new(1 << 20));
    let shared: Vec<u64> = (0..3)
        .map(|i| Memory::alloc_shared(&[&memories[i], &memories[(i + 1) % 3]], 1000).unwrap())
        .collect();
    assert!(shared.windows(2).all(|pair| pair[0] + 1000 < pair[1]));
    // A memory that is not in the list does not see the allocation.
    for (i, address) in shared.iter().enumerate() {
        let outside = &memories[(i + 2) % 3];
        let refused = MemoryError::OutOfBounds { address: *address, bytes: 4 };
        assert_eq!(outside.write(*address, &[0; 4]), Err(refused));
    }
}

#[test]
fn use_after_free_and_misses_are_faults() {
    let module = [kernel(STORE)];
    let devices = Devices::new(2);
    devices.memories[0].free(devices.inboxes[1]).unwrap();
    let base = devices.inboxes[1];
    let error = devices.run(&module, &[config(1, 1, None)]).unwrap_err();
    let TogetherError { launch: 0, error: LaunchError::Fault(fault), .. } = error else {
        panic!("{error}");
    };
    assert!(matches!(fault.kind, FaultKind::Freed { address, .. } if address == base), "{fault}");
    // The owner still reaches it.
    devices.memories[1].write(base, &[0; 4]).unwrap();

    let beyond = [kernel("st.global.u32 [%d13+2048], %r13;")];
    let error = Devices::new(2).run(&beyond, &[config(1, 1, None)]).unwrap_err();
    let LaunchError::Fault(fault) = error.error else { panic!("{error}") };
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
}

#[test]
fn the_record_of_written_bytes_is_shared_too() {
    // Device 0 has a record of its own, and device 1 has none.
    let memories = [Memory::checked(1 << 20), Memory::new(1 << 20)];
    let module = kernel("ld.global.u32 %r1, [%d12]; st.global.u32 [%d11], %r1;");
    let shared = || Memory::alloc_shared(&[&memories[1], &memories[0]], 8).unwrap();
    let args = |inbox: u64| {
        let memory = &memories[1];
        let (table, out) = (memory.alloc(16).unwrap(), memory.alloc(8).unwrap());
        memory.write(table, &[inbox.to_le_bytes(), inbox.to_le_bytes()].concat()).unwrap();
        [table, out].map(Arg::Pointer).into_iter().chain([0, 2, 7].map(Arg::U32)).collect()
    };
    let kernel = module.kernel("k").unwrap();
    let config = LaunchConfig::new(1, 1);
    let kinds = |inbox: u64| -> Vec<ReportKind> {
        let args: Vec<Arg> = args(inbox);
        let launch = simt::Together { kernel, config: &config, args: &args, memory: &memories[1] };
        let checked = check_together(&[launch]).unwrap();
        checked.reports.iter().map(|report| report.kind).collect()
    };
    let inbox = shared();
    assert!(kinds(inbox).contains(&ReportKind::UninitializedRead));
    memories[0].write(inbox, &[0; 8]).unwrap();
    assert_eq!(kinds(inbox), []);
    // A launch that is not checked counts as having written everything that it reaches.
    let inbox = shared();
    launch(kernel, &config, &args(inbox), &memories[1]).unwrap();
    assert_eq!(kinds(inbox), []);
}
