"""A stand-in for sqlplus, for testing shell/sqlplus-fanout: the few commands it sends, over python-oracledb.

    python sqlplus_stand_in.py -S /nolog

Not Oracle's program: it knows set, timing, connect, prompt, variable, print, exit, @FILE, statements ended by ``;`` and
blocks ended by ``/``, and prints what sqlplus prints for them with headings and feedback off.
"""

import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import oracledb


class StandIn:
    """One session, or none as long as nobody has connected."""

    def __init__(self) -> None:
        self._connection: oracledb.Connection | None = None
        self._variables: dict[str, str | None] = {}
        self._began_s = 0.0

    def run(self, lines: Iterable[str]) -> None:
        statement: list[str] = []
        for line in lines:
            text = line.rstrip("\n")
            if statement:
                block = statement[0].lower().startswith(("begin", "declare"))
                if text.strip() == "/" or (not block and text.rstrip().endswith(";")):
                    self._execute("\n".join(statement if text.strip() == "/" else [*statement, text]))
                    statement = []
                else:
                    statement.append(text)
            elif not self._command(text):
                if text.rstrip().endswith(";") and not text.lower().startswith(("begin", "declare")):
                    self._execute(text)
                elif text.strip():
                    statement = [text]

    def _command(self, text: str) -> bool:
        word, _, rest = text.strip().partition(" ")
        match word.lower():
            case "set" | "whenever":
                return True
            case "timing":
                if rest == "start":
                    self._began_s = time.monotonic()
                else:
                    say(f"Elapsed: 00:00:{time.monotonic() - self._began_s:05.2f}")
            case "connect":
                self._connect(rest)
            case "prompt":
                say(rest)
            case "variable":
                self._variables[rest.split()[0]] = None
            case "print":
                say(f"\n{self._variables[rest] or ''}")
            case "exit":
                sys.exit(0)
            case _ if word.startswith("@"):
                self.run(Path(word[1:]).read_text("utf-8").splitlines())
            case _:
                return False
        return True

    def _connect(self, text: str) -> None:
        found = re.fullmatch(r'([^/]+)/"(.*)"@(.*)', text)
        if not found:
            say("SP2-0306: Invalid option.")
            return
        user, password, dsn = found.groups()
        try:
            self._connection = oracledb.connect(user=user, password=password, dsn=dsn)
        except oracledb.Error as error:
            # sqlplus has the number that thin mode only mentions: ... (Similar to ORA-12516)
            similar = re.search(r"ORA-\d{5}", str(error))
            say(f"ERROR:\n{similar[0] if similar else 'ORA-12547'}: {str(error).splitlines()[0]}\n")

    def _execute(self, text: str) -> None:
        if self._connection is None:
            say("SP2-0640: Not connected")
            return
        block = text.lower().startswith(("begin", "declare"))
        sql = text if block else text.rstrip().removesuffix(";")
        try:
            with self._connection.cursor() as cursor:
                if block:
                    outs = {name: cursor.var(str, 40) for name in self._variables if f":{name}" in sql}
                    cursor.execute(sql, outs)
                    self._variables |= {name: out.getvalue() for name, out in outs.items()}
                else:
                    cursor.execute(sql)
                    for row in cursor.fetchall() if cursor.description else ():
                        say(" ".join(printed(value) for value in row))
        except oracledb.Error as error:
            say(f"{sql.splitlines()[0]}\n*\nERROR at line 1:\n{error}\n")


def printed(value: object) -> str:
    """Text stands on the left, a number on the right of its column."""
    return "" if value is None else value if isinstance(value, str) else str(value).rjust(20)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def standard_input() -> Iterator[str]:
    """A line as soon as it is there."""
    yield from iter(sys.stdin.readline, "")


if __name__ == "__main__":
    StandIn().run(standard_input())
