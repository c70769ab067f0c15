"""The files of the page, and the readable schema: from the package, by a list made at the start, never by a path asked
for. A browser asks whether its copy is still good (ETag), and gets a 304 where it is."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI, Request, Response

import splade

PAGE = Path(splade.__file__).parent / "apps" / "lab" / "static"
"""Where the page is."""

OWN = Path(__file__).parent / "static"
"""What belongs to the server's own page on its schema."""

TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
}
"""By the ends of names: what a system believes of them is not the same everywhere."""

INDEX = "index.html"


@dataclass(frozen=True)
class File:
    """A file under its path."""

    content: bytes
    media_type: str

    @property
    def tag(self) -> str:
        """Its ETag."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    def answer(self, request: Request) -> Response:
        """The file, or that the browser's copy is still good."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
        if self.tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def found_files() -> dict[str, Path]:
    """Every file of the page and of the server's own, by the path it is served under."""
    files: dict[str, Path] = {}
    for folder in (OWN, PAGE):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
                files[f"/{path.relative_to(folder).as_posix()}"] = path
    if f"/{INDEX}" in files:
        files["/"] = files[f"/{INDEX}"]
    return files


def media_type(path: Path) -> str:
    """By the end of the name."""
    return TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def add_file(app: FastAPI, path: str, file: Path | File) -> None:
    """Serve one file; one in a folder is read anew each time, so that what is edited is what is seen."""

    async def answer(request: Request) -> Response:
        served = file if isinstance(file, File) else File(file.read_bytes(), media_type(file))
        return served.answer(request)

    app.add_route(path, answer, methods=["GET"], include_in_schema=False)
