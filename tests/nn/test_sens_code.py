from __future__ import annotations

import numpy as np
import pytest
import torch

from fairgear.nn import SensCode


def test_of_two_groups_it_is_s_itself() -> None:
    sens, code = torch.tensor([[0, 1], [1, 1]]), SensCode()
    assert torch.equal(code(sens), sens[..., None])
    assert (code.width, list(code.state_dict())) == (1, [])


@pytest.mark.parametrize("groups", [3, 5])
def test_of_several_groups_it_has_an_indicator_of_all_but_the_first(groups: int) -> None:
    sens, code = torch.randint(groups, (7, 4)), SensCode(groups)
    expected = np.eye(groups)[sens.numpy()][..., 1:]
    assert np.array_equal(code(sens).numpy(), expected)
    assert (code.width, list(code.state_dict())) == (groups - 1, [])


def test_a_number_is_standardised_as_in_the_fit_and_the_statistics_are_saved() -> None:
    ages = torch.tensor([20.0, 30.0, 70.0], dtype=torch.float64)
    code = SensCode(0).fit(ages)
    assert code.width == 1
    others = torch.tensor([[50.0, 10.0]], dtype=torch.float64)
    expected = (others.numpy() - 40) / np.std([20, 30, 70])
    np.testing.assert_allclose(code(others)[..., 0].numpy(), expected, rtol=1e-12)
    copy = SensCode(0)
    copy.load_state_dict(code.state_dict())
    assert torch.equal(copy(others), code(others))


def test_one_number_for_all_is_divided_by_nothing() -> None:
    same = torch.full((4,), 3.0, dtype=torch.float64)
    assert torch.equal(SensCode(0).fit(same)(same), torch.zeros(4, 1, dtype=torch.float64))
