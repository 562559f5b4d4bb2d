"""What this machine has, in sentences."""

from __future__ import annotations

import array
import importlib
import importlib.util
import os
import platform
from collections.abc import Callable
from typing import Any

from ._native import __version__, driver, gpu
from ._standard import sum as wf_sum

Say = Callable[[str], object]

#: The libraries whose arrays are tried: the module, its name, and how an array is made.
_LIBRARIES: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("numpy", "NumPy", lambda module: module.ones(3)),
    ("torch", "torch", lambda module: module.ones(3)),
    ("cupy", "CuPy", lambda module: module.ones(3)),
    ("jax", "JAX", lambda module: module.numpy.ones(3)),
]


class _Problems:
    """What does not work, beside what is said."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.found: list[str] = []

    def tell(self, what: str, error: object) -> None:
        self.found.append(what)
        self.say(f"{what} does not work: {error}")


def _works(problems: _Problems, what: str, device: str) -> bool:
    """Try a sum on a device."""
    try:
        total = wf_sum(array.array("f", [1.5, 2.0]), device=device)
        if float(total) != 3.5:
            raise ArithmeticError(f"the sum of 1.5 and 2 is {float(total)} there")
    except Exception as error:
        problems.tell(what, error)
        return False
    return True


def _gpus(problems: _Problems) -> int:
    """Say what GPUs there are, and return the number of those that work."""
    say = problems.say
    version, count, reason, is_broken = driver()
    if is_broken:
        problems.tell("NVIDIA's driver", reason)
        return 0
    if count == 0:
        say(f"There is no GPU that can be used: {reason}.")
        say("A GPU of NVIDIA needs its driver, of CUDA 12.4 or later, and no toolkit.")
        return 0
    say(f"NVIDIA's driver is here. It supports CUDA {version}, and finds {count} GPU(s).")
    working = 0
    for ordinal in range(count):
        try:
            name, (major, minor), multiprocessors, memory = gpu(ordinal)
        except Exception as error:
            problems.tell(f"GPU {ordinal}", error)
            continue
        say(
            f"GPU {ordinal} is {name}, with compute capability {major}.{minor}, "
            f"{multiprocessors} multiprocessors and {memory / 2**30:.1f} GiB."
        )
        if _works(problems, f"GPU {ordinal}", f"cuda:{ordinal}"):
            say(f"GPU {ordinal} reduces arrays.")
            working += 1
    return working


def _try_array(problems: _Problems, what: str, x: Any) -> None:
    try:
        total = wf_sum(x)
        if float(total) != 3.0:
            raise ArithmeticError(f"the sum of three ones is {float(total)}")
    except Exception as error:
        problems.tell(f"an array of {what}", error)
        return
    same = "a result is one too" if isinstance(total, type(x)) else "a result is none"
    problems.say(f"An array of {what} is taken, and {same}.")


def _library(problems: _Problems, name: str, title: str, make: Callable[[Any], Any]) -> None:
    say = problems.say
    if importlib.util.find_spec(name) is None:
        say(f"{title} is not installed.")
        return
    try:
        module: Any = importlib.import_module(name)
    except Exception as error:
        problems.tell(f"the import of {title}", error)
        return
    say(f"{title} {getattr(module, '__version__', 'of an unknown version')} is installed.")
    if name == "cupy" and not module.is_available():
        say("CuPy finds no GPU, and has no arrays without one.")
        return
    try:
        x = make(module)
    except Exception as error:
        problems.tell(f"an array of {title}", error)
        return
    _try_array(problems, title, x)
    if name == "torch":
        if module.cuda.is_available():
            _try_array(problems, "torch on a GPU", module.ones(3, device="cuda"))
        else:
            say("torch finds no GPU.")


def doctor(say: Say) -> int:
    """Say what is here and what a call would run on.

    Returns
    -------
    0 if all that is here works, else 1.
    """
    # JAX would take most of a GPU's memory for itself.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    problems = _Problems(say)
    say(
        f"This is warpfold {__version__}, in Python {platform.python_version()} on "
        f"{platform.system()} {platform.machine()}."
    )
    gpus = _gpus(problems)
    if _works(problems, "the CPU", "cpu"):
        say("The CPU reduces arrays.")
    if _works(problems, "the simulator", "simulator"):
        say("The simulator runs the kernels of the GPUs, and reduces arrays.")
    for name, title, make in _LIBRARIES:
        _library(problems, name, title, make)
    say("A call with an array of the host would run on the CPU, unless `device` or `use` is given.")
    if gpus > 0:
        say("A call with an array on a GPU would run on that GPU.")
    if problems.found:
        say(f"These do not work: {', '.join(problems.found)}.")
        return 1
    say("All that is here works.")
    return 0
