import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import { lossyProxy, type Target } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { nextStep, publish, sendStep } from '../publish.ts';
import { filmParts, openYoutube } from './bench.ts';

const comments: Target = { method: 'POST', path: /\/youtube\/v3\/commentThreads\?/ };

async function throughProxy(t: ExecutionContext) {
  const server = await openYoutube(t);
  const proxy = await lossyProxy(t, server.account.baseUrl);
  const connection = openConnection(t, server.account, { baseUrl: proxy.url });
  return { ...server, proxy, connection };
}

test('a refused comment leaves the video, with an error that says why', async (t) => {
  const { proxy, connection, stored: look } = await throughProxy(t);
  const message = 'The video has disabled comments.';
  const error403 = { code: 403, message, errors: [{ message, reason: 'commentsDisabled' }] };
  const body = JSON.stringify({ error: error403 });
  proxy.plan(comments, { kind: 'refused', answer: { status: 403, body } });
  const attempt = publish(youtubeNetwork, connection, await filmParts(['Hi', 'First']));
  const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
  t.like(error, { code: 'content_refused', accepted: 'no' });
  t.regex(error.message, /no comments under this video.*disabled comments/v);
  t.is((await look.uploads()).length, 1);
});

test('a video that YouTube made private gets no comment, but a warning', async (t) => {
  const { proxy, connection, stored: look } = await throughProxy(t);
  const parts = await filmParts(['Hi #sandbox-locked', 'First']);
  const { sent } = await publish(youtubeNetwork, connection, parts);
  const [video, comment] = sent;
  t.is((await look.uploads())[0]?.status?.privacyStatus, 'private');
  t.is(
    comment?.warning,
    'The first comment was left out: the video is private, and YouTube allows no comments there.',
  );
  t.is(comment?.url, video?.url);
  t.not(comment?.remoteId, video?.remoteId);
  t.false(
    proxy.seen.some(({ method, path }) => method === comments.method && comments.path.test(path)),
  );
});

test('videos are read by their ids', async (t) => {
  const { proxy, connection } = await throughProxy(t);
  await publish(youtubeNetwork, connection, await filmParts(['Hi', 'First']));
  const asked = proxy.seen.filter(({ path }) => path.includes('/youtube/v3/videos?'));
  t.true(asked.length > 0);
  t.false(asked.some(({ path }) => path.includes('maxResults')));
});

test('a comment whose answer is lost is found, among comments with other texts', async (t) => {
  const { proxy, connection, stored: look } = await throughProxy(t);
  const parts = await filmParts(['Hi', 'Mine\nin two lines']);
  const prepared = await youtubeNetwork.prepare(connection, parts, Date.now());
  const sent = await sendStep(youtubeNetwork, connection, nextStep(youtubeNetwork, prepared, []));
  const step = nextStep(youtubeNetwork, prepared, sent);
  t.deepEqual(await youtubeNetwork.reconcile(connection, step), { kind: 'absent' });

  proxy.plan(comments, { kind: 'lost' });
  await t.throwsAsync(sendStep(youtubeNetwork, connection, step));
  const [comment] = await look.comments(sent[0]?.remoteId ?? '');
  t.like(await youtubeNetwork.reconcile(connection, step), {
    kind: 'found',
    candidates: { length: 1, 0: { 0: { remoteId: comment?.id ?? '-' } } },
  });
});
