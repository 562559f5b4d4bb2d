//! Clusters of blocks (PTX ISA 9.7.9 and 9.7.13).

use super::super::super::ast::{Op, Space, Type};
use super::super::super::diagnostic::Result;
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};

const CLUSTER: &Table<Space> = &[("shared::cluster", Space::SharedCluster)];
const ADDRESSES: [Type; 2] = [Type::U32, Type::U64];

impl Parser<'_> {
    pub(super) fn mapa(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let space = m.choose(CLUSTER).unwrap_or(Space::Generic);
        let ty = m.ty(&ADDRESSES)?;
        m.finish()?;
        Ok(Op::Mapa { space, ty, dst: self.dst()?, src: self.src()?, rank: self.src()? })
    }

    pub(super) fn get_cta_rank(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let space = m.choose(CLUSTER).unwrap_or(Space::Generic);
        let ty = m.ty(&ADDRESSES)?;
        m.finish()?;
        Ok(Op::GetCtaRank { space, ty, dst: self.dst()?, src: self.src()? })
    }

    /// `barrier.cluster`
    pub(super) fn cluster_barrier(m: &mut Modifiers<'_>) -> Result<Op> {
        let arrives = m.require(&[("arrive", true), ("wait", false)])?;
        let op = if arrives {
            let releases = m.choose(&[("release", true), ("relaxed", false)]).unwrap_or(true);
            Op::ClusterArrive { releases, aligned: m.take("aligned") }
        } else {
            m.take("acquire");
            Op::ClusterWait { aligned: m.take("aligned") }
        };
        m.finish()?;
        Ok(op)
    }
}
