"""Who leads. v1.36.4 client-go/tools/leaderelection/leaderelection.go: a lease counts as dead by the observer's own clock."""

from tiphys.client.election import Candidate, Seen, claim, leads, look, released

ME = Candidate("lock", "kube-system", "me")
YOU = Candidate("lock", "kube-system", "you")


def test_the_first_creates_the_lease_and_keeps_it():
    lease = claim(ME, None, Seen(), 1000, 0)
    assert lease is not None
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("me", 0)
    renewed = claim(ME, lease, look(Seen(), lease, 0), 1002, 2)
    assert renewed["spec"]["acquireTime"] == lease["spec"]["acquireTime"]
    assert renewed["spec"]["renewTime"] > lease["spec"]["renewTime"]


def test_another_waits_until_the_lease_has_not_moved_for_its_duration():
    lease = claim(ME, None, Seen(), 1000, 0)
    seen = look(Seen(), lease, 100)
    assert claim(YOU, lease, seen, 9999, 114.9) is None
    renewed = claim(ME, lease, seen, 1002, 0)
    assert claim(YOU, renewed, look(seen, renewed, 114), 9999, 120) is None
    taken = claim(YOU, lease, look(seen, lease, 114), 9999, 115)
    assert taken is not None
    assert (taken["spec"]["holderIdentity"], taken["spec"]["leaseTransitions"]) == ("you", 1)


def test_a_lease_that_was_released_is_free_at_once():
    lease = claim(ME, None, Seen(), 1000, 0)
    assert released(YOU, lease, 1001) is None
    free = released(ME, lease, 1001)
    seen = look(Seen(), free, 0)
    assert not leads(ME, seen)
    assert claim(YOU, free, seen, 1001, 0)["spec"]["holderIdentity"] == "you"
