"""The networks of `fairgear.methods`, trained on pairs of people."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import BINARY
from fairgear.links.methods.heads import HEADS, PairNetwork
from fairgear.links.methods.settings import (
    FairDropConfig,
    LinkCencConfig,
    LinkGearConfig,
    LinkNetworkConfig,
    LinkNiftyConfig,
    PairSettings,
)
from fairgear.links.methods.shared import SharedNeighbours
from fairgear.links.methods.tasks import (
    CencPairTask,
    FairDropTask,
    GearPairTask,
    NiftyPairTask,
    PairInputs,
    PairTask,
)
from fairgear.links.pairs import Pairs, check_ends, pair_keys
from fairgear.links.split import LinkSplit
from fairgear.methods.baselines.cenc import LAYERS, Cenc
from fairgear.methods.baselines.gnn import Gcn, GraphSage
from fairgear.methods.baselines.layers import LayeredEncoder
from fairgear.methods.baselines.nifty import NiftyGcn, NiftySage
from fairgear.methods.baselines.whole_graph import WholeGraph
from fairgear.methods.fit_checkpoints import FitCheckpoints, run_key
from fairgear.methods.gear.estimator import Gear
from fairgear.methods.trainable import check_sensitive

# Methods for links that can have a number as sensitive attribute, for messages.
WITH_NUMBERS = ("gear", "graphsage", "gcn", "nifty-sage", "nifty-gcn", "c-enc", "logistic")


class PairNode(WholeGraph):
    """A network of people whose labels are of pairs: it needs no labels of people.

    What it sees of people, and how that is learned, saved and restored, is that of the method
    itself.
    """

    directed: bool = False

    def build(self, width: int) -> dict[str, nn.Module]:
        """The network's representations with a head for pairs, and the method's other modules."""
        modules, settings = super().build(width), self._pairs
        network: Any = modules["network"]
        head = HEADS[settings.head](settings.dim, self.directed)
        shared = SharedNeighbours.width if settings.shared_neighbours else 0
        return modules | {"network": PairNetwork(network.headless(), head, shared)}

    def learn(self, split: LinkSplit, checkpoint: Path | None) -> FitCheckpoints:
        """Train on the training pairs; the checkpoints are to be removed once all is done."""
        graph = split.input
        kinds = {"several_groups": self.several_groups, "number_of_s": self.number_of_s}
        check_sensitive(graph, self.name, **kinds, able=WITH_NUMBERS)
        self.groups_ = 0 if graph.continuous else graph.num_groups
        self.target_, self.directed = BINARY, graph.directed
        self._begin(graph)
        parts = [canonical_pairs(graph, part) for part in (split.train, split.val)]
        ends = torch.cat([part.ends for part in parts], dim=1)
        linked = torch.cat([part.linked for part in parts])
        home, first = self._home(), len(parts[0])
        rows = torch.arange(len(linked), device=home)
        key = run_key(self, graph, _digest(ends, linked), str(first), *self._believed())
        files = FitCheckpoints(checkpoint, key)
        shared = self.shared_in(graph)
        inputs = PairInputs(**vars(self._inputs(graph)), ends=ends.to(home), shared=shared)
        self._train(graph, inputs, linked.to(home), rows[:first], rows[first:], files)
        return files

    @torch.no_grad()
    def representations(self, graph: SensitiveGraph, rows: Tensor) -> Tensor:
        """Of some rows (m, dim), on the device."""
        return self._outputs(graph, rows)[0]

    def shared_in(self, graph: SensitiveGraph) -> SharedNeighbours | None:
        """What the head reads of a graph's links, if anything."""
        return SharedNeighbours(graph) if self._pairs.shared_neighbours else None

    @property
    def network(self) -> PairNetwork:
        """With its head."""
        network = self._modules["network"]
        assert isinstance(network, PairNetwork)
        return network.to(self.torch_device())

    @property
    def _pairs(self) -> PairSettings:
        settings = self._settings
        assert isinstance(settings, PairSettings)
        return settings


class PairSage(PairNode, GraphSage):
    """GraphSAGE."""

    config_type = LinkNetworkConfig
    task_type = PairTask


class PairGcn(PairNode, Gcn):
    """A graph convolutional network."""

    config_type = LinkNetworkConfig
    task_type = PairTask


class PairNiftySage(PairNode, NiftySage):
    """NIFTY on GraphSAGE."""

    config_type = LinkNiftyConfig
    task_type = NiftyPairTask


class PairNiftyGcn(PairNode, NiftyGcn):
    """NIFTY on a graph convolutional network."""

    config_type = LinkNiftyConfig
    task_type = NiftyPairTask


class PairCenc(PairNode, Cenc):
    """C-ENC."""

    config_type = LinkCencConfig
    task_type = CencPairTask


class PairFairDrop(PairNode):
    """FairDrop, which tells edges within groups from others: it needs groups."""

    name = "fairdrop"
    several_groups = True
    config_type = FairDropConfig
    task_type = FairDropTask
    _settings: FairDropConfig

    def encoder(self, width: int) -> nn.Module:
        """A stack of layers."""
        return LayeredEncoder(LAYERS[self._settings.layer], width, self._settings)


class PairGear(PairNode, Gear):
    """Gear."""

    config_type = LinkGearConfig
    task_type = GearPairTask

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        # Gear's own constructor names its settings, and has no head among them.
        super(Gear, self).__init__(seed=seed, device=device, **settings)


def canonical_pairs(graph: SensitiveGraph, pairs: Pairs) -> Pairs:
    """Pairs by the numbers of the canonical order, sorted; refused if all of them are alike."""
    n = len(graph.x)
    ends = graph.canonical.numbers[check_ends(pairs.ends, n)]
    if not graph.directed:
        ends = ends.sort(dim=0).values
    linked = pairs.linked.cpu()
    if set(linked.tolist()) != {0, 1} or len(linked) != ends.shape[1]:
        raise GraphError(
            "pairs to train or validate on",
            f"{len(linked):,}, {int((linked == 1).sum()):,} of them linked",
            "some that are linked (1) and some that are not (0)",
            "make them by fairgear.links.split_links",
        )
    order = pair_keys(ends, n, directed=graph.directed).argsort()
    return Pairs(ends[:, order], linked[order])


def _digest(*tensors: Tensor) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
