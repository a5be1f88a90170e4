import type { Client } from '../support/client.ts';

/** The service from outside, and the attacker's objects in it. */
export type Target = {
  /** Without a trailing slash. */
  readonly url: string;
  /** The attacker's client. */
  readonly attacker: Client;
  /** Ids of the attacker's channels, one on each network. */
  readonly channels: readonly string[];
  /** Host and port of the attacker's server. */
  readonly hostileServer: string;
};

/** Requests that no honest client sends, or sends in such numbers. */
export type Attack = {
  readonly name: string;
  /** @returns the broken promises, as sentences; none when the service behaved well. */
  readonly run: (target: Target) => Promise<readonly string[]>;
};

/** @returns the sentence unless the condition holds. */
export const must = (holds: boolean, otherwise: string): string[] => (holds ? [] : [otherwise]);

/** Returns a request's status; reads the answer to its end. */
export async function statusOf(url: string, init: RequestInit): Promise<number> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(120_000) });
  await response.arrayBuffer();
  return response.status;
}
