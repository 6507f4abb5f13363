"""Where a study is served: on this machine alone, or beyond it behind a TLS proxy, with a complete page of consent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from snellen.core.errors import SnellenError
from snellen.web.design import CONSENT_FIELDS, StudyDesign

LOOPBACK = frozenset(["localhost", "127.0.0.1", "[::1]"])
PAGE = "docs/serving.md"


@dataclass(frozen=True)
class StudySite:
    """The address that listens, the `public_url` of a proxy by which participants reach it, and a site (`framed_by`).

    The pages of that site, such as a panel's, may show the study in a frame.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str = ""
    framed_by: str = ""

    @property
    def is_public(self) -> bool:
        """True if participants reach it from other machines."""
        return not (is_local(self.host) and is_local(self._url.hostname or self.host))

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which requests may call the server (their header Host), without ports."""
        with suppress(UnicodeError):  # how a browser sends a name with an umlaut
            return self._names(self._url.hostname.encode("idna").decode() if self._url.hostname else None)
        return self._names(self._url.hostname)

    def _names(self, public: str | None) -> frozenset[str]:
        names = frozenset(_bracketed(name.casefold()) for name in (self.host, public) if name)
        return names | (LOOPBACK if is_local(self.host) else frozenset())

    @property
    def _url(self) -> SplitResult:
        try:
            return urlsplit(self.public_url)
        except ValueError:
            return urlsplit("")

    def base(self, port: int) -> str:
        """The address of the server, for the port that was taken."""
        return self.public_url.rstrip("/") or f"http://{_bracketed(self.host)}:{port}"

    def visitor(self, peer: str, forwarded: str) -> str:
        """The address of a visitor, from that of the peer and the header X-Forwarded-For; empty if it is unknown.

        The header is believed only of a proxy on this machine, and of it only the last address, which the proxy added.
        """
        if not self.public_url:
            return peer
        try:
            return str(ip_address(forwarded.rpartition(",")[2].strip())) if is_local(peer) else ""
        except ValueError:
            return ""

    def check(self, design: StudyDesign) -> None:
        """Raises SnellenError if the study must not be served here."""
        if problem := next(self._problems(design), ""):
            raise SnellenError(problem)

    def _problems(self, design: StudyDesign) -> Iterator[str]:
        url = self._url
        if self.public_url and (url.scheme not in ("http", "https") or not url.hostname):
            yield f"--public-url {self.public_url}: no address of a site; give one like https://study.example"
        if url.scheme == "http" and not is_local(url.hostname or ""):
            yield f"--public-url {self.public_url}: answers would travel unencrypted; give an https:// address ({PAGE})"
        if self.framed_by and not re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?", self.framed_by):
            yield f"--framed-by {self.framed_by}: no site; give one like https://panel.example, without a path"
        if not is_local(self.host) and url.scheme != "https":
            yield f"--host {self.host}: answers would travel unencrypted; give the --public-url of a TLS proxy ({PAGE})"
        missing = [name for name in ("consent", *CONSENT_FIELDS) if not getattr(design.texts, name)]
        if missing and design.kind == "study" and self.is_public:
            lacks = f"the texts of the design lack {', '.join(missing)}"
            yield f"{self.base(self.port)}: {lacks}; people elsewhere must read them: build again (docs/people.md)"


LOCAL = StudySite()


def is_local(host: str) -> bool:
    """True for the names and addresses by which a machine reaches itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def host_name(header: str) -> str:
    """The name in the header Host, without its port."""
    return re.sub(r":\d*$", "", header).casefold()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
