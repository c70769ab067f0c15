"""The Lab: a page to read, question and compare models, as plain files that the server hands out (`splade/apps/server/static.py`)."""
