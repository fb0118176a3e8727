"""Is a drive blank? A sample of it is read: every block is all 00 or all FF, or it is not blank.

A missing signature is not enough: an encrypted container without a header looks like random bytes.
The sample has the drive's first 2 MiB and last 1 MiB, where tables, signatures and the headers of
containers are; the places where tools usually start a partition; and one block of 64 KiB at a
random place in each of 1024 equal parts of the drive. A container that covers two parts (0.2 % of
the drive) in one piece is always found. Data on a share f of the blocks, wherever they are, is
missed with a probability of at most (1 - f)^1024.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from benchstick.drives.device_query import NOT_ANSWERING, SAMPLE, Asker, Query, ask_live
from benchstick.drives.partition_table import parse_probe
from benchstick.drives.sysfs import Tree, capacity

BLOCK = 64 * 1024
PARTS = 1024
_MIB = 1 << 20
START_BYTES, END_BYTES = 2 * _MIB, _MIB
# In MiB; 31.5 KiB and 1 MiB are in the first 2 MiB. Cards, and what follows the EFI, boot and
# reserved partitions that installers make.
USUAL_STARTS = (2, 4, 8, 16, 17, 32, 64, 101, 117, 129, 201, 257, 301, 513, 1025)


def places(total: int, pick: Callable[[int], int] = secrets.randbelow) -> list[tuple[int, int]]:
    """Offset and length of each read of a sample of a drive of `total` bytes, in ascending order.
    `pick(n)` is a random number below n."""
    tail = min(END_BYTES, total)
    reads = {(0, min(START_BYTES, total)), (total - tail, tail)}
    reads |= {(at * _MIB, BLOCK) for at in USUAL_STARTS if at * _MIB + BLOCK <= total}
    blocks = total // BLOCK
    parts = min(PARTS, blocks)
    for part in range(parts):
        first, end = part * blocks // parts, (part + 1) * blocks // parts
        reads.add(((first + pick(end - first)) * BLOCK, BLOCK))
    return sorted(reads)


def why_not_blank(name: str, query: Query = ask_live, tree: Tree | None = None) -> str | None:
    """Why drive `name` is not blank, or not known to be; None when the whole sample is blank."""
    tree = tree or Tree()
    total = capacity(tree, name)
    if total <= 0:
        return "unknown (it has no capacity)"
    ask = Asker(query)
    ranges = [f"{offset}:{length}" for offset, length in places(total)]
    answer = ask(SAMPLE, f"/dev/{name}", *ranges)
    values = parse_probe(answer.text)
    if ask.timed_out:
        return f"unknown ({NOT_ANSWERING}: {ask.silent_why})"
    if answer.exit_code != 0 or "data" not in values:
        return f"unknown (it could not be opened to look: {ask.why_not(answer)})"
    if values["read"] != "ok":
        return f"unknown (it could not be read at {values['read']})"
    if values["rdev"] != (tree.text(f"sys/block/{name}/dev") or ""):
        return f"unknown (/dev/{name} is not the node of this drive)"
    if values["data"] != "none":
        return f"data of no known kind at byte {values['data']}"
    return None
