"""Runs the ClickHouse server of the npm package chdb: server.py <libchdb.so> <arguments of clickhouse-local>."""

import ctypes
import signal
import sys

# Ends with the process that started it.
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
run = library.chdb_query_cmdline
run.restype = ctypes.c_void_p
run.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
error_of = library.chdb_result_error
error_of.restype = ctypes.c_char_p
error_of.argtypes = [ctypes.c_void_p]

arguments = [b"clickhouse-local"] + [argument.encode() for argument in sys.argv[2:]]
error = error_of(run(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)))
if error:
    sys.exit(error.decode())
