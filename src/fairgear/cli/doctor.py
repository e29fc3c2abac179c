"""`fairgear doctor`: what this installation has, and what is broken in it."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from fairgear.cli.cache import shown_size
from fairgear.cli.flags import examples
from fairgear.cli.output import Json, print_json, print_table, say

doctor_app = App(
    name="doctor",
    help="Check the installation: versions, devices, threads, caches, disks and memory.",
    help_epilogue=examples("fairgear doctor", "fairgear doctor --json"),
)


class NotHealthy(Exception):
    """Something is broken: exit status 1."""


@doctor_app.default
def doctor(*, json: Json = False) -> None:
    """Say what is installed and what can be used; exit status 1 if something is broken."""
    from fairgear.cli.health import examined

    found, problems = examined()
    if json:
        advice = [{"problem": one.what, "advice": one.advice} for one in problems]
        print_json({"healthy": not problems, **found, "problems": advice})
    else:
        print_table("This installation", ("what", "found"), list(_rows(found).items()))
        for one in problems:
            say(f"Broken: {one.what}. Next: {one.advice}.")
        if not problems:
            say("Nothing is broken.")
    if problems:
        raise NotHealthy


def _rows(found: dict[str, Any]) -> dict[str, str]:
    """One line for each fact."""
    versions, threads, memory = found["versions"], found["threads"], found["memory"]
    rows = {
        "fairgear": versions["fairgear"],
        "Python": f"{versions['python']} on {versions['platform']}",
        "libraries": ", ".join(f"{name} {at}" for name, at in versions["libraries"].items()),
        "devices": ", ".join(found["devices"]),
        "threads": f"{threads['torch']} of torch, {threads['compiled']} of compiled functions; "
        f"{threads['cores']} cores",
    }
    rows |= {
        f"cache: {part['part']}": f"{part['files']} files, {shown_size(part['bytes'])} in "
        f"{part['folder']}{'' if part['writable'] else ', not writable'}"
        for part in found["caches"]
    }
    rows |= {
        f"disk: {disk['what']}": f"{shown_size(disk['free_bytes'])} free at {disk['path']}"
        for disk in found["disks"]
    }
    free = memory["available_bytes"]
    left = "" if free is None else f", {shown_size(free)} of them free"
    rows["memory"] = f"{shown_size(memory['total_bytes'])}{left}"
    missing = [name for name, there in found["extras"].items() if not there]
    rows["extras"] = ", ".join(name for name, there in found["extras"].items() if there) or "none"
    if missing:
        rows["extras not installed"] = f'{", ".join(missing)}: pip install "fairgear[NAME]"'
    data = found["data"]
    rows["FAIRGEAR_DATA"] = (
        "not set: datasets are downloaded into the cache"
        if data["folder"] is None
        else f"{data['folder']}: {len(data['files'])} files of datasets"
    )
    return rows
