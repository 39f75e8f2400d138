"""The page says under which policy the server processes had their memory, and on which nodes it was."""

from msgspec.structs import replace

from dbcpu.record.rounds import NodeMemory, RunRecord, Session
from dbcpu.reports.documents.environment import environment
from support.builders.record import record, round_of, session, solos

GIB = 2**30


def bound(policy: str | None, *bytes_on: int) -> Session:
    memory = tuple(NodeMemory(node, held) for node, held in enumerate(bytes_on))
    return replace(session(0), memory_policy=policy, node_memory=memory)


def told(run: RunRecord) -> dict[str, str]:
    return {name: text for name, text in environment(run)[1].pairs if name.startswith("server processes' memory")}


def test_each_variant_has_its_policy_and_the_shares_of_the_nodes() -> None:
    rounds = [
        round_of([bound("default", 3 * GIB, GIB)]),
        replace(round_of([bound("bind:1", 0, GIB)], order=1), variant="memory:1"),
        replace(round_of([bound("bind:1", 0, 2 * GIB)], repeat=1, order=2), variant="memory:1"),
    ]
    assert told(record(rounds)) == {
        "server processes' memory, baseline": "policy default; 75 % on node 0, 25 % on node 1",
        "server processes' memory, memory:1": "policy bind:1; 0 % on node 0, 100 % on node 1",
    }


def test_policies_that_differ_are_counted_and_memory_that_is_not_known_is_said() -> None:
    rounds = [round_of([bound("default"), bound("default"), bound("interleave:0-1")])]
    assert told(record(rounds)) == {
        "server processes' memory": "policy default (2 of 3 sessions), policy interleave:0-1 (1 of 3 sessions); "
        "how much on each node is not known"
    }


def test_a_host_with_one_node_has_no_such_line() -> None:
    assert told(record(solos())) == {}
