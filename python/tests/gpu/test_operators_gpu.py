"""The operators of torch, and torch's own reductions by this package, on a GPU."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import warpfold as wf

from .conftest import library

torch: Any = library("torch")
if not hasattr(torch.library, "register_vmap"):
    pytest.skip("this torch is older than 2.5", allow_module_level=True)

import warpfold.torch  # noqa: E402

OPS = torch.ops.warpfold
INF = float("inf")

DERIVED: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("sum", "mean", "prod", "max", "min", "logsumexp", "var", "std")),
    *((name, {}) for name in ("nansum", "nanmean", "nanmax", "nanmin", "minmax", "moments")),
    ("sum", {"method": "reproducible"}),
    ("var", {"correction": 1.0}),
    ("norm", {"ord": 1.0}),
    ("norm", {"ord": 2.0}),
    ("norm", {"ord": INF}),
]


def tensor(*shape: int, seed: int = 0) -> Any:
    """Numbers that differ by 0.01 at least, and from zero too, as difference quotients need."""
    count = 1
    for size in shape:
        count *= size
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return ((order + 0.3 - count // 2) * 0.07).to(torch.float64).reshape(shape).cuda()


@pytest.mark.parametrize(("name", "options"), DERIVED)
def test_derivatives(name: str, options: dict[str, Any]) -> None:
    operator = getattr(OPS, name)
    x = tensor(2, 3, 2).requires_grad_()
    for axis in (None, 1, [0, 2]):
        given = {**options, "axis": axis}
        assert torch.autograd.gradcheck(lambda x: operator(x, **given), (x,))  # noqa: B023
        assert torch.autograd.gradgradcheck(lambda x: operator(x, **given), (x,))  # noqa: B023


def test_derivatives_of_the_others() -> None:
    x, y = tensor(2, 3, 4).requires_grad_(), tensor(3, 1, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: OPS.dot(x, y, axis=1), (x, y))
    assert torch.autograd.gradcheck(lambda x: OPS.topk(x, 2, axis=0)[0], (x,))
    values = tensor(7).requires_grad_()
    offsets = torch.tensor([1, 3, 3, 6], device="cuda")
    keys = torch.tensor([4, 4, 2, 2, 2, 4, 0], device="cuda")
    for op in ("sum", "mean"):
        assert torch.autograd.gradcheck(
            lambda x: OPS.segment_reduce(x, offsets, op)[::2],  # noqa: B023
            (values,),
        )
        assert torch.autograd.gradcheck(
            lambda x: OPS.reduce_by_key(keys, x, op)[1],  # noqa: B023
            (values,),
        )
    assert torch.autograd.gradcheck(lambda x: OPS.bincount(keys, x), (values,))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_torch_accepts_the_operators() -> None:
    # Products of these numbers neither overflow nor vanish.
    x = (1 + tensor(30, 40) * 1e-3).to(torch.float32)
    offsets = torch.tensor([0, 7, 40], device="cuda")
    for name, options in DERIVED:
        for axis in (None, [0], [-1]):
            operator = getattr(OPS, name).default
            torch.library.opcheck(operator, (x,), {**options, "axis": axis})
            derived = (x.clone().requires_grad_(),)
            torch.library.opcheck(operator, derived, {**options, "axis": axis})
    for name in ("argmax", "argmin", "all", "any", "count_nonzero"):
        torch.library.opcheck(
            getattr(OPS, name).default, (x,), {"axis": 1 if "arg" in name else [1]}
        )
    torch.library.opcheck(OPS.topk.default, (x, 3), {"axis": 0})
    torch.library.opcheck(OPS.dot.default, (x, x[:1]), {"axis": [1]})
    torch.library.opcheck(OPS.segment_reduce.default, (x[0].contiguous(), offsets, "max"))
    torch.library.opcheck(OPS.reduce_by_key.default, (offsets, x[0, :3].contiguous()))
    torch.library.opcheck(OPS.bincount.default, (offsets,), {"bins": 41})


def backends() -> list[str]:
    """The compiler that makes kernels needs Triton and a compiler of C++, the others nothing."""
    found = ["eager", "aot_eager"]
    return found + ["inductor"] if importlib.util.find_spec("triton") is not None else found


@pytest.mark.parametrize("backend", backends())
def test_a_compiled_program_has_no_break(backend: str) -> None:
    def program(x: Any) -> Any:
        scaled = (x * 2 - wf.mean(x * 2, axis=1, keepdims=True)) / wf.std(x, axis=1, keepdims=True)
        return wf.logsumexp(scaled, axis=1) + wf.max(scaled, axis=1), wf.argmax(scaled, axis=0)

    torch._dynamo.reset()
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    for rows in (300, 500):
        pair = [tensor(rows, 40).to(torch.float32).requires_grad_() for _ in range(2)]
        got, want = compiled(pair[0]), program(pair[1])
        torch.testing.assert_close(got[0], want[0], rtol=1e-4, atol=1e-4)
        got[0].sum().backward()
        want[0].sum().backward()
        torch.testing.assert_close(pair[0].grad, pair[1].grad, rtol=1e-3, atol=1e-4)
        assert got[1].shape == (40,) and not got[1].requires_grad


def test_an_operator_in_a_graph() -> None:
    x = tensor(300, 100).to(torch.float32)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        OPS.sum(x, axis=0), OPS.norm(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        results = OPS.sum(x, axis=0), OPS.norm(x)
    x.mul_(3)
    graph.replay()
    torch.testing.assert_close(results[0], x.sum(0), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(results[1], x.norm(), rtol=1e-5, atol=1e-3)


def test_batches() -> None:
    x = tensor(5, 300, 4)
    for name in ("sum", "argmax", "var", "all"):
        got = torch.vmap(lambda x: getattr(wf, name)(x, axis=0), 2)(x)  # noqa: B023
        assert got.equal(getattr(wf, name)(x, axis=0).movedim(-1, 0)), name


def test_tensors_without_memory_are_no_crash() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(3, 4, device="cuda")
        assert wf.mean(fake, axis=1).shape == (3,)


CALLS: list[Any] = [
    lambda x: x.sum(),
    lambda x: x.sum(0, dtype=torch.float64),
    lambda x: torch.mean(x, -1, True),
    lambda x: x.prod(1),
    lambda x: x.amax((0, 1)),
    lambda x: x.amin(0),
    lambda x: x.max(),
    lambda x: x.any(0),
    lambda x: x.all(),
    lambda x: x.var(),
    lambda x: x.std(0, correction=0),
    lambda x: x.norm(),
    lambda x: torch.linalg.vector_norm(x, 1, dim=0),
    lambda x: torch.linalg.vector_norm(x, INF),
    lambda x: x.logsumexp(1),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_torchs_own_reductions(call: Any, name: str) -> None:
    x = torch.randn(200, 300, device="cuda", dtype=torch.float64) * 0.1 + 0.02
    x = x.to(getattr(torch, name))
    for view in (x, x.t(), x[::3, 1:]):
        want = call(view)
        with wf.accelerate_torch() as calls:
            got = call(view)
        assert calls.routed.total() == 1 and not calls.declined, str(calls)
        assert got.is_cuda and got.dtype == want.dtype and got.shape == want.shape
        unit = float(torch.finfo(want.dtype).eps) if want.is_floating_point() else 0.0
        torch.testing.assert_close(got, want, rtol=1e-4 + 4 * unit, atol=1e-3 + 4 * unit)


def test_torchs_own_reductions_of_integers() -> None:
    x = torch.randint(-100, 100, (200, 300), device="cuda")
    for dtype in (torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool):
        y = x.to(dtype)
        for call in (lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.amax(1), lambda x: x.min()):
            with wf.accelerate_torch() as calls:
                got = call(y)
            assert calls.routed.total() == 1 and got.dtype == call(y).dtype and got.equal(call(y))
    with wf.accelerate_torch() as calls:
        assert x.argmax(1).equal(torch.argmax(x.clone(), 1))
    assert calls.routed.total() == 2


def test_what_is_left_to_torch_on_a_gpu() -> None:
    x = torch.randn(20, 30, device="cuda")
    zeros = torch.tensor([-0.0, 0.0], device="cuda")
    with wf.accelerate_torch() as calls:
        assert zeros.argmax() == 0
        x.max(0)
        x.cpu().sum()
    assert not calls.routed and calls.declined.total() == 2
    # A stream that captures and was not used before is refused here, and torch takes it. torch has
    # few streams, so that another test may have used this one.
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with wf.accelerate_torch() as calls:
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            total = x.sum()
    graph.replay()
    torch.testing.assert_close(total, x.sum())
    assert "captures a graph" in str(calls) or calls.routed == {"sum": 1}


def test_gradients_of_torchs_own_reductions() -> None:
    for call in CALLS[:7] + CALLS[9:]:
        pair = [tensor(20, 30).clone().requires_grad_() for _ in range(2)]
        with wf.accelerate_torch() as calls:
            call(pair[0]).sum().backward()
        call(pair[1]).sum().backward()
        assert not calls.routed.get("max") and calls.routed.total() > 0
        torch.testing.assert_close(pair[0].grad, pair[1].grad)
