"""Words that say nothing by themselves, and the negations that must not be taken for such."""

from __future__ import annotations


def _words(lines: str) -> frozenset[str]:
    return frozenset(lines.split())


# Function words, numbers and endings that tokenizers cut off ("we'll", "I've"). Written out here rather than taken from
# a library: the usual lists were made for document retrieval and also hold nouns, verbs and adjectives that a sentiment
# or topic model lives on ("serious" and "empty" judge a film; "fire", "bill", "system" say what a news item is about),
# and loading one takes a second and a hundred megabytes.
STOP_WORDS = _words(
    """
a about above across after afterwards again against all almost alone along already also although always am among
amongst an and another any anyhow anyone anything anyway anywhere are around as at back be became because become
becomes becoming been before beforehand behind being below beside besides between beyond both but by can co con
could de did do does doing done down during each eg eight either eleven else elsewhere etc even ever every
everyone everything everywhere fifteen fifty five for former formerly forty four from further get give go had
has have having he hence her here hereafter hereby herein hereupon hers herself him himself his how however i ie
if in inc indeed into is it its itself latter latterly ll ltd made many may me meanwhile might more moreover
most mostly much must my myself namely nevertheless next nine now of off often on once one only onto or other
others otherwise our ours ourselves out over own per perhaps put rather re same see seem seemed seeming seems
several she should side since six sixty so some somehow someone something sometime sometimes somewhere still
such take ten than that the their them themselves then thence there thereafter thereby therefore therein
thereupon these they third this those though three through throughout thru thus to toward towards twelve twenty
two un under until up upon us ve very via was we were what whatever when whence whenever where whereafter
whereas whereby wherein whereupon wherever whether which while whither who whoever whom whose why will with
within would yet you your yours yourself yourselves
"""
)

# Stop-word lists treat these as empty, yet they turn a sentence's meaning round: "not good" without "not" is "good".
# The last two lines are what tokenizers make of "don't" and its kin (don ' t, or don 't).
NEGATIONS = _words(
    """
no not never nor cannot without hardly barely scarcely nothing none neither nobody noone nowhere
cant couldnt hasnt t 't n't ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn
shan shouldn wasn weren won wouldn
"""
)
