"""The queue: bounded, in order, in batches of so many positions, and free of what nobody waits for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from splade.apps.server.batching import Job, JobQueue
from splade.apps.server.errors import Refusal
from splade.apps.server.limits import Limits
from splade.apps.server.metrics import Metrics
from splade.apps.server.model_thread import ModelThread
from splade.apps.server.questions import Explain, Predict
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server
from tests.apps.server.conftest import ask
from tests.apps.server.test_refusals import check_refusal


def jobs_of(served: ServedModel, *texts: str) -> list[Job]:
    return [Job(served, Predict(), [text]) for text in texts]


def queued(limits: Limits, jobs: list[Job]) -> JobQueue:
    queue = JobQueue(limits)
    for job in jobs:
        queue.submit(job)
    return queue


def test_a_batch_has_no_more_positions_than_it_may_and_keeps_the_order(served: list[ServedModel]) -> None:
    short, long = "good film", "a very good film with a dull plot"  # 4 and 10 pieces
    jobs = jobs_of(served[0], short, short, long, short, long)
    queue = queued(Limits(batch_tokens=30), jobs)
    assert [len(job.lengths) for job in jobs] == [1] * 5 and [job.lengths[0] for job in jobs] == [4, 4, 10, 4, 10]
    assert queue.take(0) == jobs[:3]  # 3 rows of 10
    assert queue.take(0) == jobs[3:]
    assert queue.take(0) == []


def test_a_batch_is_for_one_model(served: list[ServedModel]) -> None:
    jobs = [Job(served[number], Predict(), ["good"]) for number in (0, 0, 2, 0)]
    queue = queued(Limits(), jobs)
    assert [queue.take(0) for _ in range(3)] == [jobs[:2], jobs[2:3], jobs[3:]]


def test_one_that_is_longer_than_a_batch_goes_alone(served: list[ServedModel]) -> None:
    jobs = [Job(served[0], Predict(), ["good film"] * 20), *jobs_of(served[0], "good")]
    queue = queued(Limits(batch_tokens=30), jobs)
    assert queue.take(0) == jobs[:1] and queue.take(0) == jobs[1:]


def test_a_full_queue_refuses_and_says_when_to_come_again(served: list[ServedModel]) -> None:
    queue = queued(Limits(queued_texts=3), jobs_of(served[0], "a", "b", "c"))
    queue.pace = 2.0
    with pytest.raises(Refusal) as refused:
        queue.submit(*jobs_of(served[0], "d"))
    assert refused.value.status_code == 429 and refused.value.headers == {"Retry-After": "6"}
    queue.take(0)
    queue.submit(Job(served[0], Predict(), ["more than all that may wait"] * 5))  # alone it always finds room


def test_what_nobody_waits_for_leaves_the_queue(served: list[ServedModel]) -> None:
    first, gone, last = jobs = jobs_of(served[0], "a", "b", "c")
    queue = queued(Limits(queued_texts=3), jobs)
    queue.forget(gone)
    assert queue.texts == 2
    queue.submit(*jobs_of(served[0], "d"))
    assert [job.items for job in queue.take(0)] == [["a"], ["c"], ["d"]]
    queue.forget(first)  # under way already: nothing to take out
    assert not last.answer.cancelled()


def test_an_ended_queue_takes_nothing_and_gives_what_it_has(served: list[ServedModel]) -> None:
    jobs = jobs_of(served[0], "a")
    queue = queued(Limits(), jobs)
    queue.end()
    with pytest.raises(Refusal, match="ending"):
        queue.submit(*jobs_of(served[0], "b"))
    assert not queue.ended and queue.take(10) == jobs and queue.ended


def test_different_questions_share_one_reading(served: list[ServedModel]) -> None:
    model = served[0].model
    model._kept.clear()
    read: list[int] = []
    real = model.model.backbone.forward

    def counted(ids: Any, mask: Any) -> Any:
        read.append(len(ids))
        return real(ids, mask)

    model.model.backbone.forward = counted
    try:
        jobs = [Job(served[0], Predict(), ["good film"]), Job(served[0], Explain(), ["dull plot"])]
        jobs.append(Job(served[0], Explain("class 1"), ["good film"]))
        queue = queued(Limits(), jobs)
        queue.end()
        ModelThread(served, queue, Metrics()).run()
    finally:
        del model.model.backbone.forward
    assert read == [2]
    assert [job.answer.result()[0].json["text"] for job in jobs] == ["good film", "dull plot", "good film"]


def test_requests_share_batches_and_are_counted(served: list[ServedModel], hold: Callable[[Server], Any]) -> None:
    server = Server(served)
    with ask(server) as client:
        with hold(server) as held:
            texts = ["good film", "dull plot", "a very good film", "bad"]
            answers = held.together(lambda text: client.post("/explain", json={"texts": [text]}), texts)
        assert [answer.json()["explanations"][0]["text"] for answer in answers] == texts
        metrics = figures(client.get("/metrics").text)
    assert metrics["lexical_sae_batch_texts_count"] == 1 and metrics["lexical_sae_batch_texts_sum"] == 4
    assert metrics["lexical_sae_identity_error_count"] == 4
    assert metrics["lexical_sae_identity_error_bucket", "0.0001"] == 4  # no sum is further off
    assert metrics["lexical_sae_queue_seconds_count"] == 4 and metrics["lexical_sae_queue_texts"] == 0


def figures(page: str) -> dict[Any, float]:
    """The samples of a page of metrics, those with bounds by these too."""
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {
        (sample.name, sample.labels["le"]) if "le" in sample.labels else sample.name: sample.value for sample in samples
    }


def test_a_full_server_refuses_while_it_answers(served: list[ServedModel], hold: Callable[[Server], Any]) -> None:
    server = Server(served, Limits(queued_texts=2))
    with ask(server) as client, hold(server) as held, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(client.post, "/predict", json={"texts": [text]}) for text in ("good", "bad")]
        held.waiting(2)
        refused = client.post("/predict", json={"texts": ["one more"]})
        check_refusal(refused, 429, "busy", "2 texts are waiting")
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/health").is_success and client.get("/ready").is_success
        held.release()
        assert all(one.result().is_success for one in asked)


def test_an_answer_that_takes_too_long_is_given_up(served: list[ServedModel], hold: Callable[[Server], Any]) -> None:
    server = Server(served, Limits(answer_seconds=0.3))
    with ask(server) as client, hold(server):
        late = client.post("/predict", json={"texts": ["good"]})
        check_refusal(late, 503, "timeout", "0.3 s")
        assert server.queue.texts == 0 and late.headers["retry-after"]


def test_too_many_at_a_time_are_refused_before_they_are_read(
    served: list[ServedModel], hold: Callable[[Server], Any]
) -> None:
    server = Server(served, Limits(requests=1))
    with ask(server) as client, hold(server) as held, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/predict", json={"texts": ["good"]})
        held.waiting(1)
        check_refusal(client.post("/predict", json={"texts": ["bad"]}), 429, "busy", "1 requests")
        assert client.get("/ready").is_success
        held.release()
        assert first.result().is_success


def test_no_text_is_in_the_metrics(served: list[ServedModel]) -> None:
    with ask(Server(served)) as client:
        client.post("/explain", json={"texts": ["a SECRET film"]})
        client.get("/SECRET/SECRET")
        client.post("/explain", json={"texts": ["a"], "model": "SECRET"})
        page = client.get("/metrics").text
    assert "SECRET" not in page and 'path="other"' in page
