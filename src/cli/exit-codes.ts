/** Exit codes of the `surgiclaw` command line, the same for every verb; documented in docs/commands.md. */
export const cliExit = {
  /** Done; for `demo` and `start --watch`: the procedure was completed. */
  ok: 0,
  /** The daemon refused, or the work failed. */
  failed: 1,
  /** Bad command line. */
  usage: 2,
  /** The procedure waits for an operator: to confirm, or to reset after a stop. */
  waiting: 3,
  /** No daemon (or twin) answers. */
  unreachable: 4,
  /** Refused because a stop is latched: a person must reset first. */
  stopped: 5,
  /** A file must be corrected: configuration, procedure, audit log. */
  invalid: 6,
  /** Interrupted by Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;
