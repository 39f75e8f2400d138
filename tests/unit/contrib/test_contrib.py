"""The doors beside the fleet's engine: Ansible's role and Kubernetes' jobs parse, and keep what they promise.

``tox -e contrib`` has ansible-lint and the schemas of Kubernetes look at them as well.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from dbcpu.cli import load_command
from dbcpu.config.inventory import read_inventory
from support.paths import ROOT

CONTRIB = ROOT / "contrib"
ROLE = CONTRIB / "ansible" / "roles" / "dbcpu_night"
KUBERNETES = CONTRIB / "kubernetes"


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def _rendered(name: str, **given: Any) -> str:
    """A template of the role with its defaults, as Ansible fills it in."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)  # noqa: S701 - no HTML
    environment.filters.update({"to_json": json.dumps, "quote": shlex.quote})
    values = _yaml(ROLE / "defaults" / "main.yml")
    values |= {"dbcpu_night_target": "old-box", **given}
    return environment.from_string((ROLE / "templates" / name).read_text("utf-8")).render(values)


def _unit(text: str) -> dict[str, list[str]]:
    lines = [line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#")]
    found: dict[str, list[str]] = {}
    for key, _, value in lines:
        found.setdefault(key, []).append(value)
    return found


def _container(spec: dict[str, Any]) -> Any:
    (found,) = spec["template"]["spec"]["containers"]
    return found


@pytest.mark.parametrize("path", sorted(CONTRIB.rglob("*.y*ml")), ids=lambda path: path.name)
def test_every_file_is_yaml(path: Path) -> None:
    assert _yaml(path)


def test_every_variable_of_the_role_is_used_and_has_its_prefix() -> None:
    text = "".join(
        path.read_text("utf-8") for path in ROLE.rglob("*") if path.is_file() and path.parent.name != "defaults"
    )
    defaults = _yaml(ROLE / "defaults" / "main.yml")
    assert [name for name in defaults if not name.startswith("dbcpu_night_") or name not in text] == []


def test_every_file_that_the_role_copies_exists() -> None:
    tasks = _yaml(ROLE / "tasks" / "main.yml")
    for task in tasks:
        if "ansible.builtin.template" in task:
            assert (ROLE / "templates" / task["ansible.builtin.template"]["src"]).is_file()
        if "ansible.builtin.copy" in task:
            below = task["ansible.builtin.copy"]["src"].removeprefix("{{ role_path }}/")
            assert (ROLE / below).resolve() == ROOT / "shell" / "nightly"


def test_the_configuration_of_the_role_is_read_by_dbcpu(tmp_path: Path) -> None:
    file = tmp_path / "dbcpu.toml"
    file.write_text(_rendered("dbcpu.toml.j2", dbcpu_night_password_file="/etc/dbcpu.password"), "utf-8")
    (found,) = read_inventory(file)
    assert (found.name, found.password_file) == ("old-box", "/etc/dbcpu.password")
    assert found.url.startswith("postgresql://")


def test_a_name_with_quotes_is_quoted_everywhere(tmp_path: Path) -> None:
    name = 'a "b"'
    file = tmp_path / "dbcpu.toml"
    file.write_text(_rendered("dbcpu.toml.j2", dbcpu_night_target=name), "utf-8")
    assert [each.name for each in read_inventory(file)] == [name]
    (start,) = _unit(_rendered("dbcpu-nightly.service.j2", dbcpu_night_target=name))["ExecStart"]
    assert shlex.split(start)[-1] == name


def test_the_service_runs_the_nightly_script_with_the_target_and_its_options() -> None:
    options = ["--size", "short"]
    unit = _unit(
        _rendered("dbcpu-nightly.service.j2", dbcpu_night_run_options=options, dbcpu_night_store="postgresql://a@b/c")
    )
    words = shlex.split(unit["ExecStart"][0])
    assert words[0].endswith("/nightly")
    assert words[words.index("old-box") :] == ["old-box", *options]
    assert unit["Type"] == ["oneshot"]
    assert '"DBCPU_STORE=postgresql://a@b/c"' in unit["Environment"]
    assert unit["TimeoutStartSec"] == ["1h"]


def test_a_missed_night_is_not_made_up_for() -> None:
    assert _unit(_rendered("dbcpu-nightly.timer.j2"))["Persistent"] == ["false"]
    cron = _yaml(KUBERNETES / "cronjob.yaml")["spec"]
    assert (cron["concurrencyPolicy"], cron["timeZone"]) == ("Forbid", "Etc/UTC")
    assert cron["startingDeadlineSeconds"] <= 3600


def test_a_scheduler_repeats_no_measurement_on_its_own() -> None:
    job = _yaml(KUBERNETES / "job.yaml")["spec"]
    assert (job["backoffLimit"], job["parallelism"], job["completions"]) == (0, 1, 1)
    assert job["template"]["spec"]["restartPolicy"] == "Never"


def test_night_and_day_are_the_same_job() -> None:
    assert _yaml(KUBERNETES / "cronjob.yaml")["spec"]["jobTemplate"]["spec"] == _yaml(KUBERNETES / "job.yaml")["spec"]


def test_the_job_gives_options_that_run_has() -> None:
    container = _container(_yaml(KUBERNETES / "job.yaml")["spec"])
    run = load_command("run").command
    known = {option for param in run.params for option in param.opts}
    assert container["args"][0] == "run"
    assert {word for word in container["args"] if word.startswith("--")} <= known


def test_no_secret_is_in_a_file_or_an_argument() -> None:
    container = _container(_yaml(KUBERNETES / "job.yaml")["spec"])
    for each in container["env"]:
        if "PASSWORD" in each["name"]:
            assert set(each["valueFrom"]) == {"secretKeyRef"}
    assert not any("password" in word.lower() for word in container["args"])
    for path in CONTRIB.rglob("*"):
        if path.is_file():
            assert "//dbcpu:" not in path.read_text("utf-8")


def test_what_the_job_reads_is_in_the_configuration(tmp_path: Path) -> None:
    data = _yaml(KUBERNETES / "configuration.yaml")["data"]
    container = _container(_yaml(KUBERNETES / "job.yaml")["spec"])
    wanted = {each["valueFrom"]["configMapKeyRef"]["key"] for each in container["env"]
              if "configMapKeyRef" in each.get("valueFrom", {})}  # fmt: skip
    wanted |= {each["subPath"] for each in container["volumeMounts"] if "subPath" in each}
    assert wanted == set(data)
    file = tmp_path / "dbcpu.toml"
    file.write_text(data["dbcpu.toml"], "utf-8")
    assert [each.name for each in read_inventory(file)] == [data["target"]]


def test_the_pod_may_do_no_more_than_it_needs() -> None:
    pod = _yaml(KUBERNETES / "job.yaml")["spec"]["template"]["spec"]
    security = _container(_yaml(KUBERNETES / "job.yaml")["spec"])["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert security == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
    }  # fmt: skip
