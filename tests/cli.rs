//! Tests of the command `reduce` as its user meets it: the real binary runs in an empty folder.

mod support;

use std::{fmt::Write as _, io::Read, process::Stdio};

use cuda_builder::manifest::{FILE_NAME, Module, sha256_hex};
use serde_json::Value as Json;
use support::{Run, Sandbox, device_flag, skip};
use warpfold_lab::{device::DeviceChoice, ptx::PtxLibrary};

fn json(run: &Run) -> Json {
    assert_eq!(run.status, Some(0), "{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

/// Runs each line and collects the output of all of them in one text.
fn transcript(sandbox: &Sandbox, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let run = sandbox.reduce_line(line);
        assert_eq!(run.stdout, "", "{run}");
        let status = run.status.map_or("none".into(), |status| status.to_string());
        writeln!(text, "$ reduce {line}\n{}[{status}]", run.stderr).unwrap();
    }
    text
}

#[test]
fn bad_arguments_are_refused_in_one_sentence() {
    let text = transcript(
        &Sandbox::new(),
        &[
            "--variant 6",
            "--variant 15 --n 10",
            "--variant fastest --n 10",
            "--variant 6 --n 10 --op mean",
            "--variant 6 --n 10 --type f16",
            "--variant 6 --n 10 --finish never",
            "--variant 6 --n 10 --device tpu",
            "--variant 6 --n -5",
            "--variant 6 --n many",
            "--variant 6 --n 1.5",
            "--variant 6 --n 2^64",
            "--variant 6 --n 10 --block 100",
            "--variant 6 --n 10 --block 2048",
            "--variant 6 --n 10 --block 32",
            "--variant 3 --n 10 --block 0",
            "--variant 3 --n 10 --block -64",
            "--variant 6 --n 10 --grid 0",
            "--variant 7 --n 10 --grid 0",
            "--variant 6 --n 10 --reps 0",
            "--variant 6 --n 10 --reps 1000001",
            "--variant 6 --n 10 --seed x",
            "--n 10",
            "--variant 6 --n 10 --fill zeros",
            "--variant 6 --input none --fill iota",
            "--variant 6 --n 0 --op min",
            "--variant 6 --n 0 --op max",
            "--variant 6 --n 10 --device cuda --block 3",
        ],
    );
    insta::assert_snapshot!(text, @r"
    $ reduce --variant 6
    error: --n is missing: it is the number of elements, such as 4194304 or 2^22
    [2]
    $ reduce --variant 15 --n 10
    error: unknown variant '15': it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    [2]
    $ reduce --variant fastest --n 10
    error: unknown variant 'fastest': it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    [2]
    $ reduce --variant 6 --n 10 --op mean
    error: unknown operation 'mean': it is one of sum, min, max, prod
    [2]
    $ reduce --variant 6 --n 10 --type f16
    error: unknown type 'f16': it is one of i32, u32, i64, u64, f32, f64
    [2]
    $ reduce --variant 6 --n 10 --finish never
    error: unknown finish 'never': it is one of relaunch, host, single
    [2]
    $ reduce --variant 6 --n 10 --device tpu
    error: unknown device 'tpu': it is one of auto, cuda, sim
    [2]
    $ reduce --variant 6 --n -5
    error: --n '-5': it must be a whole number from 0 to 2^64 - 1, such as 4194304 or 2^22
    [2]
    $ reduce --variant 6 --n many
    error: --n 'many': it must be a whole number from 0 to 2^64 - 1, such as 4194304 or 2^22
    [2]
    $ reduce --variant 6 --n 1.5
    error: --n '1.5': it must be a whole number from 0 to 2^64 - 1, such as 4194304 or 2^22
    [2]
    $ reduce --variant 6 --n 2^64
    error: --n '2^64': it must be a whole number from 0 to 2^64 - 1, such as 4194304 or 2^22
    [2]
    $ reduce --variant 6 --n 10 --block 100
    error: block 100: variant 6 works with blocks of a power of two from 64 to 1024 threads
    [2]
    $ reduce --variant 6 --n 10 --block 2048
    error: block 2048: variant 6 works with blocks of a power of two from 64 to 1024 threads
    [2]
    $ reduce --variant 6 --n 10 --block 32
    error: block 32: variant 6 works with blocks of a power of two from 64 to 1024 threads
    [2]
    $ reduce --variant 3 --n 10 --block 0
    error: block 0: variant 3 works with blocks of a power of two from 2 to 1024 threads
    [2]
    $ reduce --variant 3 --n 10 --block -64
    error: --block '-64': it must be a whole number from 0 to 2^64 - 1, such as 256
    [2]
    $ reduce --variant 6 --n 10 --grid 0
    error: grid 0: a launch needs at least one block
    [2]
    $ reduce --variant 7 --n 10 --grid 0
    error: grid 0: a launch needs at least one block
    [2]
    $ reduce --variant 6 --n 10 --reps 0
    error: --reps 0: at least one run is needed
    [2]
    $ reduce --variant 6 --n 10 --reps 1000001
    error: --reps 1000001: at most 1000000 runs are made
    [2]
    $ reduce --variant 6 --n 10 --seed x
    error: --seed 'x': it must be a whole number from 0 to 2^64 - 1, such as 1
    [2]
    $ reduce --n 10
    error: --variant is missing: it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    [2]
    $ reduce --variant 6 --n 10 --fill zeros
    error: unknown fill 'zeros': it is one of iota, ones, random
    [2]
    $ reduce --variant 6 --input none --fill iota
    error: --fill iota with --input: the elements are those of the file
    [2]
    $ reduce --variant 6 --n 0 --op min
    error: n = 0: min needs at least one element
    [2]
    $ reduce --variant 6 --n 0 --op max
    error: n = 0: max needs at least one element
    [2]
    $ reduce --variant 6 --n 10 --device cuda --block 3
    error: block 3: variant 6 works with blocks of a power of two from 64 to 1024 threads
    [2]
    ");
}

#[test]
fn shapes_that_do_not_fit_are_refused_in_one_sentence() {
    let device = device_flag();
    let lines = [
        "--variant 6 --n 1000 --grid 7",
        "--variant 3 --n 1000000 --block 256 --finish single",
        "--variant 0 --n 5 --finish single",
        "--variant 7 --n 10 --grid 2147483648",
    ];
    let lines: Vec<_> = lines.iter().map(|line| format!("{line} --device {device}")).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let text = transcript(&Sandbox::new(), &lines).replace(&format!(" --device {device}"), "");
    insta::assert_snapshot!(text, @r"
    $ reduce --variant 6 --n 1000 --grid 7
    error: grid 7: variant 6 needs exactly 2 blocks of 256 threads for n = 1000
    [2]
    $ reduce --variant 3 --n 1000000 --block 256 --finish single
    error: finish single: 3907 partial results are left, and one block of 256 threads of variant 3 can combine at most 256
    [2]
    $ reduce --variant 0 --n 5 --finish single
    error: finish single: 3 partial results are left, and one block of 256 threads of variant 0 can combine at most 2
    [2]
    $ reduce --variant 7 --n 10 --grid 2147483648
    error: a grid of 2147483648 blocks is too large: CUDA allows 2147483647
    [2]
    ");
}

#[test]
fn what_a_rung_is_not_for_is_refused_with_the_reason() {
    let text = transcript(
        &Sandbox::new(),
        &[
            "--variant 11 --n 10 --op prod",
            "--variant 11 --n 10 --type f32",
            "--variant redux --n 10 --type i64 --op max",
            "--variant atomic --n 10 --op prod",
            "--variant atomic-warp --n 10 --op min --type f64",
            "--variant 8 --n 10 --block 16",
            "profile --variant 11 --n 10 --gpu t4",
            "profile --variant 13 --n 10 --gpu a100",
            "compare 9 14 --n 10 --gpu l4",
        ],
    );
    insta::assert_snapshot!(text, @r"
    $ reduce --variant 11 --n 10 --op prod
    error: variant 11 has no prod of i32: redux.sync does sum, min and max of i32 and u32
    [2]
    $ reduce --variant 11 --n 10 --type f32
    error: variant 11 has no sum of f32: redux.sync does sum, min and max of i32 and u32
    [2]
    $ reduce --variant redux --n 10 --type i64 --op max
    error: variant 11 has no max of i64: redux.sync does sum, min and max of i32 and u32
    [2]
    $ reduce --variant atomic --n 10 --op prod
    error: variant atomic has no prod of i32: atomics in global memory do the sum of every type, and min and max of integers
    [2]
    $ reduce --variant atomic-warp --n 10 --op min --type f64
    error: variant atomic-warp has no min of f64: atomics in global memory do the sum of every type, and min and max of integers
    [2]
    $ reduce --variant 8 --n 10 --block 16
    error: block 16: variant 8 works with blocks of a power of two from 32 to 1024 threads
    [2]
    $ reduce profile --variant 11 --n 10 --gpu t4
    error: variant 11 needs compute capability 8.0; the device has 7.5
    [1]
    $ reduce profile --variant 13 --n 10 --gpu a100
    error: variant 13 needs compute capability 9.0; the device has 8.0
    [1]
    $ reduce compare 9 14 --n 10 --gpu l4
    error: variant 14 needs compute capability 9.0; the device has 8.9
    [1]
    ");
}

#[test]
fn a_grid_that_cannot_wait_for_itself_is_refused() {
    let run = Sandbox::new().reduce_line("--variant 12 --n 100000 --grid 1000000 --device sim");
    assert_eq!(run.status, Some(2), "{run}");
    assert_eq!(
        run.stderr,
        "error: grid 1000000: the blocks of variant 12 wait for each other, and the device can hold only 1056 blocks of 256 threads at once\n"
    );
}

#[test]
fn too_many_elements_are_refused_before_memory_is_taken() {
    for n in ["99999999999999", "18446744073709551615"] {
        let run = Sandbox::new().reduce(["--variant", "6", "--n", n, "--device", &device_flag()]);
        assert_eq!(run.status, Some(2), "{run}");
        assert!(run.stderr.contains(&format!("error: n = {n} i32 elements need ")), "{run}");
        assert!(run.stderr.contains("of device memory; the device has "), "{run}");
        assert_eq!(run.stderr.lines().filter(|line| line.starts_with("error")).count(), 1, "{run}");
    }
}

#[test]
fn unknown_flags_are_refused() {
    let run = Sandbox::new().reduce_line("--variant 6 --n 10 --colour");
    assert_eq!(run.status, Some(2), "{run}");
    assert!(run.stderr.contains("--colour"), "{run}");
}

#[test]
fn a_demanded_gpu_must_be_there() {
    if support::open(DeviceChoice::Cuda).is_ok() {
        skip::test("there is a GPU");
        return;
    }
    let run = Sandbox::new().reduce_line("--variant 6 --n 10 --device cuda");
    assert_eq!(run.status, Some(1), "{run}");
    assert!(run.stderr.starts_with("error: ") && run.stderr.lines().count() == 1, "{run}");
    assert_eq!(run.stdout, "", "{run}");
}

#[test]
fn auto_says_why_it_simulates() {
    let run = Sandbox::new().reduce_line("--variant 6 --n 10");
    assert_eq!(run.status, Some(0), "{run}");
    if support::open(DeviceChoice::Cuda).is_err() {
        // The note is one short line. The whole reason is that of another command.
        assert_eq!(
            run.stderr.lines().next(),
            Some(
                "note: using the simulator, because no GPU can be used (`warpfold doctor` says why)"
            ),
            "{run}"
        );
        assert_eq!(run.stderr.matches("note: using").count(), 1, "{run}");
        assert!(run.stdout.contains("simulator"), "{run}");
    } else {
        skip::test("there is a GPU");
    }
}

/// A `.npy` file of version 1.0.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    header.extend(std::iter::repeat_n(' ', 64 - (10 + header.len() + 1) % 64));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

#[test]
fn bad_input_files_are_refused_in_one_sentence() {
    let sandbox = Sandbox::new();
    sandbox.write("empty", &[]);
    sandbox.write("five", &[0; 5]);
    sandbox.write("four", &[0; 16]);
    sandbox.write("short.npy", &npy("'<i4'", "(4,)", &[0; 12]));
    sandbox.write("long.npy", &npy("'<i4'", "(2, 2)", &[0; 20]));
    sandbox.write("complex.npy", &npy("'<c16'", "(1,)", &[0; 16]));
    sandbox.write("i64.npy", &npy("'<i8'", "(2,)", &[0; 16]));
    sandbox.write("i16.npy", &npy("'<i2'", "(2,)", &[0; 4]));
    sandbox.write("bool.npy", &npy("'|b1'", "(2,)", &[0; 2]));
    sandbox.write("fields.npy", &npy("[('a', '<i4'), ('b', '<f4')]", "(1,)", &[0; 8]));
    sandbox.write("vast.npy", &npy("'<i4'", "(4294967296, 4294967296)", &[0; 8]));
    sandbox.write("cut.npy", &npy("'<i4'", "(2,)", &[0; 8])[..50]);
    sandbox.write("text.npy", b"1 2 3 4\n");
    let text = transcript(
        &sandbox,
        &[
            "--variant 6 --input none",
            "--variant 6 --input .",
            "--variant 6 --input empty",
            "--variant 6 --input five",
            "--variant 6 --input five --type i32",
            "--variant 6 --input four --type f64 --n 3",
            "--variant 6 --input short.npy",
            "--variant 6 --input long.npy",
            "--variant 6 --input complex.npy",
            "--variant 6 --input i64.npy --type i32",
            "--variant 6 --input i16.npy",
            "--variant 6 --input bool.npy",
            "--variant 6 --input fields.npy",
            "--variant 6 --input vast.npy",
            "--variant 6 --input cut.npy",
            "--variant 6 --input text.npy",
        ],
    );
    insta::assert_snapshot!(text, @r"
    $ reduce --variant 6 --input none
    error: cannot read none: No such file or directory (os error 2)
    [2]
    $ reduce --variant 6 --input .
    error: . is a folder, and not a file with an array
    [2]
    $ reduce --variant 6 --input empty
    error: empty is no .npy or .npz file: if its bytes are raw little-endian elements, name their type with --type
    [2]
    $ reduce --variant 6 --input five
    error: five is no .npy or .npz file: if its bytes are raw little-endian elements, name their type with --type
    [2]
    $ reduce --variant 6 --input five --type i32
    error: five: 5 bytes are not a whole number of i32 elements of 4 bytes
    [2]
    $ reduce --variant 6 --input four --type f64 --n 3
    error: --n 3: four holds 2 f64 elements
    [2]
    $ reduce --variant 6 --input short.npy
    error: short.npy: the .npy header announces 16 bytes of elements, and 12 follow
    [2]
    $ reduce --variant 6 --input long.npy
    error: long.npy: the .npy header announces 16 bytes of elements, and 20 follow
    [2]
    $ reduce --variant 6 --input complex.npy
    error: complex.npy: dtype '<c16' cannot be reduced: it must be a number of 8 to 64 bits or bool
    [2]
    $ reduce --variant 6 --input i64.npy --type i32
    error: i64.npy holds i64, not i32
    [2]
    $ reduce --variant 6 --input i16.npy
    error: i16.npy holds i16, and the ladder reduces i32, u32, i64, u64, f32 and f64: the command warpfold reduces the others
    [2]
    $ reduce --variant 6 --input bool.npy
    error: bool.npy holds bool, and the ladder reduces i32, u32, i64, u64, f32 and f64: the command warpfold reduces the others
    [2]
    $ reduce --variant 6 --input fields.npy
    error: fields.npy: dtype [('a', '<i4'), ('b', '<f4'), ] cannot be reduced: it must be a number of 8 to 64 bits or bool
    [2]
    $ reduce --variant 6 --input vast.npy
    error: vast.npy: not a .npy file that can be read: its shape has 2^64 elements or more
    [2]
    $ reduce --variant 6 --input cut.npy
    error: cut.npy: not a .npy file that can be read: the file ends within its header
    [2]
    $ reduce --variant 6 --input text.npy
    error: text.npy: not a .npy file that can be read: it does not begin with \x93NUMPY
    [2]
    ");
}

#[test]
fn files_are_reduced() {
    let sandbox = Sandbox::new();
    let ints: Vec<u8> = (1..=10i32).flat_map(i32::to_le_bytes).collect();
    let floats: Vec<u8> =
        [1.5f64, -2.0, 4.0, 0.25].into_iter().flat_map(f64::to_le_bytes).collect();
    sandbox.write("ints", &ints);
    sandbox.write("floats.npy", &npy("'<f8'", "(2, 1, 2)", &floats));
    let device = device_flag();
    let sum = json(
        &sandbox
            .reduce_line(&format!("--variant 3 --input ints --type i32 --json --device {device}")),
    );
    assert_eq!((&sum["result"], &sum["n"]), (&55.into(), &10.into()));
    let max =
        json(&sandbox.reduce_line(&format!(
            "--variant 5 --op max --input floats.npy --json --device {device}"
        )));
    assert_eq!((&max["result"], &max["type"]), (&4.0.into(), &"f64".into()));
    sandbox.write("empty.npy", &npy("'<i4'", "(3, 0)", &[]));
    let nothing = json(&sandbox.reduce_line("--variant 6 --input empty.npy --json --device sim"));
    assert_eq!((&nothing["result"], &nothing["n"]), (&0.into(), &0.into()));
}

#[test]
fn nothing_is_the_identity_of_sum_and_product() {
    for (op, identity) in [("sum", 0), ("prod", 1)] {
        for variant in ["0", "global", "6", "7"] {
            let device = device_flag();
            let line =
                format!("--variant {variant} --n 0 --op {op} --type u64 --json --device {device}");
            let report = json(&Sandbox::new().reduce_line(&line));
            assert_eq!(report["result"], identity, "{report}");
            assert!(report["time_us"].is_null(), "{report}");
        }
    }
}

#[test]
fn the_list_names_every_rung() {
    let run = Sandbox::new().reduce_line("--list");
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
    insta::assert_snapshot!(run.stdout, @r"
    0       naive
            One launch for each level of the tree: every thread combines two neighbours in global memory.
            lecture: J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru; NVIDIA's sample: none
    global  global
            Each block halves its part of the input in place in global memory until one value is left.
            lecture: Udacity, Intro to Parallel Programming, Reduction Using Global and Shared Memory; NVIDIA's sample: none
    1       interleaved-modulo
            Shared memory, interleaved addressing: threads with tid % (2*s) == 0 work, so every warp diverges.
            lecture: J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru; NVIDIA's sample: reduce0 of `reduction`
    2       interleaved-contiguous
            Interleaved addressing by neighbouring threads at index 2*s*tid: no divergence, but bank conflicts.
            lecture: J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru; NVIDIA's sample: reduce1 of `reduction`
    3       sequential
            Sequential addressing: the stride halves from half a block to 1, without divergence or conflicts.
            lecture: Hui Liu, GPU Computing, Reduction #3: Sequential Accesses; NVIDIA's sample: reduce2 of `reduction`
    4       first-add
            Each thread loads two elements and combines them on the way to shared memory, so none idles at first.
            lecture: Hui Liu, GPU Computing, Reduction #4: Read two elements and do the first step; NVIDIA's sample: reduce3 of `reduction`
    5       warp-unrolled
            The last warp is unrolled and needs no block-wide barrier any more.
            lecture: J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru; NVIDIA's sample: reduce4 of `reduction`
    6       completely-unrolled
            The block size is known to the compiler, which unrolls the whole tree.
            lecture: J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru; NVIDIA's sample: reduce5 of `reduction`
    7       multiple-elements
            Each thread strides over the input by the whole grid and combines many elements before the tree.
            lecture: J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru; NVIDIA's sample: reduce6 of `reduction`
    8       shuffle
            Lanes pass values from register to register by warp shuffles, and each warp takes one slot of shared memory.
            lecture: J. Luitjens, Faster Parallel Reductions on Kepler, NVIDIA, 2014; NVIDIA's sample: none
    9       vectorized
            128-bit loads, four of them in flight for each thread, whatever the alignment of the input.
            lecture: J. Luitjens, CUDA Pro Tip: Increase Performance with Vectorized Memory Access, NVIDIA, 2013; NVIDIA's sample: none
    10      single-pass
            One launch: the block that draws the last ticket combines the partial results of all.
            lecture: NVIDIA, CUDA Samples, threadFenceReduction; NVIDIA's sample: none
    11      redux
            A warp reduces by one instruction, redux.sync, which exists for 32-bit integers.
            lecture: NVIDIA, PTX ISA, redux.sync; NVIDIA's sample: none
            restricted: redux.sync does sum, min and max of i32 and u32
            needs compute capability 8.0
    12      cooperative
            One launch: all blocks meet at a barrier for the whole grid, and the first combines the partial results.
            lecture: NVIDIA, CUDA C++ Programming Guide, Grid Synchronization; NVIDIA's sample: none
    13      cluster
            The blocks of a cluster collect their values in distributed shared memory, and leave one partial result.
            lecture: NVIDIA, CUDA C++ Programming Guide, Distributed Shared Memory; NVIDIA's sample: none
            needs compute capability 9.0
    14      bulk
            One thread has the copy engine bring tiles into shared memory, four stages ahead of those that combine them.
            lecture: NVIDIA, CUDA C++ Programming Guide, Asynchronous Data Copies using the Tensor Memory Accelerator; NVIDIA's sample: none
            needs compute capability 9.0
    atomic  atomic-block
            One launch: each block combines its value with the result by one atomic operation.
            lecture: J. Luitjens, Faster Parallel Reductions on Kepler, NVIDIA, 2014; NVIDIA's sample: none
            restricted: atomics in global memory do the sum of every type, and min and max of integers
    atomic-warp atomic-warp
            One launch: each warp combines its value with the result by one atomic operation, without shared memory.
            lecture: J. Luitjens, Faster Parallel Reductions on Kepler, NVIDIA, 2014; NVIDIA's sample: none
            restricted: atomics in global memory do the sum of every type, and min and max of integers
    ");
}

#[test]
fn json_holds_what_is_promised() {
    let line = "--variant completely-unrolled --n 100_000 --op sum --type i64 --block 128 --seed 5 --reps 3 --json --device";
    let run = Sandbox::new().reduce_line(&format!("{line} {}", device_flag()));
    let report = json(&run);
    let numbers = ["n", "grid", "block", "shared_bytes", "result", "reference", "error_bound"];
    assert!(numbers.iter().all(|key| report[key].is_number()), "{run}");
    assert_eq!(report["variant"], "6", "{run}");
    assert_eq!(report["kernel"], "reduce6_sum_i64_b128", "{run}");
    assert_eq!(
        (&report["op"], &report["type"], &report["finish"]),
        (&"sum".into(), &"i64".into(), &"relaunch".into())
    );
    assert_eq!(
        (&report["n"], &report["grid"], &report["block"]),
        (&100_000.into(), &391.into(), &128.into())
    );
    assert_eq!(report["shared_bytes"], 1024, "{run}");
    assert_eq!(
        (&report["agree"], &report["result"]),
        (&true.into(), &report["reference"]),
        "{run}"
    );
    assert_eq!(report["time_us"]["reps"], 3, "{run}");
    for key in ["median", "min", "max"] {
        assert!(report["time_us"][key].as_f64().unwrap() > 0.0, "{run}");
    }
    assert!(report["device"].is_string(), "{run}");
    assert!(report["gb_per_s"].as_f64().unwrap() > 0.0, "{run}");
    match report["time_kind"].as_str() {
        Some("gpu") => {
            assert!(report["peak_gb_per_s"].as_f64().is_none_or(|peak| peak > 0.0), "{run}");
        }
        Some("simulation") => assert!(report["peak_gb_per_s"].is_null(), "{run}"),
        other => panic!("{other:?}\n{run}"),
    }
}

#[test]
fn wide_integers_keep_every_digit() {
    let sandbox = Sandbox::new();
    sandbox.write("u64", &(u64::MAX - 1).to_le_bytes());
    sandbox.write("i64", &(i64::MIN + 1).to_le_bytes());
    for (name, digits) in [("u64", "18446744073709551614"), ("i64", "-9223372036854775807")] {
        let device = device_flag();
        let run = sandbox.reduce_line(&format!(
            "--variant 1 --input {name} --type {name} --json --device {device}"
        ));
        assert!(run.stdout.contains(&format!("\"result\":{digits},")), "{run}");
    }
}

#[test]
fn json_names_what_is_no_number() {
    let sandbox = Sandbox::new();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (values, op, result) in [
        ([inf, 1.0], "sum", "inf"),
        ([-inf, 1.0], "min", "-inf"),
        ([nan, 1.0], "sum", "nan"),
        ([1e300; 2], "prod", "inf"),
    ] {
        sandbox.write("values", &values.map(f64::to_le_bytes).concat());
        let line = format!(
            "--variant 2 --op {op} --type f64 --input values --json --device {}",
            device_flag()
        );
        let report = json(&sandbox.reduce_line(&line));
        assert_eq!(
            (&report["result"], &report["agree"]),
            (&result.into(), &true.into()),
            "{report}"
        );
    }
}

#[test]
fn the_readme_command_ends_with_device_shape_time_and_bandwidth() {
    let run = Sandbox::new().reduce_line("--variant 6 --n 4194304");
    assert_eq!(run.status, Some(0), "{run}");
    assert!(run.stdout.contains("agrees exactly"), "{run}");
    let last = run.stdout.lines().last().unwrap();
    assert!(
        last.contains(": grid 8192, block 256, finish relaunch: ") && last.contains(" GB/s"),
        "{run}"
    );
    assert_eq!(last.contains("not a GPU's speed"), last.contains("simulator"), "{run}");
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let of = |seed: u32| {
        let device = device_flag();
        let line = format!(
            "--variant 7 --n 5000 --type f32 --grid 3 --seed {seed} --json --device {device}"
        );
        json(&Sandbox::new().reduce_line(&line))["result"].clone()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn every_way_to_finish_gives_the_same_integer() {
    for variant in ["global", "1", "2", "3", "4", "5", "6", "7"] {
        let results: Vec<_> = ["relaunch", "host", "single"]
            .map(|finish| {
                let device = device_flag();
                let line =
                    format!("--variant {variant} --n 20000 --block 256 --finish {finish} --json --device {device}");
                let report = json(&Sandbox::new().reduce_line(&line));
                assert_eq!(report["finish"], finish);
                report["result"].clone()
            })
            .into();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{variant}: {results:?}");
    }
}

#[test]
fn a_folder_of_ptx_is_used_and_checked() {
    let sandbox = Sandbox::new();
    let run = sandbox.reduce_line("--variant 6 --n 10 --ptx-dir none");
    assert_eq!(run.status, Some(2), "{run}");
    assert!(run.stderr.starts_with("error: none: "), "{run}");

    sandbox.write("manifest.json", b"{\"format\": 99}");
    let run = sandbox.reduce_line("--variant 6 --n 10 --ptx-dir .");
    assert_eq!(run.status, Some(2), "{run}");
    assert!(run.stderr.contains("format 99"), "{run}");
}

#[test]
fn a_folder_with_all_kernels_in_one_module_is_used_and_checked() {
    // The folder looks like one that a foreign codegen backend wrote.
    let sandbox = Sandbox::new();
    let library = PtxLibrary::embedded().unwrap();
    let text = library.find("reduce3_sum_i32", (7, 5)).unwrap().text;
    let write = |arch: &str, text: &str, file_text: &str| {
        let mut manifest = library.manifest().clone();
        let file = format!("kernels.{arch}.ptx");
        let sha256 = sha256_hex(text.as_bytes());
        manifest.modules =
            vec![Module { name: "kernels".into(), arch: arch.into(), file: file.clone(), sha256 }];
        manifest.kernels.retain(|kernel| kernel.name == "reduce3_sum_i32");
        manifest.kernels[0].module = "kernels".into();
        sandbox.write(FILE_NAME, manifest.to_json().as_bytes());
        sandbox.write(&file, file_text.as_bytes());
    };
    let run = |variant: u32| {
        let line =
            format!("--variant {variant} --n 1000 --json --ptx-dir . --device {}", device_flag());
        sandbox.reduce_line(&line)
    };
    let refused = |variant, status, message: &str| {
        let run = run(variant);
        assert_eq!(run.status, Some(status), "{run}");
        assert!(run.stderr.starts_with(&format!("error: {message}")), "{run}");
        assert!(status == 1 || run.stderr.lines().count() == 1, "{run}");
    };

    write("sm_75", &text, &text);
    assert_eq!(json(&run(3))["kernel"], "reduce3_sum_i32");
    refused(4, 2, ".: there is no kernel reduce4_sum_i32; ");
    write("sm_999", &text, &text);
    refused(3, 2, ".: module kernels is built for sm_999; the device is sm_");
    write("sm_75", &text, &text.replace("add.s32", "sub.s32"));
    refused(3, 2, ".: kernels.sm_75.ptx is not the file that the manifest describes");
    let broken = text.replace("bar.sync", "bar.snyc");
    write("sm_75", &broken, &broken);
    refused(
        3,
        1,
        if device_flag() == "cuda" {
            "module kernels.sm_75.ptx cannot be loaded: "
        } else {
            "kernel reduce3_sum_i32 uses an instruction or declaration that the simulator does not \
             support: kernels.sm_75.ptx:"
        },
    );
}

#[test]
fn a_wrong_result_is_status_1() {
    // In this PTX the kernels of the sum and of the maximum have exchanged their names.
    let library = PtxLibrary::embedded().unwrap();
    let ptx = library.find("reduce3_sum_i32", (7, 5)).unwrap();
    let swapped = ptx
        .text
        .replace("reduce3_sum_i32", "reduce3_other_i32")
        .replace("reduce3_max_i32", "reduce3_sum_i32")
        .replace("reduce3_other_i32", "reduce3_max_i32");
    let mut manifest = library.manifest().clone();
    let module = manifest.modules.iter_mut().find(|module| module.file == ptx.file).unwrap();
    module.sha256 = sha256_hex(swapped.as_bytes());
    let sandbox = Sandbox::new();
    sandbox.write(FILE_NAME, manifest.to_json().as_bytes());
    sandbox.write(&ptx.file, swapped.as_bytes());
    sandbox.write("ints", &[1i32, 2, 3].map(i32::to_le_bytes).concat());

    let line =
        format!("--variant 3 --input ints --type i32 --ptx-dir . --device {}", device_flag());
    let run = sandbox.reduce_line(&line);
    assert_eq!(run.status, Some(1), "{run}");
    assert!(
        run.stderr
            .ends_with("error: wrong result: reduce3_sum_i32 gave 3, and the reference is 6\n"),
        "{run}"
    );
    assert!(run.stdout.contains("reference  6 (DISAGREES"), "{run}");
    let run = sandbox.reduce_line(&format!("{line} --json"));
    assert_eq!(run.status, Some(1), "{run}");
    assert!(run.stdout.contains("\"agree\":false"), "{run}");

    // The command fails as well if the reader of its output stops reading.
    let mut child = sandbox
        .command()
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command()
        .arg("--list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    assert_eq!(stderr, "");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_status_1() {
    let sandbox = Sandbox::new();
    for line in ["--list", "--variant 3 --n 10 --op max --device sim"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = sandbox.command().args(line.split_whitespace()).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert_eq!(
            stderr,
            "error: cannot write to stdout: No space left on device (os error 28)\n"
        );
    }
}

#[test]
fn help_states_the_exit_status() {
    let run = Sandbox::new().reduce_line("--help");
    assert_eq!(run.status, Some(0), "{run}");
    assert!(run.stdout.contains("Exit status: 0"), "{run}");
}
