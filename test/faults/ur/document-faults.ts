/**
 * Every fault mode and trap that the reference document of the UR controller names (its sections in brackets there), the
 * switches of the twin that make it, and the test that says what must come of it. Written by hand from the document;
 * document-faults.smoke.test.ts keeps switches and tests honest, docs/arm-faults.md is made from it.
 */
export interface DocumentFault {
  readonly area: string;
  readonly fault: string;
  /** Empty where the emulator always behaves so. */
  readonly switches: readonly string[];
  /** FILE :: words of its title, below test/. */
  readonly test: string;
}

const row = (area: string, fault: string, switches: string, test: string): DocumentFault => ({
  area,
  fault,
  switches: switches === "" ? [] : switches.split(" "),
  test,
});

const setup = "RTDE set-up";
const stream = "RTDE stream";
const transport = "transport";
const boot = "boot and power";
const dashboard = "dashboard";
const control = "control";
const streams = "streams";
const link = "faults/ur/rtde-link.test.ts";
const odd = "faults/ur/rtde-answers.smoke.test.ts";
const more = "faults/ur/streams.test.ts";
const safety = "faults/ur/safety.test.ts";
const controls = "faults/ur/control.test.ts";
const panel = "faults/ur/dashboard.test.ts";
const oddly = ": connects, moves, and no sample is wrong";

export const documentFaults: readonly DocumentFault[] = [
  row(
    setup,
    "inputs in use by a field bus or a gripper",
    "arm-rtde-in-use",
    `${link} :: arm-rtde-in-use: the claim is refused by name`,
  ),
  row(
    setup,
    "fields that the firmware does not know",
    "arm-rtde-not-found",
    `${link} :: arm-rtde-not-found: an optional field`,
  ),
  row(
    setup,
    "firmware 3.3, 3.4, 3.9, 3.15 and 5.x: other fields, other versions",
    "",
    "faults/ur/firmware.test.ts :: size of a real-time packet",
  ),
  row(
    setup,
    "version 2 refused",
    "arm-rtde-version-1",
    `${link} :: arm-rtde-version-1: the driver falls back`,
  ),
  row(setup, "the answer to a start comes twice", "arm-rtde-start-twice", `${odd} :: ${oddly}`),
  row(setup, "the answer to a start comes late", "arm-rtde-start-late", `${odd} :: ${oddly}`),
  row(setup, "data before the answer to a start", "arm-rtde-data-first", `${odd} :: ${oddly}`),
  row(setup, "a text message before anything was asked", "arm-rtde-message-first", `${odd} :: ${oddly}`),
  row(
    setup,
    "a text message at any time",
    "arm-rtde-message",
    `${more} :: arm-rtde-message: a message in the middle`,
  ),
  row(
    setup,
    "lists of names limited to 2048 bytes",
    "arm-rtde-recipe-bytes",
    `${more} :: arm-rtde-recipe-bytes: a list beyond the limit`,
  ),
  row(
    setup,
    "recipes limited to 96 fields",
    "arm-rtde-recipe-fields",
    `${more} :: arm-rtde-recipe-fields: fields beyond the limit`,
  ),
  row(
    setup,
    "an empty input recipe is never answered",
    "",
    "twin/ur/servers.test.ts :: An empty list is not answered",
  ),
  row(setup, "a reconnect needs the whole handshake", "", `${link} :: link-drop: the arm brakes`),
  row(
    stream,
    "a slow reader is closed",
    "arm-rtde-slow-reader",
    `${more} :: arm-rtde-slow-reader: a client that does not read`,
  ),
  row(
    stream,
    "cycles are skipped under load, without a backlog",
    "arm-rtde-skip",
    `${link} :: a jump in time shorter than the limits`,
  ),
  row(
    stream,
    "timestamps begin at zero again",
    "arm-rtde-time-reset",
    `${link} :: arm-rtde-time-reset: timestamps that go backwards`,
  ),
  row(
    stream,
    "RTDE restarts once during boot",
    "arm-rtde-restart",
    `${more} :: arm-rtde-restart in mid-motion`,
  ),
  row(
    stream,
    "silence; old data must not be taken for new",
    "arm-rtde-silent",
    "faults/ur/ur.smoke.test.ts :: arm-rtde-silent: samples grow old",
  ),
  row(transport, "one byte per segment", "arm-rtde-bytewise", `${odd} :: ${oddly}`),
  row(transport, "many frames per segment", "arm-rtde-bundle", `${odd} :: ${oddly}`),
  row(
    transport,
    "frames longer than 1460 bytes",
    "arm-rtde-segments",
    `${more} :: arm-rtde-segments: frames longer`,
  ),
  row(
    transport,
    "a reset in the middle of a frame",
    "arm-rtde-cut",
    `${link} :: arm-rtde-cut: half a package`,
  ),
  row(
    boot,
    "power cycle; the robot boots after the client",
    "arm-power-cycle arm-boot",
    `${controls} :: arm-boot: a controller that boots`,
  ),
  row(
    boot,
    "restart of safety drops the connections",
    "arm-restart-safety",
    `${safety} :: arm-restart-safety in mid-motion`,
  ),
  row(
    boot,
    "emergency stop, and its release",
    "arm-emergency-stop arm-emergency-release",
    `${controls} :: arm-emergency-stop: power goes`,
  ),
  row(
    dashboard,
    "the greeting comes late",
    "arm-dashboard-banner",
    `${panel} :: arm-dashboard-banner: a greeting`,
  ),
  row(
    dashboard,
    "an answer comes late and would be read as the next one's",
    "arm-dashboard-slow",
    `${panel} :: arm-dashboard-slow: a late answer`,
  ),
  row(
    dashboard,
    "its text lags behind RTDE",
    "arm-dashboard-lag",
    `${panel} :: arm-dashboard-lag: safety comes from RTDE`,
  ),
  row(
    dashboard,
    "a protective stop stays locked for 5 s",
    "",
    `${controls} :: recovered after its five seconds`,
  ),
  row(
    dashboard,
    "another sentence than the expected one",
    "arm-dashboard-refuses",
    `${safety} :: arm-dashboard-refuses: any other sentence`,
  ),
  row(
    dashboard,
    "connections close at a switch between local and remote",
    "arm-dashboard-drop",
    `${safety} :: arm-dashboard-drop: the next command`,
  ),
  row(
    control,
    "local mode: scripts are refused, C210",
    "arm-local",
    "faults/ur/ur.smoke.test.ts :: arm-local: the control program is refused",
  ),
  row(
    control,
    "scripts are swallowed: services disabled",
    "arm-scripts-ignored",
    `${safety} :: arm-scripts-ignored: a control program`,
  ),
  row(
    control,
    "a watchdog trips: C207 and a protective stop",
    "arm-watchdog",
    `${safety} :: arm-watchdog: nobody feeds it`,
  ),
  row(
    control,
    "protective stop C153, and what was sent before it",
    "arm-protective-stop",
    `${controls} :: recovered after its five seconds`,
  ),
  row(
    control,
    "servo targets leap: C204",
    "arm-servo-jump",
    `${controls} :: arm-servo-jump: another client's servo targets`,
  ),
  row(
    control,
    "servo targets stop coming",
    "arm-servo-starved",
    `${controls} :: arm-servo-starved: without targets`,
  ),
  row(
    control,
    "fifty protective stops of a joint in 8 h: C163",
    "arm-protective-stops",
    `${safety} :: arm-protective-stops: the 50th`,
  ),
  row(
    control,
    "a safeguard stop, after which programs go on by themselves",
    "arm-safeguard-stop",
    `${safety} :: arm-safeguard-stop: the robot would go on by itself`,
  ),
  row(control, "speed slider at 0, then above", "arm-speed-slider", `${controls} :: arm-speed-slider at 0`),
  row(
    control,
    "the slider raised from 0: a protective stop",
    "arm-slider-stops",
    `${safety} :: arm-slider-stops: the speed comes back`,
  ),
  row(
    control,
    "a second program ends the first",
    "arm-second-program",
    `${controls} :: arm-second-program: another client's program`,
  ),
  row(
    control,
    "a program dies of an error",
    "arm-runtime-exception",
    `${controls} :: arm-runtime-exception: the other program's own words`,
  ),
  row(control, "somebody pushes the arm", "arm-pushed", `${safety} :: arm-pushed: an arm that holds`),
  row(
    streams,
    "realtime packets of another size",
    "arm-realtime-bytes",
    `${more} :: arm-realtime-bytes: a packet of unknown length`,
  ),
  row(
    streams,
    "a newer firmware adds bytes and sub-packages",
    "arm-stream-newer",
    `${more} :: arm-stream-newer: longer and unknown`,
  ),
  row(
    streams,
    "Modbus tells something else than RTDE",
    "arm-modbus-wrong",
    "faults/ur/modbus.test.ts :: arm-modbus-wrong: a clear fault",
  ),
  row(
    streams,
    "Modbus answers nothing",
    "arm-modbus-silent",
    "faults/ur/modbus.test.ts :: arm-modbus-silent: the arm works on",
  ),
];
