"""From a config to a trained, saved, measured and explained model; every command goes through here."""

from splade.pipelines.dense import dense_trainer, train_dense_baseline
from splade.pipelines.experiment import TrainedRun, run_experiment, setup_and_train
from splade.pipelines.measurement import evaluate_model, measure_again
from splade.pipelines.outputs import training_record, write_outputs
from splade.pipelines.preparation import PreparedRun, calibrate, overview, prepare
from splade.pipelines.saved_model import evaluate_saved

__all__ = [
    "PreparedRun",
    "TrainedRun",
    "calibrate",
    "dense_trainer",
    "evaluate_model",
    "evaluate_saved",
    "measure_again",
    "overview",
    "prepare",
    "run_experiment",
    "setup_and_train",
    "train_dense_baseline",
    "training_record",
    "write_outputs",
]
