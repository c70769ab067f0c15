"""Tasks: what is predicted of a text. Each answers for itself how it is batched, decided, scored and spoken of."""

from splade.tasks.base import TASKS, Batch, Task
from splade.tasks.classification import ClassificationTask
from splade.tasks.reader import read, read_texts
from splade.tasks.tagging import TaggingTask

__all__ = ["TASKS", "Batch", "ClassificationTask", "TaggingTask", "Task", "read", "read_texts"]
