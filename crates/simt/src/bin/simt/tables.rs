//! Tables of counters, for people to read.

use std::cmp::Reverse;

use comfy_table::{CellAlignment, Table, presets};
use simt::{Banks, Copies, Counters, Profile, Requests, Traffic};

/// A table shows at most this many memory accesses: those with the highest cost.
const SHOWN: usize = 12;

/// An empty table. All columns except those in `text` are right-aligned, because they hold numbers.
pub(crate) fn new(head: &[&str], text: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(head);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if !text.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The lines of the table, without spaces at their ends.
pub(crate) fn text(table: &Table) -> String {
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// A profile in full: the counts of PTX instructions, and of memory accesses as the hardware counts
/// them.
pub(crate) fn profile(profile: &Profile) -> String {
    let counters = &profile.counters;
    let mut out = String::from(
        "Instructions (PTX level: ptxas may unroll, merge or remove what they count)\n",
    );
    out += &text(&instructions(counters));
    out += "\nMemory (as an NVIDIA GPU counts it)\n";
    out += &text(&memory(counters));
    let costly = costliest(profile);
    if !costly.is_empty() {
        out += "\nCostliest accesses, by PTX line\n";
        out += &text(&costly);
    }
    out
}

fn instructions(counters: &Counters) -> Table {
    let mut table = new(&["counter", "value"], &[0]);
    let efficiency = counters
        .lane_efficiency()
        .map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    for (name, value) in counters.entries().into_iter().filter(|(name, _)| !name.contains('.')) {
        let follows = name == "thread_instructions";
        table.add_row([name.replace('_', " "), value.to_string()]);
        if follows {
            table.add_row(["active lanes".to_owned(), efficiency.clone()]);
        }
    }
    table
}

fn memory(counters: &Counters) -> Table {
    let head =
        ["access", "requests", "sectors", "per request", "wavefronts", "bank conflicts", "bytes"];
    let mut table = new(&head, &[0]);
    let per = |whole: u64, requests: u64| format!("{:.2}", whole as f64 / requests as f64);
    let mut row = |access: &str, requests: u64, cells: [String; 5]| {
        if requests > 0 {
            let [sectors, per_request, wavefronts, conflicts, bytes] = cells;
            table.add_row([
                access.into(),
                requests.to_string(),
                sectors,
                per_request,
                wavefronts,
                conflicts,
                bytes,
            ]);
        }
    };
    let none = || "-".to_owned();
    let mut global = |access, Traffic { requests, sectors, bytes }| {
        let cells =
            [sectors.to_string(), per(sectors, requests), none(), none(), bytes.to_string()];
        row(access, requests, cells);
    };
    global("global load", counters.global.load);
    global("global store", counters.global.store);
    global("global atomic", counters.global.atomic);
    global("global reduction", counters.global.reduction);
    let mut shared = |access, Banks { requests, wavefronts, bank_conflicts, bytes }| {
        let cells = [
            none(),
            per(wavefronts, requests),
            wavefronts.to_string(),
            bank_conflicts.to_string(),
            bytes.to_string(),
        ];
        row(access, requests, cells);
    };
    shared("shared load", counters.shared.load);
    shared("shared store", counters.shared.store);
    shared("shared atomic", counters.shared.atomic);
    let mut other = |access, Requests { requests, bytes }| {
        row(access, requests, [none(), none(), none(), none(), bytes.to_string()]);
    };
    other("local load", counters.local.load);
    other("local store", counters.local.store);
    other("constant load", counters.constant);
    other("cluster load", counters.cluster.load);
    other("cluster store", counters.cluster.store);
    other("cluster atomic", counters.cluster.atomic);
    let mut copy =
        |access, Copies { copies, bytes }| other(access, Requests { requests: copies, bytes });
    copy("async copy", counters.async_copy);
    copy("bulk copy", counters.bulk);
    table
}

/// A table of the instructions that took the most sectors and wavefronts.
fn costliest(profile: &Profile) -> Table {
    let mut table =
        new(&["line", "requests", "sectors", "wavefronts", "bank conflicts", "instruction"], &[5]);
    let mut rows: Vec<_> = profile
        .instructions
        .iter()
        .map(|instruction| (Cost::of(&instruction.counters), instruction))
        .filter(|(cost, _)| cost.requests > 0)
        .collect();
    rows.sort_by_key(|(cost, instruction)| {
        (Reverse(cost.sectors + cost.wavefronts), instruction.line)
    });
    for (Cost { requests, sectors, wavefronts, bank_conflicts }, instruction) in
        rows.into_iter().take(SHOWN)
    {
        let numbers = [u64::from(instruction.line), requests, sectors, wavefronts, bank_conflicts];
        table.add_row(numbers.iter().map(u64::to_string).chain([instruction.text.clone()]));
    }
    table
}

/// The cost of all accesses to device memory and shared memory together, of all kinds.
struct Cost {
    requests: u64,
    sectors: u64,
    wavefronts: u64,
    bank_conflicts: u64,
}

impl Cost {
    fn of(counters: &Counters) -> Cost {
        let global = [
            counters.global.load,
            counters.global.store,
            counters.global.atomic,
            counters.global.reduction,
        ];
        let shared = [counters.shared.load, counters.shared.store, counters.shared.atomic];
        Cost {
            requests: global
                .iter()
                .map(|of| of.requests)
                .chain(shared.iter().map(|of| of.requests))
                .sum(),
            sectors: global.iter().map(|of| of.sectors).sum(),
            wavefronts: shared.iter().map(|of| of.wavefronts).sum(),
            bank_conflicts: counters.bank_conflicts(),
        }
    }
}
