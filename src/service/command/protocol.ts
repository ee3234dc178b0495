/**
 * The command protocol, version 1: JSON-RPC 2.0 requests to a ZeroMQ ROUTER, events as [topic, JSON] from a PUB.
 * Everything that crosses the sockets has its schema here; docs/commands.md is generated from the same tables.
 */
import { z } from "zod";
import { loopStates, type LoopState } from "../../agent/loop/events.js";
import { severities } from "../../agent/safety/fault-rules.js";
import { checkpointSchema } from "../../record/checkpoint.js";
import { isSkillName } from "../../agent/safety/skill-names.js";

export const protocolVersion = 1;

/** Longest message either side accepts, bytes. */
export const maxMessageBytes = 256 * 1024;

const text = z.string().min(1).max(4096);

export const skillSchema = z.string().refine(isSkillName, { error: "not one of the seven skills" });

/** What the procedure is doing, as people see it: the states of the loop. */
export const procedureStates = loopStates;
export type ProcedureState = LoopState;

export const lifecycleStates = ["unconfigured", "inactive", "active", "fault", "finalized"] as const;
export type LifecycleState = (typeof lifecycleStates)[number];

export const deviceStatusSchema = z.object({
  name: z.string(),
  current: z.enum(lifecycleStates),
  desired: z.enum(lifecycleStates),
  /** What it is, or why it is not active. */
  detail: z.string(),
});
export type DeviceStatus = z.output<typeof deviceStatusSchema>;

export const faultStatusSchema = z.object({
  id: z.string(),
  text: z.string(),
  severity: z.enum(severities),
  /** An operator goes on in spite of it. */
  overridden: z.boolean(),
  mayOverride: z.boolean(),
  remedy: z.string(),
});
export type FaultStatus = z.output<typeof faultStatusSchema>;

export const statusSchema = z.object({
  cell: z.string(),
  current: z.enum(lifecycleStates),
  desired: z.enum(lifecycleStates),
  /** True once the self-check has passed since the last fault. */
  ready: z.boolean(),
  procedure: z.enum(procedureStates),
  /** Why it is in this state, in one sentence. */
  reason: z.string(),
  query: z.string().nullable(),
  cycle: z.int(),
  targets: z.object({ total: z.int(), implanted: z.int() }),
  refusalsInRow: z.int(),
  /** Set by a stop, cleared by a person's reset. */
  stopLatched: z.boolean(),
  /** Faults that stand now, by the rules of the arbiter. */
  faults: z.array(faultStatusSchema),
  /** What an operator may do now. */
  possible: z.array(z.string()),
  devices: z.array(deviceStatusSchema),
  /** Folder of the current recording. */
  recording: z.string().nullable(),
});
export type CellStatus = z.output<typeof statusSchema>;

export const leaseSchema = z.object({ client: z.string(), epoch: z.int(), held: z.boolean() });
export type LeaseStatus = z.output<typeof leaseSchema>;

const empty = z.strictObject({});
const controlled = { epoch: z.int().min(1) };
const done = z.object({ detail: z.string() });

export interface MethodSpec {
  readonly summary: string;
  /** True: only the holder of the controlling lease may call it. */
  readonly control: boolean;
  readonly params: z.ZodType;
  readonly result: z.ZodType;
}

/** Every method: who may call it, what it takes and gives. */
export const methods = {
  describe: {
    summary: "Protocol version, daemon version, address of the events.",
    control: false,
    params: empty,
    result: z.object({
      protocol: z.int(),
      version: z.string(),
      events: z.string(),
      methods: z.array(z.string()),
    }),
  },
  status: {
    summary: "The state of cell, devices and procedure, and who holds control.",
    control: false,
    params: empty,
    result: statusSchema.extend({ lease: leaseSchema.nullable() }),
  },
  stop: {
    summary: "Stops all motion now and latches. Accepted from everyone, always.",
    control: false,
    params: z.strictObject({ reason: text.optional(), client: text.optional() }),
    result: done,
  },
  acquire: {
    summary: "Takes the controlling lease; its epoch goes into every controlling call.",
    control: false,
    params: z.strictObject({ client: text, force: z.boolean().optional() }),
    result: z.object({ epoch: z.int(), leaseS: z.number() }),
  },
  release: {
    summary: "Gives the lease back.",
    control: true,
    params: z.strictObject(controlled),
    result: done,
  },
  plan: {
    summary: "Observes, proposes targets on unmarked tissue away from vessels, and writes a procedure file.",
    control: true,
    params: z.strictObject({
      ...controlled,
      targets: z.int().min(1).max(64),
      file: text,
      query: text.optional(),
    }),
    result: z.object({ file: z.string(), targets: z.int(), detail: z.string() }),
  },
  start: {
    summary: "Starts a procedure file; progress follows as events.",
    control: true,
    params: z.strictObject({ ...controlled, procedure: text, query: text }),
    result: z.object({ recording: z.string(), targets: z.int(), detail: z.string() }),
  },
  reset: {
    summary: "Clears a latched stop after its cause is gone; ends in observation, never in motion.",
    control: true,
    params: z.strictObject(controlled),
    result: done,
  },
  confirm: {
    summary: "Answers manual confirmation: run the skill that waits for it; the gate still applies.",
    control: true,
    params: z.strictObject(controlled),
    result: done,
  },
  retry: {
    summary: "Answers manual confirmation: observe again and ask the reasoner again.",
    control: true,
    params: z.strictObject(controlled),
    result: done,
  },
  choose: {
    summary: "Answers manual confirmation with a skill of the operator's choice; the gate still applies.",
    control: true,
    params: z.strictObject({ ...controlled, skill: skillSchema }),
    result: done,
  },
  takeover: {
    summary: "Stops the procedure's decisions and hands the cell to the operator.",
    control: true,
    params: z.strictObject(controlled),
    result: done,
  },
  override: {
    summary: "Goes on in spite of a fault whose rule permits it, until it is gone.",
    control: true,
    params: z.strictObject({ ...controlled, fault: text }),
    result: done,
  },
  home: {
    summary:
      "Searches the origin of every axis that has none: Z first, away from the tissue. Only between procedures.",
    control: true,
    params: z.strictObject(controlled),
    result: done,
  },
  handback: {
    summary: "Hands the cell back to the procedure, which observes anew.",
    control: true,
    params: z.strictObject(controlled),
    result: done,
  },
} as const satisfies Record<string, MethodSpec>;

export type MethodName = keyof typeof methods;
export type MethodParams<M extends MethodName> = z.output<(typeof methods)[M]["params"]>;
export type MethodResult<M extends MethodName> = z.output<(typeof methods)[M]["result"]>;

export const isMethod = (name: string): name is MethodName => Object.hasOwn(methods, name);

/** One decision of the loop. The rationale is an audit aid, not proof of what a model thought. */
export const cycleEventSchema = z.object({
  cycle: z.int(),
  /** Monotonic seconds of the decision. */
  atS: z.number(),
  observation: z.string(),
  reasoner: z.string(),
  rationale: z.string(),
  answer: z.string(),
  skill: z.string().nullable(),
  verdict: z.enum(["allowed", "refused"]),
  reasons: z.array(z.object({ code: z.string(), detail: z.string() })),
  refusalsInRow: z.int(),
});
export type CycleEvent = z.output<typeof cycleEventSchema>;

export const skillEventSchema = z.object({
  cycle: z.int(),
  atS: z.number(),
  skill: z.string(),
  phase: z.enum(["started", "stage", "ended"]),
  /** Name of the stage, or status at the end. */
  name: z.string(),
  detail: z.string(),
  measurements: z.record(z.string(), z.unknown()),
});
export type SkillEvent = z.output<typeof skillEventSchema>;

export const logEventSchema = z.object({
  atS: z.number(),
  level: z.enum(["info", "warn", "error"]),
  message: z.string(),
});
export type LogEvent = z.output<typeof logEventSchema>;

/** The signed head of an audit chain, for a machine that keeps it. */
export const checkpointEventSchema = checkpointSchema.extend({ atS: z.number() });

/** Topic -> schema. `state` carries the whole status whenever it changes. */
export const eventSchemas = {
  cycle: cycleEventSchema,
  skill: skillEventSchema,
  state: statusSchema,
  log: logEventSchema,
  checkpoint: checkpointEventSchema,
} as const;

export type Topic = keyof typeof eventSchemas;
export type EventOf<T extends Topic> = z.output<(typeof eventSchemas)[T]>;
export type CellEvent = { [T in Topic]: { readonly topic: T; readonly event: EventOf<T> } }[Topic];

export const requestSchema = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string().min(1).max(128), z.int()]),
  method: z.string().max(64),
  params: z.record(z.string(), z.unknown()).optional(),
});
export type Request = z.output<typeof requestSchema>;

export const responseSchema = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.int(), z.null()]),
  result: z.unknown().optional(),
  error: z
    .object({
      code: z.int(),
      message: z.string(),
      data: z.object({ code: z.string(), remedy: z.string() }).optional(),
    })
    .optional(),
});
export type Response = z.output<typeof responseSchema>;

/** Error numbers of JSON-RPC 2.0; numbers from 1000 up are those of the error catalogue. */
export const rpcError = { parse: -32700, request: -32600, method: -32601, params: -32602 } as const;
