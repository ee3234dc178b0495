/** Talks to the twin's control socket: one JSON request, one JSON reply. */
import { Request } from "zeromq";
import { CellError } from "../../base/errors.js";

/** @throws CellError LINK_TIMEOUT when no twin answers, DEVICE_REFUSED with the twin's own words */
export async function callTwin(
  endpoint: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
  timeoutS = 5,
): Promise<unknown> {
  const socket = new Request({ linger: 0, sendTimeout: timeoutS * 1e3, receiveTimeout: timeoutS * 1e3 });
  try {
    socket.connect(endpoint);
    await socket.send(JSON.stringify({ method, params }));
    const [body] = await socket.receive();
    const answer = JSON.parse(String(body)) as { result?: unknown; error?: string };
    if (answer.error !== undefined) {
      throw new CellError("DEVICE_REFUSED", `twin: ${method}: ${answer.error}`, {
        remedy: "`npx surgiclaw twin faults` lists them",
      });
    }
    return answer.result;
  } catch (error) {
    if (error instanceof CellError) throw error;
    throw new CellError("LINK_TIMEOUT", `twin: ${method}: no answer from ${endpoint} in ${timeoutS} s`, {
      cause: error,
      remedy: "is the twin running? start it with `npx surgiclaw twin start`",
    });
  } finally {
    socket.close();
  }
}
