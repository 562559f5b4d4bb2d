//! Which transport the ranks use.

use std::{fs, sync::OnceLock};

use crate::{
    device::{Device, DeviceKind, nccl},
    rendezvous::{fields, unique},
};

use super::{super::call::MOST_DEVICES, RankError, RankTransport};

/// What a rank tells the others about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Card {
    /// Which machine it is on, if it can tell.
    pub(super) machine: Option<String>,
    /// A number that no other process has.
    pub(super) process: String,
    /// The identity of its GPU, if it has one.
    pub(super) gpu: Option<Vec<u8>>,
    /// The transport that it was told to use.
    pub(super) wanted: Option<RankTransport>,
    /// Why it has no NCCL.
    pub(super) no_nccl: Option<String>,
    /// How many multiprocessors its device has.
    pub(super) multiprocessors: u32,
}

const TRANSPORTS: [RankTransport; 3] =
    [RankTransport::Peers, RankTransport::Nccl, RankTransport::Host];

impl Card {
    pub(super) fn of(device: &Device, wanted: Option<RankTransport>) -> Self {
        static PROCESS: OnceLock<String> = OnceLock::new();
        let is_gpu = device.info().kind == DeviceKind::Cuda;
        Self {
            machine: machine(),
            process: PROCESS.get_or_init(unique).clone(),
            gpu: is_gpu.then(|| device.uuid()).flatten().map(Vec::from),
            wanted,
            no_nccl: nccl::unavailable(std::slice::from_ref(device)),
            multiprocessors: device.info().multiprocessors,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        fn field(text: Option<&[u8]>) -> Vec<u8> {
            text.map_or_else(Vec::new, |text| [&[1], text].concat())
        }
        let wanted = self.wanted.and_then(|wanted| TRANSPORTS.iter().position(|&t| t == wanted));
        let wanted = wanted.map_or(0xff, |wanted| wanted as u8);
        let machine = field(self.machine.as_ref().map(String::as_bytes));
        let no_nccl = field(self.no_nccl.as_ref().map(String::as_bytes));
        let gpu = field(self.gpu.as_deref());
        let multiprocessors = self.multiprocessors.to_le_bytes();
        let process = self.process.as_bytes();
        fields::join([&machine[..], process, &gpu, &[wanted], &no_nccl, &multiprocessors])
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        fn field(bytes: &[u8]) -> Option<Vec<u8>> {
            bytes.split_first().map(|(_, rest)| rest.to_vec())
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let [machine, process, gpu, &[wanted], no_nccl, multiprocessors] =
            fields::split(bytes)?[..]
        else {
            return None;
        };
        Some(Self {
            machine: field(machine).map(|machine| text(&machine)),
            process: text(process),
            gpu: field(gpu),
            wanted: match wanted {
                0xff => None,
                wanted => Some(*TRANSPORTS.get(usize::from(wanted))?),
            },
            no_nccl: field(no_nccl).map(|reason| text(&reason)),
            multiprocessors: u32::from_le_bytes(multiprocessors.try_into().ok()?),
        })
    }
}

/// The identity of this machine since its start, which its containers share.
fn machine() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The transport that all ranks were told to use.
pub(super) fn wanted(cards: &[Card]) -> Result<Option<RankTransport>, RankError> {
    let ours = cards[0].wanted;
    match (0..).zip(cards).find(|(_, card)| card.wanted != ours) {
        None => Ok(ours),
        Some((rank, card)) => Err(RankError::Transports { rank, theirs: card.wanted, ours }),
    }
}

/// Why the kernels cannot use the memory of the GPUs of other ranks. `None` if it can be tried.
pub(super) fn no_peers(cards: &[Card]) -> Option<String> {
    if cards.len() > MOST_DEVICES {
        return Some(format!("{} ranks are more than {MOST_DEVICES}", cards.len()));
    }
    let reason = no_kernels(cards);
    let reason = reason.or_else(|| match &cards[0].machine {
        None => Some("rank 0 cannot tell on which machine it is".to_owned()),
        machine => {
            let other = cards.iter().position(|card| card.machine != *machine)?;
            Some(format!("ranks 0 and {other} are on different machines"))
        }
    });
    reason.or_else(|| {
        let [first, second] = pair(cards, |card| &card.process)?;
        Some(format!("ranks {first} and {second} are in one process"))
    })
}

/// Why NCCL cannot gather results. `None` if it can be tried.
pub(super) fn no_nccl(cards: &[Card]) -> Option<String> {
    no_kernels(cards).or_else(|| {
        let mut lacking = cards.iter().enumerate();
        lacking.find_map(|(rank, card)| {
            card.no_nccl.as_ref().map(|reason| format!("rank {rank} has no NCCL, because {reason}"))
        })
    })
}

/// Why no kernel can combine the results of these ranks.
fn no_kernels(cards: &[Card]) -> Option<String> {
    if let Some(rank) = cards.iter().position(|card| card.gpu.is_none()) {
        return Some(format!("rank {rank} has no GPU that can be identified"));
    }
    let [first, second] = pair(cards, |card| (&card.machine, &card.gpu))?;
    Some(format!("ranks {first} and {second} have the same GPU"))
}

/// The first two ranks that have this in common.
fn pair<'a, T: PartialEq>(cards: &'a [Card], what: impl Fn(&'a Card) -> T) -> Option<[usize; 2]> {
    cards.iter().enumerate().find_map(|(second, card)| {
        let first = cards[..second].iter().position(|other| what(other) == what(card))?;
        Some([first, second])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(machine: &str, process: u8, gpu: u8) -> Card {
        Card {
            machine: Some(machine.to_owned()),
            process: process.to_string(),
            gpu: Some(vec![gpu; 16]),
            wanted: None,
            no_nccl: None,
            multiprocessors: 132,
        }
    }

    #[test]
    fn cards_are_read_as_they_were_written() {
        let whole = card("m", 1, 2);
        for card in [
            Card { wanted: Some(RankTransport::Host), ..whole.clone() },
            Card { wanted: Some(RankTransport::Nccl), machine: None, ..whole.clone() },
            Card { gpu: None, no_nccl: Some(String::new()), ..whole.clone() },
            whole,
        ] {
            let bytes = card.to_bytes();
            assert_eq!(Card::from_bytes(&bytes), Some(card));
            assert!((0..bytes.len()).all(|len| Card::from_bytes(&bytes[..len]).is_none()));
        }
    }

    #[test]
    fn gpus_of_one_machine_are_peers_and_others_have_nccl() {
        let near: Vec<_> = (0..8).map(|rank| card("m", rank, rank)).collect();
        assert_eq!((no_peers(&near), no_nccl(&near)), (None, None));
        let has = |reason: Option<String>, text: &str| {
            let reason = reason.expect("it is refused");
            assert!(reason.contains(text), "{reason}");
        };
        let changed = |rank: usize, card: Card| {
            let mut cards = near.clone();
            cards[rank] = card;
            cards
        };
        let far = changed(3, card("other", 3, 3));
        has(no_peers(&far), "ranks 0 and 3 are on different machines");
        assert_eq!(no_nccl(&far), None);
        let unknown: Vec<_> = near.iter().map(|c| Card { machine: None, ..c.clone() }).collect();
        has(no_peers(&unknown), "rank 0 cannot tell");
        let threads = changed(5, card("m", 2, 5));
        has(no_peers(&threads), "ranks 2 and 5 are in one process");
        assert_eq!(no_nccl(&threads), None);
        let shared = changed(7, card("m", 7, 1));
        for reason in [no_peers(&shared), no_nccl(&shared)] {
            has(reason, "ranks 1 and 7 have the same GPU");
        }
        let simulated = changed(1, Card { gpu: None, ..card("m", 1, 1) });
        for reason in [no_peers(&simulated), no_nccl(&simulated)] {
            has(reason, "rank 1 has no GPU");
        }
        let lacking =
            changed(2, Card { no_nccl: Some("it is not there".into()), ..near[2].clone() });
        assert_eq!(no_peers(&lacking), None);
        has(no_nccl(&lacking), "rank 2 has no NCCL, because it is not there");
        let many: Vec<_> = (0..9).map(|rank| card("m", rank, rank)).collect();
        has(no_peers(&many), "9 ranks are more than 8");
        assert_eq!(no_nccl(&many), None);
    }

    #[test]
    fn all_ranks_want_the_same_transport() {
        let card = |wanted| Card { wanted, ..card("m", 0, 0) };
        let host = Some(RankTransport::Host);
        assert_eq!(wanted(&[card(host), card(host)]).unwrap(), host);
        assert_eq!(wanted(&[card(None)]).unwrap(), None);
        let error = wanted(&[card(host), card(host), card(None)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 2 wants any transport, and rank 0 wants the host: all ranks need the same \
             transport"
        );
    }
}
