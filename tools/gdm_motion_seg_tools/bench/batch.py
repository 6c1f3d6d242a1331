# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Benchmark of ``batch`` on rendered bags: speed against plain loops of ``bag``, seams, faults.

Every time is that of a whole command, started as a user starts it. The reference is the speedup of
two independent processes of ``bag`` over one, on the same bags in the same run.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
import json
import os
from pathlib import Path
import resource
import shutil
import signal
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
from scipy.spatial import cKDTree

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.batch import needs_extra
from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.io.bags import BagReader, BagWriter, COMPRESSED, typestore
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.synth.scene_bags import IMAGE_TOPIC, SceneOptions, write_scene

Ints = npt.NDArray[np.int64]

TOPIC = f'{IMAGE_TOPIC}/compressed'
SIZE = (320, 240)
VGA = (640, 480)
SCENES = ('small_mover', 'two_movers', 'three_movers', 'planar_motion')
RENDERINGS = 4
SHORT_BAGS = 40
SHORT_FRAMES, SHORT_REPEATS = 60, 3
LONG_FRAMES, LONG_REPEATS = 300, 20
"""Rendered frames of a bag, and how often they are played forwards and backwards."""
LONG_SCENE = 'small_mover'
LONG_PARTS, SHORTEST_PART_S = 10, 5.0
"""Number of parts: in full size 20 s each, the default; shorter recordings have parts of more than
twice the overlap."""
SEAM_SCENES = ('small_mover', 'two_movers')
SEAM_PARTS = (2, 4)
SEAM_FRAMES, FEWEST_SEAM_FRAMES = 900, 600
"""Recordings, parts and length for the agreement over seams: continuous scenes with calibration;
parts must be at least twice as long as their overlap."""
SAME_PLACE_PX = 2.0
"""Mutually nearest keypoints of a frame within this distance, in pixels, are the same."""
FAULT_SPLIT_S = 10.0
KILL_AFTER_S = 1.0
"""Time after the start of a part at which its worker is killed."""
INTERRUPT_SHARE = 0.4
"""The command is interrupted when this share of the recordings is finished."""
TASKS = 2000
TASK_RATES = (10, 30, 100, 300)
SIMULATED_WORKERS = 16
SIMULATED_S = 5.0
PROJECTED_CORES = (1, 8, 64, 512, 4096)
TIMEOUT_S = 3600.0


def run(args: argparse.Namespace) -> Report:
    """Render the bags, measure speed and seams, inject faults."""
    with needs_extra('bench batch'):
        import distributed  # noqa: F401
    with TemporaryDirectory() as name:
        folder = Path(name)
        note('rendering')
        bags = short_bags(folder / 'short', max(2, SHORT_BAGS // args.every))
        options = SceneOptions(LONG_SCENE, LONG_FRAMES, SIZE, compressed=True)
        long = write_clip(folder / 'long', options, max(2, LONG_REPEATS // args.every))
        bag_loop(bags[:1], folder / 'compile')
        summary, rows = measure_speed(bags, folder)
        split, split_rows = measure_split(long, folder, summary)
        n_frames = max(FEWEST_SEAM_FRAMES, SEAM_FRAMES // args.every)
        seams, seam_rows = measure_seams(folder, n_frames)
        faults, fault_rows = measure_faults(bags, long, folder)
        summary |= split | seams | faults | measure_projection(folder)
        summary['load'] = os.getloadavg()[0]
    return make_report('batch', {'batch': summary}, rows + split_rows + seam_rows + fault_rows)


def note(text: str) -> None:
    """Print the current step."""
    console.notes.print(f'{time.strftime("%H:%M:%S")} {text}', highlight=False)


# -- recordings ------------------------------------------------------------------------------


def short_bags(folder: Path, count: int) -> list[Path]:
    """Render a few bags, each with several names; returns their paths."""
    bags: list[Path] = []
    for i in range(count):
        bag = folder / f'bag{i:02d}'
        if i < RENDERINGS:
            write_clip(bag, SceneOptions(SCENES[i % len(SCENES)], SHORT_FRAMES, SIZE, seed=i,
                                         compressed=True), SHORT_REPEATS)
        else:
            shutil.copytree(bags[i % RENDERINGS], bag)
        bags.append(bag)
    return bags


def write_clip(bag: Path, options: SceneOptions, repeats: int) -> Path:
    """Render a scene and write it forwards and backwards into one bag; returns its path."""
    clip = bag.parent / f'{bag.name}_clip'
    write_scene(clip, options)
    with BagReader(clip) as reader:
        messages = [message for _, _, message in reader.messages(TOPIC)]
    first = stamp_of(messages[0].header)
    period = round(1e9 / options.fps)
    store, index = typestore(), 0
    with BagWriter(bag) as writer:
        for repeat in range(repeats):
            for message in messages if repeat % 2 == 0 else messages[::-1]:
                stamp = first + index * period
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10 ** 9)
                writer.write_raw(TOPIC, COMPRESSED, stamp,
                                 store.serialize_cdr(message, COMPRESSED))
                index += 1
    shutil.rmtree(clip)
    return bag


# -- speed -----------------------------------------------------------------------------------


def measure_speed(bags: Sequence[Path], folder: Path) -> tuple[dict[str, float], list[Row]]:
    """Compare one and two workers with one and two loops of ``bag``."""
    def two_loops() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(bag_loop, (bags[::2], bags[1::2]), (folder / 'a', folder / 'b')))

    rows = [measured('loop_1', lambda: bag_loop(bags, folder / 'loop')),
            measured('workers_1', lambda: batch(bags, folder / 'one', 1), folder / 'one'),
            measured('loop_2', two_loops),
            measured('workers_2', lambda: batch(bags, folder / 'two', 2), folder / 'two')]
    rows[2]['path_seconds'] = rows[2]['cpu_seconds'] / 2
    wall, path = ({row['measurement']: row[key] for row in rows}
                  for key in ('seconds', 'path_seconds'))
    loops, workers = (wall[f'{name}_1'] / wall[f'{name}_2'] for name in ('loop', 'workers'))
    loops_cpu, workers_cpu = (path[f'{name}_1'] / path[f'{name}_2']
                              for name in ('loop', 'workers'))
    return {'speedup_share': workers / loops, 'overhead': wall['workers_1'] / wall['loop_1'],
            'speedup': workers, 'loop_speedup': loops, 'speedup_share_cpu': workers_cpu
            / loops_cpu, 'overhead_cpu': path['workers_1'] / path['loop_1'],
            'loop_speedup_cpu': loops_cpu}, rows


def measured(name: str, call: Callable[[], None], out: Path | None = None) -> Row:
    """
    Measure the time of a call, and the processor time of the processes that it starts.

    ``path_seconds`` estimates the time of the call if every process had its own core and never
    waited. For ``batch`` it is the processor time of the busiest worker, and of the command before
    and after its workers are busy.
    """
    note(name)
    before = cpu_of_children()
    seconds = timed(call)
    cpu = cpu_of_children() - before
    workers: dict[int, float] = {}
    client: list[float] = []
    for event in events(out) if out else ():
        if 'cpu' in event:
            workers[event['pid']] = max(event['cpu'], workers.get(event['pid'], 0.0))
        client += [event['client_cpu']] if 'client_cpu' in event else []
    meanwhile = max(client, default=0.0) - min(client, default=0.0)
    path = cpu - meanwhile - sum(workers.values()) + max(workers.values(), default=0.0)
    return {'measurement': name, 'seconds': seconds, 'cpu_seconds': cpu, 'path_seconds': path}


def cpu_of_children() -> float:
    """Return the processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_split(long: Path, folder: Path, speed: dict[str, float]
                  ) -> tuple[dict[str, float], list[Row]]:
    """Compare an undivided long recording on one worker with its parts on two."""
    seconds = frames_of(long) / SceneOptions().fps
    piece, parts = folder / 'piece', folder / 'parts'
    split = f'{max(SHORTEST_PART_S, seconds / LONG_PARTS):.3f}'
    rows = [measured('piece', lambda: batch([long], piece, 1, '--split', '0'), piece),
            measured('parts', lambda: batch([long], parts, 2, '--split', split), parts)]
    wall, path = (rows[0][key] / rows[1][key] for key in ('seconds', 'path_seconds'))
    return {'split_speedup_share': wall / speed['loop_speedup'], 'split_speedup': wall,
            'split_speedup_share_cpu': path / speed['loop_speedup_cpu'],
            'split_parts': float(summaries(parts)[long.name]['parts']),
            'long_seconds': seconds}, rows


def measure_seams(folder: Path, n_frames: int) -> tuple[dict[str, float], list[Row]]:
    """Compare the labels of divided recordings with those of undivided ones; the worst counts."""
    rows: list[Row] = []
    for scene in SEAM_SCENES:
        options, bag = SceneOptions(scene, n_frames, SIZE), folder / f'seams_{scene}'
        write_scene(bag, options)
        seconds = n_frames / options.fps
        for parts in (1, *SEAM_PARTS):
            note(f'seams: {scene}, parts: {parts}')
            out = folder / f'seams_{scene}_{parts}'
            split = seconds / parts if parts > 1 else 0.0
            batch([bag], out, 2, '--split', f'{split:.3f}')
            if parts == 1:
                whole = keypoints_in(out, bag)
                continue
            agreement, matched = label_agreement(whole, keypoints_in(out, bag))
            rows.append({'measurement': 'seams', 'scene': scene, 'parts': parts,
                         'found_parts': summaries(out)[bag.name]['parts'], 'seconds': seconds,
                         'agreement': agreement, 'matched': matched})
    figures = {f'split_label_agreement_{row["scene"]}_{row["parts"]}': float(row['agreement'])
               for row in rows}
    return {'split_label_agreement': min(figures.values()),
            'split_matched': min(float(row['matched']) for row in rows), **figures}, rows


def keypoints_in(out: Path, bag: Path) -> Any:
    """Read the keypoints of a recording in a data set."""
    from pyarrow import parquet
    return parquet.ParquetFile(out / 'keypoints' / f'recording={bag.name}' / '0.parquet').read()


def timed(call: Callable[[], None]) -> float:
    """Return how long a call takes in seconds."""
    begin = time.monotonic()
    call()
    return time.monotonic() - begin


def bag_loop(bags: Sequence[Path], out: Path) -> None:
    """Run ``bag`` on each bag, as a shell loop does."""
    for bag in bags:
        subprocess.run(command('bag', bag, '--out', out / bag.name, '--no-bag', '--no-video'),
                       check=True, capture_output=True, timeout=TIMEOUT_S)


def batch(inputs: Sequence[Path], out: Path, workers: int, *flags: str) -> None:
    """Run ``batch``."""
    subprocess.run(command('batch', *inputs, '--out', out, '--workers', workers, *flags),
                   check=True, capture_output=True, timeout=TIMEOUT_S)


def command(*words: object) -> list[str]:
    """Return the arguments of a command of this package."""
    return [sys.executable, '-m', 'gdm_motion_seg', *map(str, words)]


# -- seams -----------------------------------------------------------------------------------


def label_agreement(one: Any, other: Any) -> tuple[float, float]:
    """
    Compare the labels of two tables of keypoints of the same recording.

    Mutually nearest keypoints of the same frame within two pixels are compared. Ids of bodies are
    matched one to one over the whole recording, so that a body that changes its id at a seam is
    wrong after it. Returns the share of equal labels, and the share of the keypoints of the first
    table that have a match.
    """
    from gdm_motion_seg.batch.stitch import FIXED
    from scipy.optimize import linear_sum_assignment
    i, j = same_keypoints(one, other)
    if not len(i):
        return 0.0, 0.0
    ours, theirs = (table['label'].to_numpy()[rows].astype(np.int64)
                    for table, rows in ((one, i), (other, j)))
    ids, rows = np.unique(ours, return_inverse=True)
    other_ids, columns = np.unique(theirs, return_inverse=True)
    shared = np.zeros((len(ids), len(other_ids)))
    np.add.at(shared, (rows, columns), ((ours > 0) & (theirs > 0)).astype(np.float64))
    chosen = zip(*linear_sum_assignment(shared, maximize=True))
    same = {int(other_ids[c]): int(ids[r]) for r, c in chosen if shared[r, c] > 0} | FIXED
    nowhere = np.iinfo(np.int64).min
    renamed = np.array([same.get(label, nowhere) for label in other_ids.tolist()])[columns]
    return float(np.mean(renamed == ours)), len(i) / max(1, one.num_rows)


def same_keypoints(one: Any, other: Any) -> tuple[Ints, Ints]:
    """Return the rows of mutually nearest keypoints of the same frame."""
    stamps, places = ([table['stamp'].to_numpy() for table in (one, other)],
                      [np.column_stack((table['u'], table['v'])) for table in (one, other)])
    found: list[tuple[Ints, Ints]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for stamp in np.intersect1d(*stamps):
        i, j = (np.flatnonzero(own == stamp) for own in stamps)
        tree_i, tree_j = cKDTree(places[0][i]), cKDTree(places[1][j])
        distance, nearest = tree_j.query(places[0][i], distance_upper_bound=SAME_PLACE_PX)
        near = np.flatnonzero(np.isfinite(distance))
        _, back = tree_i.query(places[1][j[nearest[near]]])
        mutual = near[back == near]
        found.append((i[mutual], j[nearest[mutual]]))
    rows, other_rows = zip(*found)
    return np.concatenate(rows), np.concatenate(other_rows)


# -- faults ----------------------------------------------------------------------------------


def measure_faults(bags: Sequence[Path], long: Path, folder: Path
                   ) -> tuple[dict[str, float], list[Row]]:
    """Kill a worker, interrupt the command, restart it; count what was lost or done twice."""
    note('faults: a damaged bag, a killed worker, Ctrl-C, and a restart of the command')
    damaged = folder / 'damaged.mcap'
    whole = next(bags[0].glob('*.mcap')).read_bytes()
    damaged.write_bytes(whole[:len(whole) // 2])
    inputs, out = [long, damaged, *bags], folder / 'faults'
    words = command('batch', *inputs, '--out', out, '--workers', 2, '--split', FAULT_SPLIT_S)
    killed = interrupted_run(words, out, long.name, max(1, int(INTERRUPT_SHARE * len(bags))))
    before = summaries(out)
    again = subprocess.run([*words, '--json', folder / 'faults.json'], capture_output=True,
                           text=True, timeout=TIMEOUT_S)
    document = json.loads((folder / 'faults.json').read_text())
    after = summaries(out)
    ended = Counter((event['recording'], event['part']) for event in events(out)
                    if event['event'] == 'end')
    twice = {part for part, count in ended.items() if count > 1 and part != killed}
    twice |= {(name, -1) for name, summary in before.items()
              if after.get(name, {}).get('run') != summary['run']}
    lost = [bag.name for bag in (long, *bags) if frames_in(out, bag) != frames_of(bag)]
    if set(document['failures']) != {'damaged'} or again.returncode != 1:
        note(f'unexpected failures: {document["failures"]} {again.stderr[-500:]}')
    row: Row = {'measurement': 'faults', 'killed': list(killed), 'finished_before': len(before),
                'finished_after': len(after), 'lost': lost, 'twice': sorted(map(str, twice)),
                'failures': document['failures'], 'exit_code': again.returncode}
    return {'lost': float(len(lost)), 'computed_twice': float(len(twice)),
            'failed': float(len(document['failures'])),
            'failed_is_the_damaged_one': float(set(document['failures']) == {'damaged'}),
            'finished_before_restart': float(len(before))}, [row]


def interrupted_run(words: Sequence[str], out: Path, long: str, enough: int) -> tuple[str, int]:
    """Kill a worker in the middle of a part, and interrupt the command later."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    killed: tuple[str, int] | None = None
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
            if killed is None:
                killed = kill_a_worker(out, long, process.pid)
            elif len(summaries(out)) >= enough:
                process.send_signal(signal.SIGINT)
                process.wait(TIMEOUT_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if killed is None:
        raise GdmMotionSegError('the command ended before a worker could be killed')
    return killed


def kill_a_worker(out: Path, long: str, command_pid: int) -> tuple[str, int] | None:
    """Kill the worker of a part of the long recording; None if there is none yet."""
    own = {child.pid for child in psutil.Process(command_pid).children(recursive=True)}
    for event in events(out):
        if (event['event'] == 'start' and event['recording'] == long and event['parts'] > 1
                and time.time() - event['clock'] >= KILL_AFTER_S and event['pid'] in own):
            os.kill(event['pid'], signal.SIGKILL)
            return event['recording'], event['part']
    return None


def events(out: Path) -> list[dict[str, Any]]:
    """Read the logs of all runs, without unfinished lines."""
    found = []
    for log in sorted((out / 'runs').glob('*.jsonl')):
        for line in log.read_text(encoding='utf-8').splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
    return found


def summaries(out: Path) -> dict[str, dict[str, Any]]:
    """Read the summaries of finished recordings."""
    return {path.stem: json.loads(path.read_text()) for path in (out / 'recordings').glob('*.json')
            if not path.name.startswith('.')}


def frames_in(out: Path, bag: Path) -> int:
    """Count the frames of a recording in the data set."""
    from pyarrow import parquet
    path = out / 'frames' / f'recording={bag.name}' / '0.parquet'
    return int(parquet.ParquetFile(path).metadata.num_rows) if path.is_file() else 0


def frames_of(bag: Path) -> int:
    """Count the images of a bag."""
    with BagReader(bag) as reader:
        return reader.count(TOPIC)


# -- projection ------------------------------------------------------------------------------


def measure_projection(folder: Path) -> dict[str, float]:
    """Measure the speed of one core on VGA and the cost of a task; project a thousand hours."""
    from gdm_motion_seg.batch.job import make_job, OVERLAP_S, SPLIT_S
    from gdm_motion_seg.batch.recordings import find_recordings
    from gdm_motion_seg.batch.tasks import process_recording
    from gdm_motion_seg.ros.config import NodeConfig
    note('VGA on one core, and the cost of a task')
    options = SceneOptions('two_movers', SHORT_FRAMES, VGA, compressed=True)
    recording, = find_recordings([str(write_clip(folder / 'vga', options, SHORT_REPEATS))])
    summary = process_recording(make_job(str(folder / 'vga_out'), NodeConfig()), recording,
                                '').summary
    assert summary is not None
    rate = summary.frames / summary.compute_seconds
    part_s = (SPLIT_S + OVERLAP_S) * options.fps / rate
    efficiency = {f'efficiency_at_{r}_tasks_per_second': simulated_efficiency(r)
                  for r in TASK_RATES}
    task_s = seconds_per_task(TASKS)
    hours = {f'hours_on_{n}_cores': projected_hours(1000.0, SPLIT_S, part_s, task_s, n)
             for n in PROJECTED_CORES}
    return {'vga_frames_per_second': rate, 'scheduler_ms_per_task': 1e3 * task_s, **efficiency,
            'stops_scaling_at_cores': part_s / task_s, **hours}


def seconds_per_task(count: int) -> float:
    """Measure the time of client and scheduler for an empty task, with worker processes."""
    from distributed import as_completed
    from gdm_motion_seg.batch.cluster import local_cluster
    with local_cluster(2, 'auto') as client:
        client.gather(client.map(int, range(100, 110), pure=False))
        begin = time.monotonic()
        futures = [client.submit(int, i, pure=False, retries=2) for i in range(count)]
        for _ in as_completed(futures, loop=client.loop):
            pass
        return (time.monotonic() - begin) / count


def simulated_efficiency(tasks_per_second: int) -> float:
    """
    Let sleeping workers finish this many tasks per second; returns the share that they reach.

    For the scheduler, N cores whose parts take d seconds are like n workers that sleep for d n /
    N. Scheduler, client and workers share one process here, so the result is a lower bound.
    """
    from distributed import as_completed, Client, LocalCluster
    with LocalCluster(n_workers=SIMULATED_WORKERS, threads_per_worker=1, processes=False,
                      dashboard_address=None, worker_dashboard_address=None) as cluster, \
            Client(cluster, set_as_default=False) as client:
        nap = SIMULATED_WORKERS / tasks_per_second
        rounds = max(2, round(SIMULATED_S / nap))
        begin = time.monotonic()
        futures = client.map(time.sleep, [nap] * (rounds * SIMULATED_WORKERS), pure=False)
        for _ in as_completed(futures, loop=client.loop):
            pass
        return rounds * nap / (time.monotonic() - begin)


def projected_hours(hours: float, split: float, part_s: float, task_s: float, cores: int) -> float:
    """
    Project the processing time of this many hours of recordings, in hours.

    The cores share the parts; the scheduler needs ``task_s`` for each.
    """
    parts = hours * 3600.0 / split
    return float(max(np.ceil(parts / cores) * part_s, parts * task_s + part_s)) / 3600.0
