//! The special registers of PTX (manual, chapter 10): their names and types.
//!
//! Their values are filled in by the launch, except for clocks, which are read when they are asked for.

use crate::base::lanes::SHARED_START;
use crate::base::types::ScalarType;

/// A special register, or one component of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    NTid(u8),
    CtaId(u8),
    NCtaId(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLt,
    LaneMaskLe,
    LaneMaskGt,
    LaneMaskGe,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    DynamicSharedBytes,
    TotalSharedBytes,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaId(u8),
    ClusterNCtaId(u8),
    ClusterCtaRank,
    ClusterNCtaRank,
    IsExplicitCluster,
    /// Half of the address of the memory that the barrier of a grid keeps its state in: the upper one if true.
    GridWorkspace(bool),
    /// An offset into the part of shared memory that is reserved for the system: cooperative groups keep the state of
    /// tiles of several warps there.
    ReservedShared(u16),
    /// A register that always has this value: what no launch sets.
    Always(u32),
}

const PLAIN: &[(&str, Special, ScalarType)] = &[
    ("%laneid", Special::LaneId, ScalarType::U32),
    ("%warpid", Special::WarpId, ScalarType::U32),
    ("%nwarpid", Special::NWarpId, ScalarType::U32),
    ("%smid", Special::SmId, ScalarType::U32),
    ("%nsmid", Special::NSmId, ScalarType::U32),
    ("%gridid", Special::GridId, ScalarType::U64),
    ("%lanemask_eq", Special::LaneMaskEq, ScalarType::U32),
    ("%lanemask_lt", Special::LaneMaskLt, ScalarType::U32),
    ("%lanemask_le", Special::LaneMaskLe, ScalarType::U32),
    ("%lanemask_gt", Special::LaneMaskGt, ScalarType::U32),
    ("%lanemask_ge", Special::LaneMaskGe, ScalarType::U32),
    ("%clock", Special::Clock, ScalarType::U32),
    ("%clock_hi", Special::ClockHi, ScalarType::U32),
    ("%clock64", Special::Clock64, ScalarType::U64),
    ("%globaltimer", Special::GlobalTimer, ScalarType::U64),
    ("%globaltimer_lo", Special::GlobalTimerLo, ScalarType::U32),
    ("%globaltimer_hi", Special::GlobalTimerHi, ScalarType::U32),
    ("%dynamic_smem_size", Special::DynamicSharedBytes, ScalarType::U32),
    ("%total_smem_size", Special::TotalSharedBytes, ScalarType::U32),
    ("%aggr_smem_size", Special::TotalSharedBytes, ScalarType::U32),
    ("%reserved_smem_offset_begin", Special::Always(0), ScalarType::B32),
    ("%reserved_smem_offset_end", Special::Always(SHARED_START as u32), ScalarType::B32),
    // The capacity is 0 on an H200, too.
    ("%reserved_smem_offset_cap", Special::Always(0), ScalarType::B32),
    ("%reserved_smem_offset_0", Special::ReservedShared(0), ScalarType::B32),
    ("%reserved_smem_offset_1", Special::ReservedShared(SHARED_START as u16 / 2), ScalarType::B32),
    ("%cluster_ctarank", Special::ClusterCtaRank, ScalarType::U32),
    ("%cluster_nctarank", Special::ClusterNCtaRank, ScalarType::U32),
    ("%is_explicit_cluster", Special::IsExplicitCluster, ScalarType::Pred),
    // Compiled code finds the workspace of cooperative launches here.
    ("%envreg1", Special::GridWorkspace(true), ScalarType::U32),
    ("%envreg2", Special::GridWorkspace(false), ScalarType::U32),
    ("%current_graph_exec", Special::Always(0), ScalarType::U64),
];

impl Special {
    /// The special register that `name` and, for `%tid.x` and its like, `member` (with its dot) denote.
    pub(crate) fn find(name: &str, member: Option<&str>) -> Option<(Self, ScalarType)> {
        let Some(member) = member else {
            let numbered = |prefix: &str| {
                name.strip_prefix(prefix)?
                    .trim_end_matches("_64")
                    .parse::<u32>()
                    .ok()
                    .filter(|n| *n < if prefix == "%pm" { 8 } else { 32 })
            };
            if numbered("%envreg").is_some_and(|number| number != 1 && number != 2) {
                return Some((Self::Always(0), ScalarType::U32));
            }
            if numbered("%pm").is_some() {
                let ty = if name.ends_with("_64") { ScalarType::U64 } else { ScalarType::U32 };
                return Some((Self::Always(0), ty));
            }
            return PLAIN.iter().find(|(known, ..)| *known == name).map(|(_, special, ty)| (*special, *ty));
        };
        let axis = match member {
            ".x" => 0,
            ".y" => 1,
            ".z" => 2,
            ".w" => 3,
            _ => return None,
        };
        let special = match (name, axis) {
            ("%tid" | "%ctaid" | "%clusterid" | "%cluster_ctaid", 3) => Self::Always(0),
            ("%ntid" | "%nctaid" | "%nclusterid" | "%cluster_nctaid", 3) => Self::Always(1),
            ("%tid", _) => Self::Tid(axis),
            ("%ntid", _) => Self::NTid(axis),
            ("%ctaid", _) => Self::CtaId(axis),
            ("%nctaid", _) => Self::NCtaId(axis),
            ("%clusterid", _) => Self::ClusterId(axis),
            ("%nclusterid", _) => Self::NClusterId(axis),
            ("%cluster_ctaid", _) => Self::ClusterCtaId(axis),
            ("%cluster_nctaid", _) => Self::ClusterNCtaId(axis),
            _ => return None,
        };
        Some((special, ScalarType::U32))
    }

    /// The stride of its value between the lanes of a group, if it is affine. In rows, lanes of a group are neighbours in
    /// the first dimension of the block.
    pub(crate) fn stride(self, rows: bool) -> Option<i64> {
        match self {
            Self::Tid(axis) => rows.then_some(i64::from(axis == 0)),
            Self::LaneId => Some(1),
            Self::LaneMaskEq | Self::LaneMaskLt | Self::LaneMaskLe | Self::LaneMaskGt | Self::LaneMaskGe => None,
            Self::NTid(_)
            | Self::CtaId(_)
            | Self::NCtaId(_)
            | Self::WarpId
            | Self::NWarpId
            | Self::SmId
            | Self::NSmId
            | Self::GridId
            | Self::Clock
            | Self::ClockHi
            | Self::Clock64
            | Self::GlobalTimer
            | Self::GlobalTimerLo
            | Self::GlobalTimerHi
            | Self::DynamicSharedBytes
            | Self::TotalSharedBytes
            | Self::ClusterId(_)
            | Self::NClusterId(_)
            | Self::ClusterCtaId(_)
            | Self::ClusterNCtaId(_)
            | Self::ClusterCtaRank
            | Self::ClusterNCtaRank
            | Self::IsExplicitCluster
            | Self::GridWorkspace(_)
            | Self::ReservedShared(_)
            | Self::Always(_) => Some(0),
        }
    }

    /// Whether it differs from lane to lane of a warp.
    pub(crate) fn is_of_lane(self) -> bool {
        matches!(
            self,
            Self::Tid(_)
                | Self::LaneId
                | Self::LaneMaskEq
                | Self::LaneMaskLt
                | Self::LaneMaskLe
                | Self::LaneMaskGt
                | Self::LaneMaskGe
        )
    }

    /// Whether it differs from block to block.
    pub(crate) fn is_of_block(self) -> bool {
        matches!(self, Self::CtaId(_) | Self::ClusterId(_) | Self::ClusterCtaId(_) | Self::ClusterCtaRank)
    }

    /// Whether each use reads the register anew, instead of a slot that the launch has filled.
    pub(crate) fn is_dynamic(self) -> bool {
        matches!(
            self,
            Self::Clock
                | Self::ClockHi
                | Self::Clock64
                | Self::GlobalTimer
                | Self::GlobalTimerLo
                | Self::GlobalTimerHi
                | Self::IsExplicitCluster
        )
    }
}
