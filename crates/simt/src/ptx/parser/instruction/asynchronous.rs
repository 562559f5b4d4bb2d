//! Asynchronous copies, and waits for them (PTX ISA 9.7.9.25 and 9.7.13.15).

use super::super::super::ast::{Op, Ordering, Scope, Space, Type};
use super::super::super::diagnostic::{Error, Result};
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};

/// The spaces of mbarriers, and of the destinations of bulk copies in shared memory.
const SHARED: &Table<Space> = &[
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("shared::cluster", Space::SharedCluster),
];
/// The spaces of the sources and destinations of bulk copies.
const ENDS: &Table<Space> = &[
    ("global", Space::Global),
    ("shared::cta", Space::Shared),
    ("shared::cluster", Space::SharedCluster),
];
const NEAR: &Table<Scope> = &[("cta", Scope::Cta), ("cluster", Scope::Cluster)];
const BITS: [Type; 1] = [Type::B64];

impl Parser<'_> {
    /// `mbarrier.op`
    pub(super) fn mbarrier(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let op = m.require(&[
            ("init", "init"),
            ("inval", "inval"),
            ("arrive", "arrive"),
            ("arrive_drop", "arrive_drop"),
            ("expect_tx", "expect_tx"),
            ("complete_tx", "complete_tx"),
            ("test_wait", "test_wait"),
            ("try_wait", "try_wait"),
            ("pending_count", "pending_count"),
        ])?;
        match op {
            "arrive" | "arrive_drop" => self.mbarrier_arrive(op == "arrive_drop", m),
            "expect_tx" | "complete_tx" => {
                m.take("relaxed");
                m.choose(NEAR);
                let space = Self::mbarrier_type(m)?;
                Ok(Op::MbarrierTx {
                    completes: op == "complete_tx",
                    space,
                    addr: self.address()?,
                    count: self.src()?,
                })
            }
            "test_wait" | "try_wait" => self.mbarrier_wait(op == "try_wait", m),
            "pending_count" => {
                m.ty(&BITS)?;
                m.finish()?;
                Ok(Op::MbarrierPending { dst: self.dst()?, state: self.src()? })
            }
            _ => {
                let space = m.choose(&SHARED[..2]).unwrap_or(Space::Generic);
                m.ty(&BITS)?;
                m.finish()?;
                let addr = self.address()?;
                if op == "inval" {
                    return Ok(Op::MbarrierInval { space, addr });
                }
                Ok(Op::MbarrierInit { space, addr, count: self.src()? })
            }
        }
    }

    /// Takes the space and the type `.b64`, which are the last modifiers.
    fn mbarrier_type(m: &mut Modifiers<'_>) -> Result<Space> {
        let space = m.choose(SHARED).unwrap_or(Space::Generic);
        m.ty(&BITS)?;
        m.finish()?;
        Ok(space)
    }

    fn mbarrier_arrive(&mut self, drop: bool, m: &mut Modifiers<'_>) -> Result<Op> {
        let expects = m.take("expect_tx");
        let no_complete = !expects && m.take("noComplete");
        let releases = m.choose(&[("release", true), ("relaxed", false)]).unwrap_or(true);
        let scope = m.choose(NEAR).unwrap_or(Scope::Cta);
        let ordering = if releases { Ordering::Release(scope) } else { Ordering::Relaxed(scope) };
        let space = Self::mbarrier_type(m)?;
        // An older syntax leaves out the destination if the state is not used.
        let dst = if self.at_punct(b'[') { None } else { self.dst_or_sink()? };
        let addr = self.address()?;
        let operand =
            if self.has_more() || expects || no_complete { Some(self.src()?) } else { None };
        Ok(Op::MbarrierArrive { drop, expects, no_complete, ordering, space, dst, addr, operand })
    }

    fn mbarrier_wait(&mut self, blocks: bool, m: &mut Modifiers<'_>) -> Result<Op> {
        let parity = m.take("parity");
        let acquires = m.choose(&[("acquire", true), ("relaxed", false)]).unwrap_or(true);
        let scope = m.choose(NEAR).unwrap_or(Scope::Cta);
        let ordering = if acquires { Ordering::Acquire(scope) } else { Ordering::Relaxed(scope) };
        let space = m.choose(&SHARED[..2]).unwrap_or(Space::Generic);
        m.ty(&BITS)?;
        m.finish()?;
        let (dst, addr, phase) = (self.dst()?, self.address()?, self.src()?);
        let time = if blocks && self.has_more() { Some(self.src()?) } else { None };
        Ok(Op::MbarrierWait { blocks, parity, ordering, space, dst, addr, phase, time })
    }

    /// `cp.async`
    pub(super) fn copy(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(&[("async", ())])?;
        let bulk = m.take("bulk");
        if m.take("commit_group") {
            m.finish()?;
            return Ok(Op::CommitGroup { bulk });
        }
        if !bulk && m.take("wait_all") {
            m.finish()?;
            return Ok(Op::WaitGroup { bulk, groups: None, read: false });
        }
        if m.take("wait_group") {
            let read = bulk && m.take("read");
            m.finish()?;
            return Ok(Op::WaitGroup {
                bulk,
                groups: Some(self.unsigned_operand("a number of groups")?),
                read,
            });
        }
        if bulk {
            return self.bulk_copy(m);
        }
        if m.take("mbarrier") {
            m.require(&[("arrive", ())])?;
            let counted = m.take("noinc");
            let space = m.choose(&SHARED[..2]).unwrap_or(Space::Generic);
            m.ty(&BITS)?;
            m.finish()?;
            return Ok(Op::AsyncArrive { counted, space, addr: self.address()? });
        }
        self.async_copy(m)
    }

    fn unsigned_operand(&mut self, wanted: &str) -> Result<u32> {
        self.first_operand = false;
        self.unsigned32(wanted)
    }

    fn bulk_copy(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let (to, from) = (m.require(ENDS)?, m.require(ENDS)?);
        let by_mbarrier =
            m.require(&[("mbarrier::complete_tx::bytes", true), ("bulk_group", false)])?;
        let allowed = match (to, from) {
            (Space::Shared | Space::SharedCluster, Space::Global)
            | (Space::SharedCluster, Space::Shared) => by_mbarrier,
            (Space::Global, Space::Shared) => !by_mbarrier,
            _ => false,
        };
        if !allowed {
            return Err(Error::unknown(m.span, format!("`{}` is not a copy that PTX knows", m.text)).help(
                "known are .shared::cluster.global, .shared::cta.global and .shared::cluster.shared::cta with an mbarrier, and .global.shared::cta with a bulk group",
            ));
        }
        let multicast =
            to == Space::SharedCluster && from == Space::Global && m.take("multicast::cluster");
        let hinted = m.take("L2::cache_hint");
        m.finish()?;
        let (dst, src, size) = (self.address()?, self.address()?, self.src()?);
        let mbarrier = if by_mbarrier { Some(self.address()?) } else { None };
        let mask = if multicast { Some(self.src()?) } else { None };
        if hinted {
            self.src()?;
        }
        Ok(Op::BulkCopy { to, from, dst, src, size, mbarrier, mask })
    }

    fn async_copy(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let around_l1 = m.require(&[("ca", false), ("cg", true)])?;
        m.require(&SHARED[..2])?;
        m.require(&[("global", ())])?;
        let hinted = m.take("L2::cache_hint");
        m.choose(&[("L2::64B", ()), ("L2::128B", ()), ("L2::256B", ())]);
        m.finish()?;
        let (dst, src) = (self.address()?, self.address()?);
        self.expect(b',')?;
        let span = self.peek().span;
        let bytes = self.unsigned32("a number of bytes")?;
        let known: &[u32] = if around_l1 { &[16] } else { &[4, 8, 16] };
        if !known.contains(&bytes) {
            let known = if around_l1 { "16" } else { "4, 8 or 16" };
            return Err(Error::new(
                span,
                format!("`{}` copies {known} bytes, not {bytes}", m.text),
            ));
        }
        // If there is a cache policy, it is the last operand.
        let from = if self.commas_left() > usize::from(hinted) { Some(self.src()?) } else { None };
        if hinted {
            self.src()?;
        }
        Ok(Op::AsyncCopy { bytes, dst, src, from })
    }

    /// Reads `fence.proxy` or `fence.mbarrier_init`, whose first word has been taken.
    pub(super) fn proxy_fence(m: &mut Modifiers<'_>) -> Result<Op> {
        if m.take("release") {
            m.require(&[("cluster", ())])?;
        } else {
            m.require(&[("async", ()), ("alias", ())])?;
            m.choose(ENDS);
        }
        m.finish()?;
        Ok(Op::ProxyFence)
    }
}
