"""`python -m warpfold doctor`: what it says, and its status."""

from __future__ import annotations

import array
import importlib.util
import subprocess
import sys
from typing import Any

import pytest
import warpfold as wf
from warpfold import __main__, _doctor, _native


def lines(monkeypatch: pytest.MonkeyPatch, **natives: Any) -> tuple[int, str]:
    """Return the status, and what is said, if the native part says this."""
    for name, function in natives.items():
        monkeypatch.setattr(_doctor, name, function)
    # The libraries take seconds to be imported, and are tried by other tests.
    monkeypatch.setattr(_doctor, "_LIBRARIES", [])
    said: list[str] = []
    return _doctor.doctor(said.append), "\n".join(said)


def test_the_command() -> None:
    command = [sys.executable, "-m", "warpfold", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith(f"This is warpfold {wf.__version__}, in Python ")
    assert "The CPU reduces arrays." in said and said[-1] == "All that is here works."
    assert "The simulator runs the kernels of the GPUs, and reduces arrays." in said
    for module, title in (("numpy", "NumPy"), ("torch", "torch"), ("cupy", "CuPy"), ("jax", "JAX")):
        if importlib.util.find_spec(module) is None:
            assert f"{title} is not installed." in said
        else:
            assert any(
                line.startswith(f"{title} ") and line.endswith("is installed.") for line in said
            )
            if module != "cupy":
                assert f"An array of {title} is taken, and a result is one too." in said
    version, count, reason, is_broken = _native.driver()
    if count == 0:
        assert not is_broken and f"There is no GPU that can be used: {reason}." in said
        with pytest.raises(RuntimeError):
            _native.gpu(0)
    else:
        assert any(f"CUDA {version}" in line for line in said) and "GPU 0 reduces arrays." in said


def test_it_needs_no_other_package() -> None:
    code = """
import sys
for name in ("numpy", "torch", "cupy", "jax"):
    sys.modules[name] = None
from warpfold.__main__ import main
raise SystemExit(main(["doctor"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "NumPy is not installed.\ntorch is not installed.\n" in done.stdout


def test_a_machine_with_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def works(problems: Any, what: str, device: str) -> bool:
        if device == "cuda:1":
            problems.tell(what, "it is lost")
        return device != "cuda:1"

    facts = ("NVIDIA H100", (9, 0), 132, 80 * 2**30)
    status, said = lines(
        monkeypatch, driver=lambda: ("13.0", 2, "", False), gpu=lambda _: facts, _works=works
    )
    assert status == 1
    assert "It supports CUDA 13.0, and finds 2 GPU(s)." in said
    first = "GPU 0 is NVIDIA H100, with compute capability 9.0, 132 multiprocessors and 80.0 GiB."
    assert first in said
    assert "GPU 0 reduces arrays." in said and "GPU 1 does not work: it is lost" in said
    assert "A call with an array on a GPU would run on that GPU." in said
    assert said.endswith("These do not work: GPU 1.")


def test_a_driver_that_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    status, said = lines(monkeypatch, driver=lambda: ("", 0, "it is too old", True))
    assert status == 1 and "NVIDIA's driver does not work: it is too old" in said
    assert "The CPU reduces arrays." in said


def test_a_gpu_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def gpu(_: int) -> Any:
        raise RuntimeError("it is in use")

    status, said = lines(monkeypatch, driver=lambda: ("13.0", 1, "", False), gpu=gpu)
    assert status == 1 and "GPU 0 does not work: it is in use" in said


def test_libraries_that_do_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> Any:
        raise RuntimeError("no memory")

    said: list[str] = []
    libraries = [
        ("json", "Json", lambda _: [1, 2]),
        ("array", "Arrays", lambda _: array.array("d", [1.0, 1.0, 1.0])),
        ("string", "Strings", fails),
        ("no_such_module_here", "Nothing", fails),
    ]
    monkeypatch.setattr(_doctor, "_LIBRARIES", libraries)
    assert _doctor.doctor(said.append) == 1
    text = "\n".join(said)
    assert "an array of Json does not work: an object of type list is no array" in text
    assert "An array of Arrays is taken, and a result is none." in text
    assert "an array of Strings does not work: no memory" in text
    assert "Nothing is not installed." in text
    assert said[-1] == "These do not work: an array of Json, an array of Strings."


def test_wrong_sums_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_doctor, "wf_sum", lambda *_, **__: 4.0)
    status, said = lines(monkeypatch)
    assert status == 1 and "the CPU does not work: the sum of 1.5 and 2 is 4.0 there" in said


def test_wrong_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["nurse"]):
        with pytest.raises(SystemExit) as error:
            __main__.main(arguments)
        assert error.value.code == 2
    with pytest.raises(SystemExit) as error:
        __main__.main(["--version"])
    assert error.value.code == 0
    assert capsys.readouterr().out.strip() == wf.__version__
