//! Devices that send each other tagged words.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};

use simt::{Arg, LaunchConfig, Memory, Module, Together, launch, launch_together};

use crate::{Devices, config, kernel, seeds};

/// The instructions that send a word and that look for one.
pub(crate) const POST: &str = "st.relaxed.sys.global.u64 [%d4], %d5;";
pub(crate) const POLL: &str = "ld.relaxed.sys.global.u64 %d8, [%d7];";

/// Thread t of block b sends 100 * rank + b + 1 to device t, and waits for the word of device t.
/// The block leaves the sum of the words that it got in its word of `out`.
pub(crate) fn exchange(post: &str, poll: &str) -> Module {
    kernel(&format!(
        "mov.u32 %r5, 0;
        setp.ge.u32 %p1, %r10, %r14;
        @%p1 bra sum;
        mul.wide.u32 %d2, %r10, 8;
        add.u64 %d2, %d10, %d2;
        ld.global.u64 %d3, [%d2];
        mad.lo.u32 %r1, %r11, 4, %r13;
        mul.wide.u32 %d4, %r1, 8;
        add.u64 %d4, %d3, %d4;
        mad.lo.u32 %r2, %r13, 100, %r11;
        add.u32 %r2, %r2, 1;
        mov.b64 %d5, {{%r2, %r15}};
        {post}
        mad.lo.u32 %r1, %r11, 4, %r10;
        mul.wide.u32 %d7, %r1, 8;
        add.u64 %d7, %d12, %d7;
    poll:
        {poll}
        mov.b64 {{%r5, %r6}}, %d8;
        setp.ne.u32 %p2, %r6, %r15;
        @%p2 bra poll;
    sum:
        redux.sync.add.u32 %r7, %r5, -1;
        setp.eq.u32 %p3, %r10, 0;
        mul.wide.u32 %d9, %r11, 4;
        add.u64 %d9, %d11, %d9;
        @%p3 st.global.u32 [%d9], %r7;"
    ))
}

/// The words that [`exchange`] leaves on each device.
pub(crate) fn expected(devices: u32, blocks: u32) -> Vec<Vec<u32>> {
    let sum = |block| (0..devices).map(|rank| 100 * rank + block + 1).sum();
    vec![(0..blocks).map(sum).collect(); devices as usize]
}

/// Two devices send each other the numbers 1 to 8, round after round, through so many slots. Each
/// device adds up what it gets; a word of a later round passes for one of an earlier round.
fn rounds(slots: u32) -> Module {
    kernel(&format!(
        "setp.ne.u32 %p1, %r10, 0;
        @%p1 bra done;
        mov.u32 %r1, 1;
        mov.u32 %r5, 0;
    next:
        rem.u32 %r2, %r1, {slots};
        mul.wide.u32 %d2, %r2, 8;
        add.u64 %d3, %d13, %d2;
        mov.b64 %d5, {{%r1, %r1}};
        st.relaxed.sys.global.u64 [%d3], %d5;
        add.u64 %d4, %d12, %d2;
    poll:
        ld.relaxed.sys.global.u64 %d6, [%d4];
        mov.b64 {{%r3, %r4}}, %d6;
        setp.lt.u32 %p2, %r4, %r1;
        @%p2 bra poll;
        add.u32 %r5, %r5, %r3;
        add.u32 %r1, %r1, 1;
        setp.le.u32 %p3, %r1, 8;
        @%p3 bra next;
        st.global.u32 [%d11], %r5;
    done:"
    ))
}

#[test]
fn devices_exchange_words_in_any_order() {
    let module = [exchange(POST, POLL)];
    for count in 1..=4 {
        for (workers, seed) in (1..=3).flat_map(|workers| seeds().map(move |seed| (workers, seed)))
        {
            let devices = Devices::new(count);
            devices
                .run(&module, &[config(5, workers, seed)])
                .unwrap_or_else(|error| panic!("{count}, {workers} workers, {seed:?}: {error}"));
            assert_eq!(
                devices.words(5),
                expected(count as u32, 5),
                "{count} devices, {workers} workers, seed {seed:?}"
            );
        }
    }
}

#[test]
fn many_blocks_wait_for_blocks_of_the_peer_with_the_same_number() {
    // Of 60 blocks, 4 of each device are in flight on one worker when no block has its word yet.
    let module = [exchange(POST, POLL)];
    for workers in [1, 3] {
        let devices = Devices::new(3);
        devices.run(&module, &[config(60, workers, None)]).unwrap();
        assert_eq!(devices.words(60), expected(3, 60));
    }
}

#[test]
fn grids_kernels_and_seeds_may_differ() {
    // The middle device sends its words from blocks of another kernel, and waits for nobody.
    let sender = kernel(
        "setp.ge.u32 %p1, %r10, %r14;
        @%p1 bra done;
        mul.wide.u32 %d2, %r10, 8;
        add.u64 %d2, %d10, %d2;
        ld.global.u64 %d3, [%d2];
        rem.u32 %r3, %r11, 5;
        mad.lo.u32 %r1, %r3, 4, %r13;
        mul.wide.u32 %d4, %r1, 8;
        add.u64 %d4, %d3, %d4;
        mad.lo.u32 %r2, %r13, 100, %r3;
        add.u32 %r2, %r2, 1;
        mov.b64 %d5, {%r2, %r15};
        st.relaxed.sys.global.u64 [%d4], %d5;
    done:",
    );
    let modules = [exchange(POST, POLL), sender, exchange(POST, POLL)];
    for seeds in [[None; 3], [None, Some(3), None], [Some(1), Some(2), Some(3)]] {
        let configs: Vec<LaunchConfig> = [(5, 2), (20, 1), (5, 3)]
            .into_iter()
            .zip(seeds)
            .map(|((blocks, workers), seed)| config(blocks, workers, seed))
            .collect();
        let devices = Devices::new(3);
        devices.run(&modules, &configs).unwrap();
        let words = devices.words(5);
        assert_eq!([&words[0], &words[2]], [&expected(3, 5)[0]; 2]);
        let (kinds, text) = Devices::new(3).check(&modules, &configs);
        assert!(kinds.is_empty(), "{text}");
    }
}

#[test]
fn one_launch_is_an_ordinary_launch() {
    let module = exchange(POST, POLL);
    for (workers, seed) in (1..=2).flat_map(|workers| seeds().map(move |seed| (workers, seed))) {
        let config = config(7, workers, seed);
        let together = Devices::new(1);
        together.run(std::slice::from_ref(&module), &[config]).unwrap();
        let alone = Devices::new(1);
        launch(module.kernel("k").unwrap(), &config, &alone.args[0], &alone.memories[0]).unwrap();
        assert_eq!(together.words(7), alone.words(7));
    }
}

#[test]
fn no_launch_is_nothing() {
    assert_eq!(launch_together(&[]), Ok(()));
}

/// Runs two devices whose blocks take numbers from a counter that the devices share. Returns the
/// number that each block of each device got.
fn order(blocks: [u32; 2], seeds: [Option<u64>; 2]) -> [Vec<u32>; 2] {
    let module = kernel(
        "setp.ne.u32 %p1, %r10, 0;
        @%p1 bra done;
        ld.global.u64 %d1, [%d10];
        atom.relaxed.sys.global.add.u32 %r1, [%d1], 1;
        mul.wide.u32 %d2, %r11, 4;
        add.u64 %d2, %d11, %d2;
        st.global.u32 [%d2], %r1;
    done:",
    );
    let devices = Devices::new(2);
    let configs = [0, 1].map(|device| config(blocks[device], 1, seeds[device]));
    devices.run(&[module], &configs).unwrap();
    [0, 1].map(|device| devices.words(blocks[device] as usize)[device].clone())
}

#[test]
fn blocks_start_in_turn() {
    assert_eq!(order([3, 5], [None; 2]), [vec![0, 2, 4], vec![1, 3, 5, 6, 7]]);
    assert_eq!(order([2, 1], [None; 2]), [vec![0, 2], vec![1]]);
}

#[test]
fn either_device_may_be_first() {
    let order = |seeds| order([1, 1], seeds).concat();
    let orders: BTreeSet<_> = (0..16).map(|seed| order([Some(seed); 2])).collect();
    assert_eq!(orders, [vec![0, 1], vec![1, 0]].into());
    // The seed of one launch mixes the order of both, and stands for one order.
    for seeds in (0..16).flat_map(|seed| [[Some(seed), None], [None, Some(seed)]]) {
        assert_eq!(order(seeds), order(seeds));
    }
    assert!((0..16).any(|seed| order([None, Some(seed)]) == [1, 0]));
}

#[test]
fn a_slot_that_is_used_again_too_early_gives_a_wrong_sum_with_some_seed() {
    let sums = |slots| -> Vec<Vec<u32>> {
        let module = [rounds(slots)];
        let sum = |seed| {
            let devices = Devices::new(2);
            let (kinds, text) = devices.check(&module, &[config(1, 1, seed)]);
            assert!(kinds.is_empty(), "{text}");
            devices.words(1).concat()
        };
        seeds().map(sum).collect()
    };
    // With two slots, a device writes to a slot again only after it has got the peer's answer.
    assert!(sums(2).iter().all(|sums| *sums == [36, 36]), "{:?}", sums(2));
    assert!(sums(1).iter().any(|sums| *sums != [36, 36]), "{:?}", sums(1));
}

#[test]
fn launches_of_one_memory_run_on_one_device() {
    let module = exchange(POST, POLL);
    let devices = Devices::new(1);
    let table = devices.memories[0].alloc(16).unwrap();
    let inboxes: Vec<u64> =
        (0..2).map(|_| devices.memories[0].alloc(crate::WORDS as u64 * 8).unwrap()).collect();
    let bytes: Vec<u8> = inboxes.iter().flat_map(|inbox| inbox.to_le_bytes()).collect();
    devices.memories[0].write(table, &bytes).unwrap();
    let outs = [0, 1].map(|_| devices.memories[0].alloc(64).unwrap());
    let args = [0, 1].map(|rank: u32| {
        [
            Arg::Pointer(table),
            Arg::Pointer(outs[rank as usize]),
            Arg::U32(rank),
            Arg::U32(2),
            Arg::U32(crate::TAG),
        ]
    });
    let config: LaunchConfig = config(3, 2, None);
    let memory: &Memory = &devices.memories[0];
    let kernel = module.kernel("k").unwrap();
    launch_together(&[0, 1].map(|rank| Together {
        kernel,
        config: &config,
        args: &args[rank],
        memory,
    }))
    .unwrap();
    for out in outs {
        let mut bytes = [0; 12];
        memory.read(out, &mut bytes).unwrap();
        let words: Vec<u32> =
            bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert_eq!(words, expected(2, 3)[0]);
    }
}

/// A sink that sends each text on.
struct Sink(Sender<Vec<u8>>);

impl Write for Sink {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.send(text.to_vec()).map_err(io::Error::other)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn variables_and_texts_belong_to_each_device() {
    // Each block adds 1 to a variable of the module, and prints the letter of this number.
    let module = Module::from_ptx(
        "k.ptx",
        ".version 8.6
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 4 .u32 blocks = 64;
.global .align 4 .b8 text[4];
.visible .entry k() {
.reg .b32 %r<3>;
.reg .b64 %d<3>;
.param .b64 format; .param .b64 arguments; .param .b32 count;
atom.global.add.u32 %r1, [blocks], 1;
add.u32 %r1, %r1, 1;
mov.u64 %d1, text;
st.global.u32 [%d1], %r1;
st.param.b64 [format], %d1;
st.param.b64 [arguments], 0;
call (count), vprintf, (format, arguments);
ret;
}",
    )
    .unwrap();
    let mut memories = [(); 2].map(|()| Memory::new(1 << 20));
    let receivers = memories.each_mut().map(|memory| {
        let (sender, receiver) = channel();
        memory.print_to(Sink(sender));
        receiver
    });
    let configs = [3, 2].map(|blocks| LaunchConfig { block: 1.into(), ..config(blocks, 1, None) });
    let kernel = module.kernel("k").unwrap();
    launch_together(&[0, 1].map(|device| Together {
        kernel,
        config: &configs[device],
        args: &[],
        memory: &memories[device],
    }))
    .unwrap();
    let texts = receivers.map(|receiver| String::from_utf8(receiver.recv().unwrap()).unwrap());
    assert_eq!(texts, ["ABC", "AB"]);
}
