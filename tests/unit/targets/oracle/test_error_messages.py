"""What the driver and the listener say becomes one sentence with what to do."""

import pytest

from dbcpu.targets.oracle.error_messages import codes, explained, one_line


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('DPY-6005: cannot connect to database (CONNECTION_ID=abc=).\nDPY-6001: Service "x" is not registered with the '
         "listener at host \"h\" port 1521. (Similar to ORA-12514)", "lsnrctl services"),
        ('DPY-6005: cannot connect to database.\nDPY-6003: SID "x" is not registered', "a SID after the last /"),
        ("DPY-6005: ...\nDPY-6000: Listener refused connection. (Similar to ORA-12516)", "parameter processes"),
        ("DPY-6005: ...\nDPY-6000: Listener refused connection. (Similar to ORA-12520)", "dedicated server"),
        ("DPY-6005: cannot connect to database.\n[Errno 111] Connection refused", "lsnrctl status"),
        ("DPY-6005: cannot connect to database.\n[Errno -2] Name or service not known", "no such host"),
        ("ORA-01017: invalid username/password; logon denied", "check user and password"),
        ("DPY-3010: connections to this database server version are not supported", "sqlplus-fanout"),
        ("DPY-3001: Native Network Encryption and Data Integrity is only supported in thick mode", "thick=1"),
        ("DPI-1047: Cannot locate a 64-bit Oracle Client library", "export LD_LIBRARY_PATH=FOLDER, or ldconfig"),
        ("DPY-6005: cannot connect to database.\nDPY-4011: the database closed the connection", "no listener of"),
        ("DPY-6005: cannot connect to database.\n[Errno 104] Connection reset by peer", "needs protocol=tcps"),
        ("DPY-4011: the database or network closed the connection\n[Errno 104] Connection reset by peer", "alert log"),
        ("DPY-4011: the database or network closed the connection", "a firewall or gateway drops"),
        ("DPY-4011: the database or network closed the connection\nORA-01092: ORACLE instance terminated", "start it"),
        ("To use an LDAP URL in python-oracledb, register an LDAP resolution function", "tnsping NAME shows"),
        ("DPY-4021: invalid protocol \"ipc\"", "thin mode speaks TCP and TCPS"),
        ("ORA-28009: connection as SYS should be as SYSDBA or SYSOPER", "?mode=sysdba"),
        ("[X509: NO_CERTIFICATE_OR_CRL_FOUND] no certificate or crl found (_ssl.c:4154)", "ewallet.pem in the folder"),
        ("DPY-3015: password verifier type 0x939 is not supported by python-oracledb in thin mode", "10G"),
    ],
)  # fmt: skip
def test_each_refusal_has_its_remedy(text: str, remedy: str) -> None:
    told = explained(text)
    assert remedy in told
    assert "\n" not in told
    assert "CONNECTION_ID" not in told


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        *((f"ORA-{number}", "use fewer sessions") for number in ("12500", "12518", "12525", "12540", "12542", "12549")),
        *((f"ORA-{number}", "use fewer sessions") for number in ("04030", "27300", "30009", "01652")),
        ("ORA-12606", "is overloaded"), ("ORA-12608", "is overloaded"), ("ORA-12609", "smaller --size"),
        ("ORA-00603", "trace file"), ("ORA-01092", "the instance has ended"), ("ORA-00018", "up to the root's value"),
        ("ORA-03135", "ends idle connections"), ("ORA-12571", "alert log"),
        ("ORA-12506", "network access control list"), ("ORA-47400", "Database Vault"), ("ORA-47306", "Database Vault"),
        ("ORA-01089", "wait until it is open"), ("ORA-01219", "pluggable database ... open"),
        ("ORA-12850", "parallel_max_servers"), ("ORA-12525", "INBOUND_CONNECT_TIMEOUT_LISTENER in listener.ora"),
        ("ORA-12547", "SQLNET.INBOUND_CONNECT_TIMEOUT of the server"), ("ORA-12637", "DISABLE_OOB = ON"),
        *((f"ORA-{number}", "PDB_PLUG_IN_VIOLATIONS") for number in ("12526", "12527", "01035")),
        ("ORA-01033", "V$PDBS"), ("ORA-00028", "idle limit"), ("ORA-07454", "use fewer sessions"),
        ("ORA-02396", "MAX_IDLE_TIME"), ("DPI-1050", "through its listener"), ("DPI-1072", "sqlplus-fanout"),
        ("ORA-12504", "?service_name=NAME"), ("ORA-12533", "PROTOCOL, HOST and PORT"), ("ORA-12543", "firewall"),
        ("ORA-12545", "no such host"), ("ORA-12261", "HOST:PORT/SERVICE"), ("ORA-12262", "no such host"),
        ("ORA-12263", "?config_dir=FOLDER"), ("ORA-12162", "export ORACLE_SID"), ("ORA-12560", "ORACLE_HOME"),
        ("ORA-12546", "bin/oracle"), ("ORA-12638", "AUTHENTICATION_SERVICES = (NONE)"), ("ORA-01005", "password_env"),
        *((f"ORA-{number}", "WALLET_LOCATION") for number in ("12578", "28759", "28862", "29024")),
        ("ORA-28860", "SSL_CIPHER_SUITES"), ("ORA-28864", "client certificate"), ("ORA-29003", "SSL_SERVER_DN_MATCH"),
        ("DPY-2019", "?thick=1 to each address"), ("DPY-2053", "?thick=1 to each address"),
        ("DPY-4000", "with its domain"), ("DPY-4026", "with its domain"), ("DPY-4027", "with its domain"),
    ],
)  # fmt: skip
def test_what_many_logons_a_cloud_or_the_client_libraries_provoke_has_its_remedy(code: str, remedy: str) -> None:
    """In the words of the server, and in those of thin mode for what a listener says."""
    told = explained(f"{code}: the text of the server\nHelp: https://docs.example/")
    assert told.startswith(f"{code}: the text of the server; ")
    assert remedy in told
    assert told.count("\n") == 0
    if code.startswith("ORA"):
        number = code.removeprefix("ORA-").lstrip("0")
        assert remedy in explained(f"DPY-6000: Listener refused connection. (Similar to ORA-{number})")


def test_a_session_that_ran_is_not_told_how_to_connect() -> None:
    told = explained("DPY-4011: the database or network closed the connection\n[Errno 104] Connection reset by peer")
    assert "protocol=" not in told


def test_what_is_not_known_is_passed_on_as_it_is() -> None:
    assert explained("ORA-00600: internal error code\nHelp: https://docs.example/ora-00600") == (
        "ORA-00600: internal error code"
    )
    assert one_line("\n") == "the server gave no reason"


def test_thin_modes_own_codes_stand_for_those_of_the_listener() -> None:
    assert codes("DPY-6005: x\nDPY-6001: y") == ("DPY-6005", "DPY-6001", "ORA-12514")


@pytest.mark.parametrize("code", ["ORA-02392", "ORA-02393", "ORA-02394", "ORA-02395", "ORA-00040", "ORA-00041",
                                  "ORA-56733", "ORA-56734"])  # fmt: skip
def test_a_limit_of_a_call_is_met_by_fewer_executions_in_it(code: str) -> None:
    """The number of executions is calibrated: a smaller size alone gives more of them, in the same time."""
    assert "--executions 1 and a smaller --size" in explained(f"{code}: the text of the server")


@pytest.mark.parametrize("code", ["ORA-00040", "ORA-00041", "ORA-07455", "ORA-56955"])
def test_a_call_that_a_resource_plan_ended_is_no_fault_of_the_host(code: str) -> None:
    told = explained(f"{code}: the text of the server")
    assert "a resource plan" in told
    assert "smaller --size" in told


def test_a_code_without_its_leading_zeros_is_the_same_code() -> None:
    """As the driver words what a listener says."""
    assert codes("DPY-6000: Listener refused connection. (Similar to ORA-1035)") == ("DPY-6000", "ORA-01035")
    assert "RESTRICTED SESSION" in explained("DPY-6000: Listener refused connection. (Similar to ORA-1035)")


def test_what_a_logon_trigger_says_stays_in_the_sentence() -> None:
    told = explained(
        "ORA-00604: error occurred at recursive SQL level 1\nORA-20001: application servers only\nORA-06512: at line 4"
    )
    assert "ORA-20001: application servers only" in told
    assert told.endswith(
        "a logon trigger may refuse this user: see dba_triggers (triggering_event LOGON), and the message"
    )
