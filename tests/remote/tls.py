"""A TLS proxy with a certificate authority of its own, in front of a real server."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "localhost"


def certificates(folder: Path) -> tuple[Path, Path]:
    """An authority's certificate, and the key and certificate of `localhost` that it signed."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = _signed("Clew test authority", authority, "Clew test authority", authority, is_authority=True)
    leaf = _signed(HOST, own, "Clew test authority", authority, is_authority=False)
    pem = serialization.Encoding.PEM
    key = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "ca.pem").write_bytes(root.public_bytes(pem))
    (folder / "server.pem").write_bytes(key + leaf.public_bytes(pem))
    return folder / "ca.pem", folder / "server.pem"


def _signed(
    name: str, key: ec.EllipticCurvePrivateKey, by: str, by_key: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, by)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by_key.public_key()), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return made.sign(by_key, hashes.SHA256())


class TlsProxy:
    """Passes bytes on to an address; `cut` refuses everybody from then on, as a server that is down.

    Of the answers that come, `passing` arrive and the `lost` after them do not.
    """

    def __init__(self, target: str, certificate: Path) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname, parts.port)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate)
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self.is_cut = False
        self.passing = self.lost = 0
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "localhost", 0, ssl=self._context))
        self.address = f"https://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def _run(self, work: Coroutine[Any, Any, asyncio.Server]) -> asyncio.Server:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        with suppress(asyncio.CancelledError):
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer, is_answer=True))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_answer: bool = False) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if is_answer and self._loses():
                    writer.transport.abort()
                    break
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()

    def _loses(self) -> bool:
        if self.passing:
            self.passing -= 1
            return False
        was_lost = self.lost > 0
        self.lost -= was_lost
        return was_lost

    def cut(self) -> None:
        self.is_cut = True
        for writer in list(self._writers):
            self._loop.call_soon_threadsafe(writer.transport.abort)

    def fix(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self.cut()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


@contextmanager
def tls_proxy(target: str, folder: Path) -> Iterator[tuple[TlsProxy, Path]]:
    authority, certificate = certificates(folder)
    proxy = TlsProxy(target, certificate)
    try:
        yield proxy, authority
    finally:
        proxy.close()
