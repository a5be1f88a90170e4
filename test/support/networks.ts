import { text as readText } from 'node:stream/consumers';
import type { Rules } from '../../networks/content-rules.ts';
import { openNetworks, type Networks } from '../../networks/registry.ts';
import {
  type Connection,
  type Finding,
  type Network,
  NetworkError,
  type SentPart,
  type PublishStep,
} from '../../networks/network.ts';
import { within } from './within.ts';

/** The outcome of one send. */
export type Fate =
  | { readonly kind: 'taken' }
  /** The network has the part, but the response is lost. */
  | { readonly kind: 'lost' }
  /** The request is lost before it arrives. */
  | { readonly kind: 'vanished' }
  | { readonly kind: 'fails'; readonly error: NetworkError };

export type FakeNetwork = Network & {
  /** The live parts, in order. */
  readonly live: { readonly key: string; readonly text: string; readonly sent: SentPart }[];
  /** Thrown by `upload` while set. */
  takesNoFiles: NetworkError | undefined;
  /** The keys of all sends, with any outcome. */
  readonly sends: string[];
  /** For each send, the names of its files. */
  readonly sentFiles: (readonly string[])[];
  /** The outcomes of the next sends; later ones succeed. */
  readonly fates: Fate[];
  /** Thrown by `reconcile` while set. */
  blind: NetworkError | undefined;
  /** Thrown by `remove` while set. */
  keepsPosts: NetworkError | undefined;
};

const noAnswer = (): NetworkError =>
  new NetworkError('network_unavailable', 'No answer.', { accepted: 'unknown' });

const acceptsAll: Rules = {
  threads: true,
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      note: { type: 'string', maxLength: 100, description: 'Any.' },
      cover: { type: 'string', format: 'uuid', description: 'A file.' },
    },
  },
  canUnpublish: true,
  appearsWithinMs: 0,
  limits: () => ({ name: 'the fake network', text: [], files: [] }),
  validate: ({ texts }) => ({
    errors: [],
    warnings: [],
    texts: texts.map(({ length }) => ({ length, limit: 500, unit: 'characters' })),
  }),
};

/**
 * A network whose failures the test chooses. Only for the ledger's own rules: the behaviour of real networks is tested
 * on real servers.
 */
export function fakeNetwork(appearsWithinMs = 0): FakeNetwork {
  const network: FakeNetwork = {
    id: 'fake',
    threads: 'sequential',
    rules: { ...acceptsAll, appearsWithinMs },
    live: [],
    sends: [],
    sentFiles: [],
    takesNoFiles: undefined,
    fates: [],
    blind: undefined,
    keepsPosts: undefined,
    prepare: async (_connection, parts) => parts.map((part) => ({ ...part, data: null })),
    upload: (_connection, step) => upload(network, step),
    send: async (_connection, step, files) => {
      network.sends.push(...step.parts.map(({ key }) => key));
      network.sentFiles.push(files);
      const fate = network.fates.shift() ?? { kind: 'taken' };
      if (fate.kind === 'fails') {
        throw fate.error;
      }

      const sent = fate.kind === 'vanished' ? [] : publish(network, step);
      if (fate.kind !== 'taken') {
        throw noAnswer();
      }

      return sent;
    },
    reconcile: async (_connection, step): Promise<Finding> => {
      if (network.blind) {
        throw network.blind;
      }

      const equal = network.live.filter(({ text }) => text === step.parts[0]?.text);
      return equal.length === 0
        ? { kind: 'absent' }
        : { kind: 'found', candidates: equal.map(({ sent }) => [sent]) };
    },
    remove: async (_connection, parts) => {
      if (network.keepsPosts) {
        throw network.keepsPosts;
      }

      const id = parts.at(-1)?.remoteId;
      const index = network.live.findIndex(({ sent }) => sent.remoteId === id);
      return index >= 0 && network.live.splice(index, 1).length > 0 ? 'removed' : 'not_found';
    },
  };
  return network;
}

type Refusal = ConstructorParameters<typeof NetworkError>[2];

/** A send that the network refuses. `taken` is `no` by default. */
export const fails = (code: NetworkError['code'], how: Partial<Refusal> = {}): Fate => ({
  kind: 'fails',
  error: new NetworkError(code, `They said ${code}.`, { accepted: 'no', ...how }),
});

/** The error of a network that cannot be reached. */
export const down = new NetworkError('network_unavailable', 'Down.', { accepted: 'unknown' });

/** The error of a network that does not show whether it has a post. */
export const cannotTell = new NetworkError('unconfirmed', 'It cannot be told.', {
  accepted: 'unknown',
});

/** Runs `act` within the next call of one of a network's steps, before the network's own part. */
export function interrupt(
  network: FakeNetwork,
  step: 'prepare' | 'upload' | 'send',
  act: () => Promise<unknown>,
): void {
  const original = network[step] as (...args: unknown[]) => Promise<unknown>;
  const interrupted = async (...args: unknown[]): Promise<unknown> => {
    Object.assign(network, { [step]: original });
    await act();
    return original(...args);
  };
  Object.assign(network, { [step]: interrupted });
}

/** Holds the next call of one of a network's steps. `isHeld` resolves once it has begun. */
export function hold(network: FakeNetwork, step: Parameters<typeof interrupt>[1]) {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  interrupt(network, step, () => {
    begun.resolve();
    return released.promise;
  });
  return { isHeld: begun.promise, release: released.resolve };
}

/** The live texts, in order. */
export const liveTexts = ({ live }: FakeNetwork): string[] => live.map(({ text }) => text);

/** Reads every file to its end. @returns their names and contents. */
async function upload({ takesNoFiles }: FakeNetwork, { parts }: PublishStep): Promise<string[]> {
  const names: string[] = [];
  for (const file of parts.flatMap(({ media }) => media)) {
    if (takesNoFiles) {
      throw takesNoFiles;
    }

    names.push(`${file.name}: ${await readText(await file.open())}`);
  }

  return names;
}

function publish(network: FakeNetwork, step: PublishStep): SentPart[] {
  return step.parts.map(({ key, text }) => {
    const id = crypto.randomUUID();
    const sent = { remoteId: id, url: `https://fake.example/${id}` };
    network.live.push({ key, text, sent });
    return sent;
  });
}

/** The fake network behind each account of `fakeNetworks`, by the account's id on the network. */
const behindAccounts = new Map<string, FakeNetwork>();

/** Makes a fake network an account on the one in `fakeNetworks`. @returns the account's id. */
export function accountOn(network: FakeNetwork): string {
  const remoteId = crypto.randomUUID();
  behindAccounts.set(remoteId, network);
  return remoteId;
}

function behind({ remoteId }: Connection): FakeNetwork {
  const network = behindAccounts.get(remoteId) ?? fakeNetwork();
  behindAccounts.set(remoteId, network);
  return network;
}

/**
 * The networks of an API that many tests share: a single network, `fake`. Each test has its own accounts there, with a
 * fake network behind each whose failures it chooses (`accountOn`).
 */
export const fakeNetworks: Readonly<Record<string, Network>> = fakeNetworksNamed('fake');

/** The same under several names, each with its own queue. */
export function fakeNetworksNamed(...names: readonly string[]): Record<string, Network> {
  const byAccount: Network = {
    id: 'fake',
    threads: 'sequential',
    rules: acceptsAll,
    prepare: (connection, parts, nowMs) => behind(connection).prepare(connection, parts, nowMs),
    upload: (connection, step) => behind(connection).upload(connection, step),
    send: (connection, step, files) => behind(connection).send(connection, step, files),
    reconcile: (connection, step) => behind(connection).reconcile(connection, step),
    remove: async (connection, parts) =>
      (await behind(connection).remove?.(connection, parts)) ?? 'not_found',
  };
  return Object.fromEntries(names.map((name) => [name, byAccount]));
}

export type HeldNetwork = FakeNetwork & {
  /** Resolves when a send has begun and is held. @throws Error after 100 s without one. */
  readonly held: () => Promise<void>;
  /** Lets the held send and all later ones continue. */
  readonly release: () => void;
};

/** A fake network that holds each send until the test releases it. */
export function heldNetwork(): HeldNetwork {
  const network = fakeNetwork();
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const { send } = network;
  return Object.assign(network, {
    held: () => within(begun.promise, () => 'No send has begun.'),
    release: () => released.resolve(),
    send: async (...args: Parameters<typeof send>) => {
      begun.resolve();
      await released.promise;
      return send(...args);
    },
  });
}

export type TimedNetwork = FakeNetwork & {
  /** When each send began. */
  readonly sentAtMs: readonly number[];
};

/** A fake network that records the times of its sends. */
export function timedNetwork(): TimedNetwork {
  const network = fakeNetwork();
  const sentAtMs: number[] = [];
  const { send } = network;
  return Object.assign(network, {
    sentAtMs,
    send: (...args: Parameters<typeof send>) => {
      sentAtMs.push(Date.now());
      return send(...args);
    },
  });
}

/** All networks for the API and the workers, with the rules of the fakes. */
export function networksWith(fakes: Readonly<Record<string, Network>>): Networks {
  const all = openNetworks({});
  const rules = Object.entries(fakes).map(([platform, fake]) => [platform, fake.rules]);
  return { ...all, rules: { ...all.rules, ...Object.fromEntries(rules) } };
}
