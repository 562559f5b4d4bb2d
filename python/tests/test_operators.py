"""The operators of torch: shapes, derivatives, batches and compiled programs, on the host."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import warpfold as wf

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
if not hasattr(torch.library, "register_vmap"):
    pytest.skip("this torch is older than 2.5", allow_module_level=True)

import warpfold.torch  # noqa: E402
from warpfold.torch._operators import ALONG, OTHERS  # noqa: E402

OPS = torch.ops.warpfold
NAN = float("nan")

#: Every operator along axes with arguments, in all ways in which its derivative is made.
DERIVED: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("sum", "mean", "prod", "max", "min", "logsumexp", "var", "std")),
    *((name, {}) for name in ("nansum", "nanmean", "nanmax", "nanmin", "minmax", "moments")),
    ("sum", {"method": "reproducible"}),
    ("sum", {"method": "compensated"}),
    ("var", {"correction": 1.0}),
    ("std", {"correction": 1.0}),
    ("moments", {"correction": 1.0}),
    ("norm", {"ord": 1.0}),
    ("norm", {"ord": 2.0}),
    ("norm", {"ord": float("inf")}),
]
AXES: list[Any] = [None, 1, -1, [0, 2], [2, 0, 1]]


def tensor(*shape: int, seed: int = 0) -> Any:
    """Numbers that differ by 0.01 at least, and from zero too, as difference quotients need."""
    count = 1
    for size in shape:
        count *= size
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return ((order + 0.3 - count // 2) * 0.07).to(torch.float64).reshape(shape)


def call(name: str, options: dict[str, Any]) -> Any:
    operator = getattr(OPS, name)
    return lambda *tensors: operator(*tensors, **options)


@pytest.mark.parametrize(("name", "options"), DERIVED)
def test_derivatives_are_those_of_difference_quotients(name: str, options: dict[str, Any]) -> None:
    x = tensor(2, 3, 2).requires_grad_()
    for axis in AXES:
        for keepdims in (False, True):
            given = {**options, "axis": axis, "keepdims": keepdims}
            assert torch.autograd.gradcheck(call(name, given), (x,)), given
        assert torch.autograd.gradgradcheck(call(name, given), (x,)), given
    if name not in ("var", "std", "moments"):
        assert torch.autograd.gradcheck(call(name, {**options, "axis": []}), (x,))
        scalar = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(call(name, options), (scalar,))


@pytest.mark.parametrize("zeros", [0, 1, 2, 5])
def test_the_derivative_of_a_product_with_zeros(zeros: int) -> None:
    x = tensor(5).clone()
    x[:zeros] = 0.0
    x.requires_grad_()
    assert torch.autograd.gradcheck(OPS.prod, (x,))
    assert torch.autograd.gradgradcheck(OPS.prod, (x,))


def test_derivatives_of_the_others() -> None:
    x, y = tensor(2, 3, 4).requires_grad_(), tensor(3, 1, seed=1).requires_grad_()
    for options in ({}, {"axis": 1}, {"axis": [0, 2], "keepdims": True}):
        assert torch.autograd.gradcheck(call("dot", options), (x, y))
        assert torch.autograd.gradgradcheck(call("dot", options), (x, y))
    for axis in (0, -1):
        best = lambda x: OPS.topk(x, 2, axis=axis)[0]  # noqa: E731, B023
        assert torch.autograd.gradcheck(best, (x,)) and torch.autograd.gradgradcheck(best, (x,))
    values = tensor(7).requires_grad_()
    offsets = torch.tensor([1, 3, 3, 6])
    keys = torch.tensor([4, 4, 2, 2, 2, 4, 0])
    for op in ("sum", "mean"):
        # The second segment has no elements, and the mean of none is NaN.
        of_segments = lambda x: OPS.segment_reduce(x, offsets, op)[::2]  # noqa: E731, B023
        of_keys = lambda x: OPS.reduce_by_key(keys, x, op)[1]  # noqa: E731, B023
        for function in (of_segments, of_keys):
            assert torch.autograd.gradcheck(function, (values,))
            assert torch.autograd.gradgradcheck(function, (values,))
    assert torch.autograd.gradcheck(lambda x: OPS.bincount(keys, x), (values,))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda x: wf.sum(x), lambda x: x.sum()),
        (lambda x: wf.mean(x, axis=(0, 1)), lambda x: x.mean((0, 1))),
        (lambda x: wf.prod(x, axis=0), lambda x: x.prod(0)),
        (lambda x: wf.max(x, axis=-1), lambda x: x.amax(-1)),
        (lambda x: wf.min(x, axis=(0, 1), keepdims=True), lambda x: x.amin((0, 1), True)),
        (lambda x: wf.norm(x, axis=1), lambda x: torch.linalg.vector_norm(x, dim=1)),
        (lambda x: wf.norm(x, ord=1), lambda x: torch.linalg.vector_norm(x, 1)),
        (
            lambda x: wf.norm(x, ord=float("inf"), axis=1),
            lambda x: torch.linalg.vector_norm(x, float("inf"), dim=1),
        ),
        (lambda x: wf.logsumexp(x, axis=1), lambda x: x.logsumexp(1)),
        (lambda x: wf.var(x, axis=0, correction=1), lambda x: x.var(0)),
        (lambda x: wf.std(x, axis=1), lambda x: x.std(1, correction=0)),
    ],
)
def test_gradients_are_those_of_torch(ours: Any, theirs: Any) -> None:
    # Ties, rows of zeros, infinities and NaNs are where rules could differ.
    rows = [
        [1.0, 2.0, 2.0, -2.0],
        [0.0, 0.0, 0.0, 0.0],
        [3.0, -3.0, 3.0, 1.0],
        [5.0, 1.0, 0.5, 2.0],
    ]
    odd = [[NAN, 1.0, 1.0, 2.0], [float("inf"), 1.0, 0.0, 2.0], [-float("inf"), 1.0, 0.0, 2.0]]
    for values in (rows, odd):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            pair = [torch.tensor(values, dtype=dtype, requires_grad=True) for _ in range(2)]
            results = [function(x) for function, x in zip((ours, theirs), pair)]
            weights = torch.arange(1.0, 1 + results[0].numel()).reshape(results[0].shape)
            for result in results:
                (result * weights.to(dtype)).sum().backward()
            bound = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {}
            torch.testing.assert_close(pair[0].grad, pair[1].grad, equal_nan=True, **bound)


def test_equal_elements_share_a_gradient_evenly() -> None:
    for name in ("max", "nanmax"):
        x = torch.tensor([1.0, 4.0, 4.0], requires_grad=True)
        getattr(wf, name)(x).backward()
        assert x.grad.tolist() == [0.0, 0.5, 0.5]


def test_the_functions_take_tensors_that_require_gradients() -> None:
    x = torch.tensor([[1.0, 2.0], [4.0, 8.0]], requires_grad=True)
    total = wf.sum(x, axis=0, dtype="float64", method="reproducible")
    assert total.tolist() == [5.0, 10.0] and total.dtype == torch.float64
    (total * total.new_tensor([1.0, 3.0])).sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [[1.0, 3.0], [1.0, 3.0]]
    axis: Any = np.int64(1)
    assert wf.sum(x, axis=axis).tolist() == [3.0, 12.0]
    assert wf.argmax(x, axis=(axis,), keepdims=True).shape == (2, 1)  # type: ignore[arg-type]
    assert wf.var(x, correction=1).grad_fn is not None
    assert wf.moments(x).var.grad_fn is not None and wf.minmax(x).min.grad_fn is not None
    assert wf.dot(x, x.detach()).grad_fn is not None
    assert wf.topk(x, 1).values.grad_fn is not None
    assert wf.segment_reduce(x[0], torch.tensor([0, 1, 2])).grad_fn is not None
    assert wf.bincount(torch.tensor([1, 1]), weights=x[0]).grad_fn is not None
    assert wf.reduce_by_key(torch.tensor([1, 1]), x[0]).results.grad_fn is not None
    module = torch.nn.Linear(2, 1)
    wf.norm(module.weight).backward()
    assert module.weight.grad is not None


def test_integers_and_truth_values_have_no_gradient() -> None:
    x = torch.tensor([[1.0, 2.0], [4.0, 8.0]], requires_grad=True)
    for name in ("argmax", "argmin", "all", "any", "count_nonzero"):
        result = getattr(wf, name)(x)
        assert not result.requires_grad and result == getattr(wf, name)(x.detach())


def test_what_has_no_derivative_is_refused() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    offsets = torch.tensor([0, 1, 2])
    for op in ("max", "prod", "var"):
        with pytest.raises(NotImplementedError, match=f'derivative of segment_reduce with "{op}"'):
            wf.segment_reduce(x, offsets, op)
    with pytest.raises(NotImplementedError, match='derivative of reduce_by_key with "max"'):
        wf.reduce_by_key(offsets[:2], x, "max")
    with torch.no_grad():
        assert wf.segment_reduce(x, offsets, "max").tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="out= has no gradient"):
        wf.sum(x, out=torch.zeros(()))


def test_wrong_arguments_are_told_as_without_a_gradient() -> None:
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    with pytest.raises(wf.AxisError, match="axis 2 is none"):
        wf.sum(x, axis=2)
    with pytest.raises(ValueError, match="of no elements"):
        wf.max(x[:0])
    with pytest.raises(TypeError, match="complex64"):
        wf.var(torch.ones(2, dtype=torch.complex64, requires_grad=True))
    with pytest.raises(ValueError, match="no norm of order 3"):
        OPS.norm(x, ord=3.0)


def samples() -> list[Any]:
    x = tensor(3, 4, 5).to(torch.float32)
    found: list[Any] = []
    for name in ALONG:
        for axis in (None, 1, -1) if name.startswith("arg") else (None, [1], [0, -1]):
            for keepdims in (False, True):
                found.append((name, (x,), {"axis": axis, "keepdims": keepdims}))
    whole = torch.arange(12, dtype=torch.uint8).reshape(3, 4)
    found += [("sum", (whole.to(t),), {}) for t in (torch.bool, torch.int16, torch.bfloat16)]
    found += [
        ("sum", (whole,), {"dtype": torch.int64}),
        ("sum", (x,), {"dtype": torch.float64, "axis": [0]}),
        ("sum", (x,), {"method": "wide"}),
        ("sum", (x.transpose(0, 2),), {"axis": [0], "method": "reproducible"}),
        ("prod", (whole,), {"dtype": torch.int32}),
        ("mean", (whole,), {"axis": [0]}),
        ("norm", (x,), {"ord": 1.0, "axis": [-1]}),
        ("topk", (x, 2), {}),
        ("topk", (x, 2), {"axis": 0, "largest": False}),
        ("dot", (x, x[:1, :, :1]), {"axis": [1, 2]}),
        ("segment_reduce", (x.flatten(), torch.tensor([0, 7, 60])), {}),
        ("segment_reduce", (x.flatten(), torch.tensor([0, 7, 60]), "argmax"), {}),
        ("reduce_by_key", (torch.tensor([1, 1, 3]), x[0, 0, :3]), {}),
        ("bincount", (torch.tensor([1, 1, 3]),), {}),
        ("bincount", (torch.tensor([1, 1, 3]), x[0, 0, :3]), {"bins": 5}),
    ]
    return found


# opcheck itself reads the gradient of a tensor that is no leaf.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
@pytest.mark.parametrize(("name", "tensors", "options"), samples())
def test_torch_accepts_the_operators(name: str, tensors: Any, options: Any) -> None:
    operator = getattr(OPS, name).default
    torch.library.opcheck(operator, tensors, options)
    if (
        name in dict(DERIVED)
        or name in ("topk", "dot", "segment_reduce")
        and "argmax" not in tensors
    ):
        derived = tuple(
            x.clone().requires_grad_()
            if isinstance(x, torch.Tensor) and x.is_floating_point()
            else x
            for x in tensors
        )
        torch.library.opcheck(operator, derived, options)


def test_every_operator_is_checked() -> None:
    assert {name for name, *_ in samples()} == set(ALONG) | set(OTHERS)
    assert set(ALONG) | set(OTHERS) <= set(wf.__all__)
    missing = (
        {name for name in wf.__all__ if callable(getattr(wf, name))} - set(ALONG) - set(OTHERS)
    )
    assert not {name for name in missing if hasattr(OPS, name)}


PROGRAMS: list[Any] = [
    lambda x: wf.sum(x * 2, axis=0) + 1,
    lambda x: wf.sum(x, method="reproducible", dtype="float64") * 2,
    lambda x: wf.mean(x, axis=(0, 1), keepdims=True) + wf.max(x, axis=-1).sum(),
    lambda x: wf.norm(x, axis=1) / wf.norm(x, ord=float("inf")),
    lambda x: wf.logsumexp(x, axis=1) - wf.var(x, axis=1, correction=1),
    lambda x: wf.moments(x, axis=0).var + wf.minmax(x, axis=0).max,
    lambda x: wf.topk(x, 2).values.sum() + wf.dot(x, x, axis=1),
    lambda x: wf.segment_reduce(x[0], torch.tensor([0, 1, 4]), "mean") * 3,
    lambda x: wf.prod(x, axis=0) + wf.std(x, axis=0) + wf.nansum(x),
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_compiled_program_has_no_break(program: Any, backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    for rows in (3, 5):
        pair = [tensor(rows, 4).to(torch.float32).requires_grad_() for _ in range(2)]
        got, want = compiled(pair[0]), program(pair[1])
        torch.testing.assert_close(got, want)
        got.sum().backward()
        want.sum().backward()
        torch.testing.assert_close(pair[0].grad, pair[1].grad)
        with torch.no_grad():
            torch.testing.assert_close(compiled(pair[0]), want.detach())


def test_compiled_programs_without_gradients() -> None:
    def program(x: Any, out: Any) -> Any:
        wf.max(x, axis=0, out=out)
        return wf.argmax(x, axis=1), wf.any(x > 2), wf.count_nonzero(x, axis=0), wf.argmin(x)

    x = tensor(3, 4).to(torch.float32)
    outs = torch.zeros(4), torch.zeros(4)
    compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
    for got, want in zip(compiled(x, outs[0]), program(x, outs[1])):
        assert got.dtype == want.dtype and got.equal(want)
    assert outs[0].equal(outs[1]) and outs[0].equal(x.amax(0))
    for bad in (torch.zeros(3), torch.zeros(4, dtype=torch.float64)):
        # Older versions of torch do not tell the exception of a traced program.
        with pytest.raises(
            (ValueError, TypeError, RuntimeError), match="out has|Observed exception"
        ):
            torch.compile(program, backend="aot_eager", fullgraph=True)(x, bad)


def test_sizes_that_are_known_late_are_compiled() -> None:
    def program(keys: Any, values: Any) -> Any:
        runs = wf.reduce_by_key(keys, values, "mean")
        return runs.results * 2, runs.counts, wf.bincount(keys)

    keys, values = torch.tensor([1, 1, 4]), torch.tensor([1.0, 2.0, 4.0])
    compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
    # Older versions of torch trace such sizes only if they are told so.
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for got, want in zip(compiled(keys, values), program(keys, values)):
            assert got.dtype == want.dtype and got.equal(want)


def test_an_exported_program() -> None:
    class Program(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return wf.sum(x, axis=1), wf.argmax(x, axis=0)

    x = tensor(3, 4)
    for strict in (False, True):
        exported = torch.export.export(Program(), (x,), strict=strict)
        assert "warpfold.sum" in str(exported.graph)
        for got, want in zip(exported.module()(x), Program()(x)):
            assert got.equal(want)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ALONG),
        *((name, {"axis": 0}) for name in ALONG),
        *((name, {"axis": -1, "keepdims": True}) for name in ALONG),
        ("argmax", {"keepdims": True}),
        ("argmin", {"keepdims": True}),
        ("norm", {"ord": 1.0, "axis": [0, 1]}),
        ("topk", {"k": 2}),
        ("topk", {"k": 1, "axis": 0, "largest": False}),
    ],
)
def test_a_batch_is_one_call(name: str, options: Any) -> None:
    options = dict(options)
    rest = [options.pop("k")] if "k" in options else []
    operator = getattr(OPS, name)
    x = tensor(3, 4, 5)
    for dim in range(3):
        got = torch.vmap(lambda x: operator(x, *rest, **options), dim)(x)  # noqa: B023
        want = [operator(y, *rest, **options) for y in x.unbind(dim)]
        if isinstance(got, tuple):
            assert all(g.equal(torch.stack(w)) for g, w in zip(got, zip(*want)))
        else:
            assert got.equal(torch.stack(want))


def test_batches_of_two_tensors_and_gradients_of_examples() -> None:
    a, b = tensor(6, 3, 4), tensor(4, 6, seed=1)
    for options in ({}, {"axis": 0}, {"axis": [-1], "keepdims": True}):
        got = torch.vmap(lambda a, b: OPS.dot(a, b, **options), (0, 1))(a, b)  # noqa: B023
        want = torch.stack([OPS.dot(a[i], b[:, i], **options) for i in range(6)])
        torch.testing.assert_close(got, want)
        shared = torch.vmap(lambda b: OPS.dot(a[0], b, **options), 1)(b)  # noqa: B023
        want = torch.stack([OPS.dot(a[0], b[:, i], **options) for i in range(6)])
        torch.testing.assert_close(shared, want)
    a.requires_grad_()
    try:
        norms = torch.vmap(wf.norm)(a)
    except NotImplementedError as error:
        # torch 2.5 would lose the gradient.
        assert "has no gradient of an operator within torch.vmap" in str(error)
        return
    norms.sum().backward()
    torch.testing.assert_close(a.grad, (a / a.flatten(1).norm(dim=1)[:, None, None]).detach())


# torch's own code for tangents uses what torch has deprecated.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_derivatives_in_the_direction_of_a_tangent_are_refused() -> None:
    x = torch.ones(3)
    with torch.autograd.forward_ad.dual_level():
        assert wf.sum(x) == 3.0
        with pytest.raises(NotImplementedError, match="forward mode"):
            wf.sum(torch.autograd.forward_ad.make_dual(x, x))
    # torch itself has no derivatives of operators of Python there, and says so.
    with pytest.raises(RuntimeError, match="setup_context"):
        torch.func.grad(wf.sum)(x)


ALONE = """
import warpfold as wf
import torch
{first}
x = torch.ones(2, 3)
program = torch.compile(lambda x: wf.sum(x, axis=0) * 2, backend="eager", fullgraph=True)
assert program(x).tolist() == [4.0] * 3
assert wf.sum(torch.ones(3, requires_grad=True)).grad_fn is not None
"""


@pytest.mark.parametrize("first", ["", "import warpfold.torch", "wf.sum(torch.ones(3))"])
def test_the_operators_are_there_when_they_are_needed(first: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE.format(first=first)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_tensors_without_memory() -> None:
    x = torch.ones(3, 4, device="meta", dtype=torch.bfloat16)
    assert OPS.sum(x, axis=0).shape == (4,) and OPS.argmax(x).dtype == torch.int64
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(3, 4)
        assert wf.mean(fake, axis=1, keepdims=True).shape == (3, 1)
        assert wf.dot(fake, fake, axis=0).shape == (4,)
        assert wf.topk(fake, 2).indices.shape == (3, 2)
        assert wf.segment_reduce(fake[0], torch.zeros(6, dtype=torch.int64)).shape == (5,)
        with pytest.raises(wf.AxisError):
            wf.sum(fake, axis=5)
    # Such a tensor wraps another one, which has the memory.
    assert torch.func.functionalize(wf.sum)(torch.ones(3, 4)) == 12.0


OF_AN_OLDER_TORCH = """
import torch, warpfold as wf
del torch.library.register_vmap
x = torch.ones(3, requires_grad=True)
assert wf.sum(x.detach()) == 3.0
for _ in range(2):
    try:
        wf.sum(x)
    except ImportError as error:
        assert "need torch 2.5 or later, and this is torch " + torch.__version__ in str(error)
    else:
        raise AssertionError
try:
    with wf.accelerate_torch():
        raise AssertionError
except ImportError:
    pass
"""


def test_an_older_torch_has_no_operators() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OF_AN_OLDER_TORCH], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("sum", "mean", "prod")),
        ("sum", {"method": "reproducible"}),
        *(("norm", {"ord": order}) for order in (1.0, 2.0, float("inf"))),
    ],
)
def test_derivatives_of_complex_tensors(name: str, options: dict[str, Any]) -> None:
    x = torch.complex(tensor(2, 3, 2), tensor(2, 3, 2, seed=1)).requires_grad_()
    for axis in AXES:
        given = {**options, "axis": axis}
        assert torch.autograd.gradcheck(call(name, given), (x,)), given
    assert torch.autograd.gradgradcheck(call(name, given), (x,))
    assert torch.autograd.gradcheck(call(name, {**options, "axis": []}), (x,))
    compiled = torch.compile(
        call(name, {**options, "axis": 1}), backend="aot_eager", fullgraph=True
    )
    torch.testing.assert_close(compiled(x), call(name, {**options, "axis": 1})(x))


def test_complex_results_of_real_tensors_have_derivatives() -> None:
    x = tensor(2, 3).requires_grad_()
    for name in ("sum", "prod"):
        of_complex = call(name, {"axis": 1, "dtype": torch.complex128})
        assert torch.autograd.gradcheck(of_complex, (x,))
        assert torch.autograd.gradgradcheck(of_complex, (x,))


def test_complex_tensors_as_operators() -> None:
    x = torch.tensor([[1.0 + 2.0j, 0.0], [3j, -1.0]], dtype=torch.complex64)
    shapes = [x, x.to("meta")]
    for name, given in (
        *(("sum", {}), ("sum", {"method": "wide"}), ("sum", {"dtype": torch.complex128})),
        *(("prod", {}), ("mean", {}), ("norm", {}), ("any", {}), ("all", {})),
        ("count_nonzero", {}),
    ):
        real, fake = (getattr(OPS, name)(one, axis=1, **given) for one in shapes)
        assert (real.dtype, real.shape) == (fake.dtype, fake.shape), name
        batched = torch.vmap(lambda x: getattr(OPS, name)(x, **given))(x)  # noqa: B023
        assert torch.equal(batched, real)
    for name in ("max", "var", "logsumexp", "nansum"):
        for one in shapes:
            with pytest.raises(TypeError, match=f"{name} takes no arrays of complex64"):
                getattr(OPS, name)(one)
    # torch resolves a view that is conjugated lazily before it calls an operator.
    assert x.conj().is_conj() and OPS.sum(x.conj()) == x.conj().sum()


MASK = torch.tensor([[True, False, True], [True, True, False]])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            lambda x: wf.sum(x, axis=1, where=MASK, initial=2.0),
            lambda x: (x * MASK).sum(1) + 2.0,
        ),
        (lambda x: wf.prod(x, where=MASK), lambda x: x[MASK].prod()),
        (
            lambda x: wf.max(x, axis=0, where=MASK, initial=-9.0),
            lambda x: x.masked_fill(~MASK, -9.0).amax(0),
        ),
        (lambda x: wf.min(x, axis=0, initial=0.5), lambda x: x.amin(0).clamp(max=0.5)),
    ],
)
def test_where_and_initial_have_derivatives_and_are_traced(ours: Any, theirs: Any) -> None:
    x = tensor(2, 3).requires_grad_()
    assert torch.equal(ours(x), theirs(x))
    assert torch.autograd.gradcheck(ours, (x,)) and torch.autograd.gradgradcheck(ours, (x,))
    compiled = torch.compile(ours, backend="aot_eager", fullgraph=True)
    for one in (x, x.detach()):
        assert torch.equal(compiled(one), theirs(one))
    (grad,) = torch.autograd.grad(compiled(x).sum(), x)
    assert torch.allclose(grad, torch.autograd.grad(theirs(x).sum(), x)[0])


def test_truth_values_with_where_are_traced() -> None:
    x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    compiled = torch.compile(
        lambda x, where: (wf.any(x, axis=1, where=where), wf.all(x, axis=1, where=where)),
        backend="aot_eager",
        fullgraph=True,
    )
    got = compiled(x, MASK)
    assert [one.tolist() for one in got] == [[True, False], [True, False]]
    # Older versions of torch do not repeat the exception's text.
    with pytest.raises(Exception, match="does not broadcast|Observed exception"):
        torch.compile(lambda x: wf.sum(x, where=MASK[:, :2]), backend="eager", fullgraph=True)(x)
