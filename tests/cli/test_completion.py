"""Completion as a person gets it: Tab, typed into bash, zsh and fish."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairgear.cli import main
from fairgear.methods import METHODS
from fairgear.methods.names import NAMES
from tests.graph.people import PEOPLE

# What is typed before Tab, and what stands there after it.
LINES = [
    ("fairgear comp", "fairgear compare"),
    ("fairgear datasets fe", "fairgear datasets fetch"),
    ("fairgear run ba", "fairgear run bail"),
    ("fairgear run --meth", "fairgear run --method"),
    ("fairgear run --method graphs", "fairgear run --method graphsage"),
    ("fairgear run --device cu", "fairgear run --device cuda"),
    ("fairgear compare --datasets cred", "fairgear compare --datasets credit"),
    ("fairgear data folder/peo", "fairgear data folder/people.csv"),
    ("fairgear run folder/people.csv --label appr", "… --label approved"),
    ("fairgear audit run", "fairgear audit runs/"),
    ("fairgear report run", "fairgear report runs/"),
    ("fairgear cache clear comp", "fairgear cache clear compiled"),
    ("fairgear run --missing imp", "fairgear run --missing impute"),
]
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name}"))
    for name in ("bash", "zsh", "fish")
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Somebody's home, and a folder with data, in which they type."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "here" / "folder").mkdir(parents=True)
    (folder / "here" / "runs" / "one").mkdir(parents=True)
    shutil.copy(PEOPLE, folder / "here" / "folder" / "people.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        for name in ("ZSH", "ZSH_CUSTOM", "ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.delenv(name, raising=False)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        patch.setenv("PATH", path)
        for name in ("bash", "zsh", "fish"):
            assert main(["--install-completion", "--shell", name]) == 0
        yield folder


class Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, shell: str, home: Path) -> None:
        self._begin = {
            "bash": ["bash", "--noprofile", "--rcfile", str(home / ".bashrc"), "-i"],
            "zsh": ["zsh", "-i"],
        }[shell]
        if shell == "zsh" and "compinit" not in (home / ".zshrc").read_text():
            # As most have it already.
            with (home / ".zshrc").open("a") as file:
                file.write("autoload -Uz compinit && compinit -u\nunsetopt zle_bracketed_paste\n")
        leader, follower = pty.openpty()
        self._leader = leader
        self._process = subprocess.Popen(
            self._begin,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=home / "here",
            env=os.environ | {"TERM": "dumb", "PS1": "$ ", "COLUMNS": "200"},
            start_new_session=True,
        )
        os.close(follower)
        self.line_after("", tab=False)

    def line_after(self, typed: str, *, tab: bool = True) -> str:
        """The line as it is after Tab: a command before it has the shell print it."""
        os.write(self._leader, typed.encode() + (b"\t" if tab else b""))
        if tab:
            # The shell asks the program, which takes a moment to start.
            self._read_until_quiet()
        # To the beginning of the line; quotes would be completed too.
        os.write(
            self._leader, b"\x01printf '%s ' BEGIN$((1)) ; printf '%s|' \x05 ; echo END$((1))\n"
        )
        said = self._read_until("END1")
        return said.rpartition("BEGIN1")[2].partition("END1")[0].strip()

    def _read_until_quiet(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if not self._more(0.3) and not self._children():
                return

    def _children(self) -> str:
        """The programs that the shell waits for."""
        path = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return path.read_text() if path.exists() else ""

    def _read_until(self, end: str) -> str:
        said, deadline = "", time.monotonic() + 30
        while end not in said and time.monotonic() < deadline:
            said += self._more(0.2)
        return said

    def _more(self, seconds: float) -> str:
        ready, _, _ = select.select([self._leader], [], [], seconds)
        return os.read(self._leader, 65536).decode(errors="replace") if ready else ""

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._leader)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks /proc")
@pytest.mark.parametrize("shell", SHELLS[:2])
def test_tab_in_a_terminal(shell: str, home: Path) -> None:
    terminal = Terminal(shell, home)
    try:
        for typed, after in LINES:
            words = after.replace("…", "fairgear run folder/people.csv").split()
            # zsh takes the slash after a folder away again where no name follows.
            there = terminal.line_after(typed).replace("/|", "|")
            assert there == "".join(f"{word.rstrip('/')}|" for word in words), typed
    finally:
        terminal.close()


@pytest.mark.parametrize("shell", SHELLS[2:])
def test_what_fish_offers(shell: str, home: Path) -> None:
    typed = "\n".join(f"echo BEGIN; complete -C '{line}'" for line, _ in LINES)
    done = subprocess.run(
        ["fish", "-c", typed], cwd=home / "here", capture_output=True, text=True, check=True
    )
    offered = done.stdout.split("BEGIN\n")[1:]
    for (line, after), said in zip(LINES, offered, strict=True):
        candidates = [one.split("\t")[0] for one in said.splitlines()]
        assert after.split()[-1] in candidates, line
        assert len(candidates) < 5, line


def test_bash_offers_all_methods_and_datasets(home: Path) -> None:
    script = home / ".local/share/bash-completion/completions/fairgear"
    typed = """
    . "$0"; COMP_WORDS=(fairgear run --method ""); COMP_CWORD=3
    _fairgear_and_folders; printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", typed, str(script)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == list(METHODS)
    assert tuple(name for name in METHODS if name in NAMES) == NAMES


def test_it_is_installed_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: (home / name).read_text() for name in (".bashrc", ".zshrc")}
    assert all("fairgear" in text for text in before.values())
    for name in ("bash", "zsh"):
        assert main(["--install-completion", "--shell", name]) == 0
    assert {name: (home / name).read_text() for name in before} == before
    said = capsys.readouterr().out
    assert str(home / ".zsh" / "completions" / "_cyclopts_fairgear") in said


def test_a_script_elsewhere_leaves_the_settings_of_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    out = tmp_path / "new" / "script"
    assert main(["--install-completion", "--shell", "bash", "--out", str(out)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    subprocess.run(["bash", "-n", str(out)], check=True)


def test_bad_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "file"
    taken.write_text("mine")
    typed = ["--install-completion", "--shell"]
    assert main([*typed, "tcsh"]) == 2
    assert main([*typed, "bash", "--out", str(taken / "script")]) == 2
    monkeypatch.setattr("cyclopts.completion.detect.detect_shell", _unknown)
    assert main(typed[:1]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("fairgear: ") for line in lines)
    assert "bash, zsh, fish or powershell" in lines[2]
    assert taken.read_text() == "mine"


def _unknown() -> str:
    from cyclopts.completion.detect import ShellDetectionError

    raise ShellDetectionError


def test_completing_loads_no_torch(home: Path) -> None:
    code = (
        "import sys\nfrom fairgear.cli import main\n"
        "main(['__complete', 'run', '--method', ''])\n"
        "main(['__complete', 'run', 'folder/people.csv', '--label', ''])\n"
        "heavy = {'torch', 'numba', 'pandas', 'sklearn', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home / "here", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "graphsage" in done.stdout
    assert "approved" in done.stdout
