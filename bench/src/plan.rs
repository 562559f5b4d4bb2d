//! Plans: launches that are replayed the same way on a GPU and on the simulator.
//!
//! A plan is a JSON file:
//!
//! ```json
//! {
//!   "cases": [
//!     {
//!       "name": "copy",
//!       "ptx": "tests/data/hardware/access.sm_75.ptx",
//!       "entry": "copy_b32",
//!       "grid": [8, 1, 1],
//!       "block": [256, 1, 1],
//!       "shared": 0,
//!       "args": ["buffer:u32:2000=random:1", "buffer:u32:2000", "u32:2000"]
//!     }
//!   ]
//! }
//! ```
//!
//! `ptx` is relative to the root of the repository. `grid` and `block` may have fewer dimensions or
//! be numbers, `shared` is the dynamic shared memory of a block in bytes and may be left out, and
//! `args` are those of [`simt::args`]. If `cluster` is given, so many blocks form a cluster, along
//! x. If `cooperative` is true, all blocks are resident at once.
//!
//! A plan may also have `mutants`. A mutant is a faulty twin of a case: it is the same launch with
//! edited PTX. Its `class` is the class of the error that the edits cause.
//!
//! ```json
//! {
//!   "name": "copy.bound", "of": "copy", "class": "out-of-bounds",
//!   "edits": [{"find": "setp.ge", "with": "setp.gt"}]
//! }
//! ```
//!
//! The mutants come after the cases, in the order of the file.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use simt::args::{ArgError, ArgSpec};
use simt::{Dim3, LaunchConfig};

use crate::edit::{self, Edit};

/// A list of launches. Each has a name of its own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WrittenPlan")]
pub struct Plan {
    /// The cases in the order in which they run.
    pub cases: Vec<Case>,
}

/// A plan as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPlan {
    cases: Vec<Case>,
    #[serde(default)]
    mutants: Vec<WrittenMutant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMutant {
    name: String,
    of: String,
    class: String,
    edits: Vec<Edit>,
}

impl TryFrom<WrittenPlan> for Plan {
    type Error = String;

    fn try_from(WrittenPlan { mut cases, mutants }: WrittenPlan) -> Result<Plan, String> {
        for WrittenMutant { name, of, class, edits } in mutants {
            let base = cases.iter().find(|case| case.name == of && case.mutation.is_none());
            let base = base.ok_or_else(|| format!("case {name}: there is no case {of}"))?;
            cases.push(Case {
                name,
                mutation: Some(Mutation { of, class, edits }),
                ..base.clone()
            });
        }
        Ok(Plan { cases })
    }
}

/// The difference between a case and the case of which it is a faulty twin.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// The name of the case without the fault.
    pub of: String,
    /// The class of the error, one of the classes of reports of `simt::check`.
    pub class: String,
    /// The edits of the PTX.
    pub edits: Vec<Edit>,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WrittenCase")]
pub struct Case {
    /// The name of the case.
    pub name: String,
    /// The PTX file, relative to the root of the repository.
    pub ptx: String,
    /// The name of the kernel.
    pub entry: String,
    /// The number of blocks in each dimension.
    pub grid: Dim3,
    /// The number of threads of a block in each dimension.
    pub block: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// The number of blocks of a cluster, along x. 1 means that there are no clusters.
    pub cluster: u32,
    /// Whether the launch is cooperative, so that all blocks are resident at once.
    pub cooperative: bool,
    /// The kernel's arguments.
    pub args: Vec<ArgSpec>,
    /// The edits of the file's text; `None` for a case that is no mutant.
    pub mutation: Option<Mutation>,
}

impl Case {
    /// The launch on the simulator.
    pub fn config(&self) -> LaunchConfig {
        LaunchConfig {
            dynamic_shared_bytes: self.shared,
            cluster: self.cluster,
            cooperative: self.cooperative,
            ..LaunchConfig::new(self.grid, self.block)
        }
    }

    /// The PTX of the module: the text of the file, edited if the case is a mutant. [`Case::ptx`]
    /// is relative to `root`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or if an edit does not apply.
    pub fn text(&self, root: &Path) -> anyhow::Result<String> {
        let file = root.join(&self.ptx);
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        match &self.mutation {
            None => Ok(text),
            Some(mutation) => edit::apply(&text, &self.entry, &mutation.edits)
                .with_context(|| format!("case {}", self.name)),
        }
    }
}

/// A case as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCase {
    name: String,
    ptx: String,
    entry: String,
    grid: Extent,
    block: Extent,
    #[serde(default)]
    shared: u32,
    #[serde(default = "no_clusters")]
    cluster: u32,
    #[serde(default)]
    cooperative: bool,
    args: Vec<String>,
}

fn no_clusters() -> u32 {
    1
}

impl TryFrom<WrittenCase> for Case {
    type Error = String;

    fn try_from(written: WrittenCase) -> Result<Case, String> {
        let WrittenCase { name, ptx, entry, grid, block, shared, cluster, cooperative, args } =
            written;
        let wrong = |what: String| format!("case {name}: {what}");
        let extent = |what, extent: Extent| {
            extent
                .dimensions()
                .ok_or_else(|| wrong(format!("a {what} has one to three dimensions")))
        };
        let (grid, block) = (extent("grid", grid)?, extent("block", block)?);
        if cluster == 0 {
            return Err(wrong("a cluster has at least one block".to_owned()));
        }
        let args =
            args.iter().map(|arg| arg.parse().map_err(|error: ArgError| wrong(error.to_string())));
        let args = args.collect::<Result<_, _>>()?;
        Ok(Case {
            name,
            ptx,
            entry,
            grid,
            block,
            shared,
            cluster,
            cooperative,
            args,
            mutation: None,
        })
    }
}

/// The dimensions of a grid or a block: a single number, or a list of up to three.
#[derive(Deserialize)]
#[serde(untagged)]
enum Extent {
    Line(u32),
    Dimensions(Vec<u32>),
}

impl Extent {
    fn dimensions(&self) -> Option<Dim3> {
        match self {
            Extent::Line(x) => Some(Dim3::from(*x)),
            Extent::Dimensions(sides) => match **sides {
                [x] => Some(Dim3::from(x)),
                [x, y] => Some(Dim3::from((x, y))),
                [x, y, z] => Some(Dim3::new(x, y, z)),
                _ => None,
            },
        }
    }
}

impl Plan {
    /// Reads a plan and checks what can be checked without its PTX.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no plan, if two cases have the same name, if a shape has no
    /// dimension or more than three, if an argument is invalid, or if a mutant names an unknown
    /// case.
    pub fn read(file: &Path) -> anyhow::Result<Plan> {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Plan::parse(&text).with_context(|| format!("{} is not a plan", file.display()))
    }

    fn parse(text: &str) -> anyhow::Result<Plan> {
        let plan: Plan = serde_json::from_str(text)?;
        let mut names = HashSet::new();
        for case in &plan.cases {
            ensure!(names.insert(&case.name), "two cases are called {}", case.name);
        }
        Ok(plan)
    }

    /// The plan with only the cases of these names, in the order of the plan. If `names` is empty,
    /// it keeps all cases.
    ///
    /// # Errors
    ///
    /// If the plan has no case of one of the names.
    pub fn select(mut self, names: &[String]) -> anyhow::Result<Plan> {
        if let Some(unknown) =
            names.iter().find(|name| self.cases.iter().all(|case| case.name != **name))
        {
            bail!("the plan has no case {unknown}");
        }
        self.cases.retain(|case| names.is_empty() || names.contains(&case.name));
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, grid: &str, args: &str) -> String {
        format!(
            r#"{{"name": "{name}", "ptx": "a.ptx", "entry": "k", "grid": {grid}, "block": [32], "args": [{args}]}}"#
        )
    }

    fn parse(cases: &[String]) -> anyhow::Result<Plan> {
        Plan::parse(&format!(r#"{{"cases": [{}]}}"#, cases.join(",")))
    }

    #[test]
    fn shapes_have_up_to_three_dimensions() {
        let plan = parse(&[case("a", "7", ""), case("b", "[7, 2]", r#""u32:1""#)]).unwrap();
        assert_eq!(
            (plan.cases[0].grid, plan.cases[0].block),
            (Dim3::new(7, 1, 1), Dim3::new(32, 1, 1))
        );
        assert_eq!(plan.cases[1].grid, Dim3::new(7, 2, 1));
        assert_eq!(plan.cases[1].args, [ArgSpec::Value(simt::Arg::U32(1))]);
    }

    #[test]
    fn a_launch_may_have_clusters_or_be_cooperative() {
        let with = |more: &str| {
            parse(&[case("a", "8", "").replace(r#""args""#, &format!(r#"{more} "args""#))])
        };
        let config = |more| with(more).unwrap().cases[0].config();
        assert_eq!((config("").cluster, config("").cooperative), (1, false));
        assert_eq!(config(r#""cluster": 4,"#).cluster, 4);
        assert!(config(r#""cooperative": true,"#).cooperative);
        let refused = with(r#""cluster": 0,"#).unwrap_err().to_string();
        assert!(refused.starts_with("case a: a cluster has at least one block"), "{refused}");
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        let refused = |cases: &[String]| format!("{:#}", parse(cases).unwrap_err());
        assert_eq!(refused(&[case("a", "1", ""), case("a", "1", "")]), "two cases are called a");
        let starts = |cases: &[String], message: &str| {
            assert!(refused(cases).starts_with(message), "{}", refused(cases));
        };
        starts(&[case("a", "[]", "")], "case a: a grid has one to three dimensions");
        starts(&[case("a", "1", r#""u8:-1""#)], "case a: `-1` is not a value of type u8");
        assert!(Plan::parse(r#"{"cases": [], "more": 1}"#).is_err());
    }

    #[test]
    fn a_mutant_is_its_case_with_another_text() {
        let mutant = |of: &str| {
            let edits = r#"[{"find": "bar.sync", "nth": 2, "of": 3, "with": "//"}]"#;
            let mutant =
                format!(r#"{{"name": "m", "of": "{of}", "class": "race", "edits": {edits}}}"#);
            Plan::parse(&format!(
                r#"{{"cases": [{}], "mutants": [{mutant}]}}"#,
                case("a", "7", r#""u32:1""#)
            ))
        };
        let plan = mutant("a").unwrap();
        let [base, twin] = &plan.cases[..] else { panic!("{plan:?}") };
        let edits = vec![Edit { find: "bar.sync".into(), nth: 2, of: 3, with: "//".into() }];
        let mutation = Mutation { of: "a".into(), class: "race".into(), edits };
        assert_eq!(*twin, Case { name: "m".into(), mutation: Some(mutation), ..base.clone() });
        assert_eq!(format!("{:#}", mutant("b").unwrap_err()), "case m: there is no case b");
    }

    #[test]
    fn cases_are_selected_by_name() {
        let plan = || parse(&[case("a", "1", ""), case("b", "1", "")]).unwrap();
        let names = |plan: Plan| plan.cases.into_iter().map(|case| case.name).collect::<Vec<_>>();
        assert_eq!(names(plan().select(&[]).unwrap()), ["a", "b"]);
        assert_eq!(names(plan().select(&["b".into()]).unwrap()), ["b"]);
        assert_eq!(plan().select(&["c".into()]).unwrap_err().to_string(), "the plan has no case c");
    }
}
