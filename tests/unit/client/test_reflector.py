"""The reflector's decisions. v1.36.4 client-go/tools/cache/reflector.go: backoff 0.8 s to 30 s, watch lists with a fallback."""

from tiphys.client.interface import Watched
from tiphys.client.reflector import (
    Apply,
    Ended,
    List,
    Page,
    Phase,
    Received,
    Replace,
    Started,
    State,
    Wait,
    Waited,
    Watch,
    step,
)
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError, Details


def obj(name, revision):
    return {"metadata": {"name": name, "resourceVersion": str(revision)}}


def bookmark(revision, *, initial=False):
    found = obj("", revision)
    if initial:
        found["metadata"]["annotations"] = {"k8s.io/initial-events-end": "true"}
    return Received(Watched("BOOKMARK", found))


def play(*events, state=None, now=0.0):
    state = state or State()
    done = []
    for event in events:
        state, instructions = step(state, event, now)
        done += instructions
    return state, done


def test_the_list_is_streamed_and_the_same_watch_goes_on():
    state, done = play(
        Started(),
        Received(Watched("ADDED", obj("a", 3))),
        Received(Watched("ADDED", obj("b", 4))),
        bookmark(7, initial=True),
        Received(Watched("MODIFIED", obj("a", 8))),
    )
    assert [type(each) for each in done] == [Watch, Replace, Apply]
    assert done[0].params["sendInitialEvents"] == "true"
    assert ([each["metadata"]["name"] for each in done[1].items], done[1].revision) == (["a", "b"], 7)
    assert (state.phase, state.revision) == (Phase.WATCHING, "8")


def test_a_server_that_cannot_stream_is_listed_by_pages():
    state, done = play(
        Started(),
        Ended(ApiError(422, "Invalid", "sendInitialEvents: Forbidden")),
        Page([obj("a", 1)], "9", "next"),
        Page([obj("b", 2)], "9"),
    )
    assert [type(each) for each in done] == [Watch, List, List, Replace, Watch]
    assert done[2].params["continue"] == "next"
    assert len(done[3].items) == 2
    assert done[4].params["resourceVersion"] == "9"
    assert not state.can_stream


def test_a_watch_that_ends_is_resumed_where_it_was():
    watching, _ = play(Started(), bookmark(7, initial=True), bookmark(9))
    _, done = play(Ended(), state=watching)
    assert done == [Watch({"resourceVersion": "9", "allowWatchBookmarks": "true"})]


def test_what_is_too_old_starts_over_at_once_and_then_waits():
    watching, _ = play(Started(), bookmark(7, initial=True))
    state, done = play(Ended(errors.expired("too old")), state=watching)
    assert done[0].params["sendInitialEvents"] == "true"
    _, done = play(Ended(errors.expired("too old")), state=state)
    assert isinstance(done[0], Wait)


def test_failures_wait_longer_and_longer_and_are_forgiven():
    state, delays = State(), []
    for _ in range(7):
        state, done = step(state, Ended(ConnectionError("refused")), 0.0)
        delays.append(done[0].seconds)
        state, _ = step(state, Waited(), 0.0)
    assert delays == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]
    _, done = step(state, Ended(ConnectionError("refused")), 121.0)
    assert done == (Wait(0.8),)


def test_a_server_that_went_back_in_time_is_read_anew():
    watching, _ = play(Started(), bookmark(70, initial=True))
    cause = {"reason": "ResourceVersionTooLarge"}
    waiting, _ = play(Ended(ApiError(504, "Timeout", "Too large", Details(causes=(cause,)))), state=watching)
    _, done = play(Waited(), state=waiting)
    assert done[0].params["sendInitialEvents"] == "true"
