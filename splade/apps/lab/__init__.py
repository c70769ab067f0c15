"""The Lab: a page to read, question and compare models; plain files, which `splade.apps.server.static` hands out."""
