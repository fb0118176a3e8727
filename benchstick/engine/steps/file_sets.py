"""Makes the sources of file sets, and compares what was read back with them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchstick import paths
from benchstick.engine.fileset_source.passes import open_cycle
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.plan import corrupt
from benchstick.plan.steps import BuildSet, Verify


def do_build_set(work: Work, step: BuildSet) -> StepOutcome:
    """Create the set's source again. Free the RAM of the one before first."""
    filesets = work.filesets
    if filesets.source is not None:
        filesets.source.close()
        filesets.source = None
    files = filesets.sets[step.set_name]
    place = paths.run_folder() / "ram" / work.uuid
    filesets.source = open_cycle(
        step.source, files, place, folder=filesets.own_folder, cancel=work.cancel
    )
    work.check_cancelled()
    if filesets.source.note:
        work.record.event(work.now, "source", filesets.source.note)
    detail: dict[str, Any] = {"source": step.source, "bytes": files.bytes, "files": files.count}
    if filesets.source.rate is not None:
        detail["source_rate"] = filesets.source.rate
    return StepOutcome(detail=detail)


def do_verify(work: Work, step: Verify) -> StepOutcome:
    """Compare the data. Not measured. When it differs the pass is invalid, the run is corrupt, and
    the source is created again for the next pass."""
    source = work.filesets.source
    assert source is not None
    assert work.target.folder is not None
    differences = source.compare(work.target.folder / step.folder, work.cancel)
    work.check_cancelled()
    if not differences:
        return StepOutcome(detail={"compared": "equal"})
    tests = work.tests_of_set(step.set_name)
    messages = work.filesets.not_copied
    wrong = [item for item in differences if item.of_drive and item.path not in messages]
    if wrong:
        reason = f"data differ: {_files_differ(len(wrong))}, the first: {wrong[0]}"
        work.data_differs(
            reason, tests=tests, set_name=step.set_name, pass_no=step.pass_no, files=len(wrong),
            differences=[asdict(item) for item in wrong[: corrupt.MOST_DIFFERENCES]],
        )  # fmt: skip
    else:
        # Not due to the drive: the copy did not copy these, or another program wrote them.
        reason = f"not comparable: {len(differences)} files, the first: {differences[0]}"
        for test in tests:
            work.record.invalidate_pass(test, step.pass_no, reason)
    source.renew(work.cancel)
    return StepOutcome(detail={"compared": reason}, failed=reason)


def _files_differ(count: int) -> str:
    return "1 file differs" if count == 1 else f"{count} files differ"
