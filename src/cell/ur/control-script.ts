/**
 * The program that runs on the controller while the arm is active. It connects back to the driver and reads one command
 * after the other; each command says how long the next may stay away. Silence, a closed socket or a stop command brakes
 * the arm on the robot's side. Moves wait in a queue and are run by a thread of their own, so that the reader is never
 * held up by a motion.
 */
import { coarseScale, commandLength, fineScale, queueLength, reverseCommand } from "./codec/reverse.js";

export interface ControlScriptOptions {
  readonly host: string;
  readonly port: number;
  /** Told back in every status, so that a script of an earlier session cannot be taken for this one. */
  readonly session: number;
  /** How long the first command may stay away. */
  readonly firstTimeoutS: number;
  /** Deceleration of the joints when the link falls silent, rad/s². */
  readonly stopDecelerationRadS2: number;
}

export const controlProgramName = "surgiclaw_control";
export const stopProgramName = "surgiclaw_stop";

/** Fields of one queued move: kind, six values, speed, acceleration, blend, sequence. */
const slot = 11;

export function controlScript(options: ControlScriptOptions): string {
  const { host, port, session, firstTimeoutS, stopDecelerationRadS2 } = options;
  const zeros = new Array<string>(queueLength * slot).fill("0.0").join(",");
  const readMove = [0, 1, 2, 3, 4, 5].map((i) => `queue[at + ${i + 1}]`).join(", ");
  const storeValues = [0, 1, 2, 3, 4, 5]
    .map((i) => `          queue[at + ${i + 1}] = m[${4 + i}] / ${fineScale}.0`)
    .join("\n");
  return `def ${controlProgramName}():
  global link = "surgiclaw"
  global queue = [${zeros}]
  global head = 0
  global tail = 0
  global waiting = 0
  global accepted = 0
  global done = 0
  global moving = 0
  global alive = True
  global read_timeout = ${firstTimeoutS}
  global stop_deceleration = ${stopDecelerationRadS2}
  set_tcp(p[0,0,0,0,0,0])

  def report():
    socket_send_int(${session}, link)
    socket_send_int(accepted, link)
    socket_send_int(done, link)
    socket_send_int(moving, link)
    socket_send_int(waiting, link)
  end

  thread mover():
    while True:
      if waiting == 0:
        moving = 0
        sync()
      else:
        moving = 1
        local at = tail * ${slot}
        local kind = queue[at]
        local acc = queue[at + 8]
        local vel = queue[at + 7]
        local blend = queue[at + 9]
        local number = queue[at + 10]
        if kind == ${reverseCommand.MOVE_JOINTS}:
          movej([${readMove}], a=acc, v=vel, r=blend)
        else:
          movel(p[${readMove}], a=acc, v=vel, r=blend)
        end
        enter_critical
        done = number
        tail = tail + 1
        if tail == ${queueLength}:
          tail = 0
        end
        waiting = waiting - 1
        exit_critical
      end
    end
  end

  if not socket_open("${host}", ${port}, link):
    textmsg("surgiclaw: no connection to ${host}:${port}")
    halt
  end
  report()
  global worker = run mover()

  while alive:
    m = socket_read_binary_integer(${commandLength}, link, read_timeout)
    if m[0] != ${commandLength}:
      textmsg("surgiclaw: the driver fell silent")
      alive = False
    else:
      read_timeout = m[1] / 1000.0
      if m[3] == ${reverseCommand.MOVE_JOINTS} or m[3] == ${reverseCommand.MOVE_LINEAR}:
        if waiting < ${queueLength}:
          enter_critical
          at = head * ${slot}
          queue[at] = m[3]
${storeValues}
          queue[at + 7] = m[10] / ${coarseScale}.0
          queue[at + 8] = m[11] / ${coarseScale}.0
          queue[at + 9] = m[12] / ${coarseScale}.0
          queue[at + 10] = m[2]
          head = head + 1
          if head == ${queueLength}:
            head = 0
          end
          waiting = waiting + 1
          moving = 1
          accepted = m[2]
          exit_critical
        end
      elif m[3] == ${reverseCommand.STOP}:
        kill worker
        head = 0
        tail = 0
        waiting = 0
        if m[11] > 0:
          stop_deceleration = m[11] / ${coarseScale}.0
        end
        stopj(stop_deceleration)
        moving = 0
        accepted = m[2]
        done = m[2]
        worker = run mover()
      elif m[3] == ${reverseCommand.QUIT}:
        alive = False
      end
      report()
    end
  end
  kill worker
  stopj(stop_deceleration)
  moving = 0
  report()
  socket_close(link)
end
`;
}

/** A program of its own that brakes the arm; being a new program it also ends whatever runs. */
export const stopScript = (decelerationRadS2: number): string =>
  `def ${stopProgramName}():\n  stopj(${decelerationRadS2})\nend\n`;
