//! The skeleton of kernels that reduce the rows of an array: one result for each row.
//!
//! A *row* is what one result is made of. Its elements need not be neighbours in memory: the
//! columns of a matrix are rows here, too, and so is each part of a tensor that is reduced along
//! some of its axes.
//!
//! *Tiles.* A warp copies a tile of at most 4 KiB into shared memory and waits for it. A warp
//! needs one buffer and few registers, so a multiprocessor has room for many warps, and some of
//! them wait for memory while others compute. In shared memory all layouts look alike: neighbouring
//! elements of a row lie `step` bytes apart, and neighbouring rows `row_step` bytes. There, a lane
//! takes a *part*, which is 128 bytes of a row at most.
//!
//! *Columns.* Rows that are neighbours in memory need no shared memory: a lane reads the elements
//! of a few of them into registers ([`columns`]). The packs and the parts are the same.
//!
//! *Plain pieces.* Of most tiles a warp needs to know little: they are one piece of a matrix whose
//! elements are neighbours along the rows. For these the kernel has a short way to the first copy
//! (`plain`). The packs and the parts are the same. If such a row has few tiles, there is a smaller
//! kernel for it ([`single`]).
//!
//! *Short rows, bundles, folds, and short columns.* Four more kinds of layouts have a shorter way
//! to the tile or from it. Rows of a few elements have a lane each (`short`). Where rows come in
//! bundles, as the coordinates of points do, a tile is one piece of memory with several bundles
//! ([`Plan::bundle_share`]). Where the steps have two dimensions, as in a channel of many images, a
//! warp copies them without a table of dimensions ([`Staging::Fold`]).
//! Where a row is a column of few steps, it has a lane, too.
//!
//! *Two arrays.* The elements of a pair come from two arrays of the same rows and steps, each with
//! strides of its own. A buffer then holds a tile of 2 KiB of each array, and a part is 64 bytes of
//! each, so that the buffers of a block take no more room. All that the second array needs is
//! decided by the compiler, so the kernels for one array know nothing of it.
//!
//! *Order.* Within a part, the elements are combined in packs of 16 bytes, one pack after the
//! other, and then the elements behind the last whole pack. The parts of a row are the leaves of a
//! binary tree that combines neighbours first; where a node has no right neighbour, it goes up as
//! it is. Nothing else decides the order of the operations. So the bits of a result depend on the
//! row's elements and their number alone: not on the other rows, nor on where the elements lie, nor
//! on the launch, nor on the device.
//!
//! *Tasks.* A task is a row, or a part of it that is a subtree; its lanes combine their parts by
//! shuffles, and the tiles of a task meet in a stack. If a row has several tasks, neighbouring ones
//! belong to a *team* of warps of one block, which meet in shared memory. If a row has several
//! teams, these meet by words in the workspace, as in [`grid_reduction`](crate::grid_reduction):
//! the last of as many teams as its lanes can read at once (up to 1024) waits for the words of the
//! others. If there are several such teams, the last one of them does the same again.
//!
//! # The launch's contract
//!
//! A kernel of [`rows!`](crate::rows!) takes `input`, `output`, `slots`, and a [`Plan`] and its
//! [`Dim`]s number by number, and then the parameters that follow the word `with`. There is at
//! least one row. A row may have no element.
//!
//! - Row `r` and step `k`, which both count from 0, are the element at `input` plus the offset of
//!   `r` by the first [`Plan::kept`] dimensions plus that of `k` by the next [`Plan::reduced`]
//!   ones. In each of the two lists the first dimension is the one that changes fastest. All
//!   strides are in bytes.
//! - The results lie at `output` in the order of the rows, for each row as many as its operation
//!   has.
//! - The block has [`THREADS`] threads, and the grid has a warp for each warp of each team. Teams
//!   have numbers: first come the first teams of all groups, then the second ones, and so on. A
//!   block has as many teams as it has room for, except the last one.
//! - `slots` is as for [`grid_reduction`](crate::grid_reduction), and has a 64-bit word for each
//!   32-bit word of each row of each team, if a group has several teams.
//! - The numbers fit together as [`Plan`] says.
//! - A kernel of [`single_rows!`](crate::single_rows!) takes `input`, `output`, `slots`, and the
//!   numbers of [`single::Rows`], and then the parameters that follow the word `with`. A block has
//!   at most [`single::THREADS`] threads, and a warp for each tile of one or more groups. All
//!   groups have a block.
//! - A kernel of [`row_pairs!`](crate::row_pairs!) also takes the address of the second array, and
//!   a [`Layout`] and [`Dim`]s of its own for it. Tiles and parts have half as many bytes.

pub mod columns;
pub(crate) mod finish;
mod part;
mod plain;
mod reader;
pub mod scatter;
mod short;
pub mod single;
mod source;
pub(crate) mod stage;
mod team;
pub(crate) mod tree;

pub use source::RowSource;

use crate::unroll::each;
use crate::warp::WARP;
use crate::{Position, Reduction};
use core::mem::MaybeUninit;
use cuda_std::ext::{control, copy, grid, target};
use cuda_std::{address_space, thread, warp};

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Bytes of a tile, at most.
pub const TILE_BYTES: u32 = 4096;

/// Bytes of a part, at most. A tile has as many whole parts as a warp has lanes.
pub const PART_BYTES: u32 = TILE_BYTES / WARP;

/// The most tiles of a task are 2 to this number.
pub const LEVELS: u32 = 7;

/// How many accumulators of each thread there must be room for.
#[doc(hidden)]
pub const fn levels<R: Reduction>() -> u32 {
    if R::IN_ANY_ORDER { 1 } else { LEVELS }
}

/// A number below 33 is divided by the lanes of a row by a multiplication with
/// [`Plan::lane_share`] and a shift by so many bits.
pub const SHARE: u32 = 16;

/// The most rows of a tile that has bundles of up to 32 of them. For the numbers of more rows, the
/// multiplication with [`Plan::bundle_share`] would not give the number of the bundle.
pub const BUNDLED: u32 = 1024;

/// The most dimensions: those of the array, and one for the words of an element.
pub const DIMS: usize = 9;

/// Bytes of a word.
pub(crate) const WORD: u32 = 4;

/// Bytes of a pair of words.
const PAIR: u32 = 8;

/// Bytes of a pack.
pub(crate) const PACK: u32 = 16;

/// Bytes of a line of shared memory: one word of each bank.
pub(crate) const LINE: u32 = 128;

/// Bytes of shared memory for one tile: its lines and the gaps behind them, and one line more,
/// because a tile need not begin at a line.
pub(crate) const BUFFER: usize = padded(TILE_BYTES + LINE) as usize;

/// Bytes of shared memory for the tile of one of two arrays, as [`BUFFER`].
const HALF: usize = padded(TILE_BYTES / 2 + LINE) as usize;

/// Bytes of shared memory for the tiles of a warp, one of each array.
const fn buffer(arrays: usize) -> usize {
    if arrays == 1 { BUFFER } else { 2 * HALF }
}

/// Warps of a block.
pub(crate) const WARPS: u32 = THREADS / WARP;

/// A tile for each warp.
#[address_space(shared)]
static mut TILES: [MaybeUninit<u128>; WARPS as usize * BUFFER / 16] =
    [const { MaybeUninit::uninit() }; WARPS as usize * BUFFER / 16];

/// The sizes and strides of the dimensions, and for each warp the place of a tile in each of them.
#[address_space(shared)]
static mut TABLE: [MaybeUninit<u64>; (2 + WARPS as usize) * DIMS] =
    [const { MaybeUninit::uninit() }; (2 + WARPS as usize) * DIMS];

/// As [`TILES`], for two arrays.
#[address_space(shared)]
static mut PAIRS_OF_TILES: [MaybeUninit<u128>; WARPS as usize * 2 * HALF / 16] =
    [const { MaybeUninit::uninit() }; WARPS as usize * 2 * HALF / 16];

/// As [`TABLE`], for the second array.
#[address_space(shared)]
static mut SECOND_TABLE: [MaybeUninit<u64>; (2 + WARPS as usize) * DIMS] =
    [const { MaybeUninit::uninit() }; (2 + WARPS as usize) * DIMS];

/// A dimension: its size, and the bytes from one index to the next.
#[derive(Clone, Copy)]
pub struct Dim {
    /// The number of indices.
    pub size: u64,
    /// The distance in bytes of neighbours.
    pub stride: i64,
}

/// How the rows are cut into tiles and tasks.
///
/// A *group* is `tile_rows` neighbouring rows, or what is left of them at the end. A tile has
/// `tile_steps` steps of a group.
#[derive(Clone, Copy)]
pub struct Plan {
    /// The first row of this launch, a multiple of `tile_rows`.
    pub first: u64,
    /// The number of rows, those before `first` included.
    pub rows: u64,
    /// Elements of a row.
    pub length: u64,
    /// Rows of a tile. If a row has several tiles, at most 32 divided by the lanes of a row. For
    /// [`Staging::Columns`], exactly that number times the columns of a lane.
    pub tile_rows: u32,
    /// Steps of a tile: `length`, or else the elements of as many whole parts as a row has lanes.
    pub tile_steps: u32,
    /// Bytes from a row to the next in a tile.
    pub row_step: u32,
    /// Bytes from a step to the next in a tile.
    pub step: u32,
    /// The number of tiles of a group.
    pub tiles: u32,
    /// The number of tiles of a task, a power of two, at most 2 to [`LEVELS`], or to the number of
    /// levels for which a lane has room if it takes [`columns`].
    pub task: u32,
    /// The number of tasks of a group.
    pub tasks: u32,
    /// The number of groups of the launch.
    pub groups: u32,
    /// 2 to this number is the number of warps of a team, at most the warps of a block. If a group
    /// has several teams, it is the warps of a block.
    pub team: u32,
    /// The number of lanes of a row: as many as a tile has parts of it. A power of two, if a row
    /// has several tiles.
    pub lanes: u32,
    /// 2 to the power of [`SHARE`] divided by `lanes`, rounded up.
    pub lane_share: u32,
    /// Where the rows of a tile come in *bundles* of as many neighbours, one bundle behind the
    /// other, 2 to the power of [`SHARE`] divided by the rows of a bundle, rounded up. A tile then
    /// is one piece of at most [`BUNDLED`] rows. Otherwise it is 0.
    pub bundle_share: u32,
    /// Bytes in a tile from where the next row of a bundle would be to the next bundle.
    pub bundle_gap: u32,
    /// How a tile is staged, a [`Staging`].
    pub staging: u32,
    /// Bytes of a unit, in which a tile that is not one piece is copied: 4, 8 or 16.
    pub unit: u32,
    /// Where a tile is not one piece, 2 to this number is its extent along the faster index, in
    /// units or elements. For [`Staging::Columns`] it is 0.
    pub fast: u32,
    /// The number of dimensions of the rows.
    pub kept: u32,
    /// The number of dimensions of the steps.
    pub reduced: u32,
}

/// How the second of two arrays is staged. The fields are those of [`Plan`].
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "the documentation is that of the fields of `Plan`")]
pub struct Layout {
    pub row_step: u32,
    pub step: u32,
    pub staging: u32,
    pub unit: u32,
    pub fast: u32,
    pub kept: u32,
    pub reduced: u32,
}

impl Plan {
    /// The plan for an array that is staged as `layout` says, with the same rows and steps.
    #[must_use]
    #[inline(always)]
    pub fn with(self, layout: Layout) -> Self {
        let Layout { row_step, step, staging, unit, fast, kept, reduced } = layout;
        Self { row_step, step, staging, unit, fast, kept, reduced, ..self }
    }

    /// 2 to this number is the number of teams of a block, and the distance of the warps of a team.
    #[inline(always)]
    fn apart(&self) -> u32 {
        WARPS.trailing_zeros() - self.team
    }

    /// How many bytes behind the first row of a tile this one lies.
    #[inline(always)]
    fn row_at(&self, row: u32) -> u32 {
        row * self.row_step + ((row * self.bundle_share) >> SHARE) * self.bundle_gap
    }

    /// How many rows a warp takes at a time.
    #[inline(always)]
    fn rows_of_pass(&self) -> u32 {
        (WARP * self.lane_share) >> SHARE
    }

    /// Whether there are two dimensions only, for which no table is needed.
    #[inline(always)]
    fn is_matrix(&self) -> bool {
        self.kept == 1 && self.reduced == 1
    }
}

/// How a tile gets from global to shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Staging {
    /// The tile is one piece of memory, with the strides that it has in shared memory.
    Piece = 0,
    /// Units, of which neighbours belong to neighbouring rows. The size of the first kept dimension
    /// counts units, and its stride is that of units.
    RowUnits = 1,
    /// Units, of which neighbours belong to neighbouring steps. The size of the first reduced
    /// dimension counts units, and its stride is that of units.
    StepUnits = 2,
    /// Elements of less than a word, of which neighbours belong to neighbouring rows.
    RowElements = 3,
    /// Elements of less than a word, of which neighbours belong to neighbouring steps.
    StepElements = 4,
    /// The tile is not in shared memory: each lane reads the elements of a few columns
    /// ([`columns`](columns::columns)). Kernels for sm_90 and later know it. The size of the first
    /// kept dimension counts the units of lanes, and its stride is that of units. No part of a row
    /// crosses the end of the first reduced dimension.
    Columns = 5,
    /// As [`Piece`](Self::Piece). There are two dimensions, the elements of a row are neighbours,
    /// and the kernel is one that knows [`Columns`](Self::Columns), where a row has several tiles,
    /// or is one of [`single`].
    PlainPiece = 6,
    /// As [`StepUnits`](Self::StepUnits), with one dimension for the rows and two for the steps.
    /// Kernels for sm_90 and later know it. A unit has one or more whole elements, the first
    /// dimension of the steps has as many units as a warp has lanes or more, and a row has less
    /// than 2^32. Along the faster index a tile has more places than a warp has lanes.
    Fold = 7,
    /// As [`PlainPiece`](Self::PlainPiece), for rows of at most two parts, which are no whole parts
    /// and lie one behind the other. Each tile begins at a pack. Only the kernels of [`single`]
    /// know it.
    ShortRows = 8,
}

/// A tile, by what it belongs to.
#[derive(Clone, Copy)]
struct Tile {
    /// The number of the group in the launch.
    group: u32,
    /// The number of the task in its group.
    task: u32,
    /// The number of the tile in its task.
    number: u32,
}

impl Tile {
    /// The first row of the group.
    #[inline(always)]
    fn row(self, plan: &Plan) -> u64 {
        plan.first + u64::from(self.group) * u64::from(plan.tile_rows)
    }
    /// The number of rows.
    #[inline(always)]
    fn rows(self, plan: &Plan) -> u32 {
        (plan.rows - self.row(plan)).min(plan.tile_rows.into()) as u32
    }
    /// The number of the tile in its group.
    #[inline(always)]
    fn of_group(self, plan: &Plan) -> u32 {
        self.task * plan.task + self.number
    }
    /// The first step.
    #[inline(always)]
    fn step(self, plan: &Plan) -> u64 {
        u64::from(self.of_group(plan)) * u64::from(plan.tile_steps)
    }
    /// The number of steps.
    #[inline(always)]
    fn steps(self, plan: &Plan) -> u32 {
        (plan.length - self.step(plan)).min(plan.tile_steps.into()) as u32
    }
    /// The next tile of the task, if there is one.
    #[inline(always)]
    fn next(self, plan: &Plan) -> Option<Self> {
        (!self.is_last(plan)).then_some(Self { number: self.number + 1, ..self })
    }
    /// Whether this is the last tile of its task.
    #[inline(always)]
    fn is_last(self, plan: &Plan) -> bool {
        self.number + 1 == plan.task || self.of_group(plan) + 1 == plan.tiles
    }
}

/// Where byte number `at` of a tile is in its buffer. A pack is left out behind each line, so that
/// lanes whose parts lie 128 bytes apart read different banks.
#[inline(always)]
pub(crate) const fn padded(at: u32) -> u32 {
    at + at / LINE * PACK
}

/// Reduces the rows of an array. This is the whole body of a kernel that [`rows!`](crate::rows!)
/// stamps out. `stack` has room for [`LEVELS`] accumulators of each thread, or for one if the order
/// does not matter ([`Reduction::IN_ANY_ORDER`]).
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract), and `stack` is shared memory.
#[inline(always)]
pub unsafe fn rows<S: RowSource, R: Reduction<Source = S>>(
    input: S,
    output: *mut R::Raw,
    slots: *mut u64,
    stack: *mut u32,
    plan: Plan,
    dims: [Dim; DIMS],
) {
    // SAFETY: the caller's contract. A source of one array has no second.
    unsafe { pairs::<S, R>(input, output, slots, stack, [plan; 2], [dims; 2]) }
}

/// As [`rows`], with a plan and dimensions for each array. This is the whole body of a kernel that
/// [`row_pairs!`](crate::row_pairs!) stamps out. The plans differ in what a [`Layout`] has.
///
/// # Safety
/// That of [`rows`].
#[inline(always)]
pub unsafe fn pairs<S: RowSource, R: Reduction<Source = S>>(
    input: S,
    output: *mut R::Raw,
    slots: *mut u64,
    stack: *mut u32,
    [plan, second]: [Plan; 2],
    [dims, second_dims]: [[Dim; DIMS]; 2],
) {
    let is_pair = S::ARRAYS == 2;
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let is_plain = plain::is_known::<S, R>() && plan.staging == Staging::PlainPiece as u32;
    let buffers =
        if is_pair { (&raw mut PAIRS_OF_TILES).cast::<u8>() } else { (&raw mut TILES).cast() };
    let tiles_of = |warp: u32| buffers.wrapping_add(warp as usize * buffer(S::ARRAYS));
    let tiles = tiles_of(warp_of_block);
    let plain = || plain::Worker { stride: dims[0].stride as u64, tile: tiles, lane };
    let table = (&raw mut TABLE).cast::<u64>();
    let second_table = if is_pair { (&raw mut SECOND_TABLE).cast::<u64>() } else { table };
    // SAFETY: shared memory has these places; each thread writes places of its own before the
    // barrier, and each warp has its own tiles and places. All branches around collective calls are
    // the same in all lanes of a warp. The rest is the launch's contract.
    unsafe {
        let has_table = stage::has_table(&plan) || (is_pair && stage::has_table(&second));
        if !is_plain && has_table {
            if tid == 0 {
                each(DIMS, |i| {
                    *table.add(2 * i) = dims[i].size;
                    *table.add(2 * i + 1) = dims[i].stride as u64;
                    if is_pair {
                        *second_table.add(2 * i) = second_dims[i].size;
                        *second_table.add(2 * i + 1) = second_dims[i].stride as u64;
                    }
                });
            }
            thread::sync_threads();
        }
        let place = Place::new(tid, &plan);
        let stager = |array: usize, table: *mut u64, dims: [Dim; DIMS]| stage::Stager {
            input: input.addresses()[array],
            dims: [dims[0], dims[1], dims[2]],
            table,
            places: table.add((2 + warp_of_block as usize) * DIMS),
            lane,
        };
        let stagers = [stager(0, table, dims), stager(1, second_table, second_dims)];
        let columns = columns::columns::<S, R>() as u32;
        // Older devices have too few registers for columns.
        let has_columns = target::arch() >= 900 && columns > 0;
        let are_columns = has_columns && plan.staging == Staging::Columns as u32;
        let stack_of = |tid: u32| tree::Stack {
            words: stack.wrapping_add(tid as usize),
            stride: THREADS as usize,
        };
        let stack = stack_of(tid);

        grid::wait_for_dependencies();
        // The last team of a group may have more warps than tasks, and the last block more teams
        // than there are.
        let has_task = place.task < plan.tasks;
        let mut here = Tile { group: place.group, task: place.task, number: 0 };
        // Each way has a loop of its own. In a common loop the values that one way needs take
        // registers of the other one too, and ptxas spills them.
        if is_plain {
            #[expect(clippy::while_immutable_condition, reason = "the last tile breaks the loop")]
            while has_task {
                control::keep_rolled();
                plain().part_of_row::<S, R>(input, output, slots, stack, here, &plan);
                let Some(next) = here.next(&plan) else { break };
                here = next;
            }
        } else if are_columns {
            #[expect(clippy::while_immutable_condition, reason = "the last tile breaks the loop")]
            while has_task {
                control::keep_rolled();
                let worker = columns::Columns { stager: stagers[0], buffer: tiles, stack };
                worker.work::<S, R>(input, here, &plan);
                let Some(next) = here.next(&plan) else { break };
                here = next;
            }
        } else {
            #[expect(clippy::while_immutable_condition, reason = "the last tile breaks the loop")]
            while has_task {
                control::keep_rolled();
                let start = [tiles, tiles.wrapping_add(HALF)];
                let mut shift = [stagers[0].stage::<S::Element>(start[0], here, &plan), 0];
                if is_pair {
                    shift[1] = stagers[1].stage::<S::Element>(start[1], here, &second);
                }
                // This is computed while the copies are under way, and not before the first one.
                let share = part::Share::new(control::anew(lane), &plan);
                copy::wait();
                warp::sync_warp(u32::MAX);
                let worker = Worker { tiles: Tiles { start, shift }, share, lane, stack };
                worker.work::<S, R>(input, output, slots, here, [&plan, &second]);
                warp::sync_warp(u32::MAX);
                let Some(next) = here.next(&plan) else { break };
                here = next;
            }
        }
        if plan.tasks > 1 || are_columns {
            thread::sync_threads();
            let (place, warp_of_block, lane, tiles, stack) =
                if size_of::<S::Element>() < WORD as usize {
                    // What follows from the number of the thread is found again. Otherwise it would
                    // take registers while tiles of narrow elements are reduced, which need them
                    // all.
                    let tid = control::anew_thread_idx_x();
                    let (warp, lane) = (tid / WARP, tid % WARP);
                    (Place::new(tid, &plan), warp, lane, tiles_of(warp), stack_of(tid))
                } else {
                    (place, warp_of_block, lane, tiles, stack)
                };
            let team = team::Team {
                first: tiles_of(warp_of_block - (place.member << plan.apart())),
                own: tiles,
                lane,
                stack,
                slots,
                number: place.of_group,
                columns: are_columns.then_some(columns),
            };
            // All warps of a team finish columns, those without a task too.
            let has_team = place.of_group << plan.team < plan.tasks;
            let lanes = match team.columns {
                Some(columns) => plan.tile_rows * columns::lanes_of_column(&plan, columns),
                // Several teams meet with all their warps. The code that combines lists is long, so
                // the kernel does not repeat it for that, and one warp of a team meets the others.
                None if !R::IN_ANY_ORDER && plan.tasks > 1 << plan.team => WARP << plan.team,
                None => 1,
            };
            let mut slice = place.member;
            while has_team && slice * WARP < lanes {
                control::keep_rolled();
                team.finish::<R>(input, output, slice, here, &plan);
                slice += 1 << plan.team;
            }
        }
    }
}

/// What a warp works on.
#[derive(Clone, Copy)]
struct Place {
    /// The number of its group in the launch.
    group: u32,
    /// The number of its team among those of the group.
    of_group: u32,
    /// Its number in the team.
    member: u32,
    /// The number of its task in the group.
    task: u32,
}

impl Place {
    /// The place of the warp of thread number `tid` of this block.
    #[inline(always)]
    fn new(tid: u32, plan: &Plan) -> Self {
        // Neighbouring teams have neighbouring groups, because these are often neighbours in
        // memory.
        let warp = tid / WARP;
        let teams = 1 << plan.apart();
        let (team, member) = (warp & (teams - 1), warp >> plan.apart());
        let number = thread::block_idx_x() * teams + team;
        let groups = plan.groups.max(1);
        // A division takes time, and few rows need it.
        let (of_group, group) =
            if number < groups { (0, number) } else { (number / groups, number % groups) };
        Self { group, of_group, member, task: (of_group << plan.team) + member }
    }
}

/// The tiles of a warp, one of each array.
#[derive(Clone, Copy)]
struct Tiles {
    /// Where they are in shared memory.
    start: [*mut u8; 2],
    /// How many bytes behind that the first elements are.
    shift: [u32; 2],
}

/// What a warp needs to reduce a tile that has arrived.
#[derive(Clone, Copy)]
struct Worker {
    tiles: Tiles,
    share: part::Share,
    lane: u32,
    stack: tree::Stack,
}

impl Worker {
    /// Reduces a tile, and passes on what its rows have become.
    ///
    /// # Safety
    /// The whole warp calls this, for each tile of a task in order. The rest is that of [`rows`].
    #[inline(always)]
    unsafe fn work<S: RowSource, R: Reduction<Source = S>>(
        self,
        source: S,
        output: *mut R::Raw,
        slots: *mut u64,
        here: Tile,
        plans: [&Plan; 2],
    ) {
        let Self { tiles, share, lane, stack } = self;
        let plan = plans[0];
        let rows = here.rows(plan);
        if short::are_columns::<S, R>(plan) {
            let tile = tiles.start[0];
            // SAFETY: the caller's contract. The tile begins where the buffer does.
            unsafe { short::columns::<S, R>(source, output, slots, tile, lane, here, plan) };
            return;
        }
        let mut pass = 0;
        // SAFETY: the caller's contract. All lanes take the same branches, except the one that
        // writes a result.
        unsafe {
            while pass < rows {
                control::keep_rolled();
                // A row of several tiles has one pass.
                let before = if R::IN_ANY_ORDER && here.number > 0 {
                    stack.top::<R>()
                } else {
                    R::identity()
                };
                let row = pass + share.row;
                let is_row = share.is_taken && row < rows;
                let mut acc = part::part::<S, R>(
                    source,
                    tiles,
                    share,
                    is_row.then_some(row),
                    before,
                    here,
                    plans,
                );
                if R::IN_ANY_ORDER && !here.is_last(plan) {
                    stack.keep::<R>(acc);
                    return;
                }
                let number = share.number;
                // The other way is right for all numbers of lanes, and code that combines lists is
                // long.
                acc = if plan.lanes.is_power_of_two() && !R::IN_ANY_ORDER {
                    tree::lanes::<R>(acc, tree::Parts::Even, plan.lanes)
                } else {
                    let parts = tree::Parts::Uneven { number, count: plan.lanes };
                    tree::lanes::<R>(acc, parts, plan.lanes)
                };
                let mut is_whole = plan.tiles == 1;
                if !is_whole {
                    let is_last = here.is_last(plan);
                    if !R::IN_ANY_ORDER {
                        acc = stack.push::<R>(acc, here.number, is_last);
                    }
                    is_whole = is_last && plan.tasks == 1;
                    if is_last && !is_whole {
                        // The tile is not read any more.
                        warp::sync_warp(u32::MAX);
                        team::leave(acc, tiles.start[0], lane);
                    }
                }
                if is_whole && number == 0 && is_row {
                    let row = here.row(plan) + u64::from(row);
                    R::write(acc, output, row, index, source, slots);
                }
                pass += plan.rows_of_pass();
            }
        }
    }
}

/// The index of an element, counted from the first one of its row.
#[inline(always)]
pub(crate) fn index(position: Position) -> u64 {
    u64::from(position.block) << 32 | u64::from(position.number)
}
