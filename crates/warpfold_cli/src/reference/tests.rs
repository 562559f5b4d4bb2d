//! A reference that agrees with everything would prove nothing: each must refuse a wrong answer.

use num_bigint::BigInt;

use super::*;
use crate::answer::IntoValue as _;

const INTEGERS: [i32; 5] = [3, -7, 0, 12, 12];
const FLOATS: [f32; 5] = [0.5, -1.25, 3.0, 0.75, 3.0];

fn facts<T: Number>(operation: Operation, dtype: Dtype, elements: &[T]) -> Facts {
    let mut facts = Facts::wanted((operation, None), dtype, None, true).expect("it is verified");
    facts.feed(&elements[..2], Some(&elements[..2]));
    facts.feed(&elements[2..], Some(&elements[2..]));
    facts
}

#[test]
fn right_integers_agree_and_others_do_not() {
    use Operation as O;
    for (operation, value) in [
        (O::Sum, 20),
        (O::WrappingSum, 20),
        (O::CheckedSum, 20),
        (O::Product, 0),
        (O::Min, -7),
        (O::Max, 12),
        (O::Count, 4),
        (O::Norm1, 34),
        (O::SumSquares, 346),
        (O::MaxAbs, 12),
        (O::Dot, 346),
        (O::SquaredDistance, 0),
        (O::BitAnd, 0),
        (O::BitOr, -1),
        (O::BitXor, -6),
    ] {
        let facts = facts(operation, Dtype::I32, &INTEGERS);
        for (value, is_right) in [(value, true), (value + 1, false), (value - 1, false)] {
            let answer = Answer::One(value.value());
            let verdict = facts.verdict(&answer, 10, 0);
            assert_eq!(verdict.agrees, is_right, "{operation} {value}: {verdict:?}");
        }
    }
}

#[test]
fn right_floats_agree_and_others_do_not() {
    use Operation as O;
    let mean: f64 = 1.2;
    let squares: f64 = 0.25 + 1.5625 + 9.0 + 0.5625 + 9.0;
    for (operation, value) in [
        (O::Sum, 6.0),
        (O::Exact, 6.0),
        (O::Compensated, 6.0),
        (O::Wide, 6.0),
        (O::Product, 0.5 * -1.25 * 3.0 * 0.75 * 3.0),
        (O::Mean, mean),
        (O::Var, squares / 5.0 - mean * mean),
        (O::Std, (squares / 5.0 - mean * mean).sqrt()),
        (O::NanSum, 6.0),
        (O::NanMean, mean),
        (O::LogSumExp, FLOATS.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln()),
        (O::Norm1, 8.5),
        (O::SumSquares, squares),
        (O::Norm2, squares.sqrt()),
        (O::Dot, squares),
        (O::Min, -1.25),
        (O::Maximum, 3.0),
    ] {
        let facts = facts(operation, Dtype::F32, &FLOATS);
        let dtype = match operation {
            O::Mean | O::Var | O::Std | O::Wide => Dtype::F64,
            _ => Dtype::F32,
        };
        for (value, is_right) in [(value, true), (value * (1.0 + 1e-4), false), (f64::NAN, false)] {
            let verdict = facts.verdict(&Answer::One(Value::Float(value, dtype)), 10, 0);
            assert_eq!(verdict.agrees, is_right, "{operation} {value}: {verdict:?}");
        }
    }
}

#[test]
fn what_is_not_finite_is_known() {
    use Operation as O;
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let right = |operation, elements: [f32; 3], value: f32| {
        let facts = facts(operation, Dtype::F32, &elements);
        for (value, is_right) in [(value, true), (7.5, value.total_cmp(&7.5).is_eq())] {
            let verdict = facts.verdict(&Answer::One(value.value()), 10, 0);
            assert_eq!(
                verdict.agrees, is_right,
                "{operation} of {elements:?}: {value} {verdict:?}"
            );
        }
    };
    right(O::NanSum, [nan, 1.5, 2.0], 3.5);
    right(O::NanSum, [nan, nan, nan], 0.0);
    right(O::NanSum, [nan, inf, -inf], nan);
    right(O::NanSum, [nan, inf, 1.0], inf);
    right(O::NanMean, [nan, 1.0, 14.0], 7.5);
    right(O::NanMean, [nan, nan, nan], nan);
    right(O::NanMean, [nan, -inf, 1.0], -inf);
    right(O::LogSumExp, [nan, inf, 1.0], nan);
    right(O::LogSumExp, [inf, 1.0, nan], nan);
    right(O::LogSumExp, [-inf, inf, 1.0], inf);
    right(O::LogSumExp, [-inf, -inf, -inf], -inf);
    right(O::LogSumExp, [-inf, 7.5, -inf], 7.5);
    right(O::LogSumExp, [-1e30, 1e30, 0.0], 1e30);
}

#[test]
fn an_exact_sum_must_be_rounded_right() {
    let facts = facts(Operation::Exact, Dtype::F32, &[1.0f32, 1e-3, 1e8, -1e8, 0.0]);
    for (value, is_right) in [(1.001f32, true), (1.001f32.next_up(), false)] {
        let verdict = facts.verdict(&Answer::One(value.value()), 10, 0);
        assert_eq!(verdict.agrees, is_right, "{value}");
    }
}

#[test]
fn the_first_of_equal_elements_counts() {
    for (operation, index, wrong) in [(Operation::ArgMax, 3, 4), (Operation::ArgMin, 1, 2)] {
        let facts = facts(operation, Dtype::I32, &INTEGERS);
        let value = INTEGERS[index as usize].value();
        let verdict = |index| facts.verdict(&Answer::Indexed { index, value: value.clone() }, 1, 0);
        assert!(verdict(index).agrees && !verdict(wrong).agrees, "{operation}");
    }
}

#[test]
fn wrapped_integers_are_noticed() {
    let facts = |elements: &[i64]| {
        let mut facts =
            Facts::wanted((Operation::Dot, None), Dtype::I64, Some(2), false).expect("it may wrap");
        facts.feed(elements, Some(elements));
        facts
    };
    assert_eq!(facts(&[1 << 31, 5]).wrapped(), Some(false));
    assert_eq!(facts(&[1 << 31, 1 << 31]).wrapped(), Some(true));
    let mut product =
        Facts::wanted((Operation::Product, None), Dtype::U64, None, false).expect("it may wrap");
    product.feed(&[u64::MAX, 2], None);
    assert_eq!(product.wrapped(), Some(true));
    product.feed(&[0u64], None);
    assert_eq!(product.wrapped(), Some(false));
    assert!(Facts::wanted((Operation::Dot, None), Dtype::I8, Some(1 << 30), false).is_none());
    let wrapped = Answer::One(Value::Int(BigInt::ZERO));
    assert!(facts(&[1 << 32, 0]).verdict(&wrapped, 1, 0).agrees);
}
