//! The facts that a kernel's name tells. Names are `<family><rung>_<op>_<type>[_b<block>]` for the
//! ladder, `row<workers>_<op>_<type>` and `columnthread_<op>_<type>` for the lectures' rows and
//! columns, `transpose_<variant>_b<bytes>_t<tile>`, `access_<pattern>[_<what>…]`, `finish_<what>`
//! for the kernels behind reductions, and, for the production kernels, `reduce_<op>_<type>`,
//! `rows_<op>_<type>`, `segments_<op>_<type>`, `bins_<op>_<type>`, `runs_<what>_<type>`,
//! `keyed_<op>_<type>`, `made_<op>_<type>`, `maderows_<op>_<type>`, `fused_<op>_<type>`,
//! `exchange_<op>_<type>` and `direct_<op>_<type>`.

use cuda_builder::{KernelTraits, NvvmArch};

/// The prefix of the names of production kernels for whole arrays.
const PRODUCTION: &str = "reduce_";
/// The prefix of the names of production kernels for rows.
const ROWS: &str = "rows_";
/// Behind that prefix, the beginning of the names of kernels that copy results of rows.
const SCATTER: &str = "scatter_";
/// The prefix of the names of production kernels for segments.
const SEGMENTS: &str = "segments_";
/// The prefix of the names of production kernels that find segments.
const RUNS: &str = "runs_";
/// The prefix of the names of production kernels that reduce runs of keys.
const KEYED: &str = "keyed_";
/// The prefix of the names of production kernels for bins.
const BINS: &str = "bins_";
/// The prefix of the names of production kernels that make results for whole arrays.
const MADE: &str = "made_";
/// The prefix of the names of production kernels that make results for rows.
const MADE_ROWS: &str = "maderows_";
/// The prefix of the names of production kernels that reduce the shards of several devices.
const FUSED: &str = "fused_";
/// The prefix of the names of production kernels that combine the results of several devices.
const EXCHANGE: &str = "exchange_";
/// The prefix of the names of production kernels that do so where the results lie.
const DIRECT: &str = "direct_";
/// The kernel that makes results behind reductions.
const FINISH: &str = "finish_results";
/// The end of the names of production kernels for small inputs.
const SINGLE: &str = "_single";
const OPS: [&str; 4] = ["sum", "min", "max", "prod"];
const ELEMENTS: [&str; 6] = ["i32", "u32", "i64", "u64", "f32", "f64"];

/// The traits of the kernel of this name.
///
/// A module holds one rung for one element type, such as `reduce3_i32`. A rung that comes in
/// several block sizes has a module for each operation, such as `reduce6_sum_i32`. So a driver that
/// compiles one module for one run compiles at most five kernels. ptxas takes 40 to 80 ms for such
/// a file on a 2-core machine; with the four operations in one file it takes 160 to 280 ms. A
/// kernel whose name has none of these forms is a module of its own.
pub(crate) fn traits(name: &str) -> KernelTraits {
    if let Some(rest) = name.strip_prefix("access_") {
        return access(rest);
    }
    if let Some(rest) = name.strip_prefix(PRODUCTION) {
        return production(name, rest);
    }
    // Results are made in double precision, whatever the element is.
    if let Some(rest) = name.strip_prefix(MADE) {
        return KernelTraits { element: None, ..production(name, rest) };
    }
    if let Some(rest) = name.strip_prefix(MADE_ROWS) {
        let traits = KernelTraits { element: None, ..rows(name, rest, true) };
        // On sm_120 quotients and roots need a few registers more than sums.
        let bound = |most| if rest.starts_with("sum") { 640 } else { most };
        let later_most_threads = traits.later_most_threads.map(bound);
        return KernelTraits { later_most_threads, ..traits };
    }
    if let Some(rest) = name.strip_prefix(ROWS) {
        if rest.starts_with(SCATTER) {
            return KernelTraits { barriers: Some(0), ..production(name, rest) };
        }
        return rows(name, rest, true);
    }
    if let Some(rest) = name.strip_prefix(SEGMENTS) {
        return rows(name, rest, false);
    }
    if let Some(rest) = name.strip_prefix(KEYED) {
        return keyed(name, rest);
    }
    if let Some(rest) = name.strip_prefix(RUNS) {
        return runs(name, rest);
    }
    if let Some(rest) = name.strip_prefix(BINS) {
        return bins(name, rest);
    }
    if let Some(rest) = name.strip_prefix(FUSED) {
        return fused(name, rest);
    }
    if let Some(rest) = name.strip_prefix(EXCHANGE) {
        return exchange(name, rest);
    }
    if let Some(rest) = name.strip_prefix(DIRECT) {
        return direct(name, rest);
    }
    if let Some(transposition) = transposition(name) {
        return transposition;
    }
    let unknown = || KernelTraits { module: name.to_owned(), ..KernelTraits::default() };
    if name == FINISH {
        // From sm_90 on, grids can overlap.
        return KernelTraits { later_arch: Some(NvvmArch::Compute90), ..unknown() };
    }
    let mut parts = name.split('_');
    let (Some(rung), Some(op), Some(element)) = (parts.next(), parts.next(), parts.next()) else {
        return unknown();
    };
    if !OPS.contains(&op) || !ELEMENTS.contains(&element) {
        return unknown();
    }
    let block_size = match (parts.next(), parts.next()) {
        (None, _) => None,
        (Some(block), None) => match block.strip_prefix('b').and_then(|block| block.parse().ok()) {
            Some(block) => Some(block),
            None => return unknown(),
        },
        (Some(_), Some(_)) => return unknown(),
    };
    let module = if block_size.is_some() {
        format!("{rung}_{op}_{element}")
    } else {
        format!("{rung}_{element}")
    };
    KernelTraits {
        module,
        element: Some(element.to_owned()),
        op: Some(op.to_owned()),
        block_size,
        barriers: barriers(rung, block_size),
        least_arch: least_arch(rung),
        ..KernelTraits::default()
    }
}

/// Whether this is the name of a production kernel, or of the module that holds it.
pub(crate) fn is_production(name: &str) -> bool {
    let prefixes =
        [PRODUCTION, ROWS, SEGMENTS, RUNS, KEYED, BINS, MADE, MADE_ROWS, FUSED, EXCHANGE, DIRECT];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether this is the name of a kernel that loads rounds of packs into registers: of a production
/// kernel for whole arrays or for shards.
pub(crate) fn has_rounds(name: &str) -> bool {
    [PRODUCTION, MADE, FUSED].iter().any(|prefix| name.starts_with(prefix))
}

/// The traits of `reduce_<op>_<type>` and `reduce_<op>_<type>_single`, which share a module. Each
/// operation over a type has a module of its own, so that a program compiles only the kernels that
/// it uses. Each is also compiled for sm_90, because from there on
/// grids can overlap and loads can bypass the first-level cache.
fn production(name: &str, rest: &str) -> KernelTraits {
    let single = rest.strip_suffix(SINGLE);
    let rest = single.unwrap_or(rest);
    let (op, element) = rest.rsplit_once('_').unwrap_or((rest, ""));
    KernelTraits {
        module: name.strip_suffix(SINGLE).unwrap_or(name).to_owned(),
        // The kernels of these operations compute in double precision, whatever the element is, or,
        // as `nansum`, have a result in double precision.
        element: (!["exact", "repair", "moments", "nansum", "wide"].contains(&op))
            .then(|| element.to_owned()),
        op: Some(op.to_owned()),
        // Without this bound ptxas uses only 32 registers, and half of the loads wait for the
        // others. A small input of pairs is one block of 512 threads at most, and with 1024 ptxas
        // spills registers of `ssd` of i8 for sm_120. Sums of exponentials have blocks of 512
        // threads at most, and with 1024 ptxas spills registers of those of f64 from sm_90 on.
        most_threads: Some(match (op, element) {
            ("dot" | "ssd", _) if single.is_some() => 512,
            ("logsumexp", "f64") => 512,
            _ => 1024,
        }),
        block_size: None,
        // In an exact sum there are barriers after a block clears its cells, after it adds to them,
        // before and after it draws a ticket, and after the last block takes the grid's cells. All
        // other kernels have one barrier where a block combines its accumulators. All but
        // `wrapping` and the kernels of one block combine twice, with one copy of the code, and so
        // have one more barrier between the two.
        barriers: Some(match op {
            "exact" => 5,
            "wrapping" => 1,
            _ if single.is_some() => 1,
            _ => 2,
        }),
        least_arch: None,
        later_arch: Some(NvvmArch::Compute90),
        later_most_threads: None,
        only_later: false,
        without_lines: true,
    }
}

/// The traits of `rows_<op>_<type>`, which has a table of dimensions, of the kernel with `_single`
/// at the end of that name, which only later devices have, and of `segments_<op>_<type>`. The
/// modules are apart from those for whole arrays, so that a program which has no rows compiles none
/// of these kernels.
fn rows(name: &str, rest: &str, has_table: bool) -> KernelTraits {
    let single = rest.strip_suffix(SINGLE);
    let rest = single.unwrap_or(rest);
    let (op, element) = rest.rsplit_once('_').unwrap_or((rest, ""));
    let bits: Option<u32> = element.trim_start_matches(char::is_alphabetic).parse().ok();
    if single.is_some() {
        return KernelTraits {
            // The warps of a row meet behind it.
            barriers: Some(1),
            most_threads: Some(most_threads_of_single_rows(op, element, bits)),
            only_later: true,
            ..production(name, rest)
        };
    }
    KernelTraits {
        // Rows have a barrier behind the table of the dimensions, one where a team of warps meets,
        // and, unless the order of the elements does not matter, two where such a team combines
        // what its warps have waited for. Sums that are made again have a barrier behind the look
        // at the note, one on each side of the marked rows of a block, and those of exact sums,
        // with one more behind the result.
        barriers: Some(match op {
            "repair" => 9,
            "top4" | "top8" | "exact" if has_table => 2,
            _ if has_table => 4,
            _ => 0,
        }),
        // The bound leaves a thread as many registers as if blocks of so many threads in all share
        // a multiprocessor (bench/NOTEBOOK.md, attempts 59, 74 and 125), or fewer blocks where
        // ptxas would spill, or where the shared memory has room for no more. Moments and lists of
        // long elements of segments need a few registers more than 512 threads leave. On sm_120 the
        // shared memory has room for less than 384 threads. Rows of two arrays need more than 96
        // registers, because each array has strides of its own.
        most_threads: Some(match (op, has_table) {
            ("repair", _) => 256,
            ("moments", false) => 384,
            ("top4" | "top8", false) if bits == Some(64) => 384,
            ("moments" | "top4" | "top8" | "exact" | "dot" | "ssd", _) | (_, false) => 512,
            _ if rest.ends_with("128") => 512,
            _ => 640,
        }),
        later_most_threads: Some(if has_table {
            later_most_threads_of_rows(op, element, bits)
        } else {
            later_most_threads_of_segments(op, bits)
        }),
        ..production(name, rest)
    }
}

/// The bound for rows of which each warp has a single tile, for elements of so many bits. Most of
/// these kernels fit into 48 registers for each thread, with which a multiprocessor has room for
/// five blocks of 256 threads. Others would spill, and get 64.
fn most_threads_of_single_rows(op: &str, element: &str, bits: Option<u32>) -> u32 {
    match (op, element) {
        ("logsumexp", "f64") => 512,
        // On sm_120 the products of 64 bits need more registers than those of floats.
        ("sumsq", "u128") | ("moments", "i32" | "u32") => 768,
        _ if matches!(bits, Some(8 | 16)) => 1280,
        ("moments" | "minmax" | "checked" | "nansum" | "compensated" | "logsumexp" | "wide", _)
        | ("min" | "max" | "minimum" | "maximum", "f64")
        | ("sum" | "sumsq" | "product", "i32")
        | ("sumsq" | "product", "u32")
        | ("sumabs", "i64")
        | ("within", "u64") => 1024,
        _ if op.starts_with("arg") || bits == Some(128) => 1024,
        _ => 1280,
    }
}

/// The bound for rows from sm_90 on, for elements of so many bits.
fn later_most_threads_of_rows(op: &str, element: &str, bits: Option<u32>) -> u32 {
    match (op, bits) {
        ("logsumexp", Some(64)) | ("ssd", Some(8)) => 384,
        ("repair" | "dot" | "ssd" | "nansum", _) => 512,
        // On sm_120 the products of 64 bits need more registers than those of floats.
        ("moments", _) if ["i32", "u32"].contains(&element) => 512,
        // Lanes that take columns of these operations need a few registers more than others,
        // because they have more columns or constants.
        ("and" | "or" | "xor" | "minmax", _) if element == "u8" => 512,
        ("max" | "min", _) if element == "u8" => 640,
        ("sum", _) if ["i32", "u32"].contains(&element) => 640,
        ("within", _) if ["u32", "u64"].contains(&element) => 640,
        // Lists and exact sums have no columns, and gain most by more warps.
        ("exact" | "top4", Some(32 | 64)) => 896,
        ("exact" | "top4", _) | ("top8", Some(32)) => 768,
        ("top8" | "moments" | "minmax" | "count" | "wide", _)
        | ("maxabs", Some(8))
        | (_, Some(16 | 128)) => 640,
        _ if op.starts_with("arg") => 640,
        _ => 768,
    }
}

/// The bound for segments from sm_90 on. The shared memory has room for 1024 threads, or 960 where
/// segments are short.
fn later_most_threads_of_segments(op: &str, bits: Option<u32>) -> u32 {
    match (op, bits) {
        ("repair" | "top8", _) => 512,
        // Exact sums of short segments take a tenth less with a few registers more.
        ("exact", _) | ("top4", Some(16 | 64)) => 640,
        ("top4" | "moments", _) => 768,
        _ => 1024,
    }
}

/// The traits of `runs_<what>_<type>`.
fn runs(name: &str, rest: &str) -> KernelTraits {
    // One barrier before a block's numbers are summed, and one behind the look at other blocks. A
    // block has 256 threads, and four of them or more share a multiprocessor. Spans have two
    // numbers each, for which 64 registers are too few.
    let most_threads = if rest.starts_with("spans") { 512 } else { 1024 };
    KernelTraits { barriers: Some(2), most_threads: Some(most_threads), ..production(name, rest) }
}

/// The traits of `keyed_<op>_<type>`.
fn keyed(name: &str, rest: &str) -> KernelTraits {
    // For each size of keys there are two barriers around the first ticket, and four for a tile:
    // behind its arrival, behind the counts of its warps, behind the numbers of the tiles before,
    // and behind the writes. Those that close the runs have five. The bound leaves a thread as many
    // registers as if five blocks share a multiprocessor, or four whose values have 64 bits. With
    // more blocks, registers are spilled, and that costs 15 % (bench/NOTEBOOK.md, attempt 130).
    let blocks = if rest.ends_with("64") { 4 } else { 5 };
    KernelTraits { barriers: Some(29), most_threads: Some(blocks * 160), ..production(name, rest) }
}

/// The traits of `bins_<op>_<type>`.
fn bins(name: &str, rest: &str) -> KernelTraits {
    let traits = production(name, rest);
    let (op, element) = rest.rsplit_once('_').unwrap_or((rest, ""));
    // Accumulators of one number.
    let is_short = ["sum", "min", "max"].contains(&op) && !element.ends_with("64");
    KernelTraits {
        // A block that counts has barriers behind the clearing of its bins, behind its last key,
        // and on both sides of its ticket. Counts of bytes have one more, before the last block
        // adds the sums of its threads. In the other kernels each of the two stages has one.
        barriers: Some(match rest {
            "counts_u8" => 5,
            _ if op == "counts" => 4,
            _ => 2,
        }),
        // Blocks have 512 threads at most. If there are registers for two of them on a
        // multiprocessor, sums into few bins take a tenth less (bench/NOTEBOOK.md, attempt 125).
        // Counts of bytes have few registers, so that there is room for four.
        most_threads: Some(512),
        later_most_threads: Some(match rest {
            "counts_u8" => 2048,
            _ if is_short => 1024,
            _ => 512,
        }),
        ..traits
    }
}

/// The traits of `fused_<op>_<type>`, which combines blocks always as most kernels for whole arrays
/// do.
fn fused(name: &str, rest: &str) -> KernelTraits {
    KernelTraits { barriers: Some(2), ..production(name, rest) }
}

/// The traits of `exchange_<op>_<type>`.
fn exchange(name: &str, rest: &str) -> KernelTraits {
    let traits = production(name, rest);
    let op = traits.op.as_deref().unwrap_or_default();
    KernelTraits {
        // One barrier when a block has its own results, and one when it has those of all ranks.
        // Indices are moved between two barriers, and exact sums are summed before one.
        barriers: Some(if op.starts_with("arg") || op == "exact" { 3 } else { 2 }),
        // The largest block.
        most_threads: Some(256),
        ..traits
    }
}

/// The traits of `direct_<op>_<type>`.
fn direct(name: &str, rest: &str) -> KernelTraits {
    let traits = exchange(name, rest);
    let op = traits.op.as_deref().unwrap_or_default();
    // Two barriers for each of two meetings, one when a block has a part of the results of all
    // ranks, and one before it takes the next part. Indices are moved before another one, and exact
    // sums are summed before one.
    let barriers = 6 + u32::from(op.starts_with("arg") || op == "exact");
    KernelTraits { barriers: Some(barriers), ..traits }
}

/// The traits of `access_<pattern>[_<what>…]`. A module holds one pattern, such as `access_shared`.
fn access(rest: &str) -> KernelTraits {
    let mut parts = rest.split('_');
    let pattern = parts.next().unwrap_or_default();
    let element = match (pattern, parts.next_back()) {
        (_, Some(element)) if ELEMENTS.contains(&element) => element,
        ("math", _) => "f32",
        _ => "u32",
    };
    KernelTraits {
        module: format!("access_{pattern}"),
        element: Some(element.to_owned()),
        // This barrier is between filling shared memory and reading it.
        barriers: Some(u32::from(pattern == "shared")),
        ..KernelTraits::default()
    }
}

/// The traits of a transposition. A module holds one variant, such as `transpose_padded`, for all
/// widths and tiles. These are at most ten kernels, which are short.
fn transposition(name: &str) -> Option<KernelTraits> {
    let (variant, shape) = name.strip_prefix("transpose_")?.rsplit_once("_b")?;
    let (bytes, tile) = shape.split_once("_t")?;
    let (_bytes, _tile): (u32, u32) = (bytes.parse().ok()?, tile.parse().ok()?);
    let barriers = match variant {
        "copy" | "strided_copy" | "naive_store" | "naive_load" => 0,
        // The code has one barrier for whole tiles, and one for the tiles at the edges.
        "tiled" | "padded" | "diagonal" => 2,
        _ => 1,
    };
    Some(KernelTraits {
        module: format!("transpose_{variant}"),
        barriers: Some(barriers),
        ..KernelTraits::default()
    })
}

/// How many calls of `sync_threads` the source of a rung has: one after the load, and one for each
/// round of the block's tree that is written out. The loops of rungs 1 to 5 have one call.
fn barriers(rung: &str, block_size: Option<u32>) -> Option<u32> {
    match (rung, block_size) {
        ("reduce0" | "atomicwarp" | "rowthread" | "rowwarp" | "columnthread", _) => Some(0),
        // `global` has one in its loop. From rung 8 on a block reduces with one barrier.
        ("global" | "reduce8" | "reduce9" | "reduce11" | "reduce13" | "atomic" | "rowblock", _) => {
            Some(1)
        }
        ("reduce1" | "reduce2" | "reduce3" | "reduce4" | "reduce5", _) => Some(2),
        // One warp reduces the last 64 values, without a barrier of the block.
        ("reduce6" | "reduce7", Some(block)) if block >= 64 => Some(1 + (block / 64).ilog2()),
        // Rung 10 reduces a block twice, and has one more barrier after the ticket. Rung 14 reduces
        // a block once, and has one barrier before the tiles and one after each tile.
        ("reduce10" | "reduce14", _) => Some(3),
        // Rung 12 reduces a block twice, and has two barriers in the barrier of the grid.
        ("reduce12", _) => Some(4),
        _ => None,
    }
}

/// The oldest generation that has the instructions which a rung is about.
fn least_arch(rung: &str) -> Option<NvvmArch> {
    match rung {
        "reduce11" => Some(NvvmArch::Compute80),
        "reduce13" | "reduce14" => Some(NvvmArch::Compute90),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_with_a_block_size() {
        let traits = traits("reduce6_sum_f32_b256");
        assert_eq!(traits.module, "reduce6_sum_f32");
        assert_eq!(traits.element.as_deref(), Some("f32"));
        assert_eq!(traits.op.as_deref(), Some("sum"));
        assert_eq!(traits.block_size, Some(256));
        // The barriers are after the load, and after the rounds of 128 and 64 threads.
        assert_eq!(traits.barriers, Some(3));
    }

    #[test]
    fn kernels_that_make_results_may_compute_in_double_precision() {
        let [whole, rows] = ["made_sum_f16_single", "maderows_sum_f16"].map(traits);
        assert_eq!((whole.module.as_str(), whole.barriers), ("made_sum_f16", Some(1)));
        assert_eq!((rows.module.as_str(), rows.barriers), ("maderows_sum_f16", Some(4)));
        assert_eq!((whole.element, rows.element), (None, None));
        assert!(has_rounds("made_sum_f16") && !has_rounds("maderows_sum_f16"));
        assert!(is_production("made_sum_f16") && is_production("maderows_sum_f16"));
    }

    #[test]
    fn rows_of_few_tiles_have_a_kernel_for_later_devices() {
        for family in ["rows", "maderows"] {
            let of = |end| traits(&format!("{family}_sum_f32{end}"));
            let (all, single) = (of(""), of("_single"));
            assert_eq!(all.module, single.module);
            assert_eq!((all.only_later, single.only_later), (false, true));
            assert_eq!((all.barriers, single.barriers), (Some(4), Some(1)));
            // The bound of the one is not the other's.
            assert_eq!((single.most_threads, single.later_most_threads), (Some(1280), None));
            assert!(all.most_threads != single.most_threads && all.later_most_threads.is_some());
        }
    }

    #[test]
    fn a_rung_of_any_block_size() {
        let traits = traits("global_prod_u64");
        assert_eq!((traits.module.as_str(), traits.block_size), ("global_u64", None));
    }

    #[test]
    fn rows_and_columns_are_named_as_rungs() {
        let of = |name| {
            let KernelTraits { module, barriers, without_lines, .. } = traits(name);
            assert!(!is_production(name) && !without_lines, "{name}");
            (module, barriers)
        };
        assert_eq!(of("rowblock_sum_f32"), ("rowblock_f32".into(), Some(1)));
        assert_eq!(of("columnthread_max_i32"), ("columnthread_i32".into(), Some(0)));
    }

    #[test]
    fn rungs_of_newer_hardware_say_so() {
        assert_eq!(traits("reduce10_sum_i32").least_arch, None);
        assert_eq!(traits("reduce11_sum_i32").least_arch, Some(NvvmArch::Compute80));
        assert_eq!(traits("reduce13_prod_f64").least_arch, Some(NvvmArch::Compute90));
    }

    #[test]
    fn a_pattern_of_access_is_a_module() {
        let of = |name| {
            let KernelTraits { module, element, op, block_size, barriers, .. } = traits(name);
            assert_eq!((op, block_size), (None, None), "{name}");
            (module, element.unwrap(), barriers.unwrap())
        };
        assert_eq!(of("access_offset_read"), ("access_offset".into(), "u32".into(), 0));
        assert_eq!(of("access_constant"), ("access_constant".into(), "u32".into(), 0));
        assert_eq!(of("access_shared_stride"), ("access_shared".into(), "u32".into(), 1));
        assert_eq!(of("access_divide_mask_u64"), ("access_divide".into(), "u64".into(), 0));
        assert_eq!(of("access_math_sin_fast"), ("access_math".into(), "f32".into(), 0));
    }

    #[test]
    fn a_transposition() {
        let traits = traits("transpose_shared_copy_b16_t32");
        assert_eq!((traits.module.as_str(), traits.barriers), ("transpose_shared_copy", Some(1)));
        assert_eq!((traits.element, traits.op, traits.block_size), (None, None, None));
        assert_eq!(super::traits("transpose_naive_load_b1_t16").barriers, Some(0));
    }

    #[test]
    fn a_production_kernel_is_a_module() {
        let traits = traits("reduce_sum_bf16");
        assert_eq!(
            (traits.module.as_str(), traits.op.as_deref()),
            ("reduce_sum_bf16", Some("sum"))
        );
        assert_eq!((traits.element.as_deref(), traits.most_threads), (Some("bf16"), Some(1024)));
        assert_eq!((traits.least_arch, traits.later_arch), (None, Some(NvvmArch::Compute90)));
        assert_eq!(super::traits("reduce_moments_f32").element, None);
        assert_eq!(super::traits("reduce_logsumexp_f32").most_threads, Some(1024));
        assert_eq!(super::traits("reduce_logsumexp_f64").most_threads, Some(512));
        let traits = super::traits("rows_sum_bf16");
        assert_eq!((traits.module.as_str(), traits.most_threads), ("rows_sum_bf16", Some(640)));
        assert_eq!(super::traits("rows_sum_u128").most_threads, Some(512));
        let pairs = super::traits("rows_dot_f32");
        assert_eq!((pairs.most_threads, pairs.later_most_threads), (Some(512), Some(512)));
        assert_eq!(super::traits("rows_ssd_u8").later_most_threads, Some(384));
        for (name, rows, segments) in
            [("exact_f32", 896, 640), ("top8_u64", 640, 512), ("sum_bf16", 640, 1024)]
        {
            let of = |family| super::traits(&format!("{family}_{name}")).later_most_threads;
            assert_eq!((of("rows"), of("segments")), (Some(rows), Some(segments)), "{name}");
        }
        assert_eq!(super::traits("segments_sum_bf16").most_threads, Some(512));
        for name in ["rows_repair_f32", "segments_repair_f32"] {
            let traits = super::traits(name);
            assert_eq!((traits.barriers, traits.most_threads), (Some(9), Some(256)), "{name}");
            assert_eq!(traits.element, None, "{name} computes in double precision");
        }
        assert_eq!(super::traits("segments_moments_bf16").most_threads, Some(384));
        assert_eq!(super::traits("segments_top4_f64").most_threads, Some(384));
        assert_eq!(super::traits("segments_top8_f64").most_threads, Some(384));
        assert_eq!(super::traits("segments_top8_f32").most_threads, Some(512));
        assert_eq!(super::traits("runs_keys_u32").most_threads, Some(1024));
        assert_eq!(super::traits("runs_spans_u32").most_threads, Some(512));
        let traits = super::traits("runs_keys_u128");
        assert_eq!(
            (traits.module.as_str(), traits.op.as_deref()),
            ("runs_keys_u128", Some("keys"))
        );
        let traits = super::traits("keyed_sum_f32");
        assert_eq!((traits.module.as_str(), traits.most_threads), ("keyed_sum_f32", Some(800)));
        let traits = super::traits("bins_sum_f32");
        assert_eq!((traits.module.as_str(), traits.barriers), ("bins_sum_f32", Some(2)));
        assert_eq!(super::traits("bins_counts_u8").barriers, Some(5));
        assert_eq!(super::traits("bins_counts_u16").barriers, Some(4));
        for (name, most) in [("sum_f32", 1024), ("min_u64", 512), ("moments_f32", 512)] {
            let of = super::traits(&format!("bins_{name}")).later_most_threads;
            assert_eq!(of, Some(most), "{name}");
        }
        assert!(is_production("bins_counts_u8"));
        let traits = super::traits("fused_wrapping_u32");
        assert_eq!((traits.module.as_str(), traits.barriers), ("fused_wrapping_u32", Some(2)));
        assert_eq!(traits.most_threads, Some(1024));
        assert!(is_production("fused_sum_f32") && has_rounds("fused_sum_f32"));
        for (name, barriers) in [
            ("exchange_sum_f32", 2),
            ("exchange_argmin_u8", 3),
            ("direct_sum_f32", 6),
            ("direct_argmin_u8", 7),
            ("direct_exact_f64", 7),
        ] {
            let traits = super::traits(name);
            assert_eq!(traits.module, name);
            assert_eq!((traits.barriers, traits.most_threads), (Some(barriers), Some(256)));
        }
    }

    #[test]
    fn other_names_stand_alone() {
        for name in [
            "transpose",
            "transpose_padded_b4",
            "transpose_padded_b4_tx",
            "reduce6_sum",
            "reduce6_sum_i16",
            "reduce6_avg_i32",
            "reduce6_sum_i32_x",
            "a_sum_i32_b2_c",
        ] {
            assert_eq!(
                traits(name),
                KernelTraits { module: name.to_owned(), ..KernelTraits::default() }
            );
        }
    }
}
