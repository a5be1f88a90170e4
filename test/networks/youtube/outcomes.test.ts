import test from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { nextPacificMidnight } from '../../../networks/youtube/refusal.ts';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import type { Answer, Target } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { fileOf, pictureFile } from '../files.ts';
import { nextStep, publish, sendStep, untilReady } from '../publish.ts';
import { filmParts, google, openYoutube, throughProxy } from './bench.ts';

const begins: Target = { method: 'POST', path: /\/upload\/youtube\/v3\/videos\?/ };
const pollRequest: Target = { method: 'GET', path: /\/youtube\/v3\/videos\?/ };
const thumbnails: Target = { method: 'POST', path: /\/upload\/youtube\/v3\/thumbnails\/set\?/ };

// Quotas.

const perDay =
  "Quota exceeded for quota metric 'Video Uploads' and limit 'Video Uploads per day' of service 'youtube.googleapis.com' for consumer 'project_number:1'.";
for (const [status, reason, message] of [
  [429, 'rateLimitExceeded', perDay],
  [403, 'quotaExceeded', 'You have exceeded your <a href="/quota">quota</a>.'],
  [403, 'dailyLimitExceeded', 'Daily Limit Exceeded.'],
] as const) {
  test(`a daily quota (${status} ${reason}) stops the whole network until midnight Pacific`, async (t) => {
    const { proxy, connection, stored: look } = await throughProxy(t);
    proxy.plan(begins, { kind: 'refused', answer: google(status, reason, message) });
    const attempt = publish(youtubeNetwork, connection, await filmParts(['Hi']));
    const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
    t.like(error, { code: 'rate_limited', accepted: 'no', limit: 'network' });
    t.is(error.retryAtMs, nextPacificMidnight(Date.now()));
    t.false(error.message.includes('<'));
    t.deepEqual(await look.uploads(), []);
  });
}

test('a channel at its upload limit waits alone', async (t) => {
  const { proxy, connection } = await throughProxy(t);
  const answer = google(400, 'uploadLimitExceeded', 'The user has exceeded the number of videos.');
  proxy.plan(begins, { kind: 'refused', answer });
  const attempt = publish(youtubeNetwork, connection, await filmParts(['Hi']));
  const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
  t.like(error, { code: 'rate_limited', accepted: 'no', limit: 'channel' });
  t.true((error.retryAtMs ?? 0) > Date.now() + 30 * 60_000);
});

// Refusals.

const refusals: readonly [status: number, reason: string, code: string][] = [
  [401, 'authError', 'access_lost'],
  [401, 'youtubeSignupRequired', 'permission_missing'],
  [403, 'insufficientPermissions', 'permission_missing'],
  [403, 'forbidden', 'permission_missing'],
  [403, 'authenticatedUserAccountSuspended', 'permission_missing'],
  [403, 'accessNotConfigured', 'internal'],
  [403, 'forbiddenPrivacySetting', 'content_refused'],
  [400, 'invalidTags', 'content_refused'],
  [400, 'invalidCategoryId', 'content_refused'],
  [400, 'mediaBodyRequired', 'media_refused'],
  [503, 'backendError', 'network_unavailable'],
];
for (const [status, reason, code] of refusals) {
  test(`a video that is refused as ${reason} (${status}) is ${code}, with YouTube’s message`, async (t) => {
    const { proxy, connection, stored: look } = await throughProxy(t);
    const answer = google(status, reason, 'Because of demo.');
    proxy.plan(begins, { kind: 'refused', answer });
    const attempt = publish(youtubeNetwork, connection, await filmParts(['Hi']));
    const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
    t.like(error, { code, accepted: 'no' });
    t.regex(error.message, /^YouTube .+\(HTTP \d{3}\): "Because of …\."$/v);
    t.deepEqual(await look.uploads(), []);
  });
}

for (const status of [401, 403]) {
  test(`a ${status} that is not Google’s loses no access`, async (t) => {
    const { proxy, connection } = await throughProxy(t);
    proxy.plan(begins, { kind: 'refused', answer: { status, body: '<html>Firewall</html>' } });
    const attempt = publish(youtubeNetwork, connection, await filmParts(['Hi']));
    t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', accepted: 'no' });
  });
}

// Processing.

test('a video is processed for a while, and then ready', async (t) => {
  const { connection } = await throughProxy(t);
  const parts = await filmParts(['#sandbox-slow']);
  const prepared = await youtubeNetwork.prepare(connection, parts, Date.now());
  const [sent] = await sendStep(youtubeNetwork, connection, nextStep(youtubeNetwork, prepared, []));
  const [part] = prepared;
  if (!part || !sent) {
    throw new Error('The post has no part.');
  }

  const first = await youtubeNetwork.readiness?.(connection, part, sent);
  t.is(first?.kind, 'processing');
  t.true(first?.kind === 'processing' && first.checkAfterMs >= 5000);
  t.is(await untilReady(youtubeNetwork, connection, part, sent), undefined);
});

const givenUp: readonly [what: string, text: string, reason: RegExp][] = [
  ['could not be used', '#sandbox-broken', /could not use the video: it has a codec/v],
  ['is a duplicate', '#sandbox-duplicate', /rejected the video: the channel has the same video/v],
];
for (const [what, text, reason] of givenUp) {
  test(`a video that ${what} is refused with a sentence that gives the reason`, async (t) => {
    const { connection } = await throughProxy(t);
    const attempt = publish(youtubeNetwork, connection, await filmParts([text]));
    const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
    t.is(error.code, 'media_refused');
    t.regex(error.message, reason);
  });
}

test('a file that is not a video is refused after YouTube has examined it', async (t) => {
  const { connection } = await throughProxy(t);
  const file = fileOf(Buffer.from('No film at all.'), { type: 'video/mp4' });
  const attempt = publish(youtubeNetwork, connection, await filmParts(['Hi'], { file }));
  t.regex((await t.throwsAsync(attempt)).message, /in no format that YouTube knows\.$/v);
});

test('a video that YouTube makes private is published, with a warning', async (t) => {
  const { account } = await openYoutube(t);
  const connection = openConnection(t, account);
  const warningOf = async (privacy: string) => {
    const parts = await filmParts(['#sandbox-locked'], { options: { privacy } });
    const { prepared, sent } = await publish(youtubeNetwork, connection, parts);
    const [part, post] = [prepared[0], sent[0]];
    return part && post ? untilReady(youtubeNetwork, connection, part, post) : null;
  };
  t.regex(
    (await warningOf('public')) ?? '',
    /made this video private, although it was to be public/v,
  );
  t.regex((await warningOf('unlisted')) ?? '', /to be unlisted.*not audited/v);
  t.is(await warningOf('private'), undefined);
});

test('a failed lookup of the video is repeated', async (t) => {
  const { proxy, connection } = await throughProxy(t);
  const looked = async (answer: Answer) => {
    proxy.plan(pollRequest, { kind: 'overruled', answer });
    return t.throwsAsync(publish(youtubeNetwork, connection, await filmParts(['Hi'])), {
      instanceOf: NetworkError,
    });
  };
  t.is((await looked({ status: 200, body: '{"items": []}' })).code, 'network_unavailable');
  t.is((await looked({ status: 200, body: '[]' })).code, 'network_unavailable');
  t.is((await looked(google(403, 'quotaExceeded'))).code, 'rate_limited');
});

// Thumbnails.

test('a video whose thumbnail YouTube refuses is published without it, with a warning', async (t) => {
  const { proxy, connection } = await throughProxy(t);
  const warningOf = async (thumbnail: Awaited<ReturnType<typeof pictureFile>>) => {
    const parts = (await filmParts(['Hi'])).map((part) =>
      Object.assign(part, { optionFiles: { thumbnail } }),
    );
    const prepared = await youtubeNetwork.prepare(connection, parts, Date.now());
    const [sent] = await sendStep(
      youtubeNetwork,
      connection,
      nextStep(youtubeNetwork, prepared, []),
    );
    const [part] = prepared;
    return part && sent ? untilReady(youtubeNetwork, connection, part, sent) : null;
  };
  const picture = await pictureFile();
  t.is(await warningOf(picture), undefined);
  const gif = { ...picture, type: 'image/gif' };
  t.regex((await warningOf(gif)) ?? '', /no thumbnail of its own.*image\/gif\.$/v);
  for (const answer of [
    google(400, 'invalidImage', 'It is invalid.'),
    google(403, 'forbidden', 'It is invalid.'),
    google(429, 'uploadRateLimitExceeded', 'It is invalid.'),
  ]) {
    proxy.plan(thumbnails, { kind: 'refused', answer });
    t.regex((await warningOf(picture)) ?? '', /no thumbnail of its own.*"It is invalid\."$/v);
  }
  proxy.plan(thumbnails, { kind: 'refused', answer: google(503, 'backendError') });
  t.like(await t.throwsAsync(warningOf(picture)), { code: 'network_unavailable' });
});

test('a thumbnail that is missing in the library has a warning', async (t) => {
  const { connection } = await throughProxy(t);
  const parts = await filmParts(['Hi'], { options: { thumbnail: crypto.randomUUID() } });
  const { prepared, sent } = await publish(youtubeNetwork, connection, parts);
  const [part, post] = [prepared[0], sent[0]];
  const warning = part && post && (await untilReady(youtubeNetwork, connection, part, post));
  t.regex(warning ?? '', /no thumbnail of its own: the picture is not in the media library/v);
});

test('a sent video is found after any kind of missing answer', async (t) => {
  let nowMs = Date.now();
  const { account, stored: look } = await openYoutube(t, { now: () => nowMs });
  for (const text of ['#sandbox-lost', '#sandbox-error', '#sandbox-late']) {
    const connection = openConnection(t, account);
    const prepared = await youtubeNetwork.prepare(connection, await filmParts([text]), nowMs);
    const step = nextStep(youtubeNetwork, prepared, []);
    t.like(
      await t.throwsAsync(sendStep(youtubeNetwork, connection, step)),
      { accepted: 'unknown' },
      text,
    );
    if (text === '#sandbox-late') {
      t.deepEqual(await youtubeNetwork.reconcile(connection, step), { kind: 'absent' });
    }
    nowMs += 61_000;
    const finding = await youtubeNetwork.reconcile(connection, step);
    const newest = (await look.uploads()).at(-1)?.id ?? '-';
    t.like(finding, { kind: 'found', candidates: { 0: { 0: { remoteId: newest } } } }, text);
  }
});

const comments: Target = { method: 'POST', path: /\/youtube\/v3\/commentThreads\?/ };

test('a first comment appears under its video', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const parts = await filmParts(['About it', 'Mine is the first']);
  const { sent } = await publish(youtubeNetwork, openConnection(t, account), parts);

  const [video, comment] = sent;
  const shown = await look.comments(video?.remoteId ?? '');
  t.deepEqual(
    shown.map(({ id, snippet }) => [id, snippet?.topLevelComment?.snippet?.textOriginal]),
    [[comment?.remoteId, 'Mine is the first']],
  );
  t.is(comment?.url, `${video?.url}&lc=${comment?.remoteId}`);
});

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
