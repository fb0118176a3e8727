"""What the page can ask of the bench: reads, and writes.

For a number or name that does not exist the answer is None where the method has it, else BadInput.
StoreFailed when the store cannot be read or written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, Protocol

from benchstick.analysis.run_timeline import Session as SpeedBySecond
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.states import RunState
from benchstick.protocol.messages import (
    Document,
    DriveHistory,
    DriveRecord,
    NewSession,
    OtherRun,
    RunBundle,
    RunEntry,
    RunningRun,
    Scan,
    Session,
    Status,
    StoredRun,
    Token,
    WaitingRequest,
)
from benchstick.recipes.shelf import Shelved
from benchstick.suites.reference_results import Reference
from benchstick.suites.spec_sheets import Sheet


class Reads(Protocol):
    """Reads. They change nothing."""

    # ---- the bench

    def status(self) -> Status:
        """The bench in short."""

    def bench_id(self) -> str:
        """The bench's own UUID, empty before the store has one."""

    def agent_runs(self) -> bool:
        """Whether an agent runs on this bench; True where that is unknown."""

    def time_utc(self) -> str:
        """The bench's time of day: `2026-01-31T12:00:00.123Z`."""

    # ---- runs

    def running(self) -> Sequence[RunningRun]:
        """Runs in progress, oldest first."""

    def runs(
        self,
        *,
        practice: bool | None = None,
        drive: str | None = None,
        suite: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[RunEntry]:
        """Runs with a number below `before`, newest first: of one `drive` by its label, key or
        code, of one suite, or all."""

    def newest_suite(self, *, practice: bool) -> str | None:
        """The suite of the newest real or practice run; None where there is no run."""

    def run_state(self, number: int) -> RunState | None:
        """The state to show; None when there is no such run."""

    def run(self, number: int) -> StoredRun | None:
        """A run with its results; None when there is no such run."""

    def readable_run(self, number: int) -> Document:
        """What can still be read of a run for which `run` raises DamagedRow: its own columns, and
        its `results` by name. BadInput when there is no such run."""

    def live(self, number: int) -> Document | None:
        """The live record of a run; None when it is not running here."""

    def samples(
        self, number: int, *, after: int, every: int, most: int, first_step: int
    ) -> Document | None:
        """The `benchstick/samples/2` document: samples with n > `after`, and how far the run is.
        Of each `every` samples those with the minimum and maximum of a counter; at most `most` are
        read. Steps from index `first_step` on. None when there is no such run."""

    def samples_count(self, number: int) -> int:
        """How many samples of a run the store has."""

    def has_traffic(self, number: int) -> bool:
        """Whether the host read or wrote in two seconds of a run or more."""

    def all_samples(self, number: int) -> Sequence[Document]:
        """All samples of a run, in order."""

    def samples_csv(self, number: int) -> str:
        """The per-second record of a run, one sample a line."""

    def results_csv(self, number: int) -> str | None:
        """The results of a run, one a line; None when there is no such run."""

    def speed_by_second(self, number: int, timed_steps: Set[int]) -> SpeedBySecond:
        """The speed by second of a run whose steps with these indexes are timed."""

    def step_folder(self, number: int, index: int) -> str | None:
        """Where a step of a run left its files, relative to the data folder; None where it left
        none."""

    def bundle(self, number: int) -> RunBundle | None:
        """A run that is over as a bundle, without its steps' files. None when there is no such
        run."""

    def run_of_bundle(self, bundle: bytes) -> int | None:
        """Check a bundle as a whole: the number here of its run, None when the run is not here.
        BadInput when it is no bundle, or the run is here with another record."""

    def upload(self, number: int) -> Document | None:
        """The `benchstick/import/1` document of an uploaded bundle; None when there is none."""

    # ---- comparisons, reference results, spec sheets

    def comparison(
        self, numbers: Sequence[int], *, mark: int | None, with_references: bool
    ) -> Document:
        """The `benchstick/comparison/2` document of these runs."""

    def others_of_suite(
        self, suite: str, *, practice: bool, leave_out: Sequence[int]
    ) -> Sequence[OtherRun]:
        """The newest runs of a suite that may be compared with others of it."""

    def references(self, suite: str | None = None) -> Sequence[Document]:
        """The reference results, of one suite or all, ordered by suite, name and drive."""

    def sheets(self) -> Sequence[tuple[int, Sheet]]:
        """(id, sheet) of all spec sheets, the oldest first."""

    # ---- drives

    def scan(self) -> Scan:
        """The agent's last scan."""

    def drive_histories(self, drive_keys: Collection[DriveKey]) -> Mapping[DriveKey, DriveHistory]:
        """For each of these keys whose drive has runs their number and the last one."""

    def drive_record(self, drive: Mapping[str, Any], limit: int) -> DriveRecord:
        """What the bench has on a drive of the scan, with its last `limit` runs."""

    def is_known_drive(self, name: str) -> bool:
        """Whether there is anything on the drive with this label, key or code."""

    def drives_in_use(self) -> frozenset[str]:
        """The keys of the drives under test or in a countdown."""

    def labels(self) -> Mapping[str, str]:
        """Operators' labels by drive key."""

    # ---- requests and queues

    def request(self, number: int) -> Document | None:
        """The `benchstick/request/1` document; None when there is no such request."""

    def waiting_requests(self) -> Sequence[WaitingRequest]:
        """Requests for runs that the agent has not answered, oldest first."""

    def queue(self, number: int) -> Document | None:
        """The `benchstick/queue/2` document; None when there is no such queue."""

    def newest_queues(self, limit: int) -> Sequence[int]:
        """The numbers of the newest queues, newest first."""

    def open_queues(self) -> Sequence[int]:
        """The numbers of the queues with runs still to come, oldest first."""

    def queue_of_run(self, run: int) -> int | None:
        """The queue that the run belongs to, None when it was started alone."""

    def queue_of_drive(self, drive_key: str) -> int | None:
        """The open queue of this drive, None when it has none."""

    # ---- verdicts

    def verdict(self, number: int) -> Document | None:
        """The `benchstick/verdict/2` document with its number; None when there is none."""

    def verdicts_of_run(self, run: int) -> list[Document]:
        """Those that use a run; of an imported one also those that came with it, whose `number` is
        None."""

    def verdicts(self, *, limit: int, word: str | None, before: int) -> Sequence[Document]:
        """The last verdicts without their documents, newest first."""

    def verdict_documents(self, *, limit: int, word: str | None, before: int) -> list[Document]:
        """The same verdicts, whole."""

    # ---- the desk and recipes

    def desk(self) -> Document:
        """The `benchstick/desk/2` document."""

    def slots(self) -> list[Document]:
        """The slots of the desk."""

    def shelved_recipes(self) -> Sequence[Shelved]:
        """The bench's recipes in the order of their names."""

    def uploaded_recipes(self) -> Mapping[str, str]:
        """When each uploaded recipe was saved, by its name in the store."""

    def autostart_problem(self) -> str | None:
        """Why the recipe of `autostart` starts no test; None also where none is set."""

    # ---- sign-in

    def find_session(self, secret: str) -> Session | None:
        """The session that this cookie's value opens; None when there is none or it expired."""

    def find_token(self, secret: str) -> Token | None:
        """The token that this secret is; None when it is not one."""

    def tokens(self) -> Sequence[Token]:
        """All tokens by name."""


class Writes(Protocol):
    """Writes. They ask the agent for something, or change what the page may change itself."""

    def add_request(self, kind: str, body: Mapping[str, Any]) -> int:
        """Ask the agent for something; the request's number."""

    def add_upload(self, bundle: bytes) -> Document:
        """Hand a bundle to the agent: its `benchstick/import/1` document. BadInput when too many
        wait."""

    def set_label(self, drive_key: str, label: str, others: Collection[str]) -> None:
        """Give a drive the operator's label; an empty one removes it. BadInput when one of
        `others`, the drives that are plugged in, has it."""

    def add_references(self, references: Sequence[Reference]) -> int:
        """Save reference results, all or none; their number."""

    def remove_references(self, numbers: Sequence[int]) -> None:
        """Remove reference results, all or none."""

    def save_sheet(self, sheet: Sheet, *, replaces: int | None = None) -> int:
        """Save a spec sheet; one of the same name, and the one whose id is `replaces`, go. Its
        id."""

    def remove_sheet(self, number: int) -> None:
        """Remove a spec sheet."""

    def save_recipe(self, name: str, text: str) -> None:
        """Save an uploaded recipe; one of the same name is replaced. BadInput for too many."""

    def remove_recipe(self, name: str) -> bool:
        """Remove an uploaded recipe; whether it was there."""

    def open_session(self) -> NewSession:
        """Sign a browser in."""

    def close_session(self, session: Session) -> None:
        """Sign out."""

    def add_token(self, name: str) -> str:
        """A new token for scripts, which cannot be read again. BadInput for a bad name, NameTaken
        for one in use."""

    def note_token_use(self, name: str) -> None:
        """Write down that the token is used in this hour."""

    def revoke_token(self, name: str) -> bool:
        """Make the token worthless. False when there is none of this name."""


class Bench(Reads, Writes, Protocol):
    """Both."""
