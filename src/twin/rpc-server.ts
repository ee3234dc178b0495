/** A small JSON request/reply server over ZeroMQ ipc: the twin's control and truth sockets. */
import { chmod } from "node:fs/promises";
import { Reply } from "zeromq";

export type RpcHandlers = Readonly<Record<string, (params: Record<string, unknown>) => unknown>>;

export class RpcServer {
  private readonly socket = new Reply({ linger: 0 });
  private running: Promise<void> | undefined;

  constructor(
    private readonly endpoint: string,
    private readonly handlers: RpcHandlers,
  ) {}

  /** Binds; `mode` limits who may connect to an ipc socket. */
  async start(mode: number): Promise<void> {
    await this.socket.bind(this.endpoint);
    if (this.endpoint.startsWith("ipc://")) await chmod(this.endpoint.slice("ipc://".length), mode);
    this.running = this.serve();
  }

  private async serve(): Promise<void> {
    for await (const [message] of this.socket) {
      let answer: unknown;
      try {
        const request = JSON.parse(String(message)) as { method?: unknown; params?: unknown };
        const handler = typeof request.method === "string" ? this.handlers[request.method] : undefined;
        if (handler === undefined) throw new RangeError(`there is no method ${String(request.method)}`);
        answer = { result: (await handler((request.params ?? {}) as Record<string, unknown>)) ?? null };
      } catch (error) {
        answer = { error: error instanceof Error ? error.message : String(error) };
      }
      await this.socket.send(JSON.stringify(answer));
    }
  }

  async stop(): Promise<void> {
    this.socket.close();
    await this.running?.catch(() => undefined);
  }
}
