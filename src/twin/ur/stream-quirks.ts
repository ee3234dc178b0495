/** What the primary, secondary and realtime interfaces can do to their clients. */

export interface StreamQuirks {
  /** Programs are swallowed without a word, as when the service is disabled in the security settings. */
  scriptsIgnored: boolean;
  /** States of the primary and secondary stream come as from a newer firmware. */
  newer: boolean;
  /** Bytes of a realtime packet; 0: those of the firmware. */
  realtimeBytes: number;
}

export const noStreamQuirks = (): StreamQuirks => ({ scriptsIgnored: false, newer: false, realtimeBytes: 0 });

/** Not among the sub-packages of any documented firmware. */
const unknownType = 99;

/**
 * A packet of the primary stream as a newer firmware might send it: every sub-package has grown at its end, and one of an
 * unknown type comes first.
 */
export function newerState(packet: Buffer): Buffer {
  const parts: Buffer[] = [];
  const sub = (type: number, body: Buffer): void => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(5 + body.length, 0);
    head.writeUInt8(type, 4);
    parts.push(head, body);
  };
  sub(unknownType, Buffer.alloc(11, 0xa5));
  for (let at = 5; at < packet.length; at += packet.readUInt32BE(at)) {
    const body = packet.subarray(at + 5, at + packet.readUInt32BE(at));
    sub(packet.readUInt8(at + 4), Buffer.concat([body, Buffer.alloc(8, 0x5a)]));
  }
  const whole = Buffer.concat([packet.subarray(0, 5), ...parts]);
  whole.writeInt32BE(whole.length, 0);
  return whole;
}
