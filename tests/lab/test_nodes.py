"""Where memory and interrupts were in a guest with two memory nodes, in a record of ``python -m guest --nodes``."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from dbcpu.record.rounds import NodeMemory, Round, RunRecord, Session
from dbcpu.store import record_file
from guest.two_nodes import complaints, shares_of
from lab.emulated import PACED

RECORD = record_file.read(PACED / "nodes.json.gz")
TOLD = (PACED / "nodes.txt").read_text("utf-8")


def sessions(variant: str) -> list[Session]:
    return [one for each in RECORD.rounds if each.variant == variant for one in each.sessions]


def test_nodes_policies_and_interrupts_were_as_asked_and_put_back() -> None:
    assert complaints(RECORD, TOLD) == []


@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.parametrize("kind", ["memory", "node"])
def test_bound_memory_is_on_that_node_by_the_kernels_count(kind: str, node: int) -> None:
    found = sessions(f"{kind}:{node}")
    assert len(found) >= 6
    assert {one.memory_policy for one in found} == {f"bind:{node}"}
    assert min(shares_of(one)[node] for one in found) >= 0.99


def test_interleaved_memory_is_on_both_nodes() -> None:
    found = sessions("memory:interleave")
    assert len(found) >= 6
    assert all(0.3 <= shares_of(one)[node] <= 0.7 for one in found for node in (0, 1))


def test_the_host_has_its_distances_and_free_memory() -> None:
    assert RECORD.header.host is not None
    facts = RECORD.header.host.facts
    assert facts["node_distances"] == "10 21; 21 10"
    assert all(0.5 < float(each.removesuffix(" GiB")) < 1.5 for each in facts["node_free_memory"].split(", "))


def changed(variant: str, change: Callable[[Session], Session]) -> RunRecord:
    """The record with the sessions of a variant changed."""

    def of(each: Round) -> Round:
        return replace(each, sessions=tuple(change(one) for one in each.sessions)) if each.variant == variant else each

    return replace(RECORD, rounds=tuple(of(each) for each in RECORD.rounds))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (changed("memory:1", lambda one: replace(one, node_memory=(NodeMemory(0, 9), NodeMemory(1, 9)))), "by node"),
        (changed("memory:interleave", lambda one: replace(one, node_memory=(NodeMemory(0, 9),))), "by node"),
        (changed("memory:0", lambda one: replace(one, node_memory=())), "not counted"),
        (changed("node:1", lambda one: replace(one, memory_policy="default")), "policy default"),
        (changed("node:1", lambda one: replace(one, memory_nodes=(0, 1))), "memory from nodes"),
        (changed("irq:away", lambda one: replace(one, allowed_cpus=(0, 1))), "CPUs (0, 1)"),
        (replace(RECORD, rounds=()), "no round of"),
    ],
    ids=["half elsewhere", "not interleaved", "not counted", "no policy", "all nodes", "its CPUs", "no rounds"],
)
def test_memory_elsewhere_is_complained_of(record: RunRecord, said: str) -> None:
    assert any(said in each for each in complaints(record, TOLD))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("afterwards: 0 interrupts", "afterwards: 3 interrupts"),
        ("after guard: 0 interrupts moved, journals 0", "after guard: 0 interrupts moved, journals 1"),
        ("after restore: 0 interrupts", "after restore: 1 interrupts"),
        ("vary: exit 0", "vary: exit 3"),
        ("policy: default", "policy: bind"),
        ("killed at changed", "not killed at changed"),
    ],
)
def test_what_was_left_behind_is_complained_of(before: str, after: str) -> None:
    assert before in TOLD
    assert complaints(RECORD, TOLD.replace(before, after)) != []
