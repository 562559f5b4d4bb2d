//! The order of the elements of arrays with several dimensions.

/// Copies elements of an array in Fortran order, where the first index varies fastest, in C order,
/// where the last index does: those with the numbers `start..start + out.len()` in C order.
/// `elements` are all of the array.
///
/// ```
/// use warpfold_tools::arrays::in_c_order;
///
/// // The matrix 1 2 3 / 4 5 6, column by column.
/// let mut rows = [0; 6];
/// in_c_order(&[1, 4, 2, 5, 3, 6], &[2, 3], 0, &mut rows);
/// assert_eq!(rows, [1, 2, 3, 4, 5, 6]);
/// ```
///
/// # Panics
///
/// If the shape is not that of `elements`, or if there are too few elements after `start`.
pub fn in_c_order<T: Copy>(elements: &[T], shape: &[u64], start: u64, out: &mut [T]) {
    let extents: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    assert_eq!(extents.iter().product::<usize>(), elements.len(), "the shape of the elements");
    if out.is_empty() {
        return;
    }
    let strides: Vec<usize> = extents
        .iter()
        .scan(1, |stride, &extent| {
            let this = *stride;
            *stride *= extent;
            Some(this)
        })
        .collect();
    // The index of the next element, and its place in memory.
    let mut rest = start as usize;
    let mut index = vec![0; extents.len()];
    for (at, &extent) in index.iter_mut().zip(&extents).rev() {
        *at = rest % extent;
        rest /= extent;
    }
    assert!(rest == 0, "there is an element {start}");
    let mut place: usize = index.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
    for (k, slot) in out.iter_mut().enumerate() {
        *slot = elements[place];
        if k + 1 == elements.len() - start as usize {
            continue;
        }
        for axis in (0..extents.len()).rev() {
            index[axis] += 1;
            place += strides[axis];
            if index[axis] < extents[axis] {
                break;
            }
            place -= strides[axis] * extents[axis];
            index[axis] = 0;
        }
    }
}
