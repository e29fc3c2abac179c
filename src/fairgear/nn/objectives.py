"""The objectives as pure functions; each returns its named terms, never a bare sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Terms:
    """A loss with the named terms that it is the weighted sum of."""

    total: Tensor
    parts: dict[str, Tensor]


def weighted(parts: dict[str, Tensor], weights: Mapping[str, float | Tensor]) -> Terms:
    """The weighted sum of `parts`; a part without a weight counts once."""
    total = torch.stack([weights.get(name, 1.0) * part for name, part in parts.items()]).sum()
    return Terms(total, parts)


def backward(terms: Terms) -> dict[str, Tensor]:
    """Accumulate the gradients of the total; returns the parts, detached."""
    terms.total.backward()  # type: ignore[no-untyped-call]  # torch gives it no type
    return {name: part.detach() for name, part in terms.parts.items()}


def cosine_distance(one: Tensor, other: Tensor) -> Tensor:
    """d(z, z') = 1 − cos(z, z'), averaged over the batch."""
    return (1 - F.cosine_similarity(one, other, dim=1)).mean()


def logit_inconsistency(one: Tensor, other: Tensor) -> Tensor:
    """Mean squared difference of the logits of the same people in two worlds."""
    return (one - other).square().mean()


def boundary_inconsistency(one: Tensor, other: Tensor) -> Tensor:
    """The same for tanh(logit): far from the decision boundary a difference flips nobody."""
    return (one.tanh() - other.tanh()).square().mean()


def dependence(logits: Tensor, summary: Tensor) -> Tensor:
    """R² of a linear regression of tanh(logit), a differentiable label, on a summary (B,)."""
    return explained(logits.float().tanh(), summary)


def explained(score: Tensor, summary: Tensor) -> Tensor:
    """R² of a linear regression of scores or labels on a summary; 0 where either is constant.

    Of several columns, 1 − tr Σ_res / tr Σ_Y; of several summaries, by least squares on all.
    """
    if summary.dim() == 2:
        return _explained_by_several(score.float().reshape(len(score), -1), summary.float())
    if score.dim() == 2:
        return _explained_columns(score.float(), summary.float())
    score, around = score.float(), summary.float()
    score, around = score - score.mean(), around - around.mean()
    scale = score.square().mean() * around.square().mean() + 1e-12
    return (score * around).mean().square() / scale


def _explained_columns(score: Tensor, around: Tensor) -> Tensor:
    score, around = score - score.mean(dim=0), around - around.mean()
    scale = score.square().mean(dim=0).sum() * around.square().mean() + 1e-12
    return (score * around[:, None]).mean(dim=0).square().sum() / scale


def _explained_by_several(score: Tensor, around: Tensor) -> Tensor:
    """R² of columns (n, c) on summaries (n, k), with a tiny ridge where these depend on others."""
    score, around = score - score.mean(dim=0), around - around.mean(dim=0)
    gram = around.T @ around / len(around)
    gram = gram + 1e-6 * (gram.diagonal().mean() + 1e-12) * torch.eye(len(gram)).to(gram)
    cross = around.T @ score / len(around)
    found: Tensor = (cross * torch.linalg.solve(gram, cross)).sum()
    return torch.as_tensor(found / (score.square().mean(dim=0).sum() + 1e-12))


def gaussian_nll(x: Tensor, mean: Tensor, log_variance: Tensor, mask: Tensor) -> Tensor:
    """−log N(x; mean, variance) summed over features, averaged over real members."""
    nll = 0.5 * ((x - mean).square() * (-log_variance).exp() + log_variance + _LOG_2PI)
    return _member_mean(nll.sum(dim=-1), mask)


def edge_nll(adjacency: Tensor, logits: Tensor, mask: Tensor, *, directed: bool = False) -> Tensor:
    """−log p(A) over the pairs of real members of an ego, divided by the members.

    In a directed graph each pair counts in both directions.
    """
    pairs = member_pairs(mask, directed=directed)
    nll = F.binary_cross_entropy_with_logits(logits, adjacency, reduction="none")
    return (nll * pairs).sum() / mask.sum()


def member_pairs(mask: Tensor, *, directed: bool = False) -> Tensor:
    """The pairs of real members (…, k, k), each once, or each in both directions."""
    pairs = mask[..., :, None] & mask[..., None, :]
    upper = torch.triu(pairs, diagonal=1)
    return upper | torch.tril(pairs, diagonal=-1) if directed else upper


def normal_kl(mean: Tensor, log_variance: Tensor, mask: Tensor) -> Tensor:
    """KL[N(mean, variance) ‖ N(0, I)] summed over dimensions, averaged over real members."""
    kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)
    return _member_mean(kl.sum(dim=-1), mask)


def log_probability(logits: Tensor, target: Tensor) -> Tensor:
    """L_d: the mean log-probability that a classifier gives to the true class.

    Of several targets a row (B, m), from logits (B, m, classes), that of all of them together.
    """
    if target.dim() == 1:
        return -F.cross_entropy(logits, target)
    return -target.shape[1] * F.cross_entropy(logits.flatten(0, 1), target.flatten())


def cross_covariance(h: Tensor, sens: Tensor, mask: Tensor) -> Tensor:
    """Squared correlations between s and each dimension of H over real members, summed.

    Correlations, not covariances: shrinking H would make a covariance small and leave s as
    readable as before. Of several values φ(s) (B, k, m), the R² of each dimension on all of them.
    """
    if sens.dim() == h.dim():
        return _explained_dimensions(h, sens.to(h.dtype), mask)
    # Weights instead of indexing by the mask, whose result has a size that only the device knows.
    weight = (mask / mask.sum())[..., None].to(h.dtype)
    s = sens[..., None].to(h.dtype)
    values, s = h - (weight * h).sum(dim=(0, 1)), s - (weight * s).sum()
    covariance = (weight * values * s).sum(dim=(0, 1))
    scale = (weight * values.square()).sum(dim=(0, 1)) * (weight * s.square()).sum() + 1e-6
    return (covariance.square() / scale).sum()


def _explained_dimensions(h: Tensor, code: Tensor, mask: Tensor) -> Tensor:
    weight = (mask / mask.sum())[..., None].to(h.dtype)
    values, code = (of - (weight * of).sum(dim=(0, 1)) for of in (h, code))
    values, code = (of.flatten(0, 1) for of in (values, code))
    weighted = weight.flatten(0, 1) * code
    # A tiny ridge, since a value that nobody in the batch has makes the matrix singular.
    gram = weighted.T @ code + 1e-6 * torch.eye(code.shape[1], dtype=h.dtype, device=h.device)
    cross = weighted.T @ values
    found = (cross * torch.linalg.solve(gram, cross)).sum(dim=0)
    return torch.as_tensor(
        (found / ((weight.flatten(0, 1) * values.square()).sum(dim=0) + 1e-6)).sum()
    )


def sensitive_range(sens: Tensor, mask: Tensor, ranges: int) -> Tensor:
    """Which of `ranges` equal ranges of [0, 1] an ego's mean sensitive value lies in.

    Of indicators (B, k, m), with the mask (B, k, 1), the range (B, m) of each.
    """
    # In integers: 1/41 · 41 is less than 1 in floating point.
    ones, members = (sens * mask).sum(dim=1).long(), mask.sum(dim=1)
    return (ones * ranges // members).clamp(max=ranges - 1)


def mean_range(sens: Tensor, mask: Tensor, ranges: int, ends: Tensor) -> Tensor:
    """Which of `ranges` equal parts an ego's mean of a number lies in, between two `ends`."""
    share = (mean_of_members(sens, mask) - ends[0]) / (ends[1] - ends[0]).clamp(min=1e-12)
    return (share * ranges).long().clamp(0, ranges - 1)


def mean_of_members(sens: Tensor, mask: Tensor) -> Tensor:
    """The mean (B,) of a number over the real members of egos."""
    return (sens * mask).sum(dim=1) / mask.sum(dim=1)


_LOG_2PI = 1.8378770664093453


def _member_mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum() / mask.sum()
