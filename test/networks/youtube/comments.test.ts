import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { youtube } from '../../../networks/youtube/adapter.ts';
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

test('a comment that is refused leaves the video, and says why', async (t) => {
  const { proxy, connection, look } = await throughProxy(t);
  const message = 'The video has disabled comments.';
  const error403 = { code: 403, message, errors: [{ message, reason: 'commentsDisabled' }] };
  const body = JSON.stringify({ error: error403 });
  proxy.plan(comments, { kind: 'refused', answer: { status: 403, body } });
  const attempt = publish(youtube, connection, await filmParts(['Hi', 'First']));
  const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
  t.like(error, { code: 'content_refused', taken: 'no' });
  t.regex(error.message, /no comments under this video.*disabled comments/v);
  t.is((await look.uploads()).length, 1);
});

test('a video that YouTube made private gets no comment, and its owner is told', async (t) => {
  const { proxy, connection, look } = await throughProxy(t);
  const parts = await filmParts(['Hi #sandbox-locked', 'First']);
  const { sent } = await publish(youtube, connection, parts);
  const [video, comment] = sent;
  t.is((await look.uploads())[0]?.status?.privacyStatus, 'private');
  t.is(
    comment?.warning,
    'The first comment was left out: the video is private, and YouTube takes no comments there.',
  );
  t.is(comment?.url, video?.url);
  t.not(comment?.remoteId, video?.remoteId);
  t.false(
    proxy.seen.some(({ method, path }) => method === comments.method && comments.path.test(path)),
  );
});

test('videos are asked for by their ids alone', async (t) => {
  const { proxy, connection } = await throughProxy(t);
  await publish(youtube, connection, await filmParts(['Hi', 'First']));
  const asked = proxy.seen.filter(({ path }) => path.includes('/youtube/v3/videos?'));
  t.true(asked.length > 0);
  t.false(asked.some(({ path }) => path.includes('maxResults')));
});

test('a comment whose answer is lost is found, among comments that say otherwise', async (t) => {
  const { proxy, connection, look } = await throughProxy(t);
  const parts = await filmParts(['Hi', 'Mine\nin two lines']);
  const prepared = await youtube.prepare(connection, parts, Date.now());
  const sent = await sendStep(youtube, connection, nextStep(youtube, prepared, []));
  const step = nextStep(youtube, prepared, sent);
  t.deepEqual(await youtube.reconcile(connection, step), { kind: 'absent' });

  proxy.plan(comments, { kind: 'lost' });
  await t.throwsAsync(sendStep(youtube, connection, step));
  const [comment] = await look.comments(sent[0]?.remoteId ?? '');
  t.like(await youtube.reconcile(connection, step), {
    kind: 'found',
    candidates: { length: 1, 0: { 0: { remoteId: comment?.id ?? '-' } } },
  });
});
