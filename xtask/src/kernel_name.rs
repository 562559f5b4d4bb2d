//! What a kernel's name tells: `<family><rung>_<op>_<type>[_b<block>]`.

use cuda_builder::KernelTraits;

const OPS: [&str; 4] = ["sum", "min", "max", "prod"];
const ELEMENTS: [&str; 6] = ["i32", "u32", "i64", "u64", "f32", "f64"];

/// The traits of the kernel of this name.
///
/// A module holds one rung for one element type, `reduce6_i32`: what one run loads is one such file. A kernel whose
/// name is not of this form is a module of its own.
pub(crate) fn traits(name: &str) -> KernelTraits {
    let unknown = || KernelTraits {
        module: name.to_owned(),
        ..KernelTraits::default()
    };
    let mut parts = name.split('_');
    let (Some(rung), Some(op), Some(element)) = (parts.next(), parts.next(), parts.next()) else {
        return unknown();
    };
    if !OPS.contains(&op) || !ELEMENTS.contains(&element) {
        return unknown();
    }
    let block_size = match (parts.next(), parts.next()) {
        (None, _) => None,
        (Some(block), None) => match block.strip_prefix('b').and_then(|block| block.parse().ok()) {
            Some(block) => Some(block),
            None => return unknown(),
        },
        (Some(_), Some(_)) => return unknown(),
    };
    KernelTraits {
        module: format!("{rung}_{element}"),
        element: Some(element.to_owned()),
        op: Some(op.to_owned()),
        block_size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_with_a_block_size() {
        let traits = traits("reduce6_sum_f32_b256");
        assert_eq!(traits.module, "reduce6_f32");
        assert_eq!(traits.element.as_deref(), Some("f32"));
        assert_eq!(traits.op.as_deref(), Some("sum"));
        assert_eq!(traits.block_size, Some(256));
    }

    #[test]
    fn a_rung_of_any_block_size() {
        let traits = traits("global_prod_u64");
        assert_eq!((traits.module.as_str(), traits.block_size), ("global_u64", None));
    }

    #[test]
    fn other_names_stand_alone() {
        for name in [
            "transpose",
            "reduce6_sum",
            "reduce6_sum_i16",
            "reduce6_avg_i32",
            "reduce6_sum_i32_x",
            "a_sum_i32_b2_c",
        ] {
            assert_eq!(
                traits(name),
                KernelTraits {
                    module: name.to_owned(),
                    ..KernelTraits::default()
                }
            );
        }
    }
}
