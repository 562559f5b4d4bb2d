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

/// The messages of all ranks, or what rank 0 answers if one of them is not as it must be.
fn read(messages: &[Vec<u8>], own: &Message) -> Result<Vec<Message>, Message> {
    let read = |(of, bytes): (u32, &Vec<u8>)| {
        let wrong = |kind, payload| Err(wrong(kind, of, payload, own));
        match Message::from_bytes(bytes) {
            None => wrong(Kind::NoMessage, Vec::new()),
            Some(message) if message.call != own.call => {
                wrong(Kind::OtherCall, message.call.into_bytes())
            }
            Some(message) if message.kind == Kind::Failed => wrong(Kind::Failed, message.payload),
            Some(message) => Ok(message),
        }
    };
    (0..).zip(messages).map(read).collect()
}

/// What rank 0 answers if the message of rank `of` is not as it must be.
fn wrong(kind: Kind, of: u32, payload: Vec<u8>, own: &Message) -> Message {
    Message { kind, of, n: 0, payload, call: own.call.clone() }
}

/// What rank 0 answers to the messages of all ranks, in their order. Its own is the first.
pub(crate) fn verdict<T: Item, O: Operation<T>>(messages: &[Vec<u8>], own: Message) -> Message {
    let messages = match read(messages, &own) {
        Ok(messages) => messages,
        Err(verdict) => return verdict,
    };
    let mut whole = Partial::EMPTY;
    for (of, message) in (0..).zip(&messages) {
        match partial::<T, O>(message) {
            Some(partial) => whole = whole.append(partial),
            None => return wrong(Kind::NoMessage, of, Vec::new(), &own),
        }
    }
    message(&whole, own.call)
}

/// What rank 0 answers to ranks that send bytes: those of all ranks, each behind their number.
pub(crate) fn gathered(messages: &[Vec<u8>], own: Message) -> Message {
    match read(messages, &own) {
        Err(verdict) => verdict,
        Ok(messages) => {
            let mut payload = Vec::new();
            for Message { payload: bytes, .. } in &messages {
                payload.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                payload.extend_from_slice(bytes);
            }
            Message { kind: Kind::Bytes, payload, ..own }
        }
    }
}

/// The bytes of all ranks, which rank 0 has told.
pub(crate) fn all_bytes(verdict: &Message, ranks: u32) -> Result<Vec<Vec<u8>>, Error> {
    if let Some(error) = error(verdict) {
        return Err(error);
    }
    let next = |rest: &mut &[u8]| {
        let (len, after) = rest.split_first_chunk()?;
        let (bytes, after) = after.split_at_checked(u64::from_le_bytes(*len).try_into().ok()?)?;
        *rest = after;
        Some(bytes.to_vec())
    };
    let mut rest = &verdict.payload[..];
    let all: Option<Vec<_>> = (0..ranks).map(|_| next(&mut rest)).collect();
    let is_whole = verdict.kind == Kind::Bytes && rest.is_empty();
    all.filter(|_| is_whole).ok_or(Error::Message { rank: ROOT })
}

/// The partial result of the whole array, which rank 0 has told.
pub(crate) fn whole<T: Item, O: Operation<T>>(verdict: &Message) -> Result<Partial<T, O>, Error> {
    match error(verdict) {
        Some(error) => Err(error),
        None if verdict.kind != Kind::Result => Err(Error::Message { rank: ROOT }),
        None => partial::<T, O>(verdict).ok_or(Error::Message { rank: ROOT }),
    }
}

/// The error that rank 0 has told, if it is one.
fn error(verdict: &Message) -> Option<Error> {
    let rank = verdict.of;
    Some(match verdict.kind {
        Kind::Result | Kind::Bytes => return None,
        Kind::Failed => Error::Rank { rank, reason: verdict.text() },
        Kind::OtherCall => {
            Error::Calls { rank, theirs: verdict.text(), ours: verdict.call.clone() }
        }
        Kind::Missing => Error::Missing { rank, waited: Duration::from_millis(verdict.n) },
        Kind::NoMessage => Error::Message { rank },
    })
}
