"""How many licences does this host ask for? Dated rules, read from configuration, applied to plain facts.

The rules are text (TOML), so that another policy or another year is an edit and not a release. Nothing here is
legal advice, and every result carries its date and source.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from dbcpu.analysis.base import Licence
from dbcpu.errors import UsageError
from dbcpu.record import RunRecord
from dbcpu.wording import number

COUNTS = ("vcpus", "cores", "sockets")
_TEXTS = ("name", "applies", "unit", "date", "source")


@dataclass(frozen=True, slots=True)
class Rule:
    """``licences = ceil(count x factor)``; ``models`` are (part of the CPU's name, factor), the first that fits."""

    name: str
    applies: str
    count: str
    factor: float
    unit: str
    date: str
    source: str
    factor_multithreaded: float | None = None
    at_most: int | None = None
    models: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a file, and the sentence that has to stand beside any result."""

    rules: tuple[Rule, ...]
    disclaimer: str


@dataclass(frozen=True, slots=True)
class LicenceFacts:
    """What is counted; None where it is not known, and then rules that count it say nothing."""

    vcpus: int | None
    cores: int | None
    sockets: int | None
    threads_per_core: int | None
    cpu_model: str = ""


def licences(rules: Rules, facts: LicenceFacts) -> tuple[Licence, ...]:
    """What each rule that applies asks for, in the order of the file."""
    found = []
    for rule in rules.rules:
        amount: int | None = getattr(facts, rule.count)
        if amount is None or (rule.at_most is not None and amount > rule.at_most):
            continue
        threaded = rule.factor_multithreaded is not None
        if threaded and facts.threads_per_core is None:
            continue
        factor = _factor(rule, facts)
        asked = math.ceil(amount * factor - 1e-9)
        how = f"{amount} {rule.count} x {number(factor)}"
        found.append(Licence(rule.name, float(asked), rule.unit, how, rule.applies, rule.date, rule.source))
    return tuple(found)


def facts_of(record: RunRecord, vcpus: int | None, cores: int | None) -> LicenceFacts:
    """The facts of a record's host; cores and sockets are those the sessions may use, as the kernel shows them."""
    host = record.header.host
    if host is None:
        return LicenceFacts(vcpus, cores, None, None)
    usable = [each for each in host.topology.cpus if each.online and each.cpu in host.limits.allowed_cpus]
    return LicenceFacts(
        vcpus=vcpus,
        cores=cores,
        sockets=len({each.socket for each in usable}) or None,
        threads_per_core=max((len(each.siblings) for each in usable), default=None),
        cpu_model=host.cpu_model,
    )


def default_rules() -> str:
    """The text of the rules that come with dbcpu."""
    return files("dbcpu.analysis").joinpath("licence_rules.toml").read_text("utf-8")


def parse_rules(text: str) -> Rules:
    """Rules from TOML text. Raises UsageError naming the rule and what is wrong with it."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the licence rules are not valid TOML: {error}") from None
    disclaimer, tables = content.get("disclaimer"), content.get("rule", [])
    if not isinstance(disclaimer, str) or not disclaimer:
        raise UsageError('the licence rules have no disclaimer; add disclaimer = "..." at the top')
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise UsageError("the licence rules: rule is not a list of tables; write [[rule]] above each")
    return Rules(tuple(_rule(each, position) for position, each in enumerate(tables, 1)), disclaimer)


def _factor(rule: Rule, facts: LicenceFacts) -> float:
    for part, factor in rule.models:
        if part.lower() in facts.cpu_model.lower():
            return factor
    if rule.factor_multithreaded is not None and (facts.threads_per_core or 1) > 1:
        return rule.factor_multithreaded
    return rule.factor


def _rule(table: Mapping[str, object], position: int) -> Rule:
    where = f"licence rule {position} ({table.get('name', 'without a name')})"
    texts = {}
    for name in _TEXTS:
        value = table.get(name)
        if not isinstance(value, str) or not value:
            raise UsageError(f'{where}: {name} is missing or no text; write {name} = "..."')
        texts[name] = value
    count = table.get("count")
    if count not in COUNTS:
        raise UsageError(f"{where}: count {count!r} is not one of {', '.join(COUNTS)}")
    most = table.get("at_most")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise UsageError(f"{where}: at_most {most!r} is not a whole number above 0")
    threaded = table.get("factor_multithreaded")
    return Rule(
        **texts,
        count=str(count),
        factor=_positive(table.get("factor"), f"{where}: factor"),
        factor_multithreaded=None if threaded is None else _positive(threaded, f"{where}: factor_multithreaded"),
        at_most=most,
        models=_models(table.get("model", []), where),
    )


def _models(tables: object, where: str) -> tuple[tuple[str, float], ...]:
    if not isinstance(tables, Sequence) or not all(isinstance(each, Mapping) for each in tables):
        raise UsageError(f"{where}: model is not a list of tables; write [[rule.model]] above each")
    found = []
    for each in tables:
        part = each.get("contains")
        if not isinstance(part, str) or not part:
            raise UsageError(f'{where}: a model has no contains; write contains = "POWER"')
        found.append((part, _positive(each.get("factor"), f"{where}: factor of model {part!r}")))
    return tuple(found)


def _positive(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1000:
        raise UsageError(f"{what} {value!r} is not a number above 0")
    return float(value)
