import { fakeNetwork, type FakeNetwork } from './fake-network.ts';

export type HeldNetwork = FakeNetwork & {
  /** Resolves when a send has begun and is held. */
  readonly held: () => Promise<void>;
  /** Lets the held send, and all after it, go on. */
  readonly release: () => void;
};

/** A fake network that is slow to answer: a send stays under way until the test lets it go on. */
export function heldNetwork(): HeldNetwork {
  const network = fakeNetwork();
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const { send } = network;
  return Object.assign(network, {
    held: () => begun.promise,
    release: () => released.resolve(),
    send: async (...args: Parameters<typeof send>) => {
      begun.resolve();
      await released.promise;
      return send(...args);
    },
  });
}
