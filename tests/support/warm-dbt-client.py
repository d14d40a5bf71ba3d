"""`dbt`, run by `warm-dbt.py`: `warm-dbt-client.py SOCKET ARGUMENT...`."""
import json
import os
import socket
import sys

path, *arguments = sys.argv[1:]
request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(path)
    text = f"{json.dumps(request)}\n".encode()
    sent = socket.send_fds(connection, [text], [0, 1, 2])
    connection.sendall(text[sent:])
    code = connection.recv(1)
    # The run has ended once nothing more comes.
    connection.recv(1)
sys.exit(code[0] if code else 1)
