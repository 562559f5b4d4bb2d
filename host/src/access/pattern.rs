//! The patterns: their names, slides and ranges.

use std::{fmt, str::FromStr};

/// A pattern of access or of instructions. It shows one slide of the lecture, or a few slides on
/// the same subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Neighbouring words that do not begin at an aligned address.
    Offset,
    /// Words with gaps between them.
    Stride,
    /// Neighbouring words in another order.
    Permuted,
    /// Accesses of 4, 8 or 16 bytes by each thread.
    Width,
    /// Words of shared memory with gaps between them.
    SharedStride,
    /// Neighbouring words of shared memory from an offset on.
    SharedOffset,
    /// Threads that read the same word of shared memory.
    Broadcast,
    /// Constant memory.
    Constant,
    /// Integer division.
    Divide,
    /// Unrolled loops.
    Unroll,
    /// Fast and precise functions.
    Math,
    /// Copies between host and GPU.
    Transfer,
}

/// The facts of a pattern.
struct Facts {
    name: &'static str,
    slide: &'static str,
    about: &'static str,
    /// The first and the last value of the parameter that are shown, and the greatest value that
    /// can be requested. The first value is also the least.
    sweep: Option<(u32, u32, u32)>,
}

impl Pattern {
    /// All patterns, in the lecture's order.
    pub const ALL: [Self; 12] = [
        Self::Offset,
        Self::Stride,
        Self::Permuted,
        Self::Width,
        Self::SharedStride,
        Self::SharedOffset,
        Self::Broadcast,
        Self::Transfer,
        Self::Constant,
        Self::Divide,
        Self::Math,
        Self::Unroll,
    ];

    const fn facts(self) -> Facts {
        match self {
            Self::Offset => Facts {
                name: "offset",
                slide: "Nezarovnaný přístup do paměti; Výkon při nezarovnaném přístupu (unaligned access)",
                about: "read and copy words of global memory that begin 0 to 32 words after an aligned address",
                sweep: Some((0, 32, 1024)),
            },
            Self::Stride => Facts {
                name: "stride",
                slide: "Výkon při prokládaném přístupu (strided access)",
                about: "read and copy words of global memory that lie 1 to 64 words apart",
                sweep: Some((1, 64, 1024)),
            },
            Self::Permuted => Facts {
                name: "permuted",
                slide: "Spojitý přístup do paměti (coalesced access): any order of the threads",
                about: "read and copy words of global memory in several orders of the lanes of a warp",
                sweep: None,
            },
            Self::Width => Facts {
                name: "width",
                slide: "Spojitý přístup do paměti (coalesced access): 32, 64 or 128 bytes in a transfer",
                about: "read and copy 4, 8 and 16 bytes of global memory with each access of a thread",
                sweep: None,
            },
            Self::SharedStride => Facts {
                name: "shared-stride",
                slide: "Konflikty bank; Vzory přístupu (bank conflicts): s[threadIdx.x * c]",
                about: "read words of shared memory that lie 1 to 33 words apart",
                sweep: Some((1, 33, 40)),
            },
            Self::SharedOffset => Facts {
                name: "shared-offset",
                slide: "Vzory přístupu (patterns of access): s[threadIdx.x + offset]",
                about: "read adjacent words of shared memory, beginning at word 0 to 32",
                sweep: Some((0, 32, 1024)),
            },
            Self::Broadcast => Facts {
                name: "broadcast",
                slide: "Broadcast; Vzory přístupu (patterns of access): s[threadIdx.x / c]",
                about: "read each word of shared memory with 1 to 256 threads",
                sweep: None,
            },
            Self::Transfer => Facts {
                name: "transfer",
                slide: "Přenosy mezi systémovou a grafickou pamětí (transfers): page-locked memory, overlap",
                about: "copy between host and GPU, with pageable and page-locked memory, and during computation; needs a GPU",
                sweep: None,
            },
            Self::Constant => Facts {
                name: "constant",
                slide: "Paměť konstant (constant memory)",
                about: "read constant memory at 1 to 32 different addresses in each warp",
                sweep: Some((1, 32, 32)),
            },
            Self::Divide => Facts {
                name: "divide",
                slide: "Rychlost provádění instrukcí (speed of instructions): integer division and modulo",
                about: "divide by a power of two, and do the same with shifts and masks",
                sweep: None,
            },
            Self::Math => Facts {
                name: "math",
                slide: "Rychlost provádění instrukcí (speed of instructions): less precise sinf, expf",
                about: "compute sine and exponential with fast and with precise functions",
                sweep: None,
            },
            Self::Unroll => Facts {
                name: "unroll",
                slide: "Smyčky; Součet prvků vektoru (loops; the sum of a vector)",
                about: "sum a vector in loops that are unrolled by 1, 2, 4 and 8",
                sweep: None,
            },
        }
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The slide of Jiří Filipovič's "Optimalizace pro GPU hardware" that the pattern shows.
    pub const fn slide(self) -> &'static str {
        self.facts().slide
    }

    /// A phrase that says what the pattern does, such as "read and copy …" for `access offset`.
    pub const fn about(self) -> &'static str {
        self.facts().about
    }

    /// The values of the parameter that are shown unless others are requested. `None` if the
    /// pattern has no range.
    pub fn sweep(self) -> Option<Sweep> {
        self.facts().sweep.map(|(first, last, _)| Sweep { first, last })
    }

    /// The least and the greatest value of the parameter that can be requested. `None` if the
    /// pattern has no range.
    pub fn limits(self) -> Option<(u32, u32)> {
        self.facts().sweep.map(|(least, _, most)| (least, most))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a text that is not the name of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown pattern '{0}': it is a name that --list prints")]
pub struct UnknownPattern(pub String);

impl FromStr for Pattern {
    type Err = UnknownPattern;

    fn from_str(text: &str) -> Result<Self, UnknownPattern> {
        Self::ALL
            .into_iter()
            .find(|pattern| pattern.name() == text)
            .ok_or_else(|| UnknownPattern(text.to_owned()))
    }
}

/// Values of a parameter: from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse(), Ok(pattern));
        }
        assert_eq!("all".parse::<Pattern>(), Err(UnknownPattern("all".into())));
    }

    #[test]
    fn what_is_shown_can_be_asked_for() {
        for pattern in Pattern::ALL {
            let Some((sweep, (least, most))) = pattern.sweep().zip(pattern.limits()) else {
                continue;
            };
            assert!(
                least <= sweep.first && sweep.first <= sweep.last && sweep.last <= most,
                "{pattern}"
            );
        }
    }
}
