"""What has settings: an estimator in the manner of scikit-learn, whose constructor only stores."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, Self

import torch

from fairgear.errors import ParameterError
from fairgear.settings import Config


class Configured:
    """Base of all that is fitted: it has settings, a seed and a device.

    Args:
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".
        settings: the fields of `config_type`.
    """

    name: ClassVar[str]
    config_type: ClassVar[type[Config]]

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        self.seed = seed
        self.device = device
        self.config = self.config_type.from_dict(settings)

    @classmethod
    def from_config(cls, config: Config, *, seed: int = 0, device: str = "auto") -> Self:
        """A method with these settings, which are a `config_type`."""
        return cls(seed=seed, device=device, **_by_name(config))

    def __repr__(self) -> str:
        default = self.config_type()
        changed = {k: v for k, v in _by_name(self.config).items() if v != getattr(default, k)}
        shown = ", ".join(f"{k}={v!r}" for k, v in {**changed, "seed": self.seed}.items())
        return f"{type(self).__name__}({shown})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All arguments of the constructor, as scikit-learn's `clone` needs them."""
        return {"seed": self.seed, "device": self.device, **_by_name(self.config)}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; `generator__steps` changes a nested setting."""
        for key, value in params.items():
            if key in ("seed", "device"):
                setattr(self, key, value)
                continue
            outer, _, inner = key.partition("__")
            nested = isinstance(getattr(self.config, outer, None), Config)
            if outer not in self.get_params() or (inner and not nested):
                raise ParameterError(
                    f"parameter of {type(self).__name__}",
                    repr(key),
                    ", ".join(self.get_params()),
                    "correct the name",
                )
            if inner:
                value = {**getattr(self.config, outer).to_dict(), inner: value}
            self.config = self.config_type.from_dict({**self.config.to_dict(), outer: value})
        return self

    def torch_device(self) -> torch.device:
        """The device that the work runs on."""
        available = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
        if self.device == "auto":
            return torch.device(available[-1])
        if self.device not in available:
            raise ParameterError(
                "device", repr(self.device), f"auto, {', '.join(available)}", "use 'auto'"
            )
        return torch.device(self.device)


def _by_name(config: Config) -> dict[str, Any]:
    """The settings; unlike `to_dict`, nested ones stay what they are."""
    return {item.name: getattr(config, item.name) for item in fields(config)}
