# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds the recordings that paths, folders, globs, addresses and list files name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import hashlib
import json
import os
from pathlib import Path, PurePosixPath
import re
import tempfile
from typing import Any

from gdm_motion_seg.batch.store import file_system, is_local
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import BAG_SUFFIXES
from gdm_motion_seg.io.folders import IMAGE_SUFFIXES
from gdm_motion_seg.io.output import MARK

VIDEO_SUFFIXES = frozenset({'.mp4', '.avi', '.mkv', '.mov', '.m4v', '.webm', '.mpg', '.mpeg',
                            '.wmv', '.ts', '.mjpeg'})
"""File extensions of videos when a folder is searched; a given file may have any extension."""
LIST_SUFFIXES = frozenset({'.txt', '.lst', '.list'})
METADATA = 'metadata.yaml'
_WILDCARD = re.compile(r'[*?\[]')
_NOT_IN_NAME = re.compile(r'[^A-Za-z0-9._-]+')
_LIKE_NUMBER_OR_DATE = re.compile(r'[0-9.\-_:eT+]*|nan|inf|null|none', re.IGNORECASE)


@dataclass(frozen=True)
class Recording:
    """One recording: a bag, a video or a folder of images."""

    name: str
    """Unique name, by which the data set is partitioned."""
    url: str
    """Absolute path, or address."""
    size: int
    """Size in bytes."""
    fingerprint: str
    """Digest of names, sizes and modification times (or tags of the store) of its files."""

    @contextmanager
    def local_path(self) -> Iterator[Path]:
        """Yield a path on this machine; a remote recording is copied for the block."""
        fs, path = file_system(self.url)
        if is_local(fs):
            yield Path(path)
            return
        with tempfile.TemporaryDirectory(prefix='gdm_motion_seg-') as folder:
            copy = Path(folder) / PurePosixPath(path).name
            fs.get(path, str(copy), recursive=fs.isdir(path))
            yield copy


def find_recordings(inputs: Iterable[str]) -> list[Recording]:
    """
    Return the recordings that the inputs name, in order and without duplicates.

    Raises InputError if an input does not exist or contains no recording, or if two recordings
    have the same name.
    """
    found: dict[str, Recording] = {}
    by_name: dict[str, Recording] = {}
    for text in inputs:
        for recording in _recordings_of(text):
            if recording.url in found:
                continue
            other = by_name.get(recording.name)
            if other is not None:
                raise InputError(f'two recordings have the name {recording.name}: {other.url} and '
                                 f'{recording.url}; rename one of them')
            found[recording.url] = by_name[recording.name] = recording
    if not found:
        raise InputError('no recording was given')
    return list(found.values())


def _recordings_of(text: str) -> Iterator[Recording]:
    fs, path = file_system(text)
    if _WILDCARD.search(path) and not fs.exists(path):
        matches = sorted(fs.glob(path))
        if not matches:
            raise InputError(f'{text} matches nothing')
        base = PurePosixPath(*_fixed_parts(path))
        for match in matches:
            yield from _at(fs, str(match), base, base)
    elif not fs.exists(path):
        raise InputError(f'{text} does not exist')
    elif PurePosixPath(path).suffix.lower() in LIST_SUFFIXES and fs.isfile(path):
        yield from _of_list(fs, path)
    else:
        any_found = False
        for recording in _at(fs, path, PurePosixPath(path).parent, PurePosixPath(path)):
            any_found = True
            yield recording
        if not any_found:
            raise InputError(f'{text} contains no bag, no video and no images')


def _fixed_parts(path: str) -> Iterator[str]:
    """Yield the folders of a glob before its first wildcard."""
    for part in PurePosixPath(path).parent.parts:
        if _WILDCARD.search(part):
            return
        yield part


def _of_list(fs: Any, path: str) -> Iterator[Recording]:
    try:
        lines = bytes(fs.cat_file(path)).decode('utf-8').splitlines()
    except UnicodeDecodeError:
        raise InputError(f'{path} is not a list of recordings: it is not a text file') from None
    entries = [line.strip() for line in lines if line.strip() and not line.startswith('#')]
    if not entries:
        raise InputError(f'{path} lists no recordings')
    for entry in entries:
        relative = '://' not in entry and not os.path.isabs(entry)
        below = f'{PurePosixPath(path).parent}/{entry}'
        yield from _recordings_of(fs.unstrip_protocol(below) if relative else entry)


def _at(fs: Any, path: str, base: PurePosixPath, base_below: PurePosixPath
        ) -> Iterator[Recording]:
    """
    Yield the recording at a path, or those below it.

    The name is relative to ``base`` for a recording at the path itself, and to ``base_below`` for
    those below it.
    """
    if fs.isfile(path):
        yield _recording(fs, path, [fs.info(path)], base)
        return
    try:
        for folder, folders, files in fs.walk(path, detail=True, on_error='raise'):
            folder = folder.rstrip('/')
            for place, infos in _in_folder(folder, files):
                yield _recording(fs, place, infos, base if place == path else base_below)
            if METADATA in files or MARK in files:  # a bag, or an output of "bag" or "video"
                folders.clear()
            for hidden in [name for name in folders if name.startswith('.')]:
                del folders[hidden]
    except PermissionError as error:
        raise InputError(f'{error.filename or path} cannot be read: permission denied') from None


def _in_folder(folder: str, files: dict[str, dict[str, Any]]
               ) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the path and files of each recording directly in a folder, or of the folder itself."""
    if METADATA in files:
        yield folder, list(files.values())
        return
    if MARK in files:
        return
    suffixes = {name: PurePosixPath(name).suffix.lower() for name in sorted(files)}
    for name, suffix in suffixes.items():
        if suffix in BAG_SUFFIXES or suffix in VIDEO_SUFFIXES:
            yield f'{folder}/{name}', [files[name]]
    images = [files[name] for name, suffix in suffixes.items() if suffix in IMAGE_SUFFIXES]
    if len(images) > 1:
        yield folder, images


def _recording(fs: Any, path: str, files: Iterable[dict[str, Any]], base: PurePosixPath
               ) -> Recording:
    place = PurePosixPath(path)
    try:
        relative = place.relative_to(base)
    except ValueError:
        relative = PurePosixPath(place.name)
    if not fs.isdir(path):
        relative = relative.with_suffix('')
    name = _NOT_IN_NAME.sub('_', '-'.join(relative.parts)).lstrip('._')
    if _LIKE_NUMBER_OR_DATE.fullmatch(name):
        # Readers of partitioned data sets would convert it to a number or a date.
        name = f'r{name}'
    files = list(files)
    size = sum(int(info.get('size') or 0) for info in files)
    marks = sorted((PurePosixPath(info['name']).name, str(info.get('size')), _change_mark(info))
                   for info in files)
    digest = hashlib.sha256(json.dumps(marks).encode()).hexdigest()
    return Recording(name, _url(fs, path), size, digest)


def _url(fs: Any, path: str) -> str:
    path = path.rstrip('/')
    return path if is_local(fs) else str(fs.unstrip_protocol(path))


def _change_mark(info: dict[str, Any]) -> str:
    """Return the modification time or tag of a file, as far as the file system has one."""
    for key in ('ETag', 'etag', 'md5Hash', 'mtime', 'LastModified', 'updated', 'created'):
        if info.get(key) is not None:
            return str(info[key])
    return ''
