/** A cell in which everything is well, to be spoilt one part at a time. */
import { makeObservation, type ObservationParts } from "../../src/agent/perception/observation.js";
import { defaultGateLimits, type GateLimits } from "../../src/agent/safety/gate.js";
import type {
  CellState,
  FrameReference,
  Observation,
  VisualConditions,
} from "../../src/agent/safety/types.js";

export const cameras = ["MIC1", "MIC2"] as const;
export const limits: GateLimits = defaultGateLimits(cameras);

export const goodState = (nowS: number, changes: Partial<CellState> = {}): CellState => ({
  readAtS: nowS,
  jointPositionsRad: [0.1, -1.2, 1.4, -1.7, -1.57, 0.2],
  emergencyStop: false,
  protectiveStop: false,
  stopLatched: false,
  selfCheckOk: true,
  camerasOnline: { MIC1: true, MIC2: true },
  nearSingularity: false,
  registered: true,
  aligned: true,
  alignedEpoch: 4,
  frameEpoch: 4,
  electrodeAvailable: true,
  electrodeLoaded: false,
  needleOutOfTissue: true,
  needleIntact: true,
  targetsLeft: 3,
  still: true,
  ...changes,
});

export const goodVisual = (changes: Partial<VisualConditions> = {}): VisualConditions => ({
  views: cameras.map((camera) => ({
    camera,
    sharp: true,
    exposureInBand: true,
    needleVisible: true,
    edgeSigmaPx: 1.1,
    exposure: { mean: 118, p01: 20, p99: 210, clippedLow: 0, clippedHigh: 0.001 },
    tipPx: [1024.2, 1030.7],
    directionPx: [0, 1],
    confidence: 0.9,
  })),
  sharp: true,
  exposureInBand: true,
  needleVisible: true,
  usable: true,
  needleAngleRad: 0.01,
  tipErrorM: [2e-6, 3e-6],
  ...changes,
});

export const goodFrames = (nowS: number): readonly FrameReference[] =>
  cameras.map((camera, index) => ({
    camera,
    sequence: 100 + index,
    sha256: String(index).repeat(64),
    width: 2048,
    height: 2048,
    takenAtS: nowS,
  }));

export const goodObservation = (
  nowS: number,
  changes: Partial<ObservationParts> = {},
  id = "obs-1",
): Observation =>
  makeObservation(
    {
      query: "implant three electrodes",
      frames: goodFrames(nowS),
      state: goodState(nowS),
      visual: goodVisual(),
      ...changes,
    },
    id,
  );

export const tagged = (name: string, think = "The image is sharp.", answer = "Go on."): string =>
  `<think>${think}</think>\n<answer>${answer}</answer>\n<function>${name}</function>`;
