/** Asks the twin's truth socket. Only the evaluator does; the daemon cannot reach it. */
import { Request } from "zeromq";
import type { Mat3, Vec3 } from "../../base/transform.js";

export interface TruthMicroscope {
  readonly name: string;
  readonly cameraFromWorld: Mat3;
  readonly focusPoint: Vec3;
  readonly focusDirection: Vec3;
  readonly metresPerPixel: number;
  readonly centrePx: readonly [number, number];
}

export interface TruthScene {
  readonly seed: number;
  readonly scenario: string;
  readonly microscopes: readonly [TruthMicroscope, TruthMicroscope];
  readonly tissue: {
    readonly origin: Vec3;
    readonly normal: Vec3;
    readonly uAxis: Vec3;
    readonly vAxis: Vec3;
  };
}

export interface TruthSample {
  readonly timeS: number;
  readonly tip: Vec3;
  readonly axis: Vec3;
  readonly shift: Vec3;
  readonly focusM: readonly [number, number];
  readonly wanderM: readonly [readonly [number, number], readonly [number, number]];
}

export interface TruthEvent {
  readonly kind: string;
  readonly timeS: number;
  readonly loop?: number;
  readonly material?: readonly [number, number];
  readonly depthM?: number;
  readonly axis?: Vec3;
  readonly vesselClearanceM?: number | null;
}

export interface TruthMotion {
  readonly device: "arm" | "stage" | "needle";
  readonly axis: number;
  readonly startS: number;
  readonly endS?: number;
  readonly from: number;
  readonly to: number;
}

export class TruthClient {
  private readonly socket: Request;

  constructor(endpoint: string) {
    this.socket = new Request({ linger: 0, receiveTimeout: 5000, sendTimeout: 5000 });
    this.socket.connect(endpoint);
  }

  private async ask<T>(method: string, params: object = {}): Promise<T> {
    await this.socket.send(JSON.stringify({ method, params }));
    const [reply] = await this.socket.receive();
    const answer = JSON.parse(String(reply)) as { result?: T; error?: string };
    if (answer.error !== undefined) throw new Error(`truth ${method}: ${answer.error}`);
    return answer.result as T;
  }

  scene(): Promise<TruthScene> {
    return this.ask("scene");
  }

  /** The truth at a past moment (monotonic s); null when it is no longer kept. */
  at(timeS: number): Promise<TruthSample | null> {
    return this.ask("at", { timeS });
  }

  events(): Promise<readonly TruthEvent[]> {
    return this.ask("events");
  }

  motions(): Promise<readonly TruthMotion[]> {
    return this.ask("motions");
  }

  close(): void {
    this.socket.close();
  }
}
