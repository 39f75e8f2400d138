"""Every recorded host of this folder is read as its .expected file says. A new host is two files, no code."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dbcpu.hosts.recorded import open_host
from dbcpu.hosts.topology import read_host
from hosts.make_hosts import HERE, HOSTS, Files, archive_files, archive_name, describe

ARCHIVES = sorted(HERE.glob("*.tar.gz"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_recorded_host_is_read_as_expected(archive: Path) -> None:
    expected = archive.with_name(archive.name.replace(".tar.gz", ".expected"))
    assert expected.exists(), f"write it with: python tests/hosts/make_hosts.py --expected, and look at {expected.name}"
    assert describe(open_host(str(archive))) == expected.read_text("utf-8")


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_siblings_agree_with_each_other_and_with_the_core_numbers(archive: Path) -> None:
    cpus = {cpu.cpu: cpu for cpu in read_host(open_host(str(archive))).topology.cpus if cpu.online}
    for cpu in cpus.values():
        assert cpu.cpu in cpu.siblings
        assert {cpus[other].core for other in cpu.siblings} == {cpu.core}
        assert {cpus[other].siblings for other in cpu.siblings} == {cpu.siblings}
    cores = [cpu.core for cpu in cpus.values()]
    assert set(cores) == set(range(len(set(cores))))


@pytest.mark.parametrize("make", HOSTS, ids=archive_name)
def test_the_committed_archive_is_what_its_recipe_makes(make: Callable[[], Files]) -> None:
    recorded = open_host(str(HERE / archive_name(make)))
    assert recorded.read("/README").startswith("SYNTHETIC: ")
    assert {path: text.strip() for path, text in recorded._files.items()} == {
        f"/{path}": text.strip() for path, text in archive_files(make).items()
    }
