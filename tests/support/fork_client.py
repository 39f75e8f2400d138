"""Has a program run by a fork server (fork_server.py): python -ISE fork_client.py SOCKET ARGUMENT..."""

import json
import os
import signal
import socket
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(sys.argv[1])
        socket.send_fds(asked, [json.dumps([sys.argv[1:], dict(os.environ)]).encode()], [0, 1, 2])
        ended = asked.recv(16)
    sys.exit(int(ended) if ended else 1)
