"""Speed and memory beside the alternatives: `python -m benchmarks [projection|training|encode]`, or `make bench`."""
