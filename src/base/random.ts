/** Seeded random numbers (sfc32 seeded through splitmix-style mixing): the same seed gives the same cell anywhere. */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private d: number;
  private spare: number | undefined;

  /** @param stream names what is drawn, so that one consumer's draws never shift another's. */
  constructor(seed: number, stream = "") {
    // The seed enters through its digits alone: mixed in twice it cancels itself for all seeds of one digit.
    let h = 0x9e3779b9;
    for (const ch of `${seed}/${stream}`) {
      h = Math.imul(h ^ (ch.codePointAt(0) ?? 0), 0x85ebca6b);
      h = (h << 13) | (h >>> 19);
    }
    const next = (): number => {
      h = (h + 0x9e3779b9) | 0;
      let t = h ^ (h >>> 16);
      t = Math.imul(t, 0x21f0aaad);
      t ^= t >>> 15;
      t = Math.imul(t, 0x735a2d97);
      return (t ^ (t >>> 15)) >>> 0;
    };
    this.a = next();
    this.b = next();
    this.c = next();
    this.d = next() | 1;
    for (let i = 0; i < 16; i++) this.next();
  }

  private next(): number {
    const t = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + t;
    this.c |= 0;
    return t >>> 0;
  }

  /** Uniform in [low, high). */
  uniform(low = 0, high = 1): number {
    return low + (high - low) * (this.next() / 4294967296);
  }

  /** Uniform magnitude in [low, high) with a random sign. */
  signed(low: number, high: number): number {
    const magnitude = this.uniform(low, high);
    return this.uniform() < 0.5 ? -magnitude : magnitude;
  }

  /** Gaussian (Marsaglia's polar method). */
  normal(mean = 0, sd = 1): number {
    if (this.spare !== undefined) {
      const value = this.spare;
      this.spare = undefined;
      return mean + sd * value;
    }
    for (;;) {
      const u = this.uniform(-1, 1);
      const v = this.uniform(-1, 1);
      const s = u * u + v * v;
      if (s > 0 && s < 1) {
        const k = Math.sqrt((-2 * Math.log(s)) / s);
        this.spare = v * k;
        return mean + sd * u * k;
      }
    }
  }

  /** Whole number in [0, count). */
  below(count: number): number {
    return Math.floor(this.uniform(0, count));
  }

  /** Uniform on the unit sphere. */
  direction(): [number, number, number] {
    const z = this.uniform(-1, 1);
    const angle = this.uniform(0, 2 * Math.PI);
    const r = Math.sqrt(1 - z * z);
    return [r * Math.cos(angle), r * Math.sin(angle), z];
  }
}
