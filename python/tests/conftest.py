"""What the tests have in common."""

from __future__ import annotations

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "here", deadline=None, derandomize=True, max_examples=60, print_blob=True
)
hypothesis.settings.load_profile("here")


@pytest.fixture(params=["cpu", "simulator"])
def device(request: pytest.FixtureRequest) -> str:
    """A device for arrays of the host."""
    return str(request.param)
