"""What a person reads: explanations in the terminal, the report of a run, and the model card."""
