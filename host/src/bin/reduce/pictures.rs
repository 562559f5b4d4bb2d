//! The pictures of `reduce explain` as part of a page.

use warpfold_lab::{
    element::ElementType,
    explain::{Request, default_values, explain, parse_values},
    op::Op,
    output::Picture,
    ptx::PtxLibrary,
    variant::Variant,
};

/// Pictures of how each rung reduces the lecture's values, with the banks of shared memory. In an
/// unsigned type, the values lose their signs. A rung that cannot be drawn for this operation and
/// type has no picture.
pub(crate) fn of_rungs(
    library: &PtxLibrary,
    variants: impl Iterator<Item = Variant>,
    op: Op,
    element: ElementType,
) -> Vec<Picture> {
    let picture = |variant: Variant| {
        let text = default_values(variant, element, false);
        let text = match element {
            ElementType::U32 | ElementType::U64 => text.replace('-', ""),
            _ => text,
        };
        let values = parse_values(&text, element).ok()?;
        let explained = explain(library, &Request { variant, op, block: None }, &values).ok()?;
        Some(explained.to_picture(&format!("variant-{variant}"), true))
    };
    variants.filter_map(picture).collect()
}
