"""``python -m support.doubles.oracle``: the double by hand; ends with Ctrl-C or when its standard input closes."""

import argparse
import signal
import sys

from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import PROFILES, Instance


def main() -> None:
    """Start it, say where it is, wait."""
    parser = argparse.ArgumentParser(prog="python -m support.doubles.oracle", description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="19c")
    parser.add_argument("--verifier", choices=("10g", "11g", "12c"), default="12c")
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--sdu", type=int, default=8192)
    parser.add_argument("--user", default="dbcpu")
    parser.add_argument("--password", default="dbcpu", help="of a test double only; default: dbcpu")
    for name, kind in (("fault", Faults), ("instance", Instance)):
        fields = ", ".join(kind.__struct_fields__)
        parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME=VALUE", help=fields)
    given = parser.parse_args()
    with OracleDouble(
        given.profile,
        verifier=given.verifier,
        port=given.port,
        sdu=given.sdu,
        user=given.user,
        password=given.password,
        faults=Faults.from_text(given.fault),
        instance=Instance.from_text(given.instance),
    ) as double:
        print(f"a test double of Oracle {given.profile}, no Oracle software, listens on {double.dsn}")
        print(f"user {double.user}, password {double.password}\nurl {double.url}", flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            sys.stdin.read()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
