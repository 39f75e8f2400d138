"""A stand-in for sqlplus, for testing shell/sqlplus-fanout: the few commands it sends, over python-oracledb.

Not Oracle's program: it knows set, timing, connect, prompt, clear, variable, print, exit, @FILE, statements ended by
``;`` and blocks ended by ``/``. Settings have effect: headings, pages, feedback, times, the width of numbers. So
has WHENEVER SQLERROR.
As since 10g, $ORACLE_HOME/sqlplus/admin/glogin.sql is run at the start and again after each connect, and then the
first login.sql in SQLPATH. NLS_LANG=GERMAN_GERMANY translates messages and writes numbers with a comma.
Source: SQL*Plus User's Guide and Reference, Configuring SQL*Plus, SET System Variable Summary.
"""

import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import oracledb

DEFAULTS = {"heading": "on", "pagesize": "14", "newpage": "1", "feedback": "6", "numwidth": "10", "timing": "off",
            "termout": "on", "pause": "off"}  # fmt: skip


class StandIn:
    """One session, or none as long as nobody has connected."""

    def __init__(self) -> None:
        self._connection: oracledb.Connection | None = None
        self._variables: dict[str, str | None] = {}
        self._settings = dict(DEFAULTS)
        self._comma = False
        self._began_s = 0.0
        self._ends_at_error = False
        language = os.environ.get("NLS_LANG", "AMERICAN_AMERICA").partition(".")[0].upper()
        language, _, self._territory = language.partition("_")
        self._elapsed = "Abgelaufen" if language == "GERMAN" else "Elapsed"
        self._log_in()

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
            case "set" if rest.lower().startswith("markup "):
                _, kind, value = rest.lower().split()
                self._settings[kind] = value
            case "set":
                words = shlex.split(rest)
                self._settings |= {name.lower(): value for name, value in zip(words[::2], words[1::2], strict=True)}
            case "clear" | "whenever":
                self._note(rest.lower())
            case "timing":
                if rest == "start":
                    self._began_s = time.monotonic()
                else:
                    self._say_elapsed(self._began_s)
            case "connect":
                self._connect(rest)
            case "prompt":
                say(rest)
            case "variable":
                self._variables[rest.split()[0]] = None
            case "print":
                self._print_rows([rest.upper()], [(self._variables[rest] or "",)])
            case "exit":
                sys.exit(0)
            case _ if word.startswith("@"):
                self.run(Path(word[1:]).read_text("utf-8").splitlines())
            case _:
                return False
        return True

    def _note(self, words: str) -> None:
        """``sqlerror exit ...``; what WHENEVER says of the operating system, and CLEAR, have no effect here."""
        if words.startswith("sqlerror "):
            self._ends_at_error = words.startswith("sqlerror exit")

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
            return
        self._comma = self._territory == "GERMANY"
        if self._connection.warning:
            say(f"ERROR:\n{self._connection.warning}\n")
        self._log_in()

    def _log_in(self) -> None:
        """The site profile, then the user profile."""
        site = Path(os.environ.get("ORACLE_HOME", "/nowhere"), "sqlplus", "admin", "glogin.sql")
        users = [Path(folder, "login.sql") for folder in os.environ.get("SQLPATH", "").split(":") if folder]
        for profile in (site, *[path for path in users if path.exists()][:1]):
            if profile.exists():
                self.run(profile.read_text("utf-8").splitlines())

    def _execute(self, text: str) -> None:
        began_s = time.monotonic()
        if self._connection is None:
            say("SP2-0640: Not connected")
            return
        block = text.lower().startswith(("begin", "declare"))
        sql = text if block else text.rstrip().removesuffix(";")
        if (case := self._settings.get("sqlcase", "mixed")) != "mixed":
            sql = sql.upper() if case == "upper" else sql.lower()
        try:
            with self._connection.cursor() as cursor:
                if block:
                    outs = {name: cursor.var(str, 40) for name in self._variables if f":{name}" in sql}
                    cursor.execute(sql, outs)
                    self._variables |= {name: out.getvalue() for name, out in outs.items()}
                    self._feed_back("PL/SQL procedure successfully completed.")
                else:
                    cursor.execute(sql)
                    self._show(cursor, sql)
        except oracledb.Error as error:
            # It repeats the line in which the error is, of which the driver does not say which: the last but one.
            *_, repeated = sql.splitlines()[-2:-1] or sql.splitlines()
            say(f"{repeated}\n*\nERROR at line 1:\n{error}\n")
            if self._ends_at_error:
                sys.exit(1)
        if self._settings["timing"] == "on":
            self._say_elapsed(began_s)

    def _show(self, cursor: oracledb.Cursor, sql: str) -> None:
        if cursor.description:
            rows = cursor.fetchall()
            self._print_rows([column.name for column in cursor.description], rows)
            self._feed_back(f"{len(rows)} rows selected.")
            return
        if "nls_numeric_characters" in sql:
            self._comma = False
        self._feed_back("Session altered.")

    def _print_rows(self, names: list[str], rows: Iterable[tuple[object, ...]]) -> None:
        """One page, which has a title only where it has a length."""
        if self._settings["pagesize"] != "0":
            if self._settings["newpage"] != "none":
                sys.stdout.write("\n" * int(self._settings["newpage"]))
            if self._settings["heading"] == "on":
                say(" ".join(names))
                say(" ".join("-" * len(name) for name in names))
        for row in rows:
            cells = [self._printed(value) for value in row]
            if self._settings.get("html") == "on":
                say(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
            elif self._settings.get("csv") == "on":
                say(",".join(f'"{cell.strip()}"' for cell in cells))
            else:
                say(" ".join(cells))

    def _printed(self, value: object) -> str:
        """Text stands on the left, a number, with as many digits as there is room for, on the right of its column."""
        if value is None or isinstance(value, str):
            return value or ""
        width = int(self._settings["numwidth"])
        text = str(value)
        text = text if len(text) <= width else f"{float(text):.{width}g}"[:width]
        return (text.replace(".", ",") if self._comma else text).rjust(width)

    def _feed_back(self, text: str) -> None:
        if self._settings["feedback"] == "on":
            say(f"\n{text}\n")

    def _say_elapsed(self, began_s: float) -> None:
        say(f"{self._elapsed}: 00:00:{time.monotonic() - began_s:05.2f}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def standard_input() -> Iterator[str]:
    """A line as soon as it is there."""
    yield from iter(sys.stdin.readline, "")


def main() -> None:
    """As the program; standard input holds its commands."""
    StandIn().run(standard_input())
