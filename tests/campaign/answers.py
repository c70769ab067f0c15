"""`predict` and `explain`: as many answers as texts, in their order, probabilities that sum to 1, exact sums."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from random import Random
from typing import Any

from tests.campaign.case import Trial
from tests.campaign.cli import Ran, invoke
from tests.campaign.tables import Table
from tests.campaign.texts import odd_texts
from tests.campaign.verdicts import Refused, Wrong, expect
from tests.campaign.workshop import CLASSIFIERS, COLUMNS, TAGGER, Workshop

LINE_END = re.compile(r"\r\n|\r|\n")  # what readers of text files take for one
EXACT = 1e-4
FLAGS = [
    ["--json"],
    ["--json"],
    [],
    [],
    ["--conll"],
    ["--topk", "3"],
    ["--topk", "-1"],
    ["--json", "--conll"],
    ["--nonsense"],
]
EXPLAIN_FLAGS = [
    ["--top", "3"],
    ["--top", "0"],
    ["--target", "positive"],
    ["--target", "nonsense"],
    ["--word", "0"],
    ["--word", "99"],
    ["--context"],
    ["--interactions"],
    ["--interactions", "--all-words", "--span", "good", "--span", "a ... ."],
    ["--span", "good"],
]


def draw_answers(rng: Random, workshop: Workshop) -> Trial:
    """Texts as arguments, on standard input or in a file."""
    command = rng.choice(["predict", "predict", "explain"])
    name = rng.choice([*CLASSIFIERS, TAGGER, TAGGER])
    flags = [*rng.choice(FLAGS), *(rng.choice(EXPLAIN_FLAGS) if command == "explain" and rng.random() < 0.5 else [])]
    texts = odd_texts(rng, rng.randint(1, 6))
    way = rng.choice(["arguments", "arguments", "input", "file", "file", "lines", "nothing"])
    description = f"{command} {' '.join(flags)} of {name}, {len(texts)} texts by {way}: {texts!r:.80}"
    seed = rng.random()
    return Trial(
        description, lambda folder: _check(Random(seed), command, name, flags, list(texts), way, folder, workshop)
    )


def _check(
    rng: Random, command: str, name: str, flags: list[str], texts: list[str], way: str, folder: Path, workshop: Workshop
) -> None:
    start = [command, "--model", workshop.model(name), *flags]
    good = flags in ([], ["--json"])  # nothing else could be refused
    match way:
        case "arguments":
            texts = [text.replace("\0", "") for text in texts if text != "-"] or ["good"]
            ran = invoke(*start, "--", *texts)
        case "input" | "lines":
            texts = [LINE_END.sub(" ", text) for text in texts]
            texts[0] = texts[0].removeprefix("\ufeff")
            if way == "lines":
                path = folder / "texts.txt"
                texts = [text.replace("\0", "") for text in texts]  # which no text file has
                path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="")
                ran = invoke(*start, "--file", path)
            else:
                ran = invoke(*start, *rng.choice([["-"], []]), stdin="".join(f"{text}\n" for text in texts).encode())
        case "file":
            format_ = "jsonl" if name == TAGGER else rng.choice(["csv", "jsonl", "parquet"])
            if format_ == "csv":
                texts = [text.replace("\0", "") for text in texts]  # which no text file has
            header = [COLUMNS["text"] if name == "columns" else "text", "other"]
            path = Table(format_, texts, ["x"] * len(texts), header, quote_all=True).write(folder)
            ran = invoke(*start, "--file", path)
        case _:
            ran, texts, good = invoke(*start, stdin=b""), [], False
    if isinstance(ran.refusal, Refused) and good:
        raise Wrong(f"refused good texts: {ran.refusal}")
    ran.succeeded()
    _judge(ran, command, name, flags, texts)


def _judge(ran: Ran, command: str, name: str, flags: list[str], texts: list[str]) -> None:
    if "--json" in flags:
        answers = [json.loads(line) for line in ran.stdout.splitlines()]
        expect(len(answers) == len(texts), f"{len(texts)} texts, {len(answers)} lines of JSON")
        for answer, text in zip(answers, texts, strict=True):
            shown = text.encode("utf-8", "replace").decode()
            expect(answer["text"] == shown, f"the answer to {text!r:.40} is for {answer['text']!r:.40}")
            for sums in _sums(answer):
                _check_sums(sums)
    elif command == "predict" and "--conll" not in flags:
        lines = LINE_END.split(ran.stdout)[:-1]
        expect(len(lines) == len(texts), f"{len(texts)} texts, {len(lines)} lines")
        if name != TAGGER:
            torn = [line for line in lines if line.count("\t") != 2]
            expect(not torn, f"a line of other than three fields: {torn[:1]!r:.80}")


def _sums(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Those parts of an answer that have probabilities or sums: itself, or a tagger's explained words."""
    return answer.get("explained", [answer] if "probabilities" in answer else [])


def _check_deletions(part: dict[str, Any]) -> None:
    """What deleting a word does is the sum of what it says, of its changes to others, and of the bias."""
    for one in part.get("interactions", {}).get("deleted", []):
        error = abs(one["share"] + one["bias"] + math.fsum(other["change"] for other in one["through"]) - one["effect"])
        expect(error <= EXACT, f"the effect of {one['text']!r:.40} differs from its sum by {error:.2g}")
    for one in part.get("context", []):
        if one is not None:
            error = abs(one["bias"] + math.fsum(token["change"] for token in one["tokens"]) - one["effect"])
            expect(error <= EXACT, f"an effect of context differs from its sum by {error:.2g}")


def _check_sums(part: dict[str, Any]) -> None:
    _check_deletions(part)
    total = math.fsum(part["probabilities"].values())
    expect(abs(total - 1) < EXACT, f"probabilities sum to {total}")
    for rows in ("tokens", "words"):
        if isinstance(part.get(rows), list) and "bias" in part:
            error = abs(part["bias"] + math.fsum(row["score"] for row in part[rows]) - part["logits"][part["target"]])
            expect(error <= EXACT, f"{rows} + bias differ from the logit by {error:.2g}")
