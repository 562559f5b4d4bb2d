//! Tests that the compiler does not optimise the lesson away: the PTX of each rung still has the
//! instructions by which the rung teaches.

use warpfold_lab::{
    element::ElementType,
    op::Op,
    ptx::PtxLibrary,
    variant::{Results, Shared, Variant},
};

/// The instructions and labels of a kernel in the embedded PTX, one in each line, without comments.
fn body(variant: Variant, element: ElementType) -> Vec<String> {
    let kernel = variant.kernel(Op::Sum, element, 256);
    let ptx = PtxLibrary::embedded()
        .unwrap()
        .find(&kernel, variant.facts().capability.max((7, 5)))
        .unwrap();
    let (_, from_entry) = ptx.text.split_once(&format!(".entry {kernel}(")).unwrap();
    let (_, from_brace) = from_entry.split_once("\n{").unwrap();
    let (body, _) = from_brace.split_once("\n}").unwrap();
    let code = |line: &str| line.split("//").next().unwrap_or_default().trim().to_owned();
    body.lines().map(code).filter(|line| !line.is_empty()).collect()
}

/// The loops of a kernel: the lines from a label to each branch that goes back to it.
fn loops(body: &[String]) -> Vec<&[String]> {
    let mut loops = Vec::new();
    for (start, line) in body.iter().enumerate() {
        let Some(label) = line.strip_suffix(':') else { continue };
        for (end, line) in body.iter().enumerate().skip(start) {
            if line.contains("bra") && line.trim_end_matches(';').ends_with(&format!("\t{label}")) {
                loops.push(&body[start..=end]);
            }
        }
    }
    loops
}

fn has(lines: &[String], instruction: &str) -> bool {
    lines.iter().any(|line| line.contains(instruction))
}

/// The operands of the first instruction that begins with this text: the destination, then the
/// sources.
fn operands<'a>(lines: &'a [String], instruction: &str) -> Option<Vec<&'a str>> {
    let line = lines.iter().find_map(|line| line.strip_prefix(instruction))?;
    Some(
        line.trim_start_matches(|c: char| !c.is_whitespace())
            .trim_end_matches(';')
            .split(',')
            .map(str::trim)
            .collect(),
    )
}

fn each_element(variant: Variant, check: impl Fn(&[String], ElementType)) {
    for element in ElementType::ALL.into_iter().filter(|&element| variant.allows(Op::Sum, element))
    {
        check(&body(variant, element), element);
    }
}

#[test]
fn rung_1_divides_and_diverges() {
    each_element(Variant::InterleavedModulo, |body, element| {
        // The remainder of the thread's index alone decides whether the thread works in this step.
        let remainder = operands(body, "rem.u32")
            .unwrap_or_else(|| panic!("{element}: no rem in {body:#?}"))[0];
        let compared =
            body.iter().any(|line| line.starts_with("setp.") && line.contains(remainder));
        assert!(compared, "{element}: {body:#?}");
        assert!(has(body, "@%p"), "{element}: {body:#?}");
    });
}

#[test]
fn only_rung_1_divides() {
    for variant in Variant::all().filter(|&variant| variant != Variant::InterleavedModulo) {
        each_element(variant, |body, element| {
            assert!(!has(body, "rem.") && !has(body, "div."), "{variant} {element}: {body:#?}");
        });
    }
}

#[test]
fn rung_2_strides_by_2_s_and_conflicts() {
    each_element(Variant::InterleavedContiguous, |body, element| {
        // index = 2 * s * tid: neighbouring lanes are 2 * s elements apart. From s = 16 on, these
        // are all in one bank.
        let doubled = operands(body, "shl.b32").unwrap_or_else(|| panic!("{element}: {body:#?}"));
        assert_eq!(doubled[2], "1", "{element}: {body:#?}");
        let index = operands(body, "mul.lo")
            .unwrap_or_else(|| panic!("{element}: no product in {body:#?}"));
        assert!(index[1..].contains(&doubled[0]), "{element}: {body:#?}");
        let size = element.size().to_string();
        let address = body.iter().any(|line| {
            line.starts_with("mul.wide") && line.contains(&format!("{}, {size};", index[0]))
        });
        assert!(address, "{element}: {body:#?}");
    });
    // Rung 3 avoids this: its loop has no product.
    each_element(Variant::Sequential, |body, element| {
        assert!(!has(body, "mul.lo"), "{element}: {body:#?}");
    });
}

#[test]
fn rungs_with_a_run_time_block_loop_over_the_tree() {
    for variant in [
        Variant::Global,
        Variant::InterleavedModulo,
        Variant::InterleavedContiguous,
        Variant::Sequential,
        Variant::FirstAdd,
        Variant::WarpUnrolled,
    ] {
        each_element(variant, |body, element| {
            let tree = loops(body).into_iter().any(|lines| has(lines, "bar.sync"));
            assert!(tree, "{variant} {element}: {body:#?}");
        });
    }
}

#[test]
fn rung_6_is_completely_unrolled() {
    each_element(Variant::CompletelyUnrolled, |body, element| {
        assert!(loops(body).is_empty(), "{element}: {body:#?}");
    });
}

#[test]
fn rung_7_loops_over_the_input() {
    each_element(Variant::MultipleElements, |body, element| {
        let strides =
            loops(body).into_iter().any(|lines| has(lines, "ld.global") && !has(lines, "bar.sync"));
        assert!(strides, "{element}: {body:#?}");
        // The tree after the loop is unrolled.
        assert!(
            !loops(body).into_iter().any(|lines| has(lines, "bar.sync")),
            "{element}: {body:#?}"
        );
    });
}

#[test]
fn rung_8_shuffles_and_waits_once() {
    each_element(Variant::Shuffle, |body, element| {
        assert!(has(body, "shfl.sync.down"), "{element}: {body:#?}");
        assert_eq!(
            body.iter().filter(|line| line.starts_with("bar.sync")).count(),
            1,
            "{element}: {body:#?}"
        );
    });
}

#[test]
fn from_rung_9_on_four_wide_loads_are_in_flight() {
    let wide = Variant::all().skip_while(|&variant| variant != Variant::Vectorized);
    for variant in wide.filter(|&variant| variant != Variant::Bulk) {
        each_element(variant, |body, element| {
            let wide = |line: &&String| {
                line.starts_with("ld.global.v4.") || line.starts_with("ld.global.v2.b64")
            };
            let most = loops(body).into_iter().map(|lines| lines.iter().filter(wide).count()).max();
            assert_eq!(most, Some(4), "{variant} {element}: {body:#?}");
        });
    }
}

#[test]
fn rung_14_copies_tiles_and_waits_for_their_bytes() {
    each_element(Variant::Bulk, |body, element| {
        let rounds = loops(body);
        let refills = rounds.iter().any(|lines| {
            has(lines, "mbarrier.try_wait.parity")
                && has(lines, "mbarrier.arrive.expect_tx")
                && has(lines, "cp.async.bulk")
        });
        assert!(refills, "{element}: {body:#?}");
        let wide = |line: &String| {
            line.starts_with("ld.shared.v4.") || line.starts_with("ld.shared.v2.b64")
        };
        assert!(rounds.iter().any(|lines| lines.iter().any(wide)), "{element}: {body:#?}");
    });
}

#[test]
fn rung_13_reads_the_shared_memory_of_other_blocks_between_barriers() {
    each_element(Variant::Cluster, |body, element| {
        let of_cluster = |line: &&String| {
            line.starts_with("barrier.cluster.") || line.starts_with("ld.shared::cluster")
        };
        let order: Vec<_> = body.iter().filter(of_cluster).collect();
        let is_load = |index: usize| order[index].starts_with("ld.");
        assert_eq!(order.len(), 5, "{element}: {order:?}");
        assert!(
            is_load(2) && !(is_load(0) || is_load(1) || is_load(3) || is_load(4)),
            "{element}: {order:?}"
        );
    });
}

#[test]
fn who_combines_across_blocks_fences_before_and_after() {
    for variant in [Variant::SinglePass, Variant::Cooperative] {
        each_element(variant, |body, element| {
            let order: Vec<_> = body
                .iter()
                .filter(|line| line.starts_with("membar.gl") || line.starts_with("atom."))
                .collect();
            let [before, atomic, after] = order[..] else {
                panic!("{variant} {element}: {order:?}")
            };
            assert!(
                before.starts_with("membar")
                    && atomic.starts_with("atom.global")
                    && after.starts_with("membar")
            );
        });
    }
}

#[test]
fn atomics_are_there_where_they_are_the_lesson() {
    for variant in Variant::all().filter(|variant| variant.facts().results != Results::Combined) {
        each_element(variant, |body, element| {
            let atomic = has(body, "atom.global.add") || has(body, "red.global.add");
            assert_eq!(
                atomic,
                variant.facts().results == Results::Atomic,
                "{variant} {element}: {body:#?}"
            );
        });
    }
}

#[test]
fn rung_11_reduces_a_warp_by_one_instruction() {
    each_element(Variant::Redux, |body, element| {
        assert_eq!(
            body.iter().filter(|line| line.starts_with("redux.sync.add.s32")).count(),
            2,
            "{element}: {body:#?}"
        );
        assert!(!has(body, "shfl."), "{element}: {body:#?}");
    });
}

#[test]
fn shared_memory_is_true_shared_memory() {
    for variant in Variant::all() {
        each_element(variant, |body, element| {
            let shared = has(body, "ld.shared") && has(body, "st.shared");
            assert_eq!(
                shared,
                variant.facts().shared != Shared::None,
                "{variant} {element}: {body:#?}"
            );
        });
    }
}
