import type { ExecutionContext, TestFn } from 'ava';
import {
  NetworkError,
  type Connection,
  type Network,
  type SentPart,
} from '../../networks/network.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { poll } from '../support/poll.ts';
import { textWithPictures, type Bench } from './bench.ts';
import { openConnection } from './connection.ts';
import { publish } from './publish.ts';

/** Part of the common suite: how a network deletes posts. */
export function removesPosts(testIt: TestFn, bench: Bench): void {
  const { network, makeAccount } = bench;
  const remove = remover(bench);
  const isMany = network.rules.threads || network.rules.comments;
  const live = publisher(bench);
  testIt('a post is removed newest part first, and only it', async (t) => {
    t.true(network.rules.canUnpublish);
    const { account, posts } = await makeAccount(t);
    const connection = openConnection(t, account);
    const [other] = await live(connection, 'This one stays');
    const sent = await live(connection, 'The first part', ...(isMany ? ['And the second'] : []));
    for (let parts = sent.length; parts > 0; parts -= 1) {
      t.is(await remove(connection, sent.slice(0, parts)), 'removed');
      const left = [other, ...sent.slice(0, parts - 1)].map((part) => part?.remoteId ?? '');
      const seen = await poll(posts, ({ length }) => length === left.length);
      t.deepEqual(
        seen.map(({ remoteId }) => remoteId),
        left,
      );
    }
  });

  testIt('without access nothing is removed', async (t) => {
    const { account, posts } = await makeAccount(t);
    const sent = await live(openConnection(t, account), 'Guarded');
    const without = { credentials: bench.wrongCredentials, session: null };
    await fails(t, remove(openConnection(t, account, without), sent), 'access_lost');
    t.is((await posts()).length, 1);
  });

  survivesFailures(testIt, bench);
}

function survivesFailures(testIt: TestFn, bench: Bench): void {
  const { makeAccount, deletes, hidesGone } = bench;
  const gone = hidesGone ? 'removed' : 'not_found';
  const [remove, live] = [remover(bench), publisher(bench)];
  testIt('a removal can be repeated, also after its answer was lost', async (t) => {
    const { account, posts } = await makeAccount(t);
    const proxy = await lossyProxy(t, account.baseUrl);
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const sent = await live(openConnection(t, account), 'Soon gone');
    proxy.plan(deletes, { kind: 'lost' });
    await fails(t, remove(connection, sent), 'network_unavailable');
    await t.notThrowsAsync(poll(posts, isEmpty));
    t.is(await remove(connection, sent), gone);
    t.is(await remove(connection, sent), gone);
  });

  testIt('an outage, and a 404 that is not from the network, leave the post live', async (t) => {
    const { account, posts } = await makeAccount(t);
    const proxy = await lossyProxy(t, account.baseUrl);
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const sent = await live(openConnection(t, account), 'Still there');
    for (const status of [502, 404]) {
      proxy.plan(deletes, { kind: 'refused', answer: { status, body: '<html>No.</html>' } });
      await fails(t, remove(connection, sent), 'network_unavailable');
    }

    t.is((await posts()).length, 1);
    t.is(await remove(connection, sent), 'removed');
    await t.notThrowsAsync(poll(posts, isEmpty));
  });
}

/** A server may take a moment to delete a post that it accepted to delete. */
const isEmpty = ({ length }: readonly unknown[]): boolean => length === 0;

const remover =
  ({ network }: Bench): NonNullable<Network['remove']> =>
  async (connection, live) => {
    if (!network.remove) {
      throw new Error(`The network "${network.id}" removes nothing.`);
    }

    return network.remove(connection, live);
  };

const publisher =
  ({ network, shape = textWithPictures }: Bench) =>
  async (connection: Connection, ...texts: string[]): Promise<SentPart[]> =>
    (await publish(network, connection, await shape.parts(texts))).sent;

const fails = async (
  t: ExecutionContext,
  attempt: Promise<unknown>,
  code: NetworkError['code'],
): Promise<boolean> => t.like(await t.throwsAsync(attempt, { instanceOf: NetworkError }), { code });
