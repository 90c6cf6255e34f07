"""When a run has converged, as a table's column "epochs" needs it: by a rule that is applied to what was recorded."""

from __future__ import annotations

from reservoir.experiments.records import Record, RecordError

WITHIN = 0.02


def steps_to_converge(record: Record, *, within: float = WITHIN) -> int:
    """The step of the first validation point that is within a share of the run's best one.

    A run of a fixed length whose learning rate falls to nought improves to the end, if only by a little; its very best
    point says how long it was, this one how soon it came near.

    Args:
        record: of a finished run.
        within: 0.02 takes the first point with 98 % of the best score, or with 1 / 0.98 of the smallest where less is
            better; 0 the best point itself.

    Raises:
        ValueError: `within` is not in [0, 1).
    """
    if not 0 <= within < 1:
        raise ValueError(f"within must be in [0, 1), got {within}")
    scores = [point["metrics"][record.metric] for point in record.points]
    if record.larger_is_better:
        near = [score >= (1 - within) * max(scores) for score in scores]
    else:
        near = [score * (1 - within) <= min(scores) for score in scores]
    return record.points[near.index(True)]["step"]


def epochs_to_converge(record: Record, *, within: float = WITHIN) -> float:
    """`steps_to_converge` in passes over the training data.

    Raises:
        RecordError: the record is too old to say how long an epoch was.
    """
    if not record.epoch_steps:
        raise RecordError(
            f"the record of {record.recipe} ({record.scale}, seed {record.seed}) does not say how many steps an epoch"
            " has; run it again with --fresh"
        )
    return steps_to_converge(record, within=within) / record.epoch_steps
