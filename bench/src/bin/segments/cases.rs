//! The cases: which lengths the segments have.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::Way;

/// The lengths of segments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lengths {
    /// All the same.
    Equal(usize),
    /// Uniform from 0 to twice this mean.
    UpToTwice(usize),
    /// The tail of the distribution falls with the length to this power.
    PowerLaw(f64),
    /// The logarithm is normally distributed with this mean and deviation.
    LogNormal(f64, f64),
    /// A power law, of which each second segment is empty.
    HalfEmpty(f64),
    /// One segment has half of the elements, and the others have one element.
    Giant,
}

impl Lengths {
    /// The cases of all elements of four bytes.
    pub(crate) const ALL: [Self; 22] = [
        Self::Equal(1),
        Self::Equal(2),
        Self::Equal(3),
        Self::Equal(4),
        Self::Equal(8),
        Self::Equal(16),
        Self::Equal(33),
        Self::Equal(64),
        Self::Equal(100),
        Self::Equal(256),
        Self::Equal(1024),
        Self::Equal(5000),
        Self::Equal(1 << 16),
        Self::Equal(1 << 20),
        Self::Equal(1 << 26),
        Self::UpToTwice(2),
        Self::UpToTwice(16),
        Self::UpToTwice(256),
        Self::PowerLaw(1.2),
        Self::LogNormal(3.0, 1.5),
        Self::HalfEmpty(1.2),
        Self::Giant,
    ];

    /// The cases of elements of other sizes.
    pub(crate) const SOME: [Self; 5] =
        [Self::Equal(4), Self::Equal(16), Self::Equal(100), Self::Equal(1024), Self::PowerLaw(1.2)];

    /// Whether a case is among the quick ones. Keys and types other than `f32` have few of them.
    pub(crate) fn is_quick(self, is_f32: bool, way: Way) -> bool {
        match self {
            Self::Equal(4 | 16 | 1024) if way == Way::WideOffsets => is_f32,
            Self::Equal(_) if way == Way::WideOffsets => false,
            Self::Equal(length) if !is_f32 => length == 16,
            Self::Equal(length) if way == Way::Keys => [1, 4, 16, 256, 1024].contains(&length),
            Self::Equal(length) => ![3, 33, 100, 5000, 1 << 20].contains(&length),
            Self::PowerLaw(_) | Self::Giant => is_f32,
            _ => is_f32 && way == Way::Offsets,
        }
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Equal(length) => format!("all of {length}"),
            Self::UpToTwice(mean) => format!("0 to {}", 2 * mean),
            Self::PowerLaw(power) => format!("power law {power}"),
            Self::LogNormal(mean, deviation) => format!("log-normal {mean} {deviation}"),
            Self::HalfEmpty(power) => format!("half empty, power law {power}"),
            Self::Giant => "one giant".to_owned(),
        }
    }

    /// The offsets of segments that have `n` elements together.
    pub(crate) fn offsets(self, n: usize) -> Vec<u32> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut offsets = vec![0];
        let mut end = 0;
        let mut is_odd = false;
        while end < n {
            is_odd = !is_odd;
            let mut pareto = |power: f64| random.random_range(1e-9f64..1.0).powf(-1.0 / power);
            let length = match self {
                Self::Equal(length) => length,
                Self::UpToTwice(mean) => random.random_range(0..=2 * mean),
                Self::PowerLaw(power) => pareto(power) as usize,
                Self::LogNormal(mean, deviation) => {
                    // Twelve uniform numbers have a variance of 1.
                    let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                    (mean + deviation * normal).exp() as usize
                }
                Self::HalfEmpty(power) => {
                    if is_odd {
                        pareto(power) as usize
                    } else {
                        0
                    }
                }
                Self::Giant => {
                    if end == n / 4 {
                        n / 2
                    } else {
                        1
                    }
                }
            };
            end = (end + length).min(n);
            offsets.push(end as u32);
        }
        offsets
    }
}
