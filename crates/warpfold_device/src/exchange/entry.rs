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
                raws,
                output,
                results,
                base,
                rank,
                ranks: $crate::exchange::Ranks { count: ranks, present },
                limit,
                mailboxes: $crate::exchange::Mailboxes([
                    mailbox0, mailbox1, mailbox2, mailbox3, mailbox4, mailbox5, mailbox6, mailbox7,
                ]),
            };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::exchange::exchange::<$how>(&call) }
        }
    )*};
}
