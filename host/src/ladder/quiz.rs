//! Udacity's quiz: "The global memory version uses how many times as much memory bandwidth as the
//! shared memory version? Round to the nearest integer."

use simt::Counters;

use super::bench::LadderError;
use crate::{
    device::Device,
    element::ElementType,
    experiment::{RunError, Runner, Runs, counters},
    input::generate,
    launch::{DeviceLimits, Plan, Problem, Request, plan},
    op::Op,
    output::{Cell, Column, Document, Table},
    ptx::PtxLibrary,
    variant::Variant,
};

/// The number of threads in one block in the lecture.
pub const UDACITY_BLOCK: u32 = 1024;

/// One of the two versions that the quiz compares.
#[derive(Clone, Debug)]
pub struct Side {
    /// The launches of this version.
    pub plan: Plan,
    /// The counters of all its launches together.
    pub counters: Counters,
}

/// The quiz and its answer, computed from counters.
#[derive(Clone, Debug)]
pub struct Quiz {
    /// Variant `global`, which keeps all intermediate values in global memory.
    pub global: Side,
    /// Variant 3, which keeps all of them in shared memory, in the same order.
    pub shared: Side,
}

impl Side {
    /// The number of bytes that threads read from global memory.
    pub fn bytes_read(&self) -> u64 {
        self.counters.global.load.bytes
    }

    /// The number of bytes that threads write to global memory.
    pub fn bytes_written(&self) -> u64 {
        self.counters.global.store.bytes
    }

    /// The number of bytes that threads read from global memory and write to it.
    pub fn bytes(&self) -> u64 {
        self.bytes_read() + self.bytes_written()
    }

    /// The number of sectors, of 32 bytes each, that these accesses move.
    pub fn sectors(&self) -> u64 {
        self.counters.bytes_moved() / 32
    }
}

/// Runs both versions over `n` elements of a type, on `device`, which must be a simulator that
/// counts. The blocks have [`UDACITY_BLOCK`] threads, and there are as many stages as `n` needs.
///
/// # Errors
///
/// See [`LadderError`]. If the device is interrupted, the error is [`RunError::Interrupted`].
///
/// ```
/// use warpfold_lab::{device::*, element::ElementType, ladder::quiz, ptx::PtxLibrary};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::simulator_with(Instrument::Count);
/// let quiz = quiz(&device, &PtxLibrary::embedded()?, ElementType::F32, 1 << 20)?;
/// assert_eq!(quiz.ratio_of_bytes(), (3071, 1025));
/// assert_eq!(quiz.answer(), 3);
/// # Ok(())
/// # }
/// ```
pub fn quiz(
    device: &Device,
    library: &PtxLibrary,
    element: ElementType,
    n: u64,
) -> Result<Quiz, LadderError> {
    if n == 0 {
        return Err(LadderError::Nothing);
    }
    let planned = |variant| {
        let free = device.free_memory().map_err(RunError::from)?;
        let limits = DeviceLimits::new(device.info(), free);
        let request = Request { block: Some(UDACITY_BLOCK.into()), ..Request::default() };
        let problem = Problem { variant, op: Op::Sum, element, n };
        Ok::<_, LadderError>(plan(&problem, &request, &limits)?)
    };
    let plans = [planned(Variant::Global)?, planned(Variant::Sequential)?];
    let values = generate(element, Op::Sum, n, 1)?;
    let mut runner = Runner::new(device, library);
    let mut count = |plan: Plan| {
        runner.reduce(&plan, &values, Runs::ONCE, |_| ()).map_err(LadderError::Run)?;
        Ok::<_, LadderError>(Side { plan, counters: counters(device).unwrap_or_default() })
    };
    let [global, shared] = plans;
    Ok(Quiz { global: count(global)?, shared: count(shared)? })
}

/// The question, for people.
pub fn question(n: u64, element: ElementType) -> String {
    format!(
        "{n} {element} elements are reduced by blocks of {UDACITY_BLOCK} threads. Variant global keeps all values between its steps in \
         global memory, and variant 3 keeps them in shared memory. The global version uses how many times as much memory bandwidth as \
         the shared version, rounded to the nearest integer?"
    )
}

impl Quiz {
    /// A sentence that says whether an answer is right.
    pub fn judge(&self, answer: u64) -> String {
        let right = self.answer();
        if answer == right {
            format!("{answer} is right.")
        } else {
            format!("{answer} is not right: the answer is {right}, as the tables show.")
        }
    }

    /// The bytes that the threads of the global version read and write, over those of the shared
    /// version, as a fraction in lowest terms.
    pub fn ratio_of_bytes(&self) -> (u64, u64) {
        fraction(self.global.bytes(), self.shared.bytes())
    }

    /// The sectors that the global version moves, over those of the shared version, as a fraction
    /// in lowest terms.
    pub fn ratio_of_sectors(&self) -> (u64, u64) {
        fraction(self.global.sectors(), self.shared.sectors())
    }

    /// The answer: the ratio of bytes, rounded to the nearest integer.
    pub fn answer(&self) -> u64 {
        nearest(self.ratio_of_bytes())
    }

    /// The counters of both versions, the two ratios, and an explanation of the ratios.
    pub fn document(&self) -> Document {
        let problem = &self.global.plan.problem;
        let columns = vec![
            Column::new("variant", "variant"),
            Column::new("launches", "launches"),
            Column::new("bytes_read", "read").in_unit("bytes"),
            Column::new("bytes_written", "written").in_unit("bytes"),
            Column::new("bytes", "read and written").in_unit("bytes"),
            Column::new("sectors", "sectors"),
        ];
        let mut counted = Table::new("traffic", "Global memory", columns);
        for side in [&self.global, &self.shared] {
            counted.push([
                side.plan.problem.variant.facts().label.into(),
                (side.plan.stages.len() as u64).into(),
                side.bytes_read().into(),
                side.bytes_written().into(),
                side.bytes().into(),
                side.sectors().into(),
            ]);
        }
        counted.notes.push(
            "Bytes are those that the threads ask for. Sectors are the units of 32 bytes that the memory moves for them.".into(),
        );

        let columns = vec![
            Column::new("of", "global over shared"),
            Column::new("numerator", "numerator"),
            Column::new("denominator", "denominator"),
            Column::new("ratio", "ratio"),
            Column::new("nearest", "nearest integer"),
        ];
        let mut answer = Table::new("answer", "The answer", columns);
        for (of, ratio) in [("bytes", self.ratio_of_bytes()), ("sectors", self.ratio_of_sectors())]
        {
            let (numerator, denominator) = ratio;
            answer.push([
                of.into(),
                numerator.into(),
                denominator.into(),
                Cell::number(numerator as f64 / denominator as f64, 4),
                nearest(ratio).into(),
            ]);
        }
        answer.notes = self.derivation();
        Document {
            title: format!(
                "How many times as much memory traffic does a reduction in global memory cause as one in shared memory? {}, for {} elements",
                self.answer(),
                problem.n
            ),
            environment: [
                (
                    "lecture",
                    "Udacity, Intro to Parallel Programming, Reduction Using Global and Shared Memory".to_owned(),
                ),
                ("input", format!("{} {} elements", problem.n, problem.element)),
                ("launches", format!("blocks of {UDACITY_BLOCK} threads, until one value is left")),
                ("counted by", "the simulator, exactly".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
            tables: vec![counted, answer],
            ..Document::default()
        }
    }

    fn derivation(&self) -> Vec<String> {
        let (n, size) =
            (self.global.plan.problem.n, u64::from(self.global.plan.problem.element.size()));
        let stages: Vec<String> = self
            .global
            .plan
            .stages
            .iter()
            .map(|stage| match stage.outputs {
                1 => format!("m = {} in 1 block", stage.inputs),
                blocks => format!("m = {} in {blocks} blocks", stage.inputs),
            })
            .collect();
        vec![
            "A block that gets m elements combines two values m - 1 times. In global memory, each combination reads two elements and \
             writes one. Then one thread reads the last value and writes the block's result. This makes 3 (m - 1) + 2 = 3 m - 1 \
             accesses. With shared memory, the block reads m elements from global memory and writes one, which makes m + 1 \
             accesses. For a full block of 1024 elements, the ratio is 3071 / 1025, which is about 3."
                .into(),
            format!(
                "Here, n = {n}, and the launches have {}. The sum of 3 m - blocks over the launches is {} elements, and the sum of \
                 m + blocks is {}.",
                stages.join(", then "),
                self.global.bytes() / size,
                self.shared.bytes() / size
            ),
        ]
    }
}

fn fraction(numerator: u64, denominator: u64) -> (u64, u64) {
    let (mut a, mut b) = (numerator, denominator);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    let divisor = a.max(1);
    (numerator / divisor, denominator / divisor)
}

/// The fraction rounded to the nearest integer. A half is rounded up.
fn nearest((numerator, denominator): (u64, u64)) -> u64 {
    (2 * numerator + denominator) / (2 * denominator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Instrument;

    /// The number of elements that a block of the global version reads and writes in global memory
    /// if the block has `m` elements. This counts the iterations of the lecture's loop.
    fn global_block(m: u64) -> u64 {
        let (mut accesses, mut s) = (0, u64::from(UDACITY_BLOCK) / 2);
        while s > 0 {
            accesses += (0..s).filter(|tid| tid + s < m).count() as u64 * 3;
            s /= 2;
        }
        accesses + 2
    }

    /// The number of elements that each version reads and writes in all its stages.
    fn by_the_loop(mut n: u64) -> (u64, u64) {
        let block = u64::from(UDACITY_BLOCK);
        let (mut global, mut shared) = (0, 0);
        loop {
            let blocks = n.div_ceil(block);
            for index in 0..blocks {
                let m = block.min(n - index * block);
                global += global_block(m);
                shared += m + 1;
            }
            if blocks == 1 {
                return (global, shared);
            }
            n = blocks;
        }
    }

    #[test]
    fn the_counters_agree_with_the_lectures_loop() {
        let (device, library) =
            (Device::simulator_with(Instrument::Count), PtxLibrary::embedded().unwrap());
        for n in [1, 2, 3, 31, 32, 33, 1023, 1024, 1025, 99_999, 1 << 20, (1 << 20) + 1] {
            for element in [ElementType::F32, ElementType::I64] {
                let quiz = quiz(&device, &library, element, n).unwrap();
                let (global, shared) = by_the_loop(n);
                let size = u64::from(element.size());
                assert_eq!(
                    (quiz.global.bytes(), quiz.shared.bytes()),
                    (global * size, shared * size),
                    "n = {n} {element}"
                );
                assert_eq!(quiz.ratio_of_bytes(), fraction(global, shared), "n = {n} {element}");
            }
        }
    }

    #[test]
    fn the_lectures_answer_is_three() {
        let (device, library) =
            (Device::simulator_with(Instrument::Count), PtxLibrary::embedded().unwrap());
        let quiz = quiz(&device, &library, ElementType::F32, 1 << 20).unwrap();
        assert_eq!(
            (quiz.ratio_of_bytes(), quiz.answer(), quiz.global.plan.stages.len()),
            ((3071, 1025), 3, 2)
        );
    }

    #[test]
    fn fractions_are_rounded_and_reduced() {
        assert_eq!(fraction(6, 4), (3, 2));
        assert_eq!(fraction(0, 5), (0, 1));
        assert_eq!([(3, 2), (7, 5), (5, 1), (149, 100)].map(nearest), [2, 1, 5, 1]);
    }
}
