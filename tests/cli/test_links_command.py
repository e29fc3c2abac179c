"""From one's own list of edges to a report on links, in one command."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fairgear.cli import main
from fairgear.links import LINK_METHODS, LinkAudit, load_link_model
from fairgear.runs.link_config import NAMES
from fairgear.runs.link_models import ELSEWHERE, UNSEEN

N = 90
DATA = ["people.csv", "--edges", "links.csv", "--sensitive", "sex"]
FEW = ["--draws", "1", "--self-pairs", "2", "--list-people", "5", "--k", "4"]
TRAINED = ["--method", "graphsage", "--set", "steps=5", "--set", "dim=4", "--device", "cpu"]
MODELS = """
import torch
from torch import nn
from fairgear.links import LINK_METHODS

def near(graph, pairs):
    first, second = graph.x[pairs]
    return -(first - second).square().sum(dim=1)

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 2)

    def encode(self, x, edge_index):
        return self.layer(x)

    def decode(self, z, pairs):
        return (z[pairs[0]] * z[pairs[1]]).sum(dim=1).sigmoid()

module = Encoder()
Neighbours = LINK_METHODS["common-neighbours"]
print("said by a model")
"""
# Without pandas, which takes long to load for each world.
COMMAND = """
import csv, sys
folder, out = sys.argv[1:]
read = lambda name: list(csv.DictReader(open(f"{folder}/{name}.csv")))
age = {one["node_id"]: float(one["age"]) for one in read("nodes")}
with open(out, "w") as file:
    file.write("source,target,score\\n")
    for one in read("pairs"):
        gap = age[one["source"]] - age[one["target"]]
        file.write(f"{one['source']},{one['target']},{1 / (1 + gap * gap)}\\n")
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with people and when they met."""
    folder = tmp_path_factory.mktemp("links")
    rng = np.random.default_rng(0)
    sex, age = rng.integers(0, 2, N), rng.normal(size=N)
    sport = rng.normal(size=N) + sex
    ids = np.array([f"p{i}" for i in range(N)])
    people = {"id": ids, "sex": np.where(sex, "f", "m"), "age": age, "sport": sport}
    pd.DataFrame(people).to_csv(folder / "people.csv", index=False)
    one, other = np.triu_indices(N, 1)
    near = np.exp(-((sport[one] - sport[other]) ** 2)) * (0.1 + 0.2 * (sex[one] == sex[other]))
    met = rng.random(len(one)) < near
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(met.sum()), unit="D")
    links = {"from": ids[one[met]], "to": ids[other[met]], "since": days.strftime("%Y-%m-%d")}
    shuffled = pd.DataFrame(links).sample(frac=1, random_state=0)
    shuffled.to_csv(folder / "links.csv", index=False)
    (folder / "scored_links.py").write_text(MODELS)
    (folder / "program.py").write_text(COMMAND)
    return folder


@pytest.fixture(autouse=True)
def inside(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here))


@pytest.fixture(scope="module")
def trained(here: Path) -> Path:
    """What one command leaves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        assert main(["links", *DATA, *TRAINED, *FEW, "--time", "since", "--out", "one"]) == 0
    return here / "one"


def test_one_command_leaves_a_report_and_tables(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = LinkAudit.load(trained)
    page = (trained / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "sex" in page
    pairs = pd.read_csv(trained / "pairs.csv")
    pd.testing.assert_series_equal(pairs["score"], audit.pairs["score"])
    assert set(pairs["group_source_name"]) == {"f", "m"}
    lists = pd.read_csv(trained / "lists.csv")
    assert audit.lists is not None
    first = audit.lists.people[0]
    named = lists[(lists.person == first.person) & (lists.world == "factual")]
    assert named["listed"].tolist() == [one.person for one in first.factual]
    for file in ("links.json", "pairs.parquet", "pairs.csv", "lists.csv", "report.html"):
        assert stat.S_IMODE((trained / file).stat().st_mode) == 0o600
    # The folder lists what belongs to it.
    assert main(["audit", "verify", str(trained)]) == 0
    kept = yaml.safe_load((trained / "config.yaml").read_text())
    assert (kept["method"], kept["settings"]["steps"], kept["time"]) == ("graphsage", 5, "since")


def test_the_latest_links_were_audited(trained: Path) -> None:
    links = pd.read_csv("links.csv")
    pairs = pd.read_csv(trained / "pairs.csv").query("linked == 1")
    last = links.sort_values("since").tail(len(pairs))
    found = {frozenset(pair) for pair in pairs[["source_name", "target_name"]].to_numpy()}
    assert found == {frozenset(pair) for pair in last[["from", "to"]].to_numpy()}
    assert len(pairs) == round(0.15 * len(links))


def test_a_finished_folder_is_shown_and_other_settings_are_refused(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["links", *DATA, *TRAINED, *FEW, "--time", "since", "--out", "one"]
    written = (trained / "links.json").stat().st_mtime_ns
    assert main([*typed, "--json"]) == 0
    told = capsys.readouterr()
    assert "nothing to do" in told.err
    assert json.loads(told.out) == json.loads((trained / "links.json").read_text())
    assert (trained / "links.json").stat().st_mtime_ns == written
    assert main([*typed, "--seed", "1"]) == 2
    assert "seed was 0, now 1" in capsys.readouterr().err


def test_the_saved_model_gives_the_same_audit(trained: Path) -> None:
    load_link_model(trained / "model")
    more = [*FEW, "--time", "since", "--device", "cpu", "--out", "again"]
    assert main(["links", *DATA, "--method", "one", *more]) == 0
    one, other = (LinkAudit.load(folder) for folder in (trained, "again"))
    assert one.metrics == other.metrics
    pd.testing.assert_frame_equal(one.pairs, other.pairs)
    assert UNSEEN not in other.notes


@pytest.mark.parametrize("other", [["--seed", "1"], ["--train", "0.25"], ["--per-link", "2"], []])
def test_a_saved_model_is_not_tested_on_what_it_learned_from(
    trained: Path, other: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    # Without other flags the split is not by time.
    time = ["--time", "since"] if other else []
    typed = ["links", *DATA, "--method", "one/model", *FEW, *time, *other, "--out", "leaky"]
    assert main(typed) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "the model 'one/model': got another split of these links" in told
    assert "use the --seed" in told
    assert not Path("leaky").exists()


def test_a_saved_model_that_does_not_know_its_split_has_a_note(
    trained: Path, tmp_path: Path
) -> None:
    model = load_link_model(trained / "model", device="cpu")
    model.origin_ = None
    model.save(tmp_path / "old")
    out = tmp_path / "out"
    typed = ["links", *DATA, "--method", str(tmp_path / "old"), *FEW, "--seed", "1"]
    assert main([*typed, "--out", str(out)]) == 0
    assert UNSEEN in LinkAudit.load(out).notes


def test_a_saved_model_of_other_edges_has_a_note(trained: Path, tmp_path: Path) -> None:
    fewer = pd.read_csv("links.csv").iloc[:-1]
    fewer.to_csv(tmp_path / "fewer.csv", index=False)
    data = [str(tmp_path / "fewer.csv") if one == "links.csv" else one for one in DATA]
    out = tmp_path / "out"
    typed = ["links", *data, "--method", "one/model", *FEW, "--seed", "1", "--out", str(out)]
    assert main(typed) == 0
    assert ELSEWHERE in LinkAudit.load(out).notes


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("scored_links:near", "Python callable"),
        ("scored_links:module", "PyTorch module"),
        ("scored_links:Neighbours", "fairgear method"),
        (f"{sys.executable} program.py {{graph}} {{scores}}", "command"),
    ],
)
def test_models_of_ones_own_are_audited(
    method: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--draws", "1", "--self-pairs", "1", "--list-people", "1"]
    out = ["--out", str(tmp_path / "out"), "--json", "--fail-if", "auroc < 0.99"]
    assert main(["links", *DATA, "--method", method, *few, *out]) == 3
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["model"]["kind"] == kind
    # A class was fitted on this split, and a command is asked without the pairs in question.
    assert (UNSEEN in found["notes"]) == (method in ("scored_links:near", "scored_links:module"))
    assert "auroc is" in told.err
    assert told.err.count("said by a model") <= 1


def test_scores_of_pairs_are_audited_as_they_are(tmp_path: Path) -> None:
    people = pd.read_csv("people.csv").set_index("id")
    rng = np.random.default_rng(1)
    drawn = rng.choice(N, (300, 2))
    ends = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    source, target = (people.index[ends[:, side]] for side in (1, 0))
    gap = people.sport[source].to_numpy() - people.sport[target].to_numpy()
    scores = pd.DataFrame({"source": source, "target": target, "score": np.exp(-(gap**2))})
    scores.to_csv(tmp_path / "scores.csv", index=False)
    out = tmp_path / "out"
    typed = ["links", *DATA, "--method", str(tmp_path / "scores.csv"), "--out", str(out)]
    assert main(typed) == 0
    pairs = pd.read_csv(out / "pairs.csv")
    links = {frozenset(pair) for pair in pd.read_csv("links.csv")[["from", "to"]].to_numpy()}
    named = [frozenset(pair) for pair in pairs[["source_name", "target_name"]].to_numpy()]
    given = {frozenset((a, b)): score for a, b, score in scores.itertuples(index=False)}
    assert pairs["linked"].tolist() == [int(pair in links) for pair in named]
    np.testing.assert_allclose(pairs["score"], [given[pair] for pair in named])
    assert len(pairs) == len(scores)
    assert UNSEEN in LinkAudit.load(out).notes
    assert "Other worlds were not measured" in (out / "report.html").read_text()
    # A second call reads the file again.
    scores.assign(score=0.25).to_csv(tmp_path / "scores.csv", index=False)
    assert main(typed) == 0
    assert set(pd.read_csv(out / "pairs.csv")["score"]) == {0.25}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--method", "nobody"], "--method: got 'nobody'"),
        (["--method", "nothing.csv"], "file nothing.csv: got no file"),
        (["--method", "scored_links:nobody"], "scored_links:nobody"),
        (["--method", "scored_links:near", "--set", "steps=1"], "which is not trained here"),
        (["--method", "graphsage", "--set", "steps=none"], "steps"),
        (["--set", "seed=1"], "use --seed of fairgear links"),
        (["--time", "until"], "allowed: 'since'"),
        (["--test", "0"], "share test of the links: got 0"),
        (["--test", "0.9"], "shares of the links"),
        (["--k", "0"], "k"),
        (["--negatives", "near"], "negatives"),
        (["--fail-if", "fairness > 1"], "fairness"),
        (["--label", "job"], "'job'"),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_no_folder(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["links", *DATA, *typed, "--out", "refused"]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert said in told
    assert not Path("refused").exists()


def test_folders_and_files_of_others_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir(exist_ok=True)
    Path("mine/notes.txt").write_text("mine")
    assert main(["links", *DATA, *TRAINED, "--out", "mine"]) == 2
    assert "no run of fairgear" in capsys.readouterr().err
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_edges_are_needed_and_times_need_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["links", "people.csv", "--sensitive", "sex", "--out", "refused"]) == 2
    assert "edges of the graph" in capsys.readouterr().err
    assert main(["links", "synthetic", "--time", "since", "--out", "refused"]) == 2
    assert "--time: got 'since' without --edges" in capsys.readouterr().err


def test_the_shell_knows_the_methods_and_their_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(NAMES) == {*LINK_METHODS}
    assert main(["methods", "list", "--links", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["methods"]
    assert {one["name"] for one in listed} == {*LINK_METHODS}
    assert main(["methods", "show", "graphsage", "--links"]) == 0
    assert "head = dot" in capsys.readouterr().out
