/** Makes garbage as fast as JavaScript can, with a live part that grows and is dropped: short collections and long ones. */

let kept: object[] = [];

/** For about 2 ms. */
export function makeGarbage(): void {
  const until = performance.now() + 2;
  while (performance.now() < until) {
    const piece = { values: Array.from({ length: 50 }, (_, i) => ({ i, text: `piece ${i}` })) };
    if (kept.length < 20_000) kept.push(piece);
    else kept = [];
  }
}
