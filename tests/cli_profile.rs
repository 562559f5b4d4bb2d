//! Tests of `reduce profile` and `reduce compare` as their user meets them.

mod support;

use std::fmt::Write as _;

use cuda_builder::manifest::{FILE_NAME, sha256_hex};
use serde_json::{Value as Json, json};
use support::{Run, Sandbox, skip};
use warpfold_lab::{element::ElementType, op::Op, ptx::PtxLibrary, variant::Variant};

fn json(run: &Run) -> Json {
    assert_eq!(run.status, Some(0), "{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

fn profile(line: &str) -> Json {
    json(&Sandbox::new().reduce_line(&format!("profile --registers 20 --json {line}")))
}

/// The counter of this name, in which dots separate the groups.
fn counter<'a>(counters: &'a Json, name: &str) -> &'a Json {
    name.split('.').fold(counters, |group, part| &group[part])
}

#[track_caller]
fn assert_counters(counters: &Json, expected: &[(&str, u64)]) {
    for &(name, value) in expected {
        assert_eq!(*counter(counters, name), json!(value), "{name}");
    }
}

#[test]
fn bad_arguments_are_refused_in_one_sentence() {
    let sandbox = Sandbox::new();
    let mut text = String::new();
    for line in [
        "profile --variant 15",
        "profile --variant 2 --n many",
        "profile --variant 2 --n 0",
        "profile --variant 2 --n 0 --op min",
        "profile --variant 2 --block 100",
        "profile --variant 2 --op mean",
        "profile --variant 2 --type f16",
        "profile --variant 2 --gpu gtx480",
        "profile --variant 2 --registers 0",
        "profile --variant 2 --registers 256",
        "profile --variant 2 --grid 7",
        "profile --variant 2 --n 99999999999999",
        "profile --variant 2 --ptx-dir none",
        "compare 1 x",
        "compare 5 2 --block 32",
    ] {
        let run = sandbox.reduce_line(line);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        let (memory, rest) = ("; the device has ", "free");
        let stderr = match run.stderr.split_once(memory) {
            // The size of the simulated device's memory depends on the host, so it is cut out.
            Some((before, after)) => {
                format!("{before}{memory}… {}", &after[after.find(rest).unwrap()..])
            }
            None => run.stderr,
        };
        write!(text, "$ reduce {line}\n{stderr}").unwrap();
    }
    insta::assert_snapshot!(text, @r"
    $ reduce profile --variant 15
    error: unknown variant '15': it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    $ reduce profile --variant 2 --n many
    error: --n 'many': it must be a whole number from 0 to 2^64 - 1, such as 65536 or 2^16
    $ reduce profile --variant 2 --n 0
    error: n = 0: nothing is launched, so there is nothing to count
    $ reduce profile --variant 2 --n 0 --op min
    error: n = 0: min needs at least one element
    $ reduce profile --variant 2 --block 100
    error: block 100: variant 2 works with blocks of a power of two from 2 to 1024 threads
    $ reduce profile --variant 2 --op mean
    error: unknown operation 'mean': it is one of sum, min, max, prod
    $ reduce profile --variant 2 --type f16
    error: unknown type 'f16': it is one of i32, u32, i64, u64, f32, f64
    $ reduce profile --variant 2 --gpu gtx480
    error: unknown GPU 'gtx480': it is one of v100, t4, a100, a10, rtx3090, l4, l40s, rtx4090, h100, h200, b200, rtx5090
    $ reduce profile --variant 2 --registers 0
    error: --registers 0: a thread has 1 to 255
    $ reduce profile --variant 2 --registers 256
    error: --registers 256: a thread has 1 to 255
    $ reduce profile --variant 2 --grid 7
    error: grid 7: variant 2 needs exactly 256 blocks of 256 threads for n = 65536
    $ reduce profile --variant 2 --n 99999999999999
    error: n = 99999999999999 i32 elements need 400 TB of device memory; the device has … free
    $ reduce profile --variant 2 --ptx-dir none
    error: none: cannot read the manifest `none/manifest.json`: No such file or directory (os error 2)
    $ reduce compare 1 x
    error: unknown variant 'x': it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    $ reduce compare 5 2 --block 32
    error: block 32: variant 5 works with blocks of a power of two from 64 to 1024 threads
    ");
}

#[test]
fn arguments_that_are_missing_are_named() {
    for (line, missing) in
        [("profile", "--variant"), ("compare", "<VARIANT>"), ("profile --variant", "--variant")]
    {
        let run = Sandbox::new().reduce_line(line);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains(missing), "{run}");
    }
}

/// Rung 3 over 1024 elements in blocks of 256: the first launch has four blocks, and the second has
/// one, which reads their four results.
#[test]
fn rung_3_does_what_can_be_worked_out_by_hand() {
    let report = profile("--variant 3 --n 1024 --block 256");
    let (blocks, warps) = (5, 8);
    // The steps are 128, 64, 32, 16, 8, 4, 2 and 1. The first takes four warps, the second takes
    // two, and each other step takes one. Each step loads two words and stores one. There is one
    // store before the steps and one load after them.
    let steps = 4 + 2 + 6;
    let (loads, stores) = (blocks * (2 * steps + 1), blocks * (warps + steps));
    // The first warp is split by each step from 16 on, and at the end, when only thread 0 writes.
    // In the second launch, the end of the four results splits it too.
    let divergent = blocks * (5 + 1) + 1;
    // There is one barrier before the loop and one in each step.
    let barriers = blocks * warps * 9;
    assert_counters(
        &report["counters"],
        &[
            ("global.load.requests", 4 * warps + 1),
            ("global.load.sectors", 4 * warps * 4 + 1),
            ("global.load.bytes", 1024 * 4 + 4 * 4),
            ("global.store.requests", blocks),
            ("global.store.sectors", blocks),
            ("global.store.bytes", 4 * blocks),
            ("global.atomic.requests", 0),
            ("shared.load.requests", loads),
            ("shared.load.wavefronts", loads),
            ("shared.load.bank_conflicts", 0),
            ("shared.load.bytes", blocks * (2 * 255 + 1) * 4),
            ("shared.store.requests", stores),
            ("shared.store.wavefronts", stores),
            ("shared.store.bank_conflicts", 0),
            ("barriers", barriers),
            ("divergent_branches", divergent),
            ("shuffles", 0),
        ],
    );
    assert_eq!(report["ideal"]["global.load.sectors"], 4 * warps * 4 + 1);
    assert_eq!(report["ideal"]["bytes_moved"], 1025 * 4);
    assert_eq!(report["derived"]["bytes_moved"]["value"], 32 * (4 * warps * 4 + 1 + blocks));
    assert_counters(&report["launches"][0]["counters"], &[("global.load.sectors", 4 * warps * 4)]);
    assert_counters(
        &report["launches"][1]["counters"],
        &[("global.load.sectors", 1), ("global.load.bytes", 16)],
    );
}

/// Rung 2 with one block of 256: at stride s, neighbouring lanes access words that are 2 * s apart.
#[test]
fn rung_2_conflicts_as_can_be_worked_out_by_hand() {
    let (mut requests, mut wavefronts) = (0, 0);
    for s in [1u64, 2, 4, 8, 16, 32, 64, 128] {
        let threads = 256 / (2 * s);
        for first in (0..threads).step_by(32) {
            let lanes = (threads - first).min(32);
            requests += 1;
            wavefronts += (2 * s).min(32).min(lanes.div_ceil((32 / (2 * s)).max(1)));
        }
    }
    let report = profile("--variant 2 --n 256");
    assert_counters(
        &report["counters"],
        &[
            ("shared.load.requests", 2 * requests + 1),
            ("shared.load.wavefronts", 2 * wavefronts + 1),
            ("shared.load.bank_conflicts", 2 * (wavefronts - requests)),
            ("shared.store.requests", requests + 8),
            ("shared.store.wavefronts", wavefronts + 8),
            ("shared.store.bank_conflicts", wavefronts - requests),
        ],
    );
    assert_eq!(report["ideal"]["shared.load.wavefronts"], 2 * requests + 1);
}

/// Rung 0: each level reads pairs. The two loads of a warp lie in the same sectors, so each touches
/// twice the sectors that 32 words need.
#[test]
fn rung_0_moves_every_level() {
    let report = profile("--variant 0 --n 4096 --block 128");
    let launches = report["launches"].as_array().unwrap();
    assert_eq!(launches.len(), 12);
    // There are 64 warps. A warp's left elements are 32 words that are 8 bytes apart.
    assert_counters(
        &launches[0]["counters"],
        &[
            ("global.load.requests", 2 * 64),
            ("global.load.sectors", 2 * 64 * 8),
            ("global.store.sectors", 64 * 4),
            ("barriers", 0),
            ("shared.load.requests", 0),
        ],
    );
    assert_eq!(report["ideal"]["bytes_moved"], 4097 * 4);
}

#[test]
fn each_rung_wastes_what_its_lecture_says() {
    for (line, kind, words) in [
        ("0 --n 65536", "global_traffic", "Rung 0 wastes most on global traffic: "),
        ("global --n 65536", "global_traffic", "Rung global wastes most on global traffic: "),
        ("1 --n 65536", "remainders", "Rung 1 wastes most on integer remainders: "),
        ("2 --n 65536", "bank_conflicts", "Rung 2 wastes most on bank conflicts: "),
        ("3 --n 65536", "idle_threads", "Rung 3 wastes most on idle threads: "),
        ("4 --n 65536", "idle_threads", "Rung 4 wastes most on idle threads: "),
        ("5 --n 65536", "", "Rung 5 wastes little: "),
        ("6 --n 65536", "", "Rung 6 wastes little: "),
        ("7 --n 65536", "", "Rung 7 wastes little: "),
        ("7 --n 2^22", "", "Rung 7 wastes little: "),
    ] {
        let report = profile(&format!("--variant {line}"));
        let waste = &report["waste"];
        let sentence = waste["sentence"].as_str().unwrap();
        assert!(sentence.starts_with(words) && sentence.ends_with('.'), "{line}: {waste}");
        assert!(sentence.matches(". ").count() == 1, "two sentences: {sentence}");
        let most = &waste["kinds"][0];
        assert_eq!(most["share"].as_f64().unwrap() < 0.05, kind.is_empty(), "{line}: {waste}");
        if !kind.is_empty() {
            assert_eq!(most["kind"], kind, "{line}: {waste}");
        }
        assert_eq!(
            waste["integer_divisions"].as_u64().unwrap() > 0,
            line.starts_with('1'),
            "{line}: {waste}"
        );
        // Rung 1 has both wastes of the lectures: remainders and divergence.
        assert_eq!(
            sentence.contains("integer remainders") && sentence.contains("divergence"),
            line.starts_with('1'),
            "{line}: {sentence}"
        );
        let next = report["next"]["sentence"].as_str().unwrap();
        assert!(next.starts_with("Rung ") && report["next"]["amount"].as_u64() > Some(0), "{next}");
    }
}

#[test]
fn every_rung_operation_and_type_has_a_profile() {
    for (index, variant) in Variant::all().enumerate() {
        // The pairs take turns. If the rung has no kernel for the pair whose turn it is, the next
        // possible pair is taken.
        let mut pairs = (index..).map(|turn| (ElementType::ALL[turn % 6], Op::ALL[turn % 4]));
        let (element, op) = pairs.find(|&(element, op)| variant.allows(op, element)).unwrap();
        let (variant, element, op) = (variant.facts().label, element.name(), op.name());
        let report = profile(&format!("--variant {variant} --n 1000 --op {op} --type {element}"));
        assert_eq!((&report["variant"], &report["op"]), (&variant.into(), &op.into()));
        assert_eq!((&report["type"], &report["n"]), (&element.into(), &1000.into()));
        let lines = report["lines"].as_array().unwrap();
        let file = report["kernel"].as_str().unwrap().split('_').next().unwrap();
        let file = match file {
            "reduce0" => "naive",
            "atomicwarp" => "atomic",
            file => file,
        };
        let source = format!("kernels/src/ladder/{file}.rs");
        assert!(lines.iter().any(|line| line["file"] == source.as_str()), "{report}");
        // All counts are in the kernel's line of the table, because everything is inlined into the
        // kernel.
        let in_tables =
            |line: &&Json| line["file"].as_str().unwrap().starts_with("kernels/src/exports/");
        let share: f64 = lines
            .iter()
            .filter(in_tables)
            .map(|line| line["share_of_instructions"].as_f64().unwrap())
            .sum();
        assert!(share > 0.5 && share < 1.0 + 1e-9, "{share}");
    }
}

#[test]
fn json_holds_what_is_promised() {
    let report = profile("--variant 2 --n 1000 --gpu a100");
    let counters = &report["counters"];
    let level = |group: &Json| group["level"].as_str().map(str::to_owned);
    let groups =
        [counters, &counters["global"], &counters["shared"], &counters["local"], &report["waste"]];
    assert_eq!(
        groups.map(level).map(Option::unwrap),
        ["PTX", "hardware", "hardware", "PTX", "PTX"]
    );
    for name in
        ["warp_instructions", "thread_instructions", "branches", "divergent_branches", "barriers"]
    {
        assert!(counters[name].is_u64(), "{name}: {report}");
    }
    for kind in ["load", "store", "atomic", "reduction"] {
        assert!(
            ["requests", "sectors"].iter().all(|name| counters["global"][kind][name].is_u64()),
            "{report}"
        );
    }
    for kind in ["load", "store", "atomic"] {
        let names = ["requests", "wavefronts", "bank_conflicts"];
        assert!(names.iter().all(|name| counters["shared"][kind][name].is_u64()), "{report}");
    }
    assert_eq!(
        report["occupancy"],
        json!({
            "gpu": "a100", "blocks_per_sm": 8, "warps_per_sm": 64, "percent": 100.0, "limited_by": "warps",
            "registers": 20, "registers_from": "given",
        })
    );
    // The counts of the launches, and of the lines, add up to the whole.
    let sum: u64 = report["launches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|launch| launch["counters"]["warp_instructions"].as_u64().unwrap())
        .sum();
    assert_eq!(counters["warp_instructions"], sum);
    let conflicts =
        |of: &Json| counter(&of["counters"], "shared.load.bank_conflicts").as_u64().unwrap();
    let lines = report["lines"].as_array().unwrap();
    let of_rung = lines.iter().filter(|line| line["file"] == "kernels/src/ladder/reduce2.rs");
    assert_eq!(of_rung.map(conflicts).sum::<u64>(), conflicts(&report));
}

#[test]
fn compare_puts_ratios_beside_figures() {
    let run = Sandbox::new().reduce_line("compare 2 3 --n 4096 --registers 20 --json");
    let report = json(&run);
    let profiles = report["profiles"].as_array().unwrap();
    assert_eq!(profiles.iter().map(|profile| &profile["variant"]).collect::<Vec<_>>(), ["2", "3"]);
    let ratios = &report["ratios"];
    assert_eq!(ratios["global.load.sectors"], json!([1.0, 1.0]));
    assert_eq!(ratios["shared.load.bank_conflicts"], json!([1.0, 0.0]));
    assert_eq!(ratios["global.atomic.sectors"], json!([null, null]));
    let of =
        |index: usize| counter(&profiles[index]["counters"], "warp_instructions").as_f64().unwrap();
    assert_eq!(ratios["warp_instructions"][1].as_f64(), Some(of(1) / of(0)));
}

#[test]
fn compare_is_a_table() {
    let run = Sandbox::new().reduce_line("compare 1 2 --n 512 --registers 20");
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
    insta::assert_snapshot!(run.stdout, @"
    sum of 512 i32 elements, seed 1, planned for h100, 132 multiprocessors; the figures are sums over
    all launches of a variant

    | counter                           | level     | variant 1 | variant 2 | ratio |
    |-----------------------------------|-----------|-----------|-----------|-------|
    | warp_instructions                 | PTX level |     3 501 |     2 853 |  0.81 |
    | thread_instructions               | PTX level |    77 054 |    79 349 |  1.03 |
    | branches                          | PTX level |       861 |       735 |  0.85 |
    | divergent_branches                | PTX level |       145 |        19 |  0.13 |
    | barriers                          | PTX level |       216 |       216 |  1.00 |
    | global.load.requests              | hardware  |        17 |        17 |  1.00 |
    | global.load.sectors               | hardware  |        65 |        65 |  1.00 |
    | global.load.bytes                 | hardware  |     2 056 |     2 056 |  1.00 |
    | global.store.requests             | hardware  |         3 |         3 |  1.00 |
    | global.store.sectors              | hardware  |         3 |         3 |  1.00 |
    | global.store.bytes                | hardware  |        12 |        12 |  1.00 |
    | shared.load.requests              | hardware  |       285 |        75 |  0.26 |
    | shared.load.wavefronts            | hardware  |       285 |       285 |  1.00 |
    | shared.load.bank_conflicts        | hardware  |         0 |       210 |       |
    | shared.load.bytes                 | hardware  |     6 132 |     6 132 |  1.00 |
    | shared.store.requests             | hardware  |       165 |        60 |  0.36 |
    | shared.store.wavefronts           | hardware  |       165 |       165 |  1.00 |
    | shared.store.bank_conflicts       | hardware  |         0 |       105 |       |
    | shared.store.bytes                | hardware  |     6 132 |     6 132 |  1.00 |
    | bytes_moved                       | hardware  |     2 176 |     2 176 |  1.00 |
    | active_lane_efficiency            | PTX level |    71.7 % |    94.1 % |  1.31 |
    | warp_instructions_per_32_elements | PTX level |     218.8 |     178.3 |  0.81 |

    Rung 1 wastes most on integer remainders: each of its 192 remainders is one PTX instruction, but
    takes the machine about 20 instructions more. This is 38 % of the cost, and the next waste is
    divergence (9 %). Rung 2 takes away the divergence and the remainders: 145 branches split their
    warp, and a remainder decides the way 192 times.
    Rung 2 wastes most on bank conflicts: 315 of 450 wavefronts of shared memory are needed only because
    of bank conflicts. This is 22 % of the cost, and the next waste is idle threads (22 %). Rung 3 takes
    away the bank conflicts: 315 wavefronts of shared memory would not be needed if lanes accessed
    neighbouring words.
    (The cost is an estimate in issue slots: 1 for a warp instruction, 20 more for an integer remainder,
    4 for a wavefront of shared memory, 14 for a sector of global memory; instructions and branches are
    counted at PTX level.)
    ");
}

#[test]
fn profile_shows_the_source() {
    let run = Sandbox::new().reduce_line("profile --variant 2 --n 65536 --registers 20");
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
    insta::assert_snapshot!(run.stdout, @"
    kernel     reduce2_sum_i32 (variant 2, interleaved-contiguous)
    input      65536 i32 elements, seed 1
    launches   256 x 256 with 1024 bytes of shared memory each, then 1 x 256; the figures are sums over
               all launches
    gpu        h100, 132 multiprocessors
    occupancy  8 blocks and 64 warps on each multiprocessor, 100 %, limited by warps
    registers  20 for each thread, as given

    | counter                           | level     |    actual |   ideal |
    |-----------------------------------|-----------|-----------|---------|
    | warp_instructions                 | PTX level |   246 206 |         |
    | thread_instructions               | PTX level | 6 841 083 |         |
    | branches                          | PTX level |    62 965 |         |
    | divergent_branches                | PTX level |     1 542 |       0 |
    | barriers                          | PTX level |    18 504 |         |
    | global.load.requests              | hardware  |     2 056 |         |
    | global.load.sectors               | hardware  |     8 224 |   8 224 |
    | global.load.bytes                 | hardware  |   263 168 |         |
    | global.store.requests             | hardware  |       257 |         |
    | global.store.sectors              | hardware  |       257 |     257 |
    | global.store.bytes                | hardware  |     1 028 |         |
    | shared.load.requests              | hardware  |     6 425 |         |
    | shared.load.wavefronts            | hardware  |    24 415 |   6 425 |
    | shared.load.bank_conflicts        | hardware  |    17 990 |       0 |
    | shared.load.bytes                 | hardware  |   525 308 |         |
    | shared.store.requests             | hardware  |     5 140 |         |
    | shared.store.wavefronts           | hardware  |    14 135 |   5 140 |
    | shared.store.bank_conflicts       | hardware  |     8 995 |       0 |
    | shared.store.bytes                | hardware  |   525 308 |         |
    | bytes_moved                       | hardware  |   271 392 | 262 148 |
    | active_lane_efficiency            | PTX level |    94.3 % | 100.0 % |
    | warp_instructions_per_32_elements | PTX level |     120.2 |     2.0 |

    Each source line has its share of all PTX instructions, of all divergent branches in PTX and of all
    bank conflicts, and the number of sectors for each of its requests to global memory. Code that is
    inlined into a line counts for that line:

     instr.  divergent  conflicts  sect/req  kernels/src/ladder/reduce2.rs
                                              19 pub unsafe fn reduce2<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
                                              20     let sv = shared::dynamic_shared_mem::<T>();
      0.8 %                                   21     let tid = thread::thread_idx_x();
      4.2 %                                   22     let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize + tid as usize;
                                              23
                                              24     // SAFETY: `index + s` is below the block size, a multiple of `2 * s`; within a step each cell
                                              25     // belongs to one thread, and the barrier separates the steps.
                                              26     unsafe {
      8.4 %                             4.0   27         *sv.add(tid as usize) = element_or_identity::<T, O>(input, i, n);
      0.8 %                                   28         thread::sync_threads();
                                              29
                                              30         let mut s = 1;
     25.1 %                                   31         while s < thread::block_dim_x() {
     13.4 %                                   32             let index = 2 * s * tid;
     19.3 %     83.3 %                        33             if index < thread::block_dim_x() {
      2.5 %                33.3 %             34                 *sv.add(index as usize) =
     10.0 %                66.7 %             35                     O::combine(*sv.add(index as usize), *sv.add((index + s) as usize));
                                              36             }
      6.7 %                                   37             thread::sync_threads();
                                              38             s *= 2;
                                              39         }
                                              40
      3.3 %     16.7 %                        41         if tid == 0 {
      0.5 %                             1.0   42             *output.add(thread::block_idx_x() as usize) = *sv;
                                              43         }
                                              44     }
                                              45 }

     instr.  divergent  conflicts  sect/req  kernels/src/ladder.rs
                                              58 unsafe fn element_or_identity<T: Element, O: Op<T>>(input: *const T, i: usize, n: usize) -> T {
      2.5 %                                   59     if i < n {
                                              60         // SAFETY: `i` is below `n`.
      2.5 %                             4.0   61         unsafe { *input.add(i) }
                                              62     } else {
                                              63         O::IDENTITY
                                              64     }
                                              65 }

     instr.  divergent  conflicts  sect/req  kernels/src/op.rs
                                              31             fn combine(a: $t, b: $t) -> $t {
      1.3 %                                   32                 a.wrapping_add(b)
                                              33             }

    Rung 2 wastes most on bank conflicts: 26 985 of 38 550 wavefronts of shared memory are needed only
    because of bank conflicts. This is 21 % of the cost, and the next waste is idle threads (20 %).
    Rung 3 takes away the bank conflicts: 26 985 wavefronts of shared memory would not be needed if
    lanes accessed neighbouring words.
    (The cost is an estimate in issue slots: 1 for a warp instruction, 20 more for an integer remainder,
    4 for a wavefront of shared memory, 14 for a sector of global memory; instructions and branches are
    counted at PTX level.)
    ");
}

/// Writes into the sandbox the library's manifest and one of its files, which is changed.
fn write_ptx(sandbox: &Sandbox, kernel: &str, change: impl Fn(&str) -> String) {
    let library = PtxLibrary::embedded().unwrap();
    let ptx = library.find(kernel, (9, 0)).unwrap();
    let text = change(&ptx.text);
    let mut manifest = library.manifest().clone();
    let module = manifest.modules.iter_mut().find(|module| module.file == ptx.file).unwrap();
    module.sha256 = sha256_hex(text.as_bytes());
    sandbox.write(FILE_NAME, manifest.to_json().as_bytes());
    sandbox.write(&ptx.file, text.as_bytes());
}

#[test]
fn without_line_info_the_ptx_is_shown() {
    let sandbox = Sandbox::new();
    write_ptx(&sandbox, "reduce2_sum_i32", |text| {
        let code = text.split_once("\n\t.file").map_or(text, |(code, _)| code);
        code.lines()
            .filter(|line| !line.trim_start().starts_with(".loc"))
            .fold(String::new(), |text, line| text + line + "\n")
    });
    let line = "profile --variant 2 --n 1000 --registers 20 --ptx-dir .";
    let run = sandbox.reduce_line(line);
    assert_eq!(run.status, Some(0), "{run}");
    assert!(
        run.stdout.contains("\nThere is no source for this PTX, so here is the PTX itself"),
        "{run}"
    );
    let conflicting = run.stdout.lines().find(|line| line.contains("ld.shared.b32 %r"));
    assert!(conflicting.is_some_and(|line| line.contains(" %")), "{run}");
    assert_eq!(json(&sandbox.reduce_line(&format!("{line} --json")))["lines"], json!([]));
}

#[test]
fn a_wrong_result_is_not_profiled() {
    let sandbox = Sandbox::new();
    write_ptx(&sandbox, "reduce3_sum_i32", |text| text.replace("add.s32", "sub.s32"));
    let run = sandbox.reduce_line("profile --variant 3 --n 1000 --registers 20 --ptx-dir .");
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert!(run.stderr.starts_with("error: wrong result: reduce3_sum_i32 gave "), "{run}");
}

#[test]
fn unknown_registers_are_said_to_be() {
    let sandbox = Sandbox::new();
    let line = "profile --variant 3 --n 1000";
    let run = |path: &str, more: &str| {
        let mut command = sandbox.command();
        command
            .env("PATH", "")
            .env("PTXAS", path)
            .args(line.split_whitespace())
            .args(more.split_whitespace());
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run("", "");
    assert!(
        text.contains(
            "\nregisters  unknown, so the occupancy does not consider them (no ptxas on the PATH: "
        ),
        "{text}"
    );
    let report: Json = serde_json::from_str(&run("none", "--json")).unwrap();
    assert_eq!(
        (&report["occupancy"]["registers"], &report["occupancy"]["registers_from"]),
        (&Json::Null, &"unknown".into())
    );
    let text = run("none", "");
    assert!(text.contains("(cannot run none: "), "{text}");
    let text = run("", "--gpu v100");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("module reduce3_i32 is built for sm_75; the device is sm_70"), "{text}");
}

#[cfg(unix)]
#[test]
fn registers_come_from_ptxas() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new();
    let write = |name: &str, script: &str| {
        sandbox.write(name, script.as_bytes());
        std::fs::set_permissions(sandbox.path(name), std::fs::Permissions::from_mode(0o755))
            .unwrap();
    };
    let of = |name: &str| {
        let mut command = sandbox.command();
        command
            .env("PTXAS", sandbox.path(name))
            .args("profile --variant 3 --n 1000 --json --gpu rtx4090".split(' '));
        let output = command.output().unwrap();
        serde_json::from_slice::<Json>(&output.stdout).unwrap()["occupancy"].clone()
    };
    write(
        "ptxas",
        "#!/bin/sh\n[ \"$3\" = sm_89 ] && echo \"ptxas info    : Compiling entry function '$5' for '$3'\nptxas info    : Used 70 \
         registers, used 1 barriers\" >&2\n",
    );
    let occupancy = of("ptxas");
    assert_eq!(
        (&occupancy["registers"], &occupancy["registers_from"]),
        (&70.into(), &"ptxas".into())
    );
    // With 72 registers for each thread of 8 warps, three blocks fit.
    assert_eq!(
        (&occupancy["blocks_per_sm"], &occupancy["limited_by"]),
        (&3.into(), &"registers".into())
    );
    write("refuses", "#!/bin/sh\necho 'ptxas fatal   : no such thing' >&2\nexit 1\n");
    assert_eq!(of("refuses")["registers_from"], "unknown");
}

#[test]
fn ptxas_itself_gives_registers() {
    let report = json(&Sandbox::new().reduce_line("profile --variant 6 --n 1000 --json"));
    let occupancy = &report["occupancy"];
    if occupancy["registers_from"] == "unknown" {
        skip::test("there is no ptxas on the PATH");
        return;
    }
    let registers = occupancy["registers"].as_u64().unwrap();
    assert!((8..=64).contains(&registers), "{occupancy}");
}

#[test]
fn help_is_there() {
    for (line, word) in
        [("profile --help", "--gpu"), ("compare --help", "<VARIANT>"), ("--help", "compare")]
    {
        let run = Sandbox::new().reduce_line(line);
        assert_eq!(run.status, Some(0), "{run}");
        assert!(run.stdout.contains(word), "{run}");
    }
}
