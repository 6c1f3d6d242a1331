# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The named scenes: a furnished room, a moving camera, and moving solids.

Paths have no end, so a scene may have any length. The speeds are those of people, carts and drones
(0.3 to 1.2 m/s, up to an eighth of a turn per second).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
import math

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.synth.bodies import (
    Body, box, cylinder, join, Orbit, Path, placed, plane, Still, Waypoints)

PALETTES: dict[str, tuple[tuple[int, int, int], ...]] = {
    'plaster': ((176, 186, 196), (150, 160, 172), (122, 134, 150), (196, 200, 204), (96, 98, 99)),
    'wood': ((88, 122, 158), (70, 98, 130), (112, 150, 186), (60, 84, 112), (136, 166, 190)),
    'slate': ((132, 116, 100), (104, 92, 82), (164, 150, 136), (84, 78, 74), (190, 182, 174)),
    'brick': ((92, 104, 168), (112, 128, 186), (70, 76, 120), (140, 160, 200), (190, 200, 214)),
    'denim': ((160, 122, 88), (184, 156, 124), (116, 86, 64), (206, 192, 172), (148, 110, 100)),
    'olive': ((88, 138, 118), (66, 104, 92), (128, 172, 150), (84, 150, 150), (192, 208, 196)),
    'straw': ((110, 172, 190), (86, 134, 160), (140, 192, 206), (74, 104, 130), (196, 210, 214)),
}
"""Colours of the textures as (blue, green, red): muted, so that an overlay stands out on them."""


@dataclass(frozen=True)
class Scene:
    """A static world, a camera, and moving bodies."""

    name: str
    description: str
    camera: Path
    world: tuple[Body, ...]
    """Static bodies, all of them label 0."""
    movers: tuple[Body, ...]
    """Bodies with labels 1, 2, …, in this order."""
    noise: float = 2.0
    """Standard deviation of the sensor noise in grey levels."""
    exposure: float = 0.25
    """Share of the frame period during which the shutter is open (motion blur)."""
    flicker: float = 0.1
    """Amplitude of slow changes of the light, as a share of the brightness."""
    zoom: float = 0.0
    """Amplitude of changes of the focal length, as a share of it."""
    zoom_period: float = 6.0
    """Seconds of one zoom in and out."""

    def magnification(self, seconds: float) -> float:
        """Return the factor on the focal length at a time."""
        return 1.0 + self.zoom * math.sin(2 * math.pi * seconds / self.zoom_period)


def _room() -> tuple[Body, ...]:
    """Build a room of 9 x 5 x 13 m with furniture between 2.5 and 8 m from its viewer."""
    shell = placed(box(9.0, 5.0, 13.0), (0.0, -1.1, 3.0))
    crates = join(placed(box(1.1, 1.0, 0.9), (-2.3, 0.9, 4.6), (0.0, 0.5, 0.0)),
                  placed(box(0.8, 0.7, 0.7), (-2.2, 0.05, 4.7), (0.0, -0.3, 0.0)),
                  placed(box(1.0, 0.8, 1.0), (2.5, 1.0, 5.4), (0.0, -0.4, 0.0)),
                  placed(box(0.7, 0.6, 0.7), (0.2, 1.1, 6.6), (0.0, 0.7, 0.0)))
    shelf = join(placed(box(1.4, 2.6, 0.6), (3.2, 0.1, 7.6), (0.0, -0.2, 0.0)),
                 placed(box(1.8, 1.5, 0.5), (-3.1, 0.65, 8.2), (0.0, 0.2, 0.0)),
                 placed(plane(1.5, 1.1), (-0.6, -1.3, 8.6), (0.0, 0.15, 0.0)))
    pillars = join(placed(cylinder(0.28, 5.0), (-1.1, -1.1, 7.4)),
                   placed(cylinder(0.22, 5.0), (1.7, -1.1, 8.4)))
    lamps = join(placed(box(0.8, 0.35, 0.8), (1.2, -2.3, 6.2), (0.2, 0.5, 0.0)),
                 placed(box(0.7, 0.4, 0.7), (-2.0, -2.1, 5.6), (-0.1, 0.3, 0.1)))
    return (Body('room', shell, Still(), 'plaster', 95.0, contrast=0.6),
            Body('crates', crates, Still(), 'wood', 160.0, contrast=0.8),
            Body('shelves', shelf, Still(), 'slate', 120.0, contrast=0.8),
            Body('pillars', pillars, Still(), 'slate', 120.0, contrast=0.7),
            Body('lamps', lamps, Still(), 'wood', 160.0, contrast=0.8))


def _drone() -> Orbit:
    """Fly a slow, tilted ellipse at about 0.5 m/s and look around a little."""
    return Orbit(centre=(0.0, -0.1, 0.0), cosine=(0.42, 0.12, 0.18), sine=(-0.12, 0.26, 0.42),
                 period=5.6, swing_cosine=(0.015, 0.05, 0.01), swing_sine=(0.03, -0.02, 0.015))


def _red_box() -> Body:
    path = Orbit(centre=(-0.72, 0.15, 3.8), cosine=(0.4, 0.0, 0.25), sine=(0.0, 0.36, -0.12),
                 period=4.2, turn=(0.3, 0.4, 0.1), spin=(0.25, 0.5, 0.35))
    return Body('red box', box(0.85, 0.7, 0.75), path, 'brick', 200.0, contrast=1.3)


def _blue_cylinder() -> Body:
    path = Orbit(centre=(0.92, 0.1, 3.9), cosine=(0.0, -0.4, 0.1), sine=(0.36, 0.1, 0.22),
                 period=4.7, phase=0.6, turn=(0.35, 0.0, 0.3), spin=(-0.3, -0.45, -0.3))
    return Body('blue cylinder', cylinder(0.42, 0.95), path, 'denim', 200.0, contrast=1.3)


def _green_box(x: float = 0.1, period: float = 3.9, phase: float = 2.2) -> Body:
    path = Orbit(centre=(x, -0.62, 4.7), cosine=(0.34, -0.16, 0.0), sine=(0.12, 0.26, 0.3),
                 period=period, phase=phase, turn=(0.1, 0.2, 0.5), spin=(0.4, -0.3, 0.5))
    return Body('green box', box(1.0, 0.7, 0.6), path, 'olive', 190.0, contrast=1.3)


def _static_world() -> Scene:
    return Scene('static_world', 'A room in which only the camera moves.', _drone(), _room(), ())


def _small_mover() -> Scene:
    path = Orbit(centre=(0.55, 0.1, 4.2), cosine=(0.5, -0.1, 0.0), sine=(0.05, 0.42, 0.2),
                 period=4.4, turn=(0.2, 0.6, 0.2), spin=(0.3, 0.5, -0.4))
    mover = Body('small box', box(0.68, 0.6, 0.6), path, 'straw', 220.0, contrast=1.3)
    return Scene('small_mover', 'A small mover in front of a large background.', _drone(), _room(),
                 (mover,))


def _two_movers() -> Scene:
    return Scene('two_movers', 'A box and a cylinder with different motions.', _drone(), _room(),
                 (_red_box(), _blue_cylinder()))


def _three_movers() -> Scene:
    return Scene('three_movers', 'Two boxes and a cylinder that occlude each other at times.',
                 _drone(), _room(), (_red_box(), _blue_cylinder(), _green_box()))


def _planar_motion() -> Scene:
    camera = Orbit(centre=(0.0, 0.0, 0.2), cosine=(0.12, 0.0, 0.5), sine=(-0.4, 0.0, 0.2),
                   period=5.6, swing_cosine=(0.0, 0.05, 0.0), swing_sine=(0.0, -0.03, 0.0))
    path = Orbit(centre=(0.1, 0.75, 3.7), cosine=(0.75, 0.0, 0.1), sine=(-0.05, 0.0, 0.55),
                 period=4.8, spin=(0.0, 0.75, 0.0))
    cart = Body('cart', box(1.0, 1.1, 0.8), path, 'brick', 200.0, contrast=1.3)
    return Scene('planar_motion', 'A robot and a cart that drive on the floor.',
                 camera, _room(), (cart,))


def _pure_rotation() -> Scene:
    camera = Orbit(centre=(0.0, 0.0, 0.0), period=4.0, swing_cosine=(0.02, 0.14, 0.02),
                   swing_sine=(0.08, -0.03, 0.03))
    return Scene('pure_rotation', 'A camera that only turns: no parallax, no fundamental matrix.',
                 camera, _room(), ())


def _stop_and_return() -> Scene:
    """Let a box come in, stop for 1.5 s, leave the view for 1.2 s and come back."""
    path = Waypoints(
        times=(0.0, 1.6, 3.1, 4.3, 5.5, 7.5, 30.0),
        positions=((-1.4, 0.4, 3.4), (0.2, 0.0, 3.4), (0.2, 0.0, 3.4), (3.6, -0.5, 3.2),
                   (3.6, -0.5, 3.2), (-0.4, 0.3, 3.4), (-16.0, 4.0, 4.0)),
        turns=((0.0, 0.3, 0.0), (0.3, 1.0, 0.5), (0.3, 1.0, 0.5), (0.6, 1.6, 1.2), (0.6, 1.6, 1.2),
               (0.0, 0.6, 0.4), (0.0, -2.0, 2.0)))
    mover = Body('red box', box(0.9, 0.75, 0.75), path, 'brick', 200.0, contrast=1.3)
    return Scene('stop_and_return', 'A mover that stops, disappears and returns.', _drone(),
                 _room(), (mover,))


def _demo() -> Scene:
    """Use a path of the green box on which it is visible for all of the seven seconds."""
    return Scene('demo', 'A drone in a furnished room, and three solids that pass each other.',
                 _drone(), _room(),
                 (_red_box(), _blue_cylinder(), _green_box(x=0.3, period=5.2, phase=0.0)))


def _still_camera() -> Scene:
    """Rest for 1.6 s, move for 1.6 s, and rest again."""
    near, far = (0.0, -0.1, 0.0), (0.55, -0.25, 0.45)
    ahead, aside = (0.0, 0.0, 0.0), (0.02, -0.08, 0.01)
    camera = Waypoints((0.0, 1.6, 3.2, 4.8), (near, near, far, far), (ahead, ahead, aside, aside))
    return replace(_two_movers(), name='still_camera', camera=camera,
                   description='A camera that rests, moves and rests again, with two movers.')


def _walk() -> Orbit:
    """Move on a curve at about 0.6 m/s: on a straight path, alignment would hide errors."""
    return Orbit(centre=(0.0, -0.1, -0.6), cosine=(0.85, 0.1, 0.2), sine=(-0.1, 0.12, 0.75),
                 period=8.4, swing_cosine=(0.01, -0.12, 0.01), swing_sine=(0.02, 0.03, 0.01))


def _bus() -> Scene:
    path = Orbit(centre=(0.0, 0.45, 3.9), cosine=(-3.3, 0.0, 0.1), sine=(0.0, 0.0, 0.3),
                 period=12.6, phase=0.55, swing_sine=(0.0, 0.12, 0.0))
    bus = Body('bus', box(3.2, 1.7, 1.2), path, 'brick', 160.0, contrast=0.8)
    return Scene('bus', 'A box of 3.2 m that crosses the view.', _walk(), _room(), (bus,))


def _leader() -> Scene:
    path = Orbit(centre=(0.05, 0.1, 1.9), cosine=(0.95, 0.1, 0.3), sine=(-0.1, 0.18, 0.85),
                 period=8.4, phase=0.16, swing_cosine=(0.0, -0.16, 0.02),
                 swing_sine=(0.04, 0.05, 0.03))
    leader = Body('leader', box(1.25, 1.0, 0.8), path, 'denim', 160.0, contrast=0.8)
    return Scene('leader', 'A box that moves nearly like the camera, 2.5 m ahead of it.',
                 _walk(), _room(), (leader,))


def _big2() -> Scene:
    left = Orbit(centre=(-1.0, 0.35, 3.4), cosine=(0.45, 0.1, 0.3), sine=(-0.15, 0.2, 0.5),
                 period=5.2, turn=(0.0, 0.5, 0.0), spin=(0.0, 0.25, 0.05))
    right = Orbit(centre=(1.15, -0.2, 3.7), cosine=(0.1, 0.5, -0.2), sine=(-0.4, 0.0, 0.4),
                  period=6.1, phase=1.0, turn=(0.2, -0.4, 0.1), spin=(0.1, -0.2, 0.15))
    return Scene('big2', 'Two boxes of 1.6 m that together cover a third of the view.',
                 _walk(), _room(),
                 (Body('left box', box(1.6, 1.2, 1.2), left, 'brick', 160.0, contrast=0.8),
                  Body('right box', box(1.6, 1.2, 1.2), right, 'olive', 160.0, contrast=0.8)))


def _driving() -> Scene:
    camera = Orbit(centre=(0.0, 0.1, -0.8), cosine=(0.0, 0.0, -2.0), sine=(-0.6, 0.03, 0.0),
                   period=12.0, phase=0.5, swing_sine=(0.01, 0.06, 0.0))
    return Scene('driving', 'A camera that drives forward through a static room.', camera,
                 _room(), ())


def _turning() -> Scene:
    camera = Orbit(centre=(0.0, -0.1, 0.0), cosine=(0.06, 0.0, 0.0), sine=(0.0, 0.02, 0.06),
                   period=5.0, spin=(0.0, 0.35, 0.0))
    return Scene('turning', 'A camera that turns about itself in a static room.', camera, _room(),
                 ())


def _zooming() -> Scene:
    return Scene('zooming', 'A camera that zooms and drifts a little in a static room.',
                 Orbit(centre=(0.0, -0.1, 0.0), cosine=(0.04, 0.0, 0.0), sine=(0.0, 0.04, 0.02),
                       period=5.0, swing_cosine=(0.01, 0.04, 0.0)), _room(), (), zoom=0.25)


def _resting() -> Scene:
    return Scene('resting', 'A camera that rests in a static room: nothing moves.', Still(),
                 _room(), ())


def crowd(n_movers: int) -> Scene:
    """Return a room with up to five moving bodies, to measure how time grows."""
    upper = Orbit(centre=(-1.75, -1.2, 4.6), cosine=(0.3, 0.1, 0.2), sine=(-0.1, 0.3, 0.1),
                  period=4.4, phase=1.1, turn=(0.4, 0.1, 0.3), spin=(0.3, 0.4, -0.2))
    right = Orbit(centre=(2.0, -0.95, 4.9), cosine=(0.1, 0.35, 0.2), sine=(0.3, -0.1, 0.2),
                  period=4.1, phase=0.4, turn=(0.1, 0.5, 0.2), spin=(-0.4, 0.3, 0.3))
    movers = (_red_box(), _blue_cylinder(), _green_box(x=0.3, period=5.2, phase=0.0),
              Body('straw box', box(0.9, 0.75, 0.7), upper, 'straw', 200.0, contrast=1.3),
              Body('brick box', box(0.9, 0.8, 0.7), right, 'brick', 200.0, contrast=1.3))
    return Scene(f'crowd_{n_movers}', f'{n_movers} bodies that move.', _drone(), _room(),
                 movers[:n_movers])


_MAKERS: tuple[Callable[[], Scene], ...] = (
    _static_world, _small_mover, _two_movers, _three_movers, _planar_motion, _pure_rotation,
    _stop_and_return, _demo, _still_camera, _bus, _leader, _big2, _driving, _turning, _zooming,
    _resting)
SCENE_NAMES: tuple[str, ...] = tuple(make.__name__[1:] for make in _MAKERS)
"""The names of all scenes."""


def scene_named(name: str) -> Scene:
    """Return a scene by its name, or raise an InputError that lists the names."""
    if name not in SCENE_NAMES:
        raise InputError(f'there is no scene called {name!r}; choose one of '
                         f'{", ".join(SCENE_NAMES)}')
    return _MAKERS[SCENE_NAMES.index(name)]()
