"""What an error of the driver, the listener or the server means, in one sentence with its remedy: pure.

Numbers of the listener are those of the ORA messages; thin mode words some of them as its own (DPY-6001 is
ORA-12514, DPY-6003 is ORA-12505). Source: Oracle Database Error Messages; python-oracledb, Troubleshooting.
"""

import re

REMEDIES: dict[str, str] = {
    "ORA-01017": "check user and password; in a container database log on to the pluggable one",
    "ORA-01045": "grant create session to this user",
    "ORA-28000": "unlock the account: alter user ... account unlock",
    "ORA-28001": "the password has expired: give the user a new one",
    "ORA-12541": "no listener answers: check host and port, and on the server: lsnrctl status",
    "ORA-12514": "the listener does not know this service: see lsnrctl services, or register it: alter system register",
    "ORA-12505": "the listener does not know this SID; a service is written ?service_name=NAME, a SID after the last /",
    "ORA-12516": "no server process is available: use fewer sessions, or raise the parameter processes and "
    "wait a minute until the listener is updated",
    "ORA-12519": "no server process is available: use fewer sessions, or raise the parameter processes",
    "ORA-12520": "no dedicated server is available: use fewer sessions or raise the parameter processes; a service "
    "with shared servers only cannot be measured",
    "ORA-12521": "the service has no such instance: leave out instance_name, or name a running one",
    "ORA-12526": "the instances admit users with RESTRICTED SESSION only: alter system disable restricted session",
    "ORA-12527": "the instances admit users with RESTRICTED SESSION only: alter system disable restricted session",
    "ORA-01035": "the instance admits users with RESTRICTED SESSION only: alter system disable restricted session",
    "ORA-12529": "the rules of Oracle Connection Manager refuse this connection: see RULE_LIST in its cman.ora",
    "ORA-12535": "the network did not answer in time: check firewall and address",
    "ORA-12547": "the connection was lost while it was made: see the listener's log, and whether the host has memory "
    "and processes left",
    "ORA-12564": "the connection was refused: see the listener's log, and the address in the connect string",
    "ORA-12528": "the instance is starting or restricted; wait until it is open",
    "ORA-12537": "the connection was closed at once: see the listener's log, and its valid node checking",
    "ORA-12170": "the network did not answer in time: check firewall and address",
    "ORA-00257": "archived redo has no room: the DBA makes some in the recovery area; until then only SYSDBA logs on",
    "ORA-00604": "a logon trigger may refuse this user: see dba_triggers (triggering_event LOGON), and the message",
    "ORA-01109": "the database, or this pluggable database, is not open: alter pluggable database ... open",
    "ORA-04031": "the shared pool has no memory left: measure at a quieter time, or have the DBA look at it",
    "ORA-04036": "the instance uses more than PGA_AGGREGATE_LIMIT: use fewer sessions, or measure at a quieter time",
    "ORA-28030": "the directory of enterprise users does not answer: use a user of the database itself",
    "ORA-47605": "SQL Firewall has no such statement on this user's allow-list: have the DBA add those of sql/oracle, "
    "or measure as a user without one",
    "ORA-65162": "the password of the common user has expired: give it a new one in the root",
    "ORA-00018": "use fewer sessions, or raise the parameter sessions (a restart; on Amazon RDS in the parameter "
    "group, on Autonomous Database by more ECPUs)",
    "ORA-00020": "use fewer sessions, or raise the parameter processes (in the root, and a restart; on Amazon RDS in "
    "the parameter group, on Autonomous Database by more ECPUs)",
    "ORA-02390": "the user's profile has a COMPOSITE_LIMIT: raise it",
    "ORA-02391": "the user's profile limits its sessions: raise sessions_per_user, or use fewer sessions",
    "ORA-02392": "the user's profile limits CPU_PER_SESSION: raise it, or choose a smaller --size",
    "ORA-02393": "the user's profile limits CPU_PER_CALL: raise it, or choose a smaller --size",
    "ORA-02394": "the user's profile limits LOGICAL_READS_PER_SESSION: raise it",
    "ORA-02395": "the user's profile limits LOGICAL_READS_PER_CALL: raise it",
    "ORA-02396": "the user's profile limits IDLE_TIME, and sessions wait at the gate: raise it",
    "ORA-02399": "the user's profile limits CONNECT_TIME: raise it",
    "ORA-00040": "a resource plan limits the active time of a call (SWITCH_TIME): choose a smaller --size, or have the "
    "DBA map this user to a consumer group without it",
    "ORA-00041": "a resource plan limits the active time of a session (SWITCH_TIME): choose a smaller --size, or have "
    "the DBA map this user to a consumer group without it",
    "ORA-07455": "a resource plan refuses statements that it estimates as too long (MAX_EST_EXEC_TIME): choose a "
    "smaller --size, or have the DBA map this user to a consumer group without it",
    "ORA-56955": "a resource plan ended this statement before, and its plan is quarantined (DBA_SQL_QUARANTINE): have "
    "the DBA drop that by dbms_sqlq.drop_quarantine, and choose a smaller --size",
    "ORA-28040": "client and server have no password protocol in common: newer client libraries, or a lower "
    "SQLNET.ALLOWED_LOGON_VERSION_SERVER",
    "ORA-12660": "encryption or checksums are required on one side and rejected on the other: compare "
    "SQLNET.ENCRYPTION_SERVER and SQLNET.ENCRYPTION_CLIENT",
    "ORA-01033": "the database is starting or shutting down; wait until it is open",
    "ORA-16000": "the database is open read-only, such as a standby: workload logical_io needs a table of its own; "
    "choose another workload",
    "ORA-01034": "the instance is down; start it",
    "DPY-3001": "thin mode has no such feature (bequeath, native network encryption): add ?thick=1, with Oracle's "
    "client libraries installed, or use TLS",
    "DPY-3010": "thin mode needs Oracle Database 12.1 or newer: add ?thick=1, with Oracle's client libraries "
    "installed, or use shell/sqlplus-fanout",
    "DPY-3015": "the password is stored in a form that thin mode does not support (10G, see password_versions in "
    "dba_users): set it again with sec_case_sensitive_logon on, or add ?thick=1",
    "DPY-4001": "give a user and a password (password_env or password_file in dbcpu.toml), or external authentication",
    "DPY-2018": "wallet_location= names the folder of ewallet.pem, the only form of a wallet that thin mode reads",
    "DPY-4000": "no such name in tnsnames.ora: check it, and config_dir= or TNS_ADMIN",
    "DPY-4026": "no tnsnames.ora there: check config_dir= or TNS_ADMIN",
    "DPY-4027": "give the folder of tnsnames.ora: ?config_dir=FOLDER or TNS_ADMIN",
    "DPY-6002": "the certificate does not name this host: check ssl_server_cert_dn, or ssl_server_dn_match=0",
    "DPY-6006": "the certificate names another host: connect by the name in the certificate, or ssl_server_dn_match=0",
    "ORA-28150": "allow the proxy connection: alter user ... grant connect through ...",
    "DPI-1047": "install Instant Client, and on Linux name its folder to the system before dbcpu starts: export "
    "LD_LIBRARY_PATH=FOLDER, or ldconfig; lib_dir= alone does on macOS and Windows only. Thin mode needs none: it "
    "takes a user with a password, and no thick=1",
    "ORA-12154": "no such name: check tnsnames.ora and TNS_ADMIN",
    "ORA-28009": "SYS logs on with ?mode=sysdba alone; measure as a user of its own (docs/privileges.md)",
    "ORA-28365": "the wallet of the encrypted database is not open: administer key management set keystore open",
    "ORA-03113": "the server process has ended: see the alert log of the instance",
    "ORA-03114": "the server process has ended: see the alert log of the instance",
    "ORA-01012": "the session is logged on no more: see whether a DBA or its profile has ended it",
    "ORA-12650": "client and server have no algorithm of encryption or checksums in common: compare "
    "SQLNET.ENCRYPTION_TYPES_SERVER and SQLNET.CRYPTO_CHECKSUM_TYPES_SERVER with those of the client",
    "ORA-12637": "the other side was lost while both agreed on services: see its sqlnet.log, and "
    "SQLNET.AUTHENTICATION_SERVICES",
    "DPY-4017": "check the parentheses of this entry in tnsnames.ora: one that is not closed hides the next ones",
    "DPY-4021": "thin mode speaks TCP and TCPS: name such an address, or add ?thick=1 with Oracle's client libraries",
}
_BY_TEXT = {
    "CERTIFICATE_VERIFY_FAILED": "the server's certificate is not signed by a trusted authority: give "
    "wallet_location=FOLDER, with the authority's certificate in FOLDER/ewallet.pem",
    "WRONG_VERSION_NUMBER": "that port does not speak TLS: leave out protocol=tcps, or name the TCPS port",
    "NO_CERTIFICATE_OR_CRL_FOUND": "ewallet.pem in the folder of wallet_location= has no certificate: copy it from the "
    "wallet once more (orapki makes it)",
    "CERTIFICATE_REQUIRED": "the server requires a client certificate: give wallet_location=FOLDER, with key and "
    "certificate in FOLDER/ewallet.pem, and its password by wallet_password_env=VARIABLE",
    "LDAP URL": "thin mode looks up no name in a directory: give dsn= the descriptor that tnsping NAME shows, or add "
    "?thick=1 with Oracle's client libraries",
    "component 'SLEEP' must be declared": "workload mixed needs Oracle Database 18c or newer",
    "Connection reset by peer": "a TCPS port needs protocol=tcps; else see the listener's log",
}
"""Errors recognised by their text: TLS has no codes, PL/SQL has one for everything."""
_NOT_OPENED, _CLOSED = "DPY-6005", "DPY-4011"
_NO_LISTENER = (
    "what answers there may be no listener of Oracle: check host and port, whether it is a TCPS port (protocol=tcps), "
    "and the listener's log"
)
_SAME_AS = {"DPY-6001": "ORA-12514", "DPY-6003": "ORA-12505"}
_CODE = re.compile(r"\b((?:DPY|DPI)-\d{4}|(?:ORA|TNS)-\d{1,5})\b")
_REFUSED = re.compile(r"Errno 111|Connection refused|Errno 113|No route to host")
_UNKNOWN_HOST = re.compile(r"Errno -[25]|Name or service not known|nodename nor servname")


def codes(text: str) -> tuple[str, ...]:
    """Every error code of a message, in order, those of the driver followed by the ORA code they stand for."""
    found: list[str] = []
    for each in _CODE.findall(text):
        kind, _, digits = each.partition("-")
        # The driver names the numbers of a listener without leading zeros.
        code = f"{kind}-{digits:0>5}" if kind in ("ORA", "TNS") else each
        found += [code, _SAME_AS[code]] if code in _SAME_AS else [code]
    return tuple(dict.fromkeys(found))


def explained(text: str) -> str:
    """The message on one line, followed by what to do about it if that is known."""
    message = one_line(text)
    if _UNKNOWN_HOST.search(text):
        return f"{message}; no such host: check its name"
    for words, remedy in _BY_TEXT.items():
        if words in text.replace(" ", "_").upper() or words in text:
            return f"{message}; {remedy}"
    found = codes(text)
    if _REFUSED.search(text) and not any(code in REMEDIES for code in found):
        return f"{message}; {REMEDIES['ORA-12541']}"
    # The innermost code says most, and it stands last.
    remedy = next((REMEDIES[code] for code in reversed(found) if code in REMEDIES), "")
    if not remedy and set(found) == {_NOT_OPENED, _CLOSED}:
        remedy = _NO_LISTENER
    return f"{message}; {remedy}" if remedy else message


def one_line(text: str) -> str:
    """A message of the server or the driver without line feeds, links to help pages and connection ids."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("Help: ", "(CONNECTION_ID="))]
    joined = " ".join(kept)
    return re.sub(r"\s*\(CONNECTION_ID=[^)]*\)\.?", "", joined) or "the server gave no reason"
