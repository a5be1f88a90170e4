import { assertReaches } from '../../domain/api-keys.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Rules, FileKind, TextLimit } from '../../networks/content-rules.ts';
import type { OauthEntry } from '../../networks/oauth/contract.ts';
import type { Caller } from '../../services/context.ts';
import { libraryTypes } from '../../services/media/file-texts.ts';
import { maxFileBytes } from '../../services/media/store-files.ts';
import { chooseChannels } from '../../services/posts/choose-channels.ts';
import type { ApiDeps } from '../deps.ts';
import { ok, route, type Route } from '../http/route.ts';
import { networksAnswer, networksQuery, type NetworkView } from './schemas.ts';

const all = ({ rules, networks }: ApiDeps): NetworkView[] =>
  Object.entries(rules).map(([platform, own]) =>
    describeNetwork(platform, { rules: own, oauth: networks.oauth[platform] }, {}),
  );

/** @throws AppError `invalid_channel_ids` */
async function ofChannel(
  { orm, rules, networks }: ApiDeps,
  caller: Pick<Caller, 'workspaceId' | 'channelIds'>,
  id: string,
): Promise<NetworkView[]> {
  const { workspaceId } = caller;
  assertReaches(caller, [id], () => '?channel_id');
  const channels = await chooseChannels(orm.em.fork(), workspaceId, [id], () => '?channel_id');
  return channels.flatMap(({ platform, settings }) => {
    const own = rules[platform];
    const oauth = networks.oauth[platform];
    return own ? [describeNetwork(platform, { rules: own, oauth }, settings)] : [];
  });
}

/**
 * Describes what a client needs to build a valid post: the limits of the network's validation rules, without file
 * types that the media library refuses.
 */
function describeNetwork(
  platform: string,
  { rules, oauth }: { readonly rules: Rules; readonly oauth: OauthEntry | undefined },
  settings: Json,
): NetworkView {
  const { text, files, required = [] } = rules.limits(settings);
  return {
    platform,
    threads: rules.threads,
    first_comment: rules.comments ?? false,
    can_unpublish: rules.canUnpublish ?? false,
    texts: text.map(describeText),
    files: describeFiles(files),
    required,
    options: rules.options as unknown as NetworkView['options'],
    connect: oauth ? describeConnecting(oauth) : null,
  };
}

const describeConnecting = ({ missing, fields }: OauthEntry): NetworkView['connect'] => ({
  configured: missing.length === 0,
  fields: Object.entries(fields).map(([name, field]) => ({
    name,
    label: field.label,
    placeholder: field.placeholder,
    required: field.required,
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
  route({
    method: 'get',
    path: '/networks',
    operationId: 'listNetworks',
    tag: 'Channels',
    scope: null,
    summary: 'The limits and options of each network',
    description:
      'Limits of texts and files, and the options of each network, as `POST /posts/validate` applies them. If servers of a network differ, these are the usual limits; with `channel_id`, those of the account’s server.',
    query: networksQuery,
    answers: ok('All networks, or the channel’s network.', networksAnswer),
    errors: ['invalid_channel_ids'],
    handle: async ({ caller, query: { channel_id: id } }, deps) => ({
      status: 200,
      body: {
        networks: id === undefined ? all(deps) : await ofChannel(deps, caller, id),
      },
    }),
  }),
];
