"""The contract of a method: one function per check, on a small graph."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch import Tensor, nn

from fairgear.errors import FairgearError, FileError, GraphError, NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import KINDS
from fairgear.methods.base import Method, Scores
from fairgear.metrics.classes import macro_auroc
from fairgear.metrics.numbers import prediction_r2
from fairgear.progress import bar
from fairgear.registry import Registry
from fairgear.settings import Config, settings_of
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.testing.toy_graphs import (
    PEOPLE,
    other_columns,
    other_labels,
    untrainable,
)
from fairgear.testing.trial import Answers, Trial, attempt_fit
from fairgear.training import seeded

Check = Callable[[Trial], None]

# The toy graph has a clear signal: a method below this AUROC has not learned.
_MIN_AUROC = 0.9
# Two of its three classes are linked, which layers that average over neighbours mix.
_MIN_AUROC_OF_SEVERAL = 0.8
# The same for numbers.
_MIN_R2 = 0.5
# Summing in another order changes the last digits, and training amplifies that.
_SAME_MODEL, _RETRAINED = 1e-5, 1e-4
# Steps after which successive fits are interrupted; later ones reach later training stages.
_STOPS = (7, 14, 28)

CONTRACT: Registry[Check] = Registry("check of a method")


def check_method(
    method: type[Method] | Callable[[int], Method],
    *,
    settings: Mapping[str, Any] | None = None,
    random: bool = True,
) -> tuple[str, ...]:
    """Run every check of `CONTRACT` on a method; a failed one raises ContractError.

    The arguments are those of `Trial`. Returns the names of the checks, all of which passed.

    Example:
        >>> from fairgear.methods import METHODS
        >>> from fairgear.testing import check_method
        >>> check_method(METHODS["logistic"], random=False)[:2]
        ('constructor', 'learning')
    """
    trial = Trial(method, settings=settings, random=random)
    with bar("checking the method", total=len(CONTRACT)) as shown:
        for _, check in CONTRACT.items():
            check(trial)
            shown.advance()
    return tuple(CONTRACT)


def _named(name: str) -> Callable[[Check], Check]:
    return partial(CONTRACT.add, name)


@_named("constructor")
def constructor(trial: Trial) -> None:
    """The constructor only stores its arguments: it learns and draws nothing."""
    before = _generators()
    model = trial.make(3)
    trial.expect(model.get_params()["seed"] == 3, "the constructor stores the seed", "another seed")
    same = type(model)(**model.get_params()).get_params() == model.get_params()
    trial.expect(same, "the constructor accepts what get_params returns", "other parameters")
    promise = "the constructor only stores its arguments"
    trial.expect(_generators() == before, promise, "draws from torch's or numpy's generator")
    for name, value in vars(model).items():
        heavy = isinstance(value, (Tensor, np.ndarray, nn.Module))
        trial.expect(not heavy and not (name.endswith("_") and value), promise, f"{name} set in it")


@_named("learning")
def learning(trial: Trial) -> None:
    """`fit` returns self, and the model ranks people it was not trained on."""
    model = trial.make()
    trial.expect(model.fit(trial.graph()) is model, "fit returns self", "another object")
    _ranks(trial, model)


def _ranks(trial: Trial, model: Method) -> None:
    # A fresh graph: whether fit changes its argument is the subject of "side effects".
    fresh = trial.graph()
    y, scores = fresh.y.numpy(), model.scores(fresh)
    for name, mask in (("validation", fresh.val_mask), ("test", fresh.test_mask)):
        if fresh.target.is_number:
            got, least = prediction_r2(y[mask], scores[mask, 0]), _MIN_R2
        else:
            got = macro_auroc(y[mask], scores[mask])
            least = _MIN_AUROC if fresh.target.is_binary else _MIN_AUROC_OF_SEVERAL
        measure = "R² of prediction" if fresh.target.is_number else "AUROC"
        promise = f"an {measure} above {least} on the {name} people of the toy graph"
        trial.expect(got > least, promise, f"{got:.3f}")


@_named("answers")
def answers(trial: Trial) -> None:
    """Outputs have the shapes, types and ranges documented in `Method`, in any world."""
    model = trial.fitted()
    for graph in (trial.graph(), trial.world()):
        scores, z, labels = model.scores(graph), model.embed(graph), model.predict(graph)
        if graph.target.is_number:
            _numbers(trial, model, scores, labels)
        else:
            _classes(trial, model, scores, labels)
        fine = z.ndim == 2 and len(z) == PEOPLE and z.dtype == np.float32
        fine = fine and bool(np.isfinite(z).all())
        got = f"{z.dtype} of shape {z.shape}"
        trial.expect(fine, "finite embeddings (n, dim) in float32", got)


def _classes(trial: Trial, model: Method, scores: Scores, labels: NDArray[Any]) -> None:
    low, high, number = scores.min(), scores.max(), len(trial.graph().target.classes)
    fine = scores.shape == (PEOPLE, number) and scores.dtype == np.float64
    fine = fine and bool(0 <= low <= high <= 1) and np.allclose(scores.sum(axis=1), 1)
    got = f"{scores.dtype} of shape {scores.shape}, from {low:.3g} to {high:.3g}"
    trial.expect(fine, f"probabilities (n, {number}) in float64 with rows that sum to 1", got)
    decided = model.decide(scores)
    if number == 2:
        decided = (scores[:, 1] > (model.threshold_ or 0)).astype(np.int64)
    fine = labels.dtype == np.int64 and np.array_equal(labels, decided)
    rule = "label 1 where the score is above threshold_"
    rule = rule if number == 2 else "the class with the largest score, offsets added"
    trial.expect(fine, rule, "other labels")


def _numbers(trial: Trial, model: Method, scores: Scores, labels: NDArray[Any]) -> None:
    fine = scores.shape == (PEOPLE, 1) and labels.shape == (PEOPLE,)
    fine = fine and labels.dtype == np.float64 and bool(np.isfinite(labels).all())
    fine = fine and np.array_equal(labels, scores[:, 0])
    trial.expect(fine, "finite numbers (n,) in float64 from predict", f"shape {labels.shape}")
    refused = partial(model.predict_proba, trial.graph())
    trial.expect_error(ParameterError, refused, "predict_proba of numbers is refused")


@_named("seeds")
def seeds(trial: Trial) -> None:
    """A seed determines the model, whatever else was drawn; seeds differ if it is random."""
    graph = trial.graph()
    expected = Answers.of(trial.fitted(), graph)
    with seeded(1, "contract"):
        again = Answers.of(trial.make().fit(trial.graph()), graph)
    trial.expect_same(again, expected, "a seed gives the same model every time")
    other = Answers.of(trial.fitted(1), graph)
    if trial.random:
        differs = not np.array_equal(other.scores, expected.scores)
        trial.expect(differs, "another seed gives another model", "the same scores")
    else:
        trial.expect_same(other, expected, "a method that is not random ignores the seed")


@_named("save and load")
def saving(trial: Trial) -> None:
    """A model is two files; the loaded one gives the same answers in every world."""
    model = trial.fitted()
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        found = sorted(path.name for path in Path(folder).iterdir())
        load = partial(type(model).load, folder, device=model.device)
        loaded = load()
        files = ["model.json", "weights.safetensors"]
        trial.expect(found == files, f"a saved model is {' and '.join(files)}", ", ".join(found))
        weights = Path(folder) / files[1]
        tensors, facts = read_tensors(weights)
        for name in tensors:
            rest = {other: tensor for other, tensor in tensors.items() if other != name}
            write_tensors(weights, rest, facts)
            trial.expect_error(FileError, load, f"a file without the tensor {name} is refused")
    for graph in (trial.graph(), trial.world()):
        promise = f"a loaded model gives the same answers on {_which(trial, graph)}"
        trial.expect_same(Answers.of(loaded, graph), Answers.of(model, graph), promise)
    same = loaded.get_params() == model.get_params()
    trial.expect(same, "settings are saved too", "other parameters")


@_named("relabelling")
def relabelling(trial: Trial) -> None:
    """The order of the people does not matter, in prediction or in training."""
    moved, expected = _relabelled(trial)
    retrained = trial.make().fit(moved)
    got = Answers.of(retrained, moved).by_id(moved)
    trial.expect_same(got, expected, f"{_ORDER} in training", _RETRAINED)


_ORDER = "the order of the people does not matter"


def _relabelled(trial: Trial) -> tuple[SensitiveGraph, Answers]:
    """Checks predictions on the graph in another order; returns it, and the answers by id."""
    graph, model = trial.graph(), trial.fitted()
    moved = graph.permute(torch.randperm(PEOPLE, generator=torch.Generator().manual_seed(1)))
    expected = Answers.of(model, graph).by_id(graph)
    got = Answers.of(model, moved).by_id(moved)
    trial.expect_same(got, expected, f"{_ORDER} in prediction", _SAME_MODEL)
    return moved, expected


@_named("refusals")
def refusals(trial: Trial) -> None:
    """Graphs that cannot be learned from, or that have other columns, are refused."""
    graph = trial.graph()
    for what, bad in untrainable(graph).items():
        fit = partial(trial.make().fit, bad)
        trial.expect_error(GraphError, fit, f"a training graph with {what} is refused")
    model = trial.fitted()
    for what, other in other_columns(graph).items():
        predict = partial(model.scores, other)
        trial.expect_error(GraphError, predict, f"a graph with {what} than in fit is refused")


@_named("before fit")
def unfitted(trial: Trial) -> None:
    """An unfitted model refuses to predict and to be saved."""
    graph = trial.graph()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for name in ("predict", "predict_proba", "embed", "save"):
            call = partial(getattr(trial.make(), name), path if name == "save" else graph)
            trial.expect_error(NotFittedError, call, f"{name} before fit is refused")
        trial.expect(not path.exists(), "an unfitted model writes no files", "a folder")


@_named("test labels")
def unseen_labels(trial: Trial) -> None:
    """Labels outside training and validation change nothing, bit for bit."""
    graph = trial.graph()
    seen = graph.train_mask | graph.val_mask
    # Unknown labels become known too: to know which are known would be to read them.
    other = graph.replace(y=torch.where(seen, graph.y, other_labels(graph)))
    got = Answers.of(trial.make().fit(other), graph)
    trial.expect_same(got, Answers.of(trial.fitted(), graph), "test labels are never read")


@_named("side effects")
def side_effects(trial: Trial) -> None:
    """Graphs and the global random generators stay as they were."""
    graph, world, model = trial.graph(), trial.world(), trial.make()
    before = _generators()
    model.fit(graph)
    Answers.of(model, graph)
    Answers.of(model, world)
    for now, fresh in ((graph, trial.graph()), (world, trial.world())):
        same = now.fingerprint() == fresh.fingerprint() and set(now.keys()) == set(fresh.keys())
        trial.expect(same, "a graph passed in is not modified", f"{_which(trial, fresh)} changed")
    promise = "torch's and numpy's global generators keep their state"
    trial.expect(_generators() == before, promise, "another state")


@_named("checkpoints")
def checkpoints(trial: Trial) -> None:
    """With a checkpoint the same model comes out, however often the fit is interrupted."""
    promise, stops, resumed = "an interrupted fit resumes", 0, False
    with tempfile.TemporaryDirectory() as folder:
        for stop_after in (*_STOPS, None):
            model = trial.make()
            done, found = attempt_fit(model, trial.graph(), Path(folder), stop_after=stop_after)
            resumed = resumed or found
            if done:
                break
            stops += 1
    trial.expect(resumed or not stops, f"{promise} from its checkpoint", "one that started over")
    graph = trial.graph()
    kept = f"{promise} to the same model" if stops else "a checkpoint changes nothing"
    trial.expect_same(Answers.of(model, graph), Answers.of(trial.fitted(), graph), kept)
    if not stops:
        return
    flipped = graph.replace(y=torch.where(graph.train_mask, other_labels(graph), graph.y))
    for what, other, seed in (("seed", graph, 1), ("graph", flipped, 0)):
        with tempfile.TemporaryDirectory() as folder:
            attempt_fit(trial.make(), graph, Path(folder), stop_after=_STOPS[0])
            _, found = attempt_fit(trial.make(seed), other, Path(folder), stop_after=_STOPS[0])
        kept = f"a fit resumes only from a checkpoint of its own {what}"
        trial.expect(not found, kept, f"one that resumed from that of another {what}")


@_named("parameters")
def parameters(trial: Trial) -> None:
    """`clone`, `get_params` and `set_params` work; changed settings wait for the next fit."""
    fitted = trial.fitted()
    try:
        twin = clone(fitted)
    except (RuntimeError, TypeError) as error:
        # What scikit-learn raises for a constructor that changes its arguments.
        raise trial.broken("scikit-learn can clone it", str(error)) from error
    trial.expect(twin.threshold_ is None, "a clone is not fitted", "a fitted one")
    trial.expect_error(
        ParameterError, lambda: twin.set_params(no_such_setting=1), "an unknown setting is refused"
    )
    # A copy, so that the model which other checks share keeps its settings.
    model = copy.copy(fitted)
    for name, value in [("seed", 5), *_other_settings(model.config).items()]:
        trial.expect(model.set_params(**{name: value}) is model, "set_params returns self", "other")
        same = model.get_params()[name] == value
        trial.expect(same, "get_params returns what set_params set", f"no {name}")
    graph = trial.graph()
    promise = "settings changed after fit take effect at the next fit"
    trial.expect_same(Answers.of(model, graph), Answers.of(fitted, graph), promise)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        loaded = type(model).load(folder, device=fitted.device)
    trial.expect(loaded.config == fitted.config, f"{promise}, also in files", "the changed ones")


@_named("rows")
def rows(trial: Trial) -> None:
    """`nodes` selects rows of the full answer: in any order, repeated, as a mask, or none."""
    model, graph = trial.fitted(), trial.graph()
    every = Answers.of(model, graph)
    chosen = torch.randperm(PEOPLE, generator=torch.Generator().manual_seed(2))
    for what, nodes in {
        "a few rows": torch.cat([chosen[:9], chosen[:2]]),
        "most rows": chosen[: PEOPLE // 2],
        "a mask": graph.test_mask,
        "no row": chosen[:0],
    }.items():
        taken = nodes.numpy()
        expected = Answers(every.scores[taken], every.embeddings[taken], every.threshold)
        got = Answers.of(model, graph, nodes)
        trial.expect_same(got, expected, f"nodes={what} gives rows of the full answer", _SAME_MODEL)
    for nodes in (torch.tensor([PEOPLE]), torch.tensor([-1]), torch.tensor([0.5])):
        predict = partial(model.scores, graph, nodes=nodes)
        trial.expect_error(ParameterError, predict, f"nodes={nodes.tolist()} is refused")


@_named("other labels")
def other_kinds(trial: Trial) -> None:
    """Labels of several classes and numbers are learned as well as two classes, or refused."""
    for kind in KINDS[1:]:
        other = trial.on(kind=kind)
        if kind in other.make().targets:
            for check in _OTHER_KINDS:
                check(other)
        else:
            fit = partial(other.make().fit, other.graph())
            promise = f"labels that are not among its targets are refused: {kind}"
            other.expect_error(GraphError, fit, promise)


_OTHER_KINDS = (learning, answers, saving, relabelling, refusals, unseen_labels, rows)


@_named("other attributes")
def other_attributes(trial: Trial) -> None:
    """Several groups, and a number for s, are learned as two groups are, or refused."""
    for sens, able in _ABLE.items():
        other = trial.on(sens=sens)
        if _declared(other):
            _keeps_its_promises(other)
        else:
            fit = partial(other.make().fit, other.graph())
            promise = f"a {sens} attribute is refused without {able}"
            other.expect_error(GraphError, fit, promise)


# What a method says of attributes that are not binary.
_ABLE = {"categorical": "several_groups", "continuous": "number_of_s"}


def _declared(trial: Trial) -> bool:
    """Whether the method says that it takes such labels and such an s."""
    able = _ABLE.get(trial.kinds["sens"])
    model = trial.make()
    return trial.kinds["kind"] in model.targets and (able is None or getattr(model, able))


# Graphs with directions or weights, alone and with everything else that a graph may have.
_LINKED = (
    {"links": "directed"},
    {"links": "weighted"},
    {"links": "directed", "sens": "categorical", "kind": "multiclass"},
    {"links": "weighted", "sens": "continuous", "kind": "regression"},
)


@_named("other links")
def other_links(trial: Trial) -> None:
    """Graphs with directions or weights are learned as others are, or refused in one line."""
    for kinds in _LINKED:
        other = trial.on(**kinds)
        if _declared(other) and takes(other):
            _keeps_its_promises(other)


def takes(trial: Trial) -> bool:
    """Whether the method can be fitted on the trial's graph; otherwise it must say so."""
    try:
        trial.fitted()
    except FairgearError:
        fit = partial(trial.make().fit, trial.graph())
        trial.expect_error(GraphError, fit, "a graph that cannot be learned from is refused")
        return False
    except Exception as error:
        kinds = ", ".join(trial.kinds.values())
        got = f"{type(error).__name__}: {error}"
        promise = f"a fit, or a GraphError, on a toy graph that is {kinds}"
        raise trial.broken(promise, got) from error
    return True


def _keeps_its_promises(trial: Trial) -> None:
    """What can be checked of one fitted model."""
    _ranks(trial, trial.fitted())
    _relabelled(trial)
    for check in (answers, saving, rows):
        check(trial)


def _which(trial: Trial, graph: SensitiveGraph) -> str:
    factual = torch.equal(graph.sens, trial.graph().sens)
    return "the training graph" if factual else "a counterfactual graph"


def _other_settings(config: Config) -> dict[str, Any]:
    """For each setting with a range, another valid value if one needs no further change."""
    found = {}
    for name, setting in settings_of(type(config)).items():
        now = getattr(config, name)
        for value in setting.limit or ():
            try:
                config.from_dict({**config.to_dict(), name: value})
            except ParameterError:
                continue
            if value != now:
                found[name] = value
                break
    return found


def _generators() -> tuple[bytes, bytes]:
    """The states of the global random generators."""
    numpys: Any = np.random.get_state(legacy=False)  # noqa: NPY002  # read, never drawn from
    state = numpys["state"]["key"].tobytes() + str(numpys["state"]["pos"]).encode()
    return torch.random.get_rng_state().numpy().tobytes(), state
