/** Exit codes of surgiclawd (the numbers of sysexits.h), documented in docs/commands.md. */
export const daemonExit = {
  /** Stopped by SIGTERM or SIGINT, orderly. */
  stopped: 0,
  /** Bad command line. */
  usage: 64,
  /** A device is missing or wrong and --once was given. */
  unavailable: 69,
  /** A defect in this program; the cell was stopped. */
  software: 70,
  /** A folder or socket cannot be made. */
  cannotCreate: 73,
  /** Another daemon serves the command socket. */
  busy: 75,
  /** Configuration, profile or calibration must be corrected; systemd does not restart. */
  config: 78,
} as const;
