"""Whether a model scores people from their surroundings as it does on the whole graph."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import LocalWorld
from fairgear.errors import FairgearError, of_the_machine
from fairgear.graph import degrees
from fairgear.hashing import node_uniform
from fairgear.progress import quiet

if TYPE_CHECKING:
    from fairgear.auditing.adapters.base import Adapter

# People who are compared, how many of them also in their own world, and with how many neighbours.
_COMPARED, _FLIPPED, _BESIDE = 8, 3, 2


def agrees(model: Adapter, worlds: Worlds, tolerance: float) -> bool:
    """Compares `near` with `scores` on the factual graph and in some worlds.

    A model may read anything: a mean over all people, a position, the number of nodes. People with
    neighbours are compared, where there are any.
    """
    graph = worlds.graph
    lonely = degrees(graph.edge_index, len(graph.x)).cpu().numpy() == 0
    noise = node_uniform(graph.node_id, 0, "compared").numpy()
    people = torch.from_numpy(np.lexsort((noise, lonely))[:_COMPARED])
    still = World(
        "strict", "unchanged", 0, graph.sens, lambda: graph, partial(LocalWorld.unchanged, graph)
    )
    order, (indptr, indices) = graph.canonical, graph.canonical.csr
    # Each alone, but scored together, as in an audit.
    asked = [([still] * len(people), list(torch.split(people, 1)), worlds.factual)]
    for person, world in zip(people[:_FLIPPED], worlds.alone(people[:_FLIPPED]), strict=True):
        number = int(order.numbers[person])
        beside = indices[indptr[number] : indptr[number + 1]][:_BESIDE].astype(np.int64)
        nodes = torch.cat([person[None], order.rows[torch.from_numpy(beside)]])
        asked.append(([world], [nodes], world))
    try:
        with quiet():
            for places, nodes_of, whole in asked:
                known = model.scores(whole, torch.cat(nodes_of))
                near = model.near(places, nodes_of)
                if near is None or not (np.abs(near - known) <= tolerance * model.target.sd).all():
                    return False
    except FairgearError as error:
        if of_the_machine(error):
            raise
        # The audit itself will say what is wrong, if anything is.
        return False
    return True
