//! The production kernels, which the build script has embedded as compressed PTX. Each kernel is a
//! static of its own, because the linker then leaves out the kernels that a program never names.
//!
//! A kernel is `ptx::<family>::<operation>::<type>`, for example `ptx::reduce::sum::f32`, and its
//! name in the PTX is `<family>_<operation>_<type>`. The families are `reduce`, for whole arrays,
//! `rows`, `segments` and `bins`, `runs`, which find segments, `keyed`, which reduce runs of keys,
//! and `made` and `maderows`, which make results for whole arrays and rows.

#![allow(clippy::unreadable_literal, reason = "the build script writes lengths without separators")]

#[cfg(feature = "testing")]
mod replaced;

#[cfg(feature = "testing")]
pub use replaced::use_kernels_of;

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// One kernel, compiled for one or several architectures.
#[derive(Debug)]
pub struct EmbeddedKernel {
    name: &'static str,
    images: &'static [Image],
}

/// The PTX of a kernel for one architecture.
#[derive(Debug)]
struct Image {
    /// The least compute capability that runs the PTX, major and minor.
    capability: (u32, u32),
    /// The length of the PTX, in bytes.
    text_bytes: usize,
    /// The name of the second entry of the PTX, if it has one.
    single: Option<&'static str>,
    /// The kernel whose PTX for the same architecture is needed to unpack this one, if any is.
    dictionary: Option<&'static EmbeddedKernel>,
    /// The PTX, compressed by deflate, or by LZMA with the feature `compact`.
    packed: &'static [u8],
}

impl EmbeddedKernel {
    /// The name of the kernel's entry.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name of the second entry, if the PTX for a device of this compute capability has one:
    /// for small inputs, or for rows of which each warp has a single tile.
    pub fn single(&self, capability: (u32, u32)) -> Option<&'static str> {
        self.image(capability)?.single
    }

    /// The least compute capability that runs this kernel, major and minor.
    ///
    /// # Panics
    ///
    /// Never: the build script writes no kernel without PTX.
    pub fn least_capability(&self) -> (u32, u32) {
        self.images
            .iter()
            .map(|image| image.capability)
            .min()
            .expect("the build script writes no kernel without PTX")
    }

    /// The PTX for a device of this compute capability (major, minor). Of the architectures for
    /// which the kernel is compiled, it is the highest one that the device can run. `None` if the
    /// device is too old for all of them.
    pub fn text(&self, capability: (u32, u32)) -> Option<String> {
        #[cfg(feature = "testing")]
        if let Some(folder) = replaced::folder() {
            return replaced::text(folder, self.name, capability);
        }
        self.image(capability).map(Image::text)
    }

    /// The image for a device of this compute capability.
    fn image(&self, capability: (u32, u32)) -> Option<&'static Image> {
        let runs = self.images.iter().filter(|image| image.capability <= capability);
        runs.max_by_key(|image| image.capability)
    }
}

impl Image {
    fn text(&self) -> String {
        // Neither step can fail, because the build script has compressed a text of this length, and
        // a program's statics do not change.
        let image = self.dictionary.and_then(|kernel| kernel.image(self.capability));
        let dictionary = image.map(Image::text);
        let bytes = unpacked(self.packed, self.text_bytes, dictionary.as_deref())
            .expect("embedded PTX is undamaged");
        String::from_utf8(bytes).expect("embedded PTX is text")
    }
}

/// The `bytes` bytes that the build script has compressed. It has used no dictionary.
#[cfg(not(feature = "compact"))]
fn unpacked(packed: &[u8], bytes: usize, _dictionary: Option<&str>) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_with_limit(packed, bytes).ok()
}

#[cfg(feature = "compact")]
#[path = "../build/lzma.rs"]
mod lzma;

/// The `bytes` bytes that the build script has compressed with this dictionary.
#[cfg(feature = "compact")]
fn unpacked(packed: &[u8], bytes: usize, dictionary: Option<&str>) -> Option<Vec<u8>> {
    let mut unpacked = Vec::with_capacity(bytes);
    let window = lzma::window(bytes, dictionary.map_or(0, str::len));
    let mut reader = lzma_rust2::LzmaReader::new(
        packed,
        bytes as u64,
        lzma::LC,
        lzma::LP,
        lzma::PB,
        window,
        dictionary.map(str::as_bytes),
    )
    .ok()?;
    std::io::Read::read_to_end(&mut reader, &mut unpacked).ok()?;
    Some(unpacked)
}

/// All production kernels, in the order of their names.
///
/// ```
/// let mut kernels = warpfold::testing::kernels();
/// let sum = kernels.find(|kernel| kernel.name() == "reduce_sum_f32").unwrap();
/// assert!(sum.text((9, 0)).unwrap().contains(".target sm_90"));
/// ```
#[cfg(feature = "testing")]
pub fn kernels() -> impl Iterator<Item = &'static EmbeddedKernel> {
    ALL.iter().copied()
}

#[cfg(test)]
#[path = "../build/archive.rs"]
mod archive;

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        path::{Path, PathBuf},
    };

    use super::{EmbeddedKernel, archive, reduce};

    const KERNEL: &EmbeddedKernel = &reduce::sum::f32;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx")
    }

    /// The texts of an archive as the crate embeds them, by their names.
    fn texts(archive: &Path) -> BTreeMap<String, String> {
        let texts = archive::read(archive).unwrap_or_else(|error| panic!("{error}"));
        texts.into_iter().map(|(name, text)| (name, embedded(text))).collect()
    }

    /// The text that is embedded for a text: the feature `compact` leaves out comments, indentation
    /// and blanks behind commas.
    fn embedded(text: String) -> String {
        if cfg!(feature = "compact") {
            let code = text.lines().map(|line| line.split("//").next().unwrap().trim());
            let code = code.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]);
            code.collect::<String>().replace(", ", ",")
        } else {
            text
        }
    }

    #[test]
    fn a_kernel_is_what_the_folder_holds() {
        for (capability, arch) in [((7, 5), 75), ((8, 9), 75), ((9, 0), 90), ((12, 1), 90)] {
            let mut texts = texts(&folder().join(format!("reduce.sm_{arch}{}", archive::ENDING)));
            let expected = texts.remove(&format!("reduce_sum_f32.sm_{arch}.ptx")).unwrap();
            assert!(expected.contains(&format!(".visible .entry {}(", KERNEL.name())));
            assert_eq!(KERNEL.text(capability), Some(expected), "{capability:?}");
        }
    }

    #[test]
    fn a_device_that_is_too_old_gets_no_text() {
        assert_eq!(KERNEL.least_capability(), (7, 5));
        assert_eq!(KERNEL.text((7, 0)), None);
    }

    #[test]
    #[cfg(feature = "testing")]
    fn every_kernel_unpacks_to_its_own_entry() {
        let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
        let archives = files.filter(|file| file.to_string_lossy().ends_with(archive::ENDING));
        let mut texts: BTreeMap<_, _> = archives.flat_map(|archive| texts(&archive)).collect();
        for kernel in super::kernels() {
            for image in kernel.images {
                let text = image.text();
                assert_eq!(text.len(), image.text_bytes);
                assert_eq!(
                    text.matches(&format!(".visible .entry {}(", kernel.name)).count(),
                    1,
                    "{}",
                    kernel.name
                );
                let (major, minor) = image.capability;
                let file = format!("{}.sm_{major}{minor}.ptx", kernel.name);
                assert_eq!(texts.remove(&file), Some(text), "{file}");
            }
        }
        assert_eq!(texts.keys().next(), None, "it is not embedded");
    }
}
