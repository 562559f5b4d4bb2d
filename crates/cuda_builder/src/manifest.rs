//! The facts about the kernels that the build knows and the host needs: the file `manifest.json`
//! beside the PTX files.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The value of [`Manifest::format`] that this version writes and reads.
pub const FORMAT: u32 = 1;

/// The name of the manifest's file.
pub const FILE_NAME: &str = "manifest.json";

/// Everything that a folder of PTX files holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this layout: [`FORMAT`].
    pub format: u32,
    /// The compiler that made the PTX.
    pub toolchain: ToolchainVersions,
    /// The hash of the kernel sources, as `sources::hash` makes it.
    pub sources_sha256: String,
    /// The PTX files, by name and then by architecture.
    pub modules: Vec<Module>,
    /// The kernels, by name.
    pub kernels: Vec<Kernel>,
}

/// The versions of the compiler that made the PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolchainVersions {
    /// The first line of `rustc -vV`.
    pub rustc: String,
    /// LLVM's version. For a foreign codegen backend it is the version of its NVVM, such as
    /// `NVVM 20.0.0`, or `unknown` if the PTX does not tell.
    pub llvm: String,
    /// `rustc-nvptx` for rustc's own backend, else the file name of the codegen backend.
    pub codegen: String,
}

/// One PTX file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// The module's name, which [`Kernel::module`] refers to.
    pub name: String,
    /// The architecture that the file is compiled for, such as `sm_75`.
    pub arch: String,
    /// The file's name in the manifest's folder.
    pub file: String,
    /// The SHA-256 of the file's bytes, in lower-case hex.
    pub sha256: String,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The name of the entry in the PTX.
    pub name: String,
    /// The module that holds it.
    pub module: String,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// The number of threads in a block that the kernel is compiled for; `None` if the launch
    /// decides it.
    pub block_size: Option<u32>,
    /// The element type, as Rust spells it.
    pub element: Option<String>,
    /// The operation.
    pub op: Option<String>,
    /// The kind of shared memory that the kernel uses.
    pub shared: SharedKind,
    /// The bytes of static shared memory of one block.
    pub static_shared_bytes: u32,
}

/// One parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// The name in the source, or `param_<i>` if that is not known.
    pub name: String,
    /// The Rust type in the source (`*const i32`), or the PTX type (`u64`) if that is not known.
    #[serde(rename = "type")]
    pub ty: String,
}

impl Param {
    /// The parameter's size in bytes, or `None` if its type is not one of those listed here.
    pub fn size(&self) -> Option<u32> {
        if self.ty.starts_with("*const ") || self.ty.starts_with("*mut ") {
            return Some(8);
        }
        Some(match self.ty.as_str() {
            "u8" | "i8" | "b8" | "s8" | "bool" => 1,
            "u16" | "i16" | "b16" | "s16" => 2,
            "u32" | "i32" | "b32" | "s32" | "f32" | "char" => 4,
            "u64" | "i64" | "b64" | "s64" | "f64" | "usize" | "isize" => 8,
            _ => return None,
        })
    }
}

/// The kinds of shared memory that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SharedKind {
    /// No shared memory.
    None,
    /// Only arrays whose size is known when the kernel is compiled.
    Static,
    /// Only an array whose size the launch sets.
    Dynamic,
    /// Static arrays and the dynamic one.
    Both,
}

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read the manifest `{path}`: {cause}")]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The text is not a manifest.
    #[error("the manifest is malformed: {0}")]
    Malformed(serde_json::Error),
    /// The manifest is of another version of the layout.
    #[error("the manifest has format {0}, but only format {FORMAT} is known")]
    Format(u32),
}

impl Manifest {
    /// Reads a manifest's text.
    ///
    /// # Errors
    /// The text is not JSON, lacks a field, or has another [`format`](Self::format).
    pub fn from_json(text: &str) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } = serde_json::from_str(text).map_err(ManifestError::Malformed)?;
        if format != FORMAT {
            return Err(ManifestError::Format(format));
        }
        serde_json::from_str(text).map_err(ManifestError::Malformed)
    }

    /// Reads [`FILE_NAME`] in `folder`.
    ///
    /// # Errors
    /// The file cannot be read, or [`Self::from_json`] refuses it.
    pub fn read(folder: &Path) -> Result<Self, ManifestError> {
        let path = folder.join(FILE_NAME);
        let text = std::fs::read_to_string(&path)
            .map_err(|cause| ManifestError::Read { path: path.display().to_string(), cause })?;
        Self::from_json(&text)
    }

    /// The manifest as it is written: one line for each module and kernel, so that a difference
    /// reads well.
    ///
    /// # Panics
    /// Never, because these types always serialise.
    pub fn to_json(&self) -> String {
        fn line(value: &impl Serialize) -> String {
            serde_json::to_string(value).expect("plain data serialises")
        }
        fn lines<T: Serialize>(items: &[T]) -> String {
            items.iter().map(|item| format!("\n    {}", line(item))).collect::<Vec<_>>().join(",")
        }
        format!(
            "{{\n  \"format\": {},\n  \"toolchain\": {},\n  \"sources_sha256\": {},\n  \"modules\": [{}\n  ],\n  \
             \"kernels\": [{}\n  ]\n}}\n",
            self.format,
            line(&self.toolchain),
            line(&self.sources_sha256),
            lines(&self.modules),
            lines(&self.kernels),
        )
    }
}

/// The SHA-256 of `bytes` in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        Manifest {
            format: FORMAT,
            toolchain: ToolchainVersions {
                rustc: "rustc 1.96.0 (abc 2026-05-25)".into(),
                llvm: "22.1.8".into(),
                codegen: "rustc-nvptx".into(),
            },
            sources_sha256: sha256_hex(b""),
            modules: vec![Module {
                name: "m".into(),
                arch: "sm_75".into(),
                file: "m.sm_75.ptx".into(),
                sha256: sha256_hex(b"x"),
            }],
            kernels: ["a", "b"]
                .map(|name| Kernel {
                    name: name.into(),
                    module: "m".into(),
                    params: vec![Param { name: "n".into(), ty: "usize".into() }],
                    block_size: None,
                    element: Some("i32".into()),
                    op: None,
                    shared: SharedKind::Dynamic,
                    static_shared_bytes: 0,
                })
                .to_vec(),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let manifest = example();
        assert_eq!(Manifest::from_json(&manifest.to_json()).unwrap(), manifest);
    }

    #[test]
    fn each_kernel_is_one_line() {
        let text = example().to_json();
        assert!(
            text.contains("\n    {\"name\":\"b\",\"module\":\"m\",\"params\":[{\"name\":\"n\",\"type\":\"usize\"}],")
        );
        assert!(
            text.contains("\"shared\":\"dynamic\",\"static_shared_bytes\":0}\n  ]\n}\n"),
            "{text}"
        );
    }

    #[test]
    fn another_format_is_refused_by_number() {
        let text = example().to_json().replace("\"format\": 1", "\"format\": 9");
        assert_eq!(
            Manifest::from_json(&text).unwrap_err().to_string(),
            "the manifest has format 9, but only format 1 is known"
        );
    }

    #[test]
    fn hash_is_sha256() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
