"""Drawing a token from logits, and the attention that decoding borrows."""

import pytest
import torch

from spadelab.learning.warmstart import Recipe, build_model
from spadelab.models.sampler import draw, eager_attention


def test_tokens_without_probability_are_never_drawn():
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 1.0, -torch.inf]]).expand(2000, -1)
    token, logprob = draw(logits, 1.0, torch.Generator().manual_seed(0))
    assert set(token.tolist()) == {1, 3}
    assert logprob.exp().unique().tolist() == pytest.approx([1 / (1 + torch.e), torch.e / (1 + torch.e)])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_follow_the_temperature(temperature):
    logits = torch.tensor([0.0, 1.0, 2.0])
    token, _ = draw(logits.expand(20_000, -1), temperature, torch.Generator().manual_seed(1))
    frequencies = torch.bincount(token, minlength=3) / 20_000
    assert (frequencies - (logits / temperature).softmax(-1)).abs().max() < 0.015


def test_greedy_takes_the_most_likely_at_temperature_one():
    token, logprob = draw(torch.tensor([[0.0, 2.0, 1.0]]), 0.0, torch.Generator())
    assert token.tolist() == [1]
    assert logprob.item() == pytest.approx(torch.tensor([0.0, 2.0, 1.0]).log_softmax(-1)[1].item())


def test_the_attention_of_the_model_comes_back_after_an_error():
    model = build_model(Recipe(hidden=32, layers=1, heads=2)).model
    usual = model.config._attn_implementation
    assert usual != "eager"
    with pytest.raises(KeyError), eager_attention(model):
        assert model.config._attn_implementation == "eager"
        raise KeyError
    assert model.config._attn_implementation == usual
