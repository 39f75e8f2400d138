"""What the user's account limits, known before any load."""

import pytest

from plugins.call import Call
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

LIMITS = {"SESSIONS_PER_USER": "3", "CPU_PER_CALL": "6000"}


@pytest.mark.parametrize("holds", ["TRUE", "FALSE"])
def test_profile_limits_are_said_where_they_hold(holds: str, call: Call) -> None:
    with OracleDouble(instance=Instance(limits=LIMITS, parameters={"resource_limit": holds})) as double:
        code, out, err = call("doctor", double.url)
    assert code == 0, err
    said = "profile-limits: the profile of DBCPU has CPU_PER_CALL 60 s, SESSIONS_PER_USER 3"
    assert (said in out) is (holds == "TRUE")


def test_more_sessions_than_the_profile_allows_are_refused_before_the_first_connects(call: Call) -> None:
    with OracleDouble(instance=Instance(limits=LIMITS)) as double:
        code, _, err = call("run", double.url, "--sessions", "1,3", "--size", "tiny", "--yes")
    assert code == 2
    assert "2 of 3 sessions can connect: SESSIONS_PER_USER of the profile of DBCPU is 3, and dbcpu's own" in err
    assert "lower --sessions to 2 or raise it" in err


@pytest.mark.slow
def test_calls_are_shorter_than_the_profile_allows(call: Call) -> None:
    """The double ends a call by the CPU time of all of its executions, as a server does."""
    options = ("--host", "none", "--sessions", "1", "--size", "tiny", "--repeats", "1", "--seconds", "400ms", "--yes")
    with OracleDouble(instance=Instance(limits={"CPU_PER_CALL": "20"})) as double:
        code, _, err = call("run", double.url, *options)
    assert code == 0, err
    with OracleDouble(instance=Instance(limits={"CPU_PER_CALL": "1"})) as double:
        code, _, err = call("run", double.url, *options[:4], "--size", "short", *options[6:])
    assert code == 3
    assert "ORA-02393: exceeded call limit on CPU usage; the user's profile limits CPU_PER_CALL" in err
    assert "give --executions 1 and a smaller --size" in err


def test_a_pluggable_database_has_its_limit_of_sessions_as_a_parameter(call: Call) -> None:
    """V$RESOURCE_LIMIT has no rows there."""
    with OracleDouble(instance=Instance(parameters={"sessions": "4"})) as double:
        code, _, err = call("run", double.url, "--sessions", "1,9", "--size", "tiny", "--yes")
    assert code == 2
    assert "lower --sessions to 3" in err


def test_a_refused_password_is_tried_once(call: Call) -> None:
    """More would lock the account (FAILED_LOGIN_ATTEMPTS)."""
    with OracleDouble() as double:
        stale = double.url.replace(double.password, "stale")
        code, _, err = call("run", stale, "--sessions", "1,8", "--size", "tiny", "--yes")
        assert code == 3
        assert "ORA-01017" in err
        assert len(double.journal("logon denied")) == 1


def test_a_mode_that_the_user_may_not_log_on_with(call: Call) -> None:
    with OracleDouble() as double:
        code, _, err = call("doctor", f"{double.url}&mode=sysdba")
    assert code == 3
    assert "ORA-01031: insufficient privileges; this user may not log on as sysdba" in err
    assert "leave ?mode= out" in err


@pytest.mark.parametrize("profile", ["12c", "19c", "23ai"])
def test_a_logon_that_succeeds_with_a_warning(profile: str, call: Call) -> None:
    with OracleDouble(profile, faults=Faults(logon_warning=28002)) as double:
        code, out, err = call("doctor", double.url)
    assert code == 0, err
    assert "logon-warning: the logon succeeded with ORA-28002: the password will expire within 7 days" in out
