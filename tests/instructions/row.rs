//! One form of an instruction, and the PTX around it.

use std::fmt::Write as _;

use crate::operands::{Kind, Tuple};

/// Computes the expected result of a thread from the operands of all threads and the thread's
/// index.
pub(crate) type Expect = Box<dyn Fn(&[Tuple], usize) -> u64>;

/// Tells whether an approximate result is as close as the ISA promises.
pub(crate) type Within = Box<dyn Fn(&Tuple, u64) -> bool>;

/// One form of an instruction.
///
/// `text` reads the operands by their names and writes `d`. It may use
/// - the registers `h0..1` (16 bits), `t0..3` (32), `w0..3` (64), and the predicates `p` and `q`;
/// - `thread`, the thread's index in the launch;
/// - global memory, which is zero at the start. At `own` are sixteen bytes for this thread alone:
///   at the end `d` overwrites their first half, and their second half is at `slot`. At `common`
///   are 64 bytes for all threads;
/// - the variables `buffer` (shared, 2048 bytes), `stack` (local, 64 bytes) and `table` (constant,
///   the 32-bit numbers 1000 to 1015);
/// - the function `thrice`, which takes and returns 32 bits.
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) operands: Vec<(&'static str, Kind)>,
    pub(crate) result: Kind,
    pub(crate) expect: Option<Expect>,
    /// The check for approximations, which replaces `expect`.
    pub(crate) within: Option<Within>,
    /// Whether the results may be permuted among the threads.
    pub(crate) unordered: bool,
    /// Whether NaNs must agree bit for bit.
    pub(crate) canonical_nan: bool,
    /// Whether the second operand is a divisor, so that its zeros are replaced.
    pub(crate) divides: bool,
    /// The lowest compute capability that has the instruction.
    pub(crate) target: (u32, u32),
}

impl Row {
    pub(crate) fn new(
        text: impl Into<String>,
        operands: Vec<(&'static str, Kind)>,
        result: Kind,
        expect: Option<Expect>,
    ) -> Self {
        Self {
            text: text.into(),
            operands,
            result,
            expect,
            within: None,
            unordered: false,
            canonical_nan: false,
            divides: false,
            target: (7, 5),
        }
    }

    /// The same row with a second operand that is never 0, because it is a divisor.
    pub(crate) fn divides(self) -> Self {
        Self { divides: true, ..self }
    }

    pub(crate) fn unordered(self) -> Self {
        Self { unordered: true, ..self }
    }

    pub(crate) fn canonical_nan(self) -> Self {
        Self { canonical_nan: true, ..self }
    }

    pub(crate) fn sm_80(self) -> Self {
        Self { target: (8, 0), ..self }
    }

    pub(crate) fn sm_90(self) -> Self {
        Self { target: (9, 0), ..self }
    }

    pub(crate) fn within(self, within: impl Fn(&Tuple, u64) -> bool + 'static) -> Self {
        Self { within: Some(Box::new(within)), ..self }
    }

    /// Whether two results are the same, as far as the ISA defines them.
    pub(crate) fn same(&self, one: u64, other: u64) -> bool {
        one == other || (!self.canonical_nan && self.result.agrees_but_for_nan(one, other))
    }

    /// Whether a result is right for these operands.
    pub(crate) fn accepts(&self, operands: &Tuple, expected: Option<u64>, result: u64) -> bool {
        expected.is_none_or(|expected| self.same(expected, result))
            && self.within.as_ref().is_none_or(|within| within(operands, result))
    }
}

/// Makes a row from its text, its typed operands, the type of the result and, after `=`, the
/// expected result.
macro_rules! row {
    ($text:expr, ($($arg:ident: $ty:ty),*) -> $result:ty) => {
        $crate::row::Row::new(
            $text,
            vec![$((stringify!($arg), <$ty as $crate::operands::Operand>::KIND)),*],
            <$result as $crate::operands::Operand>::KIND,
            None,
        )
    };
    ($text:expr, ($($arg:ident: $ty:ty),*) -> $result:ty = $body:expr) => {
        row!($text, ($($arg: $ty),*) -> $result, |inputs, thread| {
            // A row may have no operands, or operands that do not affect the result.
            #[allow(unused_mut)]
            let mut values = inputs[thread].iter();
            $(#[allow(unused_variables)] let $arg = <$ty as $crate::operands::Operand>::from_word(*values.next().unwrap());)*
            let _ = values;
            $body
        })
    };
    ($text:expr, ($($arg:ident: $ty:ty),*) -> $result:ty, |$inputs:ident, $thread:ident| $body:expr) => {
        $crate::row::Row {
            expect: Some(Box::new(move |$inputs: &[$crate::operands::Tuple], $thread: usize| {
                let result: $result = $body;
                $crate::operands::Operand::to_word(result)
            })),
            ..row!($text, ($($arg: $ty),*) -> $result)
        }
    };
}

pub(crate) use row;

/// A function for rows to call.
const THRICE: &str = "\
.func (.param .b32 result) thrice(.param .b32 value)
{
    .reg .b32 a;
    ld.param.b32 a, [value];
    mul.lo.u32 a, a, 3;
    st.param.b32 [result], a;
    ret;
}

";

/// The PTX of rows that have the same target: the kernels `row0`, `row1`, ...
pub(crate) fn module(rows: &[Row]) -> String {
    let (major, minor) = rows[0].target;
    let version = if major == 9 { "7.8" } else { "7.6" };
    let mut text = format!(".version {version}\n.target sm_{major}{minor}\n.address_size 64\n\n");
    if rows.iter().any(|row| row.text.contains("table")) {
        let numbers: Vec<String> = (1000..1016).map(|number| number.to_string()).collect();
        writeln!(text, ".const .align 16 .b32 table[16] = {{{}}};\n", numbers.join(", ")).unwrap();
    }
    if rows.iter().any(|row| row.text.contains("thrice")) {
        text.push_str(THRICE);
    }
    for (index, row) in rows.iter().enumerate() {
        kernel(&mut text, index, row).unwrap();
    }
    text
}

fn kernel(text: &mut String, index: usize, row: &Row) -> std::fmt::Result {
    write!(
        text,
        "\
.visible .entry row{index}(.param .u64 input, .param .u64 output, .param .u64 shared_by_all)
{{
    .reg .pred p, q;
    .reg .b16 h<2>;
    .reg .b32 t<4>, block, size, thread;
    .reg .b64 w<4>, own, slot, common;
    .reg .b{} d;
",
        row.result.register()
    )?;
    for (name, kind) in &row.operands {
        writeln!(text, "    .reg .b{} {name};", kind.register())?;
    }
    for (name, space, bytes) in [("buffer", "shared", 2048), ("stack", "local", 64)] {
        if row.text.contains(name) {
            writeln!(text, "    .{space} .align 16 .b8 {name}[{bytes}];")?;
        }
    }
    text.push_str(
        "
    mov.u32 block, %ctaid.x;
    mov.u32 size, %ntid.x;
    mov.u32 thread, %tid.x;
    mad.lo.u32 thread, block, size, thread;
    ld.param.u64 own, [input];
    cvta.to.global.u64 own, own;
    mad.wide.u32 own, thread, 32, own;
",
    );
    for (place, (name, kind)) in row.operands.iter().enumerate() {
        writeln!(text, "    ld.global.b{} {name}, [own+{}];", kind.register(), 8 * place)?;
    }
    let bits = row.result.register();
    write!(
        text,
        "    ld.param.u64 own, [output];
    cvta.to.global.u64 own, own;
    mad.wide.u32 own, thread, 16, own;
    add.u64 slot, own, 8;
    ld.param.u64 common, [shared_by_all];
    cvta.to.global.u64 common, common;

    {}

    st.global.b{bits} [own], d;
    ret;
}}

",
        row.text
    )
}
