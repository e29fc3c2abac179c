"""GEAR as its paper describes it (WSDM 2022)."""
