"""Put libLLVM 19 into this Python environment, without root.

The fast variant of the renderer compiles with libLLVM, which no Python package carries. The Debian (or Ubuntu) packages
are downloaded and unpacked into `<sys.prefix>/lib/llvm/lib`; nothing is installed on the machine. Where that cannot be
done, one line says so, the renderer uses its slow variant, and the exit code is still 0.

    python scripts/fetch_llvm.py [--everything]     --everything: also what the machine has already (for tests)
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(sys.prefix) / "lib" / "llvm" / "lib"
LIBRARY = TARGET / "libLLVM.so.19.1"
PACKAGE = "libllvm19"
# What libllvm19 needs beside libc and libstdc++, and a bare machine may lack. a|b: the first that there is.
NEEDED = (
    *("libedit2", "libbsd0", "libmd0", "libffi8", "libtinfo6", "liblzma5", "libz3-4", "libzstd1", "zlib1g"),
    *("libxml2", "libicu72|libicu74|libicu76"),
)


def loads() -> bool:
    """Whether libLLVM can be loaded: tried in a process of its own, since a library cannot be unloaded."""
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    return subprocess.run([sys.executable, "-c", code, str(LIBRARY)], capture_output=True).returncode == 0


def download(packages: list[str], folder: Path) -> None:
    """Download the .deb files, with fresh package lists in a private folder where the machine's do not know them."""
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3"]
    fetch = ["download", *packages]
    if subprocess.run([*command, *fetch], cwd=folder, capture_output=True).returncode == 0:
        return
    state = folder / "state"
    for needed in ("lists/partial", "cache/archives/partial"):
        (state / needed).mkdir(parents=True, exist_ok=True)
    for option in (f"State={state}", f"State::lists={state / 'lists'}", f"Cache={state / 'cache'}"):
        command += ["-o", f"Dir::{option}"]
    for step in (["update"], fetch):
        done = subprocess.run([*command, *step], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"apt-get {step[0]}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")


def unpack(folder: Path) -> None:
    """Copy the shared libraries of all .deb files, flat, into the target folder."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for deb in folder.glob("*.deb"):
        tree = folder / deb.stem
        subprocess.run(["dpkg-deb", "-x", str(deb), str(tree)], check=True, capture_output=True)
        for library in tree.rglob("lib*.so*"):
            if library.is_symlink():
                (TARGET / library.name).unlink(missing_ok=True)
                (TARGET / library.name).symlink_to(library.readlink().name)
            elif library.is_file():
                shutil.move(library, TARGET / library.name)


def search_here_first(library: Path) -> None:
    """Let the libraries that `library` needs, and those that they need, be found in its own folder.

    Debian's libLLVM carries the search path `$ORIGIN/../lib` as RUNPATH, which counts for its direct needs only. The
    same path as RPATH counts for all. Both are one tag of a 64-bit little-endian ELF file's dynamic table.
    """
    with library.open("r+b") as file:
        (table,) = struct.unpack_from("<Q", head := file.read(64), 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for index in range(count):
            file.seek(table + index * size)
            kind, _, start, _, _, length, _, _ = struct.unpack("<IIQQQQQQ", file.read(56))
            if kind != 2:
                continue
            for place in range(start, start + length, 16):
                file.seek(place)
                if struct.unpack("<Q", file.read(8))[0] == 29:
                    file.seek(place)
                    file.write(struct.pack("<Q", 15))


def fetch(everything: bool) -> None:
    """Download and unpack libLLVM, then what it needs and the machine lacks. Raises where that cannot be done."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise RuntimeError("this is no Debian or Ubuntu")
    with tempfile.TemporaryDirectory() as folder:
        download([PACKAGE], Path(folder))
        unpack(Path(folder))
    search_here_first(LIBRARY)
    if everything or not loads():
        for names in NEEDED:
            fetch_one_of(names.split("|"))
    if not loads():
        raise RuntimeError(f"{LIBRARY} cannot be loaded")


def fetch_one_of(names: list[str]) -> None:
    """Download and unpack the first package of these that there is; none is not yet a failure."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                download([name], Path(folder))
            except RuntimeError:
                continue
            unpack(Path(folder))
            return


def main() -> None:
    """See the module's docstring."""
    if os.environ.get("DRJIT_LIBLLVM_PATH"):
        print("libLLVM: the one named by DRJIT_LIBLLVM_PATH will be used")
        return
    if LIBRARY.exists() and loads():
        return
    try:
        fetch("--everything" in sys.argv[1:])
    except (RuntimeError, OSError, struct.error, subprocess.CalledProcessError) as error:
        shutil.rmtree(TARGET, ignore_errors=True)
        print(f"libLLVM 19 could not be fetched ({error}): images will be rendered by the slow variant")
    else:
        print(f"libLLVM 19: {LIBRARY}")


if __name__ == "__main__":
    main()
