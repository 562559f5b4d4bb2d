//! The macros that stamp out entry points.

/// Stamps out kernels that reduce one array: for each line one kernel for every input, and one with
/// `_single` at the end of its name, which is faster for [a small
/// input](crate#a-small-input).
///
/// Each line is `name: element = reduction => raw result, loads in flight;`. Three things may
/// follow the number of loads, in this order:
///
/// - The word `then` and the number of loads that are in flight after the whole rounds. It is at
///   most the first number; the default is 4. See [`grid`](crate::grid).
/// - The word `with`, more parameters of both kernels in parentheses, and a function that makes the
///   [`OneArray`](crate::source::OneArray) of the array's address and of these parameters. The
///   default is [`One`](crate::source::One).
/// - A comma and the way in which blocks combine their results, which is a
///   [`GridReduction`](crate::grid_reduction::GridReduction). The default is
///   [`Polled`](crate::grid_reduction::Polled).
///
/// ```
/// use warpfold_device::grid_reduction::Ticket;
/// use warpfold_device::op::sum::{Sum, Wrapping};
/// use warpfold_device::op::within::{CountWithin, Within};
///
/// warpfold_device::unary! {
///     sum_i32: i32 = Sum<i32> => i64, 8;
///     sum_f64: f64 = Sum<f64> => f64, 4 then 2;
///     wrapping_u32: u32 = Wrapping => u32, 8, Ticket;
///     count_up_to_u32: u32 = CountWithin<u32> => u64, 8
///         with (most: u64) |array| Within::new(array, [0; 2], [most, 0], false);
/// }
/// ```
#[macro_export]
macro_rules! unary {
    ($(
        $name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal $(then $rest:literal)?
        $(with ($($more:ident: $kind:ty),*) $source:expr)?
        $(, $way:ty)?;
    )*) => {$(
        #[doc = concat!("`", stringify!($op), "`, with ", stringify!($loads), " loads in flight.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](warpfold_device#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            lines: *const $t,
            chunk: u32,
            full: u32,
            rest: u32,
            edges: u32,
            keep: f32,
            output: *mut $raw,
            slots: *mut u64,
            $($($more: $kind,)*)?
        ) {
            let lines = $crate::__source!(lines $($source)?);
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::grid::unary::<_, $op, $crate::__way!($($way)?), $loads, { $crate::__rest!($($rest)?) }>(
                    lines, $crate::cut::Cut { chunk, full, rest, edges }, keep, output, slots,
                )
            }
        }

        $crate::pastey::paste! {
            #[doc = concat!("`", stringify!($op), "` of a small input.")]
            ///
            /// # Safety
            /// The launch keeps [its contract](warpfold_device#a-small-input).
            #[$crate::cuda_std::kernel]
            #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
            pub unsafe fn [<$name _single>](
                first: *const $t,
                packs: u32,
                edges: u32,
                output: *mut $raw,
                $($($more: $kind,)*)?
            ) {
                let first = $crate::__source!(first $($source)?);
                // SAFETY: the caller's contract is the callee's.
                unsafe { $crate::single::unary::<_, $op>(first, packs, edges, output) }
            }
        }
    )*};
}

/// Stamps out kernels that reduce the pairs of two arrays: two for each line, as
/// [`unary!`](crate::unary!) does.
///
/// Each line is `name: element = reduction => raw result, loads in flight of each array;`.
///
/// ```
/// use warpfold_device::op::pairs::Dot;
///
/// warpfold_device::pairs! {
///     dot_f32: f32 = Dot<f32> => f32, 4;
/// }
/// ```
#[macro_export]
macro_rules! pairs {
    ($($name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal;)*) => {$(
        #[doc = concat!(
            "`", stringify!($op), "`, with ", stringify!($loads), " loads in flight of each array."
        )]
        ///
        /// # Safety
        /// The launch keeps [its contract](warpfold_device#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            left: *const $t,
            right: *const $t,
            chunk: u32,
            full: u32,
            rest: u32,
            edges: u32,
            keep: f32,
            output: *mut $raw,
            slots: *mut u64,
        ) {
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::grid::pairs::<$t, $op, $crate::grid_reduction::Polled, $loads>(
                    (left, right), $crate::cut::Cut { chunk, full, rest, edges }, keep, output, slots,
                )
            }
        }

        $crate::pastey::paste! {
            #[doc = concat!("`", stringify!($op), "` of a small input.")]
            ///
            /// # Safety
            /// The launch keeps [its contract](warpfold_device#a-small-input).
            #[$crate::cuda_std::kernel]
            #[allow(improper_ctypes_definitions)]
            pub unsafe fn [<$name _single>](
                left: *const $t,
                right: *const $t,
                packs: u32,
                edges: u32,
                output: *mut $raw,
            ) {
                // SAFETY: the caller's contract is the callee's.
                unsafe { $crate::single::pairs::<$t, $op>((left, right), packs, edges, output) }
            }
        }
    )*};
}

/// Stamps out kernels that reduce the rows of an array ([`rows`](mod@crate::rows)): one result for
/// each row.
///
/// Each line is `name: element = reduction => raw result;`. After a comma it may have more
/// parameters, as in [`unary!`](crate::unary!).
///
/// ```
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::rows! {
///     sums_f32: f32 = Sum<f32> => f32;
/// }
/// ```
#[macro_export]
macro_rules! rows {
    ($(
        $name:ident: $t:ty = $op:ty => $raw:ty
        $(, with ($($more:ident: $kind:ty),*) $source:expr)?;
    )*) => {$(
        #[doc = concat!("`", stringify!($op), "` of each row.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::rows#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $raw,
            slots: *mut u64,
            first: u64,
            rows: u64,
            length: u64,
            tile_rows: u32,
            tile_steps: u32,
            row_step: u32,
            step: u32,
            tiles: u32,
            task: u32,
            tasks: u32,
            groups: u32,
            team: u32,
            lanes: u32,
            lane_share: u32,
            bundle_share: u32,
            bundle_gap: u32,
            staging: u32,
            unit: u32,
            fast: u32,
            kept: u32,
            reduced: u32,
            size0: u64, stride0: i64,
            size1: u64, stride1: i64,
            size2: u64, stride2: i64,
            size3: u64, stride3: i64,
            size4: u64, stride4: i64,
            size5: u64, stride5: i64,
            size6: u64, stride6: i64,
            size7: u64, stride7: i64,
            size8: u64, stride8: i64,
            $($($more: $kind,)*)?
        ) {
            use ::core::mem::MaybeUninit;
            use $crate::rows::{Dim, Plan, THREADS, levels};

            $crate::__count!(COUNT: $op => $raw);
            const WORDS: usize = COUNT * (levels::<$op>() * THREADS) as usize;
            #[$crate::cuda_std::address_space(shared)]
            static mut STACK: [MaybeUninit<u32>; WORDS] = [const { MaybeUninit::uninit() }; WORDS];

            let plan = Plan {
                first, rows, length, tile_rows, tile_steps, row_step, step, tiles, task, tasks,
                groups, team, lanes, lane_share, bundle_share, bundle_gap, staging, unit, fast,
                kept, reduced,
            };
            let dims = [
                Dim { size: size0, stride: stride0 },
                Dim { size: size1, stride: stride1 },
                Dim { size: size2, stride: stride2 },
                Dim { size: size3, stride: stride3 },
                Dim { size: size4, stride: stride4 },
                Dim { size: size5, stride: stride5 },
                Dim { size: size6, stride: stride6 },
                Dim { size: size7, stride: stride7 },
                Dim { size: size8, stride: stride8 },
            ];
            let stack = (&raw mut STACK).cast::<u32>();
            let input = $crate::__source!(input $($source)?);
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::rows::rows::<_, $op>(input, output, slots, stack, plan, dims) }
        }
    )*};
}

/// Stamps out kernels that reduce the rows of an array where [each warp has a single
/// tile](mod@crate::rows::single). They are faster than those of [`rows!`](crate::rows!), with
/// which they share the form of their lines, for rows of few tiles whose elements are neighbours.
///
/// The accumulators of the operation must be few words, and the order of the elements must matter
/// to it, as it does for all but lists and exact sums.
///
/// ```
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::single_rows! {
///     sums_f32_single: f32 = Sum<f32> => f32;
/// }
/// ```
#[macro_export]
macro_rules! single_rows {
    ($(
        $name:ident: $t:ty = $op:ty => $raw:ty
        $(, with ($($more:ident: $kind:ty),*) $source:expr)?;
    )*) => {$(
        #[doc = concat!("`", stringify!($op), "` of each row, where a warp has a single tile.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::rows#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $raw,
            slots: *mut u64,
            first: u64,
            rows: u64,
            length: u32,
            tile_rows: u32,
            row_step: u32,
            tiles: u32,
            tile_share: u32,
            lanes: u32,
            lane_share: u32,
            staging: u32,
            stride: i64,
            $($($more: $kind,)*)?
        ) {
            use $crate::rows::single::{self, Rows};

            let rows = Rows {
                first, rows, length, tile_rows, row_step, tiles, tile_share, lanes, lane_share,
                staging, stride,
            };
            let input = $crate::__source!(input $($source)?);
            // SAFETY: the caller's contract is the callee's.
            unsafe { single::rows::<_, $op>(input, output, slots, rows) }
        }
    )*};
}

/// Stamps out kernels that reduce the rows of two arrays in pairs, one for each line `name: element
/// = reduction => raw result;`. See [`rows!`](crate::rows!). The arguments of the second array are
/// those behind the dimensions of the first.
#[macro_export]
macro_rules! row_pairs {
    ($(
        $name:ident: $t:ty = $op:ty => $raw:ty;
    )*) => {$(
        #[doc = concat!("`", stringify!($op), "` of each row.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::rows#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $raw,
            slots: *mut u64,
            first: u64,
            rows: u64,
            length: u64,
            tile_rows: u32,
            tile_steps: u32,
            row_step: u32,
            step: u32,
            tiles: u32,
            task: u32,
            tasks: u32,
            groups: u32,
            team: u32,
            lanes: u32,
            lane_share: u32,
            bundle_share: u32,
            bundle_gap: u32,
            staging: u32,
            unit: u32,
            fast: u32,
            kept: u32,
            reduced: u32,
            size0: u64, stride0: i64,
            size1: u64, stride1: i64,
            size2: u64, stride2: i64,
            size3: u64, stride3: i64,
            size4: u64, stride4: i64,
            size5: u64, stride5: i64,
            size6: u64, stride6: i64,
            size7: u64, stride7: i64,
            size8: u64, stride8: i64,
            second: *const $t,
            second_row_step: u32,
            second_step: u32,
            second_staging: u32,
            second_unit: u32,
            second_fast: u32,
            second_kept: u32,
            second_reduced: u32,
            second_size0: u64, second_stride0: i64,
            second_size1: u64, second_stride1: i64,
            second_size2: u64, second_stride2: i64,
            second_size3: u64, second_stride3: i64,
            second_size4: u64, second_stride4: i64,
            second_size5: u64, second_stride5: i64,
            second_size6: u64, second_stride6: i64,
            second_size7: u64, second_stride7: i64,
            second_size8: u64, second_stride8: i64,
        ) {
            use ::core::mem::MaybeUninit;
            use $crate::rows::{Dim, Layout, Plan, THREADS, levels};

            $crate::__count!(COUNT: $op => $raw);
            const WORDS: usize = COUNT * (levels::<$op>() * THREADS) as usize;
            #[$crate::cuda_std::address_space(shared)]
            static mut STACK: [MaybeUninit<u32>; WORDS] = [const { MaybeUninit::uninit() }; WORDS];

            let plan = Plan {
                first, rows, length, tile_rows, tile_steps, row_step, step, tiles, task, tasks,
                groups, team, lanes, lane_share, bundle_share, bundle_gap, staging, unit, fast,
                kept, reduced,
            };
            let dims = [
                Dim { size: size0, stride: stride0 },
                Dim { size: size1, stride: stride1 },
                Dim { size: size2, stride: stride2 },
                Dim { size: size3, stride: stride3 },
                Dim { size: size4, stride: stride4 },
                Dim { size: size5, stride: stride5 },
                Dim { size: size6, stride: stride6 },
                Dim { size: size7, stride: stride7 },
                Dim { size: size8, stride: stride8 },
            ];
            let second_plan = plan.with(Layout {
                row_step: second_row_step,
                step: second_step,
                staging: second_staging,
                unit: second_unit,
                fast: second_fast,
                kept: second_kept,
                reduced: second_reduced,
            });
            let second_dims = [
                Dim { size: second_size0, stride: second_stride0 },
                Dim { size: second_size1, stride: second_stride1 },
                Dim { size: second_size2, stride: second_stride2 },
                Dim { size: second_size3, stride: second_stride3 },
                Dim { size: second_size4, stride: second_stride4 },
                Dim { size: second_size5, stride: second_stride5 },
                Dim { size: second_size6, stride: second_stride6 },
                Dim { size: second_size7, stride: second_stride7 },
                Dim { size: second_size8, stride: second_stride8 },
            ];
            let stack = (&raw mut STACK).cast::<u32>();
            let input = $crate::source::Two::<$t, $crate::source::Even>::new(input, second);
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::rows::pairs::<_, $op>(
                    input, output, slots, stack, [plan, second_plan], [dims, second_dims],
                )
            }
        }
    )*};
}

/// Stamps out kernels that copy results to an output with strides
/// ([`scatter`](mod@crate::rows::scatter)).
///
/// Each line is `name: type of a word;`. The parameters are `input`, `output`, the number of words,
/// that of the words of a value, and size and stride in bytes of each dimension.
///
/// ```
/// warpfold_device::scatter! {
///     scatter_u32: u32;
/// }
/// ```
#[macro_export]
macro_rules! scatter {
    ($($name:ident: $t:ty;)*) => {$(
        #[doc = concat!("Copies values of [`", stringify!($t), "`] words.")]
        ///
        /// # Safety
        /// That of [`scatter`](warpfold_device::rows::scatter::scatter).
        #[$crate::cuda_std::kernel]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $t,
            words: u64,
            of_value: u32,
            size0: u64,
            stride0: i64,
            size1: u64,
            stride1: i64,
            size2: u64,
            stride2: i64,
            size3: u64,
            stride3: i64,
            size4: u64,
            stride4: i64,
            size5: u64,
            stride5: i64,
            size6: u64,
            stride6: i64,
            size7: u64,
            stride7: i64,
        ) {
            use $crate::rows::Dim;
            let dims = [
                Dim { size: size0, stride: stride0 },
                Dim { size: size1, stride: stride1 },
                Dim { size: size2, stride: stride2 },
                Dim { size: size3, stride: stride3 },
                Dim { size: size4, stride: stride4 },
                Dim { size: size5, stride: stride5 },
                Dim { size: size6, stride: stride6 },
                Dim { size: size7, stride: stride7 },
            ];
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::rows::scatter::scatter::<$t>(input, output, words, of_value, dims) }
        }
    )*};
}

/// Stamps out kernels that reduce the segments of an array ([`segments`](mod@crate::segments)): one
/// result for each segment.
///
/// Each line is `name: element = reduction => raw result;`. After a comma it may have more
/// parameters, as in [`unary!`](crate::unary!).
///
/// ```
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::segments! {
///     segment_sums_f32: f32 = Sum<f32> => f32;
/// }
/// ```
#[macro_export]
macro_rules! segments {
    ($(
        $name:ident: $t:ty = $op:ty => $raw:ty
        $(, with ($($more:ident: $kind:ty),*) $source:expr)?;
    )*) => {$(
        #[doc = concat!("`", stringify!($op), "` of each segment.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::segments#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $raw,
            slots: *mut u64,
            boundaries: *const u32,
            status: *mut u64,
            count: u64,
            counted: *const u64,
            elements: u64,
            density: f32,
            task: u32,
            width: u32,
            ranges: u32,
            log: u32,
            cost: u32,
            ring: u32,
            numbered: u32,
            each: u32,
            array: u64,
            begins: *const u32,
            begin_log: u32,
            $($($more: $kind,)*)?
        ) {
            use ::core::mem::MaybeUninit;

            $crate::__count!(_COUNT: $op => $raw);
            const WORDS: usize = $crate::segments::list_words::<$op>();
            #[$crate::cuda_std::address_space(shared)]
            static mut LISTS: [MaybeUninit<u32>; WORDS] = [const { MaybeUninit::uninit() }; WORDS];

            let spans = $crate::segments::Spans { begins, log: begin_log, elements: array };
            let boundaries = $crate::segments::Boundaries {
                source: boundaries, log, count, counted, elements, spans, density, task, width,
                ranges, cost, ring, numbered, each, status,
            };
            let lists = (&raw mut LISTS).cast::<u32>();
            let input = $crate::__source!(input $($source)?);
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::segments::segments::<_, $op>(input, output, slots, lists, boundaries) }
        }
    )*};
}

/// Stamps out kernels that reduce the values of runs of equal keys, and find these runs
/// ([`keyed`](mod@crate::keyed)).
///
/// Each line is `name: element = operation => raw result;`.
///
/// ```
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::keyed! {
///     sum_by_key_f32: f32 = Sum<f32> => f32;
/// }
/// ```
#[macro_export]
macro_rules! keyed {
    ($($name:ident: $t:ty = $op:ty => $raw:ty;)*) => {$(
        #[doc = concat!("`", stringify!($op), "` of each run of equal keys.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::keyed#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $raw,
            source: *const u8,
            key_log: u32,
            count: u64,
            unique: *mut u8,
            offsets: *mut u32,
            log: u32,
            runs: *mut u64,
            words: *mut u64,
        ) {
            $crate::__count!(_COUNT: $op => $raw);
            let keys = $crate::keyed::Keys { source, log: key_log, count };
            let outputs = $crate::keyed::Outputs { unique, offsets, log, runs };
            let input = $crate::__source!(input);
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::keyed::keyed::<_, $op>(input, output, keys, outputs, words) }
        }
    )*};
}

/// Stamps out kernels that find where segments begin ([`runs`](mod@crate::runs)): runs of equal
/// keys, or segments that flags begin.
///
/// Each line is `name: element => what begins a segment;`.
///
/// ```
/// use warpfold_device::runs::heads::Change;
///
/// warpfold_device::runs! {
///     runs_of_u32: u32 => Change;
/// }
/// ```
#[macro_export]
macro_rules! runs {
    ($($name:ident: $t:ty => $head:ty;)*) => {$(
        #[doc = concat!("Where segments of [`", stringify!($t), "`] begin.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::runs#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            n: u64,
            rows: u32,
            unique: *mut $t,
            offsets: *mut u32,
            log: u32,
            runs: *mut u64,
            words: *mut u64,
        ) {
            let outputs = $crate::runs::heads::Outputs { unique, offsets, log, runs };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::runs::heads::<$t, $head>(input, n, rows, outputs, words) }
        }
    )*};
}

/// Stamps out kernels that find where segments of given lengths begin
/// ([`runs`](mod@crate::runs)).
///
/// Each line is `name: type of a length;`.
///
/// ```
/// warpfold_device::lengths! {
///     offsets_of_u32: u32;
/// }
/// ```
#[macro_export]
macro_rules! lengths {
    ($($name:ident: $t:ty;)*) => {$(
        #[doc = concat!("Where segments begin whose lengths are [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::runs#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            source: *const $t,
            count: u64,
            greatest: u64,
            most: u64,
            offsets: *mut u32,
            log: u32,
            words: *mut u64,
        ) {
            let lengths = $crate::runs::Lengths { source, count, greatest, most };
            let out = $crate::runs::Offsets { offsets, log, words };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::runs::lengths::<$t>(lengths, out) }
        }
    )*};
}

/// Stamps out kernels that find where spans begin if they are put one behind the other
/// ([`runs`](mod@crate::runs)).
///
/// Each line is `name: type of a begin and of an end;`.
///
/// ```
/// warpfold_device::spans! {
///     places_of_u32: u32;
/// }
/// ```
#[macro_export]
macro_rules! spans {
    ($($name:ident: $t:ty;)*) => {$(
        #[doc = concat!("Where spans begin whose begins and ends are [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::runs#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            begins: *const $t,
            ends: *const $t,
            count: u64,
            elements: u64,
            most: u64,
            status: *mut u64,
            offsets: *mut u32,
            log: u32,
            words: *mut u64,
        ) {
            let spans = $crate::runs::Ends { begins, ends, count, elements, most, status };
            let out = $crate::runs::Offsets { offsets, log, words };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::runs::spans::<$t>(spans, out) }
        }
    )*};
}

/// Stamps out kernels that reduce values into bins ([`bins`](mod@crate::bins)): one result for each
/// key.
///
/// Each line is `name: element = reduction => raw result;`.
///
/// ```
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::bins! {
///     bin_sums_f32: f32 = Sum<f32> => f32;
/// }
/// ```
#[macro_export]
macro_rules! bins {
    ($($name:ident: $t:ty = $op:ty => $raw:ty;)*) => {$(
        #[doc = concat!("`", stringify!($op), "` of the values of each key.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::bins#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            keys: *const u8,
            log: u32,
            values: *const $t,
            n: u64,
            share: u64,
            bins: u32,
            range: u32,
            chunks: u32,
            output: *mut $raw,
            partials: *mut u32,
            status: *mut u64,
            stage: u32,
        ) {
            $crate::__count!(_COUNT: $op => $raw);
            let problem = $crate::bins::Problem {
                keys, log, values, n, share, bins, range, chunks, output, partials, status,
            };
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                if stage == 0 {
                    $crate::bins::reduce::<$t, $op>(&problem)
                } else {
                    $crate::bins::combine::<$t, $op>(&problem)
                }
            }
        }
    )*};
}

/// Stamps out kernels that count keys ([`bins`](mod@crate::bins)).
///
/// Each line is `name: type of a key;`.
///
/// ```
/// warpfold_device::bin_counts! {
///     counts_of_u32: u32;
/// }
/// ```
#[macro_export]
macro_rules! bin_counts {
    ($($name:ident: $t:ty;)*) => {$(
        #[doc = concat!("How often each key occurs, of keys of [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::bins#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            keys: *const $t,
            n: u64,
            chunk: u64,
            bins: u32,
            range: u32,
            copies: u32,
            shards: u32,
            output: *mut u64,
            words: *mut u64,
            status: *mut u64,
        ) {
            let counting = $crate::bins::Counting {
                keys, n, chunk, bins, range, copies, shards, output, words, status,
            };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::bins::counts::<$t>(counting) }
        }
    )*};
}

/// The number of words of an accumulator, in a kernel for rows, segments or bins.
#[doc(hidden)]
#[macro_export]
macro_rules! __count {
    ($count:ident: $op:ty => $raw:ty) => {
        const $count: usize = <<$op as $crate::Reduction>::Acc as $crate::words::Words>::COUNT;
        // The host counts so many words for a slot.
        const { assert!($count <= <$op as $crate::Reduction>::SLOT_WORDS) };
    };
}

/// Stamps out kernels that sum exactly ([`exact`](mod@crate::exact)).
///
/// Each line is `name: element => Raw<type of the rounded sum, limbs>, loads in flight;`.
///
/// ```
/// use warpfold_device::exact::{Raw, WIDE_LIMBS};
///
/// warpfold_device::exact! {
///     exact_f64: f64 => Raw<f64, WIDE_LIMBS>, 8;
/// }
/// ```
#[macro_export]
macro_rules! exact {
    ($($name:ident: $t:ty => $raw:ident<$value:ty, $limbs:ident>, $loads:literal;)*) => {$(
        #[doc = concat!("The exact sum of [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::exact#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            n: usize,
            chunk: usize,
            keep: f32,
            output: *mut $raw<$value, $limbs>,
            slots: *mut u64,
        ) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::exact::exact::<$t, $limbs, $loads>(input, n, chunk, keep, output, slots) }
        }
    )*};
}

/// Expands to the source of the array at an address: the given one, or the array alone.
#[doc(hidden)]
#[macro_export]
macro_rules! __source {
    ($address:ident) => {
        $crate::source::One($address)
    };
    ($address:ident $source:expr) => {
        $source($address)
    };
}

/// Expands to the given way of combining blocks, or to the default if none is given.
#[doc(hidden)]
#[macro_export]
macro_rules! __way {
    () => {
        $crate::grid_reduction::Polled
    };
    ($way:ty) => {
        $way
    };
}

/// Expands to the given number of loads after the whole rounds, or to the default if none is given.
#[doc(hidden)]
#[macro_export]
macro_rules! __rest {
    () => {
        4
    };
    ($rest:literal) => {
        $rest
    };
}
