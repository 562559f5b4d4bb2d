//! Directed rounding by this machine's own floating-point unit, and so independent of the
//! simulator.

/// A rounding mode, as PTX and as `MXCSR` spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Nearest,
    Down,
    Up,
    Zero,
}

impl Mode {
    pub(crate) const ALL: [Self; 4] = [Self::Nearest, Self::Down, Self::Up, Self::Zero];

    /// The PTX modifier, without its dot.
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

/// The operation on up to three operands, with a rounding, and with subnormals as zeros or not.
type Function = fn(Mode, bool, [f32; 3]) -> f32;

/// The operation with each rounding, with subnormals as zeros or not, or `None` where this machine
/// cannot do it.
///
/// x86 decides whether a result is tiny after rounding it with an unlimited exponent range, and so
/// does an H100.
#[cfg(target_arch = "x86_64")]
pub(crate) fn operation(op: Operation) -> Option<Function> {
    use std::arch::asm;

    /// One instruction of `xmm` registers with the rounding set, all exceptions masked, and `MXCSR`
    /// put back.
    macro_rules! rounded {
        ($instruction:literal) => {
            |mode, ftz, [a, b, c]| {
                // Rounding control is bits 13 and 14, flush to zero is bit 15, subnormal operands
                // as zeros bit 6 (Intel SDM volume 1, 10.2.3).
                let flush = if ftz { 1 << 15 | 1 << 6 } else { 0 };
                let control: u32 = 0x1f80 | (mode as u32) << 13 | flush;
                let mut saved: u32 = 0;
                let mut result = a;
                // SAFETY: The instruction touches the three registers alone, and `MXCSR` is as
                // before at the end.
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

/// The operation with each rounding, or `None` where this machine cannot do it.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn operation(_: Operation) -> Option<Function> {
    None
}
