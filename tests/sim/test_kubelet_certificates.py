"""A kubelet's certificates over their years: asked for, signed by somebody, and renewed before they end."""

import asyncio
import itertools
import random

import pytest
from tests.cluster import simulate
from tests.csr_signer import sign_all

from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from tiphys.apiserver.authn.user import User
from tiphys.base import tls, tls_requests
from tiphys.base.tasks import cancel, start
from tiphys.kubelet.certificates import wish
from tiphys.kubelet.certificates.files import Store
from tiphys.kubelet.certificates.manager import Manager, ask

NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))
DAY = 86400.0


def test_a_certificate_is_renewed_before_it_ends_and_when_the_node_moves(tmp_path):
    async def scenario(cluster):
        client, clock = cluster.client(NODE, "kubelet"), cluster.clock
        authority = tls.make_authority("ca", now=clock.now())
        addresses, taken = ["10.0.0.1"], []
        manager = Manager(
            client,
            lambda: wish.serving("n1", ["n1", *addresses]),
            Store(tmp_path, "kubelet-server"),
            clock,
            cluster.log,
            random.Random(1).random,
            lambda pair: taken.append((clock.now(), tls_requests.said_by(pair.certificate))),
        )

        async def sign():
            while True:
                await sign_all(cluster.admin, authority, clock.now(), DAY)
                await clock.sleep(300)

        async with asyncio.TaskGroup() as group:
            running = [await start(group, manager.run, name="manager"), group.create_task(sign())]
            began = clock.now()
            await clock.sleep(4 * DAY)
            assert len(taken) in (5, 6)
            for (_, one), (at, other) in itertools.pairwise(taken):
                assert 0.69 * DAY < at - one.begins < 0.91 * DAY
                assert other.begins < one.ends
            assert taken[0][0] - began < 600
            addresses.append("10.0.0.2")
            before = len(taken)
            await clock.sleep(900)
            assert "10.0.0.2" in taken[-1][1].names
            assert len(taken) == before + 1
            assert tls_requests.said_by(Store(tmp_path, "kubelet-server").load().certificate) == taken[-1][1]
            for each in running:
                await cancel(each)

    simulate(scenario)


def test_a_denied_request_ends_in_the_words_of_who_denied_it():
    async def scenario(cluster):
        clock, wanted = cluster.clock, wish.client("n1")
        authority = tls.make_authority("ca", now=clock.now())
        key = tls_requests.new_key()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(_refused(ask(cluster.client(NODE, "kubelet"), wanted, key, clock, name="mine")))
            await clock.sleep(1)
            await sign_all(cluster.admin, authority, clock.now(), DAY, deny=[wish.CLIENT_SIGNER])
            assert "certificate signing request mine is denied, reason: Test, message: by a test" in await asking

    async def _refused(work):
        with pytest.raises(wish.Rejected) as refused:
            await work
        return str(refused.value)

    simulate(scenario)


def test_a_request_that_was_made_before_a_restart_is_taken_up_again():
    async def scenario(cluster):
        client, clock, wanted = cluster.client(NODE, "kubelet"), cluster.clock, wish.client("n1")
        authority = tls.make_authority("ca", now=clock.now())
        key = tls_requests.new_key()
        with pytest.raises(TimeoutError):
            await ask(client, wanted, key, clock, name="mine", wait=10)
        await sign_all(cluster.admin, authority, clock.now(), DAY)
        said = tls_requests.said_by(await ask(client, wanted, key, clock, name="mine", wait=10))
        assert said.subject == wanted.subject
        assert len(await cluster.list(CERTIFICATE_SIGNING_REQUESTS)) == 1

    simulate(scenario)
