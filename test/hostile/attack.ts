import type { Client } from '../support/client.ts';

/** The service as an outsider sees it, and what they have there. */
export type Target = {
  /** Without a trailing slash. */
  readonly url: string;
  /** The attacker's, with a key of the usual limits lifted. */
  readonly attacker: Client;
  /** Ids of the attacker's channels, of all networks. */
  readonly channels: readonly string[];
};

/** Something that no honest client does, or not so often. */
export type Attack = {
  readonly name: string;
  /** @returns what was not as promised, in sentences; nothing when all was. */
  readonly run: (target: Target) => Promise<readonly string[]>;
};

/** @returns the sentence unless it holds. */
export const must = (holds: boolean, otherwise: string): string[] => (holds ? [] : [otherwise]);

/** A request of which only the status counts; the answer is read to its end. */
export async function statusOf(url: string, init: RequestInit): Promise<number> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(120_000) });
  await response.arrayBuffer();
  return response.status;
}
