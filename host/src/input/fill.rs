//! What generated elements are: random numbers, or the simple ones of the lectures.

use std::{fmt, str::FromStr};

use super::{error::InputError, generate::generate, zeroed::zeroed};
use crate::{
    element::{Element, ElementType, Values},
    op::Op,
};

/// What generated elements are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Random numbers, which a seed decides; see [`generate`].
    #[default]
    Random,
    /// 0, 1, 2 and so on. In a type that is too narrow for the number of elements, integers wrap
    /// and floats round.
    Iota,
    /// 1 everywhere.
    Ones,
}

/// The error for a text that is not the name of a [`Fill`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fill '{0}': it is one of iota, ones, random")]
pub struct UnknownFill(pub String);

impl Fill {
    /// All fills.
    pub const ALL: [Self; 3] = [Self::Iota, Self::Ones, Self::Random];

    /// The name, as the command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Iota => "iota",
            Self::Ones => "ones",
        }
    }

    /// Makes `n` elements. Only random ones depend on the seed.
    ///
    /// ```
    /// use warpfold_lab::{element::{ElementType, Values}, input::Fill, op::Op};
    ///
    /// let values = Fill::Iota.values(ElementType::U32, Op::Sum, 4, 1)?;
    /// assert!(matches!(values, Values::U32(values) if values == [0, 1, 2, 3]));
    /// # Ok::<(), warpfold_lab::input::InputError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InputError::HostMemory`].
    pub fn values(
        self,
        element: ElementType,
        op: Op,
        n: u64,
        seed: u64,
    ) -> Result<Values, InputError> {
        match self {
            Self::Random => generate(element, op, n, seed),
            Self::Iota => numbers(element, n, |index| index),
            Self::Ones => numbers(element, n, |_| 1),
        }
    }

    /// A description of the elements, such as `seed 1` or `iota`.
    pub fn describe(self, seed: u64) -> String {
        match self {
            Self::Random => format!("seed {seed}"),
            Self::Iota | Self::Ones => self.name().to_owned(),
        }
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Fill {
    type Err = UnknownFill;

    fn from_str(text: &str) -> Result<Self, UnknownFill> {
        let found = Self::ALL.into_iter().find(|fill| fill.name() == text);
        found.ok_or_else(|| UnknownFill(text.to_owned()))
    }
}

/// The numbers that `of` gives for each index.
fn numbers(element: ElementType, n: u64, of: impl Fn(u64) -> u64) -> Result<Values, InputError> {
    match element {
        ElementType::I32 => made(n, |index| of(index) as i32),
        ElementType::U32 => made(n, |index| of(index) as u32),
        ElementType::I64 => made(n, |index| of(index) as i64),
        ElementType::U64 => made(n, of),
        ElementType::F32 => made(n, |index| of(index) as f32),
        ElementType::F64 => made(n, |index| of(index) as f64),
    }
}

fn made<T: Element>(n: u64, of: impl Fn(u64) -> T) -> Result<Values, InputError> {
    let mut values: Vec<T> = zeroed(n)?;
    for (index, value) in (0..).zip(&mut values) {
        *value = of(index);
    }
    Ok(T::values(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Value;
    use crate::reference::Reference;

    #[test]
    fn the_lectures_sums_come_out() {
        for element in ElementType::ALL {
            let sum = |fill: Fill| {
                let values = fill.values(element, Op::Sum, 2048, 1).unwrap();
                match Reference::new(&values, Op::Sum, 11).value() {
                    Value::F32(sum) => f64::from(sum),
                    Value::F64(sum) => sum,
                    sum => sum.to_string().parse().unwrap(),
                }
            };
            assert_eq!((sum(Fill::Iota), sum(Fill::Ones)), (2_096_128.0, 2048.0), "{element}");
        }
    }

    #[test]
    fn names_parse_back() {
        for fill in Fill::ALL {
            assert_eq!(fill.to_string().parse(), Ok(fill));
        }
        assert_eq!("Iota".parse::<Fill>(), Err(UnknownFill("Iota".into())));
    }
}
