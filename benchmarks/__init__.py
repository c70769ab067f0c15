"""Speed and memory beside the alternatives: `python -m benchmarks [projection|encode]`, or `make bench`."""
