"""Licence and price rules: what each of them says."""

from datetime import date

from msgspec import Struct

DISCLAIMER = (
    "licence and price figures are arithmetic on dated rules, neither an offer nor legal advice: contracts differ and "
    "policies change, only the vendor's current documents and your contract count"
)
PER = ("vcpu", "core", "socket", "host", "ocpu")
WHEN = ("always", "smt", "no-smt")
PLACES = ("cloud", "oracle-cloud", "own")
"""Another provider's public cloud, Oracle's own, or hardware without a hypervisor."""


class OcpuSize(Struct, frozen=True):
    """How many vCPUs one OCPU, the unit of Oracle's cloud, is on such CPUs; ``threads``: of a core, None for any."""

    models: tuple[str, ...]
    threads: int | None
    vcpus: int
    words: str


OCPU_SIZES = (
    OcpuSize(("neoverse-n1", "altra"), None, 1, "Arm A1: 1 core, 1 vCPU"),
    OcpuSize(("ampereone",), None, 2, "Arm A2: 2 cores, 2 vCPUs"),
    OcpuSize(("intel", "amd", "xeon", "epyc"), 2, 2, "x86: 1 core with two threads, 2 vCPUs"),
)
"""The first that fits. An ECPU is an abstract measure of no fixed number of cores: nothing converts it.

Source: Oracle Cloud Infrastructure documentation, Compute Shapes; Autonomous Database, Compute Models (2026-11-22).
"""

OCPU_ACCOUNTS: dict[str, tuple[tuple[int, ...], str]] = {
    "Enterprise Edition": ((1, 2, 4), "processor licence"),
    "Standard Edition": ((4,), "socket licence"),
}
"""By edition: how many OCPUs one licence that is brought along covers in Oracle's cloud, by public accounts of 2026.

They contradict each other (1; 2; 4, 2 or 1 by the package of options), so all of them are shown and none is a rule. The
vendor's own page is *PaaS and IaaS Universal Credits, Service Descriptions*, of which no copy was read.
Source: oraclelicensingexperts.com, OCI BYOL to PaaS Conversion Ratios (June 2026); redresscompliance.com, Oracle OCI
Licensing and Managing Licenses in OCI Environments (looked up on 2026-11-24).
"""


class Rule(Struct, frozen=True):
    """What every dated rule says.

    ``per``: what is counted. ``when``: only for hosts with (without) several threads per core. ``targets``: only for
    runs with this target, host name or label, ``databases``: only for runs on these kinds of database, () for all.
    ``editions``: only where the database's name has one of these in it, ``places``: only at one of these (see PLACES);
    where edition or place is not known, they exclude nothing.
    ``most``: not for hosts with more of what is counted. ``dated`` is the day on which ``source`` was looked up,
    ``applies`` says in words what it is for. ``chosen``: somebody requested it; the others only came with dbcpu.
    """

    name: str
    per: str
    dated: date
    source: str
    when: str = "always"
    targets: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    editions: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    most: int | None = None
    applies: str = ""
    chosen: bool = True


class Licence(Rule, frozen=True):
    """``factor`` licences per counted thing, rounded up to whole ones, at least ``least``.

    ``factor_smt`` holds instead where a core has several hardware threads, and before both the first of ``models``,
    (part of the CPU's name, factor), that fits. ``unit`` is what a licence is called.
    ``price`` of one in ``currency``, paid once; ``support`` is the share of it that is due in each year.
    """

    factor: float = 1.0
    factor_smt: float | None = None
    models: tuple[tuple[str, float], ...] = ()
    least: int = 1
    unit: str = "licence"
    price: float | None = None
    currency: str = ""
    support: float = 0.0


PERIODS = {"hour": 8760.0, "day": 365.0, "month": 12.0, "year": 1.0}
"""How often each period of a price is in a year."""


class Price(Rule, frozen=True):
    """``amount`` of ``currency`` per counted thing and ``period``, one of ``PERIODS``; '': once."""

    amount: float = 0.0
    currency: str = ""
    period: str = ""


class SizingRules(Struct, frozen=True):
    """All rules, the chosen ones first; of several chosen ones that fit a host the first one counts."""

    licences: tuple[Licence, ...] = ()
    prices: tuple[Price, ...] = ()
