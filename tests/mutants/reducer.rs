//! Tests with mutants of the production reducer, whose blocks leave {value, tag} in words that the
//! last block polls.
//!
//! Some mistakes cause no race, such as a word for which the kernel does not wait, or which it does
//! not clear. These show in the contents of memory afterwards, in some orders of the blocks. If a
//! poll never ends, the simulator reports that.

use std::collections::BTreeSet;

use super::{Outcome, difference, module, plan, run};

/// The number of orders in which the warps and blocks run.
const ORDERS: u64 = 16;

#[test]
fn mutants_of_the_production_reducer_are_found() {
    let plan = plan("reducer.json");
    let mut failures = Vec::new();
    let mut classes = BTreeSet::new();
    for case in &plan.cases {
        let text = module(case);
        let outcomes: Vec<Outcome> =
            (0..ORDERS).map(|seed| run(case, &text, Some(seed).filter(|s| *s > 0))).collect();
        let class = case.mutation.as_ref().map_or("clean", |mutation| &*mutation.class);
        let base = case.mutation.as_ref().map_or(case, |mutation| {
            plan.cases
                .iter()
                .find(|base| base.name == mutation.of)
                .expect("a mutant is one of a case")
        });
        let right = run(base, &module(base), None).buffers;
        let is_as_said = |outcome: &Outcome| match class {
            "clean" => outcome.classes().is_empty() && outcome.buffers == right,
            "wrong-result" => outcome.classes().is_empty(),
            class => outcome.classes().contains(class),
        };
        for (seed, outcome) in
            outcomes.iter().enumerate().filter(|(_, outcome)| !is_as_said(outcome))
        {
            let (name, difference, text) = (&case.name, difference(base, case), outcome.text());
            failures.push(format!("{name}, seed {seed}, should be {class}:\n{difference}\n{text}"));
        }
        if class == "wrong-result" && outcomes.iter().all(|outcome| outcome.buffers == right) {
            failures.push(format!("{} gives the right result in all orders", case.name));
        }
        classes.insert(class);
    }
    assert!(
        failures.is_empty(),
        "{} are not what they should be:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    assert_eq!(
        classes,
        BTreeSet::from([
            "clean",
            "livelock",
            "misaligned",
            "out-of-bounds",
            "race",
            "wrong-result"
        ])
    );
}
