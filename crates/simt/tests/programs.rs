//! Programs as nvcc compiles them (`data/programs.cu`), on one worker and on several, and in
//! several orders of the warps.

use simt::{Arg, Dim3, LaunchConfig, Memory, Module, launch_named};

const PTX: &str = include_str!("data/programs.sm_80.ptx");

/// Numbers without a pattern. Their exact values do not matter.
fn numbers(count: usize) -> Vec<u32> {
    (1..=count as u32).map(|i| (i ^ i << 13).wrapping_mul(2_654_435_761) >> 3).collect()
}

fn sum(values: &[u32]) -> u32 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

/// Runs a kernel over `input`, `words` words of output and a number, and passes its output to
/// `check`. It does so for each number of workers and each order, each time on fresh memory, so
/// that the module's variables have their initial values.
#[track_caller]
fn each_way(
    name: &str,
    config: LaunchConfig,
    (input, words, n): (&[u32], usize, u32),
    check: impl Fn(&[u32]),
) {
    let module =
        Module::from_ptx("programs.sm_80.ptx", PTX).unwrap_or_else(|error| panic!("{error}"));
    for workers in [1, 2, 5] {
        for seed in [None, Some(1), Some(2)] {
            let memory = Memory::new(1 << 24);
            let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (from, to) = (
                memory.alloc(bytes.len() as u64).unwrap(),
                memory.alloc(words as u64 * 4).unwrap(),
            );
            memory.write(from, &bytes).unwrap();
            let config = LaunchConfig { workers: Some(workers), seed, ..config };
            let args = [Arg::Pointer(from), Arg::Pointer(to), Arg::U32(n)];
            launch_named(&module, name, &config, &args, &memory)
                .unwrap_or_else(|error| panic!("{workers} workers, seed {seed:?}: {error}"));
            println!("{name}, {workers} workers, seed {seed:?}");
            check(&words_at(&memory, to, words));
        }
    }
}

fn words_at(memory: &Memory, address: u64, words: usize) -> Vec<u32> {
    let mut bytes = vec![0; words * 4];
    memory.read(address, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn the_last_block_finishes_the_sum() {
    let input = numbers(5000);
    each_way("last_block", LaunchConfig::new(13, 128), (&input, 1, 5000), |out| {
        assert_eq!(out, [sum(&input)]);
    });
}

#[test]
fn blocks_look_back_in_a_scan() {
    let input = numbers(5000);
    let expected: Vec<u32> = (1..=input.len()).map(|end| sum(&input[..end])).collect();
    each_way("look_back", LaunchConfig::new(20, 256), (&input, 5000, 5000), |out| {
        assert_eq!(out, expected);
    });
}

#[test]
fn all_blocks_wait_for_each_other() {
    // A worker could not run so many blocks one after another to their ends, because each block
    // waits for all others, four times.
    let input = numbers(100 * 64);
    let mut expected = input.clone();
    for _ in 0..4 {
        let next =
            (0..input.len()).map(|i| expected[i].wrapping_add(expected[(i + 1) % input.len()]));
        expected = next.collect();
    }
    let data = (&input[..], 2 * input.len(), input.len() as u32);
    each_way("grid_wide", LaunchConfig::new(100, 64), data, |out| {
        assert_eq!(out[..input.len()], expected);
    });
}

#[test]
fn lanes_and_blocks_contend_for_a_lock() {
    let input = numbers(330);
    let steps = (0..330).fold(0u32, |total, _| total.wrapping_mul(3).wrapping_add(1));
    for name in ["spin_lock", "spin_lock_bare"] {
        each_way(name, LaunchConfig::new(5, 70), (&input, 2, 330), |out| {
            assert_eq!(out, [steps, sum(&input)]);
        });
    }
}

#[test]
fn compare_and_swap_finds_the_largest_float() {
    let values: Vec<f32> = numbers(3000).iter().map(|n| *n as f32 / 7.0).collect();
    let input: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    let largest = values.iter().copied().fold(0.0, f32::max);
    let wide = f64::from(largest).to_bits();
    each_way("cas_max", LaunchConfig::new(12, 256), (&input, 3, 3000), |out| {
        assert_eq!(out, [wide as u32, (wide >> 32) as u32, largest.to_bits()]);
    });
}

#[test]
fn tiles_of_eight_lanes_reduce_and_scan() {
    let input = numbers(2500);
    let config = LaunchConfig::new(20, Dim3::new(16, 4, 2));
    each_way("tiles", config, (&input, 4 * 2500, 2500), |out| {
        for (i, out) in out.as_chunks::<4>().0.iter().enumerate() {
            let around = |size: usize| &input[i / size * size..(i / size * size + size).min(2500)];
            // The lanes of the tile that are beyond the input hold zeros.
            let most = around(8).iter().map(|n| n.cast_signed()).max().unwrap().cast_unsigned();
            assert_eq!(
                *out,
                [sum(around(8)), sum(&input[i / 8 * 8..=i]), most, sum(around(128))],
                "thread {i}"
            );
        }
    });
}

#[test]
fn lanes_with_the_same_value_count_together() {
    let input = numbers(3000);
    let mut expected = [0; 15];
    for (i, value) in input.iter().enumerate() {
        expected[if i % 2 == 1 { 0 } else { 7 } + *value as usize % 7] += 1;
        expected[14] += 1;
    }
    each_way("aggregate", LaunchConfig::new(12, 256), (&input, 15, 3000), |out| {
        assert_eq!(out, expected);
    });
}

#[test]
fn blocks_of_two_dimensions_transpose() {
    let (width, height) = (100, 50);
    let input = numbers(width * height);
    let module = Module::from_ptx("programs.sm_80.ptx", PTX).unwrap();
    let memory = Memory::new(1 << 20);
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (from, to) = (memory.alloc(20_000).unwrap(), memory.alloc(20_000).unwrap());
    memory.write(from, &bytes).unwrap();
    let args =
        [Arg::Pointer(from), Arg::Pointer(to), Arg::U32(width as u32), Arg::U32(height as u32)];
    launch_named(&module, "transpose", &LaunchConfig::new((4, 2), (32, 8)), &args, &memory)
        .unwrap();
    let out = words_at(&memory, to, width * height);
    assert!((0..width * height).all(|i| out[i % width * height + i / width] == input[i]));
}

#[test]
fn two_buffers_take_turns() {
    let (blocks, tiles, threads) = (3, 6, 64);
    let input = numbers(blocks * tiles * threads * 4);
    let mut expected = vec![0u32; blocks * 4];
    for (i, vector) in input.as_chunks::<4>().0.iter().enumerate() {
        let (block, reader) = (i / threads / tiles, threads - 1 - i % threads);
        let weighted = vector.iter().zip(1..).map(|(value, weight)| value.wrapping_mul(weight));
        let total = &mut expected[block * 4 + reader % 4];
        *total = weighted.fold(*total, u32::wrapping_add);
    }
    let config = LaunchConfig { dynamic_shared_bytes: 2 * 16 * 64, ..LaunchConfig::new(3, 64) };
    each_way("double_buffer", config, (&input, 12, tiles as u32), |out| assert_eq!(out, expected));
}

/// The function `step` of `programs.cu`.
fn step(op: u32, a: u32, b: u32) -> u32 {
    match op {
        0 => a.wrapping_add(b),
        1 => a.wrapping_sub(b),
        2 => a.wrapping_mul(b),
        3 => a ^ b << 3,
        4 => a.checked_div(b).unwrap_or(a),
        5 => a.checked_rem(b).unwrap_or(b),
        6 => a.count_ones() + b.leading_zeros(),
        7 => a.reverse_bits() ^ b,
        8 => {
            let [a, b] = [a.to_le_bytes(), b.to_le_bytes()];
            u32::from_le_bytes([b[1], b[3], a[1], a[3]])
        }
        _ => a.abs_diff(b),
    }
}

#[test]
fn functions_switches_and_local_arrays() {
    let input = numbers(700);
    let expected = (0u32..).zip(&input).map(|(i, &value)| {
        let mut stack: [u32; 16] = std::array::from_fn(|k| value.wrapping_add((k * k) as u32));
        let (mut a, mut b) = (value, u64::from(i));
        for k in 0..5 + i % 11 {
            let at = (a >> 3) as usize % 16;
            let op = value.wrapping_add(k) % 10;
            (a, b) = (
                step(op, a, b as u32),
                b.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(u64::from(a)),
            );
            stack[at] = step(((b >> 40) % 12) as u32, stack[at], a);
            stack[(at + 5) % 16] ^= k;
        }
        stack.iter().fold(0u32, |sum, value| sum.wrapping_mul(31).wrapping_add(*value))
    });
    let expected: Vec<u32> = expected.collect();
    each_way("machine", LaunchConfig::new(3, 256), (&input, 700, 700), |out| {
        assert_eq!(out, expected);
    });
}

#[test]
fn those_who_stay_vote() {
    // The blocks have 90 threads: two full warps and a part of one. In the last block, some of the
    // threads leave early.
    let n = 983;
    let input: Vec<u32> = numbers(n).iter().map(|value| value % 1005).collect();
    each_way("votes", LaunchConfig::new(11, (5, 6, 3)), (&input, n, n as u32), |out| {
        for (i, out) in out.iter().enumerate() {
            let block = &input[i / 90 * 90..(i / 90 * 90 + 90).min(n)];
            let warp = &block[i % 90 / 32 * 32..];
            let count = |values: &[u32], test: &dyn Fn(u32) -> bool| {
                values.iter().filter(|v| test(**v)).count() as u32
            };
            let expected = count(block, &|v| v % 2 == 1)
                + if block.iter().all(|v| *v < 1000) { 10_000 } else { 0 }
                + if block.contains(&3) { 20_000 } else { 0 }
                + 100_000 * count(&warp[..warp.len().min(32)], &|v| v % 3 == 0);
            assert_eq!(*out, expected, "thread {i}");
        }
    });
}

#[test]
fn warps_produce_for_others_through_named_barriers() {
    let input = numbers(4 * 7 * 128);
    each_way("pipeline", LaunchConfig::new(4, 256), (&input, 4 * 128, 7), |out| {
        for (i, out) in out.iter().enumerate() {
            let value = |round: usize| {
                input[(i / 128 * 7 + round) * 128 + 127 - i % 128].wrapping_mul(round as u32 + 1)
            };
            assert_eq!(*out, sum(&[0, 1, 2, 3, 4, 5, 6].map(value)), "thread {i}");
        }
    });
}

#[test]
fn bytes_are_counted() {
    let input = numbers(2000);
    let mut expected = [0; 256];
    input
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .for_each(|byte| expected[usize::from(byte)] += 1);
    each_way("histogram", LaunchConfig::new(7, 192), (&input, 256, 8000), |out| {
        assert_eq!(out, expected);
    });
}

#[test]
fn warps_reduce_by_themselves() {
    let input = numbers(1000);
    each_way("redux", LaunchConfig::new(4, 256), (&input, 1000, 1000), |out| {
        for (i, out) in out.iter().enumerate() {
            let warp = &input[i / 32 * 32..(i / 32 * 32 + 32).min(1000)];
            let signed = || warp.iter().map(|value| value.cast_signed());
            let bits =
                warp.iter().fold([u32::MAX, 0, 0], |[and, or, xor], v| [and & v, or | v, xor ^ v]);
            let extremes = signed().min().unwrap() ^ signed().max().unwrap();
            let unsigned = warp.iter().min().unwrap() ^ warp.iter().max().unwrap();
            let expected =
                sum(warp) ^ extremes.cast_unsigned() ^ unsigned ^ bits[0] ^ bits[1] ^ bits[2];
            assert_eq!(*out, expected, "thread {i}");
        }
    });
}

#[test]
fn numbers_of_128_bits_divide() {
    let module = Module::from_ptx("programs.sm_80.ptx", PTX).unwrap();
    let memory = Memory::new(1 << 20);
    let out = memory.alloc(32 * 8).unwrap();
    for n in [0, 1, 1_000_003, u64::MAX, 0xffff_ffff_1234_5678] {
        let args = [Arg::Pointer(out), Arg::U64(n)];
        launch_named(&module, "wide", &LaunchConfig::new(1, 32), &args, &memory).unwrap();
        let words = words_at(&memory, out, 64);
        for (lane, result) in (0u64..).zip(words.as_chunks::<2>().0) {
            let x = u128::from(n) * u128::from(n.wrapping_add(lane)) + 7;
            let expected = ((x >> 60) as u64).wrapping_add((x % 1_000_003) as u64);
            assert_eq!(
                u64::from(result[0]) | u64::from(result[1]) << 32,
                expected,
                "{n} in lane {lane}"
            );
        }
    }
}

#[test]
fn calls_of_a_function_share_its_shared_variable() {
    let module = Module::from_ptx("programs.sm_80.ptx", PTX).unwrap();
    let memory = Memory::new(1 << 20);
    let out = memory.alloc(64 * 4).unwrap();
    launch_named(
        &module,
        "shared_in_function",
        &LaunchConfig::new(1, 64),
        &[Arg::Pointer(out)],
        &memory,
    )
    .unwrap();
    assert_eq!(words_at(&memory, out, 64), (5..69).collect::<Vec<u32>>());
}
