import { assertReaches } from '../../domain/api-keys.ts';
import {
  type Json,
  anyFields,
  count,
  flag,
  listOf,
  nullable,
  oneOf,
  orNull,
  record,
  text,
  type Value,
} from '../../domain/json-schema.ts';
import type { Rules, FileKind, TextLimit } from '../../networks/content-rules.ts';
import type { OauthEntry } from '../../networks/oauth/contract.ts';
import type { Caller } from '../../services/context.ts';
import { libraryTypes } from '../../services/media/file-texts.ts';
import { maxFileBytes } from '../../services/media/store-files.ts';
import { chooseChannels } from '../../services/posts/choose-channels.ts';
import type { ApiDeps } from '../deps.ts';
import { ok, routesWith, type Route } from '../http/route.ts';

const bytes = { ...nullable(count), description: 'In bytes; null: no limit is known.' };
const side = { ...nullable(count), description: 'In pixels; null: no limit is known.' };
const milliseconds = {
  ...nullable(count),
  description: 'Length of a video or an animation, in milliseconds; null: no limit is known.',
};

export const textLimitSchema = record({
  unit: { ...oneOf(['characters', 'graphemes', 'bytes']), description: 'What is counted.' },
  limit: { ...count, description: 'The most that a text may have.' },
  link_length: {
    ...nullable(count),
    description: 'The length that every link counts as; null: its actual length.',
  },
  counting: { ...text, description: 'How it is counted, as a sentence.' },
});

export const fileKindSchema = record({
  kind: { ...text, description: 'Such as `image`.' },
  types: {
    ...listOf(text),
    description: 'MIME types, limited to those that `POST /media` accepts.',
  },
  min_count: { ...count, description: 'The minimum number of files.' },
  max_count: { ...count, description: 'The maximum number per post, or per part of a thread.' },
  min_bytes: bytes,
  max_bytes: { ...count, description: 'In bytes; never more than `POST /media` accepts.' },
  max_pixels: { ...nullable(count), description: 'Width times height; null: no limit is known.' },
  min_side: side,
  max_longer_side: side,
  max_shorter_side: side,
  max_aspect_ratio: {
    ...nullable({ type: 'number' }),
    description: 'The longer side by the shorter one; null: no limit is known.',
  },
  max_frames: {
    ...nullable(count),
    description: 'Frames of an animation; null: no limit is known.',
  },
  max_pixels_of_all_frames: {
    ...nullable(count),
    description: 'Width times height times frames of an animation; null: no limit is known.',
  },
  max_frame_rate: {
    ...nullable({ type: 'number' }),
    description: 'Frames per second of a video; null: no limit is known.',
  },
  min_duration_ms: milliseconds,
  max_duration_ms: milliseconds,
  max_alt_text: {
    ...nullable(count),
    description: 'In UTF-16 code units; 0: alt text is not supported; null: no limit is known.',
  },
});

const connectFieldSchema = record({
  name: { ...text, description: 'The field’s name in `POST /channels/connect`.' },
  label: { ...text, description: 'Shown to people.' },
  placeholder: { ...text, description: 'An example, shown in an empty field.' },
  required: { ...flag, description: 'Whether it cannot be left out.' },
});

export const networkSchema = record({
  platform: { ...text, examples: ['mastodon'] },
  threads: {
    ...flag,
    description:
      'Whether threads are supported. If not, the texts of a thread are published as one post, separated by blank lines.',
  },
  first_comment: {
    ...flag,
    description: 'Whether the option `first_comment` puts a comment below the post.',
  },
  can_unpublish: {
    ...flag,
    description: 'Whether `POST /posts/{id}/unpublish` can remove posts from it.',
  },
  texts: { ...listOf(textLimitSchema), description: 'All of them apply to every text.' },
  files: {
    ...listOf(fileKindSchema),
    description:
      'The kinds of files that a post, or a part of a thread, may have. Two kinds cannot be combined.',
  },
  required: {
    ...listOf(text),
    description: 'Required fields in addition to a text or a file, such as `video.made_for_kids`.',
  },
  connect: {
    ...orNull(
      record({
        configured: {
          ...flag,
          description: 'Whether the operator has configured the network.',
        },
        fields: {
          ...listOf(connectFieldSchema),
          description: 'Required input; the page of the link asks for missing values.',
        },
      }),
    ),
    description:
      'How `POST /channels/connect` connects accounts; null: only the operator can connect them.',
  },
  options: {
    ...anyFields,
    description: 'JSON Schema of `channel_options` for its channels, and of their defaults.',
  },
});
export type NetworkView = Value<typeof networkSchema>;

const networksAnswer = record({ networks: listOf(networkSchema) });

const networksQuery = {
  channel_id: {
    description: 'Only the network of this channel, with the limits of the account’s own server.',
    schema: { ...text, maxLength: 100 },
  },
} as const;

const route = routesWith({ tag: 'Channels', scope: null });

const all = ({ rules, networks }: ApiDeps): NetworkView[] =>
  Object.entries(rules).map(([platform, own]) =>
    describeNetwork(platform, { rules: own, oauth: networks.oauth[platform] }, {}),
  );

async function ofChannel(
  { orm, rules, networks }: ApiDeps,
  caller: Pick<Caller, 'workspaceId' | 'channelIds'>,
  id: string,
): Promise<NetworkView[]> {
  const { workspaceId } = caller;
  assertReaches(caller, [id], () => '?channel_id');
  const channels = await chooseChannels(orm.em.fork(), workspaceId, [id], [], () => '?channel_id');
  return channels.flatMap(({ platform, settings }) => {
    const own = rules[platform];
    const oauth = networks.oauth[platform];
    return own ? [describeNetwork(platform, { rules: own, oauth }, settings)] : [];
  });
}

/** The limits of a network's rules, without file types that the media library refuses. */
function describeNetwork(
  platform: string,
  { rules, oauth }: { readonly rules: Rules; readonly oauth: OauthEntry | undefined },
  settings: Json,
): NetworkView {
  const { text: limits, files, required = [] } = rules.limits(settings);
  return {
    platform,
    threads: rules.threads,
    first_comment: rules.comments ?? false,
    can_unpublish: rules.canUnpublish ?? false,
    texts: limits.map(describeText),
    files: describeFiles(files),
    required,
    options: rules.options as unknown as NetworkView['options'],
    connect: oauth ? describeConnecting(oauth) : null,
  };
}

const describeConnecting = ({ missing, fields }: OauthEntry): NetworkView['connect'] => ({
  configured: missing.length === 0,
  fields: Object.entries(fields).map(([name, { label, placeholder, required }]) => ({
    name,
    label,
    placeholder,
    required,
  })),
});

const describeText = (limit: TextLimit): NetworkView['texts'][number] => ({
  unit: limit.unit,
  limit: limit.max,
  link_length: limit.linkLength,
  counting: limit.counting,
});

function describeFiles(kinds: readonly FileKind[]): NetworkView['files'] {
  const named = new Set(kinds.flatMap(({ types }) => types));
  /** A type listed by name belongs to that kind, and not to the kind with `image/*`. */
  const isOf = (type: string, { types }: FileKind): boolean =>
    types.includes(type) || (!named.has(type) && types.includes(type.replace(/\/.*$/sv, '/*')));
  return kinds.flatMap((kind) => {
    const types = libraryTypes.filter((type) => isOf(type, kind));
    return kind.max > 0 && types.length > 0 ? [describeFile(kind, types)] : [];
  });
}

const describeFile = (kind: FileKind, types: readonly string[]): NetworkView['files'][number] => ({
  kind: kind.one,
  types,
  min_count: kind.min ?? 0,
  max_count: kind.max,
  min_bytes: kind.minBytes ?? null,
  max_bytes: Math.min(kind.maxBytes ?? Infinity, maxFileBytes),
  max_pixels: kind.maxPixels ?? null,
  min_side: kind.minSide ?? null,
  max_longer_side: kind.maxSides?.[0] ?? null,
  max_shorter_side: kind.maxSides?.[1] ?? null,
  max_aspect_ratio: kind.maxAspect ?? null,
  max_frames: kind.maxFrames ?? null,
  max_pixels_of_all_frames: kind.maxPixelsOfAllFrames ?? null,
  max_frame_rate: kind.maxFrameRate ?? null,
  min_duration_ms: kind.minDurationMs ?? null,
  max_duration_ms: kind.maxDurationMs ?? null,
  max_alt_text: kind.maxAltText ?? null,
});

export const networkRoutes: Route[] = [
  route.get('/networks', {
    operationId: 'listNetworks',
    summary: 'The limits and options of each network',
    description:
      'Limits of texts and files, and the options of each network, as `POST /posts/validate` applies them. If servers of a network differ, these are the usual limits; with `channel_id`, those of the account’s server.',
    query: networksQuery,
    answers: ok('All networks, or the channel’s network.', networksAnswer),
    errors: ['invalid_channel_ids'],
    handle: async ({ caller, query: { channel_id: id } }, deps) => ({
      status: 200,
      body: { networks: id === undefined ? all(deps) : await ofChannel(deps, caller, id) },
    }),
  }),
];
