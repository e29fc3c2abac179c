"""Head: from a network's outputs to answers, by what is predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import expit, softmax
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fairgear.graph.targets import BINARY, Target
from fairgear.methods.thresholds import Scores, most_accurate_offsets

# Numbers further apart than this share of a standard deviation are other answers, as in audits.
TOLERANCE = 0.1


@dataclass(frozen=True)
class Head:
    """Loss, answers and score of logits: (m,) of two classes or of a number, else (m, classes).

    Numbers are learned at mean 0 and standard deviation 1 of the training labels.
    """

    target: Target = BINARY

    @property
    def outputs(self) -> int:
        """Of the network, for a person."""
        return self.target.outputs

    def loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy, or the squared error in standard deviations; any leading dimensions."""
        if self.target.is_number:
            return F.mse_loss(logits, self.standardised(y).to(logits.dtype))
        if self.target.is_binary:
            return F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype))
        return F.cross_entropy(logits.reshape(-1, self.outputs), y.reshape(-1))

    def standardised(self, y: Tensor) -> Tensor:
        """Labels that are numbers, in training units."""
        return (y - self.target.mean) / self.target.sd

    def score(self, y: Tensor, logits: Tensor) -> float:
        """How good a state is: AUROC, its mean over the classes, or −RMSE; 0 or −∞ if unusable."""
        if not bool(logits.isfinite().all()):
            return -float("inf") if self.target.is_number else 0.0
        if self.target.is_number:
            wanted = self.standardised(y).double().to(logits.device)
            return -float((logits.double() - wanted).square().mean().sqrt())
        if self.target.is_binary:
            return float(roc_auc_score(y.cpu(), logits.cpu()))
        shares, labels = logits.double().softmax(dim=1).cpu(), y.cpu()
        each = [roc_auc_score(labels == one, shares[:, one]) for one in range(self.outputs)]
        return float(np.mean(each))

    @property
    def measure(self) -> str:
        """What `score` is, in histories."""
        return "negative_rmse" if self.target.is_number else "auroc"

    def soft(self, logits: Tensor) -> Tensor:
        """Differentiable answers: probabilities (m,) or (m, classes), or the number."""
        if self.target.is_number:
            return logits
        return logits.sigmoid() if self.target.is_binary else logits.softmax(dim=1)

    def decided(self, logits: Tensor, cut: Tensor) -> Tensor:
        """Answers from −1 to 1, or shares: the closer to the boundary, the less decided.

        tanh(ℓ − cut) for two classes; √2·softmax(2(ℓ + cut)) for several, whose squared distance
        equals that of the former; the number itself.
        """
        if self.target.is_number:
            return logits
        if self.target.is_binary:
            return torch.tanh(logits - cut)
        return 2**0.5 * (2 * (logits + cut)).softmax(dim=-1)

    def gaps(self, one: Tensor, other: Tensor) -> Tensor:
        """Squared distance (m,) of decided answers."""
        apart = (one - other).square()
        return apart.sum(dim=-1) if self.outputs > 1 else apart

    def labels(self, logits: Tensor, cut: Tensor) -> Tensor:
        """Answers at the boundary: classes, or the number."""
        if self.target.is_number:
            return logits
        return logits > cut if self.target.is_binary else (logits + cut).argmax(dim=-1)

    def differ(self, one: Tensor, other: Tensor) -> Tensor:
        """Which answers are other ones."""
        return (one - other).abs() > TOLERANCE if self.target.is_number else one != other

    def columns(self, labels: Tensor) -> Tensor:
        """Classes or answers as regressions take them: one-hot where there are several."""
        return labels if self.outputs == 1 else F.one_hot(labels.long(), self.outputs)

    def cut(self, y: Tensor, logits: Tensor, threshold: float) -> Tensor:
        """The boundary that is most accurate on these people, as `decided` takes it."""
        if self.target.is_binary:
            return torch.tensor(threshold, dtype=torch.float64).logit(eps=1e-12)
        if self.target.is_number:
            return torch.zeros(())
        return torch.from_numpy(most_accurate_offsets(y.cpu().numpy(), self.answers(logits.cpu())))

    def answers(self, logits: Tensor) -> Scores:
        """Probabilities (m, classes), or numbers (m, 1), in 64 bits; `logits` on the CPU."""
        values = logits.double().numpy()
        if self.target.is_number:
            return np.asarray(self.target.mean + self.target.sd * values)[:, None]
        if not self.target.is_binary:
            return np.asarray(softmax(values, axis=1))
        # torch's vectorised sigmoid rounds a number by its position in the tensor.
        positive = expit(values)
        return np.stack([1 - positive, positive], axis=1)


BINARY_HEAD = Head()
