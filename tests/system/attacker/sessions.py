"""A whole client: with a worker where it is asked for, and with a mouth for whatever else is to be said as that user."""

from __future__ import annotations

import json
import os
import sys
import time

import zmq
from hellos import hello
from wire import Peer, frame, pack, say

CHATTER = ("beat", "lease_status", "notice")


def session(request: dict) -> dict:
    """endpoint, daemon_key, proof, directory, interpreter, environment, [demand, python, pounce]: a client, to `attached`.

    Says what it got, then does what each further line asks (`say_to`) and stays until standard input ends.
    """
    subject = os.urandom(16).hex()
    met = hello({**request, "role": "client", "subject": subject})
    if not met["answer"] or met["answer"]["type"] != "welcome":
        return met
    control, worker = Peer(met["keys"]), None
    control.connect(met["answer"]["control"][0], request["daemon_key"])
    control.socket.send_multipart([pack("open_session", session=subject, pid=os.getpid(), host="here",
                                        directory=request["directory"], interpreter=request["interpreter"],
                                        environment=request["environment"])])
    got = {"session": subject, "public": met["keys"][0], "control": met["answer"]["control"]}
    if "demand" in request:
        requests = [{"id": 1, "resources": request["demand"], "waiting": 1, "running": 0, "holds": []}]
        control.socket.send_multipart([pack("demand", session=subject, requests=requests)])
        granted = control.wait_for("granted")
        if granted["type"] != "granted":
            return {"answer": granted}
        worker = Peer(met["keys"])
        worker.connect(granted["endpoint"], granted["key"])
        worker.socket.send_multipart([pack("attach", session=subject, pounce=request["pounce"], python=request["python"])])
        got |= {"granted": granted, "attached": worker.wait_for("attached")}
    say(got)
    stay({"control": control, "worker": worker} if worker else {"control": control})
    control.socket.send_multipart([pack("close_session", session=subject)])
    return {"closed": control.socket.poll(300) == 0}


def stay(peers: dict[str, Peer]) -> None:
    poller = zmq.Poller()
    poller.register(sys.stdin.fileno(), zmq.POLLIN)
    while True:
        if poller.poll(500):
            line = sys.stdin.readline()
            if not line:
                return
            request = json.loads(line)
            say(say_to(peers[request["to"]], request))
        for peer in peers.values():
            peer.socket.send_multipart([pack("beat", answer=False, sent_ns=1)])
            while peer.socket.poll(0):
                peer.socket.recv_multipart()


def say_to(peer: Peer, request: dict) -> dict:
    """frames, [until]: what was answered before the answer to a beat behind it, or up to a message of type `until`."""
    sent = time.monotonic_ns()
    peer.socket.send_multipart([frame(of) for of in request["frames"]])
    peer.socket.send_multipart([pack("beat", answer=False, sent_ns=sent)])
    heard: list[dict] = []
    deadline = time.monotonic() + request.get("seconds", 10)
    while time.monotonic() < deadline:
        if not peer.socket.poll(500):  # the connection was cut, and is made again
            peer.socket.send_multipart([pack("beat", answer=False, sent_ns=sent)])
            continue
        message = json.loads(peer.socket.recv_multipart()[0])
        if message["type"] not in CHATTER:
            heard.append(message)
        behind = message["type"] == "beat" and message.get("sent_ns") == sent
        if message["type"] in request["until"] if "until" in request else behind:
            return {"heard": heard, "alive": True}
    return {"heard": heard, "alive": False}


REQUESTS = {"session": session}
