"""torch, and the library of operators that this package adds to it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# torch is optional, so type checkers must not look for it.
torch: Any = import_module("torch")

if not hasattr(torch.library, "register_vmap"):
    raise ImportError(
        f"the operators of warpfold need torch 2.5 or later, and this is torch {torch.__version__}"
    )

#: The operators live as long as this object does.
library: Any = torch.library.Library("warpfold", "DEF")
