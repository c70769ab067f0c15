"""Numbers of training that are not settings, each with its reason."""

VALIDATIONS_PER_RUN = 10
"""Validations when `training.eval_every` is null: enough to choose a checkpoint, few enough to cost little."""

PROVISIONAL_LEARNING_RATE = 1e-4
"""Stands for a learning rate of ``auto`` until the range test has found one, or a checkpoint tells; in a masked-LM
warm-up, which comes before the test."""

AVERAGE_POWER = 2.0
"""Schedule-Free averages the iterates with weights step^r. With r = 0 the last fifth of a run weighs a fifth, and the
averaged model still carries the dense gates of the warm-up; with r = 2 the last fifth weighs half."""

DERIVED_WEIGHT_DECAY = 0.1
"""Weight decay as a share of the learning rate (Loshchilov & Hutter's scaling)."""

SPARSE_ENOUGH = 1.15
"""A checkpoint counts as sparse when it has at most so many times the active tokens aimed at."""

CONSTRAINT_SLACK = 0.5
"""A checkpoint satisfies CE ≤ τ when the moving average of (CE − τ)/τ is at most this: τ is a lower quartile of noisy
batches, so the mean of a model just as good as the warm-up's lies above it."""

TARGET_SLACK = 0.1
"""The same where τ comes from `training.target_accuracy` and is itself a mean: λ holds the cross-entropy about there,
now a little above and now below."""

KEPT_CHECKPOINTS = 2
"""The newest, and the one before it in case the newest is damaged."""

MEMORY_PER_TOKEN_MB = 0.05
"""Memory a training token takes per layer and 384 hidden units, measured on MiniLM with room to spare; used only to
choose a batch size when `training.batch_size` is null."""

LARGEST_AUTOMATIC_BATCH = 64
"""More texts a step save little time on any device we know and cost updates."""

LARGEST_ACTIVE_PER_STEP = 400_000
"""Active tokens of all rows of a step above which a warm-up raises the thresholds. A tagger has a row a word, up to two
thousand words a step and, while cross-entropy alone rules, hundreds of active tokens a word, which took 2.5 GB and half
the time of a step; texts do not come near it."""

THRESHOLD_RAISE = 0.1
"""Share of themselves by which thresholds rise in such a step: a few long batches bring them where they should be."""
