"""The recursive part of the standard library computes what it says, with race checks on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stdlib_cases import execute_case
from stdlib_recursive_cases import RECURSIVE


@pytest.mark.parametrize("target", RECURSIVE)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_results(target: str, data: st.DataObject) -> None:
    arguments = data.draw(RECURSIVE[target].arguments)
    expected = RECURSIVE[target].results(arguments)
    ran = execute_case(target, arguments, expected)
    assert set(ran.results) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(ran.results[name], value, rtol=1e-9, atol=1e-9, err_msg=name)
