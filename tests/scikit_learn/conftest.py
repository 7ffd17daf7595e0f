"""Fixtures that scikit-learn's tests expect, and the exclusion of tests by name."""

import pytest


@pytest.fixture
def global_random_seed():
    return 42


def pytest_collection_modifyitems(config, items):
    """Leave out the tests named in EXCLUDED and DIFFERENT of their module."""
    left_out = [item for item in items if reason_to_leave_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def reason_to_leave_out(item):
    """Return why a test is left out; entries name a test or one of its parameter sets."""
    module = getattr(item, "module", None)
    for part in getattr(module, "OTHERS", ()):
        if part in item.name:
            return "tests another class"
    for name in ("EXCLUDED", "DIFFERENT"):
        reasons = getattr(module, name, {})
        for known in (item.name, getattr(item, "originalname", None)):
            if known in reasons:
                return reasons[known]
    return None
