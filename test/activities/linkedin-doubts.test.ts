import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { connectLinkedin } from '../../networks/linkedin/connect.ts';
import type { Connection, Network } from '../../networks/network.ts';
import { waysOutTo } from '../networks/connection.ts';
import { linkedin, listed, selfServe, version } from '../networks/linkedin/bench.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { postSteps, type PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

/** The real adapter, with its requests routed to the sandbox. */
function reaching(http: ReturnType<typeof waysOutTo>): Network {
  const on = (connection: Connection): Connection =>
    Object.assign(connection, { http, downloads: http });
  return {
    ...linkedin,
    upload: (connection, step) => linkedin.upload(on(connection), step),
    send: (connection, ...rest) => linkedin.send(on(connection), ...rest),
    reconcile: (connection, step) => linkedin.reconcile(on(connection), step),
  };
}

/** A channel of an app without read permission. The sandbox shares the clock of the steps. */
async function selfServed(t: ExecutionContext, ...sites: readonly string[]) {
  const clock: { steps?: PostSteps } = {};
  const now = () => clock.steps?.deps.now().getTime() ?? Date.now();
  const { url } = await openSandbox(t, { now });
  const http = waysOutTo(t, url, ...sites);
  const steps = await postSteps(t, { linkedin: reaching(http) }, database().url);
  clock.steps = steps;
  const login = { baseUrl: `${url}/linkedin`, accessToken: selfServe, version };
  const account = await connectLinkedin(http, login);
  const { orm, sealer } = steps.deps;
  const { workspaceId } = steps;
  const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, 'linkedin', account);
  const make = async (body: string, options: Record<string, string> = {}) => {
    const channel_options = { [id]: options };
    const post = await steps.create({
      body,
      channel_ids: [id],
      channel_options,
      schedule_in_minutes: 0,
    });
    const [target] = (await steps.claimOrThrow(post)).targets;
    return { post, target: target?.postChannelId ?? '' };
  };
  return { steps, account, make };
}

for (const how of ['lost', 'error', 'late'] as const) {
  test(`a ${how} response without read permission ends as one published post with its address`, async (t) => {
    const { steps, account, make } = await selfServed(t);
    const { post, target } = await make(`Hello (all) #sandbox-${how}`);
    t.like(await steps.attempt(post, target), { kind: 'again', code: 'network_unavailable' });
    steps.pass(2 * minute);
    t.like(await steps.attempt(post, target), { kind: 'done', status: 'published' });

    const live = await listed(account);
    t.is(live.length, 1);
    const [channel] = (await steps.show(post)).channels;
    t.is(channel?.url, `${account.baseUrl}/feed/update/${live[0]?.id}/`);
  });
}

for (const [status, article, warning] of [
  [200, { title: 'A tale' }, /^$/v],
  [404, undefined, /^There is no card for "http:.*": it answered 404\.$/v],
] as const) {
  test(`a post whose link returns ${status} is resent unchanged, and the page is read once`, async (t) => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.writeHead(status, { 'content-type': 'text/html' }).end('<title>A tale</title>');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { steps, account, make } = await selfServed(t, site);
    const { post, target } = await make(`Read ${site}/tale #sandbox-lost`);
    t.like(await steps.attempt(post, target), { kind: 'again', code: 'network_unavailable' });
    steps.pass(2 * minute);
    t.like(await steps.attempt(post, target), { kind: 'done', status: 'published' });

    const [live, ...more] = await listed(account);
    t.deepEqual(more, []);
    t.like({ article: live?.content?.article }, { article });
    const [channel] = (await steps.show(post)).channels;
    t.regex(channel?.warning ?? '', warning);
    t.is(asked, 1);
  });
}

test('an equal post of last week makes the new one a duplicate, and is not taken for it', async (t) => {
  const { steps, account, make } = await selfServed(t);
  const first = await make('Every week');
  t.like(await steps.attempt(first.post, first.target), { kind: 'done', status: 'published' });
  steps.pass(7 * 24 * 60 * minute);
  const second = await make('Every week');
  t.like(await steps.attempt(second.post, second.target), { kind: 'done', status: 'failed' });

  const [channel] = (await steps.show(second.post)).channels;
  t.like(channel, { error_code: 'duplicate', url: null });
  t.is((await listed(account)).length, 1);
});

test('when the first comment is refused, the post stays live and the error names its address', async (t) => {
  const { steps, account, make } = await selfServed(t);
  const { post, target } = await make('The post', { first_comment: 'More below' });
  t.like(await steps.attempt(post, target), { kind: 'done', status: 'failed' });

  const [live] = await listed(account);
  const [channel] = (await steps.show(post)).channels;
  t.like(channel, { error_code: 'permission_missing' });
  t.regex(
    channel?.error ?? '',
    /^The first comment did not go out: .*Community Management API.*\(The post: http/,
  );
  t.true(channel?.error?.includes(live?.id ?? 'nothing'));
});
