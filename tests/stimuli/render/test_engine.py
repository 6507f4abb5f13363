import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.stimuli.render import RenderSettings, engine, image_seconds, renderer_info, size_share
from snellen.stimuli.scenes import Appearance, Composite, composite_scene


@pytest.fixture
def fresh_probe() -> Iterator[None]:
    engine.working_llvm.cache_clear()
    yield
    engine.working_llvm.cache_clear()


def test_toy_needs_nothing() -> None:
    settings = renderer_info(RenderSettings(renderer="toy"))
    assert settings["renderer"] == "toy"
    assert settings["llvm"] is None
    assert set(settings["versions"]) == {"toy", "scene"}


def test_settings_are_checked() -> None:
    with pytest.raises(SnellenError, match="povray"):
        RenderSettings(renderer="povray")  # type: ignore[arg-type]
    with pytest.raises(SnellenError, match="fast, good, reference"):
        RenderSettings(quality="best")  # type: ignore[arg-type]
    for samples in ({"samples_per_pixel": 0}, {"glass_samples_per_pixel": 0}):
        with pytest.raises(SnellenError, match="at least 1"):
            RenderSettings(**samples)  # type: ignore[arg-type]


def test_plans_take_the_seconds_of_their_quality() -> None:
    by_quality = {"fast": 0.25, "good": 0.5, "reference": 1.25}
    for quality, seconds in by_quality.items():
        assert image_seconds(by_quality, BuildOptions(Path(), quality=quality)) == seconds
    with pytest.raises(SnellenError, match="fast, good, reference"):
        image_seconds(by_quality, BuildOptions(Path(), quality="best"))


def test_plans_take_the_pixels_into_account() -> None:
    """Of the seconds of a usual image 0.14 are fixed; the rest grows with the pixels."""
    by_quality = {"fast": 1.0, "good": 2.0, "reference": 4.0}
    large, small = (BuildOptions(Path(), quality="good", size=size) for size in ((1280, 960), (320, 240)))
    assert (size_share(large), size_share(small), size_share(BuildOptions(Path()))) == (4, 0.25, 1)
    assert image_seconds(by_quality, large) == pytest.approx(2 * (0.14 + 0.86 * 4))
    assert image_seconds(by_quality, small, 0.5) == pytest.approx(2 * (0.14 + 0.86 * 0.125))


def test_another_renderer_draws_only_inside_its_context() -> None:
    toy = RenderSettings(renderer="toy")
    with engine.drawn_by("blank"):
        assert engine.find_engine(toy).renderer == "blank"
    assert engine.find_engine(toy).renderer == "toy"


def test_glass_has_its_own_samples() -> None:
    settings = RenderSettings(samples_per_pixel=4, glass_samples_per_pixel=9)
    ball = Appearance("sphere", "wood")
    assert settings.samples(composite_scene(Composite(ball, "surface", ball, "surface"))) == 4
    assert settings.samples(composite_scene(Composite(ball, "surface", Appearance("sphere", "glass"), "surface"))) == 9


def test_only_llvm_with_denoiser_samples_by_region() -> None:
    llvm, plain = (engine.Engine("mitsuba", variant, None, ()) for variant in ("llvm_ad_rgb", "scalar_rgb"))
    fast = RenderSettings(quality="fast")
    assert engine.region_samples(fast, llvm) == engine.RegionSamples(4, 16, 4, 4)
    assert engine.region_samples(fast, plain) is None
    assert engine.region_samples(RenderSettings(quality="fast", denoise=False), llvm) is None
    assert engine.region_samples(RenderSettings(), llvm) is None


def test_a_missing_renderer_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SnellenError, match=r"pip install .*\[render\]'"):
        engine.find_engine(RenderSettings())


def test_candidates_are_the_stated_file_then_the_one_next_to_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    beside = tmp_path / "lib" / "llvm" / "deep" / "libLLVM.so.19.1"
    beside.parent.mkdir(parents=True)
    beside.touch()
    (beside.parent / "libLLVM-19.so").symlink_to(beside.name)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("DRJIT_LIBLLVM_PATH", "/stated/libLLVM.so")
    candidates = list(engine._candidates())
    assert candidates[:2] == ["/stated/libLLVM.so", str(beside)]
    assert candidates.count(str(beside)) == 1


def test_system_files_are_newest_first() -> None:
    names = ["/usr/lib/libLLVM-15.so", "/usr/lib/llvm-19/lib/libLLVM.so.19.1", "/usr/lib/libLLVM.so"]
    assert sorted(map(Path, names), key=engine._age) == [Path(names[1]), Path(names[0]), Path(names[2])]


def test_an_llvm_that_kills_the_process_is_survived_and_reported(
    monkeypatch: pytest.MonkeyPatch, fresh_probe: None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine, "_candidates", lambda: iter(["/nowhere/libLLVM-15.so"]))
    monkeypatch.setattr(engine, "_PROBE", "import os; os.abort()")
    assert engine.working_llvm() is None
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "libLLVM-15.so" in message
    assert "DRJIT_LIBLLVM_PATH" in message
    assert engine.working_llvm() is None
    assert capsys.readouterr().err == ""


def test_requesting_a_missing_llvm_is_an_error(monkeypatch: pytest.MonkeyPatch, fresh_probe: None) -> None:
    if importlib.util.find_spec("mitsuba") is None or importlib.util.find_spec("mitsuba_oidn") is None:
        pytest.skip("mitsuba and mitsuba-oidn are not installed (pip install 'snellen[render]')")
    monkeypatch.setattr(engine, "_candidates", lambda: iter([]))
    with pytest.raises(SnellenError, match="DRJIT_LIBLLVM_PATH"):
        engine.find_engine(RenderSettings(variant="llvm_ad_rgb"))
    assert engine.find_engine(RenderSettings()).variant == "scalar_rgb"


def test_importing_the_package_does_not_import_mitsuba() -> None:
    code = "import sys, snellen.stimuli.render, snellen.stimuli.scenes; assert 'mitsuba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
