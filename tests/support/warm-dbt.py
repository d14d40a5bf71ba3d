"""Runs dbt as often as it is asked to, with its libraries loaded once: `warm-dbt.py SOCKET`. Each run is a fork in the folder
of its caller, with the caller's environment and standard files; it ends with its caller, and all end with standard input."""
import json
import os
import random
import select
import signal
import socket
import sys
import threading
import traceback


def received(connection):
    """The request, which is a line of JSON, and the caller's standard files."""
    text, files = b"", []
    while not text.endswith(b"\n"):
        part, more, _, _ = socket.recv_fds(connection, 65536, 3)
        if not part:
            raise EOFError
        text, files = text + part, files + more
    return json.loads(text), files


def end_with(connection):
    connection.recv(1)
    os._exit(1)


def run(connection):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files = received(connection)
    for file, own in zip(files, range(3)):
        os.dup2(file, own)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    # Else all runs would draw the same numbers.
    random.seed()
    sys.argv = ["dbt", *request["arguments"]]
    threading.Thread(target=end_with, args=[connection], daemon=True).start()
    from dbt.cli.main import cli

    code = 1
    try:
        cli()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code]))


listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
print("listening", flush=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
    caller, _ = listener.accept()
    # At the first run: most test runs have none.
    import dbt.adapters.clickhouse
    import dbt.adapters.postgres
    import dbt.cli.main

    if os.fork() == 0:
        listener.close()
        run(caller)
        sys.exit()
    caller.close()
