//! What one device does for a tree: its nodes, and the elements of leaves that it shares.

use std::ops::Range;

use crate::device::Buffer;

use super::{
    super::{
        Error, Input, Item, Operation, Partial, RowReducer, TreeOperation, input::Operand,
        rows::Piece,
    },
    cut::{Cut, Nodes},
};

/// A node of the tree that is computed.
pub(super) struct Node<T: Item, O: Operation<T>> {
    /// The first leaf of the node, counted from the beginning of the whole array.
    leaf: u64,
    /// The logarithm of the number of leaves of a node on this level.
    level: u32,
    result: Partial<T, O>,
}

impl<T: Item, O: Operation<T>> Node<T, O> {
    /// A node with the raw result of its `length` elements.
    fn new(leaf: u64, level: u32, raw: O::Raw, length: u64) -> Self {
        Self { leaf, level, result: Partial::from_raw(Some(raw), length) }
    }
}

/// A shard whose nodes are under way.
pub(super) struct Shard<'a, I, T: Item, O: TreeOperation<T>> {
    reducer: &'a RowReducer<T, O>,
    input: &'a I,
    cut: Cut,
    /// The output for the raw results of the nodes, if there are nodes.
    output: Option<Buffer<O::Raw>>,
}

/// What a device gives for its shard.
pub(super) struct Found<T: Item, O: Operation<T>> {
    /// The nodes in order.
    pub(super) nodes: Vec<Node<T, O>>,
    /// The elements of leaves that are shared, in order, of each operand.
    pub(super) shared: [Vec<T>; 2],
}

impl<'a, I, T, O> Shard<'a, I, T, O>
where
    T: Item,
    O: TreeOperation<T>,
    I: Input<Item = T, Arity = O::Arity>,
{
    /// Launches the reductions of the nodes, and copies what lies on the host.
    pub(super) fn begin(
        reducer: &'a RowReducer<T, O>,
        input: &'a I,
        cut: Cut,
    ) -> Result<Self, Error> {
        let mut output = None;
        if !cut.nodes.is_empty() {
            let (first, second) = input.operands();
            let start = |nodes: &Nodes| nodes.leaf * RowReducer::<T, O>::IN_PART - cut.head.start;
            let pieces = cut.nodes.iter().map(|nodes| Piece {
                start: start(nodes),
                rows: nodes.count,
                length: nodes.length,
            });
            output = Some(reducer.begin_pieces(first, second, &pieces.collect::<Vec<_>>())?);
        }
        Ok(Self { reducer, input, cut, output })
    }

    /// Waits for the results of the nodes, and reads the elements of leaves that are shared.
    pub(super) fn finish(self) -> Result<Found<T, O>, Error> {
        let Self { reducer, input, cut: Cut { head, nodes, tail }, output } = self;
        let raw = output.map_or(Ok(Vec::new()), |output| output.copy_to_host())?;
        let (first, second) = input.operands();
        let start = head.start;
        let read = |operand: Option<Operand<'_, T>>| {
            let mut elements = Vec::new();
            for Range { start: from, end } in [&head, &tail] {
                if let Some(operand) = operand.filter(|_| from < end) {
                    elements.extend(reducer.read(operand.part(from - start, end - from))?);
                }
            }
            Ok::<_, Error>(elements)
        };
        let shared = [read(Some(first))?, read(second)?];
        Ok(Found { nodes: results(&nodes, raw), shared })
    }
}

/// Reduces the leaves that several shards share, whose elements are now on the host. `leaves` has
/// their numbers in order. All have `in_leaf` elements, except that the last one may have fewer.
pub(super) fn shared_leaves<T: Item, O: TreeOperation<T>>(
    reducer: &RowReducer<T, O>,
    leaves: &[u64],
    [first, second]: &[Vec<T>; 2],
) -> Result<Vec<Node<T, O>>, Error> {
    let in_leaf = RowReducer::<T, O>::IN_PART;
    let elements = first.len() as u64;
    let (rows, rest) = (elements / in_leaf, elements % in_leaf);
    let pieces = [(0, rows, in_leaf), (rows * in_leaf, 1, rest)];
    let pieces = pieces.map(|(start, rows, length)| Piece { start, rows, length });
    let pieces: Vec<_> = pieces.into_iter().filter(|piece| piece.rows * piece.length > 0).collect();
    let second = (!second.is_empty()).then(|| Operand::Host(second));
    let output = reducer.begin_pieces(Operand::Host(first), second, &pieces)?;
    let lengths = (0..leaves.len() as u64).map(|k| in_leaf.min(elements - k * in_leaf));
    let results = leaves.iter().zip(lengths).zip(output.copy_to_host()?);
    Ok(results.map(|((&leaf, length), raw)| Node::new(leaf, 0, raw, length)).collect())
}

/// The nodes with their raw results, which come in order.
fn results<T: Item, O: TreeOperation<T>>(nodes: &[Nodes], raw: Vec<O::Raw>) -> Vec<Node<T, O>> {
    let nodes = nodes.iter().flat_map(|&Nodes { leaf, level, count, length }| {
        (0..count).map(move |k| (leaf + (k << level), level, length))
    });
    nodes.zip(raw).map(|((leaf, level, length), raw)| Node::new(leaf, level, raw, length)).collect()
}

/// Combines the nodes that together are the array.
pub(super) fn combine<T: Item, O: Operation<T>>(mut nodes: Vec<Node<T, O>>) -> Partial<T, O> {
    nodes.sort_unstable_by_key(|node| node.leaf);
    // Nodes that wait for their right neighbours, each smaller than the one below it.
    let mut waiting: Vec<Partial<T, O>> = Vec::new();
    for Node { leaf, level, mut result } in nodes {
        let mut number = leaf >> level;
        while number % 2 == 1 {
            let left = waiting.pop().expect("the left neighbour came before");
            result = left.append(result);
            number /= 2;
        }
        waiting.push(result);
    }
    // What has no right neighbour goes up as it is.
    let root = waiting.into_iter().rev().reduce(|right, left| left.append(right));
    root.unwrap_or(Partial::EMPTY)
}
