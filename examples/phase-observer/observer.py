#!/usr/bin/env python3
"""An example observer for `surgiclaw phase observe --observer zmq`.

It receives one storyboard at a time over ZeroMQ (docs/phase.md) and answers with one JSON record. Replace `judge` by a
call of your model to serve one: the prompt arrives ready-made.

What it does itself is deliberately little, but honest: it compares the full views of the panels. If nothing moved it
names the first phase. If something moved, it cannot know what, so it claims the second phase alone, first reached
between the last panel that looks like the first one and the first panel that does not.

    python3 observer.py --connect ipc:///tmp/phase-observer     (surgiclaw binds)
    python3 observer.py --bind tcp://127.0.0.1:5571             (surgiclaw connects)

`--misbehave MODE` makes it fail in one of the ways that the other side must survive; it is used by the tests.
"""
import argparse
import io
import json
import signal
import sys
import time

import numpy
import zmq
from PIL import Image

PROTOCOL = "surgiclaw.phase-observer/1"
MODEL = "example-observer/1"

# A pixel counts as changed from this many grey levels on; a panel, from this share of changed pixels on.
MIN_LEVELS = 24
MIN_SHARE = 0.002
# Rows with the label, which differs from panel to panel.
LABEL_ROWS = 40


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    context = zmq.Context()
    # A worker that binds must answer the one that asked: ROUTER keeps the return address.
    socket = context.socket(zmq.ROUTER if options.bind else zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    if options.bind:
        socket.bind(options.bind)
    else:
        socket.connect(options.connect)
    print("ready", flush=True)
    while True:
        parts = socket.recv_multipart()
        address, message = (parts[:1], parts[1:]) if options.bind else ([], parts)
        try:
            header, data, _prompt, panels = read_request(message)
        except ValueError as error:
            print(f"dropped a malformed request: {error}", file=sys.stderr, flush=True)
            continue
        answer(socket, address, header, data, panels, options.misbehave)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Example phase observer: did anything move, and when.")
    link = parser.add_mutually_exclusive_group(required=True)
    link.add_argument("--connect", metavar="ENDPOINT", help="connect to surgiclaw, which binds")
    link.add_argument("--bind", metavar="ENDPOINT", help="bind; surgiclaw connects")
    parser.add_argument("--misbehave", choices=["hang", "late", "prose", "cut"], help="fail this way")
    return parser.parse_args()


def read_request(message):
    if len(message) < 3:
        raise ValueError(f"{len(message)} parts")
    header, data, prompt = (json.loads(part) for part in message[:3])
    if header.get("protocol") != PROTOCOL:
        raise ValueError(f"protocol {header.get('protocol')}")
    if len(header["images"]) != len(message) - 3:
        raise ValueError(f"{len(header['images'])} images announced, {len(message) - 3} sent")
    panels = []
    for entry, png in zip(header["images"], message[3:]):
        with Image.open(io.BytesIO(png)) as image:
            panels.append((entry, numpy.asarray(image.convert("L"), dtype=numpy.int16)))
    return header, data, prompt, panels


def judge(data, panels):
    """The record as a dictionary."""
    timed = [(entry, grey[LABEL_ROWS:]) for entry, grey in panels if entry["kind"] == "time"]
    first = timed[0][1]
    labels = [phase["label"] for phase in data["phases"]]
    before = timed[0][0]
    for entry, grey in timed[1:]:
        if (numpy.abs(grey - first) >= MIN_LEVELS).mean() >= MIN_SHARE:
            return moved(data["form"], labels, before, entry)
        before = entry
    if data["form"] == "seconds":
        return {"arrivals": {label: None for label in labels[1:]}, "confidence": 0.5}
    return {"phase": labels[0], "arrival": None, "confidence": 0.5}


def moved(form, labels, before, entry):
    if form == "seconds":
        arrivals = {label: None for label in labels[1:]}
        arrivals[labels[1]] = entry["timesS"][0]
        return {"arrivals": arrivals, "confidence": 0.5}
    return {"phase": labels[1], "arrival": [before["steps"][0], entry["steps"][0]], "confidence": 0.5}


def answer(socket, address, header, data, panels, misbehave):
    text = json.dumps(judge(data, panels))
    finish = "stop"
    if misbehave == "hang":
        return
    if misbehave == "late":
        time.sleep(header["budgetS"] + 0.3)
    elif misbehave == "prose":
        text = f"Looking at the panels, I believe it is {text}"
    elif misbehave == "cut":
        text, finish = text[: len(text) // 2], "length"
    reply = {
        "protocol": PROTOCOL,
        "id": header["id"],
        "storyboardSha256": header["storyboardSha256"],
        "finishReason": finish,
        "model": MODEL,
    }
    socket.send_multipart([*address, json.dumps(reply).encode(), text.encode()])


if __name__ == "__main__":
    main()
