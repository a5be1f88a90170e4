import { readFileSync, writeFileSync } from 'node:fs';
import test from 'ava';
import type { Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';

// mistakes.txt has requests as people get them wrong, each with its exact answer: a title, the call, its headers, the
// status, code and message, and a line for each detail. A JSON string as the body is sent as its text. `<281 y>` is a
// letter repeated; `<mastodon>` and the like are the ids of the workspace. UPDATE=1 writes the answers anew.
const file = new URL('mistakes.txt', import.meta.url);
const known = readFileSync(file, 'utf8').trimEnd().split('\n\n');

const now = new Date('2027-01-04T08:00:00Z'); // Some answers tell the time.
const api = sharedApi(test, { now: () => now, sandboxUrl: 'http://127.0.0.1:9' });

/** A workspace with the resources that the requests name. */
async function workspace() {
  const { punctual } = api;
  const client = await api.newClient();
  const { workspaceId } = client;
  const ids: Record<string, string> = { unknown: crypto.randomUUID() };
  for (const platform of ['mastodon', 'x', 'bluesky', 'youtube'] as const) {
    const account = { platform, handle: `@${platform}.test` };
    ids[platform] = await storeChannel(punctual, workspaceId, account);
  }

  for (let count = 0; count < 5; count += 1) {
    ids[`image${count}`] = await storeMedia(punctual, workspaceId);
  }

  ids['huge'] = await storeMedia(punctual, workspaceId, { sizeBytes: 60_000_000 });
  const later = { body: 'Later', channel_ids: [ids['mastodon']], schedule_in_minutes: 600 };
  ids['scheduled'] = (await client.post('/posts', later)).body.post.id;
  return { client, ids: Object.entries(ids) };
}

type Ids = readonly (readonly [name: string, id: string])[];

const filled = (text: string, ids: Ids): string =>
  ids
    .reduce((done, [name, id]) => done.replaceAll(`<${name}>`, id), text)
    .replaceAll(/<(\d+) (\w)>/gv, (_, times, letter) => letter.repeat(Number(times)));

/** @param lines The call and its headers. */
function send([call = '', ...lines]: readonly string[], key: string): Promise<Reply> {
  const [, method = '', path = '', json] = /^(\S+) (\S+)(?: (.*))?$/v.exec(call) ?? [];
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  const headers = lines.map((line) => [line.replace(/:.*/v, ''), line.replace(/^.*?: ?/v, '')]);
  return rawCall(`${api.punctual.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...Object.fromEntries(headers),
    },
    ...(json === undefined ? {} : { body: typeof value === 'string' ? value : json }),
  });
}

function shown({ status, body }: Reply, ids: Ids): string {
  const details: { path: string; message: string }[] = body.details ?? [];
  const lines = details.map(({ path, message, ...more }) =>
    [
      `- ${path || 'all'}: ${message}`,
      ...(Object.keys(more).length > 0 ? [JSON.stringify(more)] : []),
    ].join(' '),
  );
  const text = [
    `${status} ${body.code ?? 'warning'}: ${body.error ?? body.warning}`,
    ...lines,
  ].join('\n');
  return ids.reduce((done, [name, id]) => done.replaceAll(id, `<${name}>`), text);
}

test('each usual mistake gets an answer that names the field, the problem and the next step', async (t) => {
  const { client, ids } = await workspace();
  const before = await storedRows(api.punctual.orm, client.workspaceId);
  const answered: string[] = [];
  for (const mistake of known) {
    const [title = '', ...lines] = mistake.split('\n');
    const request = lines.filter((line) => !/^(?:\d{3} |- )/v.test(line));
    const reply = await send(
      request.map((line) => filled(line, ids)),
      client.key,
    );
    answered.push([title, ...request, shown(reply, ids)].join('\n'));
  }

  if (process.env['UPDATE']) {
    writeFileSync(file, `${answered.join('\n\n')}\n`);
  }

  t.deepEqual(
    answered.filter((answer, index) => answer !== known[index]),
    [],
    'answers that differ from mistakes.txt',
  );
  t.true(answered.length >= 110);
  t.deepEqual(await storedRows(api.punctual.orm, client.workspaceId), before);
});
