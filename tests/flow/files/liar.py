#!/usr/bin/python3
"""Replaces media-sandbox, and lies in the way that its own file name says."""
import array
import os
import socket
import struct
import sys
import time

MESSAGE = struct.Struct("IIq")
READ, PIECE, DONE, FAIL = range(4)
FACTS = struct.Struct("IIIId")
HOW = os.path.basename(sys.argv[0]).removeprefix("liar-")


def lie(peer):
    say = peer.sendall
    if HOW == "huge":
        say(MESSAGE.pack(DONE, FACTS.size, 0) + FACTS.pack(1, 4_000_000_000, 4_000_000_000, 1, float("nan")))
    elif HOW == "endless":
        while True:
            say(MESSAGE.pack(READ, 65536, 0))
            got, = struct.unpack("I", peer.recv(4, socket.MSG_WAITALL))
            peer.recv(got, socket.MSG_WAITALL)
    elif HOW == "far":
        say(MESSAGE.pack(READ, 65536, 1 << 62))
        say(MESSAGE.pack(READ, 65536, -1))
    elif HOW == "much":
        say(MESSAGE.pack(READ, 1 << 31, 0))
    elif HOW == "short":
        say(MESSAGE.pack(DONE, 4, 0) + b"abcd")
    elif HOW == "pieces":
        say(MESSAGE.pack(PIECE, 1 << 31, 0) + bytes(100_000))
    elif HOW == "flood":
        while True:
            say(MESSAGE.pack(PIECE, 65536, 0) + bytes(65536))
    elif HOW == "unknown":
        say(MESSAGE.pack(77, 77, 77))
    elif HOW == "failure":
        say(MESSAGE.pack(FAIL, 4711, 0))
    elif HOW == "silent":
        time.sleep(600)


control = socket.socket(fileno=0)
while True:
    data, descriptors, _, _ = control.recvmsg(1, socket.CMSG_LEN(4))
    if not data:
        break
    connection = socket.socket(fileno=array.array("i", descriptors[0][2])[0])
    if os.fork() == 0:
        control.close()
        try:
            lie(connection)
        except (OSError, struct.error):
            pass
        os._exit(0)
    connection.close()
