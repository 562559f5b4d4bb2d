//! Devices that send each other tagged words.

use simt::Module;

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
fn expected(devices: u32, blocks: u32) -> Vec<Vec<u32>> {
    let sum = |block| (0..devices).map(|rank| 100 * rank + block + 1).sum();
    vec![(0..blocks).map(sum).collect(); devices as usize]
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
