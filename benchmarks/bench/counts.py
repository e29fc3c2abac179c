"""What the work needs at least: operations, bytes moved and random accesses.

A multiplication and an addition are two operations. B egos of k members have f features each;
w is the width of the encoder, h and l the hidden width and the latent dimension of the VAE.
Padded members are counted: a dense batch computes them too.
"""

from __future__ import annotations

from dataclasses import dataclass

FLOAT = 4
LINE = 64


@dataclass(frozen=True)
class Needs:
    """Operations of float32 arithmetic, bytes to and from memory, random accesses to memory."""

    operations: float = 0.0
    bytes: float = 0.0
    accesses: float = 0.0

    def __add__(self, other: Needs) -> Needs:
        return Needs(
            self.operations + other.operations,
            self.bytes + other.bytes,
            self.accesses + other.accesses,
        )

    def __mul__(self, times: float) -> Needs:
        return Needs(times * self.operations, times * self.bytes, times * self.accesses)


def linear(rows: float, width_in: float, width_out: float) -> float:
    """Operations of a linear map."""
    return 2 * rows * width_in * width_out


@dataclass(frozen=True)
class Encoder:
    """Operations of a GraphSAGE encoder, forward: means over neighbours, and linear maps.

    Those of the first layer are separate: its input needs no gradient.
    """

    first_mean: float
    first_maps: float
    means: float
    maps: float

    @classmethod
    def of(cls, egos: int, k: int, f: int, w: int, layers: int) -> Encoder:
        """All layers but the last on all members, the last for the centres."""
        rows = [egos * k] * (layers - 1) + [egos]
        widths = [f] + [w] * (layers - 1)
        means = [2.0 * r * k * width for r, width in zip(rows, widths, strict=True)]
        # The neighbours' mean and one's own features, each to the new width.
        maps = [2 * linear(r, width, w) for r, width in zip(rows, widths, strict=True)]
        return cls(means[0], maps[0], sum(means[1:]), sum(maps[1:]))

    @property
    def forward(self) -> float:
        """All of it."""
        return self.first_mean + self.first_maps + self.means + self.maps

    @property
    def backward(self) -> float:
        """A map has gradients of its weights and its input; a mean has one of its input."""
        return self.first_maps + self.means + 2 * self.maps


def classifier(rows: int, w: int) -> float:
    """Operations of the two linear maps of the classifier."""
    return linear(rows, w, w) + linear(rows, w, 1)


def vae_passes(egos: int, k: int, f: int, h: int, latent: int) -> tuple[float, float, float]:
    """Operations of encoding, of decoding features, and of decoding edges, once each."""
    rows = egos * k
    encode = 2 * rows * k * (f + 1) + 2 * linear(rows, f + 1, h) + linear(rows, h, 2 * latent)
    features = linear(rows, latent + 1, h) + linear(rows, h, f)
    edges = linear(rows, latent + 1, h) + linear(rows, h, latent) + 2 * rows * k * latent
    return encode, features, edges


def counterfactuals(egos: int, k: int, f: int, h: int, latent: int, worlds: int) -> float:
    """Operations of counterfactual egos: encode once, decode under s and under each s'."""
    encode, features, edges = vae_passes(egos, k, f, h, latent)
    return encode + (1 + worlds) * (features + edges)


def step(
    batch: int, k: int, f: int, seen: int, w: int, layers: int, draws: int, h: int, latent: int
) -> Needs:
    """A training step of Gear: one batch of labelled people, one of anyone with its 1 + C worlds.

    A gradient costs a linear map twice its forward pass, once for the weights and once for the
    input; the first layer's input needs none. Each hidden activation is written and read once
    forward and once backward; Adam reads four numbers a weight and writes three. `seen` features
    reach the encoder, which may see s beside the f of the VAE.
    """
    views = (3 + draws) * batch
    encoder, head = Encoder.of(views, k, seen, w, layers), classifier(views, w)
    passes = encoder.forward + encoder.backward + 3 * head
    worlds = counterfactuals(batch, k, f, h, latent, 1 + draws)
    hidden = views * (k * w * (layers - 1) + w)
    weights = 2 * seen * w + 2 * w * w * (layers - 1) + w * w
    moved = FLOAT * (4 * hidden + 7 * weights)
    return Needs(passes + worlds, moved, gathers(2 * batch, k, f))


def vae_step(batch: int, k: int, f: int, h: int, latent: int, ranges: int) -> Needs:
    """A training step of the VAE, and the turn of its discriminator.

    The first turn needs the gradient of what the discriminator reads, the second those of its
    weights, and of what its second part reads.
    """
    rows = batch * k
    encode, features, edges = vae_passes(batch, k, f, h, latent)
    mean, own = 2 * rows * k * (f + 1), 2 * linear(rows, f + 1, h)
    passes = 3 * (encode + features + edges) - 2 * mean - own
    member, ego = linear(rows, latent, h), linear(batch, h, h) + linear(batch, h, ranges)
    turns = 4 * member + 5 * ego
    hidden = 4 * rows * h + 4 * rows * latent + 2 * rows * f + 2 * rows * k
    return Needs(passes + turns, FLOAT * 4 * hidden, gathers(batch, k, f))


def embedding(egos: int, k: int, f: int, w: int, layers: int) -> Needs:
    """Representations of as many egos, forward only."""
    hidden = egos * (k * w * (layers - 1) + w)
    operations = Encoder.of(egos, k, f, w, layers).forward + classifier(egos, w)
    return Needs(operations, FLOAT * 2 * hidden, gathers(egos, k, f))


def gathers(egos: int, k: int, f: int) -> float:
    """Cache lines of the members' features, which are scattered over memory."""
    return egos * k * -(-FLOAT * f // LINE)


def push(pushes: float, touched: float) -> Needs:
    """A push reads where a node's neighbours begin and the neighbours: two random accesses.

    The first visit of a node costs a third: its degree. The residuals are in a table that fits
    the caches.
    """
    return Needs(accesses=2 * pushes + touched)


def adjacency(egos: int, k: int) -> Needs:
    """The links of an ego: where the neighbours of each member begin, and the neighbours."""
    return Needs(accesses=2.0 * egos * k)


def worlds(count: int, n: int, edges: int, features: int) -> Needs:
    """Counterfactual graphs, each written once and read once: features and both ends of edges."""
    return Needs(bytes=2.0 * count * (FLOAT * n * features + 16 * edges))
