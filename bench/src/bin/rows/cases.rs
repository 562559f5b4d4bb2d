//! A case: an array, and what is done with it.

/// An operation over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Sum,
    /// The exact sum, rounded once.
    Exact,
    Min,
    Max,
    ArgMin,
    ArgMax,
    MinMax,
    Moments,
    LogSumExp,
    NanSum,
    SumSquares,
    /// The greatest element, with its index.
    Top1,
    /// The five greatest elements.
    Top5,
    /// The eight greatest elements.
    Top8,
}

impl Operation {
    /// The name in the names of cases and of CUB's functions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Exact => "exact",
            Self::Min => "min",
            Self::Max => "max",
            Self::ArgMin => "argmin",
            Self::ArgMax => "argmax",
            Self::MinMax => "minmax",
            Self::Moments => "moments",
            Self::LogSumExp => "logsumexp",
            Self::NanSum => "nansum",
            Self::SumSquares => "norm",
            Self::Top1 => "top1",
            Self::Top5 => "top5",
            Self::Top8 => "top8",
        }
    }
}

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    F32,
    F16,
    F64,
    I32,
    U8,
}

impl Element {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::U8 => "u8",
        }
    }

    pub(crate) fn size(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::F16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 => 8,
        }
    }
}

/// The place of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One after another; the last index changes fastest.
    Dense,
    /// One after another; the first index changes fastest.
    Transposed,
    /// Every second element of a dense array.
    EverySecond,
    /// Rows of a dense matrix whose own rows have so many elements, of which each row has the
    /// first ones.
    Apart(u64),
}

/// The bytes that the memory reads at least.
const SECTOR_BYTES: u64 = 32;

/// A reduction to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) op: Operation,
    pub(crate) element: Element,
    pub(crate) shape: Vec<u64>,
    pub(crate) layout: Layout,
    /// The axes that are reduced.
    pub(crate) axes: Vec<usize>,
    pub(crate) name: String,
}

impl Case {
    pub(crate) fn new(
        op: Operation,
        element: Element,
        shape: &[u64],
        layout: Layout,
        axes: &[usize],
    ) -> Self {
        let sizes: Vec<_> = shape.iter().map(u64::to_string).collect();
        let sizes = sizes.join("x");
        let layout_name = match layout {
            Layout::Dense => "",
            Layout::Transposed => "transposed ",
            Layout::EverySecond => "alternate ",
            Layout::Apart(_) => "apart ",
        };
        let what = if (shape.len(), layout, axes) == (2, Layout::Dense, &[1]) {
            format!("rows {sizes}")
        } else {
            let axes: Vec<_> = axes.iter().map(usize::to_string).collect();
            format!("{layout_name}{sizes} over {}", axes.join(" "))
        };
        let name = format!("{} {} {what}", element.name(), op.name());
        Self { op, element, shape: shape.to_vec(), layout, axes: axes.to_vec(), name }
    }

    /// The number of elements in the array.
    pub(crate) fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The bytes of the elements of the array, without gaps.
    pub(crate) fn bytes(&self) -> u64 {
        self.elements() * self.element.size()
    }

    /// The distance of neighbours along each axis, in elements.
    pub(crate) fn strides(&self) -> Vec<i64> {
        let mut strides = vec![0; self.shape.len()];
        let mut stride = if self.layout == Layout::EverySecond { 2 } else { 1 };
        let last = self.shape.len() - 1;
        let mut place = |axis: usize| {
            strides[axis] = stride;
            stride *= match self.layout {
                Layout::Apart(pitch) if axis == last => pitch as i64,
                _ => self.shape[axis] as i64,
            };
        };
        if self.layout == Layout::Transposed {
            (0..self.shape.len()).for_each(&mut place);
        } else {
            (0..self.shape.len()).rev().for_each(&mut place);
        }
        strides
    }

    /// The number of elements from the first to the last, with the gaps.
    pub(crate) fn span(&self) -> u64 {
        let reach = |(&size, stride): (&u64, i64)| (size - 1) * stride as u64;
        self.shape.iter().zip(self.strides()).map(reach).sum::<u64>() + 1
    }

    /// The bytes that a reduction must read, in whole sectors.
    pub(crate) fn read_bytes(&self) -> u64 {
        let size = self.element.size();
        match (self.layout, self.shape.last()) {
            (Layout::Apart(_), Some(width)) => {
                self.elements() / width * (width * size).next_multiple_of(SECTOR_BYTES)
            }
            _ => self.span() * size,
        }
    }

    /// The number of elements for each result.
    pub(crate) fn length(&self) -> u64 {
        self.axes.iter().map(|&axis| self.shape[axis]).product()
    }

    /// The number of results.
    pub(crate) fn rows(&self) -> u64 {
        self.elements() / self.length()
    }

    /// Whether each row lies in one piece, and the rows lie one after another.
    pub(crate) fn is_rows(&self) -> bool {
        self.layout == Layout::Dense && self.shape.len() == 2 && self.axes == [1]
    }

    /// Halves the longest axis until the array has no more than so many bytes.
    pub(crate) fn scale_down(&mut self, bytes: u64) {
        while self.bytes() > bytes {
            match self.shape.iter_mut().max() {
                Some(longest) if *longest > 1 => *longest /= 2,
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_and_spans() {
        let case = |layout| Case::new(Operation::Sum, Element::F32, &[6, 4], layout, &[0]);
        assert_eq!(case(Layout::Dense).strides(), [4, 1]);
        assert_eq!(case(Layout::Transposed).strides(), [1, 6]);
        assert_eq!(case(Layout::EverySecond).strides(), [8, 2]);
        assert_eq!(case(Layout::Apart(16)).strides(), [16, 1]);
        assert_eq!(case(Layout::Transposed).span(), 24);
        assert_eq!(case(Layout::EverySecond).span(), 47);
        assert_eq!(case(Layout::Apart(16)).span(), 84);
        assert_eq!((case(Layout::Dense).rows(), case(Layout::Dense).length()), (4, 6));
    }

    #[test]
    fn rows_apart_are_read_in_sectors() {
        let apart = Case::new(Operation::Sum, Element::F32, &[6, 4], Layout::Apart(16), &[0]);
        assert_eq!(apart.read_bytes(), 6 * 32);
        let dense = Case::new(Operation::Sum, Element::F32, &[6, 4], Layout::Dense, &[0]);
        assert_eq!(dense.read_bytes(), 96);
    }
}
