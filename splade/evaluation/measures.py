"""All measures, in the order in which their figures are shown. A new one is a file of its own and a line here."""

from __future__ import annotations

from splade.evaluation.agreement import Agreement
from splade.evaluation.bias_measure import Bias
from splade.evaluation.calibration import CalibrationMeasure
from splade.evaluation.capped import Capped
from splade.evaluation.class_circuits import ClassCircuits
from splade.evaluation.class_scores import ClassScoreMeasure
from splade.evaluation.compare_explainers import CompareExplainers
from splade.evaluation.completeness import Completeness
from splade.evaluation.cost import Cost
from splade.evaluation.deletion import Deletion
from splade.evaluation.dense_scores import DenseScores
from splade.evaluation.documents import Documents
from splade.evaluation.entity_scores import EntityScoreMeasure
from splade.evaluation.eraser import Eraser
from splade.evaluation.faithfulness import Removability
from splade.evaluation.frozen_share import FrozenShare
from splade.evaluation.heaviest_words import HeaviestWords
from splade.evaluation.identity import Identity
from splade.evaluation.input_share import InputShare
from splade.evaluation.layerwise import Layerwise
from splade.evaluation.lexicon import Lexicon
from splade.evaluation.look_alikes import LookAlikes
from splade.evaluation.measure import MEASURES, Declared
from splade.evaluation.negation import Negation
from splade.evaluation.registers import Registers
from splade.evaluation.sae import PostHocSAE
from splade.evaluation.sanity import Sanity
from splade.evaluation.scaling_metrics import Scaling
from splade.evaluation.self_activation import SelfActivation
from splade.evaluation.separation import Separation
from splade.evaluation.sparsity import Sparsity
from splade.evaluation.strongest import Strongest
from splade.evaluation.swap_measure import Swap

__all__ = ["MEASURES", "declared"]

ORDER: tuple[type[Declared], ...] = (
    *(ClassScoreMeasure, EntityScoreMeasure, DenseScores, Documents, Capped, Sparsity, Identity, CalibrationMeasure),
    *(
        Completeness,
        Eraser,
        Removability,
        Deletion,
        CompareExplainers,
        Agreement,
        Sanity,
        Negation,
        LookAlikes,
        Bias,
        Swap,
    ),
    *(ClassCircuits, Separation, InputShare, FrozenShare, SelfActivation, Lexicon, Registers, HeaviestWords, Strongest),
    *(Layerwise, PostHocSAE, Scaling, Cost),
)


def declared(task: str | None = None) -> list[type[Declared]]:
    """Everything that figures are declared by, in order, those registered elsewhere last; `task`: what is for it."""
    others = [measure for measure in MEASURES.entries() if measure not in ORDER]
    return [one for one in (*ORDER, *others) if task is None or one.is_for(task)]
