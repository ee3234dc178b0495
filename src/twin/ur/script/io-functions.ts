/** Registers, digital and analog signals, and sockets to computers on the network. */
import { blocking, instant, type Args, type Builtin, type Thread } from "./builtin.js";
import type { Program } from "./program.js";
import type { RobotServices, ScriptSocket } from "./services.js";
import { list, show, type Value } from "./values.js";

const defaultSocket = "socket_0";

function register(args: Args, name: string, count: number): number {
  const index = args.integer(name);
  if (index < 0 || index >= count) throw args.error(`no register ${index}`);
  return index;
}

function portRegister(args: Args): number {
  const address = args.integer("address");
  if (address < 128 || address > 255) throw args.error(`no general purpose register ${address}`);
  return address;
}

export function ioFunctions(robot: RobotServices): [string, Builtin][] {
  const { registers } = robot;
  const read = (prefix: string): Builtin =>
    instant("address", (args) => registers.number(`${prefix}_${register(args, "address", 48)}`));
  const write = (prefix: string, whole: boolean): Builtin =>
    instant("address, value", (args) => {
      const value = args.number("value");
      registers.set(`${prefix}_${register(args, "address", 48)}`, whole ? Math.trunc(value) | 0 : value);
      return undefined;
    });
  const output = (first: number, count: number): Builtin =>
    instant("n, b", (args) => {
      registers.setDigitalOutput(first + register(args, "n", count), args.boolean("b"));
      return undefined;
    });
  const readBit = (bits: () => number, first: number, count: number): Builtin =>
    instant("n", (args) => ((bits() >> (first + register(args, "n", count))) & 1) === 1);
  /** 0: a current, 1: a voltage. */
  const domain = (first: 0 | 2): Builtin =>
    instant("port, domain", (args) => {
      const port = register(args, "port", 2);
      registers.analogVoltage[first + port] = register(args, "domain", 2) === 1;
      return undefined;
    });
  const outputs = (): number => registers.digitalOutputs;
  const inputs = (): number => registers.digitalInputs;

  return [
    ["read_input_integer_register", read("input_int_register")],
    ["read_input_float_register", read("input_double_register")],
    ["read_output_integer_register", read("output_int_register")],
    ["read_output_float_register", read("output_double_register")],
    ["write_output_integer_register", write("output_int_register", true)],
    ["write_output_float_register", write("output_double_register", false)],
    [
      "read_input_boolean_register",
      instant("address", (args) => registers.bit("input", register(args, "address", 128))),
    ],
    [
      "read_output_boolean_register",
      instant("address", (args) => registers.bit("output", register(args, "address", 128))),
    ],
    [
      "write_output_boolean_register",
      instant("address, value", (args) => {
        registers.setBit("output", register(args, "address", 128), args.boolean("value"));
        return undefined;
      }),
    ],
    ["set_digital_out", output(0, 18)],
    ["set_standard_digital_out", output(0, 8)],
    ["set_configurable_digital_out", output(8, 8)],
    ["set_tool_digital_out", output(16, 2)],
    ["get_digital_out", readBit(outputs, 0, 18)],
    ["get_standard_digital_out", readBit(outputs, 0, 8)],
    ["get_configurable_digital_out", readBit(outputs, 8, 8)],
    ["get_tool_digital_out", readBit(outputs, 16, 2)],
    ["get_digital_in", readBit(inputs, 0, 18)],
    ["get_standard_digital_in", readBit(inputs, 0, 8)],
    ["get_configurable_digital_in", readBit(inputs, 8, 8)],
    ["get_tool_digital_in", readBit(inputs, 16, 2)],
    [
      "get_standard_analog_in",
      instant("n", (args) => registers.analogInputs[args.integer("n") === 1 ? 1 : 0]),
    ],
    ["get_analog_in", instant("n", (args) => registers.analogInputs[args.integer("n") === 1 ? 1 : 0])],
    [
      "get_standard_analog_out",
      instant("n", (args) => registers.analogOutputs[args.integer("n") === 1 ? 1 : 0]),
    ],
    [
      "set_standard_analog_out",
      instant("n, f", (args) => {
        registers.analogOutputs[args.integer("n") === 1 ? 1 : 0] = args.number("f");
        return undefined;
      }),
    ],
    [
      "set_analog_out",
      instant("n, f", (args) => {
        registers.analogOutputs[args.integer("n") === 1 ? 1 : 0] = args.number("f");
        return undefined;
      }),
    ],
    ["set_standard_analog_input_domain", domain(0)],
    ["set_analog_outputdomain", domain(2)],
    [
      "set_tool_voltage",
      instant("voltage", (args) => {
        const voltage = args.number("voltage");
        if (voltage !== 0 && voltage !== 12 && voltage !== 24) throw args.error("0, 12 or 24 V expected");
        registers.toolVoltage = voltage;
        return undefined;
      }),
    ],
    // General purpose registers of the Modbus server.
    ["read_port_register", instant("address", (args) => registers.port(portRegister(args)))],
    [
      "write_port_register",
      instant("address, value", (args) => {
        registers.setPort(portRegister(args), args.integer("value") & 0xffff);
        return undefined;
      }),
    ],
    ...socketFunctions(robot),
  ];
}

function socketFunctions(robot: RobotServices): [string, Builtin][] {
  const socketsOf = new WeakMap<Program, Map<string, ScriptSocket>>();
  const table = (thread: Thread): Map<string, ScriptSocket> => {
    const { program } = thread;
    let sockets = socketsOf.get(program);
    if (!sockets) {
      const created = new Map<string, ScriptSocket>();
      sockets = created;
      socketsOf.set(program, created);
      program.cleanUps.push(() => {
        for (const socket of created.values()) socket.close();
      });
    }
    return sockets;
  };
  const find = (args: Args, thread: Thread): ScriptSocket | undefined =>
    table(thread).get(args.text("socket_name", defaultSocket));

  /** Waits for `ready` at most the timeout of the call; 0 waits for ever. */
  function* wait(
    args: Args,
    socket: ScriptSocket | undefined,
    ready: () => boolean,
  ): Generator<undefined, boolean> {
    const timeoutS = args.number("timeout", 2);
    const untilS = timeoutS > 0 ? robot.timeS + timeoutS - 1e-9 : Infinity;
    while (socket && !ready()) {
      if (socket.state === "closed" || robot.timeS >= untilS) return false;
      yield;
    }
    return socket !== undefined;
  }

  const send = (signature: string, encode: (args: Args) => Buffer): Builtin =>
    instant(signature, (args, thread) => find(args, thread)?.write(encode(args)) ?? false);

  /** Position just after `delimiter` in what has come, or −1. */
  const lineEnd = (socket: ScriptSocket, delimiter: string): number => {
    const at = socket.peek().indexOf(delimiter, 0, "latin1");
    return at < 0 ? -1 : at + delimiter.length;
  };

  return [
    [
      "socket_open",
      blocking("address, port, socket_name?, timeout?", function* (args, thread): Generator<
        undefined,
        Value
      > {
        const name = args.text("socket_name", defaultSocket);
        table(thread).get(name)?.close();
        const socket = robot.openSocket(args.text("address"), args.integer("port"));
        table(thread).set(name, socket);
        const untilS = robot.timeS + args.number("timeout", 2);
        while (socket.state === "connecting" && robot.timeS < untilS) yield;
        if (socket.state === "open") return true;
        socket.close();
        return false;
      }),
    ],
    [
      "socket_close",
      instant("socket_name?", (args, thread) => {
        find(args, thread)?.close();
        return undefined;
      }),
    ],
    [
      "socket_send_int",
      send("value, socket_name?", (args) => {
        const bytes = Buffer.alloc(4);
        bytes.writeInt32BE(args.integer("value") | 0);
        return bytes;
      }),
    ],
    ["socket_send_byte", send("value, socket_name?", (args) => Buffer.from([args.integer("value") & 0xff]))],
    ["socket_send_string", send("str, socket_name?", (args) => Buffer.from(show(args.any("str")), "latin1"))],
    [
      "socket_send_line",
      send("str, socket_name?", (args) => Buffer.from(`${show(args.any("str"))}\n`, "latin1")),
    ],
    [
      "socket_set_var",
      send("name, value, socket_name?", (args) =>
        Buffer.from(`set ${args.text("name")} ${args.integer("value")}\n`, "latin1"),
      ),
    ],
    [
      "socket_get_var",
      blocking("name, socket_name?, timeout?", function* (args, thread): Generator<undefined, Value> {
        const socket = find(args, thread);
        socket?.write(Buffer.from(`get ${args.text("name")}\n`, "latin1"));
        const came = yield* wait(args, socket, () => !!socket && lineEnd(socket, "\n") > 0);
        if (!came || !socket) return 0;
        const answer = socket.take(lineEnd(socket, "\n")).toString("latin1");
        return Number(answer.replace(args.text("name"), "").trim()) || 0;
      }),
    ],
    [
      "socket_read_binary_integer",
      blocking("number, socket_name?, timeout?", function* (args, thread): Generator<undefined, Value> {
        const count = args.integer("number");
        if (count < 1 || count > 30) throw args.error("between 1 and 30 integers can be read");
        const socket = find(args, thread);
        const came = yield* wait(args, socket, () => (socket?.available ?? 0) >= 4 * count);
        if (!came || !socket) return list([0, ...new Array<number>(count).fill(NaN)]);
        const bytes = socket.take(4 * count);
        return list([count, ...Array.from({ length: count }, (_, i) => bytes.readInt32BE(4 * i))]);
      }),
    ],
    [
      "socket_read_byte_list",
      blocking("number, socket_name?, timeout?", function* (args, thread): Generator<undefined, Value> {
        const count = args.integer("number");
        const socket = find(args, thread);
        const came = yield* wait(args, socket, () => (socket?.available ?? 0) >= count);
        if (!came || !socket) return list([0]);
        return list([count, ...socket.take(count)]);
      }),
    ],
    [
      "socket_read_ascii_float",
      blocking("number, socket_name?, timeout?", function* (args, thread): Generator<undefined, Value> {
        const count = args.integer("number");
        const socket = find(args, thread);
        const came = yield* wait(args, socket, () => !!socket && lineEnd(socket, ")") > 0);
        if (!came || !socket) return list([0, ...new Array<number>(count).fill(NaN)]);
        const text = socket.take(lineEnd(socket, ")")).toString("latin1");
        const numbers = text
          .slice(text.indexOf("(") + 1, -1)
          .split(",")
          .map(Number);
        if (numbers.length !== count) return list([0, ...new Array<number>(count).fill(NaN)]);
        return list([count, ...numbers]);
      }),
    ],
    [
      "socket_read_line",
      blocking("socket_name?, timeout?", function* (args, thread): Generator<undefined, Value> {
        const socket = find(args, thread);
        const came = yield* wait(args, socket, () => !!socket && lineEnd(socket, "\n") > 0);
        if (!came || !socket) return "";
        return socket
          .take(lineEnd(socket, "\n"))
          .toString("latin1")
          .replace(/\r?\n$/, "");
      }),
    ],
    [
      "socket_read_string",
      blocking(
        "socket_name?, prefix?, suffix?, interpret_escape?, timeout?",
        function* (args, thread): Generator<undefined, Value> {
          const socket = find(args, thread);
          const escape = (text: string): string =>
            args.boolean("interpret_escape", false)
              ? text.replace(/\\n/g, "\n").replace(/\\r/g, "\r").replace(/\\t/g, "\t")
              : text;
          const [prefix, suffix] = [escape(args.text("prefix", "")), escape(args.text("suffix", ""))];
          const whole = (): boolean => {
            if (!socket || socket.available === 0) return false;
            return suffix === "" || lineEnd(socket, suffix) > 0;
          };
          const came = yield* wait(args, socket, whole);
          if (!came || !socket) return "";
          const text = socket
            .take(suffix === "" ? socket.available : lineEnd(socket, suffix))
            .toString("latin1");
          const start = prefix === "" ? 0 : text.indexOf(prefix) + prefix.length;
          return text.slice(start, text.length - suffix.length);
        },
      ),
    ],
  ];
}
