//! Reads the facts that the build needs from finished PTX: its entries, their parameters and their
//! shared memory.
//!
//! It reads declarations only and does not check the PTX. It understands PTX as LLVM and libNVVM
//! print it.

use crate::ir::DYNAMIC_SHARED;
use crate::manifest::SharedKind;

/// One `.entry` of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The kernel's name.
    pub name: &'a str,
    /// The PTX type of each parameter, without its dot: `u64`.
    pub params: Vec<&'a str>,
    /// The bytes of static shared memory.
    pub static_shared_bytes: u32,
    /// The kinds of shared memory that the body names.
    pub shared: SharedKind,
}

/// The entries of a PTX file in order.
pub fn entries(ptx: &str) -> Vec<Entry<'_>> {
    let (module, bodies) = split(ptx);
    let arrays: Vec<SharedArray<'_>> = module.lines().filter_map(shared_array).collect();
    bodies
        .into_iter()
        .map(|(head, body)| {
            let (name, params) = head.split_once('(').unwrap_or((head, ""));
            let params = params
                .lines()
                .filter_map(|line| line.trim().strip_prefix(".param "))
                .map(param_type)
                .collect();
            let own = body.lines().filter_map(shared_array);
            let used: Vec<_> =
                own.chain(arrays.iter().copied().filter(|array| names(body, array.name))).collect();
            let dynamic =
                used.iter().any(|array| array.bytes.is_none()) || names(body, DYNAMIC_SHARED);
            let bytes: u32 = used.iter().filter_map(|array| array.bytes).sum();
            let shared = match (bytes > 0, dynamic) {
                (false, false) => SharedKind::None,
                (true, false) => SharedKind::Static,
                (false, true) => SharedKind::Dynamic,
                (true, true) => SharedKind::Both,
            };
            Entry { name: name.trim(), params, static_shared_bytes: bytes, shared }
        })
        .collect()
}

/// The version of NVVM that printed the PTX, as the comment at its head names it, such as
/// `NVVM 7.0.1`. If there is no such comment, another compiler printed it.
pub fn nvvm_version(ptx: &str) -> Option<&str> {
    let head =
        ptx.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with("//"));
    head.filter_map(|line| line.strip_prefix("// Based on "))
        .find(|version| version.starts_with("NVVM "))
}

/// An array in shared memory. An array without `bytes` is the dynamic one.
#[derive(Clone, Copy)]
struct SharedArray<'a> {
    name: &'a str,
    bytes: Option<u32>,
}

/// Reads `.shared .align 4 .b8 name[1024];`, with or without linkage before it. An external array
/// is the dynamic one, whatever its length is, because the launch sets its size; rust-cuda declares
/// 16 bytes.
fn shared_array(line: &str) -> Option<SharedArray<'_>> {
    let line = line.trim();
    let external = line.starts_with(".extern ");
    let declaration =
        [".extern ", ".visible ", ".weak "].iter().find_map(|linkage| line.strip_prefix(linkage));
    let declaration = declaration.unwrap_or(line).strip_prefix(".shared ")?.trim_end_matches(';');
    let mut words = declaration.split_whitespace();
    let variable = words.next_back()?;
    let width: u32 =
        words.next_back()?.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    let (name, length) = match variable.split_once('[') {
        Some((name, length)) => (name, length.trim_end_matches(']').parse::<u32>().ok()),
        None => (variable, Some(1)),
    };
    Some(SharedArray { name, bytes: length.filter(|_| !external).map(|length| length * width / 8) })
}

/// The type in a declaration such as `.u64 .ptr .align 1 k_param_0,`, which is its first word.
fn param_type(declaration: &str) -> &str {
    let words = declaration.split_whitespace();
    let mut types = words
        .filter_map(|word| word.strip_prefix('.'))
        .filter(|word| !["align", "ptr"].contains(word));
    types.next().unwrap_or_default()
}

/// True if `text` has `name` as a whole word.
fn names(text: &str, name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(word) && !text[at + name.len()..].starts_with(word))
}

/// Splits a file into the text outside of entries and, for each entry, the head after `.entry` and
/// the body.
fn split(ptx: &str) -> (String, Vec<(&str, &str)>) {
    const ENTRY: &str = ".entry ";
    let (mut module, mut bodies) = (String::new(), Vec::new());
    let mut rest = ptx;
    while let Some(at) = rest.find(ENTRY) {
        module.push_str(&rest[..at]);
        let entry = &rest[at + ENTRY.len()..];
        let Some(open) = entry.find('{') else { break };
        let mut depth = 0;
        let end = entry[open..].find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let end = end.map_or(entry.len(), |end| open + end);
        bodies.push((&entry[..open], &entry[open..end]));
        rest = &entry[end..];
    }
    module.push_str(rest);
    (module, bodies)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.extern .shared .align 16 .b8 __cuda_std_dynamic_shared_array[];
.shared .align 4 .b8 both[64];
.visible .entry none(
\t.param .u64 .ptr .align 1 none_param_0,
\t.param .f32 none_param_1
)
{
\t{ // callseq 0, 0
\t} // callseq 0
\tret;
}
.visible .entry dynamic()
{
\tmov.b64 \t%rd12, __cuda_std_dynamic_shared_array;
}
.visible .entry own(
\t.param .align 8 .b8 own_param_0[16]
)
{
\t.shared .align 4 .b8 own_S[1024];
\tst.shared.b32 [own_S], 0;
\tst.shared.b32 [both_not], 0;
}
.visible .entry all(
\t.param .u32 all_param_0
)
{
\tld.shared.b32 %r1, [both+4];
\tld.shared.b32 %r2, [__cuda_std_dynamic_shared_array];
}
";

    #[test]
    fn entries_have_their_parameters_types() {
        let entries = entries(PTX);
        assert_eq!(
            entries.iter().map(|entry| entry.name).collect::<Vec<_>>(),
            ["none", "dynamic", "own", "all"]
        );
        assert_eq!(entries[0].params, ["u64", "f32"]);
        assert_eq!(entries[1].params, [""; 0]);
        assert_eq!(entries[2].params, ["b8"]);
    }

    #[test]
    fn an_external_array_of_a_length_is_the_dynamic_one() {
        let ptx = ".extern .shared .align 16 .b8 dyn_shared[16];\n.shared .align 4 .b8 tile[64];\n
.visible .entry dynamic()\n{\n\tst.shared.u32 [dyn_shared], 0;\n}
.visible .entry both()\n{\n\tst.shared.u32 [dyn_shared], 0;\n\tst.shared.u32 [tile], 0;\n}\n";
        let shared: Vec<_> =
            entries(ptx).iter().map(|entry| (entry.shared, entry.static_shared_bytes)).collect();
        assert_eq!(shared, [(SharedKind::Dynamic, 0), (SharedKind::Both, 64)]);
    }

    #[test]
    fn the_head_of_the_ptx_tells_the_version_of_nvvm() {
        let head = "//\n// Generated by NVIDIA NVVM Compiler\n//\n// Based on NVVM 20.0.0\n//\n\n.version 9.0\n";
        assert_eq!(nvvm_version(head), Some("NVVM 20.0.0"));
        assert_eq!(nvvm_version(PTX), None);
        assert_eq!(nvvm_version("// Based on a draft\n"), None);
        assert_eq!(
            nvvm_version(".version 9.0\n// Based on NVVM 7.0.1\n"),
            None,
            "the head alone counts"
        );
    }

    #[test]
    fn shared_memory_is_told_by_kind_and_size() {
        let shared: Vec<_> =
            entries(PTX).iter().map(|entry| (entry.shared, entry.static_shared_bytes)).collect();
        assert_eq!(
            shared,
            [
                (SharedKind::None, 0),
                (SharedKind::Dynamic, 0),
                (SharedKind::Static, 1024),
                (SharedKind::Both, 64)
            ]
        );
    }
}
