/// Stamps out kernels in which devices exchange raw results ([`exchange`](mod@crate::exchange)).
///
/// Each line is `name: how raw results are combined => raw result;`.
///
/// ```
/// use warpfold_device::exchange::Combined;
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::exchange! {
///     exchange_sum_f32: Combined<Sum<f32>> => f32;
/// }
/// ```
#[macro_export]
macro_rules! exchange {
    ($($name:ident: $how:ty => $raw:ty;)*) => {$(
        #[doc = concat!("Exchanges raw results, and combines them by `", stringify!($how), "`.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::exchange#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            raws: *const $raw,
            output: *mut $raw,
            results: u32,
            base: u64,
            rank: u32,
            ranks: u32,
            present: u32,
            limit: u64,
            mailbox0: *mut u64,
            mailbox1: *mut u64,
            mailbox2: *mut u64,
            mailbox3: *mut u64,
            mailbox4: *mut u64,
            mailbox5: *mut u64,
            mailbox6: *mut u64,
            mailbox7: *mut u64,
        ) {
            let call = $crate::exchange::Call::<$raw> {
                output,
                base,
                rank,
                ranks: $crate::exchange::Ranks { count: ranks, present },
                limit,
                mailboxes: $crate::exchange::Mailboxes([
                    mailbox0, mailbox1, mailbox2, mailbox3, mailbox4, mailbox5, mailbox6, mailbox7,
                ]),
            };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::exchange::exchange::<$how>(raws, results, &call) }
        }
    )*};
}

/// Stamps out kernels that combine raw results where they lie
/// ([`direct`](mod@crate::exchange::direct)).
///
/// Each line is `name: how raw results are combined => raw result;`.
///
/// ```
/// use warpfold_device::exchange::Combined;
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::direct! {
///     direct_sum_f32: Combined<Sum<f32>> => f32;
/// }
/// ```
#[macro_export]
macro_rules! direct {
    ($($name:ident: $how:ty => $raw:ty;)*) => {$(
        #[doc = concat!("Combines raw results where they lie by `", stringify!($how), "`.")]
        ///
        /// # Safety
        /// The launch keeps [its
        /// contract](mod@warpfold_device::exchange::direct#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            raws0: *mut $raw,
            raws1: *mut $raw,
            raws2: *mut $raw,
            raws3: *mut $raw,
            raws4: *mut $raw,
            raws5: *mut $raw,
            raws6: *mut $raw,
            raws7: *mut $raw,
            base0: u64,
            base1: u64,
            base2: u64,
            base3: u64,
            base4: u64,
            base5: u64,
            base6: u64,
            base7: u64,
            output: *mut $raw,
            results: u32,
            rank: u32,
            ranks: u32,
            present: u32,
            limit: u64,
            mailbox0: *mut u64,
            mailbox1: *mut u64,
            mailbox2: *mut u64,
            mailbox3: *mut u64,
            mailbox4: *mut u64,
            mailbox5: *mut u64,
            mailbox6: *mut u64,
            mailbox7: *mut u64,
        ) {
            let call = $crate::exchange::direct::Call::<$raw> {
                raws: [raws0, raws1, raws2, raws3, raws4, raws5, raws6, raws7],
                bases: [base0, base1, base2, base3, base4, base5, base6, base7],
                output,
                results,
                rank,
                ranks: $crate::exchange::Ranks { count: ranks, present },
                limit,
                mailboxes: $crate::exchange::Mailboxes([
                    mailbox0, mailbox1, mailbox2, mailbox3, mailbox4, mailbox5, mailbox6, mailbox7,
                ]),
            };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::exchange::direct::direct::<$how>(&call) }
        }
    )*};
}

/// Stamps out kernels that reduce one array, and exchange the raw result with other devices
/// ([`fused`](mod@crate::exchange::fused)).
///
/// Each line is that of [`unary!`](crate::unary!), without a way in which blocks combine their
/// results.
///
/// ```
/// use warpfold_device::op::sum::Sum;
///
/// warpfold_device::fused! {
///     fused_sum_f32: f32 = Sum<f32> => f32, 8;
/// }
/// ```
#[macro_export]
macro_rules! fused {
    ($(
        $name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal $(then $rest:literal)?
        $(with ($($more:ident: $kind:ty),*) $source:expr)?;
    )*) => {$(
        #[doc = concat!("`", stringify!($op), "` of the shards of several devices.")]
        ///
        /// # Safety
        /// The launch keeps [its
        /// contract](mod@warpfold_device::exchange::fused#the-launchs-contract).
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
            base: u64,
            rank: u32,
            ranks: u32,
            present: u32,
            limit: u64,
            mailbox0: *mut u64,
            mailbox1: *mut u64,
            mailbox2: *mut u64,
            mailbox3: *mut u64,
            mailbox4: *mut u64,
            mailbox5: *mut u64,
            mailbox6: *mut u64,
            mailbox7: *mut u64,
            $($($more: $kind,)*)?
        ) {
            let call = $crate::exchange::Call::<$raw> {
                output,
                base,
                rank,
                ranks: $crate::exchange::Ranks { count: ranks, present },
                limit,
                mailboxes: $crate::exchange::Mailboxes([
                    mailbox0, mailbox1, mailbox2, mailbox3, mailbox4, mailbox5, mailbox6, mailbox7,
                ]),
            };
            let lines = $crate::__source!(lines $($source)?);
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::grid::unary::<
                    _,
                    $op,
                    $crate::exchange::fused::Posted,
                    $loads,
                    { $crate::__rest!($($rest)?) },
                >(lines, $crate::cut::Cut { chunk, full, rest, edges }, keep, call, slots)
            }
        }
    )*};
}

/// Stamps out kernels that reduce the pairs of two arrays, and exchange the raw result with other
/// devices ([`fused`](mod@crate::exchange::fused)).
///
/// Each line is that of [`pairs!`](crate::pairs!).
///
/// ```
/// use warpfold_device::op::pairs::Dot;
///
/// warpfold_device::fused_pairs! {
///     fused_dot_f32: f32 = Dot<f32> => f32, 4;
/// }
/// ```
#[macro_export]
macro_rules! fused_pairs {
    ($($name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal;)*) => {$(
        #[doc = concat!("`", stringify!($op), "` of the shards of several devices.")]
        ///
        /// # Safety
        /// The launch keeps [its
        /// contract](mod@warpfold_device::exchange::fused#the-launchs-contract).
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
            base: u64,
            rank: u32,
            ranks: u32,
            present: u32,
            limit: u64,
            mailbox0: *mut u64,
            mailbox1: *mut u64,
            mailbox2: *mut u64,
            mailbox3: *mut u64,
            mailbox4: *mut u64,
            mailbox5: *mut u64,
            mailbox6: *mut u64,
            mailbox7: *mut u64,
        ) {
            let call = $crate::exchange::Call::<$raw> {
                output,
                base,
                rank,
                ranks: $crate::exchange::Ranks { count: ranks, present },
                limit,
                mailboxes: $crate::exchange::Mailboxes([
                    mailbox0, mailbox1, mailbox2, mailbox3, mailbox4, mailbox5, mailbox6, mailbox7,
                ]),
            };
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::grid::pairs::<
                    $t,
                    $op,
                    $crate::exchange::fused::Posted,
                    $loads,
                >(
                    (left, right), $crate::cut::Cut { chunk, full, rest, edges }, keep, call, slots,
                )
            }
        }
    )*};
}
