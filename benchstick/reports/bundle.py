"""A run as one file that another bench can read: a zip with a manifest that has the SHA-256 of
each of its files.

A bundle may come from anywhere. It is checked as a whole before anything of it is kept: names,
sizes, hashes, and the shape of what is in it. Nothing is unpacked under a name of the bundle's.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchstick import __version__, paths
from benchstick.errors import BadInput, StoreFailed
from benchstick.plan import strict_json
from benchstick.plan.units import CELSIUS
from benchstick.reports import record
from benchstick.reports.shape import each, fields, one_of, text, whole, wrong
from benchstick.store import imported_runs, legacy_names, run_queries, run_reader, verdicts
from benchstick.store.legacy_units import with_celsius

SCHEMA = "benchstick/bundle/1"
# A day's record has 20 MB unpacked; a step's artefacts are bounded to 64 MiB.
LARGEST_DOCUMENT = 64 << 20
LARGEST_UNPACKED = 2 << 30
LARGEST_FILE = 512 << 20
MOST_FILES = 20_000
_VERDICTS = "verdicts.json"
_DOCUMENTS = ("manifest.json", "run.json", "samples.json", _VERDICTS)
_ARTEFACT = re.compile(
    r"artefacts/(?P<folder>[0-9]{2,7}-[a-z0-9-]{0,48})/(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,99})"
)
# Errors of zipfile for files that are no zip, or damaged, or encrypted.
_NO_ZIP = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, ValueError,
           OverflowError, NotImplementedError, RuntimeError)  # fmt: skip
# The same record makes the same file, whenever it is made.
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Bundle:
    """A checked bundle: the run's document, its samples as rows, the UUID of the bench that
    measured, where its artefacts lie in the zip: (name there, folder, file name), and the verdicts
    of that bench that use it, with their numbers there."""

    run: Mapping[str, Any]
    samples: Sequence[Sequence[Any]]
    bench: str
    artifacts: Sequence[tuple[str, str, str]]
    verdicts: Sequence[Mapping[str, Any]] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the record, the same from whichever bench it comes. The verdicts are no part
        of it: a run may get one after it was exported."""
        return digest(self.run, self.samples)


def _version_1(run: Mapping[str, Any]) -> dict[str, Any]:
    """The document as version 1 has it, so that a run has one digest in bundles of any version."""
    results = [
        {name: value for name, value in item.items() if name not in record.QUANTITY_FIELDS}
        for item in run["results"]
    ]
    plan = legacy_names.without_step_fields(run["plan"])
    document = {**run, "schema": run_reader.OLD_RUN_SCHEMA, "results": results, "plan": plan}
    return dict(legacy_names.old_keys("run", document))


def digest(run: Mapping[str, Any], samples: Sequence[Sequence[Any]]) -> str:
    """SHA-256 of a run's record."""
    document = _version_1(record.plain(run))
    whole_record = json.dumps([document, [list(row) for row in samples]], sort_keys=True)
    # The unit of temperatures as well.
    whole_record = whole_record.replace(json.dumps({"unit": CELSIUS})[1:-1], '"unit": "C"')
    return sha256_of(whole_record)


def sha256_of(text: str) -> str:
    """SHA-256 of an ASCII text."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


# ---- writing


def write(db: sqlite3.Connection, number: int, file: IO[bytes], home: Path | None = None) -> None:
    """Write run `number` as a bundle; with `home` its artefacts as well. BadInput when there is no
    such run, or it is not over."""
    run, samples = _of_store(db, number)
    if run["state"] not in record.END_STATES:
        raise BadInput(f"run {number}: is {run['state']}; only a run that is over can be a bundle")
    origin = imported_runs.origin(db, number)
    document = record.plain({**run, "imported": origin})
    packed_files = [
        ("run.json", _json(document)),
        ("samples.json", _json({"columns": record.COLUMNS, "rows": samples})),
    ]
    verdict_docs = _verdicts(db, number)
    if verdict_docs:
        document = {"schema": record.VERDICTS_SCHEMA, "verdicts": verdict_docs}
        packed_files.append((_VERDICTS, _json(document)))
    entries = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in packed_files:
            _put(archive, name, data)
            entries.append(_entry(name, len(data), hashlib.sha256(data).hexdigest()))
        for name, path in _artefacts(run, home) if home is not None else ():
            entries.append(_put_file(archive, name, path))
        manifest = {
            "schema": SCHEMA,
            "program": f"benchstick {__version__}",
            "bench": origin["bench"] if origin else run_queries.bench_id(db),
            "run": run["uuid"],
            "files": entries,
        }
        _put(archive, "manifest.json", _json(manifest))


def _verdicts(db: sqlite3.Connection, number: int) -> list[dict[str, Any]]:
    """The verdicts that use the run, as on the bench that gave them."""
    return [
        {
            **{name: value for name, value in item.items() if name != "imported"},
            "number": item["imported"]["number"] if item["number"] is None else item["number"],
        }
        for item in verdicts.all_of_run(db, number)
    ]


def _of_store(db: sqlite3.Connection, number: int) -> tuple[dict[str, Any], list[list[Any]]]:
    run = run_reader.run_json(db, number)
    samples = [
        [getattr(sample, name) for name in record.COLUMNS]
        for sample in run_reader.samples_of(db, number)
    ]
    return run, samples


def _json(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=True, separators=(",", ":")) + "\n").encode("ascii")


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(_info(name), data)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _entry(name: str, size: int, sha256: str) -> dict[str, Any]:
    return {"name": name, "bytes": size, "sha256": sha256}


def _put_file(archive: zipfile.ZipFile, name: str, path: Path) -> dict[str, Any]:
    hasher, size = hashlib.sha256(), 0
    with path.open("rb") as source, archive.open(_info(name), "w", force_zip64=True) as target:
        while part := source.read(1 << 20):
            hasher.update(part)
            size += len(part)
            target.write(part)
    return _entry(name, size, hasher.hexdigest())


def _artefacts(run: Mapping[str, Any], home: Path) -> Iterator[tuple[str, Path]]:
    """(name in the bundle, file) of what the run's steps left and is still there."""
    for step in run["steps"]:
        folder = _folder(step, run["uuid"])
        if folder is None:
            continue
        with suppress(FileNotFoundError):
            for path in sorted((home / "runs" / run["uuid"] / folder).iterdir()):
                name = f"artefacts/{folder}/{path.name}"
                if _ARTEFACT.fullmatch(name) and not path.is_symlink() and path.is_file():
                    yield name, path


def _folder(step: Mapping[str, Any], uuid: str) -> str | None:
    """The name of a step's own folder, None where it has none."""
    parts = str(step["artifacts"] or "").split("/")
    return parts[2] if len(parts) == 3 and parts[:2] == ["runs", uuid] else None


# ---- reading


def read(file: IO[bytes]) -> Bundle:
    """Check a bundle as a whole. BadInput that states what is wrong with it."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _checked(archive)
    except _NO_ZIP as error:
        text = f"bundle: this is no bundle of Benchstick: {str(error)[:120]}"
        raise BadInput(text, field="bundle") from None


def _checked(archive: zipfile.ZipFile) -> Bundle:
    infos = _infos(archive)
    manifest = _document(archive, infos, "manifest.json", None)
    fields(
        {
            "schema": one_of((SCHEMA,)), "program": text, "bench": record.uuid, "run": record.uuid,
            "files": each(fields({"name": text, "bytes": whole, "sha256": text}), MOST_FILES),
        }
    )(manifest, "manifest.json")  # fmt: skip
    entries = {item["name"]: item for item in manifest["files"]}
    if len(entries) != len(manifest["files"]) or {*entries, "manifest.json"} != set(infos):
        raise wrong("manifest.json.files", "expected the names of the files in the bundle")
    for name, item in entries.items():
        if item["bytes"] != infos[name].file_size:
            raise wrong(name, f"expected {item['bytes']} bytes")
    run = record.current_run(_document(archive, infos, "run.json", entries))
    record.check_run(run)
    if run["uuid"] != manifest["run"]:
        raise wrong("run.json.uuid", "expected the run of the manifest")
    samples = record.check_samples(
        _document(archive, infos, "samples.json", entries), len(run["plan"]["steps"])
    )
    verdict_docs: Sequence[Mapping[str, Any]] = ()
    if _VERDICTS in entries:
        document = record.current_verdicts(_document(archive, infos, _VERDICTS, entries))
        verdict_docs = record.check_verdicts(document, run["uuid"])
    artifacts = []
    for name in sorted(entries):
        match = _ARTEFACT.fullmatch(name)
        if match:
            _check_hash(archive, infos[name], entries[name]["sha256"])
            artifacts.append((name, match["folder"], match["name"]))
    return Bundle(record.plain(run), samples, manifest["bench"], artifacts, verdict_docs)


def _infos(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The files of the zip by name; none that could be anything else than a file of a bundle."""
    infos = archive.infolist()
    if len(infos) > MOST_FILES:
        raise wrong("files", f"expected at most {MOST_FILES}")
    names = {info.filename: info for info in infos}
    if len(names) != len(infos):
        raise wrong("files", "expected each name once")
    for name, info in names.items():
        if name not in _DOCUMENTS and not _ARTEFACT.fullmatch(name):
            raise wrong(ascii(name[:80]), "is no file of a bundle")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in (0, stat.S_IFREG) or info.flag_bits & 1:
            raise wrong(name, "expected a regular file")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise wrong(name, "expected stored or deflated")
        if info.file_size > LARGEST_FILE:
            raise wrong(name, f"expected at most {LARGEST_FILE >> 20} MiB")
    if sum(info.file_size for info in infos) > LARGEST_UNPACKED:
        raise wrong("files", f"expected at most {LARGEST_UNPACKED >> 20} MiB unpacked")
    return names


def _document(
    archive: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo], name: str, entries: Any
) -> Any:
    info = infos.get(name)
    if info is None:
        raise wrong(name, "is missing")
    if info.file_size > LARGEST_DOCUMENT:
        raise wrong(name, f"expected at most {LARGEST_DOCUMENT >> 20} MiB")
    data = b"".join(_parts(archive, info))
    if entries is not None and hashlib.sha256(data).hexdigest() != entries[name]["sha256"]:
        raise wrong(name, "its SHA-256 is not that of the manifest: the bundle is damaged")
    try:
        document = strict_json.loads(with_celsius(data.decode("utf-8")))
        # Escapes for text that is no Unicode: it could be stored but never shown.
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise wrong(name, f"expected JSON: {str(error)[:100]}") from None
    return document


def _parts(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of a file of the zip, at most the size that the zip states; BadInput when it is
    smaller or larger."""
    remaining = info.file_size
    with archive.open(info) as file:
        while part := file.read(min(1 << 20, remaining + 1)):
            remaining -= len(part)
            if remaining < 0:
                raise wrong(info.filename, "it is larger than the zip states")
            yield part
    if remaining:
        raise wrong(info.filename, "it is smaller than the zip states")


def _check_hash(archive: zipfile.ZipFile, info: zipfile.ZipInfo, sha256: str) -> None:
    hasher = hashlib.sha256()
    for part in _parts(archive, info):
        hasher.update(part)
    if hasher.hexdigest() != sha256:
        raise wrong(info.filename, "its SHA-256 is not that of the manifest: the bundle is damaged")


# ---- keeping


def keep(db: sqlite3.Connection, home: Path, file: IO[bytes]) -> tuple[int, bool]:
    """Check the bundle and store its run: its number here, and whether it is new. A run that is
    here already is not changed; verdicts on it that are not here are added. BadInput when it is no
    bundle, or the run or a verdict is here with another record; StoreFailed when it cannot be
    stored."""
    bundle = read(file)
    here = find(db, bundle)
    if here is not None:
        imported_runs.add_verdicts(db, here, bundle.verdicts)
        return here, False
    folders = {folder for _, folder, _ in bundle.artifacts}
    run = {**bundle.run, "steps": list(_steps_with(bundle, folders))}
    base = home / "runs" / bundle.run["uuid"]
    if base.is_symlink() or base.exists():
        raise StoreFailed(f"{base}: is in the way of the run's artefacts; move it")
    try:
        if bundle.artifacts:
            _unpack(file, bundle, base)
        number = imported_runs.add_run(
            db,
            run,
            bundle.samples,
            bench=bundle.bench,
            digest=bundle.digest,
            verdicts=bundle.verdicts,
        )
    except BaseException:
        shutil.rmtree(base, ignore_errors=True)
        raise
    return number, True


def find(db: sqlite3.Connection, bundle: Bundle) -> int | None:
    """The number here of a bundle's run, None when it is not here. BadInput when it is here with
    another record: one of the two was exported earlier, or changed."""
    here = imported_runs.find(db, bundle.run["uuid"])
    if here is not None and _digest_here(db, here) != bundle.digest:
        raise BadInput(
            f"bundle: run {bundle.run['uuid']} is here already, as run {here}, with another "
            "record; nothing was changed",
            field="bundle",
        )
    return here


def _digest_here(db: sqlite3.Connection, number: int) -> str:
    origin = imported_runs.origin(db, number)
    if origin is not None:
        return str(origin["digest"])
    run, samples = _of_store(db, number)
    return digest(run, samples)


def _steps_with(bundle: Bundle, folders: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The steps, those whose artefacts came with the bundle with where they will lie."""
    by_index = {int(folder.split("-")[0]): folder for folder in folders}
    for step in bundle.run["steps"]:
        folder = by_index.get(step["step_index"])
        place = None if folder is None else f"runs/{bundle.run['uuid']}/{folder}"
        yield {**step, "artifacts": place}


def _unpack(file: IO[bytes], bundle: Bundle, base: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            for name, folder, own_name in bundle.artifacts:
                for path in (base, base / folder):
                    paths.make_folder(path, 0o2750, for_group=True)
                with (base / folder / own_name).open("xb") as target:
                    for part in _parts(archive, archive.getinfo(name)):
                        target.write(part)
                (base / folder / own_name).chmod(0o640)
    except OSError as error:
        raise StoreFailed(f"{base}: {error.strerror}") from None
