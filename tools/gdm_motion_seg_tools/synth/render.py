# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Renders the frames of a scene with ground truth."""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.synth import raster
from gdm_motion_seg_tools.synth.bodies import Body, FloatArray
from gdm_motion_seg_tools.synth.scenes import PALETTES, Scene, scene_named
from gdm_motion_seg_tools.synth.texture import Atlas, dead_leaves, Image

START_STAMP = 1_000_000_000
"""Stamp of the first frame in nanoseconds; 0 would mean 'no time' in ROS."""
SAMPLES = ((-0.3, 0.15), (0.0, 0.0), (0.3, -0.15))
"""Subpixel positions, one per time of the exposure, for motion blur and antialiasing. The middle
one, at the middle of the exposure, gives the ground truth."""
FOCAL_OVER_WIDTH = 0.9
"""Focal length as a share of the width: 58 degrees."""
LIGHT = np.array([-0.45, -0.75, -0.48])
"""Direction of the light."""


@dataclass(frozen=True)
class RenderedFrame:
    """An image with ground truth. Label 0 is the static world, 1, 2, … are the movers."""

    index: int
    stamp: int
    """Time in nanoseconds."""
    image: Image
    """(H, W, 3) BGR."""
    labels: Image
    """(H, W) label of each pixel."""
    camera: FloatArray
    """(3, 3) camera matrix K; there is no distortion."""
    world_from_camera: FloatArray
    """(4, 4) pose of the camera."""
    world_from_body: FloatArray
    """(L, 4, 4) pose of each label's body; that of label 0 is the identity."""

    @property
    def n_movers(self) -> int:
        """Count the bodies that are not the static world."""
        return len(self.world_from_body) - 1


class Renderer:
    """Renders any frame of a scene; the same scene, size, rate and seed give the same frames."""

    def __init__(self, scene: Scene, size: tuple[int, int] = (640, 480), fps: float = 30.0,
                 seed: int = 0) -> None:
        """Make the textures of the scene."""
        width, height = size
        if not (16 <= width <= 8192 and 16 <= height <= 8192):
            raise InputError(f'size must lie in 16x16 to 8192x8192, got {width}x{height}')
        if not 0.1 <= fps <= 1000:
            raise InputError(f'fps must lie in 0.1 to 1000, got {fps:g}')
        self.scene, self.size, self.fps, self.seed = scene, (width, height), fps, seed
        focal = FOCAL_OVER_WIDTH * width
        self.camera = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2],
                                [0, 0, 1.0]])
        rng = np.random.default_rng(seed)
        bodies = [(0, body) for body in scene.world] + list(enumerate(scene.movers, start=1))
        self._bodies = [body for _, body in bodies]
        layouts = [_lay_out(body) for body in self._bodies]
        self._atlas = Atlas.pack([
            dead_leaves(texture_size, PALETTES[body.palette], rng, body.contrast)
            for body, (_, texture_size) in zip(self._bodies, layouts)])
        counts = [len(rects) for rects, _ in layouts]
        self._rect = np.concatenate([rects for rects, _ in layouts])
        self._texture = np.repeat(np.arange(len(bodies)), counts)
        self._disc = np.concatenate([body.quads.disc for body in self._bodies])
        # One more at the end: for pixels without a quadrilateral the index is -1 and the label 0.
        labels = np.repeat([label for label, _ in bodies], counts)
        self._label = np.append(labels, 0).astype(np.uint8)
        self._best = np.empty((height, width), np.int32)
        self._depth = np.empty((height, width), np.float64)

    def frame(self, index: int) -> RenderedFrame:
        """Render one frame, with ground truth at the middle of its exposure."""
        period = 1.0 / self.fps
        seconds = index * period
        camera = self.camera_at(seconds)
        light = np.zeros((self.size[1], self.size[0], 3), np.float32)
        shutter = period * self.scene.exposure
        self._expose(seconds - shutter / 2, SAMPLES[0], light)
        self._expose(seconds + shutter / 2, SAMPLES[2], light)
        labels = self._expose(seconds, SAMPLES[1], light)
        gain = 1.0 + self.scene.flicker * np.sin(2 * np.pi * seconds / 4.3)
        image = self._develop(light * np.float32(gain / len(SAMPLES)), index)
        bodies = np.stack([np.eye(4), *(b.path.at(seconds) for b in self.scene.movers)])
        stamp = START_STAMP + round(index * 1e9 / self.fps)
        return RenderedFrame(index, stamp, image, labels, camera,
                             self.scene.camera.at(seconds), bodies)

    def camera_at(self, seconds: float) -> FloatArray:
        """Return the camera matrix at a time; it changes with the zoom."""
        zoom = self.scene.magnification(seconds)
        return np.asarray(self.camera * [[zoom, zoom, 1.0], [zoom, zoom, 1.0], [1.0, 1.0, 1.0]])

    def _expose(self, seconds: float, shift: tuple[float, float], light: npt.NDArray[np.float32]
                ) -> Image:
        """Add the light of one time of the exposure; returns the labels of the pixels."""
        corners, brightness = self._look(seconds)
        camera = self.camera_at(seconds)
        inverse, seen = raster.inverse_maps(*corners, camera)
        boxes = raster.pixel_boxes(*corners, camera, self.size)
        raster.nearest_quads(inverse, seen, self._disc, boxes, *shift, self._best, self._depth)
        raster.shade(inverse, self._best, *shift, self._texture, self._rect, brightness,
                     self._atlas.texels, self._atlas.levels, light)
        return self._label[self._best]

    def _look(self, seconds: float
              ) -> tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray]:
        """Return origin, e_u, e_v (camera axes) and brightness of all quadrilaterals."""
        camera_from_world = np.linalg.inv(self.scene.camera.at(seconds))
        origins, us, vs, lights = [], [], [], []
        for body in self._bodies:
            world = body.path.at(seconds)
            normals = np.cross(body.quads.e_u, body.quads.e_v) @ world[:3, :3].T
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
            lights.append(0.86 + 0.2 * (normals @ LIGHT))
            m = camera_from_world @ world
            origins.append(body.quads.origin @ m[:3, :3].T + m[:3, 3])
            us.append(body.quads.e_u @ m[:3, :3].T)
            vs.append(body.quads.e_v @ m[:3, :3].T)
        corners = np.concatenate(origins), np.concatenate(us), np.concatenate(vs)
        return corners, np.concatenate(lights)

    def _develop(self, light: npt.NDArray[np.float32], index: int) -> Image:
        """Add sensor noise, which depends on the frame index only."""
        rng = np.random.default_rng((self.seed, index))
        noise = rng.standard_normal(light.shape, np.float32) * np.float32(self.scene.noise)
        return np.asarray(np.clip(light + noise + np.float32(0.5), 0, 255).astype(np.uint8))


def _lay_out(body: Body) -> tuple[FloatArray, tuple[int, int]]:
    """Place the strips of quadrilaterals on the texture of the body, one below the other."""
    q = body.quads
    lengths = np.linalg.norm(q.e_u, axis=1) * body.texels_per_metre
    heights = np.linalg.norm(q.e_v, axis=1) * body.texels_per_metre
    rects = np.zeros((len(lengths), 4))
    top, width = 2.0, 0.0
    for strip in np.unique(q.strip):
        mine = np.flatnonzero(q.strip == strip)
        left = 2.0 + q.seam[mine] * body.texels_per_metre
        tops = np.full(len(mine), top)
        rects[mine] = np.column_stack((left, tops, lengths[mine], heights[mine]))
        top += heights[mine].max() + 2.0
        width = max(width, (left + lengths[mine]).max())
    return rects, (int(np.ceil(width)) + 2, int(np.ceil(top)) + 2)


def render_scene(name: str, n_frames: int = 90, size: tuple[int, int] = (640, 480),
                 fps: float = 30.0, seed: int = 0, first: int = 0) -> Iterator[RenderedFrame]:
    """
    Render a named scene, frame by frame.

    Parameters
    ----------
    name : str
        One of ``SCENE_NAMES``.
    n_frames : int
        Number of frames.
    size : tuple of int
        Width and height in pixels.
    fps : float
        Frames per second.
    seed : int
        Seed of textures and noise; the motions are the same for every seed.
    first : int
        Index of the first frame.

    Examples
    --------
    >>> frame = next(render_scene('two_movers', 1, size=(160, 120)))
    >>> frame.image.shape, frame.n_movers
    ((120, 160, 3), 2)

    """
    if n_frames < 1:
        raise InputError(f'n_frames must be at least 1, got {n_frames}')
    renderer = Renderer(scene_named(name), size, fps, seed)
    return (renderer.frame(i) for i in range(first, first + n_frames))


def border_mask(labels: Image, margin: int = 3) -> npt.NDArray[np.bool_]:
    """Return the pixels near another label (within ``margin``), whose labels are uncertain."""
    kernel = np.ones((2 * margin + 1, 2 * margin + 1), np.uint8)
    return np.asarray(cv2.dilate(labels, kernel) != cv2.erode(labels, kernel))
