//! The order in which the kernel for runs of keys combines elements: in lanes, warps, tiles and
//! groups of tiles.

/// Lanes of a warp.
const WARP: usize = 32;
/// Threads of a block, and tiles of a group.
const THREADS: usize = 160;

/// What each lane has from the last head on, with what is before it up to the last lane with a
/// head. Distances between lanes double from step to step.
fn scan(own: &[f32], heads: &[bool]) -> Vec<f32> {
    let begin = |lane: usize| (0..=lane).rev().find(|&lane| heads[lane]).unwrap_or_default();
    let mut sums = own.to_vec();
    for distance in [1, 2, 4, 8, 16] {
        let before = sums.clone();
        for lane in distance..WARP {
            if lane >= begin(lane) + distance {
                sums[lane] += before[lane - distance];
            }
        }
    }
    sums
}

/// The sum of a warp whose lanes have no head: the upper half is added to the lower one again and
/// again.
fn fold(mut sums: Vec<f32>) -> f32 {
    while sums.len() > 1 {
        let upper = sums.split_off(sums.len() / 2);
        sums.iter_mut().zip(upper).for_each(|(sum, other)| *sum += other);
    }
    sums[0]
}

/// What is known of neighbouring elements: the sum before the first head, those of the runs that
/// begin and end there, and the sum behind the last head.
struct Part {
    lead: f32,
    inner: Vec<f32>,
    /// `None` if there is no head.
    tail: Option<f32>,
}

impl Part {
    /// The sum that goes on behind the part.
    fn open(&self) -> f32 {
        self.tail.unwrap_or(self.lead)
    }

    fn of_lane(elements: &[(f32, bool)]) -> Self {
        let mut part = Self { lead: 0.0, inner: Vec::new(), tail: None };
        for &(value, is_head) in elements {
            if is_head {
                part.inner.extend(part.tail);
                part.tail = Some(0.0);
            }
            *part.tail.as_mut().unwrap_or(&mut part.lead) += value;
        }
        part
    }

    fn of_warp(elements: &[(f32, bool)], items: usize) -> Self {
        let mut lanes: Vec<Self> =
            (0..WARP).map(|lane| Self::of_lane(at(elements, lane, items))).collect();
        let heads: Vec<bool> = lanes.iter().map(|lane| lane.tail.is_some()).collect();
        let own: Vec<f32> = lanes.iter().map(Self::open).collect();
        if !heads.contains(&true) {
            return Self { lead: fold(own), inner: Vec::new(), tail: None };
        }
        let sums = scan(&own, &heads);
        (1..WARP).for_each(|lane| lanes[lane].lead += sums[lane - 1]);
        let mut ended = lanes.iter().filter(|lane| lane.tail.is_some());
        let first = ended.next().unwrap();
        let rest = ended.flat_map(|lane| [&[lane.lead][..], &lane.inner].concat());
        let inner = first.inner.iter().copied().chain(rest).collect();
        Self { lead: first.lead, inner, tail: Some(sums[WARP - 1]) }
    }

    fn of_tile(elements: &[(f32, bool)], items: usize) -> Self {
        let mut tile = Self { lead: 0.0, inner: Vec::new(), tail: None };
        for warp in 0..THREADS / WARP {
            let warp = Self::of_warp(at(elements, warp, WARP * items), items);
            *tile.tail.as_mut().unwrap_or(&mut tile.lead) += warp.lead;
            if warp.tail.is_some() {
                tile.inner.extend(tile.tail);
                tile.inner.extend(warp.inner);
                tile.tail = warp.tail;
            }
        }
        tile
    }
}

/// Part number `i`, of `size` elements, or fewer where the array ends.
fn at(elements: &[(f32, bool)], i: usize, size: usize) -> &[(f32, bool)] {
    let begin = (i * size).min(elements.len());
    &elements[begin..(begin + size).min(elements.len())]
}

/// The sum before each tile of a group, from the last head on, and behind the group. `carry` is the
/// sum before the group.
fn before_tiles(group: &[Part], carry: f32) -> Vec<f32> {
    let open = |i: usize| group.get(i).map_or(0.0, Part::open);
    let is_head = |i: usize| group.get(i).is_some_and(|tile| tile.tail.is_some());
    let (mut end, mut is_end) = (0.0, false);
    let mut before = Vec::new();
    for first in (0..THREADS).step_by(WARP) {
        let heads: Vec<bool> = (first..first + WARP).map(is_head).collect();
        let sums = scan(&(first..first + WARP).map(open).collect::<Vec<_>>(), &heads);
        let at_warp = if is_end { end } else { carry + end };
        for lane in 0..WARP {
            before.push(match lane {
                0 => at_warp,
                _ if heads[..lane].contains(&true) => sums[lane - 1],
                _ => at_warp + sums[lane - 1],
            });
        }
        if heads.contains(&true) {
            (end, is_end) = (sums[WARP - 1], true);
        } else {
            end += sums[WARP - 1];
        }
    }
    before.push(end);
    before
}

/// The sums of runs of these lengths, whose keys have `key` bytes.
pub(crate) fn sums(values: &[f32], lengths: &[u64], key: usize) -> Vec<f32> {
    // How many elements a lane has.
    let items = if key <= 4 { 12 } else { 6 };
    let mut elements: Vec<(f32, bool)> = values.iter().map(|&value| (value, false)).collect();
    let mut begin = 0;
    for &length in lengths {
        elements[begin].1 = true;
        begin += length as usize;
    }
    // The end of the array is as the begin of a run, if the last tile has room for one.
    let is_cut = !elements.len().is_multiple_of(THREADS * items);
    if is_cut {
        elements.push((0.0, true));
    }
    let tiles: Vec<Part> =
        elements.chunks(THREADS * items).map(|tile| Part::of_tile(tile, items)).collect();
    let groups: Vec<&[Part]> = tiles.chunks(THREADS).collect();
    // What each group knows of the run that is open behind it.
    let open: Vec<(f32, bool)> = groups
        .iter()
        .map(|group| {
            let is_head = group.iter().any(|tile| tile.tail.is_some());
            (before_tiles(group, 0.0)[THREADS], is_head)
        })
        .collect();
    let mut results = Vec::new();
    let mut last = 0.0;
    for (i, group) in groups.iter().enumerate() {
        let before = before_tiles(group, before_group(&open[..i]));
        for (tile, before) in group.iter().zip(before) {
            last = before + tile.lead;
            if let Some(tail) = tile.tail {
                results.push(last);
                results.extend(&tile.inner);
                last = tail;
            }
        }
    }
    if !is_cut {
        results.push(last);
    }
    // No run ends where the first one begins.
    results.split_off(1)
}

/// The sum before a group, from the last head on, if that of each lower group is `open`. 32 groups
/// are looked at together.
fn before_group(mut open: &[(f32, bool)]) -> f32 {
    let mut carry = 0.0;
    while !open.is_empty() {
        let first = open.len().saturating_sub(WARP);
        let mut own = vec![(0.0, false); WARP - (open.len() - first)];
        own.extend(&open[first..]);
        let (sums, heads): (Vec<f32>, Vec<bool>) = own.into_iter().unzip();
        carry += scan(&sums, &heads)[WARP - 1];
        if heads.contains(&true) {
            break;
        }
        open = &open[..first];
    }
    carry
}
