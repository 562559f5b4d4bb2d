"""The reductions as operators of torch: `torch.ops.warpfold.sum` and so on.

Importing this module registers them. The functions of the package do so themselves when they need
an operator, which is in two cases: a tensor requires a gradient, or a program is being traced by
`torch.compile` or `torch.export`. So neither a program with gradients nor a compiled one needs this
module by name, and a compiled program has no break at a call of this package.

The operators have the names of the functions, and their arguments but ``out``. They have shapes for
tensors without memory, rules for `torch.vmap` where each example is reduced alike, and these
derivatives, which have derivatives themselves:

- `sum`, `mean`, `prod`, `nansum`, `nanmean`, `dot`, `logsumexp`, `var`, `std` and `moments`;
- `norm`, which is 0 where the norm of the order 2 is 0;
- `max`, `min`, `minmax`, `nanmax` and `nanmin`: equal elements share the gradient evenly, as those
  of `torch.amax` and `torch.amin` do;
- `topk` for the values, `bincount` for the weights, and ``"sum"`` and ``"mean"`` of
  `segment_reduce` and `reduce_by_key`. Their other reductions raise a `NotImplementedError`.

Those of `sum`, `mean`, `prod` and `norm` are derivatives of complex tensors too, with the
conventions of torch. Results that are integers or truth values have no gradient. There are no
derivatives in forward mode, and none within `torch.func.grad`, because torch gives operators of
Python none there.

The sizes of the results of `reduce_by_key`, and of `bincount` without ``bins``, are known only when
they are computed. Older versions of torch trace them only with the setting
``torch._dynamo.config.capture_dynamic_output_shape_ops = True``.

>>> import torch, warpfold as wf
>>> x = torch.tensor([3.0, 4.0], requires_grad=True)
>>> wf.norm(x).backward()
>>> x.grad
tensor([0.6000, 0.8000])
>>> compiled = torch.compile(lambda x: wf.sum(x * x, axis=1), backend="eager", fullgraph=True)
>>> compiled(torch.ones(2, 3))
tensor([3., 3.])
>>> torch.vmap(torch.ops.warpfold.argmax)(torch.tensor([[1.0, 2.0], [4.0, 3.0]]))
tensor([1, 0])
"""

from __future__ import annotations

from . import _batches, _gradients, _operators, _shapes

_operators.register()
_shapes.register()
_gradients.register()
_batches.register()

__all__: list[str] = []
