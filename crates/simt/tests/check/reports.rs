//! Whole reports, as people read them.

use insta::assert_snapshot;
use simt::{Arg, LaunchConfig, Memory, Module, check};

use crate::{kernel, run};

/// The only report on a kernel.
#[track_caller]
fn report(config: LaunchConfig, body: &str) -> String {
    let checked = run(&kernel(body), &config);
    let [report] = &checked.reports[..] else { panic!("{} reports", checked.reports.len()) };
    report.to_string()
}

#[track_caller]
fn fault(config: LaunchConfig, body: &str) -> String {
    run(&kernel(body), &config).fault.expect("the kernel must fault").report()
}
