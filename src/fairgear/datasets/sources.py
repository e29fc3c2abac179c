"""Where the published files lie."""

from __future__ import annotations

# Agarwal, Lakkaraju and Zitnik, UAI 2021: Bail, Credit and German.
NIFTY = "https://raw.githubusercontent.com/chirag126/nifty/main/dataset"
# Dai and Wang, WSDM 2021: NBA.
FAIRGNN = "https://raw.githubusercontent.com/EnyanDai/FairGNN/main/dataset"
