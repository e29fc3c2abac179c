"""Networks on the whole graph without a fairness term: GCN, GraphSAGE and GIN."""

from __future__ import annotations

from typing import ClassVar

from torch import nn

from fairgear.methods.base import METHODS
from fairgear.methods.baselines.layers import GcnLayer, GinLayer, LayeredEncoder, SageLayer
from fairgear.methods.baselines.whole_graph import WholeGraph


class LayeredGraph(WholeGraph):
    """A stack of one kind of layer and a linear classifier."""

    layer: ClassVar[type[nn.Module]]

    def encoder(self, width: int) -> nn.Module:
        """The stack."""
        return LayeredEncoder(self.layer, width, self._settings)


class Gcn(LayeredGraph):
    """A graph convolutional network (Kipf and Welling, ICLR 2017)."""

    name = "gcn"
    several_groups = number_of_s = True
    layer = GcnLayer


class GraphSage(LayeredGraph):
    """GraphSAGE with the mean aggregator (Hamilton, Ying and Leskovec, NeurIPS 2017)."""

    name = "graphsage"
    several_groups = number_of_s = True
    layer = SageLayer


class Gin(LayeredGraph):
    """A graph isomorphism network (Xu, Hu, Leskovec and Jegelka, ICLR 2019)."""

    name = "gin"
    several_groups = number_of_s = True
    layer = GinLayer


for _method in (Gcn, GraphSage, Gin):
    METHODS.add(_method.name, _method)
