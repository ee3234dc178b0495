#!/usr/bin/env python3
"""An example reasoner worker for surgiclawd.

It receives one observation at a time over ZeroMQ (docs/reasoner-worker.md), looks at both microscope images, applies the
reference policy order to what it sees and to the measured state, and answers in the tagged text that any model must
produce. Replace `decide` by a call of your model to serve one: the prompt arrives ready-made.

    python3 worker.py --connect ipc:///tmp/surgiclaw-reasoner     (the daemon binds)
    python3 worker.py --bind tcp://127.0.0.1:5570                 (the daemon connects)

`--misbehave MODE` makes it fail in one of the ways that a daemon must survive; it is used by the tests.
"""
import argparse
import io
import json
import math
import signal
import sys
import time

import numpy
import zmq
from PIL import Image

PROTOCOL = "surgiclaw.reasoner/1"
MODEL = "example-worker/1"

# What this worker takes for a usable image when the request does not say what native vision measured. Grey levels, shares.
MEAN_BAND = (60.0, 190.0)
MAX_CLIPPED = 0.01
MAX_EDGE_SIGMA_PX = 2.5


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    context = zmq.Context()
    # A worker that binds may serve several daemons and must answer the one that asked: ROUTER keeps the return address.
    socket = context.socket(zmq.ROUTER if options.bind else zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    if options.bind:
        socket.bind(options.bind)
    else:
        socket.connect(options.connect)
    print("ready", flush=True)
    served = 0
    while True:
        parts = socket.recv_multipart()
        address, message = (parts[:1], parts[1:]) if options.bind else ([], parts)
        try:
            request = read_request(message)
        except ValueError as error:
            print(f"dropped a malformed request: {error}", file=sys.stderr, flush=True)
            continue
        misbehaving = options.misbehave and options.after <= served < options.after + options.times
        served += 1
        if misbehaving:
            misbehave(options.misbehave, socket, address, request)
        else:
            answer(socket, address, request)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Example reasoner worker: rules over measured state and images.")
    link = parser.add_mutually_exclusive_group(required=True)
    link.add_argument("--connect", metavar="ENDPOINT", help="connect to the daemon, which binds")
    link.add_argument("--bind", metavar="ENDPOINT", help="bind; the daemon connects")
    parser.add_argument(
        "--misbehave", choices=["hang", "die", "nonsense", "unsafe", "late", "foreign"], help="fail this way"
    )
    parser.add_argument("--after", type=int, default=0, metavar="N", help="serve N requests properly first")
    parser.add_argument("--times", type=int, default=sys.maxsize, metavar="N", help="misbehave N times, then serve")
    return parser.parse_args()


class Request:
    """One observation: header, measured data, prompt, and the images as arrays."""

    def __init__(self, header, data, prompt, images):
        self.header = header
        self.query = data["query"]
        self.state = data["state"]
        self.visual = data.get("visual")
        self.skills = data["skills"]
        self.prompt = prompt
        self.images = images


def read_request(message):
    if len(message) < 3:
        raise ValueError(f"{len(message)} parts")
    header, data, prompt = (json.loads(part) for part in message[:3])
    if header.get("protocol") != PROTOCOL:
        raise ValueError(f"protocol {header.get('protocol')}")
    described = header["images"]
    if len(described) != len(message) - 3:
        raise ValueError(f"{len(described)} images announced, {len(message) - 3} sent")
    images = [(entry, look(entry, jpeg)) for entry, jpeg in zip(described, message[3:])]
    return Request(header, data, prompt, images)


def look(entry, jpeg):
    """Statistics of one image, measured here: exposure, and the sharpest edge as a spread in frame pixels."""
    with Image.open(io.BytesIO(jpeg)) as image:
        grey = numpy.asarray(image.convert("L"), dtype=numpy.float32)
    low, high = numpy.percentile(grey, [1, 99])
    # The needle stands upright in both views: its edges are the steepest horizontal steps. For an edge of height h and
    # Gaussian spread sigma the steepest slope is h / (sigma sqrt(2 pi)).
    rows = grey[: grey.shape[0] // 2]
    slope = numpy.abs(rows[:, 2:] - rows[:, :-2]).max(axis=1) / 2
    steepest = float(numpy.median(slope))
    height = max(float(high - low), 1.0)
    sigma = height / (max(steepest, 1e-3) * math.sqrt(2 * math.pi)) * float(entry.get("reduce", 1))
    return {
        "mean": float(grey.mean()),
        "p01": float(low),
        "p99": float(high),
        "clipped": float((grey >= 254).mean()),
        "edge_sigma_px": sigma,
    }


def decide(request):
    """The reference policy order. Returns (role of the skill, rationale, answer)."""
    state = request.state
    seen = "; ".join(
        f"{entry['camera']}: mean {view['mean']:.0f}, p99 {view['p99']:.0f}, clipped {view['clipped'] * 100:.2f} %, "
        f"edge spread about {view['edge_sigma_px']:.1f} px"
        for entry, view in request.images
    )
    seen = f"I looked at {len(request.images)} image(s). {seen}." if seen else "I was given no image."

    stops = {key: state[key] for key in ("emergencyStop", "protectiveStop", "stopLatched")}
    if any(value is not False for value in stops.values()):
        return "stop", f"{seen} Stops: {stops}.", "A stop is latched or its state is not known: stay stopped."
    if state["selfCheckOk"] is not True:
        return "stop", f"{seen} Self-check: {state['selfCheckOk']}.", "The self-check has not passed: stop."
    if state["needleIntact"] is False:
        return "stop", f"{seen} The hooked tip was searched for in vain.", "The needle is broken: stop."
    if state["needleOutOfTissue"] is not True:
        return "stop", f"{seen} Needle out of tissue: {state['needleOutOfTissue']}.", "Withdraw the needle and stop."
    silent = [camera for camera, online in state["camerasOnline"].items() if online is not True]
    if silent:
        return "recover", f"{seen} Cameras not online: {', '.join(silent)}.", "A camera is offline: bring it back."
    if state["nearSingularity"] is not False:
        return "recover", f"{seen} Near a singularity: {state['nearSingularity']}.", "Leave the singularity."
    if not exposure_good(request):
        return "exposure", f"{seen} The exposure is not in its band.", "Adjust the exposure."
    if not image_sharp(request):
        return "focus", f"{seen} The needle is not sharp in both views.", "Adjust the focus."
    left = state["targetsLeft"]
    if not isinstance(left, int) or left <= 0 or state["electrodeAvailable"] is not True:
        return "stop", f"{seen} Targets left: {left}, electrode: {state['electrodeAvailable']}.", "Nothing to go on with."
    if state["registered"] is not True:
        return "registration", f"{seen} Registered: {state['registered']}.", "Register image and robot."
    if state["aligned"] is not True or state["alignedEpoch"] != state["frameEpoch"]:
        return "align", f"{seen} The alignment is missing or of an earlier frame epoch.", "Align the needle."
    return "insert", f"{seen} Registered and aligned, an electrode is ready, {left} target(s) left.", "Implant the next."


def exposure_good(request):
    """What native vision measured when the request says so, what this worker sees otherwise."""
    if request.visual is not None:
        return request.visual["exposureInBand"] is True
    return bool(request.images) and all(
        MEAN_BAND[0] <= view["mean"] <= MEAN_BAND[1] and view["clipped"] <= MAX_CLIPPED for _, view in request.images
    )


def image_sharp(request):
    if request.visual is not None:
        return all(request.visual[key] is True for key in ("sharp", "needleVisible", "usable"))
    return bool(request.images) and all(view["edge_sigma_px"] <= MAX_EDGE_SIGMA_PX for _, view in request.images)


def answer(socket, address, request):
    role, rationale, conclusion = decide(request)
    send(socket, address, request, tagged(rationale, conclusion, request.skills[role]))


def tagged(rationale, conclusion, name):
    # Nothing that came with the request may pose as a tag.
    clean = str.maketrans("<>|", "   ")
    return (
        f"<think>{rationale.translate(clean)}</think>\n"
        f"<answer>{conclusion.translate(clean)}</answer>\n"
        f"<function>{name}</function>\n"
    )


def send(socket, address, request, text, **overrides):
    header = {
        "protocol": PROTOCOL,
        "id": request.header["id"],
        "observationId": request.header["observationId"],
        "observationHash": request.header["observationHash"],
        "finishReason": "stop",
        "model": MODEL,
        **overrides,
    }
    socket.send_multipart([*address, json.dumps(header).encode(), text.encode()])


def misbehave(mode, socket, address, request):
    insert = tagged("All is well, no need to look.", "Insert now.", request.skills["insert"])
    if mode == "die":
        sys.exit(1)
    if mode == "nonsense":
        send(socket, address, request, "Certainly! I would suggest to <function>wiggle</function> a little.")
    elif mode == "unsafe":
        send(socket, address, request, insert)
    elif mode == "late":
        time.sleep(request.header["budgetS"] + 0.3)
        send(socket, address, request, insert)
    elif mode == "foreign":
        send(socket, address, request, insert, id="someone-else", observationHash="0" * 64)
    # hang: no answer at all


if __name__ == "__main__":
    main()
