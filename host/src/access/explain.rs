//! Pictures of the patterns of access: one request of a warp, from a trace of the pattern's kernel.

use simt::{Access, Arg, LaunchConfig, Memory};

use super::{
    error::AccessError,
    global::{Permutation, packed, permutations},
    on_chip::kernel_of_shared,
    pattern::Pattern,
    words::{check, word},
};
use crate::{
    ptx::PtxLibrary,
    requests::{Picture, Shown, no_memory, traced},
};

/// The number of threads in the launch, which is one warp.
const THREADS: u32 = 32;
/// How many threads of a block may read the same word in a picture of [`Pattern::Broadcast`].
const MOST_TOGETHER: u32 = 256;

/// A pattern with one value of its parameter, of which there is a picture.
#[derive(Clone, Debug)]
pub struct Drawn {
    pattern: Pattern,
    parameter: Parameter,
    seed: u32,
}

#[derive(Clone, Debug)]
enum Parameter {
    Number(u32),
    Order(String, Permutation),
}

impl Drawn {
    /// The pattern with this value of its parameter. If `text` is `None`, the value is one that
    /// shows what the pattern teaches. `seed` decides the random order of [`Pattern::Permuted`].
    ///
    /// ```
    /// use warpfold_lab::access::{Drawn, Pattern};
    ///
    /// assert!(Drawn::parse(Pattern::Permuted, Some("reversed"), 1).is_ok());
    /// let error = Drawn::parse(Pattern::Width, Some("5"), 1).unwrap_err();
    /// assert_eq!(error.to_string(), "width '5': the value must be 4, 8 or 16");
    /// ```
    ///
    /// # Errors
    ///
    /// [`AccessError::NotDrawn`], [`AccessError::Value`].
    pub fn parse(pattern: Pattern, text: Option<&str>, seed: u32) -> Result<Self, AccessError> {
        let refuse = |text: &str, allowed: String| AccessError::Value {
            pattern,
            text: text.to_owned(),
            allowed,
        };
        let number = |default: u32, least: u32, most: u32| {
            let Some(text) = text else { return Ok(Parameter::Number(default)) };
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            number
                .map(Parameter::Number)
                .ok_or_else(|| refuse(text, format!("a whole number from {least} to {most}")))
        };
        let parameter = match pattern {
            Pattern::Offset | Pattern::Stride | Pattern::SharedStride | Pattern::SharedOffset => {
                let is_stride = matches!(pattern, Pattern::Stride | Pattern::SharedStride);
                let (least, most) = pattern.limits().unwrap_or_default();
                number(if is_stride { 2 } else { 1 }, least, most)?
            }
            Pattern::Broadcast => number(2, 1, MOST_TOGETHER)?,
            Pattern::Width => match text.unwrap_or("16") {
                "4" => Parameter::Number(4),
                "8" => Parameter::Number(8),
                "16" => Parameter::Number(16),
                text => return Err(refuse(text, "4, 8 or 16".to_owned())),
            },
            Pattern::Permuted => {
                let text = text.unwrap_or("reversed");
                let orders = permutations(seed);
                let found = orders.iter().find(|(name, _)| name.split(',').next() == Some(text));
                let (name, order) = found.ok_or_else(|| {
                    refuse(text, "identity, reversed, xor 1, xor 16 or random".to_owned())
                })?;
                Parameter::Order(name.clone(), *order)
            }
            _ => return Err(AccessError::NotDrawn { pattern }),
        };
        Ok(Self { pattern, parameter, seed })
    }

    /// The values of a pattern that a page shows, beginning with the best one. There are none for a
    /// pattern without a picture.
    pub fn on_page(pattern: Pattern, seed: u32) -> Vec<Self> {
        let values: &[&str] = match pattern {
            Pattern::Offset => &["0", "1", "8"],
            Pattern::Stride => &["1", "2", "4", "8", "32"],
            Pattern::Permuted => &["identity", "reversed", "xor 1", "xor 16", "random"],
            Pattern::Width => &["4", "8", "16"],
            Pattern::SharedStride => &["1", "2", "3", "8", "32", "33"],
            Pattern::SharedOffset => &["0", "1"],
            Pattern::Broadcast => &["1", "2", "32"],
            _ => &[],
        };
        values.iter().filter_map(|value| Self::parse(pattern, Some(value), seed).ok()).collect()
    }

    /// The pattern and the value, such as `stride 2`.
    fn name(&self) -> String {
        match &self.parameter {
            Parameter::Number(number) => format!("{} {number}", self.pattern),
            Parameter::Order(order, _) => format!("{}, {order}", self.pattern),
        }
    }

    /// The first and the last word that a lane reads, the last not included.
    fn words(&self, lane: u32) -> (u32, u32) {
        let one = |word| (word, word + 1);
        match (&self.parameter, self.pattern) {
            (Parameter::Order(_, order), _) => one(order[lane as usize].into()),
            (Parameter::Number(offset), Pattern::Offset) => one(lane + offset),
            (Parameter::Number(stride), Pattern::Stride) => one(lane * stride),
            (Parameter::Number(bytes), Pattern::Width) => {
                (lane * bytes / 4, (lane + 1) * bytes / 4)
            }
            (Parameter::Number(number), pattern) => one(pattern.first(lane, *number)),
        }
    }

    /// The kernel, and its arguments after the pointers to arrays.
    fn kernel(&self) -> (String, Vec<Arg>) {
        let n = Arg::U64(THREADS.into());
        match (&self.parameter, self.pattern) {
            (Parameter::Order(_, order), pattern) => {
                let order = packed(order).map(Arg::U64);
                (format!("access_{pattern}_read"), [n].into_iter().chain(order).collect())
            }
            (Parameter::Number(bytes), Pattern::Width) => {
                (format!("access_width_read{bytes}"), vec![n])
            }
            (Parameter::Number(number), pattern) => match kernel_of_shared(pattern) {
                Some(kernel) => {
                    (kernel.to_owned(), vec![Arg::U32(*number), Arg::U32(1), Arg::U32(self.seed)])
                }
                None => (format!("access_{pattern}_read"), vec![n, Arg::U32(*number)]),
            },
        }
    }
}

/// Runs the kernel of a pattern on the simulator with one warp, checks what it read, and draws its
/// request.
///
/// # Errors
///
/// [`AccessError::Ptx`], [`AccessError::Device`], [`AccessError::Wrong`].
pub fn explain(library: &PtxLibrary, drawn: &Drawn) -> Result<Picture, AccessError> {
    let (kernel, rest) = drawn.kernel();
    let (pattern, seed) = (drawn.pattern, drawn.seed);
    let words = (0..THREADS).map(|lane| drawn.words(lane).1).max().unwrap_or(0);
    let bytes: Vec<u8> = (0..words).flat_map(|index| word(index, seed).to_le_bytes()).collect();

    let memory = Memory::new(1 << 24);
    let output = memory.alloc(u64::from(THREADS) * 4).map_err(no_memory("allocate the output"))?;
    let mut config = LaunchConfig::new(1, THREADS);
    let mut args = Vec::new();
    let (mut arrays, mut shared) = (Vec::new(), Vec::new());
    if let (Some(_), Parameter::Number(number)) = (kernel_of_shared(pattern), &drawn.parameter) {
        config.dynamic_shared_bytes = pattern.shared_words(THREADS, *number, 1) * 4;
        shared.push(Access::Read);
    } else {
        let input = memory.alloc(bytes.len() as u64).map_err(no_memory("allocate the input"))?;
        memory.write(input, &bytes).map_err(no_memory("write the input"))?;
        args.push(Arg::Pointer(input));
        arrays.push(("input", input..input + bytes.len() as u64));
    }
    args.push(Arg::Pointer(output));
    args.extend(rest);
    let trace = traced::<AccessError>(library, &kernel, &config, &args, &memory)?;

    let mut found = [0_u8; THREADS as usize * 4];
    memory.read(output, &mut found).map_err(no_memory("read the output"))?;
    let found: Vec<u32> =
        found.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let expected = (0..THREADS).map(|lane| {
        let (first, end) = drawn.words(lane);
        (first..end).fold(0, |sum: u32, index| sum.wrapping_add(word(index, seed)))
    });
    check(&kernel, &drawn.name(), &found, expected)?;
    Ok(Picture {
        requests: Shown { arrays: &arrays, shared: &shared }.requests(&trace),
        kernel,
        name: drawn.name(),
        run: format!("1 block of {THREADS} threads"),
    })
}
