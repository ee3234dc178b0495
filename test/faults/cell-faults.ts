/**
 * Every fault mode and trap that the reference document of stages, needle drive, serial lines and cameras names, the switches
 * of the twin that make it, and the test that says what must come of it. Written by hand from the document;
 * cell-faults.smoke.test.ts keeps switches and tests honest, docs/cell-faults.md is made from it.
 */
import type { DocumentFault } from "./ur/document-faults.js";

/** Files and titles below test/faults, unless a row begins with another folder. */
const rowsOf =
  (area: string, file: string) =>
  (fault: string, switches: string, title: string, otherFile?: string): DocumentFault => ({
    area,
    fault,
    switches: switches === "" ? [] : switches.split(" "),
    test: `${otherFile ?? file} :: ${title}`,
  });

const controller = rowsOf("stage controller", "faults/kohzu/controller.test.ts");
const clients = rowsOf("other clients", "faults/kohzu/other-clients.test.ts");
const stageLine = rowsOf("stage line", "faults/kohzu/line.test.ts");
const drive = rowsOf("needle drive", "faults/needle/conditions.test.ts");
const needleLine = rowsOf("needle line", "faults/needle/line.test.ts");
const camera = rowsOf("camera", "faults/camera/camera.test.ts");

const smoke = "faults/kohzu/kohzu.smoke.test.ts";
const whileMoving = "what the drive reports while it moves ends the motion";
const noReference = "without a reference nothing goes to a place";

export const cellFaults: readonly DocumentFault[] = [
  controller(
    "emergency stop; REM refused while the cause is there (801); origins lost",
    "stage-emergency-stop stage-emergency-release",
    "stage-emergency-stop: all axes stand at once",
    smoke,
  ),
  controller(
    "E SYS 5 between request and reply",
    "",
    "E SYS 5 between request and reply is heard",
    "cell/kohzu/kohzu-controller.test.ts",
  ),
  controller("power cycle: origins and locks gone", "stage-power-cycle", "stage-power-cycle in the middle"),
  controller("power-up with the counter anywhere", "", "power-up with the counter anywhere and no origin"),
  controller("link to the LYNX lost (6, 802)", "stage-lynx-lost", "stage-lynx-lost: the axes of the LYNX"),
  controller(
    "the device map changes (51, 52)",
    "stage-device-left stage-device-joined",
    "a LYNX that leaves is a fault",
  ),
  controller("driver alarm (315)", "stage-alarm", "stage-alarm: the axis stops short"),
  controller(
    "servo not ready (321)",
    "stage-servo-not-ready stage-servo-ready",
    "stage-servo-not-ready: refused by name",
  ),
  controller(
    "excitation off: refused (308), or steps missed on the way",
    "stage-excitation-off stage-excitation-on",
    "stage-excitation-off: refused at rest (308)",
  ),
  controller(
    "missed steps that the counter does not know",
    "stage-steps-lost",
    "stage-steps-lost: invisible",
  ),
  controller(
    "a limit stuck closed; both on look like no stage (307)",
    "stage-limit-closed stage-limit-good",
    "stage-limit-closed blocks the way outward only",
  ),
  controller(
    "a limit that never closes: hard stop",
    "stage-limit-open",
    "stage-limit-open: homing is not fooled",
  ),
  controller(
    "the near-origin sensor never switches",
    "stage-origin-dead stage-origin-good",
    "stage-origin-dead: the search ends on a limit",
  ),
  controller(
    "WSY acknowledged but not applied",
    "stage-setting-ignored",
    "stage-setting-ignored: the origin",
  ),
  controller("two owners of backlash", "stage-own-backlash", "stage-own-backlash: two owners"),
  controller("busy reported false too early", "stage-early-idle", "stage-early-idle: one look that says"),
  controller(
    "a float compare refuses whole pulses at the soft limit",
    "",
    "+7.350 mm are 14700 pulses and allowed",
    "cell/kohzu/kohzu-controller.test.ts",
  ),
  controller(
    "SC: STP answers only when the axis has stopped",
    "",
    "SC: STP answers only when the axis has stopped",
    "twin/kohzu/other-dialects.test.ts",
  ),
  clients(
    "another client stops an axis: no completion reply",
    "stage-foreign-stop",
    "stage-foreign-stop: the move",
  ),
  clients("another client moves an axis", "stage-foreign-move", "stage-foreign-move: an axis that moves"),
  clients("the 33rd client is not answered", "stage-clients-full", "stage-clients-full: no answer"),
  clients("two programs at one port", "", "two daemons at one serial port"),
  stageLine("all connections close", "stage-link-drop", "stage-link-drop: the fault is latched", smoke),
  stageLine("a pulled network cable", "stage-link-cut", "stage-link-cut: a pulled network cable"),
  stageLine("late reply", "stage-line-late", "stage-line-late: a timeout"),
  stageLine("split reply", "stage-line-split", "stage-line-split: replies in single bytes"),
  stageLine(
    "lost reply, half a reply",
    "stage-line-reply-lost stage-line-reply-cut",
    "a reply that is lost, cut, or short of its end",
  ),
  stageLine("a reply twice", "stage-line-reply-repeated", "a reply that comes twice is answered once"),
  stageLine(
    "dropped byte, damaged byte, garbage",
    "stage-line-byte-lost stage-line-byte-damaged stage-line-garbage",
    "a damaged or shortened reply, and noise",
  ),
  stageLine("obeyed but not answered", "stage-line-silent", "stage-line-silent: what was asked may"),
  stageLine(
    "wrong baud rate, echoing line",
    "stage-line-wrong-speed stage-line-echo",
    "stage-line-wrong-speed and stage-line-echo",
  ),
  stageLine("unplugged, back under another name", "", "a serial adapter that is unplugged and returns"),
  drive("driver off, by itself or by others (FD)", "needle-driver-fault needle-driver-off", whileMoving),
  drive("encoder error (FQ)", "needle-encoder-fault", whileMoving),
  drive(
    "stall (FS), unexpected limit (WL), off path (FP)",
    "needle-obstacle needle-limit-trip needle-off-path",
    whileMoving,
  ),
  drive("twist (FT), stream bounds (FB)", "needle-twist needle-stream-bounds", whileMoving),
  drive(
    "calibration (WP), voltage (WV), temperature (WT)",
    "needle-calibration needle-voltage needle-overheated",
    whileMoving,
  ),
  drive("manual control (NC), joystick (NJ)", "needle-manual needle-joystick", whileMoving),
  drive("displaced at rest (WM)", "needle-displaced", "what it reports while it stands forbids"),
  drive(
    "setting pending (NU), stream ran dry (ND)",
    "needle-setting-pending needle-stream-gap",
    "notes forbid nothing",
  ),
  drive("interrupted (NI)", "needle-interrupted", "a motion that somebody else stops"),
  drive(
    "no reference (WR), not homed (WH), reference told",
    "needle-power-cycle needle-reference-told",
    noReference,
  ),
  drive("homing fails (FE)", "needle-home-sensor", noReference),
  needleLine(
    "lost, half or damaged reply",
    "needle-reply-lost needle-reply-cut needle-byte-lost needle-byte-damaged",
    "a reply that is lost, broken or damaged stops",
  ),
  needleLine("a reply twice", "needle-reply-repeated", "a reply that comes twice is counted and dropped"),
  needleLine("late reply", "needle-late", "late replies: the deadline names device"),
  needleLine("split reply", "needle-split", "replies in single bytes"),
  needleLine("garbage", "needle-garbage", "bytes outside the protocol: the drive is stopped"),
  needleLine("obeyed but not answered", "needle-silent", "a drive that acts but does not answer"),
  needleLine("wrong baud rate, echoing line", "needle-wrong-speed needle-echo", "a line at the wrong speed"),
  needleLine("unplugged within a stroke", "needle-unplug", "the cable is pulled within a stroke"),
  needleLine("two programs at one port", "", "a second owner is refused by the port"),
  camera(
    "killed in mid-stream; back with its settings",
    "camera-offline camera-online",
    "camera-offline: silent, then lost",
  ),
  camera("packets lost, none sent again", "camera-lost-packets", "camera-lost-packets: damaged frames"),
  camera(
    "no frames although control answers",
    "camera-stall camera-unstall",
    "camera-stall: offline by its silence",
  ),
  camera(
    "frozen on one picture",
    "camera-freeze camera-unfreeze",
    "camera-freeze: frames come and are not trusted",
    "faults/camera/camera.smoke.test.ts",
  ),
  camera(
    "control lost",
    "camera-control-lost",
    "camera-control-lost: a latched fault",
    "faults/camera/camera.smoke.test.ts",
  ),
  camera(
    "another camera at the address",
    "camera-model camera-serial",
    "camera-model, camera-serial: another",
  ),
  camera("its clock is off", "camera-clock", "camera-clock: a frame is never taken"),
  camera(
    "slow consumer of control, late frames",
    "camera-slow",
    "camera-slow: frames and settings come late",
  ),
  camera(
    "exposure changed from elsewhere",
    "camera-exposure",
    "camera-exposure: another exposure is read back",
  ),
  camera("microscope pushed", "focus-knocked", "focus-knocked: the picture blurs"),
  camera("two programs at one camera", "", "two programs at one camera: the second is refused"),
  camera(
    "range not enforced by the camera",
    "",
    "bounds are checked before anything is written",
    "cell/microscope/microscope.test.ts",
  ),
  camera(
    "frame ids wrap at 65535",
    "",
    "frameNumbersWrapFrom65535To1AndGapsAreCounted",
    "native/grabber/gige_peer_test.cc",
  ),
  camera(
    "consumer too slow: underrun",
    "",
    "too many held frames are an error",
    "cell/microscope/microscope.test.ts",
  ),
];
