use std::fmt;
use std::str::FromStr;

/// An architecture (compute capability) to compile for.
///
/// The name is rust-cuda's; [`Display`](fmt::Display) and [`FromStr`] use LLVM's and ptxas'
/// spelling, `sm_80`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NvvmArch {
    /// Turing, the baseline.
    Compute75,
    /// Ampere (A100).
    Compute80,
    /// Ampere (GeForce RTX 30).
    Compute86,
    /// Ampere (Jetson Orin).
    Compute87,
    /// Ada Lovelace.
    Compute89,
    /// Hopper.
    Compute90,
    /// Hopper with its architecture-specific features. The code runs on no other architecture.
    Compute90a,
    /// Blackwell (B200).
    Compute100,
    /// Blackwell (GeForce RTX 50).
    Compute120,
}

impl NvvmArch {
    /// Every architecture, oldest first.
    pub const ALL: [Self; 9] = [
        Self::Compute75,
        Self::Compute80,
        Self::Compute86,
        Self::Compute87,
        Self::Compute89,
        Self::Compute90,
        Self::Compute90a,
        Self::Compute100,
        Self::Compute120,
    ];

    /// The name that LLVM and ptxas use, such as `sm_80`.
    pub fn sm(self) -> &'static str {
        match self {
            Self::Compute75 => "sm_75",
            Self::Compute80 => "sm_80",
            Self::Compute86 => "sm_86",
            Self::Compute87 => "sm_87",
            Self::Compute89 => "sm_89",
            Self::Compute90 => "sm_90",
            Self::Compute90a => "sm_90a",
            Self::Compute100 => "sm_100",
            Self::Compute120 => "sm_120",
        }
    }

    /// The name that libNVVM uses, such as `compute_80`.
    pub fn compute(self) -> String {
        self.sm().replacen("sm_", "compute_", 1)
    }

    /// The PTX ISA version to print, by LLVM's name for the feature. It is the lowest version that
    /// knows the architecture, so that old drivers load the result, but at least 7.0 (CUDA 11.0,
    /// driver 450). With line info it is at least 7.2 (CUDA 11.2, driver 460), because `.loc` must
    /// tell where code was inlined.
    ///
    /// PTX ISA, "Release Notes", table "PTX Release History", and "Debugging Directives: .loc".
    pub(crate) fn ptx_feature(self, line_info: bool) -> &'static str {
        match self {
            Self::Compute75 | Self::Compute80 | Self::Compute86 if line_info => "+ptx72",
            Self::Compute75 | Self::Compute80 => "+ptx70",
            Self::Compute86 => "+ptx71",
            Self::Compute87 => "+ptx74",
            Self::Compute89 => "+ptx78",
            // This is the first version with bulk copies. The version before it knows sm_90, but no
            // bulk copies.
            Self::Compute90 | Self::Compute90a => "+ptx80",
            Self::Compute100 => "+ptx86",
            Self::Compute120 => "+ptx87",
        }
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sm())
    }
}

/// A name that belongs to no architecture of [`NvvmArch::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown architecture `{0}`: it must be one of {list}",
    list = NvvmArch::ALL.map(NvvmArch::sm).join(", ")
)]
pub struct UnknownArch(pub String);

impl FromStr for NvvmArch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        Self::ALL
            .into_iter()
            .find(|arch| arch.sm() == name)
            .ok_or_else(|| UnknownArch(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_architecture() {
        for arch in NvvmArch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_list() {
        let message = "compute_80".parse::<NvvmArch>().unwrap_err().to_string();
        assert!(
            message
                .starts_with("unknown architecture `compute_80`: it must be one of sm_75, sm_80,"),
            "{message}"
        );
    }

    #[test]
    fn libnvvm_names_keep_the_suffix() {
        assert_eq!(NvvmArch::Compute90a.compute(), "compute_90a");
    }
}
