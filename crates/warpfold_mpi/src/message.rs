//! What ranks send each other, as bytes.
//!
//! A message is a [`Header`], the text of the call, and a payload: the raw result, or the text of
//! an error.

use bytemuck::{Pod, Zeroable};

/// The first 8 bytes of each message: a name and a version. In another byte order they are another
/// number.
const MARK: u64 = u64::from_be_bytes(*b"wf-mpi 1");

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The payload is the raw result of `n` elements, or nothing if there are none.
    Result,
    /// The sender, or the rank `of`, has failed. The payload is the reason.
    Failed,
    /// The rank `of` calls what the payload says. Sent by rank 0, which calls what the call says.
    OtherCall,
    /// The rank `of` did not come within `n` milliseconds.
    Missing,
    /// The rank `of` has sent something else than a message.
    NoMessage,
    /// The payload is what a rank sends to all, or what rank 0 has got from all.
    Bytes,
}

const KINDS: [Kind; 6] =
    [Kind::Result, Kind::Failed, Kind::OtherCall, Kind::Missing, Kind::NoMessage, Kind::Bytes];

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    mark: u64,
    n: u64,
    kind: u32,
    of: u32,
    call_bytes: u64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) of: u32,
    pub(crate) n: u64,
    /// What the sender calls.
    pub(crate) call: String,
    pub(crate) payload: Vec<u8>,
}

impl Message {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let header = Header {
            mark: MARK,
            n: self.n,
            kind: KINDS.iter().position(|&kind| kind == self.kind).unwrap_or_default() as u32,
            of: self.of,
            call_bytes: self.call.len() as u64,
        };
        [bytemuck::bytes_of(&header), self.call.as_bytes(), &self.payload].concat()
    }

    /// `None` if the bytes are no message.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(size_of::<Header>())?;
        let header: Header = bytemuck::pod_read_unaligned(header);
        if header.mark != MARK {
            return None;
        }
        let (call, payload) = rest.split_at_checked(header.call_bytes.try_into().ok()?)?;
        Some(Self {
            kind: *KINDS.get(header.kind as usize)?,
            of: header.of,
            n: header.n,
            call: String::from_utf8(call.to_vec()).ok()?,
            payload: payload.to_vec(),
        })
    }

    /// The payload as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.payload).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for (kind, call, payload) in [
            (Kind::Result, "sum of f32", &[1, 2, 3][..]),
            (Kind::Result, "", &[]),
            (Kind::Failed, "sum of f32", "a reason".as_bytes()),
            (Kind::OtherCall, "a", b"b"),
            (Kind::Missing, "\u{e4}", &[]),
            (Kind::NoMessage, "a", &[]),
            (Kind::Bytes, "all_gather", &[7]),
        ] {
            let message =
                Message { kind, of: 7, n: u64::MAX, call: call.into(), payload: payload.to_vec() };
            let bytes = message.to_bytes();
            assert_eq!(Message::from_bytes(&bytes), Some(message));
            // Without its end it is another message or none, and never a panic.
            for len in 0..bytes.len() {
                if let Some(other) = Message::from_bytes(&bytes[..len]) {
                    assert!(other.payload.len() < payload.len());
                }
            }
        }
    }

    #[test]
    fn other_bytes_are_no_message() {
        let message =
            Message { kind: Kind::Result, of: 0, n: 1, call: "sum".into(), payload: vec![] };
        let bytes = message.to_bytes();
        let changed = |at: usize, to: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = to;
            Message::from_bytes(&bytes)
        };
        assert_eq!(changed(0, 0), None, "the mark");
        assert_eq!(changed(16, 6), None, "the kind");
        assert_eq!(changed(31, 1), None, "the length of the call");
        assert_eq!(changed(32, 0xff), None, "the call is UTF-8");
        assert_eq!(Message::from_bytes(&[]), None);
        let swapped: Vec<_> = bytes[..8].iter().rev().chain(&bytes[8..]).copied().collect();
        assert_eq!(Message::from_bytes(&swapped), None, "the byte order");
    }
}
