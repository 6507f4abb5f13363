"""Where a study is served: on this machine alone, or beyond it with TLS and a complete page of consent."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from snellen.core.errors import SnellenError
from snellen.web.design import CONSENT_FIELDS, StudyDesign

LOOPBACK = frozenset(["localhost", "127.0.0.1", "[::1]"])
PAGE = "docs/serving.md"


@dataclass(frozen=True)
class StudySite:
    """The address that listens, and the `public_url` by which participants reach it.

    With a `certificate` and its `key` the server does TLS; otherwise a public URL is that of a proxy on its behalf.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str = ""
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_forwarded(self) -> bool:
        """True if requests come from a proxy."""
        return bool(self.public_url) and not self.certificate

    @property
    def is_public(self) -> bool:
        """True if participants reach it from other machines."""
        return not (is_local(self.host) and is_local(self._url.hostname or self.host))

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which requests may call the server (their header Host), without ports."""
        names = frozenset(_bracketed(name.casefold()) for name in (self.host, self._url.hostname) if name)
        return names | (LOOPBACK if is_local(self.host) else frozenset())

    @property
    def _url(self) -> SplitResult:
        try:
            return urlsplit(self.public_url)
        except ValueError:
            return urlsplit("")

    def base(self, port: int) -> str:
        """The address of the server, for the port that was taken."""
        own = f"{'https' if self.certificate else 'http'}://{_bracketed(self.host)}:{port}"
        return self.public_url.rstrip("/") or own

    def visitor(self, peer: str, forwarded: str) -> str:
        """The address of a visitor, from that of the peer and the header X-Forwarded-For; empty if it is unknown.

        The header is believed only of a proxy on this machine, and of it only the last address, which the proxy added.
        """
        if not self.is_forwarded:
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
        url, pair = self._url, f"--certificate {self.certificate or 'FILE'} --key {self.key or 'FILE'}"
        if self.public_url and (url.scheme not in ("http", "https") or not url.hostname):
            yield f"--public-url {self.public_url}: no address of a site; give one like https://study.example"
        if url.scheme == "http" and (self.certificate or not is_local(url.hostname or "")):
            yield f"--public-url {self.public_url}: answers would travel unencrypted; give an https:// address ({PAGE})"
        if self.certificate or self.key:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate or "", self.key or "")
            except OSError as error:
                yield f"{pair}: not usable ({error.strerror}); give a certificate and its key, both as PEM"
        elif not is_local(self.host) and url.scheme != "https":
            yield f"--host {self.host}: answers would travel unencrypted; give the --public-url of a TLS proxy ({PAGE})"
        if self.host in ("0.0.0.0", "::") and not self.public_url:
            yield f"--host {self.host}: this is no name for links; give that of the certificate by --public-url https://…"
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
