"""Does command queueing (NCQ, UASP, NVMe queues) work? Compares the measurement with sysfs.

Source: AnandTech reads RND4K Q32 about equal to Q1 as "no NCQ or UASP" (docs/methods/cdm.md). The
thresholds are our choice: below 1.5 times there is no queueing, from 2 times there is, between
them it is not clear.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchstick.plan.states import QueueingState

NONE_BELOW = 1.5
WORKS_FROM = 2.0


@dataclass(frozen=True)
class QueueingVerdict:
    """`ratio` is Q32 over Q1 in IOPS.

    `contradiction` is True when the measurement shows the opposite of what the system states.
    """

    state: QueueingState
    ratio: float | None
    text: str
    contradiction: bool = False


def judge_queueing(
    q1_iops: float | None,
    q32_iops: float | None,
    *,
    queue_depth: int | None,
    driver: str,
    rotational: bool | None,
) -> QueueingVerdict:
    """The verdict from random 4K reads at QD1 and QD32.

    `queue_depth` is the depth in use as sysfs states it (1 means no queueing), `driver` is named
    with it in the text. For a rotational drive the verdict follows sysfs, because its ratio depends
    on the seek order as much as on queueing. `rotational` None: the drive does not report it, so a
    low ratio at a depth above 1 may be a hard disk's, and is no contradiction.
    """
    statement = _stated(queue_depth, driver)
    if not q1_iops or not q32_iops:
        return QueueingVerdict(QueueingState.UNKNOWN, None, f"not measured; {statement}")
    ratio = q32_iops / q1_iops
    measurement = f"Q32 is {ratio:.1f} times Q1"
    if rotational:
        state = _from_depth(queue_depth)
        return QueueingVerdict(state, ratio, f"{statement}; rotational, {measurement}")
    if ratio < NONE_BELOW:
        state = QueueingState.INEFFECTIVE
    elif ratio >= WORKS_FROM:
        state = QueueingState.WORKS
    else:
        state = QueueingState.UNCLEAR
    from_depth = _from_depth(queue_depth)
    is_clear = state != QueueingState.UNCLEAR and from_depth != QueueingState.UNKNOWN
    contradiction = is_clear and state != from_depth
    text = f"{measurement}; {statement}"
    if contradiction and rotational is None and state == QueueingState.INEFFECTIVE:
        text += "; inconclusive: the drive does not report whether it is a hard disk"
        return QueueingVerdict(QueueingState.UNCLEAR, ratio, text)
    if contradiction:
        text += ": the two contradict each other"
    return QueueingVerdict(state, ratio, text, contradiction)


def waits_in_kernel(request_count: int, queue_depth: int | None) -> bool | None:
    """Does a test with `request_count` outstanding requests queue in the kernel, because the drive
    takes only `queue_depth` at a time? None where that depth is not known."""
    return None if queue_depth is None else request_count > queue_depth


def _from_depth(queue_depth: int | None) -> QueueingState:
    if queue_depth is None:
        return QueueingState.UNKNOWN
    return QueueingState.WORKS if queue_depth > 1 else QueueingState.INEFFECTIVE


def _stated(queue_depth: int | None, driver: str) -> str:
    depth = "queue depth not known" if queue_depth is None else f"queue depth {queue_depth}"
    return f"driver {driver}, {depth}" if driver else depth
