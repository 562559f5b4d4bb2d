//! The macros that stamp out the kernels which sum marked rows and segments anew.

/// Stamps out kernels that sum the rows anew that a kernel of
/// [`ExactSum`](crate::exact::short::ExactSum) has marked ([`repair`](mod@crate::exact::repair)).
///
/// Each line is `name: element => type of the rounded sum, limbs;`.
///
/// ```
/// use warpfold_device::exact::WIDE_LIMBS;
///
/// warpfold_device::repair_rows! {
///     repaired_rows_f64: f64 => f64, WIDE_LIMBS;
/// }
/// ```
#[macro_export]
macro_rules! repair_rows {
    ($($name:ident: $t:ty => $value:ty, $limbs:ident;)*) => {$(
        #[doc = concat!("The exact sums of marked rows of [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch keeps
        /// [its contract](mod@warpfold_device::exact::repair#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $value,
            slots: *mut u64,
            first: u64,
            rows: u64,
            length: u64,
            keeps_note: u32,
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
                Dim { size: size8, stride: stride8 },
            ];
            let rows =
                $crate::exact::repair::Rows { input, first, rows, length, kept, reduced, dims };
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::exact::repair::repair::<_, $limbs>(rows, output, slots, keeps_note != 0)
            }
        }
    )*};
}

/// Stamps out kernels that sum the segments anew that a kernel of
/// [`ExactSum`](crate::exact::short::ExactSum) has marked ([`repair`](mod@crate::exact::repair)).
///
/// Each line is `name: element => type of the rounded sum, limbs;`.
///
/// ```
/// use warpfold_device::exact::WIDE_LIMBS;
///
/// warpfold_device::repair_segments! {
///     repaired_segments_f64: f64 => f64, WIDE_LIMBS;
/// }
/// ```
#[macro_export]
macro_rules! repair_segments {
    ($($name:ident: $t:ty => $value:ty, $limbs:ident;)*) => {$(
        #[doc = concat!("The exact sums of marked segments of [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch keeps
        /// [its contract](mod@warpfold_device::exact::repair#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            output: *mut $value,
            slots: *mut u64,
            boundaries: *const u32,
            count: u64,
            counted: *const u64,
            elements: u64,
            log: u32,
            begins: *const u32,
            begin_log: u32,
        ) {
            let segments = $crate::exact::repair::Segments {
                input, boundaries, log, count, counted, elements, begins, begin_log,
            };
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::exact::repair::repair::<_, $limbs>(segments, output, slots, false) }
        }
    )*};
}
