import { AppError, cut } from '../domain/errors.ts';
import { anyFields, fields, having, listOf, oneOf, text } from '../domain/json-schema.ts';
import type { Schemas } from '../sdk/src/index.ts';
import { postTools } from './post-tools.ts';
import { filled, presentMetrics, presentNetwork } from './present.ts';
import {
  adds,
  cursor,
  id,
  idempotencyKey,
  mostRows,
  pageOf,
  reads,
  tool,
  type Tool,
} from './tool.ts';

const rowCursor = { ...cursor, pattern: '^\\d{1,9}$' };

const platform = { ...text, description: 'Such as mastodon' };

/** All tools, in the order of a task. */
export const tools: readonly Tool[] = [
  tool({
    name: 'list_channels',
    title: 'List channels',
    description: 'The connected social accounts, with the ids that other tools take.',
    annotations: reads,
    input: fields({ platform, cursor: rowCursor }),
    output: having({ channels: listOf(anyFields) }, { next_cursor: text }),
    run: async (client, { platform: only, cursor: at = '0' }, signal) => {
      const { channels } = await client.channels.list({ signal });
      const asked = channels.filter((one) => only === undefined || one.platform === only);
      if (only !== undefined && asked.length === 0) {
        assertKnown(only, (await client.networks({}, { signal })).networks);
      }

      const { rows, ...next } = pageOf(asked, Number(at));
      const shown = rows.map((one) =>
        filled({
          id: one.id,
          platform: one.platform,
          handle: one.handle,
          name: one.display_name,
          state: one.state,
          error: one.error,
          expires_at: one.expires_at,
          sandbox: one.sandbox || null,
        }),
      );
      return { channels: shown, ...next };
    },
  }),
  tool({
    name: 'network_rules',
    title: 'Show the rules of networks',
    description:
      'Limits of texts and files. For one platform or channel also the schema of its `channel_options`.',
    annotations: reads,
    input: fields({ platform, channel_id: id }),
    output: having({ networks: listOf(anyFields) }),
    run: async (client, { platform: only, channel_id: channelId }, signal) => {
      const of = channelId === undefined ? {} : { channel_id: channelId };
      const { networks } = await client.networks(of, { signal });
      if (only !== undefined && channelId === undefined) {
        assertKnown(only, networks);
      }

      const asked = networks.filter((one) => only === undefined || one.platform === only);
      return { networks: asked.map((one) => presentNetwork(one, asked.length === 1)) };
    },
  }),
  ...postTools,
  tool({
    name: 'upload_from_url',
    title: 'Upload a file from a URL',
    description: 'Downloads an image or a video into the media library, for `media` of posts.',
    annotations: adds,
    input: fields(
      {
        url: { ...text, description: 'https' },
        name: text,
        alt_text: text,
        idempotency_key: idempotencyKey,
      },
      ['url', 'idempotency_key'],
    ),
    output: having({ id: text, type: text, url: text }, { name: text, alt_text: text }),
    run: async (client, { idempotency_key: key, ...file }, signal) =>
      filled((await client.media.import(file, { signal, idempotencyKey: key, timeoutMs })).media),
  }),
  tool({
    name: 'analytics',
    title: 'Show analytics',
    description: `Metrics of published posts, ${mostRows} at a time, and their totals. Without days, of the last 30.`,
    annotations: reads,
    input: fields({
      from: { ...text, description: 'A day: 2027-03-01' },
      to: text,
      timezone: { ...text, description: 'IANA name, for the days' },
      post_id: id,
      channel_id: id,
      sort: oneOf(['date', 'impressions', 'likes', 'comments', 'shares', 'saves', 'engagement']),
      cursor: rowCursor,
    }),
    output: having(
      { from: text, to: text, totals: anyFields, posts: listOf(anyFields) },
      { next_cursor: text },
    ),
    run: async (client, { cursor: at = '0', ...query }, signal) => {
      const offset = Number(at);
      const page = { ...query, limit: mostRows, offset };
      const found = await client.analytics.posts(page, { signal });
      return {
        from: found.from,
        to: found.to,
        totals: filled(found.totals),
        posts: found.posts.map(presentMetrics),
        ...(found.has_more ? { next_cursor: String(offset + mostRows) } : {}),
      };
    },
  }),
];

function assertKnown(name: string, networks: readonly Schemas['Network'][]): void {
  const known = networks.map(({ platform: one }) => one);
  if (!(known as string[]).includes(name)) {
    const message = `There is no platform "${cut(name, 50)}". Known: ${known.join(', ')}.`;
    throw new AppError('invalid_request', message);
  }
}

/** Time limit of a download, in milliseconds: the API's own of ten minutes, and some more. */
const timeoutMs = 11 * 60_000;
