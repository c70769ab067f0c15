"""Words that say nothing by themselves, and the negations that must not be taken for such."""

from __future__ import annotations


def _words(lines: str) -> frozenset[str]:
    return frozenset(lines.split())


# Words that only hold a sentence together: articles, pronouns, auxiliaries, conjunctions, prepositions, numbers, and
# endings that tokenizers cut off ("we'll", "I've"). Written out here rather than taken from a library: the usual lists
# were made for document retrieval and also hold words that a model lives on. "serious" and "empty" judge a film, "fire"
# and "bill" say what a news item is about, and "why", "when", "still", "back", "get" tell one request to a bank from
# another.
STOP_WORDS = _words(
    """
a about above across afterwards against all also although am among amongst an and another any anyhow anyone anything
anyway anywhere are around as at be because been beforehand being behind below beside besides between beyond both but by
can co con could de did do does doing during each eg eight either eleven else elsewhere etc every everyone everything
everywhere fifteen fifty five for former formerly forty four from had has have having he hence her here hereafter
hereby herein hereupon hers herself him himself his however i ie if in inc into is it its itself latter latterly ll ltd
may me meanwhile might moreover must my myself namely nevertheless nine of on one onto or others otherwise our ours
ourselves per re shall she should six sixty so some somehow someone something sometime somewhere such ten than that the
their them themselves then thence there thereafter thereby therefore therein thereupon these they this those though
three throughout thru thus to toward towards twelve twenty two un under upon us ve via was we were whatever whence
whenever whereafter whereas whereby wherein whereupon wherever whether while whither whoever whom whose will with within
would you your yours yourself yourselves
"""
)

# Stop words that set what follows against what went before: "good, but slow". Of all that deleting a silent word did on
# SST-2, a tenth was theirs: half as much as that of "and", "is", "to", "a" and "the", which stand there often.
CONTRASTS = _words("although but however nevertheless otherwise though whereas")

# Stop-word lists treat these as empty, yet they turn a sentence's meaning round: "not good" without "not" is "good".
# The last two lines are what tokenizers make of "don't" and its kin (don ' t, or don 't).
NEGATIONS = _words(
    """
no not never nor cannot without hardly barely scarcely nothing none neither nobody noone nowhere
cant couldnt hasnt t 't n't ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn
shan shouldn wasn weren won wouldn
"""
)


def is_negation(word: str) -> bool:
    """Whether a word of a text negates: `not`, `never`, `don't`."""
    word = word.lower().replace("’", "'")
    return word in NEGATIONS or word.endswith("n't")
