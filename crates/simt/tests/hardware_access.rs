//! Single accesses of one warp, compared with the counts of an H100 (Nsight Compute, CUDA 13.0,
//! driver 580).
//!
//! `data/h100_one_warp_access.csv` has a row for each access. `lane_offsets` are the byte offsets
//! of the 32 lanes from a base, which is a multiple of 128 in shared memory and of 256 in global
//! memory; `-` marks an inactive lane. Accesses of 8 and 16 bytes are vectors of two and four
//! words.

use simt::{Arg, Counters, LaunchConfig, Memory, Module, count};

const TABLE: &str = include_str!("data/h100_one_warp_access.csv");
const BYTES: u32 = 32 << 10;

/// A kernel whose one warp makes the access at offsets that it reads from a table. Lanes with the
/// offset -1 do not take part.
fn kernel(space: &str, op: &str, bytes: u32) -> String {
    let (ty, vector, registers) = match bytes {
        1 => ("u8", "", "%r10"),
        2 => ("u16", "", "%r10"),
        4 => ("u32", "", "%r10"),
        8 if op == "atom" || op == "red" => ("u64", "", "%rd10"),
        8 => ("u32", ".v2", "{%r10, %r11}"),
        16 => ("u32", ".v4", "{%r10, %r11, %r12, %r13}"),
        _ => panic!("no access has {bytes} bytes"),
    };
    let access = match op {
        "ld" => format!("ld.{space}{vector}.{ty} {registers}, [%rd5];"),
        "st" => format!("st.{space}{vector}.{ty} [%rd5], {registers};"),
        "red" => format!("red.{space}.add.{ty} [%rd5], {registers};"),
        "atom" if bytes == 8 => {
            format!("atom.{space}.add.{ty} %rd11, [%rd5], %rd10; st.global.u64 [%rd2], %rd11;")
        }
        "atom" => format!("atom.{space}.add.{ty} %r11, [%rd5], %r10; st.global.u32 [%rd2], %r11;"),
        _ => panic!("no access is called {op}"),
    };
    let base = if space == "shared" { "mov.u64 %rd4, tile;" } else { "ld.param.u64 %rd4, [data];" };
    format!(
        ".version 7.0
        .target sm_75
        .address_size 64
        .visible .entry access(.param .u64 offsets, .param .u64 data) {{
            .reg .pred %p<2>;
            .reg .b32 %r<16>;
            .reg .b64 %rd<16>;
            .shared .align 128 .b8 tile[{BYTES}];
            ld.param.u64 %rd1, [offsets];
            {base}
            mov.u32 %r1, %tid.x;
            mul.wide.u32 %rd2, %r1, 4;
            add.s64 %rd2, %rd1, %rd2;
            ld.global.s32 %rd3, [%rd2];
            add.s64 %rd5, %rd4, %rd3;
            add.s64 %rd2, %rd1, 256;
            setp.lt.s64 %p1, %rd3, 0;
            @%p1 bra done;
            {access}
        done:
            ret;
        }}"
    )
}

/// The counters of the access alone.
fn run(space: &str, op: &str, bytes: u32, offsets: &[i32]) -> Counters {
    let text = kernel(space, op, bytes);
    let module =
        Module::from_ptx("access.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let memory = Memory::new(1 << 20);
    let table = memory.alloc(512).unwrap();
    let data = memory.alloc(u64::from(BYTES)).unwrap();
    let bytes_of: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    memory.write(table, &bytes_of).unwrap();
    let args = [Arg::Pointer(table), Arg::Pointer(data)];
    let profile =
        count(module.kernel("access").unwrap(), &LaunchConfig::new(1, 32), &args, &memory).unwrap();
    let access =
        profile.instructions.iter().find(|instruction| instruction.text.contains("[%rd5]"));
    access.expect("the access is in the text").counters
}

#[test]
fn every_access_counts_as_on_an_h100() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for row in TABLE.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [space, op, bytes, _, offsets, requests, sectors, wavefronts, conflicts] = fields[..]
        else {
            panic!("a row has nine fields: {row}");
        };
        let offsets: Vec<i32> =
            offsets.split(' ').map(|offset| offset.parse().unwrap_or(-1)).collect();
        assert_eq!(offsets.len(), 32, "{row}");
        let Counters { global, shared, .. } = run(space, op, bytes.parse().unwrap(), &offsets);
        let counted = match (space, op) {
            ("global", op) => {
                let traffic = match op {
                    "ld" => global.load,
                    "st" => global.store,
                    "atom" => global.atomic,
                    _ => global.reduction,
                };
                [traffic.requests, traffic.sectors]
                    .into_iter()
                    .zip([requests, sectors])
                    .map(|(counted, hardware)| (counted, hardware.parse::<u64>().unwrap()))
                    .collect::<Vec<_>>()
            }
            (_, op) => {
                let banks = match op {
                    "ld" => shared.load,
                    "st" => shared.store,
                    _ => shared.atomic,
                };
                [banks.requests, banks.wavefronts, banks.bank_conflicts]
                    .into_iter()
                    .zip([requests, wavefronts, conflicts])
                    .map(|(counted, hardware)| (counted, hardware.parse::<u64>().unwrap()))
                    .collect()
            }
        };
        rows += 1;
        if counted.iter().any(|(counted, hardware)| counted != hardware) {
            wrong.push(format!("{counted:?} (simulator, H100): {row}"));
        }
    }
    assert_eq!(rows, 323, "rows of the table");
    assert!(wrong.is_empty(), "{} of {rows} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
