import test, { type ExecutionContext } from 'ava';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../networks/bluesky/connect.ts';
import { egressTo, openConnection } from '../networks/connection.ts';
import { videoFile } from '../networks/files.ts';
import { partsWith, publish } from '../networks/publish.ts';
import { blueskyClient, openSandbox } from './open-sandbox.ts';

/** The demo account, and a call that gives the sandbox a directive. */
async function connected(t: ExecutionContext) {
  const { url } = await openSandbox(t);
  const login = { baseUrl: url, identifier: 'demo.sandbox.test', appPassword: 'demo' };
  const account = await connectBluesky(egressTo(t, url), login);
  const order = (directive: string) =>
    fetch(`${url}/control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ platform: 'bluesky', directive, count: 1 }),
    });
  const file = await videoFile();
  const send = () =>
    publish(blueskyNetwork, openConnection(t, account), partsWith([file], 'A video'));
  return { url, account, order, send };
}

test('a server’s limit for file sizes is stored with the channel', async (t) => {
  const { account } = await connected(t);
  t.like(account.settings, { blobUploadLimit: 40 * 1024 * 1024 });
});

test('the adapter waits for a slow video, and finds the same video a second time', async (t) => {
  const { order, send } = await connected(t);
  await order('slow');
  t.is((await send()).sent[0]?.warning, undefined);
  t.is((await send()).sent[0]?.warning, undefined);
});

test('a video whose processing fails is not published', async (t) => {
  const { order, send } = await connected(t);
  await order('broken');
  t.like(await t.throwsAsync(send()), { code: 'media_refused', accepted: 'no' });
  t.is((await send()).sent[0]?.warning, undefined);
});

test('the video service accepts only a token for its method and this server', async (t) => {
  const { url } = await connected(t);
  const { data } = await (await blueskyClient(url)).com.atproto.server.describeServer();
  const agent = await blueskyClient(url);
  const tokenFor = async (aud: string, lxm: string) =>
    (await agent.com.atproto.server.getServiceAuth({ aud, lxm })).data.token;
  const ask = async (token: string) =>
    fetch(`${url}/xrpc/app.bsky.video.getUploadLimits`, {
      headers: { authorization: `Bearer ${token}` },
    });
  const method = 'app.bsky.video.getUploadLimits';

  t.is((await ask(await tokenFor(data.did, method))).status, 200);
  t.is((await ask(await tokenFor(data.did, 'com.atproto.repo.uploadBlob'))).status, 401);
  t.is((await ask(await tokenFor('did:web:other.example', method))).status, 401);
  t.is((await ask(agent.session?.accessJwt ?? '')).status, 401);
});
