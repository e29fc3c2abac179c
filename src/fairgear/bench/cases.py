"""Benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable

from fairgear.bench.audit_case import audit_case
from fairgear.bench.ego_case import ego_case
from fairgear.bench.embedding_case import embedding_case
from fairgear.bench.gear_case import gear_case
from fairgear.bench.measure import Case
from fairgear.bench.pagerank_case import PprCase
from fairgear.bench.scene import Scene
from fairgear.bench.vae_case import vae_case
from fairgear.methods.gear_config import GearConfig

# All but the pipeline, which has stages in place of sides.
MAKERS: dict[str, Callable[[Scene], Case]] = {
    "pagerank": lambda scene: PprCase(scene).case(),
    "egos": ego_case,
    "step": lambda scene: gear_case(scene, GearConfig.paper()),
    "default step": lambda scene: gear_case(scene, GearConfig()),
    "vae step": vae_case,
    "embedding": embedding_case,
    "audit": audit_case,
}
