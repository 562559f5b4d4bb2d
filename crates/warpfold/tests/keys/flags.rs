//! Segments that begin at flags.

use warpfold::Sum;

use super::{bits, kinds_of_lengths, sums, support::devices, values};

#[test]
fn segments_begin_at_flags() {
    for device in devices() {
        for (name, lengths) in kinds_of_lengths() {
            // Any byte but 0 is a flag. Whether element 0 has one makes no difference.
            for first in [0, 1] {
                let mut flags = vec![0u8; lengths.iter().sum()];
                let mut at = 0;
                for (i, length) in lengths.iter().enumerate() {
                    flags[at] = if i == 0 { first } else { 1 << (i % 8) };
                    at += length;
                }
                let values = values(flags.len());
                let counts: Vec<u64> = lengths.iter().map(|&length| length as u64).collect();
                let found = device.reduce_by_flag(&flags, &values, Sum).unwrap();
                assert_eq!(found.counts, counts, "{name}");
                assert_eq!(bits(&found.results), sums(&values, &counts), "{name}");
            }
        }
    }
}

#[test]
fn no_flags() {
    for device in devices() {
        let none: [u8; 0] = [];
        let found = device.reduce_by_flag(&none, &[0.0f32; 0], Sum).unwrap();
        assert!(found.results.is_empty() && found.counts.is_empty());
    }
}
