//! Faults: the errors of a simulated kernel that stop its launch, and their places.

mod access;
mod kind;
mod source;
mod waiting;

use thiserror::Error;

pub use access::{Access, Nearest, Space};
pub use kind::FaultKind;
pub(crate) use source::SourceLines;
pub(crate) use waiting::Lanes;
pub use waiting::Waiting;

use crate::dim::Dim3;
use crate::ptx::ast::Frame;

/// A fault of a simulated kernel: the kind of the error, and its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "kernel `{kernel}`, block {block}, thread {thread}, {module}:{line} `{instruction}`: {kind}"
)]
#[non_exhaustive]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// The module's name, usually its file.
    pub module: String,
    /// The block of the thread.
    pub block: Dim3,
    /// The position of the thread in its block. If several threads faulted together, it is the
    /// first of them.
    pub thread: Dim3,
    /// The line of the PTX text, from 1.
    pub line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// The source lines from which the instruction was compiled, innermost first; empty if the PTX
    /// does not contain them.
    pub frames: Vec<Frame>,
    /// The reason for the fault.
    pub kind: FaultKind,
}

impl Fault {
    /// The fault in several lines, in the way in which compilers print errors: its class and one
    /// sentence, the place in the source and in the PTX, and some advice. The last line does not
    /// end with a newline.
    ///
    /// ```
    /// use simt::{Arg, LaunchConfig, Memory, Module, check};
    ///
    /// let module = Module::from_ptx(
    ///     "null.ptx",
    ///     ".version 7.0
    ///      .target sm_75
    ///      .address_size 64
    ///      .visible .entry null(.param .u64 data) {
    ///          .reg .b64 %rd<2>;
    ///          ld.param.u64 %rd1, [data];
    ///          st.global.u32 [%rd1], 1;
    ///          ret;
    ///      }",
    /// )?;
    /// let kernel = module.kernel("null").ok_or("no such kernel")?;
    /// let memory = Memory::new(1 << 20);
    /// let checked = check(kernel, &LaunchConfig::new(1, 1), &[Arg::Pointer(0)], &memory)?;
    /// let report = checked.fault.ok_or("no fault")?.report();
    /// let expected = "error[null-pointer]: thread (0,0,0) of block (0,0,0): write of 4 bytes";
    /// assert!(report.starts_with(expected));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn report(&self) -> String {
        let Fault { module, block, thread, line, instruction, frames, kind, .. } = self;
        let place = SourceLines { module, frames, line: *line, instruction };
        let text =
            format!("error[{}]: thread {thread} of block {block}: {kind}\n{place}", kind.name());
        match kind.help() {
            Some(help) => text + "help: " + help,
            None => text.trim_end().to_owned(),
        }
    }
}
