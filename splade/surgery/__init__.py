"""Whatever changes what a model listens to, says exactly what that does, and keeps the record of it.

Three operations, each named for what it does: shut a *token* (s_j = 0 for every input), silence a *word* (wherever it
stands in a text, nothing speaks for it), and delete the word from the text (the backbone reads another text).
"""
