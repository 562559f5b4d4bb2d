//! Rewrites the linked module, which is LLVM's textual IR.
//!
//! rustc knows only one address space on this target. This module adds what rustc cannot express,
//! before any LLVM pass runs: the intrinsics of `intrinsics.ll`, and the address space of the
//! statics that have `#[link_section = ".shared"]` or `".constant"`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::error::CudaBuilderError;

/// The definitions that are appended to a module.
const INTRINSICS: &str = include_str!("intrinsics.ll");

/// The name in the PTX of the array where dynamic shared memory begins.
pub const DYNAMIC_SHARED: &str = "__cuda_std_dynamic_shared_array";

/// The prefix of the statics in which the `kernel` macro leaves a kernel's parameters.
const KERNEL_INFO: &str = "__kernel_info_";

/// The names of the kernels that `ir` defines, in order of appearance.
pub fn kernels(ir: &str) -> Vec<String> {
    ir.lines()
        .filter(|line| line.starts_with("define ") && line.contains(" ptx_kernel "))
        .filter_map(|line| symbol(line.split_once('@')?.1))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The text of each kernel's `__kernel_info_<name>`, by the kernel's name.
pub fn kernel_infos(ir: &str) -> BTreeMap<String, String> {
    ir.lines()
        .filter_map(|line| {
            let (name, rest) = symbol(line.strip_prefix('@')?)?;
            let kernel = name.strip_prefix(KERNEL_INFO)?;
            let (_, literal) = rest.split_once(" c\"")?;
            Some((kernel.to_owned(), unescape(literal.split_once('"')?.0)))
        })
        .collect()
}

/// The attribute of a kernel whose blocks have at most so many threads.
pub fn most_threads_attribute(most_threads: u32) -> String {
    format!("\"nvvm.maxntid\"=\"{most_threads}\"")
}

/// Tells LLVM the most threads that a block of a kernel has, so that ptxas uses all registers that
/// so many threads can have. The PTX then has `.maxntid`, and also `.minnctapersm 1`, because
/// without it ptxas uses fewer registers.
pub fn bound_blocks(ir: &str, most_threads: impl Fn(&str) -> Option<u32>) -> String {
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        let bound = line
            .strip_prefix("define ")
            .filter(|_| line.contains(" ptx_kernel "))
            .and_then(|rest| symbol(rest.split_once('@')?.1))
            .and_then(|(name, _)| most_threads(name));
        match bound.zip(line.rfind(')')) {
            Some((threads, end)) => {
                let (head, tail) = line.split_at(end + 1);
                write!(out, "{head} {} \"nvvm.minctasm\"=\"1\"", most_threads_attribute(threads))
                    .expect("a String takes all");
                // `unnamed_addr` may only stand before the attributes. It is dropped, because it
                // has no meaning for a kernel.
                out.push_str(&tail.replacen(" unnamed_addr", "", 1));
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// An address space of the device: the section by which statics ask for it, and its number in
/// LLVM's NVPTX backend.
struct Space {
    section: &'static str,
    number: u32,
    /// LLVM's word for the kind of the variable, which can be written or is constant.
    kind: &'static str,
}

const SHARED: Space = Space { section: ", section \".shared\"", number: 3, kind: "global" };
const CONSTANT: Space = Space { section: ", section \".constant\"", number: 4, kind: "constant" };

/// Gives the statics of the sections `.shared` and `.constant` their address spaces, and defines
/// the intrinsics. The names of these statics are in the PTX. They lose the hash of their crate,
/// because it depends on the folder in which the crate is compiled.
///
/// # Errors
/// A static in shared memory has an initial value, or one in constant memory can be written.
pub fn prepare(ir: &str) -> Result<String, CudaBuilderError> {
    let mut placed = Vec::new();
    let mut lines = Vec::new();
    for line in ir.lines() {
        if line.starts_with("declare ") && line.contains(" @__cuda_std_") {
            continue;
        }
        match placed_static(line)? {
            Some((name, space, rewritten)) => {
                placed.push((name, space));
                lines.push(rewritten);
            }
            None => lines.push(line.to_owned()),
        }
    }
    let mut out = String::with_capacity(ir.len());
    for line in lines {
        cast_uses(&line, &placed, &mut out);
        out.push('\n');
    }
    out.push_str(INTRINSICS);
    Ok(out)
}

/// If `line` defines a static of one of the sections, returns its name, the number of its address
/// space, and the line with the address space in it.
fn placed_static(line: &str) -> Result<Option<(String, u32, String)>, CudaBuilderError> {
    let Some((name, rest)) =
        line.strip_prefix('@').and_then(symbol).filter(|(_, rest)| rest.starts_with(" = "))
    else {
        return Ok(None);
    };
    let Some(Space { section, number, kind }) =
        [SHARED, CONSTANT].into_iter().find(|space| rest.contains(space.section))
    else {
        return Ok(None);
    };
    // `<linkage> [unnamed_addr] global|constant <type> <initializer>`
    let rest = rest.replacen(section, "", 1);
    let Some((head, tail)) = rest.split_once(&format!(" {kind} ")) else {
        return Err(refused(name, number));
    };
    // Only `undef` may be the initializer in shared memory.
    if number == SHARED.number
        && !tail.split(", align").next().is_some_and(|value| value.ends_with(" undef"))
    {
        return Err(refused(name, number));
    }
    let stable = without_crate_hash(name);
    Ok(Some((
        name.to_owned(),
        number,
        format!("@{stable}{head} addrspace({number}) {kind} {tail}"),
    )))
}

/// The mangled name of an item without the hash of its crate: `Cs<base-62 number>_<length><crate>`
/// becomes `C<length><crate>` (the Rust reference, "v0 Symbol Format": crate root, disambiguator).
fn without_crate_hash(name: &str) -> Cow<'_, str> {
    let hash = |name: &str| {
        let start = name.find("Cs")? + 1;
        let length = name[start..].find(|c: char| !c.is_ascii_alphanumeric())?;
        let end = start + length + 1;
        let is_hash =
            name[..end].ends_with('_') && name[end..].starts_with(|c: char| c.is_ascii_digit());
        is_hash.then_some(start..end)
    };
    match hash(name).filter(|_| name.starts_with("_R")) {
        Some(hash) => format!("{}{}", &name[..hash.start], &name[hash.end..]).into(),
        None => name.into(),
    }
}

fn refused(name: &str, space: u32) -> CudaBuilderError {
    if space == SHARED.number {
        CudaBuilderError::SharedInitializer(name.to_owned())
    } else {
        CudaBuilderError::MutableConstant(name.to_owned())
    }
}

/// Appends `line` to `out`. Each use of a placed static, `ptr @name` or `ptr noundef @name`,
/// becomes the generic pointer to the static.
fn cast_uses(line: &str, placed: &[(String, u32)], out: &mut String) {
    // A name at the beginning of a line is the one that the line defines, so it is no use.
    let (start, mut rest) = line.split_at(usize::from(line.starts_with('@')));
    out.push_str(start);
    while let Some((before, after)) = rest.split_once('@') {
        out.push_str(before);
        let (name, tail) = symbol(after).unwrap_or(("", after));
        if let Some((_, space)) = placed.iter().find(|(known, _)| known == name) {
            let name = without_crate_hash(name);
            write!(out, "addrspacecast (ptr addrspace({space}) @{name} to ptr)")
                .expect("a String takes all");
        } else {
            write!(out, "@{name}").expect("a String takes all");
        }
        rest = tail;
    }
    out.push_str(rest);
}

/// Splits `text` after the global name at its beginning, which may be quoted.
fn symbol(text: &str) -> Option<(&str, &str)> {
    let end = match text.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => text
            .find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c)))
            .unwrap_or(text.len()),
    };
    (end > 0).then(|| text.split_at(end))
}

/// The text of an LLVM string constant, in which `\xx` stands for a byte in hexadecimal.
pub(crate) fn unescape(literal: &str) -> String {
    let mut bytes = Vec::with_capacity(literal.len());
    let mut rest = literal.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|b| (b as char).to_digit(16)).unwrap_or(0) as u8;
        bytes.push(if byte == b'\\' { digit() << 4 | digit() } else { byte });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"target triple = "nvptx64-nvidia-cuda"
@__kernel_info_k = constant [22 x i8] c"in:*const \5Bu8; 2\5D;n:us", align 1
@_RS = internal global [1024 x i8] undef, section ".shared", align 4
@_RS2 = internal unnamed_addr global [8 x i8] undef, align 4
define ptx_kernel void @k(ptr %in, i64 %n) unnamed_addr #0 {
  %1 = getelementptr inbounds i32, ptr @_RS, i64 %n
  store ptr @_RS, ptr @_RS2, align 8
  %2 = call ptr @__cuda_std_dynamic_shared()
  ret void
}
declare ptr @__cuda_std_dynamic_shared() unnamed_addr #1
define internal void @helper() {
  ret void
}
"#;

    #[test]
    fn kernels_are_the_functions_of_the_kernel_convention() {
        assert_eq!(kernels(MODULE), ["k"]);
    }

    #[test]
    fn infos_are_unescaped() {
        assert_eq!(
            kernel_infos(MODULE),
            BTreeMap::from([("k".to_owned(), "in:*const [u8; 2];n:us".to_owned())])
        );
    }

    #[test]
    fn blocks_of_kernels_are_bounded() {
        let ir = bound_blocks(MODULE, |name| (name == "k").then_some(512));
        let bounded = "define ptx_kernel void @k(ptr %in, i64 %n) \"nvvm.maxntid\"=\"512\" \"nvvm.minctasm\"=\"1\" #0 {";
        assert!(ir.contains(bounded), "{ir}");
        assert_eq!(bound_blocks(MODULE, |_| None), MODULE);
    }

    #[test]
    fn shared_statics_change_their_address_space_and_no_other_does() {
        let ir = prepare(MODULE).unwrap();
        let cast = "ptr addrspacecast (ptr addrspace(3) @_RS to ptr)";
        assert!(
            ir.contains("@_RS = internal addrspace(3) global [1024 x i8] undef, align 4\n"),
            "{ir}"
        );
        assert!(ir.contains(&format!("getelementptr inbounds i32, {cast}, i64 %n")), "{ir}");
        assert!(ir.contains(&format!("store {cast}, ptr @_RS2, align 8")), "{ir}");
        assert!(
            ir.contains("@_RS2 = internal unnamed_addr global [8 x i8] undef, align 4\n"),
            "{ir}"
        );
    }

    #[test]
    fn intrinsics_are_defined_once() {
        let ir = prepare(MODULE).unwrap();
        assert!(!ir.contains("declare ptr @__cuda_std_dynamic_shared"));
        assert_eq!(ir.matches("@__cuda_std_dynamic_shared() alwaysinline").count(), 1);
        assert!(ir.contains("%2 = call ptr @__cuda_std_dynamic_shared()"));
    }

    #[test]
    fn an_initial_value_in_shared_memory_is_refused() {
        for text in [
            "@S = internal global [4 x i8] zeroinitializer, section \".shared\", align 4\n",
            "@S = internal constant [4 x i8] undef, section \".shared\", align 4\n",
            "@S = internal global <{ [1 x i8], [1 x i8] }> <{ [1 x i8] c\"\\01\", [1 x i8] undef }>, section \".shared\"\n",
        ] {
            let message = prepare(text).unwrap_err().to_string();
            assert!(
                message.starts_with("`S` is in shared memory and must be uninitialised"),
                "{message}"
            );
        }
    }

    #[test]
    fn constants_change_their_address_space_and_keep_their_value() {
        let text = "@T = internal unnamed_addr constant [4 x i8] c\"\\01\\02 constant \", section \".constant\", align 4\n\
                    define void @f() {\n  %1 = load i32, ptr @T, align 4\n}\n";
        let ir = prepare(text).unwrap();
        let moved = "@T = internal unnamed_addr addrspace(4) constant [4 x i8] c\"\\01\\02 constant \", align 4\n";
        assert!(ir.starts_with(moved), "{ir}");
        assert!(
            ir.contains("load i32, ptr addrspacecast (ptr addrspace(4) @T to ptr), align 4"),
            "{ir}"
        );
    }

    #[test]
    fn a_constant_that_can_be_written_is_refused() {
        let text =
            "@T = internal global [4 x i8] zeroinitializer, section \".constant\", align 4\n";
        let message = prepare(text).unwrap_err().to_string();
        assert!(
            message.starts_with("`T` is in constant memory and must be a `static`"),
            "{message}"
        );
    }

    #[test]
    fn placed_statics_lose_the_hash_of_their_crate() {
        let name =
            "_RNvNvNtNtCsctmKI09pFEu_7kernels7exports9transpose24transpose_padded_b16_t164TILE";
        let stable = "_RNvNvNtNtC7kernels7exports9transpose24transpose_padded_b16_t164TILE";
        assert_eq!(without_crate_hash(name), stable);
        for other in [stable, "S", "Csa_1b", "_RNvCs_7kernels1S", "_RNvCsab", "_RNvC7kernels2Cs"] {
            let expected = if other == "_RNvCs_7kernels1S" { "_RNvC7kernels1S" } else { other };
            assert_eq!(without_crate_hash(other), expected);
        }
        let text = format!(
            "@{name} = internal global [4 x i8] undef, section \".shared\"\nstore ptr @{name}, ptr %1\n"
        );
        let ir = prepare(&text).unwrap();
        assert!(
            ir.starts_with(&format!("@{stable} = internal addrspace(3) global [4 x i8] undef\n")),
            "{ir}"
        );
        assert!(
            ir.contains(&format!(
                "store ptr addrspacecast (ptr addrspace(3) @{stable} to ptr), ptr %1"
            )),
            "{ir}"
        );
    }

    #[test]
    fn quoted_names_are_symbols() {
        assert_eq!(symbol("\"a b\" = x"), Some(("\"a b\"", " = x")));
        assert_eq!(symbol("a.b$c = x"), Some(("a.b$c", " = x")));
        assert_eq!(symbol("= x"), None);
    }
}
