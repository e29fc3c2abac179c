"""Networks on dense ego batches, and their objectives."""

from fairgear.nn.encoders import ENCODERS, EgoEncoder
from fairgear.nn.graph_vae import Discriminator, GraphVAE
from fairgear.nn.heads import Classifier
from fairgear.nn.sens_code import SensCode

__all__ = ["ENCODERS", "Classifier", "Discriminator", "EgoEncoder", "GraphVAE", "SensCode"]
