"""Writes math.csv: arguments of mathematical functions, and their correctly rounded values.

Usage: python3 math_values.py (it needs mpmath, from PyPI). Each line has the name of a function, its
arguments and its value. Doubles are written as their bits.
"""

import random
import struct

import mpmath as mp

mp.mp.prec = 400


def bits(value):
    return struct.pack(">d", value).hex()


def spread(low, high, count, rng):
    """Doubles between two positive numbers, as many for each power of two."""
    return [float(mp.mpf(low) * mp.power(mp.mpf(high) / mp.mpf(low), rng.random())) for _ in range(count)]


def between(low, high, count, rng):
    return [rng.uniform(low, high) for _ in range(count)]


def signed(values):
    return [sign * value for value in values for sign in (1, -1)]


def lgamma(x):
    return mp.log(abs(mp.gamma(x)))


# Of each function: its definition, and functions that make its arguments.
UNARY = {
    "log": (mp.log, lambda r: spread(1e-307, 1e307, 40, r) + between(0.5, 2, 40, r)),
    "log2": (lambda x: mp.log(x, 2), lambda r: spread(1e-307, 1e307, 40, r) + between(0.5, 2, 40, r)),
    "log10": (mp.log10, lambda r: spread(1e-307, 1e307, 40, r) + between(0.5, 2, 40, r)),
    "log1p": (mp.log1p, lambda r: signed(spread(1e-20, 0.99, 30, r)) + spread(1, 1e300, 20, r)),
    "exp": (mp.exp, lambda r: signed(spread(1e-10, 700, 40, r))),
    "exp2": (lambda x: mp.power(2, x), lambda r: signed(spread(1e-10, 1000, 40, r))),
    "exp10": (lambda x: mp.power(10, x), lambda r: signed(spread(1e-10, 300, 40, r))),
    "expm1": (mp.expm1, lambda r: signed(spread(1e-20, 700, 40, r))),
    "sin": (mp.sin, lambda r: signed(spread(1e-8, 1e5, 30, r)) + spread(1e5, 1e300, 20, r)),
    "cos": (mp.cos, lambda r: signed(spread(1e-8, 1e5, 30, r)) + spread(1e5, 1e300, 20, r)),
    "tan": (mp.tan, lambda r: signed(spread(1e-8, 1e5, 30, r)) + spread(1e5, 1e300, 20, r)),
    "asin": (mp.asin, lambda r: signed(spread(1e-8, 1, 20, r)) + between(-1, 1, 40, r)),
    "acos": (mp.acos, lambda r: signed(spread(1e-8, 1, 20, r)) + between(-1, 1, 40, r)),
    "atan": (mp.atan, lambda r: signed(spread(1e-8, 1e8, 40, r))),
    "sinh": (mp.sinh, lambda r: signed(spread(1e-8, 700, 40, r))),
    "cosh": (mp.cosh, lambda r: signed(spread(1e-8, 700, 40, r))),
    "tanh": (mp.tanh, lambda r: signed(spread(1e-8, 30, 40, r))),
    "asinh": (mp.asinh, lambda r: signed(spread(1e-8, 1e300, 40, r))),
    "acosh": (mp.acosh, lambda r: between(1, 2, 40, r) + spread(2, 1e300, 40, r)),
    "atanh": (mp.atanh, lambda r: signed(spread(1e-8, 1, 20, r)) + between(-1, 1, 40, r)),
    "sqrt": (mp.sqrt, lambda r: spread(1e-307, 1e307, 80, r)),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), lambda r: spread(1e-307, 1e307, 80, r)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), lambda r: signed(spread(1e-307, 1e307, 40, r))),
    "rcbrt": (lambda x: mp.sign(x) / mp.cbrt(abs(x)), lambda r: signed(spread(1e-307, 1e307, 40, r))),
    "erf": (mp.erf, lambda r: signed(spread(1e-8, 6, 40, r))),
    "erfc": (mp.erfc, lambda r: signed(spread(1e-8, 26, 40, r))),
    "erfinv": (mp.erfinv, lambda r: signed(spread(1e-8, 1, 20, r)) + between(-1, 1, 40, r)),
    # Outside -11.0001 to -2.2637, for which CUDA documents no bound.
    "lgamma": (lgamma, lambda r: spread(1e-8, 1e300, 60, r) + between(-2.2, 0, 20, r) + between(-40, -11.1, 10, r)),
    "tgamma": (mp.gamma, lambda r: spread(1e-8, 170, 60, r) + between(-20, 0, 20, r)),
}
BINARY = {
    "pow": (mp.power, lambda r: spread(1e-30, 1e30, 80, r), lambda r: signed(spread(1e-5, 10, 40, r))),
    "atan2": (mp.atan2, lambda r: signed(spread(1e-30, 1e30, 40, r)), lambda r: signed(spread(1e-30, 1e30, 40, r))[::-1]),
    "hypot": (mp.hypot, lambda r: signed(spread(1e-30, 1e30, 40, r)), lambda r: signed(spread(1e-30, 1e30, 40, r))),
    "fmod": (lambda x, y: mp.sign(x) * mp.fmod(abs(x), abs(y)), lambda r: signed(spread(1e-10, 1e10, 40, r)), lambda r: signed(spread(1e-10, 1e10, 40, r))),
}

with open("math.csv", "w") as out:
    out.write("function,x,y,value\n")
    for name, (function, *makers) in sorted({**UNARY, **BINARY}.items()):
        rng = random.Random(name)
        for arguments in zip(*(make(rng) for make in makers)):
            value = function(*map(mp.mpf, arguments))
            x, y = [*map(bits, arguments), ""][:2]
            out.write(f"{name},{x},{y},{bits(float(value))}\n")
