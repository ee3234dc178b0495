/**
 * The one controlling lease. Its epoch grows with every new holder, so that a late command of an earlier holder is
 * recognised and refused. Pure: time comes in as an argument.
 */
import { CellError } from "../../base/errors.js";

interface Holder {
  readonly client: string;
  readonly epoch: number;
  usedAtS: number;
  /** A takeover keeps the lease until handback, however long that takes. */
  kept: boolean;
}

export class Lease {
  private holder: Holder | undefined;

  /** @param lastEpoch the highest ever granted, by whomever */
  constructor(
    private leaseS: number,
    private lastEpoch = 0,
  ) {}

  setDuration(leaseS: number): void {
    this.leaseS = leaseS;
  }

  /**
   * Grants the lease to `client`: when it is free, has ended, is already this client's, or is taken by force.
   * @throws CellError LEASE_DENIED naming the holder
   */
  acquire(client: string, nowS: number, force = false): number {
    const holder = this.current(nowS);
    if (holder !== undefined && holder.client !== client && !force) {
      throw new CellError("LEASE_DENIED", `${holder.client} holds control (epoch ${holder.epoch})`);
    }
    this.lastEpoch += 1;
    const kept = holder !== undefined && holder.client === client && holder.kept;
    this.holder = { client, epoch: this.lastEpoch, usedAtS: nowS, kept };
    return this.lastEpoch;
  }

  /** Confirms that `epoch` is the present holder's and renews it. @throws CellError LEASE_DENIED */
  use(epoch: number, nowS: number): string {
    const holder = this.current(nowS);
    if (holder?.epoch !== epoch) {
      throw new CellError("LEASE_DENIED", `epoch ${epoch} does not hold control`);
    }
    holder.usedAtS = nowS;
    return holder.client;
  }

  /** Keeps the lease from ending by itself, or lets it end again. */
  keep(kept: boolean, nowS: number): void {
    if (this.holder !== undefined) Object.assign(this.holder, { kept, usedAtS: nowS });
  }

  /** Gives the lease back, unless a takeover keeps it. */
  release(epoch: number): void {
    if (this.holder?.epoch === epoch && !this.holder.kept) this.holder = undefined;
  }

  status(nowS: number): { client: string; epoch: number; held: boolean } | null {
    const holder = this.current(nowS);
    return holder === undefined ? null : { client: holder.client, epoch: holder.epoch, held: holder.kept };
  }

  private current(nowS: number): Holder | undefined {
    const holder = this.holder;
    if (holder !== undefined && !holder.kept && nowS - holder.usedAtS > this.leaseS) this.holder = undefined;
    return this.holder;
  }
}
