"""Who wants to hear of which changes: subscriptions by bucket and namespace, so that a batch asks only those concerned."""

from collections.abc import Sequence

from tiphys.store.interface import Event, Watcher

_Key = tuple[str, str]
_EVERYTHING: _Key = ("", "")


class _Subscription:
    __slots__ = ("_key", "_watchers", "deliver", "reached")

    def __init__(self, watchers: "Watchers", key: _Key, reached: int, deliver: Watcher) -> None:
        self._watchers = watchers
        self._key = key
        self.reached = reached
        self.deliver = deliver

    def close(self) -> None:
        self._watchers.remove(self._key, self)


class Watchers:
    __slots__ = ("_subscriptions",)

    def __init__(self) -> None:
        self._subscriptions: dict[_Key, dict[_Subscription, None]] = {}

    def add(self, bucket: str, namespace: str, reached: int, deliver: Watcher) -> _Subscription:
        """`reached`: the revision up to which this watcher has already been told."""
        key = (bucket, namespace) if bucket else _EVERYTHING
        subscription = _Subscription(self, key, reached, deliver)
        self._subscriptions.setdefault(key, {})[subscription] = None
        return subscription

    def remove(self, key: _Key, subscription: _Subscription) -> None:
        group = self._subscriptions.get(key)
        if group is not None and group.pop(subscription, 0) is None and not group:
            del self._subscriptions[key]

    def publish(self, events: Sequence[Event], revision: int) -> None:
        """Hand a committed batch, which ends at `revision`, to everyone who asked for some of it."""
        subscriptions = self._subscriptions
        if not subscriptions:
            return
        wanted: dict[_Key, list[Event]] = {}
        for event in events:
            bucket, namespace = event.record.bucket, event.record.namespace
            keys = (_EVERYTHING, (bucket, ""), (bucket, namespace)) if namespace else (_EVERYTHING, (bucket, ""))
            for key in keys:
                if key in subscriptions:
                    wanted.setdefault(key, []).append(event)
        for key, batch in wanted.items():
            # A copy, since a watcher may close itself, or open another, while it is told. One that was opened meanwhile has
            # found this batch in the past already; one that was closed meanwhile must not be called again.
            group = subscriptions.get(key, {})
            for subscription in tuple(group):
                if subscription.reached < revision and subscription in group:
                    subscription.reached = revision
                    subscription.deliver(batch, revision)
