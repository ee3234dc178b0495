/**
 * Counts protective stops by joint: fifty of one joint within eight hours are a fault (C163), as the dashboard's manual says.
 * Assumed: restarting safety and a power cycle begin a new count.
 */
const windowS = 8 * 3600;
export const stopLimit = 50;

export class StopCounter {
  private stops: { readonly joint: number; readonly atS: number }[] = [];

  /** One more. True when it is one too many. */
  count(joint: number, nowS: number): boolean {
    this.stops = this.stops.filter(({ atS }) => nowS - atS < windowS);
    this.stops.push({ joint, atS: nowS });
    return this.stops.filter((stop) => stop.joint === joint).length >= stopLimit;
  }

  clear(): void {
    this.stops = [];
  }
}
