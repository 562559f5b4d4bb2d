//! What ranks send each other, as bytes.

use std::time::Duration;

use super::RendezvousError;

/// The first 8 bytes of each frame: a name and a version. In another byte order they are another
/// number.
const MARK: u64 = u64::from_be_bytes(*b"wf-meet1");

/// How many bytes a frame has before its payload.
pub(super) const HEADER: usize = 32;

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The payload is what a rank sends, or what rank 0 answers to all.
    Data,
    /// The sender is rank `of`, and expects `n` ranks.
    Hello,
    /// Rank `of` did not come within `n` milliseconds.
    Missing,
    /// Rank `of` has left.
    Closed,
    /// Rank `of` has come twice.
    Twice,
    /// Rank `of` expects as many ranks as the upper half of `n` says, and rank 0 as many as the
    /// lower half says.
    Counts,
    /// What the payload names has sent something else than a frame.
    Foreign,
}

const KINDS: [Kind; 7] = [
    Kind::Data,
    Kind::Hello,
    Kind::Missing,
    Kind::Closed,
    Kind::Twice,
    Kind::Counts,
    Kind::Foreign,
];

/// What a rank sends at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) of: u32,
    pub(super) n: u64,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    pub(super) fn data(payload: Vec<u8>) -> Self {
        Self { kind: Kind::Data, of: 0, n: 0, payload }
    }

    pub(super) fn hello(rank: u32, ranks: u32) -> Self {
        Self { kind: Kind::Hello, of: rank, n: ranks.into(), payload: Vec::new() }
    }

    /// The frame by which rank 0 tells an error to the other ranks.
    pub(super) fn error(error: &RendezvousError) -> Self {
        let frame = |kind, of, n| Self { kind, of, n, payload: Vec::new() };
        match *error {
            RendezvousError::Missing { rank, waited } => {
                frame(Kind::Missing, rank, waited.as_millis() as u64)
            }
            RendezvousError::Closed { rank } => frame(Kind::Closed, rank, 0),
            RendezvousError::Twice { rank } => frame(Kind::Twice, rank, 0),
            RendezvousError::Counts { rank, theirs, ours } => {
                frame(Kind::Counts, rank, u64::from(theirs) << 32 | u64::from(ours))
            }
            RendezvousError::Foreign { ref from } => {
                Self { payload: from.clone().into_bytes(), ..frame(Kind::Foreign, 0, 0) }
            }
            // What else can go wrong lies with rank 0 alone.
            _ => frame(Kind::Closed, 0, 0),
        }
    }

    /// What rank 0 has sent to all: its data, or an error.
    pub(super) fn verdict(self) -> Result<Vec<u8>, RendezvousError> {
        let (rank, n) = (self.of, self.n);
        Err(match self.kind {
            Kind::Data => return Ok(self.payload),
            Kind::Hello => RendezvousError::Foreign { from: "rank 0".to_owned() },
            Kind::Missing => RendezvousError::Missing { rank, waited: Duration::from_millis(n) },
            Kind::Closed => RendezvousError::Closed { rank },
            Kind::Twice => RendezvousError::Twice { rank },
            Kind::Counts => {
                RendezvousError::Counts { rank, theirs: (n >> 32) as u32, ours: n as u32 }
            }
            Kind::Foreign => {
                let from = String::from_utf8_lossy(&self.payload).into_owned();
                RendezvousError::Foreign { from }
            }
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let kind = KINDS.iter().position(|&kind| kind == self.kind).unwrap_or_default() as u32;
        let mut bytes = Vec::with_capacity(HEADER + self.payload.len());
        bytes.extend_from_slice(&MARK.to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&self.of.to_ne_bytes());
        bytes.extend_from_slice(&self.n.to_ne_bytes());
        bytes.extend_from_slice(&(self.payload.len() as u64).to_ne_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// A frame whose payload is still to be read, and the length of the payload. `None` if these
    /// bytes are not the beginning of a frame.
    pub(super) fn begin(header: &[u8; HEADER]) -> Option<(Self, u64)> {
        let word = |at: usize| {
            let bytes: [u8; 8] = header[at..at + 8].try_into().expect("8 bytes");
            u64::from_ne_bytes(bytes)
        };
        let half = |at: usize| {
            let bytes: [u8; 4] = header[at..at + 4].try_into().expect("4 bytes");
            u32::from_ne_bytes(bytes)
        };
        if word(0) != MARK {
            return None;
        }
        let kind = *KINDS.get(half(8) as usize)?;
        Some((Self { kind, of: half(12), n: word(16), payload: Vec::new() }, word(24)))
    }

    /// `None` if the bytes are no frame.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (header, payload) = bytes.split_first_chunk()?;
        let (frame, len) = Self::begin(header)?;
        (len == payload.len() as u64).then(|| Self { payload: payload.to_vec(), ..frame })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        for kind in KINDS {
            for payload in [&b""[..], b"some bytes"] {
                let frame = Frame { kind, of: 7, n: u64::MAX - 3, payload: payload.to_vec() };
                let bytes = frame.to_bytes();
                assert_eq!(Frame::from_bytes(&bytes), Some(frame));
                assert!((0..bytes.len()).all(|len| Frame::from_bytes(&bytes[..len]).is_none()));
            }
        }
        let bytes = Frame::hello(1, 2).to_bytes();
        for (at, what) in [(0, "the mark"), (8, "the kind"), (24, "the length")] {
            let mut changed = bytes.clone();
            changed[at] ^= 0x80;
            assert_eq!(Frame::from_bytes(&changed), None, "{what}");
        }
    }

    #[test]
    fn errors_are_told_as_they_are() {
        let waited = Duration::from_millis(1500);
        for error in [
            RendezvousError::Missing { rank: 3, waited },
            RendezvousError::Closed { rank: 1 },
            RendezvousError::Twice { rank: 2 },
            RendezvousError::Counts { rank: 2, theirs: 5, ours: 4 },
            RendezvousError::Foreign { from: "somebody".to_owned() },
        ] {
            let told = Frame::error(&error).verdict().unwrap_err();
            assert_eq!(format!("{told:?}"), format!("{error:?}"));
        }
        assert_eq!(Frame::data(vec![1, 2]).verdict().unwrap(), [1, 2]);
        assert!(Frame::hello(0, 1).verdict().is_err());
    }
}
