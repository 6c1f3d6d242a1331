# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Make the pictures of the docs: ``python docs/images/make_pictures.py [SHEET]``.

With the contact sheet of a demo, the picture of the README is made from it as well.
"""

from pathlib import Path
import sys

import cv2
import matplotlib
matplotlib.use('Agg')
from matplotlib import pyplot as plt  # noqa: E402, I100, I202
import numpy as np  # noqa: E402

from gdm_motion_seg.gdm import empirical_dimension, global_dimension  # noqa: E402
from gdm_motion_seg.geometry.correspondences import Correspondences  # noqa: E402
from gdm_motion_seg.geometry.embedding import embed  # noqa: E402
from gdm_motion_seg.viz.colors import motion_bgr, motion_rgb  # noqa: E402
from gdm_motion_seg_tools.synth import Renderer, scene_named, Truth  # noqa: E402

HERE = Path(__file__).resolve().parent
GAP = 5


def tracked_pair():
    """Return two frames of a scene, tracked corners and their true labels."""
    scene = scene_named('two_movers')
    renderer = Renderer(scene)
    older, newer = renderer.frame(30), renderer.frame(30 + GAP)
    truth = Truth.of_scene(scene, renderer.camera, (older, newer))
    grey = [cv2.cvtColor(f.image, cv2.COLOR_BGR2GRAY) for f in (older, newer)]
    x1 = cv2.goodFeaturesToTrack(grey[0], 500, 0.01, 10)
    x2, there, _ = cv2.calcOpticalFlowPyrLK(*grey, x1, None)
    back, again, _ = cv2.calcOpticalFlowPyrLK(*grey[::-1], x2, None)
    x1, x2, back = x1[:, 0], x2[:, 0], back[:, 0]
    labels = truth.point_labels(older.stamp, newer.stamp, x2)
    good = ((there & again).ravel() > 0) & (np.abs(back - x1).max(axis=1) < 0.4) & (labels >= 0)
    # What the tracker confused counts for no motion in these pictures.
    for label in range(3):
        f = truth.motion(older.stamp, newer.stamp, label).fundamental
        good &= (labels != label) | (distances(f, x1, x2) < 1.5)
    return older, newer, x1[good].astype(float), x2[good].astype(float), labels[good]


def distances(f, x1, x2):
    """Return the Sampson distances to a fundamental matrix."""
    a, b = (np.column_stack((x, np.ones(len(x)))) for x in (x1, x2))
    lines, back = a @ f.T, b @ f
    norm = np.sqrt(lines[:, 0]**2 + lines[:, 1]**2 + back[:, 0]**2 + back[:, 1]**2)
    return np.abs((lines * b).sum(axis=1)) / norm


def draw_pair(older, newer, x1, x2, labels):
    """Draw the older frame, and the newer one with the ways of its features."""
    canvas = (newer.image * 0.6).astype(np.uint8)
    for a, b, label in zip(np.rint(x1).astype(int), np.rint(x2).astype(int), labels):
        colour = motion_bgr(int(label))
        cv2.arrowedLine(canvas, a.tolist(), b.tolist(), colour, 2, cv2.LINE_AA, tipLength=0.3)
    pair = np.hstack([cv2.resize(im, (480, 360), interpolation=cv2.INTER_AREA)
                      for im in (older.image, canvas)])
    write_small(HERE / 'pair.png', pair)


def write_small(path, image):
    """Write a picture with 256 colours, those of the motions among them: a small file."""
    from PIL import Image
    picture = Image.fromarray(image[:, :, ::-1])
    chosen = picture.quantize(240).getpalette()[:3 * 240]
    vivid = [value for k in range(-1, 7) for value in motion_rgb(k)]
    palette = Image.new('P', (1, 1))
    palette.putpalette(chosen + vivid + vivid)
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def draw_dimensions(x1, x2, labels):
    """Plot what foreign points do to the dimension of a cluster, and swaps to that of all."""
    vectors = embed(Correspondences.from_arrays(x1, x2, (640, 480)))
    rng = np.random.default_rng(0)
    world, others = vectors[labels == 0], vectors[labels != 0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2), constrained_layout=True)
    counts = np.arange(0, min(len(others), 60), 2)
    for epsilon, style in ((0.2, ':'), (0.35, '-'), (0.7, '--')):
        means = [np.mean([empirical_dimension(
            np.vstack((world, others[rng.permutation(len(others))[:n]])), epsilon)
            for _ in range(10)]) for n in counts]
        left.plot(counts, means, style, color='black', label=f'$\\epsilon$ = {epsilon}')
    left.set(xlabel='points of other motions in the cluster of the world',
             ylabel='its empirical dimension')
    left.legend(frameon=False)
    shares = np.linspace(0, 0.3, 16)
    for p, style in ((1, ':'), (15, '-')):
        values = [np.mean([global_dimension(vectors, swapped(labels, share, rng), 0.35, p)
                           for _ in range(10)]) for share in shares]
        right.plot(100 * shares, np.array(values) / values[0], style, color='black',
                   label=f'p = {p}')
    right.set(xlabel='labels that are wrong (%)', ylabel='global dimension over that of the truth')
    right.legend(frameon=False)
    for axis in (left, right):
        axis.spines[['top', 'right']].set_visible(False)
    figure.savefig(HERE / 'dimensions.png', dpi=100)
    plt.close(figure)


def swapped(labels, share, rng):
    """Return labels of which a share is wrong."""
    changed = labels.copy()
    chosen = rng.permutation(len(labels))[:round(share * len(labels))]
    changed[chosen] = (changed[chosen] + rng.integers(1, 3, len(chosen))) % 3
    return changed


def draw_plane(x1, x2, labels):
    """Plot the embedded points against the normals of two motions: each lies on its own."""
    vectors = embed(Correspondences.from_arrays(x1, x2, (640, 480)))
    normals = [np.linalg.svd(vectors[labels == k])[2][-1] for k in (0, 1)]
    figure, axis = plt.subplots(figsize=(4.6, 3.4), constrained_layout=True)
    for k, name in enumerate(('static world', 'box', 'cylinder')):
        mine = vectors[labels == k]
        axis.plot(mine @ normals[0], mine @ normals[1], '.', label=name,
                  color=np.array(motion_rgb(k)) / 255)
    axis.axhline(0, color='0.8', zorder=0)
    axis.axvline(0, color='0.8', zorder=0)
    axis.set(xlabel='$\\mathbf{v}\\cdot$ vec(F) of the world',
             ylabel='$\\mathbf{v}\\cdot$ vec(F) of the box')
    axis.legend(frameon=False)
    figure.savefig(HERE / 'subspaces.png', dpi=100)
    plt.close(figure)


def draw_demo(sheet):
    """Make the picture of the README from the contact sheet of the demo."""
    picture = cv2.imread(str(sheet))
    write_small(HERE / 'demo.png', cv2.resize(picture, (864, 432), interpolation=cv2.INTER_AREA))


if __name__ == '__main__':
    PAIR = tracked_pair()
    draw_pair(*PAIR)
    draw_dimensions(*PAIR[2:])
    draw_plane(*PAIR[2:])
    if len(sys.argv) > 1:
        draw_demo(sys.argv[1])
