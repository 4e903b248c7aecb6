"""Identities, impersonation, odd paths, escalation, bindings and reviews over HTTP, as a live v1.36.4 kube-apiserver answers.

`requests.jsonl` has one request and its answer a line, in the order in which they were made: later ones build on earlier ones.
`rules.jsonl` gives roles, and then has what SelfSubjectRulesReview (`kubectl auth can-i --list`) tells several users.
"""

from pathlib import Path

import orjson
import pytest


def recorded(name):
    return [orjson.loads(line) for line in Path(__file__).with_name(name).read_bytes().splitlines()]


CASES, RULES = recorded("requests.jsonl"), recorded("rules.jsonl")

# Where we answer differently, and why.
DIFFERENT = {
    # A path that cannot be understood is the client's fault.
    "/api/v1/watch": 400,
    # An empty namespace in the path leads nowhere; upstream's router takes it for all of them.
    "/api/v1/namespaces//pods": 404,
}


def shown(status, body):
    """What is compared: upstream's pages that are not Status objects count by their code alone."""
    if not isinstance(body, dict):
        return {"status": status}
    if body.get("kind") == "Status":
        return {"status": status, "reason": body.get("reason", ""), "message": body.get("message", "")}
    if str(body.get("kind", "")).endswith("Review"):
        return {"status": status, "answer": body.get("status")}
    return {"status": status}


async def all_of_them(served):
    wrong = []
    for case in CASES:
        asked = {key: case[key] for key in ("token", "method", "headers", "body") if key in case}
        status, body = await served.ask(case["path"], **asked)
        wanted, got = case["answer"], shown(status, body)
        if wanted["status"] < 400 or "text" in wanted:
            wanted = {key: value for key, value in wanted.items() if key != "text"}
        if "reason" not in wanted and "answer" not in wanted:
            got = {"status": got["status"]}
        if got != wanted and status != DIFFERENT.get(case["path"]):
            wrong.append((case, got))
    return wrong


def test_as_upstream_answers(with_server):
    assert len(CASES) > 250
    assert with_server(all_of_them) == []


def unordered(status):
    """Upstream lists rules in the order in which its cache happens to have the bindings."""
    listed = ("resourceRules", "nonResourceRules")
    return {**status, **{name: sorted(orjson.dumps(rule) for rule in status.get(name) or ()) for name in listed}}


async def told_rules(served):
    wrong = []
    for case in RULES:
        asked = {key: case[key] for key in ("token", "method", "headers", "body") if key in case}
        status, body = await served.ask(case["path"], **asked)
        assert status == case["answer"]["status"]
        wanted = case["answer"].get("answer")
        if wanted is not None and unordered(body["status"]) != unordered(wanted):
            wrong.append((case, body["status"]))
    return wrong


@pytest.mark.differs(
    "lists the rules of a SelfSubjectRulesReview in the order in which its cache happens to have the bindings.",
    "they come in another order; the rules are the same.",
)
def test_rules_are_told_as_upstream_tells_them(with_server):
    assert sum("answer" in case["answer"] for case in RULES) == 18
    assert with_server(told_rules) == []
