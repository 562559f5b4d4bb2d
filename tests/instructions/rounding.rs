//! Directed rounding by this machine's own floating-point unit. So it is independent of the
//! simulator.

/// A rounding mode. The order is that of the numbers in `MXCSR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Nearest,
    Down,
    Up,
    Zero,
}

impl Mode {
    pub(crate) const ALL: [Self; 4] = [Self::Nearest, Self::Down, Self::Up, Self::Zero];

    /// The PTX modifier of the mode, without its dot.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nearest => "rn",
            Self::Down => "rm",
            Self::Up => "rp",
            Self::Zero => "rz",
        }
    }
}

/// An operation of `f32` that rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Sqrt,
    Fma,
}

/// Applies an operation to up to three operands. The mode sets the rounding, and the `bool` says
/// whether subnormals count as zeros.
type Function = fn(Mode, bool, [f32; 3]) -> f32;

/// A function for the operation, or `None` if this machine cannot do it.
///
/// x86 decides whether a result is tiny after rounding it with an unlimited exponent range, and so
/// does an H100.
#[cfg(target_arch = "x86_64")]
pub(crate) fn operation(op: Operation) -> Option<Function> {
    use std::arch::asm;

    /// A function that executes one instruction on `xmm` registers. It sets the rounding, masks all
    /// exceptions, and puts `MXCSR` back.
    macro_rules! rounded {
        ($instruction:literal) => {
            |mode, ftz, [a, b, c]| {
                // Rounding control is bits 13 and 14, flush to zero is bit 15, and denormals are
                // zeros is bit 6 (Intel SDM volume 1, 10.2.3).
                let flush = if ftz { 1 << 15 | 1 << 6 } else { 0 };
                let control: u32 = 0x1f80 | (mode as u32) << 13 | flush;
                let mut saved: u32 = 0;
                let mut result = a;
                // SAFETY: the instruction touches only the three registers, and `MXCSR` is put back
                // at the end.
                unsafe {
                    asm!(
                        "stmxcsr [{saved}]",
                        "ldmxcsr [{control}]",
                        $instruction,
                        "ldmxcsr [{saved}]",
                        saved = in(reg) &raw mut saved,
                        control = in(reg) &raw const control,
                        a = inout(xmm_reg) result,
                        b = in(xmm_reg) b,
                        c = in(xmm_reg) c,
                        options(nostack),
                    );
                }
                result
            }
        };
    }
    Some(match op {
        Operation::Add => rounded!("addss {a}, {b} /* {c} */"),
        Operation::Sub => rounded!("subss {a}, {b} /* {c} */"),
        Operation::Mul => rounded!("mulss {a}, {b} /* {c} */"),
        Operation::Div => rounded!("divss {a}, {b} /* {c} */"),
        Operation::Sqrt => rounded!("sqrtss {a}, {a} /* {b} {c} */"),
        Operation::Fma if is_x86_feature_detected!("fma") => rounded!("vfmadd213ss {a}, {b}, {c}"),
        Operation::Fma => return None,
    })
}

/// `None`, because this is known only for x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn operation(_: Operation) -> Option<Function> {
    None
}
