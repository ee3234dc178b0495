/**
 * Every key of the configuration file: type, range, unit, default, meaning, and whether a change needs a restart.
 * Unknown keys are errors. `surgiclaw config explain` prints this table; docs/configuration.md holds it for reading.
 */
import { z } from "zod";
import { key } from "./schema-keys.js";

const text = z.string().min(1);
const port = z.int().min(1).max(65535);
const path = text;

const arm = z.strictObject({
  driver: key(z.enum(["ur"]).default("ur"), "family of the arm"),
  profile: key(text, "name of a file in firmware-profiles/ (without .yaml), or a path"),
  host: key(text.default("127.0.0.1"), "address of the robot controller"),
  dashboardPort: key(port.default(29999), "TCP port of the dashboard server"),
  primaryPort: key(port.default(30001), "TCP port of the primary interface"),
  secondaryPort: key(port.default(30002), "TCP port of the secondary interface"),
  realtimePort: key(port.default(30003), "TCP port of the real-time interface"),
  rtdePort: key(port.default(30004), "TCP port of the real-time data exchange"),
  modbusPort: key(
    port.optional(),
    "TCP port of the controller's Modbus server (502 on the robot, 5020 on the twin): what RTDE says is checked against it; left out, it is not",
  ),
  callbackHost: key(
    text.default("127.0.0.1"),
    "address of this machine as the robot controller sees it, for programs that connect back",
  ),
});

const stages = z
  .strictObject({
    driver: key(z.enum(["kohzu"]).default("kohzu"), "family of the stage controller"),
    profile: key(text, "name of a file in firmware-profiles/ (without .yaml), or a path"),
    transport: key(
      z.enum(["tcp", "telnet", "dialled", "serial"]).default("tcp"),
      "how the controller is connected: by the role of an ARIES on its network (tcp for host; telnet; dialled for client: it dials this machine), or by a serial line",
    ),
    host: key(
      text.default("127.0.0.1"),
      "address of the controller; with transport dialled the one of this machine that it dials",
    ),
    port: key(port.default(12321), "TCP port at that address; a Telnet server is usually at 23"),
    password: key(text.default("KOSMOS"), "password of the controller's Telnet login, as delivered"),
    path: key(path.optional(), "serial device, best by its name in /dev/serial/by-id (transport serial)"),
    baud: key(
      z.int().min(1200).max(921600).optional(),
      "speed of the serial line; that of the profile unless given",
      { unit: "bit/s" },
    ),
  })
  .refine((value) => value.transport !== "serial" || value.path !== undefined, {
    path: ["path"],
    error: "missing; transport serial needs the path of the serial device",
  });

const needle = z.strictObject({
  driver: key(
    z.enum(["zaber", "modbus"]).default("zaber"),
    "protocol of the needle drive, as in its profile",
  ),
  profile: key(text, "name of a file in firmware-profiles/ (without .yaml), or a path"),
  path: key(path, "serial device, best by its name in /dev/serial/by-id"),
  baud: key(z.int().min(1200).max(921600).default(115200), "speed of the serial line", { unit: "bit/s" }),
});

const microscope = z.strictObject({
  name: key(text.max(32), "name of the view; calibration and procedures refer to it"),
  profile: key(text, "name of a file in firmware-profiles/ (without .yaml), or a path"),
  address: key(text, "IP address or Aravis id of the camera"),
  serial: key(text.optional(), "serial number that must answer there"),
  frameRate: key(z.number().min(1).max(100).default(20), "frames taken by the camera", { unit: "1/s" }),
  packetSize: key(
    z.int().min(576).max(16000).default(9000),
    "stream packet; above 1500 the network needs jumbo frames",
    { unit: "byte" },
  ),
});

const guardian = z.strictObject({
  silenceMs: key(
    z.int().min(20).max(200).default(50),
    "silence of the daemon after which the guardian stops stages and needle",
    { unit: "ms" },
  ),
  heartbeatMs: key(z.int().min(2).max(50).default(10), "time between two heartbeats", { unit: "ms" }),
  eventLoopMs: key(
    z.int().min(20).max(1000).default(250),
    "how long the event loop may be blocked before the heart stops beating",
    { unit: "ms" },
  ),
});

const reasoner = z.strictObject({
  kind: key(z.enum(["rules", "zmq"]).default("rules"), "who proposes the next skill"),
  endpoint: key(
    z
      .string()
      .regex(/^(ipc|tcp):\/\/.+/)
      .default("ipc://runs/reasoner.sock"),
    "ZeroMQ address of the worker (kind zmq): ipc://PATH or tcp://HOST:PORT",
  ),
  mode: key(
    z.enum(["bind", "connect"]).default("bind"),
    "whether the daemon binds the address and workers connect, or the worker binds (kind zmq)",
  ),
  thinkChannel: key(
    z.enum(["content", "field"]).default("content"),
    "field: the server behind the worker is known to move the think text into a field of its own (kind zmq)",
  ),
  assumeOpenThink: key(
    z.boolean().default(false),
    "the server behind the worker is known to begin the think block in its prompt (kind zmq)",
  ),
  deadlineS: key(z.number().min(0.1).max(120).default(10), "longest wait for a reply", {
    unit: "s",
    live: true,
  }),
});

const loop = z.strictObject({
  refusalBudget: key(z.int().min(1).max(20).default(3), "refusals in a row before an operator is asked", {
    live: true,
  }),
  observationMaxAgeS: key(
    z.number().min(0.2).max(120).default(15),
    "oldest observation a decision may rest on, from its first frame to dispatch",
    { unit: "s", live: true },
  ),
  frameMaxAgeS: key(z.number().min(0.1).max(10).default(1), "a camera silent for longer counts as offline", {
    unit: "s",
    live: true,
  }),
  operatorTimeoutS: key(
    z.number().min(0).max(86400).default(0),
    "longest wait for an operator before the procedure ends as waiting; 0 waits for ever",
    { unit: "s", live: true },
  ),
  maxCycles: key(
    z.int().min(1).max(10000).default(200),
    "skills run since a target was last implanted after which an operator is asked",
    {
      live: true,
    },
  ),
});

const command = z.strictObject({
  endpoint: key(
    z
      .string()
      .regex(/^ipc:\/\/.+/)
      .default("ipc:///run/surgiclaw/command.sock"),
    "where requests are taken: ipc://PATH",
  ),
  events: key(
    z
      .string()
      .regex(/^ipc:\/\/.+/)
      .default("ipc:///run/surgiclaw/events.sock"),
    "where events are published: ipc://PATH",
  ),
  mode: key(
    // YAML reads an unquoted 0660 as the number 660.
    z
      .preprocess(
        (mode) => (typeof mode === "number" ? String(mode) : mode),
        z.string().regex(/^0?[0-7]{3}$/),
      )
      .default("0660"),
    "permissions of both sockets, octal",
  ),
  leaseS: key(
    z.number().min(1).max(3600).default(10),
    "a controlling lease that is not used ends after this",
    {
      unit: "s",
      live: true,
    },
  ),
});

const record = z.strictObject({
  folder: key(path.default("runs"), "recordings, one folder per run"),
  minFreeBytes: key(z.int().min(1e6).default(500e6), "the self-check fails with less free disk", {
    unit: "byte",
    live: true,
  }),
  checkpointS: key(
    z.number().min(1).max(3600).default(60),
    "time between two signed checkpoints of the log",
    {
      unit: "s",
    },
  ),
  signingKey: key(
    path.optional(),
    "key that signs checkpoints (ed25519, PEM); without it audit-key.pem in the folder of recordings, made when missing",
  ),
});

const log = z.strictObject({
  level: key(
    z.enum(["trace", "debug", "info", "warn", "error"]).default("info"),
    "least severe entry that is kept",
    {
      live: true,
    },
  ),
  file: key(path.optional(), "log file; without it the log goes to standard error"),
});

export const configSchema = z.strictObject({
  version: key(z.literal(1).default(1), "version of this file's format"),
  cell: z.strictObject({
    id: key(text.max(64), "name of this robot station; calibration and procedures must carry the same"),
    file: key(path, "the cell file: frames, devices, axes"),
  }),
  calibration: z.strictObject({ file: key(path, "the calibration of this cell") }),
  devices: z.strictObject({
    arm,
    stages,
    needle,
    microscopes: key(
      z
        .array(microscope)
        .length(2)
        .refine((list) => new Set(list.map((entry) => entry.name)).size === list.length, {
          error: "two microscopes have the same name",
        }),
      "exactly two views of the implantation site",
    ),
    guardian: guardian.prefault({}),
  }),
  reasoner: reasoner.prefault({}),
  loop: loop.prefault({}),
  record: record.prefault({}),
  command: command.prefault({}),
  log: log.prefault({}),
});

export type Config = z.output<typeof configSchema>;
