//! Mutants of the kernel that sums marked rows again, whose blocks meet in long accumulators in the
//! workspace, and leave zeros there.

use simt::{Arg, LaunchConfig, Memory, Module, check};

use super::shipped::{Mutant, Outcome, all_are_found, upload};

/// The kernel.
const ENTRY: &str = "rows_repair_f32";
/// Words of the workspace, and the number of the word that says whether there is a mark.
const WORDS: usize = 1 << 19;
const MARKED: usize = WORDS - 2;
/// The bits of a mark.
const MARK: u32 = 0x7fc0_0001;
/// Rows, and elements of a row. A chunk has 65536 elements, which are more rows than a block has
/// threads.
const ROWS: usize = 600;
const LENGTH: usize = 250;
/// The marked rows: neighbours in one chunk, two that lie in two chunks, one behind such a row, and
/// some among the rows that the threads of a block look at in their second round.
const MARKS: [usize; 9] = [0, 3, 4, 258, 262, 263, 500, 524, 599];
/// What the other rows have already.
const PROVEN: f32 = 0.5;

fn value(i: usize) -> f32 {
    (i % 7) as f32 - 2.0
}

/// The results, which are whole numbers where a row has been summed again.
fn expected() -> Vec<f32> {
    let sum = |row: usize| (row * LENGTH..(row + 1) * LENGTH).map(value).sum();
    (0..ROWS).map(|row| if MARKS.contains(&row) { sum(row) } else { PROVEN }).collect()
}

fn run(ptx: &str, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx(ENTRY, ptx).unwrap();
    let kernel = module.kernel(ENTRY).unwrap();
    let memory = Memory::checked(16 << 20);
    let upload = |bytes: &[u8]| upload(&memory, bytes);
    let values: Vec<f32> = (0..ROWS * LENGTH).map(value).collect();
    let mut results = [PROVEN; ROWS];
    for row in MARKS {
        results[row] = f32::from_bits(MARK);
    }
    let mut words = vec![0u64; WORDS];
    words[MARKED] = 1;
    let input = upload(bytemuck::cast_slice(&values));
    let output = upload(bytemuck::cast_slice(&results));
    let workspace = upload(bytemuck::cast_slice(&words));
    let mut args: Vec<Arg> = [input, output, workspace].map(Arg::Pointer).into();
    args.extend([0, ROWS as u64, LENGTH as u64].map(Arg::U64));
    // The note is not kept, and there is one dimension of each kind.
    args.extend([0, 1, 1].map(Arg::U32));
    // The kernel takes nine dimensions.
    let dims = [(ROWS, 4 * LENGTH), (LENGTH, 4)];
    for (size, stride) in dims.into_iter().chain(std::iter::repeat_n((1, 0), 7)) {
        args.extend([Arg::U64(size as u64), Arg::I64(stride as i64)]);
    }
    // There is one block more than chunks.
    let config = LaunchConfig { seed, budget: Some(1 << 24), ..LaunchConfig::new(4, 256) };
    let checked = check(kernel, &config, &args, &memory).unwrap();
    Outcome::new(&checked, || {
        let mut results = [0.0f32; ROWS];
        memory.read(output, bytemuck::cast_slice_mut(&mut results)).unwrap();
        memory.read(workspace, bytemuck::cast_slice_mut(&mut words)).unwrap();
        // A launch behind this one finds the workspace as it must be.
        results[..] == expected() && words.iter().all(|&word| word == 0)
    })
}

/// The checks do not see that some instructions are missing, so these are not among the mutants.
/// They are the fence behind the ticket of a row, because the checks take a barrier in its place;
/// the barrier before this ticket, because only atomics are before it; and the two fences of the
/// last ticket, which publish no element and no sum. All blocks have drawn a last ticket before the
/// note is cleared, so the clear may be weak, and the barrier behind the note is not missed either.
const MUTANTS: [Mutant; 10] = [
    Mutant("no barrier before the next marks", "race", ("bar.sync", 2, 9), "//"),
    Mutant("no barrier behind the marks", "race", ("bar.sync", 3, 9), "//"),
    Mutant("no barrier behind a result", "warp-synchronous", ("bar.sync", 4, 9), "//"),
    Mutant("no barrier behind the clearing", "race", ("bar.sync", 5, 9), "//"),
    Mutant("no barrier behind the elements", "race", ("bar.sync", 6, 9), "//"),
    Mutant("no barrier behind the ticket", "race", ("bar.sync", 8, 9), "//"),
    Mutant("no barrier behind the grid's cells", "warp-synchronous", ("bar.sync", 9, 9), "//"),
    Mutant("no fence before the ticket", "race", ("membar.gl", 1, 4), "//"),
    Mutant("no clear of the grid's cells", "wrong", ("st.global.b64", 1, 1), "//"),
    Mutant("no clear of the note", "wrong", ("st.relaxed.gpu.global.u64", 1, 1), "//"),
];

#[test]
fn mutants_of_the_kernel_that_repairs_rows_are_found() {
    all_are_found(ENTRY, &MUTANTS, run);
}
