"""What a shell and the cache must know of the datasets before torch is loaded."""

from __future__ import annotations

# In the order in which they are listed.
NAMES = (
    "synthetic",
    "synthetic-neighbours",
    "bail",
    "credit",
    "german",
    "nba",
    "meps",
    "meps-expenses",
    "diabetes",
)
# Below the cache and below $FAIRGEAR_DATA: the paths of their `RemoteFile`s.
FILES = (
    "bail/bail.csv",
    "credit/credit.csv",
    "german/german.csv",
    "german/german_edges.txt",
    "nba/nba.csv",
    "nba/nba_relationship.txt",
    "meps/meps.csv.bz2",
)
