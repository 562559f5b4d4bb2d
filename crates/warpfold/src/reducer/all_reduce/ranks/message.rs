//! What ranks tell each other in a step that all of them take.

use std::fmt::{self, Display};

use crate::{
    device::DeviceError,
    rendezvous::{Rendezvous, fields},
};

use super::{
    super::super::{Item, Operation},
    RankError,
};

/// The first bytes of each message: a name and a version.
const MARK: &[u8] = b"wf-rank1";

/// What a rank does with an operation, as text. It has all that must be the same on each rank.
/// `bytes` is the size of a raw result.
pub(super) fn call<T: Item, O: Operation<T>>(
    what: &str,
    operation: O,
    bytes: usize,
    rows: Option<u32>,
) -> String {
    let constants: Vec<_> = operation.more().iter().map(|arg| format!(" {arg:?}")).collect();
    let (name, item) = (O::NAME, T::NAME);
    let rows = rows.map_or_else(String::new, |rows| format!(", {rows} rows"));
    format!("{what}: {name}{} of {item}, in {bytes} bytes{rows}", constants.concat())
}

/// Tells the other ranks what this rank has to say in a step, or why it cannot take it, and returns
/// what all ranks say. If a rank takes another step or cannot take this one, all ranks get the same
/// error.
pub(super) fn together<R: Rendezvous + ?Sized>(
    meeting: &mut R,
    call: &str,
    own: Result<&[u8], &dyn Display>,
) -> Result<Vec<Vec<u8>>, RankError> {
    let reason = own.as_ref().err().map(ToString::to_string);
    let (kind, content) = match &reason {
        None => (&[0u8], own.unwrap_or_default()),
        Some(reason) => (&[1], reason.as_bytes()),
    };
    let message = fields::join([MARK, call.as_bytes(), kind, content]);
    let all = meeting.all_gather(&message)?;
    let mut ours = None;
    let mut contents = Vec::new();
    for (rank, message) in (0..).zip(&all) {
        let Some((call, content)) = read(message) else { return Err(RankError::Message { rank }) };
        let ours = ours.get_or_insert_with(|| call.clone());
        if *ours != call {
            return Err(RankError::Calls { rank, theirs: call, ours: ours.clone() });
        }
        contents.push(content.map_err(|reason| RankError::Rank { rank, reason })?);
    }
    Ok(contents)
}

/// The first rank that could not take a step.
#[derive(Debug)]
pub(super) struct Failed {
    rank: u32,
    reason: String,
    /// The error of this rank, if it is one of those that could not.
    own: Option<DeviceError>,
}

impl Failed {
    /// Of a step that a rank could not take. `own` is the error of this rank, if it has one.
    pub(super) fn on_a_rank<T>(outcome: Result<T, Self>, own: Option<DeviceError>) -> Self {
        let failed = outcome.err().expect("all ranks know that one of them has failed");
        Self { own, ..failed }
    }
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} has failed: {}", self.rank, self.reason)
    }
}

impl From<Failed> for RankError {
    fn from(Failed { rank, reason, own }: Failed) -> Self {
        // The error of this rank says more than what the others get to know.
        own.map_or(Self::Rank { rank, reason }, Self::from)
    }
}

/// As [`together`], for a step that may fail such that the ranks can go on in another way.
pub(super) fn outcomes<R: Rendezvous + ?Sized, E: Display>(
    meeting: &mut R,
    call: &str,
    own: Result<&[u8], &E>,
) -> Result<Result<Vec<Vec<u8>>, Failed>, RankError> {
    match together(meeting, call, own.map_err(|error| error as &dyn Display)) {
        Ok(all) => Ok(Ok(all)),
        Err(RankError::Rank { rank, reason }) => Ok(Err(Failed { rank, reason, own: None })),
        Err(error) => Err(error),
    }
}

/// The call of a message, and what its sender says, or why it cannot go on. `None` if the bytes are
/// no message.
fn read(message: &[u8]) -> Option<(String, Result<Vec<u8>, String>)> {
    let [MARK, call, kind, content] = fields::split(message)?[..] else { return None };
    let call = String::from_utf8(call.to_vec()).ok()?;
    let content = match kind {
        [0] => Ok(content.to_vec()),
        [1] => Err(String::from_utf8_lossy(content).into_owned()),
        _ => return None,
    };
    Some((call, content))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::RendezvousError;

    use super::*;

    /// A meeting with others who always say the same.
    struct Canned(Vec<Vec<u8>>);

    impl Rendezvous for Canned {
        fn rank(&self) -> u32 {
            0
        }

        fn ranks(&self) -> u32 {
            1 + self.0.len() as u32
        }

        fn timeout(&self) -> Duration {
            Duration::ZERO
        }

        fn all_gather(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RendezvousError> {
            let own = [bytes.to_vec()];
            Ok(own.into_iter().chain(self.0.iter().cloned()).collect())
        }
    }

    fn message(call: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        fields::join([MARK, call.as_bytes(), &[kind], content])
    }

    #[test]
    fn all_ranks_say_the_same_or_the_first_that_does_not_is_named() {
        let said = |others: &[Vec<u8>]| together(&mut Canned(others.to_vec()), "a", Ok(b"own"));
        assert_eq!(said(&[]).unwrap(), [b"own"]);
        let fine = message("a", 0, b"b");
        assert_eq!(said(&[fine.clone(), fine.clone()]).unwrap(), [&b"own"[..], b"b", b"b"]);
        let (other, failed) = (message("c", 0, b""), message("a", 1, b"why"));
        let error = said(&[fine.clone(), other.clone(), failed.clone()]).unwrap_err();
        assert_eq!(error.to_string(), "rank 2 calls 'c', and rank 0 'a'");
        let error = said(&[fine.clone(), failed, other]).unwrap_err();
        assert_eq!(error.to_string(), "rank 2 has failed: why");
        for wrong in [&b""[..], b"something", &fine[1..], &message("a", 2, b"")] {
            let error = said(&[fine.clone(), fine.clone(), wrong.to_vec()]).unwrap_err();
            assert!(matches!(error, RankError::Message { rank: 3 }), "{error}");
        }
        let failed = together(&mut Canned(vec![fine]), "a", Err(&"own reason")).unwrap_err();
        assert_eq!(failed.to_string(), "rank 0 has failed: own reason");
    }
}
