import { knownId } from '../../domain/json-schema.ts';
import { everyEvent, eventTypes } from '../../domain/statuses.ts';
import { openNetworks, platforms, type Platform } from '../../networks/registry.ts';

// Adds to the document what the server's own schemas leave out. The server reads many ids, times and names
// as plain texts, because their refusals have codes of their own; generated clients should know what they are.

type Schema = Readonly<Record<string, unknown>>;

const { rules } = openNetworks({});

export const channelOptions = { anyOf: platforms.map((platform) => rules[platform].options) };

const optionsName = (platform: Platform): string =>
  `${platform.charAt(0).toUpperCase()}${platform.slice(1)}Options`;

export const optionsOfNetworks = Object.fromEntries(
  platforms.map((platform) => [
    optionsName(platform),
    [rules[platform].options, `Options of a channel on ${platform}.`] as const,
  ]),
);

/** Fields that hold a map by id. */
const byId: ReadonlySet<string> = new Set([
  'channel_bodies',
  'channel_media',
  'channel_options',
  'alt_texts',
]);

/** A field or parameter with the format or the values that its name implies. @param place The object that has it. */
export function refineField(name: string, schema: Schema, place: string): Schema {
  if (name === 'options' && place === 'ChannelEdit') {
    return { ...schema, type: undefined, anyOf: [channelOptions, { type: 'null' }] };
  }

  if (byId.has(name)) {
    const values = name === 'channel_options' ? { additionalProperties: channelOptions } : {};
    return { ...schema, propertyNames: { type: 'string', format: 'uuid' }, ...values };
  }

  const { items } = schema as { readonly items?: Schema };
  return items === undefined
    ? refineText(name, schema)
    : { ...schema, items: refineText(name.replace(/s$/v, ''), items) };
}

/** Ids that others make, and a time that may be a local one. */
const free: ReadonlySet<string> = new Set(['request_id', 'external_id', 'scheduled_at']);

function refineText(name: string, schema: Schema): Schema {
  const { type, format, pattern, enum: values, const: value, maximum = Infinity } = schema;
  const mayBeBytes = /_bytes$|^(?:limit|used)$/v.test(name) && Number(maximum) > 2 ** 31;
  if (mayBeBytes && [type].flat().includes('integer')) {
    return { ...schema, format: 'int64' }; // Without it, generators for Java and Rust read 32 bits.
  }

  const isText = [type].flat().includes('string') && value === undefined && values === undefined;
  if (!isText || format !== undefined || (pattern !== undefined && pattern !== knownId.pattern)) {
    return schema;
  }

  const named = new Map<string, readonly string[]>([
    ['platform', platforms],
    ['event_type', eventTypes],
    ['event', [...eventTypes, everyEvent]],
  ]).get(name);
  if (named) {
    return { type, description: schema['description'], enum: named };
  }

  if (free.has(name)) {
    return schema;
  }

  if (/(?:^|_)id$/v.test(name)) {
    return { ...schema, format: 'uuid' };
  }

  return name.endsWith('_at') ? { ...schema, format: 'date-time' } : schema;
}

/** Descriptions of fields by their names, for schemas that say nothing else. */
export const fieldDescriptions: Readonly<Record<string, string>> = {
  id: 'Identifies it in other calls.',
  created_at: 'When it was created.',
  updated_at: 'When it last changed.',
  expires_at: 'When it ends.',
  workspace: 'The workspace of the API key.',
  workspace_id: 'The workspace.',
  channel: 'The channel.',
  channels: 'The channels.',
  channel_id: 'The channel.',
  channel_ids: 'The channels to publish to.',
  platform: 'The network.',
  handle: "The account's name on the network.",
  networks: 'The networks.',
  post_id: 'The post.',
  posts: 'The posts.',
  body: 'The text of a single post.',
  thread: 'The texts of a thread, in order; null for a single post.',
  scheduled_at: 'When it is due; null for a draft.',
  published_at: 'When the first channel published it; null before.',
  warning: 'A difference from the request, as a sentence for people.',
  title: 'The title of the video.',
  privacy: 'Who can see the video.',
  made_for_kids: 'Whether the video is made for children.',
  media: 'The files.',
  likes: 'How often people liked it.',
  comments: 'Comments or replies.',
  shares: 'Shares, reposts and quotes.',
  saves: 'How often people saved it, as a bookmark for example.',
  impressions: 'Views.',
  from: 'The first day, in UTC.',
  to: 'The last day, in UTC.',
  webhooks: 'The webhook endpoints.',
  event_id: 'The event.',
  event_type: 'The name of the event.',
  deliveries: 'The deliveries, newest first.',
  next_cursor: 'The `cursor` of the next page; null on the last page.',
  post: 'The post.',
  post_targets: 'Its channels.',
  video: 'Settings of the video; null if none were sent.',
  details: 'The first 20 faults in the request, if they can be located.',
  size_bytes: 'Size in bytes.',
  metrics: 'Metrics as the network reported them. One that it does not report is absent.',
  totals: 'Sums over the channels.',
  followers_updated_at: 'When the followers were last read; null before.',
  day: 'A day, in UTC.',
  hour: 'The hour of the day, from 0 to 23.',
  timezone: 'The time zone of weekdays and hours.',
  webhook: 'The webhook endpoint.',
  events: 'The names of the events that are sent to it.',
  secret_hint: 'The end of the signing secret, to recognise it.',
  rotates_at: 'When the new secret replaces the current one; null when none is to.',
  disabled_at: 'When it was disabled; null while it is enabled.',
  last_delivery: 'The newest delivery; null before the first.',
  delivery: 'The delivery.',
  next_attempt_at: 'When the next request is due; null when none is.',
  duration_ms: 'How long it took, in milliseconds.',
  key: 'The API key.',
  event: 'The event.',
  workspaces: 'The workspaces.',
  keys: 'The API keys.',
  usage: 'Each limit, and how much of it is used.',
  requested_at: 'When the call was made.',
  ok: 'Always true.',
  count: 'How many there are.',
};
