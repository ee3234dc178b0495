/** Major, minor, release, as IDN tells them. */
export type Firmware = readonly [number, number, number];

export function olderThan(firmware: Firmware, than: Firmware): boolean {
  const i = firmware.findIndex((part, index) => part !== than[index]);
  return i >= 0 && (firmware[i] ?? 0) < (than[i] ?? 0);
}
