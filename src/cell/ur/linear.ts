/** The little linear algebra of six joints: a solved 6×6 system and singular values. */

/**
 * x of (AᵀA + damping·I) x = Aᵀb when damping is needed, of A x = b otherwise (Gaussian elimination with pivoting).
 * @param a 6×6, row-major; @param damping added to the pivot test: a pivot below its square root switches to damping.
 */
export function solve6(a: readonly (readonly number[])[], b: readonly number[], damping: number): number[] {
  const direct = eliminate(a, b, Math.sqrt(damping));
  if (direct) return direct;
  const n = b.length;
  const normal = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_unused, j) => {
      let sum = i === j ? damping : 0;
      for (let k = 0; k < n; k++) sum += (a[k]?.[i] ?? 0) * (a[k]?.[j] ?? 0);
      return sum;
    }),
  );
  const right = Array.from({ length: n }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += (a[k]?.[i] ?? 0) * (b[k] ?? 0);
    return sum;
  });
  return eliminate(normal, right, 0) ?? new Array<number>(n).fill(0);
}

function eliminate(
  a: readonly (readonly number[])[],
  b: readonly number[],
  leastPivot: number,
): number[] | undefined {
  const n = b.length;
  const rows = a.map((row, i) => [...row, b[i] ?? 0]);
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let i = column + 1; i < n; i++) {
      if (Math.abs(rows[i]?.[column] ?? 0) > Math.abs(rows[pivot]?.[column] ?? 0)) pivot = i;
    }
    const pivotRow = rows[pivot];
    const other = rows[column];
    if (!pivotRow || !other) return undefined;
    const lead = pivotRow[column] ?? 0;
    if (!(Math.abs(lead) > leastPivot)) return undefined;
    rows[pivot] = other;
    rows[column] = pivotRow;
    for (let i = column + 1; i < n; i++) {
      const row = rows[i];
      if (!row) continue;
      const factor = (row[column] ?? 0) / lead;
      if (factor === 0) continue;
      for (let j = column; j <= n; j++) row[j] = (row[j] ?? 0) - factor * (pivotRow[j] ?? 0);
    }
  }
  const x = new Array<number>(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    let sum = rows[i]?.[n] ?? 0;
    for (let j = i + 1; j < n; j++) sum -= (rows[i]?.[j] ?? 0) * (x[j] ?? 0);
    x[i] = sum / (rows[i]?.[i] ?? 1);
  }
  return x;
}

/** Singular values of a square matrix, largest first (one-sided Jacobi: accurate for the small ones too). */
export function singularValues(a: readonly (readonly number[])[]): number[] {
  const n = a.length;
  const columns = Array.from({ length: n }, (_, j) => a.map((row) => row[j] ?? 0));
  for (let sweep = 0; sweep < 60; sweep++) {
    let rotated = false;
    for (let p = 0; p < n - 1; p++) {
      for (let q = p + 1; q < n; q++) {
        const u = columns[p] ?? [];
        const v = columns[q] ?? [];
        let uu = 0;
        let vv = 0;
        let uv = 0;
        for (let k = 0; k < n; k++) {
          const x = u[k] ?? 0;
          const y = v[k] ?? 0;
          uu += x * x;
          vv += y * y;
          uv += x * y;
        }
        if (Math.abs(uv) <= 1e-15 * Math.sqrt(uu * vv)) continue;
        rotated = true;
        const zeta = (vv - uu) / (2 * uv);
        const t = Math.sign(zeta || 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const c = 1 / Math.hypot(1, t);
        const s = c * t;
        for (let k = 0; k < n; k++) {
          const x = u[k] ?? 0;
          const y = v[k] ?? 0;
          u[k] = c * x - s * y;
          v[k] = s * x + c * y;
        }
      }
    }
    if (!rotated) break;
  }
  return columns.map((column) => Math.hypot(...column)).sort((x, y) => y - x);
}
