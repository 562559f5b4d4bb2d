//! Tests that compute-sanitizer and the simulator agree wherever both look for the same errors. The
//! sanitizer's verdicts on an H100 were recorded by bench/hardware-on-gpu.sh.

use std::collections::BTreeSet;

use bench::hardware::Verdicts;

use super::{SEEDS, module, plan, root, run};

/// A tool of compute-sanitizer: the text that it prints when it finds an error, and the names that
/// the simulator may give to that error.
struct Tool {
    name: &'static str,
    says: &'static str,
    classes: &'static [&'static str],
}

const TOOLS: [Tool; 4] = [
    Tool {
        name: "memcheck",
        says: "Invalid __",
        classes: &["out-of-bounds", "misaligned", "null-pointer", "use-after-free"],
    },
    Tool { name: "racecheck", says: "Race reported", classes: &["race", "warp-synchronous"] },
    Tool { name: "initcheck", says: "Uninitialized", classes: &["uninitialized-read"] },
    Tool {
        name: "synccheck",
        says: "Barrier error",
        classes: &[
            "divergent-barrier",
            "deadlock",
            "barrier-operand",
            "absent-lanes",
            "not-in-mask",
            "stray-shuffle",
        ],
    },
];

/// The known disagreements, each with its case, its tool and the reason. A fault ends a simulated
/// launch, so the simulator does not see later errors.
const EXCEPTIONS: [(&str, &str, &str); 3] = [
    ("reduce5.mask-without-lane-31", "racecheck", "a lane that its own mask leaves out is a fault"),
    (
        "transpose.load-bound",
        "initcheck",
        "the read that it calls uninitialised is the one past the end",
    ),
    ("transpose.misaligned-store", "racecheck", "the misaligned store is a fault"),
];

#[test]
fn what_the_sanitizer_reports_is_reported() {
    let Some(recorded) =
        Verdicts::read(&root().join("tests/data/mutants/h100_verdicts.json")).unwrap()
    else {
        crate::skip::test("tests/data/mutants/h100_verdicts.json is not there");
        return;
    };
    let plan = plan("plan.json");
    let names =
        |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        names(&mut recorded.cases.iter().map(|case| &*case.name)),
        names(&mut plan.cases.iter().map(|case| &*case.name)),
        "the plan is not the one that was recorded"
    );
    let mut failures = Vec::new();
    let mut excused = BTreeSet::new();
    let mut agreements = 0;
    for (case, judged) in plan.cases.iter().zip(&recorded.cases) {
        let module = module(case);
        let found: BTreeSet<&str> =
            SEEDS.iter().flat_map(|seed| run(case, &module, *seed).classes()).collect();
        let verdicts = [&judged.memcheck, &judged.racecheck, &judged.initcheck, &judged.synccheck];
        for (tool, verdict) in TOOLS.iter().zip(verdicts) {
            if !verdict.contains(tool.says) {
                continue;
            }
            if tool.classes.iter().any(|class| found.contains(class)) {
                agreements += 1;
            } else if EXCEPTIONS.iter().any(|(name, by, _)| *name == case.name && *by == tool.name)
            {
                excused.insert((&*case.name, tool.name));
            } else {
                failures.push(format!(
                    "{}: {} says `{verdict}`, the simulator {found:?}",
                    case.name, tool.name
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{} disagreements:\n{}", failures.len(), failures.join("\n"));
    for (case, tool, reason) in EXCEPTIONS {
        assert!(excused.contains(&(case, tool)), "{case} needs no exception for {tool} ({reason})");
    }
    assert!(agreements >= 40, "the sanitizer reported next to nothing: {agreements}");
}
