//! The system's functions that kernels call: `vprintf`, and `__assertfail`.
//!
//! Each block's text is collected in the order in which its threads print: the warps in the order
//! of their turns, and the lanes of a warp in ascending order. The end of the launch writes the
//! texts of all blocks, in ascending order of the blocks.

mod format;
mod read;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::exec::env::Env;
use crate::exec::observer::{At, Observer};
use crate::exec::raised::LaneFault;
use crate::fault::FaultKind;
use crate::ir::{Assertion, Print, Slot};
use crate::registers::{Registers, lanes_of};
use read::Reader;

/// A launch keeps at most this many bytes of text. Later texts are dropped, and `printf` returns
/// -2 for them.
const MAX_TEXT: usize = 64 << 20;
const NO_FORMAT: i32 = -1;
const NO_ROOM: i32 = -2;

/// The text that the blocks of a launch have printed.
#[derive(Debug, Default)]
pub(crate) struct Printed(Mutex<Texts>);

#[derive(Debug, Default)]
struct Texts {
    bytes: usize,
    /// By the linear index of the block.
    of_blocks: BTreeMap<u64, Vec<u8>>,
}

impl Printed {
    /// Adds a text, and returns whether there was room for it.
    fn add(&self, block: u64, text: &[u8]) -> bool {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = texts.bytes + text.len() <= MAX_TEXT;
        if has_room {
            texts.bytes += text.len();
            texts.of_blocks.entry(block).or_default().extend_from_slice(text);
        }
        has_room
    }

    /// All texts, block after block.
    pub(crate) fn into_text(self) -> Vec<u8> {
        let texts = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        texts.of_blocks.into_values().flatten().collect()
    }
}

/// `vprintf` in the lanes of `mask` of a warp.
pub(crate) fn print<O: Observer>(
    print: &Print,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    env.acted = true;
    for lane in lanes_of(mask) {
        let [format, arguments] =
            [print.format, print.arguments].map(|r| registers.doubles[r as usize][lane]);
        let result = if format == 0 {
            NO_FORMAT
        } else {
            let mut reader = Reader::new(env, at.warp, lane);
            let fault = |kind| Box::new((lane as u32, kind));
            let format = reader.string(format).map_err(fault)?;
            let text = format::text(&format, arguments, &mut reader);
            let values = std::mem::take(&mut reader.values);
            for request in &values {
                observer.printed(env, at, request);
            }
            let (text, count) = text.map_err(fault)?;
            if env.job.printed.add(env.ticket, &text) { count } else { NO_ROOM }
        };
        if let Slot::Word(target) = print.target {
            registers.put_word(target, 1 << lane, result as u32);
        }
    }
    Ok(())
}

/// The fault of `__assertfail` in a lane. A text that cannot be read is left out.
pub(crate) fn assertion(
    assertion: &Assertion,
    env: &mut Env<'_>,
    registers: &Registers,
    warp: u32,
    lane: usize,
) -> FaultKind {
    let mut text = |register: u32| {
        let address = registers.doubles[register as usize][lane];
        let bytes = Reader::new(env, warp, lane).string(address).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let [condition, file, function] =
        [assertion.message, assertion.file, assertion.function].map(&mut text);
    let line = registers.words[assertion.line as usize][lane];
    FaultKind::Assertion { condition, file, line, function }
}
