"""Certificates of a cluster: made, kept, renewed, shown."""

from asyncio import run

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.log import Log, Logger
from tiphys.base.tls import Subject
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.cmd import certificates, certs_command, kubeconfig_command, kubeconfigs
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.renewal import keep_renewed
from tiphys.cmd.watched_files import WatchedFiles

DAY = 86400.0
START = RealClock().now()


class At(RealClock):
    def __init__(self, now):
        self._now = now

    def now(self):
        return self._now


@pytest.fixture
def data(tmp_path):
    made = DataDirectory(tmp_path / "d")
    made.prepare()
    return made


def ends(data, name):
    return tls.expires_at((data.pki / f"{name}.crt").read_bytes())


def test_what_is_good_stays_and_what_ends_soon_is_renewed(data):
    first = certificates.ensure(data.pki, ["10.0.0.1"], At(START))
    assert certificates.ensure(data.pki, ["10.0.0.1"], At(START + 300 * DAY)) == first
    later = certificates.ensure(data.pki, ["10.0.0.1"], At(START + 340 * DAY))
    assert later.authority == first.authority
    assert later.signing_key == first.signing_key
    for name in ("serving", "admin", "front_proxy", "kubelet_client"):
        assert getattr(later, name) != getattr(first, name)
    assert ends(data, "apiserver") > START + 700 * DAY


def test_a_new_address_makes_a_new_serving_certificate_and_no_other(data):
    first = certificates.ensure(data.pki, ["10.0.0.1"], At(START))
    second = certificates.ensure(data.pki, ["10.0.0.2"], At(START))
    assert second.serving != first.serving
    assert second.admin == first.admin


@pytest.mark.parametrize("missing", ["ca.crt", "ca.key", "front-proxy-ca.crt"])
def test_half_an_authority_is_not_replaced(data, missing):
    """Everybody who trusts the old one would be shut out."""
    certificates.ensure(data.pki, [], At(START))
    (data.pki / missing).unlink()
    with pytest.raises(Unusable, match=rf"are damaged: {missing} is missing"):
        certificates.ensure(data.pki, [], At(START))


def test_a_new_authority_signs_all_that_is_its_own(data):
    first = certificates.ensure(data.pki, [], At(START))
    for name in ("ca.crt", "ca.key"):
        (data.pki / name).unlink()
    second = certificates.ensure(data.pki, [], At(START))
    assert second.authority != first.authority
    for name in ("serving", "admin", "kubelet_client"):
        assert tls.issued_by(tls.der_of(getattr(second, name).certificate), second.authority.certificate)
    assert second.front_proxy == first.front_proxy


def test_keys_are_their_owners_alone(data):
    certificates.ensure(data.pki, [], At(START))
    for key in data.pki.glob("*.key"):
        assert key.stat().st_mode & 0o777 == 0o600


def test_renewing_keeps_authority_subject_and_hosts(data):
    certificates.ensure(data.pki, ["10.0.0.1"], At(START))
    before = x509.load_pem_x509_certificate((data.pki / "apiserver.crt").read_bytes())
    renewed = certificates.renew(data.pki, ["apiserver"], At(START + DAY))
    after = x509.load_pem_x509_certificate((data.pki / "apiserver.crt").read_bytes())
    assert [leaf.name for leaf in renewed] == ["apiserver"]
    assert after.subject == before.subject
    assert after.issuer == before.issuer
    names = x509.SubjectAlternativeName
    assert after.extensions.get_extension_for_class(names) == before.extensions.get_extension_for_class(names)
    assert after.serial_number != before.serial_number


def test_there_is_no_other_to_renew(data):
    certificates.ensure(data.pki, [], At(START))
    with pytest.raises(Unusable, match="there is no certificate ca to renew"):
        certificates.renew(data.pki, ["ca"], At(START))


def started(data):
    """As after a first `tiphys up`."""
    made = certificates.ensure(data.pki, [], RealClock())
    access = Access("https://127.0.0.1:6443", made.authority.certificate, made.admin)
    data.kubeconfig.write_bytes(kubeconfig.render(kubeconfig.context_of("tiphys", access)))
    return made


def test_check_shows_every_certificate(data, capsys):
    started(data)
    assert certs_command.main("certs", ["--data-dir", str(data.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "CERTIFICATE",
        "ca",
        "front-proxy-ca",
        "apiserver",
        "admin",
        "front-proxy",
        "apiserver-kubelet-client",
    ]
    assert all(line.endswith("0600") for line in lines[1:])
    assert "O=system:masters,CN=kubernetes-admin" in lines[4]


def test_check_tells_what_is_wrong(data, capsys):
    started(data)
    (data.pki / "admin.key").chmod(0o644)
    (data.pki / "apiserver.crt").write_text("junk")
    tls.save(
        tls.issue(tls.load(*certificates.files(data.pki, "ca")), Subject("old"), ["client"], now=START - 99 * DAY, days=9),
        *certificates.files(data.pki, "front-proxy"),
    )
    assert certs_command.main("certs", ["check", "--data-dir", str(data.path)]) == 1
    told = capsys.readouterr().out
    assert "admin.key can be read by others" in told
    assert "apiserver.crt cannot be read" in told
    assert "front-proxy.crt has expired" in told


def test_a_renewed_administrator_is_in_the_kubeconfigs(data, tmp_path):
    made, theirs = started(data), tmp_path / "config"
    kubeconfig.merge_context(theirs, "tiphys", kubeconfigs.access_of(data))
    data.note_merged(theirs, "tiphys")
    assert certs_command.main("certs", ["renew", "--data-dir", str(data.path)]) == 0
    for file in (data.kubeconfig, theirs):
        access = kubeconfig.resolve(kubeconfig.load([file]))
        assert access.pair.certificate == (data.pki / "admin.crt").read_bytes() != made.admin.certificate
    assert data.kubeconfig.stat().st_mode & 0o777 == 0o600


def test_a_kubeconfig_of_a_user(data, tmp_path):
    made, file = started(data), tmp_path / "alice"
    arguments = ["--user", "alice", "--group", "devs", "--group", "ops", "--namespace", "team", "--duration", "48h"]
    assert kubeconfig_command.main("kubeconfig", [*arguments, "-o", str(file), "--data-dir", str(data.path)]) == 0
    access = kubeconfig.resolve(kubeconfig.load([file]))
    certificate = x509.load_pem_x509_certificate(access.pair.certificate)
    assert (access.server, access.namespace) == ("https://127.0.0.1:6443", "team")
    assert tls.issued_by(certificate.public_bytes(Encoding.DER), made.authority.certificate)
    assert certificate.subject.rfc4514_string() == "CN=alice,O=ops,O=devs"
    # Given for 48 hours from a moment between this module's start and now.
    ends = certificate.not_valid_after_utc.timestamp() - 2 * DAY
    assert START - 1 <= ends <= RealClock().now()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_kubeconfig_is_no_ones_but_the_clusters(data):
    with pytest.raises(Unusable, match="no cluster has run"):
        kubeconfig_command.main("kubeconfig", ["--user", "a", "--data-dir", str(data.path)])


def test_files_are_taken_when_they_change_and_old_content_stays_where_new_is_bad(tmp_path):
    one, two, taken = tmp_path / "one", tmp_path / "two", []

    def take(content):
        if b"bad" in content:
            raise ValueError("it is bad")
        taken.append(list(content))

    one.write_text("1")
    two.write_text("2")
    watched = WatchedFiles((one, two), take)
    assert watched.look() is None
    two.write_text("twenty-two")
    assert watched.look() == ""
    assert watched.look() is None
    one.unlink()
    assert watched.look() is None
    one.write_text("bad")
    assert watched.look() == "it is bad"
    one.write_text("good now")
    assert watched.look() == ""
    assert taken == [[b"1", b"twenty-two"], [b"good now", b"twenty-two"]]


class Passing(RealClock):
    """Time that passes by sleeping, up to an end."""

    def __init__(self, days):
        self._now, self._end = START, START + days * DAY

    def now(self):
        return self._now

    async def sleep(self, seconds):
        self._now += seconds
        if self._now > self._end:
            raise TimeoutError


def test_a_cluster_that_runs_for_a_year_never_shows_an_old_certificate(data):
    clock, lines, changes = Passing(345), [], []
    made = certificates.ensure(data.pki, [], clock)

    def changed(renewed):
        assert tls.expires_at(renewed.serving.certificate) > clock.now() + 300 * DAY
        changes.append(round((clock.now() - START) / DAY))

    with pytest.raises(TimeoutError):
        run(keep_renewed(data.pki, [], made, clock, Logger(Log(lines.append), "certificates", {}), changed))
    assert changes == pytest.approx([335], abs=1)
    assert len(lines) == 1
