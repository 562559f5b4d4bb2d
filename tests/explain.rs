//! Tests of `reduce explain`: it draws the lectures' pictures. They run the real binary with the
//! committed PTX.

mod support;

use std::{fmt::Write as _, fs, path::Path, sync::LazyLock};

use cuda_builder::manifest::{FILE_NAME, sha256_hex};
use roxmltree::{Document, Node};
use serde_json::Value as Json;
use support::{Run, Sandbox};
use warpfold_lab::{
    element::{Element, ElementType, Values},
    explain::{
        Array, LECTURE_VALUES, Picture, Request, Step, default_values, explain, parse_values,
    },
    op::Op,
    ptx::PtxLibrary,
    variant::Variant,
};

fn lecture(variant: Variant, block: Option<u64>) -> Picture {
    picture(variant, Op::Sum, block, &parse_values(LECTURE_VALUES, ElementType::I32).unwrap())
}

fn picture(variant: Variant, op: Op, block: Option<u64>, values: &Values) -> Picture {
    static LIBRARY: LazyLock<PtxLibrary> = LazyLock::new(support::library);
    explain(&LIBRARY, &Request { variant, op, block }, values)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The values after a step, as integers.
fn ints(step: &Step) -> Vec<i64> {
    step.after.values.iter().map(|value| value.to_string().parse().unwrap()).collect()
}

/// The numbered steps, each with its stride, its threads and the values after it.
fn tree(picture: &Picture) -> Vec<(u64, Vec<u32>, Vec<i64>)> {
    let numbered = picture.steps.iter().filter(|step| step.number.is_some());
    numbered
        .map(|step| {
            (step.strides[0], step.work.iter().map(|work| work.thread).collect(), ints(step))
        })
        .collect()
}

/// The table of Hui Liu, Reduction #3, whose last row begins with 41.
const SEQUENTIAL: [[i64; 16]; 5] = [
    [10, 1, 8, -1, 0, -2, 3, 5, -2, -3, 2, 7, 0, 11, 0, 2],
    [8, -2, 10, 6, 0, 9, 3, 7, -2, -3, 2, 7, 0, 11, 0, 2],
    [8, 7, 13, 13, 0, 9, 3, 7, -2, -3, 2, 7, 0, 11, 0, 2],
    [21, 20, 13, 13, 0, 9, 3, 7, -2, -3, 2, 7, 0, 11, 0, 2],
    [41, 20, 13, 13, 0, 9, 3, 7, -2, -3, 2, 7, 0, 11, 0, 2],
];

/// The sums of the same values by interleaved addressing, as in Filipovič's "Implementace 1" and in
/// CSDN 2.1.
const INTERLEAVED: [[i64; 16]; 5] = [
    [10, 1, 8, -1, 0, -2, 3, 5, -2, -3, 2, 7, 0, 11, 0, 2],
    [11, 1, 7, -1, -2, -2, 8, 5, -5, -3, 9, 7, 11, 11, 2, 2],
    [18, 1, 7, -1, 6, -2, 8, 5, 4, -3, 9, 7, 13, 11, 2, 2],
    [24, 1, 7, -1, 6, -2, 8, 5, 17, -3, 9, 7, 13, 11, 2, 2],
    [41, 1, 7, -1, 6, -2, 8, 5, 17, -3, 9, 7, 13, 11, 2, 2],
];

#[test]
fn rung_3_gives_the_lectures_table() {
    for variant in [Variant::Sequential, Variant::Global] {
        let picture = lecture(variant, None);
        assert_eq!(picture.plan.block, 16);
        let expected: Vec<_> = [8, 4, 2, 1]
            .into_iter()
            .zip(&SEQUENTIAL[1..])
            .map(|(stride, row)| (stride, (0..stride as u32).collect::<Vec<_>>(), row.to_vec()))
            .collect();
        assert_eq!(tree(&picture), expected, "{variant}");
        for step in picture.steps.iter().filter(|step| step.number.is_some()) {
            for work in &step.work {
                let read: Vec<u64> = work.reads.iter().map(|cell| cell.index).collect();
                assert_eq!(
                    read,
                    [u64::from(work.thread), u64::from(work.thread) + step.strides[0]]
                );
                assert_eq!(work.writes.index, u64::from(work.thread));
            }
        }
    }
    assert_eq!(ints(&lecture(Variant::Sequential, None).steps[0]), SEQUENTIAL[0]);
}

#[test]
fn rungs_1_and_2_interleave() {
    // The two variants differ in the threads that add. In rung 1 it is every 2s-th thread. In rung
    // 2 it is the first threads, which work on cells that are 2s apart.
    for (variant, threads) in [(Variant::InterleavedModulo, 2), (Variant::InterleavedContiguous, 1)]
    {
        let picture = lecture(variant, None);
        let strides = [1, 2, 4, 8].into_iter().zip(&INTERLEAVED[1..]);
        let expected: Vec<_> = strides
            .map(|(s, row)| {
                let step = if threads == 2 { 2 * s as u32 } else { 1 };
                (s, (0..8 / s as u32).map(|k| k * step).collect::<Vec<_>>(), row.to_vec())
            })
            .collect();
        assert_eq!(tree(&picture), expected, "{variant}");
        assert_eq!(ints(&picture.steps[0]), INTERLEAVED[0]);
    }
}

#[test]
fn rung_4_adds_during_the_load() {
    let picture = lecture(Variant::FirstAdd, None);
    assert_eq!(picture.plan.block, 8);
    let load = &picture.steps[0];
    assert_eq!((load.number, load.from, load.after.array), (Some(1), Array::Input, Array::Shared));
    let rows: Vec<_> = tree(&picture).into_iter().map(|(stride, _, row)| (stride, row)).collect();
    let expected: Vec<_> = [8, 4, 2, 1]
        .into_iter()
        .zip(&SEQUENTIAL[1..])
        .map(|(stride, row)| (stride, row[..8].to_vec()))
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn rungs_5_to_7_fold_the_steps_that_only_add_the_identity() {
    for variant in [Variant::WarpUnrolled, Variant::CompletelyUnrolled, Variant::MultipleElements] {
        let picture = lecture(variant, None);
        assert_eq!(
            (picture.plan.block, picture.shared_cells, picture.shared_shown),
            (64, 64, 16),
            "{variant}"
        );
        assert_eq!(ints(&picture.steps[0]), SEQUENTIAL[0], "{variant}");
        let steps = tree(&picture);
        let shown: Vec<_> =
            steps.iter().map(|(stride, threads, _)| (*stride, threads.len())).collect();
        // The upper lanes of the last warp still add, but nobody reads their results.
        assert_eq!(shown, [(32, 0), (16, 0), (8, 8), (4, 12), (2, 14), (1, 15)], "{variant}");
        // The cells below the stride have the values of the lecture.
        for ((stride, _, row), expected) in steps[2..].iter().zip(&SEQUENTIAL[1..]) {
            let stride = *stride as usize;
            assert_eq!(row[..stride], expected[..stride], "{variant}");
        }
        assert_eq!(picture.steps.last().unwrap().after.to_string(), "41");
    }
}

#[test]
fn rung_0_launches_for_each_level() {
    let picture = lecture(Variant::Naive, None);
    let rows: Vec<_> = picture
        .steps
        .iter()
        .map(|step| (step.launch, step.strides.clone(), step.after.to_string()))
        .collect();
    let expected = ["11 7 -2 8 -5 9 11 2", "18 6 4 13", "24 17", "41"];
    let expected: Vec<_> = expected
        .iter()
        .enumerate()
        .map(|(launch, row)| (launch, vec![1], (*row).to_owned()))
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn every_rung_tells_every_operation_on_every_type_to_its_end() {
    fn check<T: Element>(values: &[T]) {
        for n in [1, 2, 13, 16, 33, 64] {
            let values = T::values(values[..n].to_vec());
            for variant in Variant::all() {
                for op in Op::ALL.into_iter().filter(|&op| variant.allows(op, T::TYPE)) {
                    let picture = picture(variant, op, None, &values);
                    assert!(picture.agrees, "{} {n}: {picture:?}", picture.plan.kernel);
                    if !picture.events.is_empty() {
                        continue;
                    }
                    let last = &picture.steps.last().unwrap().after;
                    if n > 1 || variant != Variant::Naive {
                        assert!(
                            last.values[0].is_same(picture.result.unwrap()),
                            "{} {n}",
                            picture.plan.kernel
                        );
                    }
                }
            }
        }
    }
    check::<i32>(&std::array::from_fn::<_, 64, _>(|i| (i as i32 * 37 % 64) - 20));
    check::<u64>(&std::array::from_fn::<_, 64, _>(|i| (i as u64 * 37 % 64) + 1));
    check::<f32>(&std::array::from_fn::<_, 64, _>(|i| ((i * 37 % 64) as f32 - 31.5) / 16.0));
}

/// The values in the registers before each exchange of rung 8, and the lanes that matter: the table
/// of rung 3 for the lanes that the result needs.
#[test]
fn rung_8_adds_in_registers_as_rung_3_does_in_shared_memory() {
    let picture = lecture(Variant::Shuffle, None);
    let first: Vec<&Step> =
        picture.steps.iter().take_while(|step| step.after.array == Array::Registers).collect();
    let strides: Vec<_> = first.iter().map(|step| step.strides.clone()).collect();
    assert_eq!(strides, [vec![], vec![16], vec![8], vec![4], vec![2], vec![1]]);
    assert_eq!(ints(first[0]), SEQUENTIAL[0]);
    for (step, row) in first[2..].iter().zip(&SEQUENTIAL[1..]) {
        let stride = step.strides[0] as usize;
        assert_eq!(ints(step)[..stride], row[..stride], "stride {stride}");
        for work in &step.work {
            let lanes: Vec<u64> = work.reads.iter().map(|cell| cell.index).collect();
            assert_eq!(lanes, [work.thread.into(), u64::from(work.thread) + stride as u64]);
        }
    }
    // Only lane 0 stores what it got last.
    let last = first[5];
    assert_eq!(
        (ints(last), last.work.iter().map(|work| work.thread).collect::<Vec<_>>()),
        (vec![41], vec![0])
    );
    assert_eq!(last.unread, (1..32).collect::<Vec<u32>>());
}

#[test]
fn rung_9_loads_four_values_at_once() {
    let picture = lecture(Variant::Vectorized, None);
    let load = &picture.steps[0];
    assert_eq!((load.from, load.after.array), (Array::Input, Array::Registers));
    for work in &load.work {
        let cells: Vec<u64> = work.reads.iter().map(|cell| cell.index).collect();
        let first = 4 * u64::from(work.thread);
        assert_eq!(cells, (first..first + 4).collect::<Vec<_>>());
    }
    assert_eq!(ints(load), [18, 6, 4, 13]);
    // Elements of 8 bytes take two shuffles, which are one step.
    let values = parse_values(LECTURE_VALUES, ElementType::F64).unwrap();
    let doubles = self::picture(Variant::Vectorized, Op::Sum, None, &values);
    assert_eq!(doubles.steps[0].after.to_string(), "11.0 7.0 -2.0 8.0 -5.0 9.0 11.0 2.0");
    assert_eq!(doubles.result.unwrap().to_string(), "41.0");
}

#[test]
fn rung_11_gets_all_lanes_at_once() {
    let picture = lecture(Variant::Redux, None);
    let redux = &picture.steps[1];
    let lanes: Vec<u64> = redux.work[0].reads.iter().map(|cell| cell.index).collect();
    assert_eq!((lanes, ints(redux)), (vec![0, 1, 2, 3], vec![41]));
}

#[test]
fn a_thread_of_rung_7_takes_several_elements() {
    let values = default_values(Variant::MultipleElements, ElementType::I32, false);
    let values = parse_values(&values, ElementType::I32).unwrap();
    let picture = picture(Variant::MultipleElements, Op::Sum, None, &values);
    for work in &picture.steps[0].work {
        let cells: Vec<u64> = work.reads.iter().map(|cell| cell.index).collect();
        let thread = u64::from(work.thread);
        assert_eq!(cells, [0, 64, 128, 192].map(|row| row + thread));
    }
    assert_eq!(picture.result.unwrap().to_string(), (16 * 41).to_string());
}

/// The deeds of a rung's blocks, each with the block.
fn deeds(variant: Variant) -> Vec<(u64, String)> {
    let text = default_values(variant, ElementType::I32, false);
    let picture = picture(variant, Op::Sum, None, &parse_values(&text, ElementType::I32).unwrap());
    assert!(picture.agrees && picture.steps.is_empty());
    picture.events.iter().map(|event| (event.block, event.deed.to_string())).collect()
}

#[test]
fn the_last_block_of_rung_10_collects_behind_its_ticket() {
    let deeds = deeds(Variant::SinglePass);
    let of = |block: u64| -> Vec<&str> {
        deeds.iter().filter(|(other, _)| *other == block).map(|(_, deed)| deed.as_str()).collect()
    };
    // The counter wraps round at the last of the four tickets.
    let (last, _) = deeds.iter().find(|(_, deed)| deed == "counts, now 0").unwrap();
    for block in 0..4 {
        let deeds = of(block);
        assert_eq!(deeds[0], format!("leaves 328 in partial {block}"));
        assert_eq!((deeds[1], deeds[3]), ("fence", "fence"));
        assert!(deeds[2].starts_with("counts, now "), "{deeds:?}");
        assert_eq!(deeds.len(), if block == *last { 6 } else { 4 }, "{deeds:?}");
    }
    assert_eq!(of(*last)[4..], ["reads partials 0-3: 328 328 328 328", "writes 1312 to output 0"]);
}

#[test]
fn the_blocks_of_rung_12_poll_and_block_0_collects() {
    let deeds = deeds(Variant::Cooperative);
    let position = |text: &str| deeds.iter().position(|(_, deed)| deed.starts_with(text)).unwrap();
    let counts = deeds.iter().filter(|(_, deed)| deed.starts_with("counts")).count();
    let polls = deeds.iter().filter(|(_, deed)| deed.starts_with("reads the counter")).count();
    assert_eq!((counts, polls), (4, 4), "{deeds:?}");
    let last_count = deeds.iter().rposition(|(_, deed)| deed.starts_with("counts")).unwrap();
    assert!(position("reads partials") > last_count, "{deeds:?}");
    assert_eq!(deeds[position("reads partials")].0, 0);
}

#[test]
fn the_first_block_of_rung_13_reads_its_peers_between_two_barriers() {
    let deeds = deeds(Variant::Cluster);
    let texts: Vec<&str> = deeds.iter().map(|(_, deed)| deed.as_str()).collect();
    assert_eq!(
        texts,
        [
            "cluster barrier complete",
            "reads 328 from block 1",
            "reads 328 from block 2",
            "reads 328 from block 3",
            "writes 1312 to output 0",
            "cluster barrier complete",
        ]
    );
}

#[test]
fn each_tile_of_rung_14_is_copied_arrives_and_is_added_up() {
    let deeds = deeds(Variant::Bulk);
    let position = |text: String| deeds.iter().position(|(_, deed)| *deed == text);
    for tile in 0..12 {
        let elements = format!("elements {}-{}", 2048 * tile, 2048 * tile + 2047);
        let [starts, arrives, added] = [
            position(format!("starts a copy: {elements}")),
            position(format!("copy arrives: {elements}")),
            position(format!("adds up {elements}")),
        ];
        assert!(starts.is_some() && starts < arrives && arrives < added, "{elements}: {deeds:?}");
    }
}

#[test]
fn each_block_and_each_warp_of_the_atomic_rungs_combines_once() {
    for variant in [Variant::AtomicBlock, Variant::AtomicWarp] {
        let deeds = deeds(variant);
        let totals: Vec<&str> =
            deeds.iter().map(|(_, deed)| deed.rsplit(' ').next().unwrap()).collect();
        assert_eq!(totals, ["328", "656", "984", "1312"], "{deeds:?}");
    }
}

#[test]
fn what_blocks_do_is_drawn_and_told_in_json() {
    let sandbox = Sandbox::new();
    let run = sandbox.reduce(["explain", "--variant", "10", "--json", "--svg", "blocks.svg"]);
    let json: Json = serde_json::from_str(&run.stdout).unwrap();
    let events = json["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[0]["does"]), (18, &Json::from("leave")), "{run}");
    let text = sandbox.read("blocks.svg");
    let document = Document::parse(&text).unwrap();
    let drawn: Vec<String> = classed(document.root(), "event")
        .iter()
        .map(|node| node.first_element_child().unwrap().text().unwrap().to_owned())
        .collect();
    let told: Vec<&str> = events.iter().map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(drawn, told);
}

#[test]
fn of_several_blocks_the_first_is_shown() {
    let values = Values::I32((1..=20).collect());
    let picture = picture(Variant::Sequential, Op::Sum, Some(8), &values);
    assert_eq!((picture.plan.stages.len(), picture.launches_shown), (2, 1));
    assert_eq!(picture.steps.last().unwrap().after.to_string(), "36");
    let others: Vec<String> = picture.others.iter().map(ToString::to_string).collect();
    assert_eq!(others, ["100", "74"]);
    assert_eq!(picture.result.unwrap().to_string(), "210");
}

#[test]
fn strided_lanes_conflict_in_the_banks() {
    // The block has 64 threads. In rung 2, lane i reads words 2i and 2i + 1, so a warp reads 64
    // words in 32 banks. In rung 3 a warp reads 32 neighbouring words.
    let values = Values::I32((1..=64).collect());
    let conflicts = |variant| -> Vec<u64> {
        let picture = picture(variant, Op::Sum, None, &values);
        let steps = picture.steps.iter().filter(|step| step.number.is_some());
        steps.map(|step| step.banks.iter().map(|bank| bank.conflicts).sum()).collect()
    };
    assert_eq!(conflicts(Variant::InterleavedContiguous), [3, 3, 3, 3, 3, 0]);
    assert_eq!(conflicts(Variant::Sequential), [0; 6]);
    let clashing =
        &picture(Variant::InterleavedContiguous, Op::Sum, None, &values).steps[3].banks[0].clashing;
    assert_eq!(*clashing, [0, 8, 16, 24, 32, 40, 48, 56]);
}

/// The instruction by which rung 3 adds a thread's own value and its partner's value.
const ADDITION: &str = "add.s32 \t%r7, %r6, %r5;";

/// Makes a folder with the committed PTX in which one file is changed.
fn mutant(folder: &Path, file: &str, change: impl Fn(&str) -> String) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/ptx");
    let text = fs::read_to_string(source.join(file)).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "{file}");
    let manifest = fs::read_to_string(source.join(FILE_NAME)).unwrap();
    let hash = sha256_hex(text.as_bytes());
    assert!(manifest.contains(&hash));
    fs::write(folder.join(FILE_NAME), manifest.replace(&hash, &sha256_hex(changed.as_bytes())))
        .unwrap();
    fs::write(folder.join(file), changed).unwrap();
}

fn mutant_picture(
    file: &str,
    change: impl Fn(&str) -> String,
    request: Request,
    values: &Values,
) -> Picture {
    let folder = tempfile::tempdir().unwrap();
    mutant(folder.path(), file, change);
    explain(&PtxLibrary::from_dir(folder.path()).unwrap(), &request, values).unwrap()
}

#[test]
fn a_wrong_kernel_gives_a_wrong_picture() {
    let values = parse_values(LECTURE_VALUES, ElementType::I32).unwrap();
    let request = Request { variant: Variant::Sequential, op: Op::Sum, block: None };
    let file = "reduce3_i32.sm_75.ptx";

    // This mutant subtracts where it should add.
    let wrong = mutant_picture(
        file,
        |text| text.replace(ADDITION, "sub.s32 \t%r7, %r5, %r6;"),
        request,
        &values,
    );
    assert!(!wrong.agrees);
    assert_eq!(ints(&wrong.steps[1])[..8], [12, 4, 6, -8, 0, -13, 3, 3]);

    // In this mutant the partner is twice as far away, which is a fault. The picture ends where the
    // kernel ended.
    let wrong = mutant_picture(
        file,
        |text| text.replace("%rd17, %r11, 4;", "%rd17, %r11, 8;"),
        request,
        &values,
    );
    assert!(wrong.result.is_err());
    assert_eq!(wrong.steps.len(), 1);

    // In this mutant the barriers of the tree are missing, and there are two warps. Six steps
    // become one, and the first warp adds its last partner before the second warp has computed it.
    let values = Values::I32((1..=64).collect());
    let request = Request { variant: Variant::InterleavedModulo, ..request };
    let drop_second_barrier = |text: &str| {
        let (before, kernel) = text.split_once(".entry reduce1_sum_i32(").unwrap();
        let [first, second, rest] = kernel.splitn(3, "bar.sync \t0;").collect::<Vec<_>>()[..]
        else {
            panic!("{kernel}")
        };
        format!("{before}.entry reduce1_sum_i32({first}bar.sync \t0;{second}{rest}")
    };
    let wrong = mutant_picture("reduce1_i32.sm_75.ptx", drop_second_barrier, request, &values);
    assert_eq!(tree(&picture(Variant::InterleavedModulo, Op::Sum, None, &values)).len(), 6);
    assert_eq!(tree(&wrong).len(), 1);
    let step = wrong.steps.iter().find(|step| step.number.is_some()).unwrap();
    assert_eq!(step.strides, [1, 2, 4, 8, 16, 32]);
    assert_eq!(
        (wrong.agrees, wrong.result.as_ref().unwrap().to_string()),
        (false, (32 * 33 / 2 + 33).to_string())
    );
    // The picture can also be drawn for paper.
    assert!(Document::parse(&wrong.to_svg(true)).is_ok());
    wrong.write_text(&mut Vec::new(), true).unwrap();
}

/// The pictures of all rungs as text, for the lecture's values.
#[test]
fn texts_are_as_kept() {
    let mut text = String::new();
    for variant in ["1", "2", "3", "4", "5", "6", "7"] {
        let run = Sandbox::new().reduce(["explain", "--variant", variant]);
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
        writeln!(text, "$ reduce explain --variant {variant}\n{}", run.stdout).unwrap();
    }
    insta::assert_snapshot!("rungs", text);
    let line = "explain --variant 2 --block 64 --banks --values 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34";
    insta::assert_snapshot!("banks", Sandbox::new().reduce_line(line).stdout);
}

fn svg(sandbox: &Sandbox, args: &[&str]) -> String {
    let run = sandbox.reduce(["explain", "--svg", "picture.svg"].iter().chain(args));
    assert_eq!(run.status, Some(0), "{run}");
    sandbox.read("picture.svg")
}

fn classed<'a>(node: Node<'a, 'a>, class: &str) -> Vec<Node<'a, 'a>> {
    let has = |node: &Node<'_, '_>| {
        node.attribute("class").is_some_and(|c| c.split(' ').any(|word| word == class))
    };
    node.descendants().filter(has).collect()
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

#[test]
fn svg_has_the_cells_and_arrows_of_each_step() {
    let text = svg(&Sandbox::new(), &["--variant", "3"]);
    let document = Document::parse(&text).unwrap();
    let root = document.root_element();
    assert!(
        root.has_tag_name(("http://www.w3.org/2000/svg", "svg"))
            && root.attribute("viewBox").is_some()
    );
    for name in ["title", "desc"] {
        let told =
            root.children().find(|node| node.tag_name().name() == name).unwrap().text().unwrap();
        assert!(
            told.contains(if name == "title" { "reduce3_sum_i32" } else { "8 -2 10 6 0 9 3 7" }),
            "{told}"
        );
    }
    assert!(text.contains("prefers-color-scheme: dark"));

    let rows = classed(root, "row");
    let values = |row: &Node<'_, '_>| -> Vec<i64> {
        classed(document.get_node(row.id()).unwrap(), "value")
            .iter()
            .map(|node| node.text().unwrap().parse().unwrap())
            .collect()
    };
    assert_eq!(values(&rows[0]), SEQUENTIAL[0]);
    for (row, expected) in rows[1..6].iter().zip(SEQUENTIAL) {
        assert_eq!(values(row), expected);
        assert_eq!(classed(*row, "cell").len(), 16);
    }
    let counts: Vec<_> = classed(root, "step")
        .iter()
        .map(|step| {
            (classed(*step, "work").len(), classed(*step, "from").len(), classed(*step, "to").len())
        })
        .collect();
    assert_eq!(counts, [(16, 16, 16), (8, 16, 8), (4, 8, 4), (2, 4, 2), (1, 2, 1), (1, 1, 1)]);
}

/// The picture of each step, as a parsed SVG, if a picture is shown one step at a time.
#[test]
fn each_step_is_a_picture_of_its_own() {
    let shown = |picture: &Picture, banks| {
        let stepped = picture.to_picture("rung", banks);
        assert!(
            stepped.title.starts_with(&picture.plan.kernel)
                && stepped.text_alternative.ends_with("as on the CPU.")
        );
        stepped.steps
    };
    let rows = |svg: &str| -> Vec<String> {
        let document = Document::parse(svg).unwrap();
        let text = |row: Node<'_, '_>| {
            let row = document.get_node(row.id()).unwrap();
            classed(row, "value")
                .iter()
                .map(|node| node.text().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        };
        classed(document.root_element(), "row").into_iter().map(text).collect()
    };
    let rung_3 = lecture(Variant::Sequential, None);
    let steps = shown(&rung_3, false);
    let table: Vec<String> =
        SEQUENTIAL.iter().map(|row| row.map(|value| value.to_string()).join(" ")).collect();
    assert_eq!(rows(&steps[0].svg), [table[0].clone()]);
    assert_eq!(rows(&steps[1].svg), [table[0].clone(), table[0].clone()]);
    for (step, pair) in steps[2..6].iter().zip(table.windows(2)) {
        assert_eq!(rows(&step.svg), pair);
    }
    assert_eq!(rows(&steps[6].svg), [table[4].clone(), "41".to_owned()]);
    let captions: Vec<&str> = steps.iter().map(|step| step.caption.as_str()).collect();
    assert_eq!(
        captions,
        [
            "the values",
            "copy, input to shared: 16 threads, then barrier",
            "step 1, stride 8: 8 threads, then barrier",
            "step 2, stride 4: 4 threads, then barrier",
            "step 3, stride 2: 2 threads, then barrier",
            "step 4, stride 1: 1 thread, then barrier",
            "copy, shared to output: 1 thread, then end",
        ]
    );

    // No id is used twice in one page, and nothing moves from step to step.
    let ids: Vec<String> = steps
        .iter()
        .flat_map(|step| {
            step.svg.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned())
        })
        .collect();
    let unique: std::collections::BTreeSet<_> = ids.iter().collect();
    assert!(unique.len() == ids.len() && ids.len() == 3 * steps.len(), "{ids:?}");
    for step in &steps {
        assert_eq!(
            step.svg.split("viewBox").nth(1).unwrap()[..20],
            steps[0].svg.split("viewBox").nth(1).unwrap()[..20]
        );
        for used in step.svg.split("url(#").skip(1) {
            assert!(ids.iter().any(|id| used.starts_with(&format!("{id})"))));
        }
    }

    // A step that changes nothing in the picture is shown together with the next one.
    let steps = shown(&lecture(Variant::WarpUnrolled, None), true);
    assert_eq!(steps.len(), 7);
    let told = lecture(Variant::WarpUnrolled, None).to_picture("rung", true).text_alternative;
    assert_eq!(
        told,
        "Cells 16-63 of shared memory hold the identity 0 throughout, and are not shown. Beyond: at work on cells beyond \
         those shown, where the identity 0 is. The result is 41, as on the CPU."
    );
    assert!(
        steps[2].caption.starts_with("step 1, stride 32: threads 0-31 work on cells beyond"),
        "{}",
        steps[2].caption
    );
    assert!(
        steps[2].caption.ends_with("; step 3, stride 8: 8 threads, then warp sync"),
        "{}",
        steps[2].caption
    );
    for variant in Variant::all().filter(|variant| !variant.facts().shuffles) {
        for step in shown(&lecture(variant, None), true) {
            assert!(
                Document::parse(&step.svg).is_ok() && !step.svg.contains("<style>"),
                "{variant}"
            );
        }
    }
}

/// Computes the box of each text from the width of a monospaced character. No box may touch
/// another.
#[test]
fn svg_texts_do_not_overlap() {
    let sixty_four: Vec<String> = (1..=64).map(|i| (i * 1_000_003).to_string()).collect();
    let sixty_four = sixty_four.join(" ");
    let cases: [&[&str]; 6] = [
        &["--variant", "1", "--banks"],
        &["--variant", "5", "--banks"],
        &["--variant", "7", "--values", "1"],
        &["--variant", "0"],
        &["--variant", "2", "--banks", "--values", &sixty_four],
        &["--variant", "6", "--type", "f64", "--op", "min", "--values", "1e300 -2.5e-300 3"],
    ];
    for args in cases {
        let text = svg(&Sandbox::new(), args);
        let document = Document::parse(&text).unwrap();
        let root = document.root_element();
        let view: Vec<f64> = root
            .attribute("viewBox")
            .unwrap()
            .split(' ')
            .map(|part| part.parse().unwrap())
            .collect();
        let mut boxes: Vec<(f64, f64, f64, f64, &str)> = Vec::new();
        for node in root
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
        {
            let (x, y, shown) = (number(node, "x"), number(node, "y"), node.text().unwrap());
            let class = node.attribute("class").unwrap();
            let (size, centred) = match class {
                "value" => (14.0, true),
                "thread" => (12.0, true),
                "index" => (10.0, true),
                _ => (12.0, false),
            };
            let width = shown.chars().count() as f64 * size * 0.6;
            let left = if centred { x - width / 2.0 } else { x };
            let (top, right) = (y - size * 0.75, left + width);
            assert!(
                left >= 0.0 && top >= 0.0 && right <= view[2] && y <= view[3],
                "{shown} is outside: {args:?}"
            );
            for (l, t, r, b, other) in &boxes {
                assert!(
                    right <= *l || left >= *r || y <= *t || top >= *b,
                    "{shown} overlaps {other}: {args:?}"
                );
            }
            boxes.push((left, top, right, y, shown));
        }
        assert!(boxes.len() > 10);
    }
}

#[test]
fn json_tells_the_same() {
    let run = Sandbox::new().reduce(["explain", "--variant", "3", "--json"]);
    assert_eq!(run.status, Some(0), "{run}");
    let json: Json = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&json["kernel"], &json["block"], &json["result"]),
        (&"reduce3_sum_i32".into(), &16.into(), &41.into())
    );
    assert_eq!(json["input"], Json::from(SEQUENTIAL[0].to_vec()));
    let step = &json["steps"][1];
    assert_eq!((&step["step"], &step["strides"]), (&1.into(), &vec![8].into()));
    assert_eq!(step["values"], Json::from(SEQUENTIAL[1].to_vec()));
    let work = serde_json::json!({
        "thread": 7,
        "reads": [{"array": "shared", "cell": 7}, {"array": "shared", "cell": 15}],
        "writes": {"array": "shared", "cell": 7},
    });
    assert_eq!(step["work"][7], work);
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let many = format!("explain --variant 3 --values {}", vec!["1"; 257].join(","));
    let mut text = String::new();
    for line in [
        "explain --variant 15",
        "explain --variant 3 --values ten",
        "explain --variant 3 --values 1,2.5",
        "explain --variant 3 --values 2147483648",
        "explain --variant 3 --values -1 --type u32",
        "explain --variant 3 --values ,",
        "explain --variant 3 --block 12",
        "explain --variant 6 --block 16",
        "explain --variant 3 --block x",
        "explain --variant 3 --op mean",
        "explain --variant 3 --type f16",
        &many,
    ] {
        let run = Sandbox::new().reduce_line(line);
        assert_eq!(run.stdout, "", "{run}");
        let shown = if line.len() > 60 { "explain (257 values)" } else { line };
        writeln!(text, "$ reduce {shown}\n{}[{}]", run.stderr, run.status.unwrap()).unwrap();
    }
    insta::assert_snapshot!(text, @r"
    $ reduce explain --variant 15
    error: unknown variant '15': it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    [2]
    $ reduce explain --variant 3 --values ten
    error: value 'ten': it must be a number that i32 holds
    [2]
    $ reduce explain --variant 3 --values 1,2.5
    error: value '2.5': it must be a number that i32 holds
    [2]
    $ reduce explain --variant 3 --values 2147483648
    error: value '2147483648': it must be a number that i32 holds
    [2]
    $ reduce explain --variant 3 --values -1 --type u32
    error: value '-1': it must be a number that u32 holds
    [2]
    $ reduce explain --variant 3 --values ,
    error: no values: at least one is needed
    [2]
    $ reduce explain --variant 3 --block 12
    error: block 12: variant 3 works with blocks of a power of two from 2 to 1024 threads
    [2]
    $ reduce explain --variant 6 --block 16
    error: block 16: variant 6 works with blocks of a power of two from 64 to 1024 threads
    [2]
    $ reduce explain --variant 3 --block x
    error: --block 'x': it must be a whole number from 0 to 2^64 - 1, such as 16
    [2]
    $ reduce explain --variant 3 --op mean
    error: unknown operation 'mean': it is one of sum, min, max, prod
    [2]
    $ reduce explain --variant 3 --type f16
    error: unknown type 'f16': it is one of i32, u32, i64, u64, f32, f64
    [2]
    $ reduce explain (257 values)
    error: 257 values: a picture of variant 3 can show at most 256
    [2]
    ");
}

#[test]
fn a_wrong_result_and_an_unwritable_file_are_failures() {
    let sandbox = Sandbox::new();
    let folder = tempfile::tempdir().unwrap();
    mutant(folder.path(), "reduce3_i32.sm_75.ptx", |text| {
        text.replace(ADDITION, "mov.u32 \t%r7, %r5;")
    });
    let folder = folder.path().to_str().unwrap();
    let run: Run = sandbox.reduce(["explain", "--variant", "3", "--ptx-dir", folder]);
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (Some(1), "error: wrong result: reduce3_sum_i32 gave 10, and the reference is 41\n"),
        "{run}"
    );
    assert!(run.stdout.ends_with("The result is 10, which is wrong: the CPU gets 41.\n"), "{run}");

    let run = sandbox.reduce(["explain", "--variant", "3", "--svg", "no/such/folder.svg"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert!(run.stderr.starts_with("error: cannot write no/such/folder.svg"), "{run}");
}
