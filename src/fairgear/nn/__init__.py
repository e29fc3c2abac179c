"""Networks on dense ego batches, and their objectives."""

from fairgear.nn.encoders import ENCODERS, EgoEncoder
from fairgear.nn.graph_vae import Discriminator, GraphVAE
from fairgear.nn.heads import Classifier

__all__ = ["ENCODERS", "Classifier", "Discriminator", "EgoEncoder", "GraphVAE"]
