"""What an error of the driver, the listener or the server means, in one sentence with its remedy: pure.

Numbers of the listener are those of the ORA messages; thin mode words some of them as its own (DPY-6001 is
ORA-12514, DPY-6003 is ORA-12505). Source: Oracle Database Error Messages; python-oracledb, Troubleshooting.
"""

import re

_THIN_NAMES = (
    "thin mode reads no sqlnet.ora, so write a name with its domain (NAMES.DEFAULT_DOMAIN), and for one of a directory "
    "(LDAP) add ?thick=1 with Oracle's client libraries"
)
_ONE_MODE = "thin and thick mode cannot be mixed in one command: add ?thick=1 to each address, or leave it out of all"
_STORM = "use fewer sessions, or measure when the host has more room"
_WALLET_FILES = (
    "see the folder that WALLET_LOCATION in sqlnet.ora, or the connect descriptor, names for the client libraries"
)
_RESTRICTED = (
    "users with RESTRICTED SESSION only: alter system disable restricted session; a pluggable database that was opened "
    "restricted for a reason refuses that (ORA-65144): have the DBA see PDB_PLUG_IN_VIOLATIONS (datapatch, common "
    "users), and when that is solved close and open it"
)
_TOO_OLD = (
    "Oracle's client libraries are too old for this python-oracledb, or for limits of time on its calls (18.1 or newer "
    "has them): use newer Instant Client, or thin mode; without a listener (bequeath) they are those of the database "
    "itself: connect to an older one through its listener, or use shell/sqlplus-fanout"
)
_ONE_EXECUTION = "give --executions 1 and a smaller --size (a call has as many executions as fit into 4 s)"
_OTHER_GROUP = "have the DBA map this user to a consumer group without it"
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
    "ORA-12526": f"the instances admit {_RESTRICTED}",
    "ORA-12527": f"the instances admit {_RESTRICTED}",
    "ORA-01035": f"the instance, or this pluggable database, admits {_RESTRICTED}",
    "ORA-12529": "the rules of Oracle Connection Manager refuse this connection: see RULE_LIST in its cman.ora",
    "ORA-12535": "the network did not answer in time: check firewall and address",
    "ORA-12547": "the connection was lost while it was made: see the listener's log, whether the host has memory and "
    "processes left, and whether the logon took longer than SQLNET.INBOUND_CONNECT_TIMEOUT of the server",
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
    "ORA-00018": "use fewer sessions, or raise the parameter sessions: in a pluggable database its own, by ALTER "
    "SYSTEM SET SESSIONS there, up to the root's value; else by a restart (on Amazon RDS in the parameter group, on "
    "Autonomous Database by more ECPUs)",
    "ORA-00020": "use fewer sessions, or raise the parameter processes (in the root, and a restart; on Amazon RDS in "
    "the parameter group, on Autonomous Database by more ECPUs)",
    "ORA-02390": "the user's profile has a COMPOSITE_LIMIT: raise it",
    "ORA-02391": "the user's profile limits its sessions: raise sessions_per_user, or use fewer sessions",
    "ORA-02392": f"the user's profile limits CPU_PER_SESSION: raise it, or {_ONE_EXECUTION}",
    "ORA-02393": f"the user's profile limits CPU_PER_CALL: raise it, or {_ONE_EXECUTION}",
    "ORA-02394": f"the user's profile limits LOGICAL_READS_PER_SESSION: raise it, or {_ONE_EXECUTION}",
    "ORA-02395": f"the user's profile limits LOGICAL_READS_PER_CALL: raise it, or {_ONE_EXECUTION}",
    "ORA-02396": "the user's profile limits IDLE_TIME, or a resource plan MAX_IDLE_TIME, and sessions wait at the "
    "gate: raise it",
    "ORA-02399": "the user's profile limits CONNECT_TIME: raise it",
    "ORA-00040": f"a resource plan limits the active time of a call (SWITCH_TIME): {_ONE_EXECUTION}, or {_OTHER_GROUP}",
    "ORA-00041": f"a resource plan limits the active time of a session (SWITCH_TIME): {_ONE_EXECUTION}, or "
    f"{_OTHER_GROUP}",
    "ORA-56733": f"a resource plan limits the logical reads of a call (SWITCH_IO_LOGICAL): {_ONE_EXECUTION}, or "
    f"{_OTHER_GROUP}",
    "ORA-56734": f"a resource plan limits the logical reads of a session (SWITCH_IO_LOGICAL): {_ONE_EXECUTION}, or "
    f"{_OTHER_GROUP}",
    "ORA-07454": "a resource plan lets fewer sessions of this user work at once (an active session pool, or a queue of "
    f"parallel statements), and the wait was too long: use fewer sessions, or {_OTHER_GROUP}",
    "ORA-00028": "a DBA, a job or an idle limit (MAX_IDLE_TIME) has ended the session: ask who, then run again",
    "ORA-07455": "a resource plan refuses statements that it estimates as too long (MAX_EST_EXEC_TIME): choose a "
    f"smaller --size, or {_OTHER_GROUP}",
    "ORA-56955": "a resource plan ended this statement before, and its plan is quarantined (DBA_SQL_QUARANTINE): have "
    "the DBA drop that by dbms_sqlq.drop_quarantine, and choose a smaller --size",
    "ORA-28040": "client and server have no password protocol in common: newer client libraries, or a lower "
    "SQLNET.ALLOWED_LOGON_VERSION_SERVER",
    "ORA-12660": "encryption or checksums are required on one side and rejected on the other: compare "
    "SQLNET.ENCRYPTION_SERVER and SQLNET.ENCRYPTION_CLIENT",
    "ORA-01033": "the database is starting or shutting down: wait until it is open; or it is mounted and stays so: see "
    "V$INSTANCE and V$PDBS, and have the DBA open it (a standby, too)",
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
    "DPY-2019": _ONE_MODE,
    "DPY-2053": _ONE_MODE,
    "DPY-4000": f"no such name in tnsnames.ora: check it, and config_dir= or TNS_ADMIN; {_THIN_NAMES}",
    "DPY-4026": f"no tnsnames.ora there: check config_dir= or TNS_ADMIN; {_THIN_NAMES}",
    "DPY-4027": f"give the folder of tnsnames.ora: ?config_dir=FOLDER or TNS_ADMIN; {_THIN_NAMES}",
    "DPY-6002": "the certificate does not name this host: check ssl_server_cert_dn, or ssl_server_dn_match=0",
    "DPY-6006": "the certificate names another host: connect by the name in the certificate, or ssl_server_dn_match=0",
    "ORA-28150": "allow the proxy connection: alter user ... grant connect through ...",
    "DPI-1047": "install Instant Client, and on Linux name its folder to the system before dbcpu starts: export "
    "LD_LIBRARY_PATH=FOLDER, or ldconfig; lib_dir= alone does on macOS and Windows only. Thin mode needs none: it "
    "takes a user with a password, and no thick=1",
    "DPI-1050": _TOO_OLD,
    "DPI-1072": _TOO_OLD,
    "ORA-12154": "no such name: check tnsnames.ora, TNS_ADMIN or ?config_dir=FOLDER, and in sqlnet.ora there "
    "NAMES.DIRECTORY_PATH and NAMES.DEFAULT_DOMAIN",
    "ORA-28009": "SYS logs on with ?mode=sysdba alone; measure as a user of its own (docs/privileges.md)",
    "ORA-28365": "the wallet of the encrypted database is not open: administer key management set keystore open",
    "ORA-03113": "the server process has ended: see the alert log of the instance",
    "ORA-03114": "the server process has ended: see the alert log of the instance",
    "ORA-01012": "the session is logged on no more: see whether a DBA or its profile has ended it",
    "ORA-12650": "client and server have no algorithm of encryption or checksums in common: compare "
    "SQLNET.ENCRYPTION_TYPES_SERVER and SQLNET.CRYPTO_CHECKSUM_TYPES_SERVER with those of the client",
    "ORA-12637": "with client libraries of 19c or newer this is nearly always a network that drops urgent data, which "
    "they try at the connect: DISABLE_OOB = ON in their sqlnet.ora; else see the server's sqlnet.log, "
    "SQLNET.AUTHENTICATION_SERVICES, and SQLNET.INBOUND_CONNECT_TIMEOUT where the logon is slow",
    # --- the listener and the host, when many log on at once
    "ORA-12500": "the listener could not start a server process: memory or processes of its host may be used up: "
    f"{_STORM}, and see the listener's log",
    "ORA-12518": "the listener could not hand the connection over to a server process: memory of its host, the "
    f"parameter processes or the limits of its operating system user may be used up: {_STORM}, and see the "
    "listener's log",
    "ORA-12525": "this machine, or the network, did not send the request in the time that the listener waits: "
    f"{_STORM}, or raise INBOUND_CONNECT_TIMEOUT_LISTENER in listener.ora (behind the last _ its listener's name)",
    "ORA-12540": f"the listener, or its host, takes no more connections at once: {_STORM}, or raise the limits of its "
    "operating system user (ulimit -n, ulimit -u)",
    "ORA-12549": "the operating system gives the listener's user no more processes, files or memory: raise its "
    f"limits (ulimit -u, ulimit -n), or {_STORM}",
    "ORA-12542": "the operating system has no free port or address left: wait until closed connections have expired, "
    "a minute or more, and use fewer sessions",
    "ORA-12571": "the connection broke while data was sent: see whether the server process has ended (alert log), "
    "and what a firewall between drops",
    "ORA-12606": "the network, or the logon on the server, was too slow: see whether the host is overloaded, and "
    "SQLNET.INBOUND_CONNECT_TIMEOUT",
    "ORA-12608": "the network was too slow to send: see whether the host is overloaded, and SQLNET.SEND_TIMEOUT",
    "ORA-12609": "the server did not answer in the time of SQLNET.RECV_TIMEOUT, and a long execution sends nothing: "
    "raise it on the client and the server, or choose a smaller --size",
    "ORA-00603": "an error that the server could not go on after has ended the session: see the alert log of the "
    "instance, and the trace file that it names",
    "ORA-01092": "the instance has ended while the session ran: see its alert log, and start it",
    "ORA-03135": "the connection was cut: see whether a firewall or gateway ends idle connections (?expire_time=1), "
    "and the alert log of the instance",
    "ORA-04030": "the operating system gave a server process no memory: use fewer sessions, and see free memory, "
    "swap, and the limits of the database's operating system user (ulimit -a)",
    "ORA-27300": "the operating system refused the server a process or memory: use fewer sessions, and see the "
    "limits of the database's operating system user (ulimit -a)",
    "ORA-30009": "CONNECT BY has no more memory in the PGA: use fewer sessions or a smaller --size, or raise "
    "PGA_AGGREGATE_TARGET",
    "ORA-01652": "the temporary tablespace is full: use fewer sessions, or have the DBA add space to it",
    # --- clouds, and rules that refuse
    "ORA-12506": "the service's access control list does not admit this address: on Autonomous Database add it to "
    "the network access control list, else have the DBA see DBMS_SFW_ACL_ADMIN",
    "ORA-47400": "a command rule of Database Vault refuses this: have its owner see DBA_DV_COMMAND_RULE, or measure "
    "as a user that the rule admits",
    "ORA-47306": "a rule of Database Vault refuses this: have its owner see DBA_DV_RULE_SET, or measure as a user "
    "that the rule admits",
    "ORA-01089": "the instance is being shut down: wait until it is open again",
    "ORA-01219": "the database, or this pluggable database, is mounted but not open: alter database open, or alter "
    "pluggable database ... open",
    "ORA-12850": "a query of GV$ views got no parallel server on each instance, as while a node joins or leaves: "
    "wait, and see parallel_max_servers of each instance",
    # --- names and addresses
    "ORA-12504": "the address has no service: write ?service_name=NAME, or SERVICE_NAME into CONNECT_DATA",
    "ORA-12533": "the address in the connect descriptor is not valid: check PROTOCOL, HOST and PORT of its entry",
    "ORA-12543": "the host cannot be reached: check address, network and firewall",
    "ORA-12545": "no such host, or one of a cluster's names is not known on this machine: check the host's name, and "
    "those to which SCAN listeners redirect",
    "ORA-12261": "check the syntax of the Easy Connect string: HOST:PORT/SERVICE",
    "ORA-12262": "no such host in the Easy Connect string, or a name that tnsnames.ora does not have: check its "
    "spelling, and TNS_ADMIN or ?config_dir=FOLDER",
    "ORA-12263": "the client libraries find no tnsnames.ora: give its folder by ?config_dir=FOLDER or TNS_ADMIN",
    # --- without a listener, and by the operating system
    "ORA-12162": "no database is named, and ORACLE_SID is not set: export ORACLE_SID, or name a service in the URL",
    "ORA-12560": "the protocol could not be used: without a listener check ORACLE_SID, ORACLE_HOME and whether the "
    "instance runs, with one check host and port",
    "ORA-12546": "this user may not start a server process: check its groups, and the permissions of "
    "$ORACLE_HOME/bin/oracle",
    "ORA-12638": "the operating system gave no credentials: on Windows set SQLNET.AUTHENTICATION_SERVICES = (NONE) "
    "in sqlnet.ora, unless it is to authenticate; with Kerberos get a ticket (okinit)",
    "ORA-01005": "no password was given: password_env or password_file in dbcpu.toml",
    # --- TLS in thick mode
    "ORA-12578": f"the wallet could not be opened: {_WALLET_FILES}; cwallet.sso has to be there, readable by this user",
    "ORA-28759": f"a file of the wallet could not be opened: {_WALLET_FILES}; cwallet.sso or ewallet.p12 has to be "
    "there, readable by this user",
    "ORA-28860": "the TLS handshake failed: check that the port is a TCPS one, and compare SSL_VERSION and "
    "SSL_CIPHER_SUITES of client and server",
    "ORA-28862": f"the TLS connection failed: see the listener's log, and {_WALLET_FILES}",
    "ORA-28864": "the other side closed the TLS connection: see whether it requires a client certificate, and the "
    "listener's log",
    "ORA-29024": f"the server's certificate is not valid for this client: {_WALLET_FILES}; its authority has to be in "
    "that wallet, and the certificate must not have expired",
    "ORA-29003": "the certificate names another host: check SSL_SERVER_DN_MATCH and SSL_SERVER_CERT_DN of the entry",
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
    "?thick=1 with Oracle's client libraries, of 23.4 or newer for an LDAP URL",
    "component 'SLEEP' must be declared": "workload mixed needs Oracle Database 18c or newer",
}
"""Errors recognised by their text: TLS has no codes, PL/SQL has one for everything."""
_NOT_OPENED, _CLOSED = "DPY-6005", "DPY-4011"
_RESET = "Connection reset by peer"
_RESET_AT_CONNECT = "a TCPS port needs protocol=tcps; else see the listener's log"
_ENDED = (
    "the connection of a session was cut: see the alert log of the instance, whether the instance or the server "
    "process was ended (on the host by kill, or for want of memory: dmesg), and whether a firewall or gateway drops "
    "connections"
)
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
    if not remedy and (_CLOSED in found or _RESET in text):
        at_connect = _RESET_AT_CONNECT if _RESET in text else _NO_LISTENER
        remedy = at_connect if _NOT_OPENED in found else _ENDED
    return f"{message}; {remedy}" if remedy else message


def one_line(text: str) -> str:
    """A message of the server or the driver without line feeds, links to help pages and connection ids."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("Help: ", "(CONNECTION_ID="))]
    joined = " ".join(kept)
    return re.sub(r"\s*\(CONNECTION_ID=[^)]*\)\.?", "", joined) or "the server gave no reason"
