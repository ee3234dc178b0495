/** One writer for a ZeroMQ socket, which permits only one send at a time. */
export class SendQueue<Message> {
  private readonly waiting: Message[] = [];
  private draining = false;
  private idle: Promise<void> = Promise.resolve();

  constructor(
    private readonly send: (message: Message) => Promise<void>,
    /** More waiting messages than this and the oldest is dropped: a peer that does not read holds no memory. */
    private readonly limit: number,
  ) {}

  /** Never blocks, never throws. */
  push(message: Message): void {
    this.waiting.push(message);
    if (this.waiting.length > this.limit) this.waiting.shift();
    if (!this.draining) this.idle = this.drain();
  }

  /** Resolves when nothing waits any more. */
  async settled(): Promise<void> {
    return this.idle;
  }

  private async drain(): Promise<void> {
    // The flag falls in the same turn as the queue is found empty, so that no message is left behind.
    this.draining = true;
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      await this.send(next).catch(() => undefined);
    }
    this.draining = false;
  }
}
