"""Gear's two tasks for several seeds at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.methods.augmentation import GREATEST_GRADIENT, Reading, VaeLoss, VaeTask
from fairgear.methods.ego_source import EgoSource
from fairgear.methods.gear_config import GearConfig
from fairgear.methods.gear_loss import GearLoss, Views, joined_views
from fairgear.methods.gear_training import CHUNK, GearTask, judges
from fairgear.methods.generators import Ego
from fairgear.training.adam import adam_of, set_learning_rate
from fairgear.training.loop import Validation
from fairgear.training.precision import computing, forward_in
from fairgear.training.recorded import Recorded
from fairgear.training.together import Stack, WeightStack


def check_stackable(
    config: GearConfig, graphs: Sequence[SensitiveGraph], seeds: Sequence[int]
) -> None:
    """Refuse what cannot be trained together."""
    if not seeds or len(graphs) != len(seeds):
        raise ParameterError(
            "seeds",
            f"{len(seeds)} for {len(graphs)} graphs",
            "at least one, and one graph for all or for each",
            "pass as many graphs as seeds",
        )
    if config.encoder == "infomax" or config.uses_causal_model or config.micro_batches > 1:
        raise ParameterError(
            "settings of seeds that are trained together",
            f"encoder {config.encoder!r}, augmentation {config.augmentation!r}, "
            f"micro_batches {config.micro_batches}",
            "any encoder but infomax, the augmentation 'vae', one micro-batch",
            "fit the seeds one by one",
        )
    fields = ("x", "edge_index", "sens", "node_id", "y")
    for graph in graphs[1:]:
        same = graph.sens_column == graphs[0].sens_column and all(
            torch.equal(graph[field], graphs[0][field]) for field in fields
        )
        if not same:
            raise GraphError(
                "graphs of seeds that are trained together",
                "graphs that differ in more than their masks",
                "the same people, edges and labels, split otherwise",
                "fit them one by one",
            )
    sizes = {(int(graph.train_mask.sum()), int(graph.val_mask.sum())) for graph in graphs}
    if len(sizes) > 1:
        raise GraphError(
            "graphs of seeds that are trained together",
            "splits of different sizes",
            "as many training and as many validation people in each",
            "make the splits by one name, see fairgear.graph.split",
        )


class VaeStack(Stack):
    """The graph VAEs of several seeds, in turns with their discriminators."""

    def __init__(self, tasks: Sequence[VaeTask]) -> None:
        self.tasks = tasks
        first = tasks[0]
        self.egos, self.config, self.rows = first.egos, first.config, first.rows
        self._weights = WeightStack([task.loss for task in tasks])
        self._own = {
            name: [v for key, v in self._weights.parameters.items() if key.startswith(f"{name}.")]
            for name in ("vae", "discriminator")
        }
        self.optimizers = {
            name: adam_of(own, self.config.learning_rate) for name, own in self._own.items()
        }
        self._update = Recorded(self._plain_update) if self.egos.on_card else self._plain_update

    def step(self, number: int) -> dict[str, Tensor]:
        """Both turns on one batch a seed."""
        for optimizer in self.optimizers.values():
            rate = self.config.learning_rate * (1 - number / self.config.steps)
            set_learning_rate(optimizer, rate)
        size = (len(self.tasks), self.config.batch_size)
        return self._update(torch.randint(self.rows, size, device=self.egos.device))

    def validate(self) -> list[Validation | None]:
        """The last state is the one to keep."""
        return [None] * len(self.tasks)

    def write_back(self) -> None:
        """Put the weights into the modules of the tasks."""
        self._weights.write_back()

    def _plain_update(self, people: Tensor) -> dict[str, Tensor]:
        ego = _stacked_egos(self.egos, people)
        total, parts, h, target = self._weights.each(_vae_terms, *ego)
        self._turn("vae", total)
        guess = self._weights.each(_vae_guess, h.detach(), ego[3], target)
        self._turn("discriminator", -guess)
        return {name: part.detach() for name, part in parts.items()}

    def _turn(self, name: str, losses: Tensor) -> None:
        for parameter in self._weights.parameters.values():
            parameter.grad = None
        losses.sum().backward()  # type: ignore[no-untyped-call]  # torch gives it no type
        own = [p.grad for p in self._own[name] if p.grad is not None]
        # Each seed's gradient is cut by its own length.
        length = (
            torch.stack([g.reshape(len(g), -1).square().sum(dim=1) for g in own]).sum(dim=0).sqrt()
        )
        factor = (GREATEST_GRADIENT / (length + 1e-6)).clamp(max=1.0)
        for gradient in own:
            gradient *= factor.view(-1, *[1] * (gradient.dim() - 1))
        self.optimizers[name].step()


class GearStack(Stack):
    """The encoders and classifiers of several seeds."""

    tasks: Sequence[GearTask]

    def __init__(self, tasks: Sequence[GearTask]) -> None:
        self.tasks = tasks
        first = tasks[0]
        self.egos, self.config, self.regime = first.egos, first.config, first.regime
        self.y, self.sens_around = first.y, first.sens_around
        # As many judges for each: of rare classes more or fewer may have been taken.
        fewest = min(len(task.val_rows) for task in tasks)
        for task in tasks:
            task.val_rows = judges(task.val_rows, task.y, fewest)
        self._train_rows = torch.stack([task.train_rows for task in tasks])
        self._weights = WeightStack([task.loss for task in tasks])
        self._average = self._weights.evaluating()
        if self.regime.averaging > 0:
            self._average = WeightStack([task.average_loss for task in tasks]).evaluating()
        own = [v for k, v in self._weights.parameters.items() if k.startswith("network.")]
        self.optimizers = {
            "network": adam_of(own, self.regime.learning_rate, 2 * self.regime.weight_decay)
        }
        self._update = (
            Recorded(self._plain_update) if first.can_be_recorded() else self._plain_update
        )

    def step(self, number: int) -> dict[str, Tensor]:
        """For each seed one batch of labelled people for L_p, one of all people for L_f."""
        seeds, rows = self._train_rows.shape
        size = min(self.regime.batch_size, rows)
        drawn = torch.rand(seeds, rows, device=self.y.device).topk(size, largest=False).indices
        labelled = self._train_rows.gather(1, drawn)
        wanted = (seeds, self.regime.batch_size)
        anyone = torch.randint(len(self.y), wanted, device=self.y.device)
        return self._update(labelled, anyone)

    def validate(self) -> list[Validation | None]:
        """Each by its own task's rule, from views that are made together."""
        parts: list[list[Views]] = [[] for _ in self.tasks]
        rows = torch.stack([task.val_rows for task in self.tasks])
        for chunk in torch.split(rows, CHUNK, dim=1):
            found = self._average.each(_views, *_stacked_egos(self.egos, chunk))
            for place, held in enumerate(parts):
                held.append(_views_of([tensor[place] for tensor in found], self.config))
        joined = [joined_views(held) for held in parts]
        outcomes = [task.judged(views) for task, views in zip(self.tasks, joined, strict=True)]
        for task, outcome in zip(self.tasks, outcomes, strict=True):
            task.heed(outcome)
        for name, _ in self.tasks[0].loss.pressure.named_buffers():
            each = [task.loss.pressure.get_buffer(name) for task in self.tasks]
            self._weights.buffers[f"pressure.{name}"].copy_(torch.stack(each))
        return list(outcomes)

    def write_back(self) -> None:
        """Put the weights into the modules of the tasks."""
        self._weights.write_back()
        self._average.write_back()

    def _plain_update(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        self.optimizers["network"].zero_grad(set_to_none=True)
        ego, others = (_stacked_egos(self.egos, people) for people in (labelled, anyone))
        precision = self.config.precision
        with computing(precision):
            with forward_in(precision, self.y.device):
                total, parts = self._weights.each(
                    _gear_terms, *others, self.sens_around[anyone], *ego, self.y[labelled]
                )
            total.sum().backward()
        self.optimizers["network"].step()
        self._update_average()
        return {name: part.detach() for name, part in parts.items()}

    @torch.no_grad()
    def _update_average(self) -> None:
        if self.regime.averaging == 0:
            return
        now = {**self._weights.parameters, **self._weights.buffers}
        means = {**self._average.parameters, **self._average.buffers}
        for name, mean in means.items():
            if name.startswith("network."):
                if mean.is_floating_point():
                    mean.lerp_(now[name], 1 - self.regime.averaging)
                else:
                    mean.copy_(now[name])


def _stacked_egos(egos: EgoSource, people: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x, s, A and mask of the egos of people (seeds, B), with these leading sizes."""
    ego = egos(people.flatten())
    x, sens, adjacency, mask = (
        values.reshape(*people.shape, *values.shape[1:])
        for values in (ego.x, ego.sens, ego.adjacency, ego.mask)
    )
    return x, sens, adjacency, mask


def _vae_terms(
    loss: VaeLoss, x: Tensor, sens: Tensor, adjacency: Tensor, mask: Tensor
) -> tuple[Tensor, dict[str, Tensor], Tensor, Tensor]:
    terms, reading = loss(Ego(x, sens, adjacency, mask))
    return terms.total, terms.parts, reading.h, reading.target


def _vae_guess(loss: VaeLoss, h: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    return loss.guess(Reading(h, mask, target))


def _gear_terms(loss: GearLoss, *tensors: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    terms = loss(Ego(*tensors[:4]), tensors[4], Ego(*tensors[5:9]), tensors[9])
    return terms.total, terms.parts


def _views(loss: GearLoss, *ego: Tensor) -> list[Tensor]:
    views, _ = loss.views(Ego(*ego))
    return [views.z, views.logits, *(views.own or ()), *(views.around or ())]


def _views_of(tensors: list[Tensor], config: GearConfig) -> Views:
    """What `_views` took apart."""
    z, logits, *others = tensors
    own = (others.pop(0), others.pop(0)) if config.perturbs_self else None
    return Views(z, logits, own, (others[0], others[1]) if others else None)
