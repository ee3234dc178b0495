/**
 * What a procedure achieved, from the twin's truth: registration, alignment, landing, release. The audit log says when
 * things happened and what the daemon reported; nothing of what it believes enters a figure.
 */
import { angleBetween, add, norm, scale, subtract, type Vec3 } from "../../base/transform.js";
import type { Procedure } from "../../agent/procedure/schema.js";
import type { AuditEntry } from "../../record/audit-entry.js";
import type { TruthClient, TruthEvent, TruthScene } from "./truth-client.js";
import {
  directionFromLines,
  distanceInView,
  flatDistance,
  tissuePoint,
  tissueUnderPixel,
} from "./truth-geometry.js";

type Pixel = readonly [number, number];

export interface TargetResult {
  readonly id: string;
  /** Where the tip truly went when sent to the registered coordinates, minus the true point, m. */
  readonly treM: number | null;
  readonly alignAngleRad: number | null;
  /** At acceptance, by view; the worse of the accepted alignments before the stroke, m. */
  readonly alignErrorM: readonly [number, number] | null;
  /** On the tissue, from the picked point to where the needle pierced the surface at release, m. */
  readonly landingErrorM: number | null;
  readonly insertAngleRad: number | null;
  readonly depthM: number | null;
  readonly released: boolean;
  readonly vesselHit: boolean;
}

interface StageData {
  readonly stage: string;
  readonly measurements: Readonly<Record<string, unknown>>;
}

/** Stages of skills in the audit log, in order. */
export function stagesOf(
  entries: readonly AuditEntry[],
): { readonly atS: number; readonly data: StageData }[] {
  return entries
    .filter((entry) => entry.action === "skill.stage")
    .map((entry) => ({ atS: entry.monotonicS, data: entry.data as StageData }));
}

const vec3 = (value: unknown): Vec3 => {
  const list = Array.isArray(value) ? (value as number[]) : [];
  return [list[0] ?? NaN, list[1] ?? NaN, list[2] ?? NaN];
};

export async function evaluateTargets(
  truth: TruthClient,
  procedure: Procedure,
  entries: readonly AuditEntry[],
  standoffM: number,
): Promise<TargetResult[]> {
  const scene = await truth.scene();
  const events = await truth.events();
  const stages = stagesOf(entries);
  const results: TargetResult[] = [];
  for (const target of procedure.targets) {
    const mine = stages.filter(({ data }) => data.measurements["target"] === target.id);
    const picked = await pickedPoint(truth, scene, target.picks[0]);
    const lines = target.picks.map((pick): Pixel => pick.axis);
    const axis = directionFromLines(scene, [lines[0] ?? [0, 1], lines[1] ?? [0, 1]]);
    const rest = tissuePoint(scene, picked, [0, 0, 0]);
    const goal = add(rest, scale(axis, -standoffM));

    const accepted = mine.filter(({ data }) => data.stage === "alignment accepted");
    const firstAccepted = accepted[0]?.atS ?? Infinity;
    const arrival = mine
      .filter(({ atS, data }) => data.stage === "arrived at registered coordinates" && atS < firstAccepted)
      .at(-1);
    let treM: number | null = null;
    if (arrival !== undefined) {
      const sample = await truth.at(Number(arrival.data.measurements["atS"]));
      const { goalM, reportedTipM } = arrival.data.measurements;
      // The stages stand within a pulse of the registered goal; the rest of the way is taken as reported.
      if (sample !== null)
        treM = norm(subtract(add(sample.tip, subtract(vec3(goalM), vec3(reportedTipM))), goal));
    }

    let alignAngleRad: number | null = null;
    let alignErrorM: readonly [number, number] | null = null;
    const strokeS = mine.find(({ data }) => data.stage === "stroke")?.atS ?? Infinity;
    for (const { atS } of accepted.filter((entry) => entry.atS <= strokeS)) {
      const sample = await truth.at(atS);
      if (sample === null) continue;
      const angle = angleBetween(sample.axis, axis);
      const error = ([0, 1] as const).map((view) => distanceInView(scene, view, sample.tip, goal));
      alignAngleRad = Math.max(alignAngleRad ?? 0, angle);
      alignErrorM = [
        Math.max(alignErrorM?.[0] ?? 0, error[0] ?? NaN),
        Math.max(alignErrorM?.[1] ?? 0, error[1] ?? NaN),
      ];
    }

    const release = releaseOf(mine, events);
    results.push({
      id: target.id,
      treM,
      alignAngleRad,
      alignErrorM,
      landingErrorM: release?.material === undefined ? null : flatDistance(release.material, picked),
      insertAngleRad: release?.axis === undefined ? null : angleBetween(release.axis, axis),
      depthM: release?.depthM ?? null,
      released: release !== undefined,
      vesselHit: hits(release) || enteredVessel(mine, events),
    });
  }
  return results;
}

/** The material point that was picked. @throws Error when the truth of its snapshot is no longer kept */
export async function pickedPoint(
  truth: TruthClient,
  scene: TruthScene,
  pick: { readonly x: number; readonly y: number; readonly takenAtS: number } | undefined,
): Promise<Pixel> {
  const sample = pick === undefined ? null : await truth.at(pick.takenAtS);
  if (sample === null || pick === undefined)
    throw new Error(`the truth of the snapshot (${pick?.takenAtS ?? "none"} s) is no longer kept`);
  return tissueUnderPixel(scene, 0, sample, [pick.x, pick.y]);
}

type Mine = readonly { readonly atS: number; readonly data: StageData }[];

/** Window in which the needle stood in the tissue for this target. */
function strokes(mine: Mine): { readonly fromS: number; readonly toS: number }[] {
  return mine
    .filter(({ data }) => data.stage === "stroke")
    .map(({ atS }) => ({
      fromS: atS,
      toS: mine.find((other) => other.atS > atS && other.data.stage === "withdrawn")?.atS ?? atS + 5,
    }));
}

const within = (event: TruthEvent, windows: readonly { fromS: number; toS: number }[]): boolean =>
  windows.some(({ fromS, toS }) => event.timeS >= fromS && event.timeS <= toS);

const releaseOf = (mine: Mine, events: readonly TruthEvent[]): TruthEvent | undefined =>
  events.find((event) => event.kind === "released" && within(event, strokes(mine)));

const hits = (event: TruthEvent | undefined): boolean =>
  event !== undefined && typeof event.vesselClearanceM === "number" && event.vesselClearanceM < 0;

const enteredVessel = (mine: Mine, events: readonly TruthEvent[]): boolean =>
  events.some((event) => event.kind === "entered-tissue" && within(event, strokes(mine)) && hits(event));
