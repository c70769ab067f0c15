"""The HTTP server: one process, one model thread, and the interface of `docs/api.md`. Needs the extra `serve`."""
