"""Renders images with Mitsuba 3: one built scene, many views. Import it to draw; nothing else imports Mitsuba.

`design/rendering.md` gives the reasons and measurements: box filter (others spread noise over pixels, where the
denoiser leaves it), multijittered samples, path depth 8, a separate four-sample pass for albedo and normals, Open Image
Denoise in its fast mode. Every scene has the same kinds of surface, so that kernels are compiled only once.
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.stimuli.render.appearances import develop, dome_map
from snellen.stimuli.render.engine import Engine, RegionSamples, RenderSettings, region_samples
from snellen.stimuli.render.mitsuba_surfaces import (
    paint_floor,
    pattern_surface,
    plain_surface,
    solid_surfaces,
    texture_place,
)
from snellen.stimuli.render.regions import BLOCK_PX, MIRROR_PX, blocks, crop, enlarged, find_regions, near_weight
from snellen.stimuli.scenes.floor_patterns import PLAIN, period_m
from snellen.stimuli.scenes.model import MATERIALS, AreaLight, Camera, Floor, MaterialKind, Scene
from snellen.stimuli.scenes.shapes import Mesh, join_meshes, place_mesh, unit_mesh

_PATH = {"type": "path", "max_depth": 8, "rr_depth": 3}
_AUXILIARY = {"type": "aov", "aovs": "albedo:albedo,normal:sh_normal"}
_AUXILIARY_SAMPLES = 4
_COARSE_MIRROR = 12
"""As `MIRROR_PX`, for the coarse image: with fewer, blotches stay at its border."""
MANY_SOLIDS = 20
"""Scenes with more solids have small ones, which get a quarter of the triangles except in `reference`."""
_FLOOR_M = 1e-3
"""Maximum height of floor points; solids are slightly above it."""
_HIDDEN = Mesh(
    np.array([[0.0, 0.0, -5.0], [1e-3, 0.0, -5.0], [0.0, 1e-3, -5.0]]),
    np.array([[0.0, 0.0, 1.0]] * 3),
    np.zeros((3, 2)),
    np.array([[0, 1, 2]]),
)
"""A tiny triangle under the floor that carries a surface that no solid has."""


def _mitsuba(engine: Engine, threads: int) -> Any:
    """The mitsuba module with the engine's variant set; later calls may change only the thread count."""
    if engine.libllvm and os.environ.get("DRJIT_LIBLLVM_PATH") != engine.libllvm:
        if "drjit" in sys.modules:  # it loaded an LLVM on import, perhaps an unsuitable one that would abort
            raise SnellenError(
                "mitsuba was imported before snellen could choose its LLVM; "
                f"start Python with DRJIT_LIBLLVM_PATH={engine.libllvm} or draw before importing mitsuba"
            )
        os.environ["DRJIT_LIBLLVM_PATH"] = engine.libllvm
    import drjit
    import mitsuba

    if mitsuba.variant() != engine.variant:
        mitsuba.set_variant(engine.variant)
    if drjit.thread_count() != threads:
        drjit.set_thread_count(threads)
    return mitsuba


class Studio:
    """A scene built for Mitsuba; `image` renders a view of it."""

    def __init__(self, scene: Scene, settings: RenderSettings, engine: Engine, threads: int) -> None:
        self._mi = _mitsuba(engine, threads)
        self._settings = settings
        self._regions = region_samples(settings, engine)
        self._samples = settings.samples(scene)
        self._floor = scene.floor
        is_coarse = self._regions is not None and len(scene.solids) > MANY_SOLIDS
        self._scene = _built(self._mi, scene, detail=1 if is_coarse else 2)
        self._path = self._mi.load_dict(_PATH)
        self._auxiliary = self._mi.load_dict(_AUXILIARY)

    def radiance(self, camera: Camera, seed: int) -> NDArray[np.float32]:
        """Linear RGB (height, width, 3), denoised if the settings say so."""
        paint_floor(self._mi, self._floor)
        if self._regions is not None:
            return self._radiance_by_region(camera, seed, self._regions)
        sensor = self._mi.load_dict(_sensor(self._mi, camera, self._samples))
        noisy = self._mi.render(self._scene, sensor=sensor, integrator=self._path, spp=self._samples, seed=seed)
        colour = np.ascontiguousarray(np.array(noisy)[..., :3], np.float32)
        colour[~np.isfinite(colour)] = 0
        if not self._settings.denoise:
            return colour
        sensor = self._mi.load_dict(_sensor(self._mi, camera, _AUXILIARY_SAMPLES))
        hints = self._mi.render(
            self._scene, sensor=sensor, integrator=self._auxiliary, spp=_AUXILIARY_SAMPLES, seed=seed
        )
        return _denoised(colour, np.array(hints)[..., -6:])

    def _radiance_by_region(self, camera: Camera, seed: int, samples: RegionSamples) -> NDArray[np.float32]:
        """Render with fewer samples where these suffice; floor far from solids in blocks, denoised as a small image."""
        height, width = camera.height_px, camera.width_px
        sensor = self._mi.load_dict(_sensor(self._mi, camera, 1))
        hints, floor, glass = self._first_hits(sensor, camera)
        regions = find_regions(floor, glass, is_smooth=self._floor.pattern == PLAIN)
        colour = np.zeros((height, width, 3), np.float32)
        coarse = np.zeros((*regions.far.shape, 3), np.float32)
        block_samples = samples.glass if regions.glass.any() else samples.block  # caustics reach far, too
        tiers = (
            (regions.solid, samples.solid, 1, colour),
            (regions.glass, samples.glass, 1, colour),
            (regions.floor, samples.floor, 1, colour),
            (regions.far, block_samples, BLOCK_PX, coarse),
        )
        for count in sorted({count for _, count, _, _ in tiers}):
            same = [tier for tier in tiers if tier[1] == count]
            corners = [np.argwhere(mask) * size for mask, _, size, _ in same]
            sizes = np.repeat([size for _, _, size, _ in same], [len(corner) for corner in corners])
            drawn = self._paths(sensor, camera, np.concatenate(corners), sizes, count, seed)
            ends = np.cumsum([len(corner) for corner in corners])[:-1]
            for (mask, _, _, target), radiance in zip(same, np.split(drawn, ends), strict=True):
                target[mask] = radiance
        if not regions.far.any():
            return _denoised(colour, hints)
        coarse = np.where(regions.far[..., None], coarse, blocks(colour))
        image = enlarged(_denoised(coarse, blocks(hints), _COARSE_MIRROR), height, width)
        if regions.near.any():
            box = crop(regions.near)
            sharp = _denoised(np.where(regions.near[..., None], colour, image)[box], hints[box])
            image[box] += (sharp - image[box]) * near_weight(regions.near)[box][..., None]
        return image

    def _first_hits(
        self, sensor: Any, camera: Camera
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Means over four rays per pixel: albedo and normal (height, width, 6), share on floor, share on glass."""
        import drjit as dr

        mi, height, width = self._mi, camera.height_px, camera.width_px
        ray = dr.arange(mi.UInt32, height * width * _AUXILIARY_SAMPLES)
        pixel, number = ray // _AUXILIARY_SAMPLES, ray % _AUXILIARY_SAMPLES
        across = dr.gather(mi.Float, mi.Float([0.375, 0.875, 0.125, 0.625]), number)
        down = (mi.Float(number) + 0.5) / _AUXILIARY_SAMPLES
        position = mi.Point2f((mi.Float(pixel % width) + across) / width, (mi.Float(pixel // width) + down) / height)
        hit = self._scene.ray_intersect(sensor.sample_ray(0.0, 0.5, position, mi.Point2f(0.5))[0])
        valid, bsdf = hit.is_valid(), hit.bsdf()
        albedo, normal = bsdf.eval_diffuse_reflectance(hit, valid), hit.sh_frame.n
        floor = valid & (hit.p.z < _FLOOR_M)
        glass = valid & mi.has_flag(bsdf.flags(), mi.BSDFFlags.DeltaTransmission)
        features = [dr.select(valid, feature, 0.0) for feature in (*albedo, *normal)]
        features += [dr.select(mask, mi.Float(1.0), 0.0) for mask in (floor, glass)]
        dr.eval(features)
        means = [np.array(dr.block_sum(feature, _AUXILIARY_SAMPLES)) / _AUXILIARY_SAMPLES for feature in features]
        stacked = np.stack(means, axis=-1).reshape(height, width, len(means)).astype(np.float32)
        return stacked[..., :6], stacked[..., 6], stacked[..., 7]

    def _paths(
        self, sensor: Any, camera: Camera, corners: NDArray[np.int64], sizes: NDArray[np.int64], samples: int, seed: int
    ) -> NDArray[np.float32]:
        """Mean radiance (n, 3) of squares of the image: corners (n, 2) as row and column, sizes (n,) in pixels."""
        import drjit as dr

        if not len(corners):
            return np.zeros((0, 3), np.float32)
        mi = self._mi
        sampler = mi.load_dict({"type": "multijitter", "sample_count": samples})
        sampler.set_samples_per_wavefront(samples)
        sampler.seed(seed, len(corners) * samples)
        square = dr.arange(mi.UInt32, len(corners) * samples) // samples
        row, column, size = (
            dr.gather(mi.Float, mi.Float(np.ascontiguousarray(numbers, np.float32)), square)
            for numbers in (corners[:, 0], corners[:, 1], sizes)
        )
        jitter = sampler.next_2d()
        position = mi.Point2f((column + jitter.x * size) / camera.width_px, (row + jitter.y * size) / camera.height_px)
        ray = sensor.sample_ray_differential(0.0, 0.5, position, mi.Point2f(0.5))[0]
        radiance, _, _ = self._path.sample(self._scene, sampler, ray)
        channels = [dr.select(dr.isfinite(channel), channel, 0.0) for channel in radiance]
        dr.eval(channels)
        means = [np.array(dr.block_sum(channel, samples)) / samples for channel in channels]
        return np.stack(means, axis=-1).astype(np.float32)

    def image(self, camera: Camera, seed: int) -> NDArray[np.uint8]:
        """8-bit sRGB (height, width, 3)."""
        return develop(self.radiance(camera, seed))


def _denoised(
    colour: NDArray[np.float32], hints: NDArray[np.float32], mirror_px: int = MIRROR_PX
) -> NDArray[np.float32]:
    """Radiance (h, w, 3), denoised with the help of albedo and normals (h, w, 6).

    Mirrored at the border, which would otherwise stay noisy and tinted.
    """
    import mitsuba_oidn as oidn

    pad = min(mirror_px, colour.shape[0] - 1, colour.shape[1] - 1)
    colour, albedo, normal = (
        np.ascontiguousarray(np.pad(image, ((pad, pad), (pad, pad), (0, 0)), "reflect"), np.float32)
        for image in (colour, np.clip(hints[..., :3], 0, 1), hints[..., 3:])
    )
    clean = np.asarray(oidn.denoise(colour, albedo=albedo, normal=normal, hdr=True, quality=oidn.Quality.Fast))
    return clean[pad : clean.shape[0] - pad, pad : clean.shape[1] - pad]


def _built(mi: Any, scene: Scene, detail: int = 2) -> Any:
    """The scene; its parts are built one by one, since their order decides which noise a seed gives.

    The order in which `load_dict` builds parts varies between processes.
    """
    parts: dict[str, Any] = {"type": "scene", "floor": _floor(mi, scene.floor)}
    parts["dome"] = mi.load_dict(_dome(mi, scene))
    for number, light in enumerate(scene.lights):
        parts[f"light_{number}"] = mi.load_dict(_panel(mi, light))
    if len(scene.lights) == 1:
        _make_opaque(mi, parts["light_0"])
    surfaces = solid_surfaces(mi, mi.variant())
    for kind, mesh in _meshes(scene, detail).items():
        parts[kind] = _mesh(mi, kind, mesh, surfaces[kind])
    return mi.load_dict(parts, parallel=False)


def _meshes(scene: Scene, detail: int = 2) -> dict[MaterialKind, Mesh]:
    """One mesh per kind of material, with the solids of that kind; a hidden triangle if there are none.

    Kernels contain the number of meshes, textures and surfaces: if it varied, each scene with another number of solids
    would be recompiled, which takes longer than drawing it. Kernels are also retraced for every launch, in a time that
    grows with the number of surfaces, so colours are not separate surfaces.
    """
    parts: dict[MaterialKind, list[Mesh]] = {kind: [] for kind in MATERIALS}
    for solid in scene.solids:
        mesh = unit_mesh(solid.shape, detail)
        uv = texture_place(mesh.uv, solid)
        parts[solid.material.kind].append(place_mesh(dataclasses.replace(mesh, uv=uv), solid.pose))
    return {kind: join_meshes(meshes) if meshes else _HIDDEN for kind, meshes in parts.items()}


def _mesh(mi: Any, name: str, mesh: Mesh, bsdf: Any) -> Any:
    properties = mi.Properties()
    properties["mesh_bsdf"] = bsdf
    sizes = len(mesh.vertices), len(mesh.faces)
    built = mi.Mesh(name, *sizes, has_vertex_normals=True, has_vertex_texcoords=True, props=properties)
    buffers = mi.traverse(built)
    for key, values, kind in (
        ("vertex_positions", mesh.vertices, np.float32),
        ("vertex_normals", mesh.normals, np.float32),
        ("vertex_texcoords", mesh.uv, np.float32),
        ("faces", mesh.faces, np.uint32),
    ):
        buffers[key] = np.ascontiguousarray(values, kind).ravel()
    buffers.update()
    return built


def _floor(mi: Any, floor: Floor) -> Any:
    if floor.pattern != PLAIN:  # a square, since the texture of a disk is in polar coordinates
        half = math.ceil(floor.radius_m / period_m(floor.pattern, floor.stripe_m))
        corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * half
        flat = np.pad(corners * period_m(floor.pattern, floor.stripe_m), ((0, 0), (0, 1)))
        square = Mesh(flat, np.array([[0.0, 0.0, 1.0]] * 4), corners, np.array([[0, 1, 2], [0, 2, 3]]))
        return _mesh(mi, "floor", square, pattern_surface(mi, mi.variant()))
    return mi.load_dict(
        {
            "type": "disk",
            "to_world": mi.ScalarTransform4f().scale([floor.radius_m, floor.radius_m, 1]),
            "bsdf": plain_surface(mi, mi.variant(), "floor"),
        }
    )


def _panel(mi: Any, light: AreaLight) -> dict[str, Any]:
    towards = mi.ScalarTransform4f().look_at(origin=list(light.position_m), target=list(light.target_m), up=[0, 0, 1])
    radiance = {"type": "rgb", "value": list(light.radiance_linear_rgb)}
    return {
        "type": "rectangle",
        "to_world": towards @ mi.ScalarTransform4f().scale([light.side_m / 2, light.side_m / 2, 1]),
        "emitter": {"type": "area", "radiance": radiance},
        "bsdf": plain_surface(mi, mi.variant(), "panel"),
    }


def _make_opaque(mi: Any, panel: Any) -> None:
    """Make kernels read the parameters of a single panel; compiled in, they would recompile for every scene."""
    import drjit as dr

    parameters = mi.traverse(panel)
    for name in ("to_world", "emitter.radiance.value"):
        dr.make_opaque(parameters[name])
        parameters.set_dirty(name)
    parameters.update()


def _dome(mi: Any, scene: Scene) -> dict[str, Any]:
    """The dome as an upright map; Mitsuba's starts at world +y and runs clockwise, ours at +x counter-clockwise."""
    values = dome_map(scene.dome)
    width = values.shape[1]
    turned = values[:, (width // 4 - 1 - np.arange(width)) % width]
    upright = mi.ScalarTransform4f().rotate([1, 0, 0], 90)
    return {"type": "envmap", "bitmap": mi.Bitmap(np.ascontiguousarray(turned)), "to_world": upright}


def _sensor(mi: Any, camera: Camera, samples: int) -> dict[str, Any]:
    camera_to_world = mi.ScalarTransform4f().look_at(
        origin=list(camera.position_m), target=list(camera.target_m), up=list(camera.up)
    )
    return {
        "type": "perspective",
        "fov": camera.horizontal_fov_deg,
        "fov_axis": "x",
        "to_world": camera_to_world,
        "film": {
            "type": "hdrfilm",
            "width": camera.width_px,
            "height": camera.height_px,
            "rfilter": {"type": "box"},
            "pixel_format": "rgb",
            "component_format": "float32",
        },
        "sampler": {"type": "multijitter", "sample_count": samples},
    }
