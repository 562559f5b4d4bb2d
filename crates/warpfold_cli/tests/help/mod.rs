//! What `warpfold --help` lists.

use crate::program::warpfold;

/// The names of the operations, which are the subcommands that reduce.
pub(crate) fn operations() -> Vec<String> {
    let output = warpfold().arg("--help").output();
    let help = String::from_utf8(output.expect("the command runs").stdout).expect("it is UTF-8");
    let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let operations: Vec<_> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| !["bincount", "devices", "doctor", "generate"].contains(name))
        .map(ToOwned::to_owned)
        .collect();
    assert!(operations.len() > 30, "{help}");
    operations
}
