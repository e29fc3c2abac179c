"""The sections of a page: each takes an `Audit` and gives what its template needs."""
