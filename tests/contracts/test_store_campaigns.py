"""Campaigns in a store: of two who change one item, or take one lease, only one succeeds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dbcpu.errors import UnknownName, UsageError
from dbcpu.store.campaigns import DONE, PLANNED, RUNNING, STOP, Campaign, CampaignTable, Item, now
from dbcpu.store.database import open_store, upgrade_store

AT_ONCE = 8


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def campaigns(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CampaignTable]:
    url = str(tmp_path / "runs.db") if request.param == "sqlite" else request.getfixturevalue("postgres_database")
    upgrade_store(url)
    with open_store(url) as store:
        store.campaigns.create(
            Campaign("q4", now(), "1.0", "0" * 64, {"options": ["--repeats", "6"]}),
            (Item("b", {"region": "eu"}, "rack"), Item("a")),
        )
        yield store.campaigns


def test_what_was_kept_is_read_in_the_order_of_the_inventory(campaigns: CampaignTable) -> None:
    assert campaigns.items("q4") == (Item("b", {"region": "eu"}, "rack"), Item("a"))
    assert campaigns.load("q4").plan == {"options": ["--repeats", "6"]}
    assert campaigns.items("other") == ()
    with pytest.raises(UnknownName, match="q4"):
        campaigns.load("q5")
    with pytest.raises(UsageError, match="already"):
        campaigns.create(campaigns.load("q4"), (Item("a"),))


def test_of_many_who_start_an_item_one_does(campaigns: CampaignTable) -> None:
    def start(pid: int) -> bool:
        return campaigns.change("q4", "a", was=(PLANNED,), was_pid=0, state=RUNNING, pid=pid, start_ticks=2**40)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        won = list(threads.map(start, range(1, AT_ONCE + 1)))
    assert won.count(True) == 1
    item = campaigns.items("q4")[1]
    assert (item.state, item.pid, item.start_ticks) == (RUNNING, won.index(True) + 1, 2**40)
    assert not campaigns.change("q4", "a", was_pid=99, state=DONE)


def test_a_lease_has_one_owner_until_it_is_over_or_released(campaigns: CampaignTable) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        won = list(threads.map(lambda owner: campaigns.take_lease("q4", f"{owner}", 60), range(AT_ONCE)))
    assert won.count(True) == 1
    owner = str(won.index(True))
    assert campaigns.take_lease("q4", owner, -60)  # renewed, and over at once
    assert campaigns.take_lease("q4", "next", 60)
    assert not campaigns.take_lease("q4", owner, 60)
    assert not campaigns.take_lease("q4", owner, 60, instead_of="somebody")
    assert campaigns.take_lease("q4", "heir", 60, instead_of="next")
    campaigns.release_lease("q4", "next")
    assert campaigns.load("q4").lease_owner == "heir"
    campaigns.release_lease("q4", "heir")
    assert campaigns.load("q4").lease_owner is None


def test_a_wish_to_stop_is_read(campaigns: CampaignTable) -> None:
    campaigns.ask_to_stop("q4", STOP)
    assert campaigns.load("q4").stop == STOP
    with pytest.raises(UnknownName):
        campaigns.ask_to_stop("q5", STOP)
