"""Taking part in a job of several processes, whoever has started them. Imports no torch.

`fairgear run --devices`, torchrun and SLURM's srun each leave in the environment where a process
stands. Lightning Fabric brings the processes together; one of them, the first, then writes and
speaks for all.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fairgear.errors import ParameterError
from fairgear.files import written_elsewhere
from fairgear.progress import quiet

# Set by our own launcher.
LAUNCHED = "FAIRGEAR_LAUNCHED"
# One process may be busy with a stage of its own, or with a slow disk, while the others wait. One
# that is gone is noticed at once: its connections close.
PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class Place:
    """Where a process stands in its job: as many processes on each machine, numbered from 0.

    Attributes:
        local_rank: its number on this machine.
        local_size: processes on each machine.
        node: the machine's number.
        nodes: machines.
        address: where the first machine is found.
        port: of the first process, there.
    """

    local_rank: int
    local_size: int
    node: int
    nodes: int
    address: str
    port: int

    @property
    def rank(self) -> int:
        """Its number in the job."""
        return self.node * self.local_size + self.local_rank

    @property
    def size(self) -> int:
        """Processes of the job."""
        return self.local_size * self.nodes

    def environment(self) -> dict[str, str]:
        """How a process is told of its place."""
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.size),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(self.local_size),
            "NODE_RANK": str(self.node),
            "MASTER_ADDR": self.address,
            "MASTER_PORT": str(self.port),
        }


def place(told: Mapping[str, str] = os.environ) -> Place | None:
    """Where this process stands, None where nobody has started several."""
    if LAUNCHED in told or "TORCHELASTIC_RUN_ID" in told:
        local = int(told["LOCAL_WORLD_SIZE"])
        return Place(
            local_rank=int(told["LOCAL_RANK"]),
            local_size=local,
            node=int(told.get("NODE_RANK", told.get("GROUP_RANK", "0"))),
            nodes=int(told["WORLD_SIZE"]) // local,
            address=told["MASTER_ADDR"],
            port=int(told["MASTER_PORT"]),
        )
    # A script of sbatch has a rank as well; only what srun has started has a step.
    if "SLURM_STEP_ID" in told and int(told.get("SLURM_NTASKS", "1")) > 1:
        return _place_in_slurm(told)
    return None


def _place_in_slurm(told: Mapping[str, str]) -> Place:
    tasks, nodes = int(told["SLURM_NTASKS"]), int(told["SLURM_NNODES"])
    if tasks % nodes:
        raise ParameterError(
            "tasks of this SLURM step",
            f"{tasks} on {nodes} machines",
            "as many on each",
            "use --ntasks-per-node",
        )
    # The same port on all machines, and seldom that of another job.
    port = 20000 + int(told["SLURM_JOB_ID"]) % 20000
    return Place(
        local_rank=int(told["SLURM_LOCALID"]),
        local_size=tasks // nodes,
        node=int(told["SLURM_NODEID"]),
        nodes=nodes,
        address=told.get("MASTER_ADDR") or _first_host(told["SLURM_JOB_NODELIST"]),
        port=int(told.get("MASTER_PORT") or port),
    )


def _first_host(nodes: str) -> str:
    """The first of SLURM's list of machines, such as a[07-09,12],b."""
    head, bracket, rest = nodes.partition("[")
    if "," in head or not bracket:
        return head.split(",")[0]
    inside, _, tail = rest.partition("]")
    return head + inside.split(",")[0].split("-")[0] + tail.split(",")[0]


@contextmanager
def joined(where: Place, device: str) -> Iterator[None]:
    """Inside, this process takes part in the job; only the first writes, prints and logs.

    Args:
        where: its place.
        device: "cpu", or "auto" and "cuda", which give each process a card of its own.
    """
    if os.environ.pop(LAUNCHED, None) is not None:
        threading.Thread(target=_end_with_launcher, daemon=True).start()
    _join(where, device)
    import torch.distributed as dist

    with ExitStack() as stack:
        if dist.get_rank() > 0:
            stack.enter_context(quiet())
            stack.enter_context(written_elsewhere())
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(redirect_stdout(nowhere))
        yield
    # After an error the others are told by our end; to part in good order would be to wait.
    dist.destroy_process_group()


def _join(where: Place, device: str) -> None:
    import torch

    cards = 0 if device == "cpu" else torch.cuda.device_count()
    on_cards = device == "cuda" or cards > 0
    if on_cards and where.local_size > cards:
        raise ParameterError(
            "--devices",
            where.local_size,
            f"at most {cards}, the CUDA cards of this machine",
            "give as many as there are, or --device cpu",
        )
    # Lightning asks the environment, and would find SLURM's answers where we started ourselves.
    os.environ.update(where.environment())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _launch(where, "cuda" if on_cards else "cpu")
    except (RuntimeError, ValueError) as error:
        raise ParameterError(
            f"joining the job at {where.address}:{where.port}",
            str(error).splitlines()[0],
            f"{where.size} processes that reach it within {PATIENCE}",
            "check address and port, and that every machine was started",
        ) from error


def _launch(where: Place, accelerator: str) -> None:
    """Meet the other processes; on CUDA also take the card of our number."""
    # The large package holds the same as the small one.
    root = "lightning_fabric" if find_spec("lightning_fabric") else "lightning.fabric"
    lightning: Any = import_module(root)
    strategies: Any = import_module(f"{root}.strategies")
    environments: Any = import_module(f"{root}.plugins.environments")
    # It announces itself on stderr, with a frame.
    logging.getLogger(root).setLevel(logging.ERROR)
    # Small words, such as what the first has decided, go from memory to memory in any case.
    backend = "cpu:gloo,cuda:nccl" if accelerator == "cuda" else "gloo"
    lightning.Fabric(
        accelerator=accelerator,
        devices=where.local_size,
        num_nodes=where.nodes,
        strategy=strategies.DDPStrategy(
            process_group_backend=backend,
            timeout=PATIENCE,
            cluster_environment=environments.LightningEnvironment(),
        ),
    ).launch()


def _end_with_launcher() -> None:
    """Our input is a pipe that the launcher never writes to: it ends when the launcher does."""
    os.read(sys.__stdin__.fileno() if sys.__stdin__ else 0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
