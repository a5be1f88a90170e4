import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import { createWorkspace } from '../../../cli/admin/workspaces.ts';
import { query } from '../../../db/query.ts';
import { mastodonSettings, readLimits, settingsOf } from '../../../networks/mastodon/settings.ts';
import { rules } from '../../../networks/mastodon/rules.ts';
import { NetworkError } from '../../../networks/network.ts';
import { refreshLimits } from '../../../worker/keep-limits.ts';
import type { Json } from '../../../domain/json-schema.ts';
import { createSealer } from '../../../runtime/secrets.ts';
import { freshDatabase } from '../../support/database.ts';
import { testLog } from '../../support/temporal.ts';
import { egressTo } from '../connection.ts';
import { against, textOf } from '../content.ts';
import { listening } from '../../support/listening.ts';

const day = 24 * 60 * 60_000;

/** Servers with changing limits, and channels on them. */
async function watched(t: ExecutionContext) {
  const { orm } = await freshDatabase(t);
  const workspaceId = await createWorkspace(orm.em.fork(), 'Test');
  const sealer = createSealer('00'.repeat(32));
  const told: Record<string, number | undefined> = {};
  const asked: string[] = [];
  let nowMs = Date.parse('2026-05-01T12:00:00Z');
  const round = () =>
    refreshLimits({
      orm,
      egress: egressTo(t),
      log: testLog,
      now: () => new Date(nowMs),
      limits: {
        mastodon: async (_, baseUrl): Promise<Record<string, Json>> => {
          asked.push(baseUrl);
          const maxCharacters = told[baseUrl];
          if (maxCharacters === undefined) {
            throw new NetworkError('network_unavailable', 'It is away.', { accepted: 'no' });
          }
          return { maxCharacters };
        },
      },
    });
  const addChannel = async (baseUrl: string, platform = 'mastodon') => {
    const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, platform, {
      baseUrl,
      remoteId: crypto.randomUUID(),
      handle: '@me',
      credentials: {},
      session: null,
      settings: { maxCharacters: 500, webUrl: 'https://kept.example' },
    });
    return async () => {
      const [row] = await query<{ settings: Json }>(
        orm.em.fork(),
        sql`select settings from channels where id = ${id}`,
      );
      return row?.settings ?? null;
    };
  };
  return { told, asked, round, addChannel, pass: (ms: number) => (nowMs += ms) };
}

test("posts are validated by a server's current limits, which are fetched once a day", async (t) => {
  const { told, asked, round, addChannel, pass } = await watched(t);
  const [first, second] = [
    await addChannel('https://a.example'),
    await addChannel('https://a.example'),
  ];
  told['https://a.example'] = 5000;

  t.is(await round(), 1);
  for (const settings of [await first(), await second()]) {
    against(rules, settings).takes(t, textOf('x'.repeat(5000)));
    t.like(settings, { webUrl: 'https://kept.example' });
  }

  told['https://a.example'] = 10_000;
  pass(day - 1);
  t.is(await round(), 0);
  pass(1);
  t.is(await round(), 1);
  against(rules, await second()).takes(t, textOf('x'.repeat(10_000)));
  t.deepEqual(asked, ['https://a.example', 'https://a.example']);
});

test('a server that does not answer keeps its stored limits, and delays no other server', async (t) => {
  const { told, asked, round, addChannel } = await watched(t);
  const away = await addChannel('https://away.example');
  const there = await addChannel('https://b.example');
  const other = await addChannel('https://pds.example', 'bluesky');
  told['https://b.example'] = 1000;

  t.is(await round(), 2);
  t.like(await away(), { maxCharacters: 500 });
  t.like(await there(), { maxCharacters: 1000 });
  t.deepEqual(await other(), { maxCharacters: 500, webUrl: 'https://kept.example' });
  t.is(await round(), 0);
  t.deepEqual(asked.toSorted(), ['https://away.example', 'https://b.example']);
});

test('limits are also read from a server with only the first version of the call', async (t) => {
  const instance = {
    uri: 'https://pleroma.example',
    max_toot_chars: 5000,
    description_limit: 2000,
    upload_limit: 16_000_000,
    configuration: { statuses: { max_media_attachments: 6 } },
  };
  const server = createServer(({ url }, response) => {
    const isKnown = url === '/api/v1/instance';
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isKnown ? instance : { error: 'Not Found' }));
  });
  const port = await listening(t, server);
  const url = `http://127.0.0.1:${port}`;

  const limits = await readLimits(egressTo(t, url), url);
  t.deepEqual(limits, {
    maxCharacters: 5000,
    maxMediaAttachments: 6,
    maxImageBytes: 16_000_000,
    maxVideoBytes: 16_000_000,
    maxDescription: 2000,
  });
  against(rules, limits).takes(t, textOf('x'.repeat(600)));
});

test('a server that announces no limits has those of Mastodon', (t) => {
  for (const instance of [{}, { configuration: {} }, { configuration: { statuses: {} } }]) {
    t.deepEqual(settingsOf(instance), {});
  }
  t.like(mastodonSettings({}), { maxCharacters: 500, maxMediaAttachments: 4 });
});

test("an invalid limit is left out, and the server's other limits are stored", (t) => {
  const settings = settingsOf({
    configuration: {
      statuses: {
        max_characters: 1000,
        max_media_attachments: -1,
        characters_reserved_per_url: '23',
      },
      media_attachments: {
        supported_mime_types: [],
        image_size_limit: 1.5,
        image_matrix_limit: 0,
        video_size_limit: 1024,
        video_matrix_limit: null,
      },
    },
  });
  t.deepEqual(settings, { maxCharacters: 1000, maxVideoBytes: 1024 });
});
