"""A server in this process: the verbs, admission and a store, without HTTP, authentication or TLS."""

import asyncio
import inspect
import itertools
import random

import pytest

from tiphys.api.registry import KINDS
from tiphys.apiserver.admission.chain import Chain
from tiphys.apiserver.admission.configuration import Configuration
from tiphys.apiserver.admission.registry import AdmissionSettings, Parts, plugins
from tiphys.apiserver.allocation.hooks import WriteHooks
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.always import AlwaysAllow
from tiphys.apiserver.call import Backend
from tiphys.apiserver.catalogue import Catalogue
from tiphys.apiserver.definitions import definitions
from tiphys.apiserver.local_client import LocalClient
from tiphys.apiserver.lookup import Lookup
from tiphys.apiserver.pipeline import Pipeline
from tiphys.apiserver.watch_cache import WatchCaches
from tiphys.base.metrics import Registry
from tiphys.machinery import tree
from tiphys.machinery.errors import ApiError
from tiphys.machinery.schema import Schemas
from tiphys.store.memory import MemoryStore

ADMIN = User("admin", ("system:masters", "system:authenticated"))


def pytest_pyfunc_call(pyfuncitem):
    """Tests that are coroutines run in an event loop of their own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


class StandingClock:
    def __init__(self):
        self.time = 1_700_000_000.0

    def now(self):
        return self.time

    def monotonic(self):
        return self.time

    async def sleep(self, seconds):
        self.time += seconds


@pytest.fixture(scope="session")
def catalogue():
    return Catalogue(Schemas(definitions()), KINDS)


class Server:
    """`create` and the others answer with the object, or with the Status of a refusal."""

    def __init__(self, catalogue, store=None, enabled=(), disabled=(), authorizer=None, configuration=None):
        numbers = itertools.count(1)
        self.store = store or MemoryStore()
        self.clock = StandingClock()
        self.lookup = Lookup(self.store)
        authorizer = authorizer or AlwaysAllow()
        new_uid = lambda: f"00000000-0000-0000-0000-{next(numbers):012d}"  # noqa: E731
        settings = AdmissionSettings(tuple(enabled), tuple(disabled), configuration or Configuration())
        chance = random.Random(1)
        parts = Parts(
            self.store, self.lookup, chance.choice, new_uid, authorizer, catalogue, settings.configuration, self.clock
        )
        self.plugins = plugins(parts, settings)
        backend = Backend(
            store=self.store,
            catalogue=catalogue,
            admission=Chain(self.plugins),
            clock=self.clock,
            watches=WatchCaches(Registry()),
            hooks=WriteHooks({}),
            authorizer=authorizer,
            identity=None,
            tokens=None,
            remote=None,
            scraper=None,
            new_uid=new_uid,
            choose=chance.choice,
            chance=chance.random,
        )
        self.catalogue = catalogue
        self.pipeline = Pipeline(backend, None, None, None, None, None, None)

    def kind(self, plural, group=""):
        return self.catalogue.by_resource(group, plural).kind

    def client(self, user):
        return LocalClient(self.pipeline, user, "tests")

    async def namespace(self, name, labels=None, annotations=None):
        metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
        await self.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
        await self.create("serviceaccounts", account)

    async def create(self, plural, obj, group="", user=ADMIN, **more):
        return await _answer(self.client(user).create(self.kind(plural, group), tree.copy(obj), **more))

    async def update(self, plural, obj, group="", user=ADMIN, **more):
        return await _answer(self.client(user).update(self.kind(plural, group), tree.copy(obj), **more))

    async def patch(self, plural, name, patch, namespace="", group="", user=ADMIN, **more):
        return await _answer(self.client(user).patch(self.kind(plural, group), name, patch, namespace, **more))

    async def delete(self, plural, name, namespace="", group="", user=ADMIN):
        return await _answer(self.client(user).delete(self.kind(plural, group), name, namespace))

    async def get(self, plural, name, namespace="", group=""):
        return await _answer(self.client(ADMIN).get(self.kind(plural, group), name, namespace))


async def _answer(waiting):
    try:
        return await waiting
    except ApiError as refusal:
        return refusal.to_status()


@pytest.fixture
def serve(catalogue):
    """Makes servers: `serve(enabled=("NodeRestriction",))`."""
    return lambda **given: Server(catalogue, **given)


@pytest.fixture
def make_pod():
    def make(name="p", namespace="t", container=None, **spec):
        metadata = {"name": name, "namespace": namespace, **spec.pop("metadata", {})}
        containers = spec.pop("containers", [{"name": "c", "image": "nginx", **(container or {})}])
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}

    return make
