"""`fairgear --install-completion`: a script that has the shell complete commands by Tab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from fairgear.cli.output import say
from fairgear.errors import ParameterError
from fairgear.files import write_errors

Shell = Literal["bash", "zsh", "fish", "powershell"]
# bash alone ends every word with a space, and leaves out the slash after a folder.
_BASH = """
_fairgear_and_folders() {
  _fairgear
  if [[ ${#COMPREPLY[@]} -eq 1 && $COMP_CWORD -gt 1 && -d ${COMPREPLY[0]} ]]; then
    COMPREPLY[0]="${COMPREPLY[0]%/}/"
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _fairgear_and_folders fairgear
"""


def add_installation(app: App) -> None:
    """Give `app` the command `--install-completion`."""

    @app.command(name="--install-completion", help="Complete commands in your shell by Tab.")
    def install(
        *,
        shell: Shell | None = None,
        out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    ) -> None:
        """Write a script that your shell reads when it starts.

        Parameters
        ----------
        shell
            bash, zsh, fish or powershell. [default: the one that you use]
        out
            Write the script here, and leave the shell's settings as they are.
            [default: where the shell looks for such scripts]
        """
        from cyclopts.completion.install import add_to_rc_file, get_default_completion_path

        found: Shell = _shell() if shell is None else shell
        script = app.generate_completion(prog_name="fairgear", shell=found)
        if found == "bash":
            script += _BASH
        place = Path("the completion script") if out is None else out
        with write_errors(place):
            path = get_default_completion_path(found, "fairgear") if out is None else out
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(script, encoding="utf-8")
            changed = False
            # fish reads such scripts without being told.
            if out is None and found != "fish":
                changed = add_to_rc_file(path.absolute(), "fairgear", found)
        say(f"Completion for {found}: {path}")
        if changed:
            say(f"The start file of {found} reads it now.")
        if out is None:
            say(f"Open a new shell, or run: exec {found}")


def _shell() -> Shell:
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    try:
        found: Shell = detect_shell()
    except ShellDetectionError as error:
        raise ParameterError(
            "--shell", "a shell that is not known", "bash, zsh, fish or powershell", "name it"
        ) from error
    return found
