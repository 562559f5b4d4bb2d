//! The condition of `--where`: a comparison of each element with a constant.

use std::{fmt, str::FromStr};

use anyhow::{anyhow, bail};
use warpfold::Is;
use warpfold_tools::{
    arrays::Dtype,
    terminal::{Failure, refused},
};

use crate::{args::ReduceArgs, operation::Operation, reference::Number};

/// A condition as it is written. The constants are numbers only when the type of the elements is
/// known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition(Is<String>);

/// A comparison with one constant.
type Comparison = fn(String) -> Is<String>;

/// The comparisons by their signs. A sign comes before those that it begins with.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Is::Equal),
    ("!=", Is::NotEqual),
    ("<=", Is::LessOrEqual),
    (">=", Is::GreaterOrEqual),
    ("<", Is::Less),
    (">", Is::Greater),
];

impl FromStr for Condition {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let of_sign = |(sign, comparison): (&str, Comparison)| {
            Some(comparison(text.trim().strip_prefix(sign)?.trim().to_owned()))
        };
        let range = || {
            let (from, below) = text.split_once("..")?;
            Some(Is::InRange(from.trim().to_owned(), below.trim().to_owned()))
        };
        let found = COMPARISONS.into_iter().find_map(of_sign).or_else(range);
        // Whether a constant is a number depends on the type, but something must be there.
        match found {
            Some(comparison) if constants(&comparison).iter().all(|text| !text.is_empty()) => {
                Ok(Self(comparison))
            }
            _ => bail!(
                "--where '{text}': a condition is one of ==, !=, <, <=, > and >= with a number \
                 behind it, such as '> 0.5', or a range such as 0..10"
            ),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Is::Equal(constant) => write!(f, "== {constant}"),
            Is::NotEqual(constant) => write!(f, "!= {constant}"),
            Is::Less(constant) => write!(f, "< {constant}"),
            Is::LessOrEqual(constant) => write!(f, "<= {constant}"),
            Is::Greater(constant) => write!(f, "> {constant}"),
            Is::GreaterOrEqual(constant) => write!(f, ">= {constant}"),
            Is::InRange(from, below) => write!(f, "{from}..{below}"),
        }
    }
}

/// The constants of a comparison.
fn constants(comparison: &Is<String>) -> Vec<&String> {
    match comparison {
        Is::Equal(constant)
        | Is::NotEqual(constant)
        | Is::Less(constant)
        | Is::LessOrEqual(constant)
        | Is::Greater(constant)
        | Is::GreaterOrEqual(constant) => vec![constant],
        Is::InRange(from, below) => vec![from, below],
    }
}

impl Condition {
    /// The comparison of elements of a type, if each constant is a number of the type.
    pub(crate) fn of<T: Number>(&self, dtype: Dtype) -> Result<Is<T>, Failure> {
        let number = |text: &String| {
            let number = match (dtype, text.as_str()) {
                (Dtype::Bool, "false" | "0") => "0",
                (Dtype::Bool, "true" | "1") => "1",
                (Dtype::Bool, _) => "",
                (_, text) => text,
            };
            number.parse::<T>().map_err(|_| {
                refused(anyhow!("--where '{self}': {text} is no {dtype}, as the elements are"))
            })
        };
        let comparison = match &self.0 {
            Is::Equal(constant) => Is::Equal(number(constant)?),
            Is::NotEqual(constant) => Is::NotEqual(number(constant)?),
            Is::Less(constant) => Is::Less(number(constant)?),
            Is::LessOrEqual(constant) => Is::LessOrEqual(number(constant)?),
            Is::Greater(constant) => Is::Greater(number(constant)?),
            Is::GreaterOrEqual(constant) => Is::GreaterOrEqual(number(constant)?),
            Is::InRange(from, below) => Is::InRange(number(from)?, number(below)?),
        };
        Ok(if dtype == Dtype::Bool { of_truth(comparison) } else { comparison })
    }
}

/// A comparison of truth values as one of their bytes, of which all but 0 are true.
fn of_truth<T: Number>(comparison: Is<T>) -> Is<T> {
    let [zero, one] = ["0", "1"].map(|digit| digit.parse::<T>().ok());
    let (Some(zero), Some(one)) = (zero, one) else { return comparison };
    match (comparison.holds(zero), comparison.holds(one)) {
        (false, false) => Is::Less(zero),
        (false, true) => Is::NotEqual(zero),
        (true, false) => Is::Equal(zero),
        (true, true) => Is::GreaterOrEqual(zero),
    }
}

/// Refuses a condition for an operation that has none.
pub(crate) fn check(operation: Operation, args: &ReduceArgs) -> Result<(), Failure> {
    match &args.condition {
        Some(condition) if !operation.has_condition() => Err(refused(anyhow!(
            "--where '{condition}': {operation} has no condition, and count, any and all have one"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        for (text, shown) in [
            ("> 0.5", "> 0.5"),
            (" <=-3 ", "<= -3"),
            ("==nan", "== nan"),
            ("!=  true", "!= true"),
            ("0.5..1.5", "0.5..1.5"),
            ("-5 .. 5", "-5..5"),
        ] {
            assert_eq!(text.parse::<Condition>().unwrap().to_string(), shown);
        }
        for text in ["", "5", "=> 5", "= 5", ">", "..", "3..", "..3", "x > 3"] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }

    #[test]
    fn constants_have_the_type_of_the_elements() {
        let of = |text: &str| text.parse::<Condition>().unwrap();
        assert_eq!(of("> 0.1").of::<f32>(Dtype::F32).ok(), Some(Is::Greater(0.1f32)));
        assert_eq!(of("-5..7").of::<i8>(Dtype::I8).ok(), Some(Is::InRange(-5, 7)));
        for (text, dtype) in [
            ("> 300", Dtype::U8),
            ("== -1", Dtype::U8),
            ("< 1.5", Dtype::U8),
            ("== 2", Dtype::Bool),
        ] {
            assert!(of(text).of::<u8>(dtype).is_err(), "{text}");
        }
    }

    #[test]
    fn every_byte_but_0_is_true() {
        for (text, of_false, of_true) in [
            ("== true", false, true),
            ("!= 1", true, false),
            ("> false", false, true),
            (">= 0", true, true),
            ("> true", false, false),
            ("false..true", true, false),
        ] {
            let comparison = text.parse::<Condition>().unwrap().of::<u8>(Dtype::Bool).ok().unwrap();
            assert_eq!(comparison.holds(0), of_false, "{text}");
            assert!([1, 2, 255].iter().all(|&byte| comparison.holds(byte) == of_true), "{text}");
        }
    }
}
