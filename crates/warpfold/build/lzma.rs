//! How kernels are compressed by LZMA. A raw stream of LZMA does not say this itself, so the build
//! script and the library have it from here.

/// Bits of the byte before a literal that choose how the literal is coded. With two of them instead
/// of the usual three, kernels take 0.3 % less.
pub(crate) const LC: u32 = 2;

/// Bits of a literal's position that choose how the literal is coded.
pub(crate) const LP: u32 = 0;

/// Bits of the position that choose how everything else is coded. Text has no alignment that these
/// could use.
pub(crate) const PB: u32 = 0;

/// How far a repetition may lie before its first occurrence, in bytes, for a text of so many bytes
/// and its dictionary.
pub(crate) fn window(text: usize, dictionary: usize) -> u32 {
    // No kernel has nearly as many bytes as fit into 31 bits.
    ((text + dictionary) as u32).next_power_of_two()
}
