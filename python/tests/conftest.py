"""What the tests have in common."""

from __future__ import annotations

import importlib.util

import pytest

# Tests on a GPU need no Hypothesis, and may run where it is not installed.
if importlib.util.find_spec("hypothesis") is not None:
    import hypothesis

    hypothesis.settings.register_profile(
        "here", deadline=None, derandomize=True, max_examples=60, print_blob=True
    )
    hypothesis.settings.load_profile("here")


@pytest.fixture(params=["cpu", "simulator"])
def device(request: pytest.FixtureRequest) -> str:
    """Return a device for arrays of the host."""
    return str(request.param)
