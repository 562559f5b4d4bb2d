"""torch's own reductions by this package: what is taken, what is left to torch, and the results."""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any

import pytest
import warpfold as wf

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
if not hasattr(torch.library, "register_vmap"):
    pytest.skip("this torch is older than 2.5", allow_module_level=True)

INF = float("inf")
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]
FLOATS = DTYPES[6:]

#: Calls that are taken, with the types of elements for which they are.
TAKEN: list[tuple[str, list[str], Any]] = [
    *(
        (name, types, call)
        for name, types in (
            ("sum", DTYPES),
            ("mean", FLOATS),
            ("amax", DTYPES),
            ("amin", DTYPES),
            ("var", FLOATS),
            ("std", FLOATS),
            ("any", [name for name in DTYPES if name != "uint8"]),
            ("all", [name for name in DTYPES if name != "uint8"]),
        )
        for call in (
            lambda x, name: getattr(x, name)(),
            lambda x, name: getattr(torch, name)(x),
            lambda x, name: getattr(torch, name)(input=x),
            lambda x, name: getattr(x, name)(dim=1),
            lambda x, name: getattr(torch, name)(x, (0, -1)),
            lambda x, name: getattr(x, name)(dim=-2, keepdim=True),
            lambda x, name: getattr(x, name)(axis=[0, 2], keepdims=True),
        )
    ),
    ("sum", ["float16", "float32"], lambda x, _: x.sum(dtype=torch.float64)),
    ("sum", ["bfloat16"], lambda x, _: x.sum(1, dtype=torch.float32)),
    ("sum", ["uint8", "bool"], lambda x, _: torch.sum(x, 0, True, dtype=torch.int64)),
    ("prod", DTYPES, lambda x, _: x.prod()),
    ("prod", DTYPES, lambda x, _: torch.prod(x, 1, keepdim=True)),
    ("prod", ["float16"], lambda x, _: torch.prod(x, -1, dtype=torch.float32)),
    ("max", DTYPES, lambda x, _: x.max()),
    ("min", DTYPES, lambda x, _: torch.min(x)),
    ("argmax", DTYPES[1:6], lambda x, _: x.argmax()),
    ("argmax", DTYPES[1:6], lambda x, _: torch.argmax(x, 1, keepdim=True)),
    ("argmin", DTYPES[1:6], lambda x, _: x.argmin(dim=-1)),
    ("var", FLOATS, lambda x, _: x.var(False)),
    ("var", FLOATS, lambda x, _: torch.var(x, 1, False, True)),
    ("std", FLOATS, lambda x, _: x.std(dim=(0, 1), correction=2)),
    ("std", FLOATS, lambda x, _: x.std(unbiased=False)),
    ("norm", FLOATS, lambda x, _: x.norm()),
    ("norm", FLOATS, lambda x, _: torch.norm(x, 1, dim=1)),
    ("norm", FLOATS, lambda x, _: torch.norm(x, p=INF, dim=(0, 1), keepdim=True)),
    ("vector_norm", FLOATS, lambda x, _: torch.linalg.vector_norm(x)),
    ("vector_norm", FLOATS, lambda x, _: torch.linalg.vector_norm(x, 1, (0, 2), True)),
    ("vector_norm", FLOATS, lambda x, _: torch.linalg.vector_norm(x, ord=INF, dim=-1)),
    ("logsumexp", FLOATS, lambda x, _: x.logsumexp(1)),
    ("logsumexp", FLOATS, lambda x, _: torch.logsumexp(x, (0, 2), keepdim=True)),
    ("logsumexp", FLOATS, lambda x, _: torch.special.logsumexp(x, dim=0)),
]


def tensor(name: str) -> Any:
    random = torch.Generator().manual_seed(len(name))
    x = torch.randn((3, 5, 4), dtype=torch.float64, generator=random)
    if name == "bool":
        return x > 1
    x = x if name in FLOATS else (x * 3).round()
    return (x.abs() if name == "uint8" else x).to(getattr(torch, name))


@pytest.mark.parametrize(("name", "types", "call"), TAKEN)
def test_calls_that_are_taken(name: str, types: list[str], call: Any, device: str) -> None:
    for dtype in types:
        whole = tensor(dtype)
        for x in (whole, whole.transpose(0, 2), whole[:, ::2]):
            want = call(x, name)
            with wf.use(device), wf.accelerate_torch(devices="cpu") as calls:
                got = call(x, name)
            assert calls.routed == {name: 1} and not calls.declined, (dtype, str(calls))
            assert got.dtype == want.dtype and got.shape == want.shape
            if dtype in ("float16", "bfloat16"):
                unit = float(torch.finfo(x.dtype).eps)
                torch.testing.assert_close(got, want, rtol=4 * unit, atol=4 * unit)
            else:
                torch.testing.assert_close(got, want)


def test_values_that_are_easy_to_get_wrong(device: str) -> None:
    nan = float("nan")
    for values in (
        [nan, 1.0, 2.0],
        [INF, 1.0, -INF],
        [-INF, -INF, -INF],
        [0.0, -0.0, 0.0],
    ):
        x = torch.tensor(values)
        for call in (
            lambda x: x.sum(),
            lambda x: x.mean(),
            lambda x: x.prod(),
            lambda x: x.amax(),
            lambda x: x.min(),
            lambda x: x.any(),
            lambda x: x.all(),
            lambda x: x.var(),
            lambda x: x.norm(1),
            lambda x: torch.linalg.vector_norm(x, INF),
            lambda x: x.logsumexp(0),
        ):
            with wf.use(device), wf.accelerate_torch(devices="cpu") as calls:
                got = call(x)
            assert calls.routed.total() == 1
            torch.testing.assert_close(got, call(x), equal_nan=True)


def test_tensors_without_elements_or_axes() -> None:
    for x in (torch.ones(0), torch.ones(2, 0), torch.tensor(2.5)):
        for name in ("sum", "mean", "prod", "any", "all", "norm"):
            with wf.accelerate_torch(devices="cpu") as calls:
                got = getattr(x, name)()
            assert calls.routed == {name: 1}
            torch.testing.assert_close(got, getattr(x, name)(), equal_nan=True)


#: Calls that are left to torch, each with a part of the reason.
LEFT: list[tuple[str, Any, Any]] = [
    ("returns indices", torch.ones(2, 3), lambda x: x.max(0)),
    ("compares two", torch.ones(2, 3), lambda x: torch.min(x, x)),
    (r"\+0 and -0", torch.ones(2, 3), lambda x: x.argmax()),
    ("no axis", torch.ones(2, 3), lambda x: x.sum(())),
    ("no axis", torch.tensor(2.0), lambda x: x.sum(0)),
    ("complex64", torch.ones(2, dtype=torch.complex64), lambda x: x.sum()),
    (
        "convert the elements to torch.float32",
        torch.ones(2).int(),
        lambda x: x.sum(dtype=torch.float32),
    ),
    ("round the elements", torch.ones(2), lambda x: x.sum(dtype=torch.float16)),
    ("multiply in torch.float64", torch.ones(2), lambda x: x.prod(dtype=torch.float64)),
    ("a mean has no dtype", torch.ones(2), lambda x: x.mean(dtype=torch.float64)),
    ("int64", torch.ones(2).long(), lambda x: x.mean(dtype=torch.float64)),
    ("uint8", torch.ones(2).byte(), lambda x: x.all()),
    ("argument out", torch.ones(2, 2), lambda x: torch.sum(x, 0, out=torch.empty(2))),
    ("argument out", torch.ones(2, 2), lambda x: torch.norm(x, dim=0, out=torch.empty(2))),
    ("than the correction", torch.ones(1), lambda x: x.var()),
    ("this one is 3", torch.ones(2), lambda x: torch.linalg.vector_norm(x, 3)),
    ("this one is nuc", torch.ones(2, 2), lambda x: torch.norm(x, "nuc")),
    ("not strided", torch.ones(2).to_sparse(), lambda x: x.sum()),
    ("negated", torch.tensor([1j]).conj().imag, lambda x: x.sum()),
    ("is bool", torch.ones(2), lambda x: x.bool().argmax()),
    ("among NaNs", torch.ones(2, requires_grad=True), lambda x: x.max()),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("reason", "x", "call"), LEFT)
def test_calls_that_are_left_to_torch(reason: str, x: Any, call: Any) -> None:
    said: list[str] = []
    outcomes: list[Any] = []
    for _ in range(2):
        with wf.accelerate_torch(devices="cpu", report=said.append) as calls:
            for _ in range(2):
                try:
                    outcomes.append(call(x))
                except Exception as error:
                    outcomes.append(str(error))
    reason = reason.replace("is bool", "of torch.bool")
    assert not calls.routed and calls.declined.total() == 2 and len(calls.declined) == 1
    assert re.search(reason, str(calls)), str(calls)
    # It is said once in each `with`.
    assert len(said) == 2 and said[0].endswith(next(iter(calls.declined)).reason)
    try:
        want = call(x)
    except Exception as error:
        want = str(error)
    for got in outcomes:
        assert type(got) is type(want)
        if isinstance(got, torch.Tensor) and got.layout is torch.strided:
            torch.testing.assert_close(got, want, equal_nan=True)
        else:
            assert str(got) == str(want)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(5),
        lambda x: x.sum((0, 0)),
        lambda x: x.sum("a"),
        lambda x: x[:0].max(),
        lambda x: x.mean(0, 1, 2, 3),
        lambda x: x.long().mean(),
        lambda x: x.var(0, unbiased=True, correction=1),
        lambda x: x.logsumexp(),
        lambda x: x.sum(0, nothing=1),
    ],
)
def test_errors_are_those_of_torch(call: Any) -> None:
    x = torch.ones(2, 3)
    with pytest.raises(Exception) as want:  # noqa: B017, PT011
        call(x)
    with wf.accelerate_torch(devices="cpu"), pytest.raises(type(want.value)) as got:
        call(x)
    assert str(got.value) == str(want.value)


def test_gradients() -> None:
    for call in (
        lambda x: x.sum(0).pow(2).sum(),
        lambda x: x.mean() * x.norm() + x.prod(),
        lambda x: x.amax(1).sum() - x.amin(),
        lambda x: x.var(0).sum() + torch.std(x) + x.logsumexp(1).mean(),
    ):
        pair = [torch.tensor([[1.0, 2.0], [4.0, 4.0]], requires_grad=True) for _ in range(2)]
        with wf.accelerate_torch(devices="cpu") as calls:
            call(pair[0]).backward()
        call(pair[1]).backward()
        assert not calls.declined
        torch.testing.assert_close(pair[0].grad, pair[1].grad)


def test_what_surrounds_a_call_counts() -> None:
    x = torch.ones(4, dtype=torch.bfloat16)
    with wf.accelerate_torch(devices="cpu") as calls:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x.sum()
        torch.vmap(lambda y: y.sum())(x.reshape(2, 2))
        torch.func.grad(lambda y: y.sum())(x)
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False):
            x.sum()
    assert not calls.routed
    reasons = " ".join(kind.reason for kind in calls.declined)
    assert "autocast" in reasons and "torch.func" in reasons and "TorchDispatchMode" in reasons


def test_only_these_devices_and_this_thread() -> None:
    x = torch.ones(3)
    with wf.accelerate_torch() as calls:
        assert x.sum() == 3.0
    assert not calls.routed and not calls.declined and str(calls) == "no reduction was called"
    with wf.accelerate_torch(devices="cpu") as calls:
        thread = threading.Thread(target=lambda: x.sum())
        thread.start()
        thread.join()
        assert not calls.routed
        assert x.sum() == 3.0 and (x + x).mean() == 2.0
    x.sum()
    assert calls.routed == {"sum": 1, "mean": 1}
    assert repr(calls) == "<Accelerated: 2 calls by warpfold, 0 by torch>"


def test_subclasses_are_left_to_torch() -> None:
    class Mine(torch.Tensor):  # type: ignore[misc]
        pass

    with wf.accelerate_torch(devices="cpu") as calls:
        assert type(torch.ones(2).as_subclass(Mine).sum()) is Mine
        assert torch.nn.Parameter(torch.ones(2)).sum().grad_fn is not None
    assert calls.routed == {"sum": 1}


def test_an_exception_ends_it() -> None:
    with pytest.raises(ZeroDivisionError):
        with wf.accelerate_torch(devices="cpu") as calls:
            raise ZeroDivisionError
    torch.ones(2).sum()
    assert not calls.routed


def test_a_report_may_be_a_warning() -> None:
    with pytest.warns(UserWarning, match="max is left to torch, because it returns indices too"):
        with wf.accelerate_torch(devices="cpu", report=warnings.warn):
            torch.ones(2, 2).max(0)


def test_a_compiled_program_is_left_as_it_is() -> None:
    program = torch.compile(lambda x: x.sum(0) * 2, backend="aot_eager", fullgraph=True)
    with wf.accelerate_torch(devices="cpu") as calls:
        assert program(torch.ones(2, 3)).tolist() == [4.0] * 3
    assert not calls.routed
