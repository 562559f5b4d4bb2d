//! What ranks tell rank 0, and what rank 0 makes of it.

use std::time::Duration;

use warpfold::{Item, Operation, Partial};

use crate::{
    error::Error,
    message::{Kind, Message},
};

/// The rank that puts the partial results together.
pub(crate) const ROOT: u32 = 0;

/// What a rank calls, as text. It has all that must be the same on each rank.
pub(crate) fn call<T: Item, O: Operation<T>>(operation: O) -> String {
    let constants: Vec<_> = operation.more().iter().map(|arg| format!(" {arg:?}")).collect();
    let (name, item, bytes) = (O::NAME, T::NAME, size_of::<O::Raw>());
    format!("{name}{} of {item}, in {bytes} bytes", constants.concat())
}

/// The message that holds a partial result.
pub(crate) fn message<T: Item, O: Operation<T>>(partial: &Partial<T, O>, call: String) -> Message {
    let raw = partial.raw();
    let payload = raw.as_ref().map_or(&[][..], bytemuck::bytes_of).to_vec();
    Message { kind: Kind::Result, of: 0, n: partial.n(), call, payload }
}

/// The partial result in a message. `None` if it has another length.
fn partial<T: Item, O: Operation<T>>(message: &Message) -> Option<Partial<T, O>> {
    let raw = match message.n {
        0 if message.payload.is_empty() => None,
        0 => return None,
        _ => Some(bytemuck::try_pod_read_unaligned(&message.payload).ok()?),
    };
    Some(Partial::from_raw(raw, message.n))
}

/// What rank 0 answers to the messages of all ranks, in their order. Its own is the first.
pub(crate) fn verdict<T: Item, O: Operation<T>>(messages: &[Vec<u8>], own: Message) -> Message {
    let mut whole = Partial::EMPTY;
    for (of, bytes) in (0..).zip(messages) {
        let wrong = |kind, payload| Message { kind, of, n: 0, payload, call: own.call.clone() };
        let Some(message) = Message::from_bytes(bytes) else {
            return wrong(Kind::NoMessage, Vec::new());
        };
        if message.call != own.call {
            return wrong(Kind::OtherCall, message.call.into_bytes());
        }
        if message.kind == Kind::Failed {
            return wrong(Kind::Failed, message.payload);
        }
        match partial::<T, O>(&message) {
            Some(partial) => whole = whole.append(partial),
            None => return wrong(Kind::NoMessage, Vec::new()),
        }
    }
    message(&whole, own.call)
}

/// The partial result of the whole array, which rank 0 has told.
pub(crate) fn whole<T: Item, O: Operation<T>>(verdict: &Message) -> Result<Partial<T, O>, Error> {
    let rank = verdict.of;
    match verdict.kind {
        Kind::Result => partial::<T, O>(verdict).ok_or(Error::Message { rank: ROOT }),
        Kind::Failed => Err(Error::Rank { rank, reason: verdict.text() }),
        Kind::OtherCall => {
            Err(Error::Calls { rank, theirs: verdict.text(), ours: verdict.call.clone() })
        }
        Kind::Missing => Err(Error::Missing { rank, waited: Duration::from_millis(verdict.n) }),
        Kind::NoMessage => Err(Error::Message { rank }),
    }
}
