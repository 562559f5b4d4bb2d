//! The shadow of memory: the last write to each word, and up to two of the reads since.

use std::collections::HashMap;

use super::known::Reach;
use super::order::BlockOrder;
use super::publish::Logs;
use super::sites::{MAX_SITES, Site};
use super::threads::warp_of;
use crate::exec::block_id::BlockId;

/// How many words one page of global shadow covers: 16 KiB of memory.
const PAGE: usize = 1 << 12;

/// The last write to a word and the reads since, in 16 bytes. A stamp of 0 means that there is
/// none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    write_stamp: u32,
    read_stamp: u32,
    /// Bits 0 to 9: the thread. Bits 10 to 21: the site. Bits 22 and 23: the byte in the word.
    write: u32,
    /// Bits 0 to 9 and 10 to 19: two threads, which may be the same. Bits 20 to 31: the pair of
    /// their sites.
    read: u32,
}

/// The position in `write` of the two bits that hold the reads' byte in the word.
const READ_BYTE: u32 = 24;

impl Cell {
    fn set_write(&mut self, stamp: u32, thread: u32, site: u32, byte: u32) {
        *self = Cell {
            write_stamp: stamp,
            read_stamp: 0,
            write: thread | site << 10 | byte << 22,
            read: 0,
        };
    }

    fn set_read(&mut self, stamp: u32, thread: u32, site: u32, byte: u32) {
        self.read_stamp = stamp;
        self.read = thread | thread << 10 | site << 20;
        self.write = self.write & !(3 << READ_BYTE) | byte << READ_BYTE;
    }

    /// Records the write of a copy whose bytes have arrived.
    pub(super) fn copied(&mut self, stamp: u32, thread: u32, site: u32) {
        self.set_write(stamp, thread, site, 0);
    }

    pub(super) fn last_write(&self) -> Earlier {
        let (write, stamp) = (self.write, self.write_stamp);
        Earlier { stamp, thread: write & 0x3ff, site: write >> 10 & 0xfff, byte: write >> 22 & 3 }
    }

    fn readers(&self) -> [u32; 2] {
        [self.read & 0x3ff, self.read >> 10 & 0x3ff]
    }
}

/// An earlier access that the shadow remembers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Earlier {
    pub(super) stamp: u32,
    pub(super) thread: u32,
    pub(super) site: u32,
    pub(super) byte: u32,
}

/// The access that happens now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Present {
    pub(super) site: u32,
    pub(super) info: Site,
    /// Accesses with stamps from this one up to the block's floor are ordered before the present
    /// access.
    pub(super) settled_from: u32,
    /// All stamps from this one on are the block's own.
    pub(super) own_from: u32,
    /// Records with older stamps are void, because one block after another uses the same shared
    /// shadow.
    pub(super) born: u32,
    /// Whether the access goes to shared memory.
    pub(super) shared: bool,
}

/// How the threads of two conflicting accesses are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    SameWarp,
    SameBlock,
    OtherBlock,
    OtherDevice,
}

impl Relation {
    /// The relation of threads in different warps whose blocks are this far apart.
    pub(super) const fn at(distance: Reach) -> Relation {
        match distance {
            Reach::Block => Relation::SameBlock,
            Reach::Device => Relation::OtherBlock,
            Reach::System => Relation::OtherDevice,
        }
    }
}

/// Two accesses that nothing orders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conflict {
    pub(super) thread: u32,
    /// The word's number in its allocation or in shared memory.
    pub(super) word: usize,
    pub(super) earlier: Earlier,
    pub(super) ticket: BlockId,
    pub(super) relation: Relation,
}

/// The blocks to which stamps belong: for each run of stamps of one block, the first stamp and the
/// block.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<(u32, BlockId)>);

impl Runs {
    /// Adds a stamp of block `ticket`; it is larger than all stamps before.
    pub(super) fn push(&mut self, stamp: u32, ticket: BlockId) {
        if self.0.last().is_none_or(|(_, last)| *last != ticket) {
            self.0.push((stamp, ticket));
        }
    }

    fn owner(&self, stamp: u32) -> BlockId {
        let after = self.0.partition_point(|(start, _)| *start <= stamp);
        self.0[after - 1].1
    }
}

/// Pairs of sites that have read the same words. The pair of a site with itself has the site's
/// number as its number.
#[derive(Debug)]
pub(super) struct Pairs {
    all: Vec<(u32, u32)>,
    known: HashMap<(u32, u32), u32>,
}

impl Pairs {
    pub(super) fn new(sites: usize) -> Pairs {
        Pairs { all: (0..sites as u32).map(|site| (site, site)).collect(), known: HashMap::new() }
    }

    /// The number of the pair; `None` if there are too many pairs.
    fn number(&mut self, pair: (u32, u32)) -> Option<u32> {
        if pair.0 == pair.1 {
            return Some(pair.0);
        }
        if let Some(number) = self.known.get(&pair) {
            return Some(*number);
        }
        let number = self.all.len();
        if number == MAX_SITES {
            return None;
        }
        self.all.push(pair);
        self.known.insert(pair, number as u32);
        Some(number as u32)
    }
}

/// The facts from which the detector decides whether accesses are ordered.
#[derive(Debug)]
pub(super) struct History {
    pub(super) sites: Vec<Site>,
    pub(super) pairs: Pairs,
    pub(super) runs: Runs,
    pub(super) logs: Logs,
}

impl History {
    /// Looks at an access of `thread` to a word and remembers it. Returns an earlier access that
    /// conflicts with it.
    #[inline(always)]
    pub(super) fn touch(
        &mut self,
        order: &BlockOrder,
        present: &Present,
        (cell, word): (&mut Cell, usize),
        thread: u32,
        byte: u32,
    ) -> Option<Conflict> {
        let now = order.now;
        let settled =
            |stamp: u32| stamp == 0 || (stamp >= present.settled_from && stamp <= order.floor);
        let own_read = cell.read_stamp >= present.own_from && cell.readers() == [thread; 2];
        let reads_settled = settled(cell.read_stamp);
        if settled(cell.write_stamp)
            || (cell.write_stamp >= present.own_from && cell.write & 0x3ff == thread)
        {
            if !present.info.writes() {
                if reads_settled || (own_read && !present.info.is_strong()) {
                    cell.set_read(now, thread, present.site, byte);
                    return None;
                }
            } else if reads_settled || own_read {
                if !self.adds_nothing(cell, present, now, thread, byte) {
                    cell.set_write(now, thread, present.site, byte);
                }
                return None;
            }
        }
        let conflict = self.examine(order, present, cell, thread, byte);
        conflict.map(|(earlier, ticket, relation)| Conflict {
            thread,
            word,
            earlier,
            ticket,
            relation,
        })
    }

    /// Whether a strong write follows a weak write of the same thread to the same bytes, with no
    /// ordering event between the two. The weak write then stays in the record, because it
    /// conflicts with more accesses.
    fn adds_nothing(
        &self,
        cell: &Cell,
        present: &Present,
        now: u32,
        thread: u32,
        byte: u32,
    ) -> bool {
        if !present.info.is_strong() || cell.write_stamp != now || cell.write & 0x3ff != thread {
            return false;
        }
        let there = self.sites[(cell.write >> 10 & 0xfff) as usize];
        !there.is_strong()
            && there.bytes_of_word(cell.write >> 22 & 3) == present.info.bytes_of_word(byte)
    }

    #[inline(never)]
    fn examine(
        &mut self,
        order: &BlockOrder,
        present: &Present,
        cell: &mut Cell,
        thread: u32,
        byte: u32,
    ) -> Option<(Earlier, BlockId, Relation)> {
        for stamp in [&mut cell.write_stamp, &mut cell.read_stamp] {
            *stamp = if *stamp < present.born { 0 } else { *stamp };
        }
        let mut conflict = None;
        if cell.write_stamp != 0 {
            conflict = self.conflict(order, present, thread, byte, cell.last_write());
        }
        let readers = (cell.read_stamp != 0).then(|| self.readers(cell));
        if present.info.writes() {
            if conflict.is_none() {
                let mut reads = readers.into_iter().flatten();
                conflict = reads.find_map(|read| self.conflict(order, present, thread, byte, read));
            }
            cell.set_write(order.now, thread, present.site, byte);
        } else {
            self.remember_read(order, present, cell, thread, byte, readers);
        }
        conflict
    }

    /// The stamp, thread and site of the last write to a word and of the reads since.
    pub(super) fn accesses(&self, cell: &Cell) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let write = (cell.write_stamp, cell.write & 0x3ff, cell.write >> 10 & 0xfff);
        let reads = self.readers(cell).map(|read| (read.stamp, read.thread, read.site));
        [write, reads[0], reads[1]].into_iter().filter(|(stamp, ..)| *stamp != 0)
    }

    /// The block to which `stamp` belongs, as the block that runs sees it.
    pub(super) fn owner(&self, order: &BlockOrder, stamp: u32) -> BlockId {
        self.block_of(order, stamp)
    }

    fn readers(&self, cell: &Cell) -> [Earlier; 2] {
        let (first, second) = self.pairs.all[(cell.read >> 20) as usize];
        let [a, b] = cell.readers();
        let (stamp, byte) = (cell.read_stamp, cell.write >> READ_BYTE & 3);
        [(a, first), (b, second)].map(|(thread, site)| Earlier { stamp, thread, site, byte })
    }

    /// Remembers a read, which every later write must follow in order. If one block reads, two
    /// unordered reads are kept; otherwise only the first.
    fn remember_read(
        &mut self,
        order: &BlockOrder,
        present: &Present,
        cell: &mut Cell,
        thread: u32,
        byte: u32,
        readers: Option<[Earlier; 2]>,
    ) {
        let Some([a, b]) = readers else {
            cell.set_read(order.now, thread, present.site, byte);
            return;
        };
        let ticket = self.block_of(order, a.stamp);
        // The logs are not asked whether the older read is known, because that takes long and there
        // are many reads.
        let before = |read: Earlier| {
            let whom = (ticket, read.thread, read.stamp);
            (ticket == order.ticket && order.knows(thread, read.thread, read.stamp))
                || order
                    .lists(thread)
                    .flat_map(|list| list.iter())
                    .any(|k| self.logs.publishes(order.ticket, k, whom))
        };
        let same_block = ticket == order.ticket;
        // A weak read conflicts with more accesses than a strong read, so it is kept.
        let weaker = |read: Earlier| {
            same_block
                && read.thread == thread
                && read.stamp == order.now
                && present.info.is_strong()
                && !self.sites[read.site as usize].is_strong()
        };
        if before(a) && before(b) {
            if !weaker(a) && !weaker(b) {
                cell.set_read(order.now, thread, present.site, byte);
            }
            return;
        }
        if !same_block || byte != a.byte || a.thread == thread || b.thread == thread {
            return;
        }
        // Reads of two different warps are preferred. A sync of one warp then does not hide the
        // read of the other warp.
        let alone = a.thread == b.thread;
        if (alone
            || (warp_of(a.thread) == warp_of(b.thread) && warp_of(thread) != warp_of(a.thread)))
            && let Some(pair) = self.pairs.number((a.site, present.site))
        {
            cell.read = a.thread | thread << 10 | pair << 20;
        }
    }

    pub(super) fn block_of(&self, order: &BlockOrder, stamp: u32) -> BlockId {
        if stamp >= order.run_start { order.ticket } else { self.runs.owner(stamp) }
    }

    pub(super) fn is_ordered(
        &self,
        order: &BlockOrder,
        ticket: BlockId,
        thread: u32,
        earlier: Earlier,
    ) -> bool {
        if ticket == order.ticket && order.knows(thread, earlier.thread, earlier.stamp) {
            return true;
        }
        if self.logs.is_empty() {
            return false;
        }
        let lists: Vec<_> = order.lists(thread).collect();
        self.logs.knows(order.ticket, &lists, (ticket, earlier.thread, earlier.stamp))
    }

    /// The relation between the threads of two accesses to a word; `None` if the accesses do not
    /// conflict.
    fn conflict(
        &self,
        order: &BlockOrder,
        present: &Present,
        thread: u32,
        byte: u32,
        earlier: Earlier,
    ) -> Option<(Earlier, BlockId, Relation)> {
        let (here, there) = (present.info, self.sites[earlier.site as usize]);
        if here.bytes_of_word(byte) & there.bytes_of_word(earlier.byte) == 0 {
            return None;
        }
        let ticket = self.block_of(order, earlier.stamp);
        let distance = Reach::between(ticket, order.ticket);
        let relation = match Relation::at(distance) {
            Relation::SameBlock if thread == earlier.thread => return None,
            Relation::SameBlock if warp_of(thread) == warp_of(earlier.thread) => Relation::SameWarp,
            relation => relation,
        };
        if here.is_strong() && there.is_strong() {
            let include_each_other = distance <= here.reach.min(there.reach);
            let cover_each_other = here.is_as_wide_as(there);
            // Code that relies on lock step uses volatile shared memory.
            let lock_step = present.shared
                && relation == Relation::SameWarp
                && here.is_volatile()
                && there.is_volatile();
            if include_each_other && cover_each_other && !lock_step {
                return None;
            }
        }
        (!self.is_ordered(order, ticket, thread, earlier)).then_some((earlier, ticket, relation))
    }
}

/// [`History::touch`] for a whole warp whose lanes access neighbouring words, `1 << shift` words
/// each, if no other thread has touched these words since the last barrier. Returns whether this is
/// the case. If it is not, nothing has been recorded.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "without branches the loop is vectorised")]
pub(super) fn touch_row(
    order: &BlockOrder,
    present: &Present,
    cells: &mut [Cell],
    first_thread: u32,
    shift: u32,
) -> bool {
    let now = order.now;
    let Present { site, settled_from, own_from, .. } = *present;
    let settled = |stamp: u32| (stamp == 0) | ((stamp >= settled_from) & (stamp <= order.floor));
    let threads = |i: usize| first_thread + (i as u32 >> shift);
    let mut free = true;
    for (i, cell) in cells.iter().enumerate() {
        let thread = threads(i);
        let own_write = (cell.write_stamp >= own_from) & (cell.write & 0x3ff == thread);
        let own_read =
            (cell.read_stamp >= own_from) & (cell.read & 0xf_ffff == thread | thread << 10);
        free &= (settled(cell.write_stamp) | own_write) & (settled(cell.read_stamp) | own_read);
    }
    // A weak access followed by a strong access of the same thread needs the slow path for each
    // word.
    if !free || present.info.is_strong() {
        return false;
    }
    if present.info.writes() {
        for (i, cell) in cells.iter_mut().enumerate() {
            cell.set_write(now, threads(i), site, 0);
        }
    } else {
        for (i, cell) in cells.iter_mut().enumerate() {
            cell.set_read(now, threads(i), site, 0);
        }
    }
    true
}

/// The shadow of an allocation. Pages are added when they are first touched.
#[derive(Debug, Default)]
pub(super) struct Pages(Vec<Box<[Cell]>>);

impl Pages {
    /// The cells of `count` words from word `index` on, if they all lie in one page.
    #[inline]
    pub(super) fn row(&mut self, index: usize, count: usize, words: usize) -> Option<&mut [Cell]> {
        self.cell(index, words);
        self.0[index / PAGE].get_mut(index % PAGE..index % PAGE + count)
    }

    /// The cell of word `index` of an allocation of `words` words.
    #[inline(always)]
    pub(super) fn cell(&mut self, index: usize, words: usize) -> &mut Cell {
        let page = index / PAGE;
        if self.0.get(page).is_none_or(|page| page.is_empty()) {
            self.allocate(page, words);
        }
        &mut self.0[page][index % PAGE]
    }

    #[cold]
    fn allocate(&mut self, page: usize, words: usize) {
        if self.0.is_empty() {
            self.0.resize_with(words.div_ceil(PAGE), Box::default);
        }
        self.0[page] = vec![Cell::default(); PAGE.min(words - page * PAGE)].into_boxed_slice();
    }
}
