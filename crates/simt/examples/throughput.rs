//! How fast the simulator runs a block-wise tree reduction of 2^22 integers: `cargo run --example throughput`.

use std::time::Instant;

use simt::{Arg, LaunchConfig, Memory, Module, launch};

const KERNEL: &str = "
.version 7.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry tree(.param .u64 input, .param .u64 output) {
    .reg .pred %p<3>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd1, [input];
    ld.param.u64 %rd2, [output];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    shl.b32 %r4, %r3, 1;
    mad.lo.s32 %r5, %r2, %r4, %r1;
    add.s32 %r6, %r5, %r3;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r7, [%rd4];
    mul.wide.u32 %rd5, %r6, 4;
    add.s64 %rd6, %rd1, %rd5;
    ld.global.u32 %r8, [%rd6];
    add.s32 %r9, %r7, %r8;
    mov.u32 %r10, tile;
    shl.b32 %r11, %r1, 2;
    add.s32 %r12, %r10, %r11;
    st.shared.u32 [%r12], %r9;
    bar.sync 0;
    shr.u32 %r13, %r3, 1;
step:
    setp.ge.u32 %p1, %r1, %r13;
    @%p1 bra wait;
    shl.b32 %r14, %r13, 2;
    add.s32 %r14, %r12, %r14;
    ld.shared.u32 %r15, [%r14];
    add.s32 %r9, %r9, %r15;
    st.shared.u32 [%r12], %r9;
wait:
    bar.sync 0;
    shr.u32 %r13, %r13, 1;
    setp.ne.u32 %p2, %r13, 0;
    @%p2 bra step;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra done;
    mul.wide.u32 %rd7, %r2, 4;
    add.s64 %rd8, %rd2, %rd7;
    st.global.u32 [%rd8], %r9;
done:
    ret;
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<u32> = (0..1 << 22).collect();
    let module = Module::from_ptx("throughput.ptx", KERNEL)?;
    let kernel = module.kernel("tree").ok_or("no kernel `tree`")?;
    let memory = Memory::new(1 << 30);
    let input = memory.alloc(values.len() as u64 * 4)?;
    memory.write(input, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    let blocks = values.len() as u32 / 512;
    let output = memory.alloc(u64::from(blocks) * 4)?;
    let config = LaunchConfig { dynamic_shared_bytes: 1024, ..LaunchConfig::new(blocks, 256) };
    for _ in 0..3 {
        let begin = Instant::now();
        launch(kernel, &config, &[Arg::Pointer(input), Arg::Pointer(output)], &memory)?;
        println!("{blocks} blocks of 256 threads in {:.1?}", begin.elapsed());
    }
    let mut bytes = vec![0; blocks as usize * 4];
    memory.read(output, &mut bytes)?;
    let partial = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let expected = values.iter().copied().fold(0, u32::wrapping_add);
    assert_eq!(partial.fold(0, u32::wrapping_add), expected);
    Ok(())
}
