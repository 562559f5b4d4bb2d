//! Tests of memory access on every device: the counters of each pattern follow from its geometry,
//! and its results are right.

mod support;

use std::sync::atomic::AtomicBool;

use support::{devices, library};
use warpfold_lab::{
    access::{AccessError, EXP_ULPS, Lab, Pattern, Request, SIN_ULPS, Section, Sweep},
    device::{Arg, Device, DeviceError, DeviceKind, Instrument, LaunchShape},
    output::{Cell, Table},
    ptx::PtxLibrary,
    reduce::Runs,
};

fn counted(pattern: Pattern, request: Request) -> Section {
    let counter = Device::simulator_with(Instrument::Count);
    Lab::new(&library(), &counter, None, request)
        .run(pattern)
        .unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// The values of the column with this key. A missing value is NaN, which agrees with nothing.
fn column(table: &Table, key: &str) -> Vec<f64> {
    let index = table.columns.iter().position(|column| column.key == key);
    let index = index.unwrap_or_else(|| panic!("{} has no column {key}", table.id));
    let number = |cell: &Cell| match *cell {
        Cell::Integer(value) => value as f64,
        Cell::Number { value, .. } => value,
        Cell::Missing => f64::NAN,
        ref other @ Cell::Text(_) => panic!("{}: {key} is {other:?}", table.id),
    };
    table.rows.iter().map(|row| number(&row[index])).collect()
}

fn sweep(first: u32, last: u32) -> Request {
    Request { sweep: Some(Sweep { first, last }), ..Request::default() }
}

/// The number of distinct 32-byte sectors in which these words lie. A request takes exactly these
/// sectors.
fn sectors(words: impl Iterator<Item = u64>) -> u64 {
    let mut sectors: Vec<_> = words.map(|word| word * 4 / 32).collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors.len() as u64
}

/// Asserts exact equality.
fn assert_same(found: &[f64], expected: impl IntoIterator<Item = u64>, what: &str) {
    let expected: Vec<f64> = expected.into_iter().map(|value| value as f64).collect();
    assert_eq!(found, expected, "{what}");
}

const SECTOR_COLUMNS: [&str; 3] =
    ["read_sectors_per_request", "copy_load_sectors_per_request", "copy_store_sectors_per_request"];

#[test]
fn an_offset_costs_a_fifth_sector_unless_it_is_of_whole_sectors() {
    let section = counted(Pattern::Offset, sweep(0, 41));
    for key in SECTOR_COLUMNS {
        let expected = (0..=41).map(|offset| if offset % 8 == 0 { 4 } else { 5 });
        assert_same(&column(&section.tables[0], key), expected, key);
    }
    let expected = (0..=41).map(|offset| sectors(offset..offset + 32));
    assert_same(&column(&section.tables[0], SECTOR_COLUMNS[0]), expected, "sectors of 32 words");
}

#[test]
fn a_stride_takes_the_sectors_that_it_reaches_over() {
    let section = counted(Pattern::Stride, sweep(1, 64));
    for key in SECTOR_COLUMNS {
        // The last of 32 words lies 31 strides behind the first. From a stride of 8 words on, each
        // word has a sector of its own.
        let expected =
            (1..=64).map(|stride: u64| if stride < 8 { 31 * stride / 8 + 1 } else { 32 });
        assert_same(&column(&section.tables[0], key), expected, key);
    }
    let expected = (1..=64).map(|stride| sectors((0..32).map(|lane| lane * stride)));
    assert_same(&column(&section.tables[0], SECTOR_COLUMNS[0]), expected, "sectors of 32 words");
}

#[test]
fn no_order_within_a_warp_costs_anything() {
    for seed in [0, 1, 77, u32::MAX] {
        let section = counted(Pattern::Permuted, Request { seed, ..Request::default() });
        for key in SECTOR_COLUMNS {
            assert_same(&column(&section.tables[0], key), [4; 5], &format!("{key}, seed {seed}"));
        }
    }
}

#[test]
fn wide_accesses_take_as_many_sectors_as_bytes_need_and_fewer_instructions() {
    let section = counted(Pattern::Width, Request::default());
    for key in SECTOR_COLUMNS {
        assert_same(&column(&section.tables[0], key), [4, 8, 16], key);
    }
    let instructions = column(&section.tables[0], "read_instructions_per_word");
    assert!(instructions.is_sorted_by(|a, b| a > b), "{instructions:?}");
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn shared_strides_conflict_as_often_as_they_share_a_divisor_with_32() {
    let section = counted(Pattern::SharedStride, sweep(1, 40));
    let table = &section.tables[0];
    assert_same(
        &column(table, "conflicts_per_request"),
        (1..=40).map(|stride| gcd(stride, 32) - 1),
        "conflicts",
    );
    assert_same(
        &column(table, "wavefronts_per_request"),
        (1..=40).map(|stride| gcd(stride, 32)),
        "wavefronts",
    );
    for (stride, conflicts) in (1..).zip(column(table, "conflicts_per_request")) {
        assert_eq!(
            stride % 2 == 1,
            conflicts == 0.0,
            "the lecture: no conflicts if {stride} is odd"
        );
    }
}

#[test]
fn offsets_and_broadcasts_in_shared_memory_do_not_conflict() {
    for (pattern, rows) in [(Pattern::SharedOffset, 33), (Pattern::Broadcast, 9)] {
        let section = counted(pattern, Request::default());
        assert_same(
            &column(&section.tables[0], "conflicts_per_request"),
            vec![0; rows],
            pattern.name(),
        );
        assert_same(
            &column(&section.tables[0], "wavefronts_per_request"),
            vec![1; rows],
            pattern.name(),
        );
    }
}

#[test]
fn constants_are_served_word_by_word() {
    let section = counted(Pattern::Constant, Request::default());
    assert_same(&column(&section.tables[0], "words_per_request"), 1..=32, "words");
}

#[test]
fn unrolling_takes_instructions_and_branches_away() {
    let section = counted(Pattern::Unroll, Request::default());
    for key in ["instructions_per_word", "branches_per_word"] {
        let each = column(&section.tables[0], key);
        assert!(each.is_sorted_by(|a, b| a > b), "{key}: {each:?}");
    }
    // A thread has 64 words. It makes 64 / U iterations with one branch each, and there are a few
    // branches around the loops.
    for (unrolled, branches) in
        [1.0, 2.0, 4.0, 8.0].into_iter().zip(column(&section.tables[0], "branches_per_word"))
    {
        assert!(
            (1.0 / unrolled..1.0 / unrolled + 0.1).contains(&branches),
            "{unrolled}: {branches}"
        );
    }
}

#[test]
fn functions_are_as_precise_as_promised_and_fast_ones_shorter() {
    let section = counted(Pattern::Math, Request::default());
    let table = &section.tables[0];
    let (errors, instructions) = (column(table, "max_ulp"), column(table, "instructions"));
    assert!(errors[1] <= SIN_ULPS && errors[3] <= EXP_ULPS, "{errors:?}");
    // The simulator's approximations say nothing of a GPU's.
    assert!(errors[0].is_nan() && errors[2].is_nan(), "{errors:?}");
    let machine = column(table, "sass_instructions");
    assert!(machine[0] * 3.0 < machine[1] && machine[2] * 3.0 < machine[3], "{machine:?}");
    assert!(
        instructions[0] * 3.0 < instructions[1] && instructions[2] * 3.0 < instructions[3],
        "{instructions:?}"
    );
}

/// Every pattern checks its results. They are right for all sizes and seeds, on all devices.
#[test]
fn results_are_right_whatever_the_size() {
    let library = library();
    let counter = Device::simulator_with(Instrument::Count);
    for device in devices() {
        let gpu = (device.info().kind == DeviceKind::Cuda).then_some(&device);
        for n in [1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 40_001] {
            for pattern in Pattern::ALL {
                // Transfers have sizes of their own, and another test covers them.
                if pattern == Pattern::Transfer {
                    continue;
                }
                let few =
                    pattern.limits().map(|(least, _)| Sweep { first: least, last: least + 2 });
                let seed = n as u32 * 7;
                let request =
                    Request { n: Some(n), runs: Runs { warm_up: 0, timed: 1 }, seed, sweep: few };
                let section = Lab::new(&library, &counter, gpu, request).run(pattern);
                let section = section
                    .unwrap_or_else(|error| panic!("{pattern}, n = {n}, seed {seed}: {error}"));
                assert!(!section.tables[0].rows.is_empty(), "{pattern}");
            }
        }
    }
}

#[test]
fn a_part_of_a_warp_takes_a_part_of_the_sectors() {
    for (n, expected) in [(1, 1.0), (8, 1.0), (9, 2.0), (33, 2.5), (40, 2.5), (41, 3.0)] {
        let section = counted(Pattern::Offset, Request { n: Some(n), ..sweep(0, 0) });
        for key in SECTOR_COLUMNS {
            assert_eq!(column(&section.tables[0], key), [expected], "{key}, n = {n}");
        }
    }
}

#[test]
fn impossible_requests_are_refused_before_anything_runs() {
    for n in [0, (1 << 30) + 1, u64::MAX] {
        let refused = Lab::check(Pattern::Offset, &Request { n: Some(n), ..Request::default() });
        assert!(matches!(refused, Err(AccessError::Size { .. })), "{n}");
    }
    assert!(Lab::check(Pattern::Math, &sweep(0, 1)).is_err());
    for (pattern, first, last) in [
        (Pattern::Stride, 0, 3),
        (Pattern::SharedStride, 1, 41),
        (Pattern::Constant, 1, 33),
        (Pattern::Offset, 3, 2),
    ] {
        let refused = Lab::check(pattern, &sweep(first, last));
        assert!(matches!(refused, Err(AccessError::Range { .. })), "{pattern} {first}..{last}");
    }
}

#[test]
fn whoever_is_interrupted_keeps_the_rows_that_are_done() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let counter = Device::simulator_with(Instrument::Count);
    counter.interrupt_by(&STOP);
    let library = library();
    let mut lab = Lab::new(&library, &counter, None, Request::default());
    assert_eq!(lab.run(Pattern::Stride).unwrap().tables[0].rows.len(), 0);
    assert!(lab.is_interrupted());
}

/// The PTX of a kernel, from its name to its end.
fn body(kernel: &str) -> String {
    let ptx = PtxLibrary::embedded().unwrap().find(kernel, (7, 5)).unwrap();
    let (_, body) = ptx.text.split_once(&format!(".entry {kernel}(")).unwrap();
    body.split_once("\n}").unwrap().0.to_owned()
}

#[test]
fn the_compiler_leaves_the_lesson_in_the_ptx() {
    for unrolled in [1, 2, 4, 8] {
        let body = body(&format!("access_unroll_{unrolled}"));
        // The loop has `unrolled` loads, and the rest has one. The compiler must change neither
        // number.
        assert_eq!(body.matches("ld.global").count(), unrolled + 1, "{body}");
        assert_eq!(body.matches(".pragma \"nounroll\"").count(), 2, "{body}");
    }
    for (kernel, instructions) in [
        ("access_width_read8", ["ld.global.b64", "st.global.b32"]),
        ("access_width_read16", ["ld.global.v4.b32", "st.global.b32"]),
        ("access_width_copy16", ["ld.global.v4.b32", "st.global.v4.b32"]),
        ("access_constant", ["ld.const.b32", "st.global.b32"]),
        ("access_divide_quotient_u32", ["div.u32", "st.global.b32"]),
        ("access_divide_remainder_u64", ["rem.u64", "st.global.b64"]),
        ("access_math_sin_fast", ["sin.approx.f32", "st.global.b32"]),
        ("access_math_exp_fast", ["ex2.approx", "st.global.b32"]),
        ("access_math_exp_precise", ["fma.rn.f32", "st.global.b32"]),
    ] {
        let body = body(kernel);
        for instruction in instructions {
            assert!(body.contains(instruction), "{kernel} has no {instruction}: {body}");
        }
    }
    for kernel in ["access_math_sin_precise", "access_math_exp_precise"] {
        assert!(!body(kernel).contains("approx"), "{kernel}");
    }
    for kernel in ["access_divide_shift_u32", "access_divide_mask_u64"] {
        assert!(!body(kernel).contains("div.") && !body(kernel).contains("rem."), "{kernel}");
    }
}

#[test]
fn streams_send_compute_and_fetch_chunks() {
    for device in devices() {
        let library = library();
        let ptx = library.find("access_transfer_work", device.info().compute_capability).unwrap();
        let kernel =
            device.load(&ptx.file, &ptx.text).unwrap().kernel("access_transfer_work").unwrap();
        let n = 100_003;
        let mut input = device.alloc_pinned::<u32>(n).unwrap();
        for (i, value) in input.iter_mut().enumerate() {
            *value = i as u32;
        }
        let mut output = device.alloc_pinned::<u32>(n).unwrap();
        let (source, target) = (device.alloc::<u32>(n).unwrap(), device.alloc::<u32>(n).unwrap());
        let chunk = 10_000;
        device
            .streams(3, |streams| {
                for (i, (input, output)) in
                    input.chunks(chunk).zip(output.chunks_mut(chunk)).enumerate()
                {
                    let (stream, bytes) = (i % 3, 4 * (i * chunk) as u64);
                    streams.upload(stream, input, &source, i * chunk)?;
                    let (from, to) = (source.address() + bytes, target.address() + bytes);
                    let args = [
                        Arg::Pointer(from),
                        Arg::Pointer(to),
                        Arg::U64(input.len() as u64),
                        Arg::U32(1),
                    ];
                    // SAFETY: the kernel moves as many elements as the chunk has, between live
                    // buffers.
                    unsafe {
                        streams.launch(stream, &kernel, LaunchShape::linear(40, 256, 0), &args)?;
                    };
                    streams.download(stream, &target, i * chunk, output)?;
                }
                Ok::<(), DeviceError>(())
            })
            .unwrap();
        for (i, &value) in output.iter().enumerate() {
            assert_eq!(
                value,
                (i as u32).wrapping_mul(1_664_525).wrapping_add(1_013_904_223),
                "{i}"
            );
        }
    }
}

#[test]
fn streams_refuse_what_does_not_fit() {
    for device in devices() {
        let other = Device::simulator();
        let (buffer, foreign) = (device.alloc::<u32>(4).unwrap(), other.alloc::<u32>(4).unwrap());
        let values = [1_u32, 2, 3];
        let mut fetched = [0_u32; 5];
        let at = |at: usize| device.streams(1, |streams| streams.upload(0, &values, &buffer, at));
        assert!(at(0).is_ok() && at(1).is_ok());
        for start in [2, 4, 5, usize::MAX] {
            assert!(matches!(at(start), Err(DeviceError::Length { .. })), "{start}");
        }
        let wide = device.streams(1, |streams| streams.download(0, &buffer, 0, &mut fetched));
        assert!(matches!(wide, Err(DeviceError::Length { source_len: 5, buffer_len: 4 })));
        let elsewhere = device.streams(1, |streams| streams.upload(0, &values, &foreign, 0));
        assert!(matches!(elsewhere, Err(DeviceError::OtherDevice("buffer"))));
        // A copy without elements is no error, and pinned memory for no values is an empty slice.
        device.streams(1, |streams| streams.upload(0, &[], &buffer, 4)).unwrap();
        assert!(device.alloc_pinned::<u64>(0).unwrap().is_empty());
        assert!(matches!(
            device.alloc_pinned::<u64>(usize::MAX),
            Err(DeviceError::OutOfHostMemory { .. })
        ));
        assert!(matches!(buffer.copy_to_slice(&mut fetched), Err(DeviceError::Length { .. })));
    }
}
