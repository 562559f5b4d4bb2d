//! The rewriting of the linked module, as LLVM's textual IR.
//!
//! rustc knows one address space on this target. What it cannot say is put in here, before any LLVM pass has run:
//! the intrinsics of `intrinsics.ll`, and the shared address space of the statics that carry
//! `#[link_section = ".shared"]`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::error::CudaBuilderError;

/// The definitions that are appended to a module.
const INTRINSICS: &str = include_str!("intrinsics.ll");

/// The array that dynamic shared memory begins at, as the PTX names it.
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

/// Puts the statics of the section `.shared` in shared memory and defines the intrinsics.
///
/// # Errors
/// A static in shared memory has an initial value.
pub fn prepare(ir: &str) -> Result<String, CudaBuilderError> {
    let mut shared = Vec::new();
    let mut lines = Vec::new();
    for line in ir.lines() {
        if line.starts_with("declare ") && line.contains(" @__cuda_std_") {
            continue;
        }
        match shared_static(line)? {
            Some((name, rewritten)) => {
                shared.push(name);
                lines.push(rewritten);
            }
            None => lines.push(line.to_owned()),
        }
    }
    let mut out = String::with_capacity(ir.len());
    for line in lines {
        cast_uses(&line, &shared, &mut out);
        out.push('\n');
    }
    out.push_str(INTRINSICS);
    Ok(out)
}

/// If `line` defines a static of the section `.shared`: its name, and the line with the shared address space.
fn shared_static(line: &str) -> Result<Option<(String, String)>, CudaBuilderError> {
    const SECTION: &str = ", section \".shared\"";
    let Some((name, rest)) = line.strip_prefix('@').and_then(symbol) else {
        return Ok(None);
    };
    if !rest.starts_with(" = ") || !rest.contains(SECTION) {
        return Ok(None);
    }
    // `<linkage> [unnamed_addr] global <type> <initializer>`: only `undef` may be the initializer in PTX.
    let rest = rest.replacen(SECTION, "", 1);
    match rest.split_once(" global ") {
        Some((head, tail)) if tail.split(", align").next().is_some_and(|value| value.ends_with(" undef")) => {
            Ok(Some((name.to_owned(), format!("@{name}{head} addrspace(3) global {tail}"))))
        }
        _ => Err(CudaBuilderError::SharedInitializer(name.to_owned())),
    }
}

/// Appends `line` with each use of a shared static, `ptr @name` or `ptr noundef @name`, made the generic pointer to it.
fn cast_uses(line: &str, shared: &[String], out: &mut String) {
    // What a line begins with is being defined.
    let (start, mut rest) = line.split_at(usize::from(line.starts_with('@')));
    out.push_str(start);
    while let Some((before, after)) = rest.split_once('@') {
        out.push_str(before);
        let (name, tail) = symbol(after).unwrap_or(("", after));
        if shared.iter().any(|known| known == name) {
            write!(out, "addrspacecast (ptr addrspace(3) @{name} to ptr)").expect("a String takes all");
        } else {
            write!(out, "@{name}").expect("a String takes all");
        }
        rest = tail;
    }
    out.push_str(rest);
}

/// Splits the global name that `text` begins with, quoted or not, from what follows.
fn symbol(text: &str) -> Option<(&str, &str)> {
    let end = match text.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => text.find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c))).unwrap_or(text.len()),
    };
    (end > 0).then(|| text.split_at(end))
}

/// The text of an LLVM string constant, in which `\xx` is a byte in hex.
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
        assert_eq!(kernel_infos(MODULE), BTreeMap::from([("k".to_owned(), "in:*const [u8; 2];n:us".to_owned())]));
    }

    #[test]
    fn shared_statics_change_their_address_space_and_no_other_does() {
        let ir = prepare(MODULE).unwrap();
        let cast = "ptr addrspacecast (ptr addrspace(3) @_RS to ptr)";
        assert!(ir.contains("@_RS = internal addrspace(3) global [1024 x i8] undef, align 4\n"), "{ir}");
        assert!(ir.contains(&format!("getelementptr inbounds i32, {cast}, i64 %n")), "{ir}");
        assert!(ir.contains(&format!("store {cast}, ptr @_RS2, align 8")), "{ir}");
        assert!(ir.contains("@_RS2 = internal unnamed_addr global [8 x i8] undef, align 4\n"), "{ir}");
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
            assert!(message.starts_with("`S` is in shared memory and must be uninitialised"), "{message}");
        }
    }

    #[test]
    fn quoted_names_are_symbols() {
        assert_eq!(symbol("\"a b\" = x"), Some(("\"a b\"", " = x")));
        assert_eq!(symbol("a.b$c = x"), Some(("a.b$c", " = x")));
        assert_eq!(symbol("= x"), None);
    }
}
