//! Texts and values behind generic addresses, as one lane sees them.

use crate::exec::access::Request;
use crate::exec::address::Position;
use crate::exec::env::Env;
use crate::exec::memory;
use crate::fault::{Access, FaultKind, Space as Memory};
use crate::ir::Space;
use crate::registers::LANES;

/// A text has at most this many bytes before the byte that ends it.
const MAX_STRING: usize = 1 << 20;

/// Reads memory for a lane of a warp of the block of `env`.
pub(super) struct Reader<'a, 'b> {
    pub(super) env: &'a mut Env<'b>,
    pub(super) warp: u32,
    pub(super) lane: usize,
    /// The values that were read.
    pub(super) values: Vec<Request>,
}

impl<'a, 'b> Reader<'a, 'b> {
    pub(super) fn new(env: &'a mut Env<'b>, warp: u32, lane: usize) -> Reader<'a, 'b> {
        Reader { env, warp, lane, values: Vec::new() }
    }

    fn byte(&mut self, address: u64) -> Result<u8, FaultKind> {
        let access = Access::Read;
        let (position, offset) = Position::of(Space::Generic, address, self.env.rank);
        let outside = |space| FaultKind::OutOfBounds {
            space,
            access,
            bytes: 1,
            address: offset,
            nearest: None,
        };
        let at = offset as usize;
        match position {
            Position::Global => {
                let view = &self.env.job.memory;
                match view.find(address, 1, &mut self.env.hint) {
                    Some(found) => {
                        Ok(memory::load(&found.words, (address - found.base) as usize, 1) as u8)
                    }
                    None => Err(view.explain(access, address, 1)),
                }
            }
            Position::Shared(peer) => {
                if let Some(kind) = peer.and_then(|rank| self.env.refuses_peer(rank)) {
                    return Err(kind);
                }
                let byte = self.env.shared_of(peer).get(at);
                byte.copied().ok_or_else(|| outside(Memory::Shared))
            }
            Position::Local => {
                let (size, stride) = (self.env.program.local, self.env.program.local_stride());
                let start = (self.warp as usize * LANES + self.lane) * stride;
                let inside = offset < u64::from(size);
                let byte = inside.then(|| self.env.local[start + at]);
                byte.ok_or_else(|| outside(Memory::Local))
            }
            Position::Param => {
                self.env.job.params.get(at).copied().ok_or_else(|| outside(Memory::Param))
            }
        }
    }

    /// The bytes at an address, up to the next zero.
    pub(super) fn string(&mut self, address: u64) -> Result<Vec<u8>, FaultKind> {
        let mut bytes = Vec::new();
        for at in 0..MAX_STRING as u64 {
            match self.byte(address.wrapping_add(at))? {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(bytes)
    }

    /// A value of `width` bytes, zero-extended.
    pub(super) fn value(&mut self, address: u64, width: u64) -> Result<u64, FaultKind> {
        let value = (0..width).try_fold(0, |value, at| {
            Ok(value | u64::from(self.byte(address.wrapping_add(at))?) << (8 * at))
        })?;
        let (position, offset) = Position::of(Space::Generic, address, self.env.rank);
        self.values.push(Request {
            access: Access::Read,
            space: position.space(),
            addresses: [offset; LANES],
            mask: 1 << self.lane,
            total: width,
            peer: if let Position::Shared(peer) = position { peer } else { None },
        });
        Ok(value)
    }
}
