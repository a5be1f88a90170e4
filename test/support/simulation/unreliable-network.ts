import { CancelledFailure } from '@temporalio/common';
import {
  NetworkError,
  type Network,
  type SentPart,
  type PublishStep,
} from '../../../networks/network.ts';
import { fakeNetwork } from '../networks.ts';
import type { Random } from './random.ts';

export type Live = { readonly part: number; readonly text: string; readonly sent: SentPart };

export type UnreliableNetwork = Network & {
  /** The live parts, in order. */
  live: Live[];
  /** Sends whose posts appear later. */
  late: (Live & { readonly atMs: number })[];
};

export type Behaviour = {
  /** Null when every call succeeds from now on. */
  readonly random: () => Random | null;
  readonly nowMs: () => number;
  /** Called during each call to the network, so that others can act meanwhile. */
  readonly midway: () => Promise<void>;
  /** Called where a worker may hang until another one continues its work. */
  readonly hang: () => Promise<void>;
  readonly onSend: (network: string, step: PublishStep) => void;
};

const noAnswer = (): NetworkError =>
  new NetworkError('network_unavailable', 'No answer.', { accepted: 'unknown' });

/** A network that randomly accepts, loses, delays and refuses sends. A send appears at most 60 s late. */
export function unreliableNetwork(
  id: string,
  { random, nowMs, midway, hang, onSend }: Behaviour,
): UnreliableNetwork {
  const network: UnreliableNetwork = {
    ...fakeNetwork(60_000),
    id,
    live: [],
    late: [],
    prepare: async (_connection, parts) => {
      await midway();
      await hang();
      return parts.map((part) => ({ ...part, data: null }));
    },
    upload: async () => {
      await midway();
      await hang();
      return [];
    },
    send: async (_connection, step) => {
      onSend(id, step);
      await midway();
      const made = step.parts.map((part) => madeOf(part.key, part.text));
      failByChance(network, random(), made, nowMs());
      network.live.push(...made);
      await midway();
      return made.map(({ sent }) => sent);
    },
    reconcile: async (_connection, step) => {
      await midway();
      if (random()?.chance(0.25)) {
        throw noAnswer();
      }

      publishLate(network, nowMs());
      const text = step.parts[0]?.text;
      const equal = network.live.filter((live) => live.text === text);
      await hang();
      return equal.length === 0
        ? { kind: 'absent' }
        : { kind: 'found', candidates: equal.map(({ sent }) => [sent]) };
    },
  };
  return network;
}

/** @throws for each way in which a send gets no success response; the part may still be live. */
function failByChance(
  network: UnreliableNetwork,
  random: Random | null,
  made: readonly Live[],
  nowMs: number,
): void {
  const no = { accepted: 'no' } as const;
  const fate = random?.below(20) ?? 19;
  if (fate < 2) {
    network.live.push(...made);
    throw fate === 0 ? noAnswer() : fault(random, 'after the send');
  }

  if (fate === 2) {
    const atMs = nowMs + (random?.below(59_000) ?? 0);
    network.late.push(...made.map((live) => ({ ...live, atMs })));
    throw noAnswer();
  }

  if (fate < 5) {
    throw fate === 3 ? noAnswer() : fault(random, 'before the send');
  }

  if (fate < 8) {
    throw new NetworkError('network_unavailable', 'They are busy.', no);
  }

  if (fate === 8) {
    const limit = random?.pick(['channel', 'server', 'network'] as const) ?? 'channel';
    const retryAtMs = nowMs + 7 * 60_000;
    throw new NetworkError('rate_limited', 'Slowly.', { ...no, limit, retryAtMs });
  }

  if (fate < 12) {
    throw new NetworkError(fate === 9 ? 'access_lost' : 'content_refused', 'No.', no);
  }
}

/** The worker stops without writing its result, or fails with a bug. */
const fault = (random: Random | null, when: string): Error =>
  random?.chance(0.5) ? new CancelledFailure(`Gone ${when}.`) : new Error(`A bug ${when}.`);

/** Makes the delayed sends live that are due by now. */
export function publishLate(network: UnreliableNetwork, nowMs: number): void {
  network.live.push(...network.late.filter(({ atMs }) => atMs <= nowMs));
  network.late = network.late.filter(({ atMs }) => atMs > nowMs);
}

const madeOf = (key: string, text: string): Live => {
  const remoteId = crypto.randomUUID();
  const part = Number(key.split('-').at(-1));
  return { part, text, sent: { remoteId, url: `https://fake.example/${remoteId}` } };
};
