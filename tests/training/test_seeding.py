from __future__ import annotations

import pytest
import torch

from fairgear.training import seeded


def draw(seed: int, *labels: object) -> float:
    with seeded(seed, *labels):
        return torch.rand(()).item()


def test_the_same_seed_and_labels_draw_the_same_and_others_do_not() -> None:
    assert draw(0, "a", 1) == draw(0, "a", 1)
    drawn = {draw(*key) for key in ((0, "a", 1), (1, "a", 1), (0, "b", 1), (0, "a", 2), (0, "a"))}
    assert len(drawn) == 5


def test_outside_the_generator_is_as_it_was_even_after_an_error() -> None:
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    with pytest.raises(RuntimeError), seeded(3):
        torch.rand(5).reshape(3, 3)
    assert torch.equal(torch.random.get_rng_state(), before)
