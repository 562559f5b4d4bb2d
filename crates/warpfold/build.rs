//! Embeds the PTX of the production kernels, compressed, into the crate. This script unpacks the
//! archives of the folder `ptx` and writes a module with one static for each kernel, which
//! `src/ptx.rs` includes.
//!
//! A file of an archive is called `<family>_<op>_<type>.<arch>.ptx`, where the family is `reduce`,
//! `fused`, `rows`, `segments`, `bins`, `runs`, `keyed`, `made`, `maderows`, `exchange` or
//! `direct`. It holds the kernel `<family>_<op>_<type>`, and perhaps
//! `<family>_<op>_<type>_single` for small inputs or short rows. Its static is
//! `<family>::<op>::<type>`. Each kernel is a static of its own, compressed by itself, because the
//! linker then leaves out the kernels that a program never names.

#[path = "build/archive.rs"]
mod archive;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
};

use lzma_rust2::{LzmaOptions, LzmaWriter};

/// How the PTX is compressed.
#[derive(Clone, Copy)]
pub(crate) enum Packing {
    /// By deflate, in a short time also by a build script that is compiled without optimisation.
    Quick,
    /// By LZMA, to less room: the feature `compact`. The PTX loses its comments, its indentation
    /// and the blanks behind its commas.
    Compact,
}

impl Packing {
    /// The PTX as a program can get it back, and its compressed bytes.
    fn pack(self, text: String) -> io::Result<(String, Vec<u8>)> {
        match self {
            Packing::Quick => {
                let packed = miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 4);
                Ok((text, packed))
            }
            Packing::Compact => {
                let text = without_blanks(&text);
                let mut options = LzmaOptions::with_preset(6);
                // Text has no alignment that the compressor could use. With two bits of the byte
                // before instead of the usual three, kernels take 0.3 % less.
                options.pb = 0;
                options.lc = 2;
                options.dict_size =
                    u32::try_from(text.len()).map_err(io::Error::other)?.next_power_of_two();
                let length = Some(text.len() as u64);
                let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, length)?;
                writer.write_all(text.as_bytes())?;
                Ok((text, writer.finish()?))
            }
        }
    }
}

/// A text of PTX without comments, indentation and blanks behind commas. The only strings of
/// kernels are the names of pragmas, which have none of these.
fn without_blanks(text: &str) -> String {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    let code: String = code.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect();
    code.replace(", ", ",")
}

/// The compressed PTX of one kernel for one architecture.
struct Image {
    /// The file that holds it.
    packed: PathBuf,
    /// The length of the PTX, in bytes.
    text_bytes: usize,
    /// Whether the PTX has the kernel for small inputs too.
    has_single: bool,
}

/// The architectures of one kernel, each with its PTX.
type Images = BTreeMap<u32, Image>;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("ptx");
    println!("cargo::rerun-if-changed={}", folder.display());
    let is_compact = env::var_os("CARGO_FEATURE_COMPACT").is_some();
    let packing = if is_compact { Packing::Compact } else { Packing::Quick };
    if let Err(error) = embed(&folder, Path::new(&env::var("OUT_DIR")?), packing) {
        println!("cargo::error={error}");
    }
    Ok(())
}

/// Writes the kernels of a folder of archives to the folder `out`: `embedded.rs` and the files that
/// it includes.
pub(crate) fn embed(folder: &Path, out: &Path, packing: Packing) -> Result<(), Box<dyn Error>> {
    let mut families: BTreeMap<String, BTreeMap<String, BTreeMap<String, Images>>> =
        BTreeMap::new();
    for (kernel, image) in pack_all(folder, out, packing)? {
        let Kernel { family, operation, element, arch } = kernel;
        let operations = families.entry(family).or_default();
        operations.entry(operation).or_default().entry(element).or_default().insert(arch, image);
    }

    let mut source = String::new();
    let mut all = String::new();
    for (family, operations) in families {
        writeln!(source, "#[allow(non_upper_case_globals)]\npub(crate) mod {family} {{")?;
        for (operation, elements) in operations {
            writeln!(source, "    pub(crate) mod {operation} {{")?;
            for (element, images) in elements {
                let name = format!("{family}_{operation}_{element}");
                write_kernel(&mut source, &name, &element, &images)?;
                writeln!(all, "    &{family}::{operation}::{element},")?;
            }
            writeln!(source, "    }}")?;
        }
        writeln!(source, "}}")?;
    }
    writeln!(
        source,
        "#[cfg(feature = \"testing\")]\npub(crate) static ALL: &[&EmbeddedKernel] = &[\n{all}];"
    )?;
    fs::write(out.join("embedded.rs"), source)?;
    Ok(())
}

/// Compresses the PTX of all archives in `folder` to files in `out`. Each archive has a thread of
/// its own.
fn pack_all(
    folder: &Path,
    out: &Path,
    packing: Packing,
) -> Result<Vec<(Kernel, Image)>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut archives = entries.collect::<Result<Vec<_>, std::io::Error>>()?;
    archives.retain(|path| path.to_string_lossy().ends_with(archive::ENDING));
    if archives.is_empty() {
        return Err(format!("there are no archives of PTX in {}", folder.display()).into());
    }
    let packed: Result<Vec<_>, String> = thread::scope(|scope| {
        let threads: Vec<_> =
            archives.iter().map(|archive| scope.spawn(|| pack(archive, out, packing))).collect();
        threads.into_iter().map(|thread| thread.join().expect("`pack` does not panic")).collect()
    });
    Ok(packed?.into_iter().flatten().collect())
}

/// Compresses each PTX of one archive to a file in `out`.
fn pack(archive: &Path, out: &Path, packing: Packing) -> Result<Vec<(Kernel, Image)>, String> {
    let mut images = Vec::new();
    for (file, text) in archive::read(archive)? {
        let kernel = Kernel::of_file(&file)
            .ok_or_else(|| format!("{}: `{file}` is the name of no kernel", archive.display()))?;
        let Kernel { family, operation, element, arch } = &kernel;
        let name = format!("{family}_{operation}_{element}");
        let packed = out.join(format!("{name}.{arch}"));
        let text = packing
            .pack(text)
            .and_then(|(text, bytes)| fs::write(&packed, bytes).map(|()| text))
            .map_err(|error| format!("cannot write {}: {error}", packed.display()))?;
        let has_single = text.contains(&format!(".visible .entry {name}_single("));
        images.push((kernel, Image { packed, text_bytes: text.len(), has_single }));
    }
    Ok(images)
}

/// Writes the static `element` of the kernel `name` to `source`.
fn write_kernel(
    source: &mut String,
    name: &str,
    element: &str,
    images: &Images,
) -> Result<(), std::fmt::Error> {
    writeln!(
        source,
        "        pub(crate) static {element}: crate::ptx::EmbeddedKernel = crate::ptx::EmbeddedKernel {{\n            \
         name: {name:?},\n            images: &["
    )?;
    for (arch, Image { packed, text_bytes, has_single }) in images {
        let single = has_single.then(|| format!("{name}_single"));
        writeln!(
            source,
            "                crate::ptx::Image {{ capability: ({}, {}), text_bytes: {text_bytes}, single: {single:?}, packed: include_bytes!({:?}) }},",
            arch / 10,
            arch % 10,
            packed.display().to_string()
        )?;
    }
    writeln!(source, "            ],\n        }};")
}

/// The kernel that a file holds.
pub(crate) struct Kernel {
    pub(crate) family: String,
    pub(crate) operation: String,
    pub(crate) element: String,
    pub(crate) arch: u32,
}

impl Kernel {
    /// Takes the kernel from a file name of the form `<family>_<op>_<type>.sm_<arch>.ptx`.
    pub(crate) fn of_file(file: &str) -> Option<Self> {
        let (kernel, arch) = file.strip_suffix(".ptx")?.rsplit_once(".sm_")?;
        let (family, rest) = kernel.split_once('_')?;
        let (operation, element) = rest.rsplit_once('_')?;
        Some(Self {
            family: family.to_owned(),
            operation: operation.to_owned(),
            element: element.to_owned(),
            arch: arch.parse().ok()?,
        })
    }
}
