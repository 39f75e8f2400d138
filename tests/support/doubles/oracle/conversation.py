"""What a server process does from the first packet to its end: connect, agree, log on, serve calls."""

import os
import signal
import socket
import time
import traceback

from support.doubles.oracle import requests, responses
from support.doubles.oracle.auth import Logon
from support.doubles.oracle.calls import Calls
from support.doubles.oracle.engine import instance_name
from support.doubles.oracle.errors import Break, ClientGone, OracleError, Refused
from support.doubles.oracle.packets import Channel, ConnectData
from support.doubles.oracle.requests import Aside, Auth, Execute, Fetch, Reexecute, Request, Simple
from support.doubles.oracle.session import Killing, Server, Session
from support.doubles.oracle.wire import Reader

_SYSDBA = 0x20
_NO_TYPE = bytes(2)
_UNKNOWN_SERVICE, _UNKNOWN_SID, _NO_HANDLER, _UNKNOWN_INSTANCE = 12514, 12505, 12516, 12521
_FATAL = (28, 600, 1012, 1089, 1092, 2396, 3113, 3114, 3135)
_ACCOUNT = {"AUTH_PROGRAM_NM": "program", "AUTH_MACHINE": "machine", "AUTH_PID": "process", "AUTH_SID": "osuser",
            "AUTH_TERMINAL": "terminal"}  # fmt: skip


def serve(server: Server, connection: socket.socket, number: int, count: int, killing: Killing) -> None:
    """Serve one connection to its end. ``count``: connections accepted before this one."""
    channel = Channel(connection)
    try:
        conversation = _Conversation(server, channel, number, count)
        killing.session = conversation.session
        conversation.hold()
    except ClientGone:
        pass
    except Refused as refusal:
        channel.refuse(refusal.code)
    except Exception:
        # A bug of the double, or a message it does not know: the test that met it is to fail.
        server.journal.note("broken", trace=traceback.format_exc())
        raise


class _Conversation:
    def __init__(self, server: Server, channel: Channel, number: int, count: int) -> None:
        self._server = server
        self._channel = channel
        self._count = count
        self.session = Session(server, channel, number, os.getpid())
        self._version = server.profile.field_version
        self._fields: dict[str, str] = {}

    def hold(self) -> None:
        asked = self._listen()
        self._judge(asked)
        self._channel.accept(self._server.profile, min(self._server.sdu, asked.sdu))
        self._agree()
        try:
            self._serve_calls()
        finally:
            self.session.leave()

    # --- before the logon

    def _listen(self) -> ConnectData:
        faults = self._server.faults
        if self._count >= faults.from_connection:
            if faults.silent:
                while True:
                    signal.pause()
            time.sleep(faults.connect_delay_s)
        return self._channel.read_connect()

    def _judge(self, asked: ConnectData) -> None:
        faults, instance = self._server.faults, self._server.instance
        if faults.refuse and self._count >= faults.from_connection:
            raise Refused(faults.refuse)
        if faults.most_sessions is not None and len(self._server.table.entries()) >= faults.most_sessions:
            raise Refused(_NO_HANDLER)
        if asked.sid and asked.sid.upper() != instance.name.upper():
            raise Refused(_UNKNOWN_SID)
        if not asked.sid and asked.service.lower() != instance.service.lower():
            raise Refused(_UNKNOWN_SERVICE)
        up = {
            instance_name(instance, number): number
            for number in range(1, instance.instances + 1)
            if number not in faults.down
        }
        at = self.session.entry["instance"]
        at = at if at in up.values() else next(iter(up.values()))
        if asked.instance:
            if instance.hides_instances or asked.instance.upper() not in up:
                raise Refused(_UNKNOWN_INSTANCE)
            at = up[asked.instance.upper()]
        self.session.join(at)

    def _agree(self) -> None:
        """Protocol and data types, in one message with the logon's first phase or each alone; then the logon."""
        reader = self._channel.request()
        kind = reader.u8()
        if kind == requests.FAST_AUTH:
            reader.skip("111")
            _pass_protocol(reader)
            reader.raw(2 + 1 + 2 + 1)
            _pass_data_types(reader)
            reader.skip("111")
            agreed = responses.protocol(self._server.profile) + responses.data_types()
            self._log_on(requests.read_auth(reader, 1), agreed)
            return
        if kind != requests.PROTOCOL:
            raise OracleError(3115, f"message type {kind:#x} instead of the protocol message")
        _pass_protocol(reader, with_type=False)
        self._channel.respond(responses.protocol(self._server.profile), marked=False)
        capabilities = _pass_data_types(self._channel.request())
        self._version = min(self._version, capabilities[7])
        self._channel.respond(responses.data_types(), marked=False)
        request, _ = requests.read_request(self._channel.request(), self._version, lambda _: ())
        if not isinstance(request, Auth):
            raise OracleError(3115, "a call before the logon")
        self._log_on(request, b"")

    def _log_on(self, first: Auth, agreed: bytes) -> None:
        """An unknown user gets a challenge as well and is told only after the second phase."""
        server, user = self._server, first.user.upper()
        known = {name.upper(): password for name, password in server.users.items()}
        logon = Logon(known.get(user, os.urandom(8).hex()), server.verifier)
        flags = {"AUTH_VFR_DATA": logon.verifier_type}
        self._channel.respond(agreed + responses.parameters(logon.challenge(), flags) + responses.status())
        second, _ = requests.read_request(self._channel.request(), self._version, lambda _: ())
        if not isinstance(second, Auth) or not logon.check(second.parameters):
            error = OracleError(1017)
            server.journal.note("logon denied", user=user)
            self._channel.respond(responses.end(self._version, code=error.code, message=str(error)))
            raise ClientGone
        session = self.session
        if second.mode & _SYSDBA and user != "SYS":  # there is no password file
            error = OracleError(1031)
            self._channel.respond(responses.end(self._version, code=error.code, message=str(error)))
            raise ClientGone
        told = {name: first.parameters.get(key, "") for key, name in _ACCOUNT.items()}
        if proxied := second.parameters.get("PROXY_CLIENT_NAME", "").upper():
            if proxied not in known:
                error = OracleError(28150)
                self._channel.respond(responses.end(self._version, code=error.code, message=str(error)))
                raise ClientGone
            user = proxied
        session.publish(username=user, sysdba=bool(second.mode & _SYSDBA), **told)
        code = server.faults.logon_warning
        said = responses.warning(code, str(OracleError(code))) if code else b""
        self._channel.respond(said + responses.parameters(self._logged_on(logon)) + responses.status())

    def _logged_on(self, logon: Logon) -> dict[str, str]:
        profile, instance, session = self._server.profile, self._server.instance, self.session
        return {
            "AUTH_VERSION_NO": str(profile.version_number),
            "AUTH_SESSION_ID": str(session.sid),
            "AUTH_SERIAL_NUM": str(session.serial),
            "AUTH_SVR_RESPONSE": logon.proof(),
            "AUTH_SC_DBUNIQUE_NAME": instance.name,
            "AUTH_SC_REAL_DBUNIQUE_NAME": instance.name,
            "AUTH_SC_SERVICE_NAME": instance.service,
            "AUTH_INSTANCENAME": instance.name,
            "AUTH_MAX_OPEN_CURSORS": "300",
            "AUTH_MAX_IDEN_LENGTH": "128" if profile.field_version >= 8 else "30",
        }

    # --- calls

    def _serve_calls(self) -> None:
        session, calls = self.session, Calls(self.session, self._version)
        while True:
            try:
                reader = self._channel.request()
                session.begin_call()
                request, aside = requests.read_request(reader, self._version, calls.resent_binds)
                self._note(aside, calls)
                response = self._answer(request, calls)
            except Break:
                self._channel.answer_break()
                error = OracleError(1013)
                response = responses.end(self._version, code=error.code, message=str(error))
            except OracleError as raised:
                response = self._failed(raised)
            if session.in_call:
                session.end_call()
            self._channel.respond(response)
            if session.killed:
                raise ClientGone

    def _failed(self, error: OracleError) -> bytes:
        if error.code == 3115:
            self._server.journal.note("broken", trace=str(error))
        if error.code in _FATAL:
            self.session.killed = True
        in_transaction = self.session.in_transaction
        return responses.end(self._version, code=error.code, message=str(error), in_transaction=in_transaction)

    def _answer(self, request: Request, calls: Calls) -> bytes:
        session = self.session
        if isinstance(request, Execute):
            return self._committed(request.commit, calls.execute(request))
        if isinstance(request, Reexecute):
            return calls.reexecute(request)
        if isinstance(request, Fetch):
            return calls.fetch(request)
        if not isinstance(request, Simple):
            raise OracleError(3115, "a logon in the middle of a session")
        if request.function in (requests.COMMIT, requests.ROLLBACK):
            session.in_transaction = False
        elif request.function == requests.LOGOFF:
            # Before the answer: what follows the client's close must not see the session any more.
            session.leave()
            self._channel.respond(responses.status())
            raise ClientGone
        return responses.status(in_transaction=session.in_transaction)

    def _committed(self, commit: bool, response: bytes) -> bytes:
        if commit:
            self.session.in_transaction = False
        return response

    def _note(self, aside: Aside, calls: Calls) -> None:
        calls.close(aside.closed)
        if aside.attributes:
            self.session.publish(**aside.attributes)


def _pass_protocol(reader: Reader, *, with_type: bool = True) -> None:
    if with_type:
        reader.u8()
    while reader.u8():
        pass
    reader.until_nul()


def _pass_data_types(reader: Reader) -> bytes:
    """Pass over the client's representations; gives its compile-time capabilities."""
    reader.u8()
    reader.raw(5)
    capabilities = reader.data() or b""
    reader.data()
    while reader.raw(2) != _NO_TYPE:
        if reader.raw(2) != _NO_TYPE:
            reader.raw(4)
    return capabilities
