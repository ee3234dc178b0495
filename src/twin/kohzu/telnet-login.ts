/**
 * What stands before a controller in its Telnet role (firmware 1.4.0 and later): options are offered (RFC 854), a password
 * is asked for (as delivered KOSMOS), and only then do lines reach the controller. The words of the dialogue are our
 * assumption.
 */
export interface LoginSide {
  readonly write: (bytes: Buffer) => void;
  /** The client is in: what it sends from now on. */
  readonly enter: (rest: Buffer) => void;
  /** It is thrown out. */
  readonly refuse: () => void;
}

const iac = 255;
const will = 251;
const echo = 1;
const suppressGoAhead = 3;
const attempts = 3;

export class TelnetLogin {
  private heard: number[] = [];
  private tries = 0;

  constructor(
    private readonly password: string,
    private readonly side: LoginSide,
  ) {
    side.write(Buffer.from([iac, will, echo, iac, will, suppressGoAhead]));
    this.ask();
  }

  receive(bytes: Buffer): void {
    this.heard.push(...bytes);
    for (;;) {
      const end = this.heard.indexOf(0x0a);
      if (end < 0) return;
      const line = this.heard.slice(0, end + 1);
      const rest = Buffer.from(this.heard.slice(end + 1));
      this.heard = [...rest];
      if (textOf(line).trimEnd() === this.password) {
        this.side.write(Buffer.from("\r\n"));
        this.side.enter(rest);
        return;
      }
      if (++this.tries === attempts) {
        this.side.refuse();
        return;
      }
      this.side.write(Buffer.from("\r\n"));
      this.ask();
    }
  }

  private ask(): void {
    this.side.write(Buffer.from("Password: "));
  }
}

/** Without the client's answers to what was offered: three bytes each. */
function textOf(bytes: readonly number[]): string {
  const text: number[] = [];
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === iac) i += 2;
    else text.push(bytes[i] ?? 0);
  }
  return Buffer.from(text).toString("latin1");
}
