//! Reductions of the rows of an array on the host.

use warpfold::reducer::{ExactF32, ExactF64};

use crate::{
    array::ArrayRef,
    axes::Axes,
    dtype::Dtype,
    op::{Method, Op, Order},
};

use super::{
    element::{Element, with_element},
    fold::{
        Both, CheckedSum, CompensatedSum, ComplexProduct, Count, Deviations, ExactSum32,
        ExactSum64, Exponentials, Extreme, FloatProduct, FloatSum, Numbers, Place, WrappingProduct,
        WrappingSum,
    },
    top::Top,
    value::{Output, Value},
    walk::Rows,
};

/// A sum that the type of the result cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow(pub(crate) i128);

/// Reduces an array along some of its axes into one output, or two.
///
/// # Safety
///
/// The elements of the array are there, and the outputs have a place for each result, which nobody
/// else accesses meanwhile.
pub(crate) unsafe fn reduce(
    (op, correction): (Op, f64),
    array: &ArrayRef,
    axes: &Axes,
    outputs: &[Output],
) -> Result<(), Overflow> {
    let rows = Rows::new(array, axes);
    // SAFETY: the caller's contract.
    unsafe {
        match array.dtype {
            // A product is the only reduction of complex numbers that is not one of their parts.
            Dtype::C64 => products_of::<f32>(&rows, &outputs[0]),
            Dtype::C128 => products_of::<f64>(&rows, &outputs[0]),
            dtype => return rows_of(op, correction, dtype, &rows, outputs),
        }
    }
    Ok(())
}

/// Writes the products of rows of complex numbers, whose parts are of type `T`. The parts of the
/// results are along the last axis of the output.
///
/// # Safety
///
/// As for [`reduce`].
unsafe fn products_of<T: Element>(rows: &Rows, output: &Output) {
    let done = |row: usize, product: ComplexProduct| {
        for (place, part) in (2 * row..).zip(product.0) {
            // SAFETY: the caller's contract.
            unsafe { output.write(place, Value::Float(part)) };
        }
    };
    // SAFETY: the caller's contract; the parts of a complex number are neighbours.
    unsafe { rows.each::<[T; 2], _>(|_| ComplexProduct([1.0, 0.0]), done) };
}

/// Reduces rows, whose elements are of this type.
///
/// # Safety
///
/// As for [`reduce`].
pub(super) unsafe fn rows_of(
    op: Op,
    correction: f64,
    dtype: Dtype,
    rows: &Rows,
    outputs: &[Output],
) -> Result<(), Overflow> {
    // SAFETY: the caller's contract; truth values are bytes.
    with_element!(dtype, T => unsafe {
        Job::<T> { rows, outputs, correction, elements: std::marker::PhantomData }.run(op)
    })
}

struct Job<'a, T> {
    rows: &'a Rows,
    outputs: &'a [Output],
    correction: f64,
    elements: std::marker::PhantomData<T>,
}

/// The sum or the product of integers as a value.
fn wrapped<T: Element>(bits: u64) -> Value {
    if T::IS_SIGNED { Value::Signed(bits as i64) } else { Value::Unsigned(bits) }
}

impl<T: Element> Job<'_, T> {
    /// Gives all rows to folds, and writes what `value` makes of each fold.
    unsafe fn each<F: super::walk::Fold<T>>(
        &self,
        mut make: impl FnMut() -> F,
        value: impl Fn(&F) -> Value,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            self.rows.each(|_| make(), |row, fold: F| self.outputs[0].write(row, value(&fold)));
        }
    }

    /// The mean of each row, in 64 bits.
    unsafe fn means(&self) -> Vec<f64> {
        let mut means = Vec::with_capacity(self.rows.count());
        let length = self.rows.length() as f64;
        // SAFETY: the caller's contract.
        unsafe {
            let make = |_| FloatSum::new(T::float);
            self.rows.each(make, |_, sum: FloatSum<_>| means.push(sum.value() / length));
        }
        means
    }

    unsafe fn run(&self, op: Op) -> Result<(), Overflow> {
        let length = self.rows.length();
        let float = T::IS_FLOAT;
        // SAFETY: the caller's contract, for all calls of this function.
        unsafe {
            match op {
                Op::Sum(Method::Checked) => return self.checked(),
                Op::Sum(method) => self.sums(method),
                Op::Dot => self.sums(Method::Fast),
                Op::Prod if float => {
                    self.each(|| FloatProduct(1.0), |product| Value::Float(product.0));
                }
                Op::Prod => self.each(|| WrappingProduct(1), |product| wrapped::<T>(product.0)),
                Op::Mean => {
                    let length = length as f64;
                    let value = |sum: &FloatSum<_>| Value::Float(sum.value() / length);
                    self.each(|| FloatSum::new(T::float), value);
                }
                Op::Var | Op::Std | Op::Moments => self.deviations(op),
                Op::Min | Op::Max => {
                    let make = || Extreme::<T>::new(op == Op::Max);
                    self.each(make, |extreme| extreme.or_nan().value());
                }
                Op::NanMin | Op::NanMax => {
                    let make = || Extreme::<T>::new(op == Op::NanMax);
                    self.each(make, |extreme| extreme.number().value());
                }
                Op::ArgMin | Op::ArgMax => {
                    let make = || Place::<T>::new(op == Op::ArgMax);
                    self.each(make, |place| {
                        place.index().map_or(Value::Signed(-1), Value::Unsigned)
                    });
                }
                Op::MinMax => self.rows.each(
                    |_| Both::<T>::new(),
                    |row, both: Both<T>| {
                        for (output, extreme) in self.outputs.iter().zip([&both.0, &both.1]) {
                            output.write(row, extreme.or_nan().value());
                        }
                    },
                ),
                Op::CountNonzero => {
                    let make = || Count::new(|x: T| !x.is_zero());
                    self.each(make, |count| Value::Unsigned(count.count));
                }
                Op::Any => {
                    let make = || Count::new(|x: T| !x.is_zero());
                    self.each(make, |count| Value::Unsigned(u64::from(count.count > 0)));
                }
                Op::All => {
                    let make = || Count::new(|x: T| x.is_zero());
                    self.each(make, |count| Value::Unsigned(u64::from(count.count == 0)));
                }
                Op::Norm(Order::One) => {
                    let make = || FloatSum::new(|x: T| x.float().abs());
                    self.each(make, |sum| Value::Float(sum.value()));
                }
                Op::Norm(Order::Two) => {
                    let make = || FloatSum::new(|x: T| x.float() * x.float());
                    self.each(make, |sum| Value::Float(sum.value().sqrt()));
                }
                Op::Norm(Order::Infinity) => self.each(Both::<T>::new, |both| {
                    if length == 0 {
                        return Value::Float(0.0);
                    }
                    let of = |extreme: &Extreme<T>| extreme.or_nan().float().abs();
                    let (least, greatest) = (of(&both.0), of(&both.1));
                    Value::Float(if least.is_nan() || least > greatest { least } else { greatest })
                }),
                Op::LogSumExp => {
                    self.each(Exponentials::new, |sum| Value::Float(sum.logarithm()));
                }
                Op::NanSum => self.each(Numbers::default, |sum| Value::Float(sum.sum.value())),
                Op::NanMean => self
                    .each(Numbers::default, |sum| Value::Float(sum.sum.value() / sum.count as f64)),
                Op::Top { k, is_largest } => self.rows.each(
                    |_| Top::<T>::new(k as usize, is_largest),
                    |row, top: Top<T>| {
                        for (place, &(value, index)) in (row * k as usize..).zip(top.best()) {
                            self.outputs[0].write(place, value.value());
                            self.outputs[1].write(place, Value::Unsigned(index));
                        }
                    },
                ),
            }
        }
        Ok(())
    }

    /// The sums of all rows.
    unsafe fn sums(&self, method: Method) {
        let float = T::IS_FLOAT;
        // SAFETY: the caller's contract, for all calls of this function.
        unsafe {
            match method {
                Method::Reproducible if float && size_of::<T>() == 8 => {
                    let value = |sum: &ExactSum64| Value::Float(sum.0.value());
                    self.each(|| ExactSum64(ExactF64::IDENTITY), value);
                }
                Method::Reproducible if float => {
                    let value = |sum: &ExactSum32| Value::Float(sum.0.value().into());
                    self.each(|| ExactSum32(ExactF32::IDENTITY), value);
                }
                Method::Compensated if float => {
                    self.each(CompensatedSum::default, |sum| Value::Float(sum.0.value()));
                }
                _ if float => {
                    self.each(|| FloatSum::new(T::float), |sum| Value::Float(sum.value()));
                }
                _ => self.each(WrappingSum::default, |sum| wrapped::<T>(sum.0)),
            }
        }
    }

    /// The variance, its root, or the mean and the variance of each row.
    unsafe fn deviations(&self, op: Op) {
        // SAFETY: the caller's contract.
        let means = unsafe { self.means() };
        let make = |row: usize| Deviations::new(means[row]);
        let done = |row: usize, deviations: Deviations| {
            let variance = deviations.variance(self.correction);
            // SAFETY: as above.
            unsafe {
                match op {
                    Op::Moments => {
                        self.outputs[0].write(row, Value::Float(means[row]));
                        self.outputs[1].write(row, Value::Float(variance));
                    }
                    Op::Std => self.outputs[0].write(row, Value::Float(variance.sqrt())),
                    _ => self.outputs[0].write(row, Value::Float(variance)),
                }
            }
        };
        // SAFETY: as above.
        unsafe { self.rows.each::<T, _>(make, done) };
    }

    /// The sum of integers, which the output must be able to hold.
    unsafe fn checked(&self) -> Result<(), Overflow> {
        let mut overflow = None;
        let output = &self.outputs[0];
        let done = |row: usize, sum: CheckedSum| {
            if fits(output.dtype, sum.0) {
                // SAFETY: the caller's contract.
                unsafe { output.write(row, Value::Unsigned(sum.0 as u64)) };
            } else {
                overflow.get_or_insert(Overflow(sum.0));
            }
        };
        // SAFETY: as above.
        unsafe { self.rows.each::<T, _>(|_| CheckedSum::default(), done) };
        overflow.map_or(Ok(()), Err)
    }
}

/// Whether a type of integers can hold a number. A type of floats can.
pub(crate) fn fits(dtype: Dtype, number: i128) -> bool {
    let bits = 8 * dtype.bytes() as u32;
    match dtype.kind() {
        crate::dtype::Kind::Signed => {
            let most = 1i128 << (bits - 1);
            (-most..most).contains(&number)
        }
        crate::dtype::Kind::Unsigned | crate::dtype::Kind::Bool => {
            (0..1i128 << bits).contains(&number)
        }
        crate::dtype::Kind::Float | crate::dtype::Kind::Complex => true,
    }
}
