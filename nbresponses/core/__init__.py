"""The ground floor: bytes → events → snapshot, requests, and lanes as state tables. No I/O, no clock, no Jupyter."""
