import test from 'ava';
import { openNetworks } from '../../networks/registry.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { egressTo, openConnection } from './connection.ts';
import { nextStep, partsOf, sendStep } from './publish.ts';

const networks = openNetworks({});

/** The outcomes of a post with `#sandbox-unconfirmed`, whose state no network shows. */
const outcomes = {
  mastodon: { code: 'unconfirmed' },
  x: { code: 'unconfirmed' },
  bluesky: { code: 'unconfirmed' },
  linkedin: { kind: 'found' },
} as const;

for (const [platform, outcome] of Object.entries(outcomes)) {
  for (const isFirst of [true, false]) {
    test(`${platform}: #sandbox-unconfirmed hides the outcome of its post ${isFirst ? 'before' : 'after'} a lost one, and of no other`, async (t) => {
      const { url } = await openSandbox(t);
      const network = (await networks.load())[platform]!;
      const [, connector] = Object.entries(networks.connectors).find(([id]) => id === platform)!;
      const account = await connector.connect(egressTo(t, url), connector.sandbox(url));
      const connection = openConnection(t, account);
      // Both are prepared before either is sent, so that both lookups cover both posts.
      const texts = ['#sandbox-unconfirmed', '#sandbox-lost'];
      const steps = await Promise.all(
        texts.map(async (text) => {
          const parts = await network.prepare(connection, partsOf(text), Date.now());
          return { text, step: nextStep(network, parts, []) };
        }),
      );
      for (const { step } of isFirst ? steps : steps.toReversed()) {
        const sending = sendStep(network, connection, step);
        t.like(await t.throwsAsync(sending), { accepted: 'unknown' });
      }

      for (const { text, step } of steps) {
        const found = await network.reconcile(connection, step).catch((error: unknown) => error);
        t.like(found, text === '#sandbox-lost' ? { kind: 'found' } : outcome, text);
      }
    });
  }
}
