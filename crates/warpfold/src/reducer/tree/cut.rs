//! Which nodes of the tree each shard has: pure functions of lengths.
//!
//! The *leaves* of the tree are the parts of a row that a lane combines, of `in_leaf` elements
//! each; the last one may be shorter. A node of *level* `k` stands for `2^k` leaves, and begins at
//! a multiple of so many. The last node of a level may have fewer. If the kernel for rows gets the
//! elements of a node as a row, the raw result of the row is that of the node, because the kernel
//! makes the same tree of them.
//!
//! Every number here counts from the beginning of the whole array.

use std::ops::Range;

/// The number of rows into which a long shard is cut at least, but for its ends.
///
/// Many rows are read faster than one long row, but each row is a result that goes to the host. On
/// an H200, the sum of 2^26 `f32` takes 72.1 us as one row, 67.3 us as 64 rows, 66.0 us as 1024 and
/// 63.6 us as 16384 (`bench/results/2026-11-26-h200/rows.txt`).
const LEAST_ROWS: u64 = 256;

/// Nodes of one level that are neighbours: rows of equal lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nodes {
    /// The first leaf of the first node.
    pub(super) leaf: u64,
    /// The logarithm of the number of leaves of a node.
    pub(super) level: u32,
    /// The number of nodes.
    pub(super) count: u64,
    /// The number of elements of each node.
    pub(super) length: u64,
}

/// What a shard has: nodes of the tree, and at each end elements of a leaf that is not its alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The elements in front of the nodes, fewer than a leaf has.
    pub(super) head: Range<u64>,
    /// The nodes in order. They have no gap between them.
    pub(super) nodes: Vec<Nodes>,
    /// The elements behind the nodes, fewer than a leaf has.
    pub(super) tail: Range<u64>,
}

impl Cut {
    /// Cuts a shard of an array of `n` elements. No `Nodes` has more than `most_leaves` leaves,
    /// which is at least 1.
    pub(super) fn new(shard: Range<u64>, n: u64, in_leaf: u64, most_leaves: u64) -> Self {
        let Range { start, end } = shard;
        let first = start.next_multiple_of(in_leaf).min(end);
        // The last leaf of the array is whole, however short it is.
        let is_last = end == n;
        let behind = if is_last { end } else { (end / in_leaf * in_leaf).max(first) };
        let mut cutter = Cutter { in_leaf, most_leaves, nodes: Vec::new() };
        if first < behind {
            let leaves = first / in_leaf..behind / in_leaf;
            cutter.cut(leaves, is_last.then_some(behind % in_leaf));
        }
        Self { head: start..first, nodes: cutter.nodes, tail: behind..end }
    }
}

/// The leaves of which several shards have elements, in order.
pub(super) fn shared_leaves(cuts: &[Cut], in_leaf: u64) -> Vec<u64> {
    let ends = cuts.iter().flat_map(|cut| [&cut.head, &cut.tail]);
    let mut leaves: Vec<_> =
        ends.filter(|range| !range.is_empty()).map(|range| range.start / in_leaf).collect();
    leaves.dedup();
    leaves
}

/// Cuts ranges of leaves into nodes.
struct Cutter {
    in_leaf: u64,
    most_leaves: u64,
    nodes: Vec<Nodes>,
}

impl Cutter {
    /// Cuts leaves into few groups of nodes: most leaves belong to nodes of one level, and those in
    /// front of these and behind them are cut in the same way. If the array ends with these leaves,
    /// `rest` is the number of elements of one more leaf that is shorter than the others, or 0.
    fn cut(&mut self, leaves: Range<u64>, rest: Option<u64>) {
        let level = ((leaves.end - leaves.start) / LEAST_ROWS).min(self.most_leaves).max(1).ilog2();
        let of_node = 1 << level;
        // There are at least twice as many leaves as a node has, unless that is one.
        let (first, behind) =
            (leaves.start.next_multiple_of(of_node), leaves.end / of_node * of_node);
        if leaves.start < first {
            self.cut(leaves.start..first, None);
        }
        self.push(first..behind, level);
        match rest {
            // The last node of the array is whole, however few leaves it has.
            Some(rest) => {
                let length = (leaves.end - behind) * self.in_leaf + rest;
                if length > 0 {
                    self.nodes.push(Nodes { leaf: behind, level, count: 1, length });
                }
            }
            None if behind < leaves.end => self.cut(behind..leaves.end, None),
            None => {}
        }
    }

    /// Adds the nodes of one level that have these leaves.
    fn push(&mut self, leaves: Range<u64>, level: u32) {
        let length = self.in_leaf << level;
        let most = (self.most_leaves >> level) << level;
        let mut leaf = leaves.start;
        while leaf < leaves.end {
            let taken = most.min(leaves.end - leaf);
            self.nodes.push(Nodes { leaf, level, count: taken >> level, length });
            leaf += taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The elements of the nodes, one range for each.
    fn elements(nodes: &[Nodes], in_leaf: u64) -> Vec<Range<u64>> {
        let ranges = nodes.iter().flat_map(|nodes| {
            (0..nodes.count).map(move |k| {
                let start = nodes.leaf * in_leaf + k * nodes.length;
                start..start + nodes.length
            })
        });
        ranges.collect()
    }

    proptest! {
        /// The shards have all elements once and in order, and each node is one of the tree's.
        #[test]
        fn shards_are_cut_into_nodes_of_the_tree(
            mut cuts in prop::collection::vec(0u64..3_000_000, 0..6),
            n in 0u64..3_000_000,
            log_leaf in 2u32..8,
            most_leaves in prop_oneof![Just(u64::MAX), 1u64..5000],
        ) {
            let in_leaf = 1 << log_leaf;
            for cut in &mut cuts {
                *cut %= n + 1;
            }
            cuts.sort_unstable();
            let mut start = 0;
            for end in cuts.into_iter().chain([n]) {
                let cut = Cut::new(start..end, n, in_leaf, most_leaves);
                prop_assert!(cut.head.start == start && cut.tail.end == end);
                prop_assert!(cut.head.end - start < in_leaf && end - cut.tail.start < in_leaf);
                let mut next = cut.head.end;
                for node in elements(&cut.nodes, in_leaf) {
                    prop_assert_eq!(node.start, next);
                    next = node.end;
                }
                prop_assert_eq!(next, cut.tail.start);
                for nodes in &cut.nodes {
                    let full = in_leaf << nodes.level;
                    prop_assert!(nodes.leaf.is_multiple_of(1 << nodes.level) && nodes.count > 0);
                    let is_last = nodes.count == 1 && nodes.leaf * in_leaf + nodes.length == n;
                    prop_assert!(nodes.length == full || is_last && nodes.length < full);
                    prop_assert!((nodes.count << nodes.level) <= most_leaves);
                }
                if most_leaves == u64::MAX {
                    // Each launch takes time, and each result too.
                    let results: u64 = cut.nodes.iter().map(|nodes| nodes.count).sum();
                    prop_assert!(cut.nodes.len() <= 7 && results <= 4 * 2 * LEAST_ROWS);
                }
                start = end;
            }
        }
    }

    #[test]
    fn equal_shards_of_a_power_of_two_are_one_launch() {
        for shard in 0..8 {
            let cut = Cut::new(shard << 20..(shard + 1) << 20, 8 << 20, 32, u64::MAX);
            // 2^15 leaves are 256 nodes of 2^7.
            let nodes = Nodes { leaf: shard << 15, level: 7, count: 256, length: 4096 };
            let ends = [shard << 20, (shard + 1) << 20];
            let none = |at: u64| at..at;
            assert_eq!(cut, Cut { head: none(ends[0]), nodes: vec![nodes], tail: none(ends[1]) });
        }
    }

    #[test]
    fn elements_of_a_leaf_that_is_shared_are_no_node() {
        let cut = |shard| Cut::new(shard, 70, 32, u64::MAX);
        let leaves = |leaf, count, length| Nodes { leaf, level: 0, count, length };
        assert_eq!(cut(0..33), Cut { head: 0..0, nodes: vec![leaves(0, 1, 32)], tail: 32..33 });
        assert_eq!(cut(33..40), Cut { head: 33..40, nodes: vec![], tail: 40..40 });
        assert_eq!(cut(40..40), Cut { head: 40..40, nodes: vec![], tail: 40..40 });
        assert_eq!(cut(40..65), Cut { head: 40..64, nodes: vec![], tail: 64..65 });
        assert_eq!(cut(65..70), Cut { head: 65..70, nodes: vec![], tail: 70..70 });
        // The last leaf of all is short.
        assert_eq!(cut(64..70), Cut { head: 64..64, nodes: vec![leaves(2, 1, 6)], tail: 70..70 });
        assert_eq!(cut(64..69), Cut { head: 64..64, nodes: vec![], tail: 64..69 });

        let cuts = [0..33, 33..40, 40..40, 40..65, 65..70].map(cut);
        assert_eq!(shared_leaves(&cuts, 32), [1, 2]);
        assert_eq!(shared_leaves(&[0..32, 32..64, 64..70].map(cut), 32), [0; 0]);
    }
}
