import { deliveryStatuses } from '../../db/entities/webhooks.ts';
import { channelErrorCodes } from '../../domain/channel-error.ts';
import { errorCodes, type ErrorCode } from '../../domain/errors.ts';
import { channelResultSchema, postFile, postSchema, videoFields } from '../../domain/post-view.ts';
import { contentFault, postWarning } from '../../domain/warnings.ts';
import {
  channelAccess,
  eventTypes,
  postStatuses,
  shownChannelStatuses,
  unpublishStatuses,
} from '../../domain/statuses.ts';
import { disabledReasons } from '../../domain/webhook-deliveries.ts';
import { platforms } from '../../networks/registry.ts';
import { refreshStates } from '../../db/analytics/mark-due.ts';
import * as analytics from '../analytics/schemas.ts';
import * as channels from '../channels/schemas.ts';
import { errorSchema } from '../http/errors.ts';
import type { HeaderSpec } from '../http/route.ts';
import { usedLimitSchema } from '../workspace/routes.ts';
import * as workspaces from '../workspaces/schemas.ts';
import * as audit from '../audit/routes.ts';
import { actorTypes, auditActions } from '../../db/audit.ts';
import * as keys from '../keys/schemas.ts';
import * as media from '../media/schemas.ts';
import * as networks from '../networks/routes.ts';
import * as requests from '../../services/posts/post-request.ts';
import * as posts from '../posts/schemas.ts';
import { optionsOfNetworks } from './fields.ts';
import * as webhooks from '../webhooks/schemas.ts';

/** By name, each with its description. */
type Named<T> = Readonly<Record<string, readonly [T, string]>>;

/** Each name becomes a type in generated clients. Other objects are named after their place (`name-schemas.ts`). */
export const namedSchemas: Named<object> = {
  Channel: [channels.channelSchema, 'A connected social account.'],
  ChannelEdit: [
    channels.editChannelSchema,
    'Changes of a channel. Only the fields that are sent change.',
  ],
  Network: [networks.networkSchema, 'The limits and options of a network.'],
  TextLimit: [networks.textLimitSchema, 'A limit of each text.'],
  FileKind: [networks.fileKindSchema, 'Files of one kind, with their limits.'],
  Post: [postSchema, 'A post, and its outcome on each channel.'],
  PostFile: [postFile, 'A file of a post.'],
  ChannelResult: [channelResultSchema, 'A post on one of its channels.'],
  NewPost: [requests.createPostSchema, 'A post to create.'],
  ThreadPart: [requests.threadPart, 'A part of a thread with files of its own.'],
  VideoOptions: [videoFields, 'Settings of a video.'],
  PostEdit: [
    requests.editPostSchema,
    'Changes of a post. Only the fields that are sent change; null clears a field.',
  ],
  PostListItem: [posts.postListItemSchema, 'A post in a list.'],
  PostTarget: [posts.postTarget, 'The status of a post on a channel.'],
  ValidatedChannel: [posts.validatedChannelSchema, 'The verdict of a network about the post.'],
  ContentFault: [contentFault, 'A rule of a network that the post breaks.'],
  PostWarning: [postWarning, 'A warning about a post or about one of its channels.'],
  MediaFile: [media.mediaFileSchema, 'A file of the media library.'],
  NewMediaFile: [media.uploadSchema, 'A file to upload.'],
  MediaFileEdit: [
    media.editMediaSchema,
    'Changes of a file. Only the fields that are sent change.',
  ],
  Webhook: [webhooks.endpointSchema, 'A webhook endpoint.'],
  CreatedWebhook: [webhooks.createdEndpointSchema, 'A webhook endpoint with its signing secret.'],
  NewWebhook: [webhooks.createEndpointSchema, 'A webhook endpoint to create.'],
  WebhookEdit: [
    webhooks.editEndpointSchema,
    'Changes of a webhook endpoint. Only the fields that are sent change.',
  ],
  UsedLimit: [usedLimitSchema, 'How much of a limit is used.'],
  Workspace: [
    workspaces.workspaceSchema,
    'A customer: its posts, accounts and files are separate from those of others.',
  ],
  NewWorkspace: [workspaces.createWorkspaceSchema, 'A workspace to create.'],
  WorkspaceEdit: [
    workspaces.editWorkspaceSchema,
    'Changes of a workspace. Only the fields that are sent change.',
  ],
  WorkspaceQuotas: [workspaces.quotasSchema, 'The limits of a workspace.'],
  WorkspaceQuotasEdit: [workspaces.quotasEditSchema, 'Limits to set. Null returns to the default.'],
  AuditEntry: [audit.auditEntrySchema, 'A change, and who made it.'],
  AuditActor: [audit.actorSchema, 'Who made a change.'],
  NewWorkspaceKey: [keys.workspaceKeySchema, 'An API key to create in a workspace.'],
  ApiKey: [keys.keySchema, 'An API key, without the key itself.'],
  CreatedApiKey: [keys.createdKeySchema, 'A new API key, with the key itself.'],
  NewApiKey: [keys.createKeySchema, 'An API key to create.'],
  ApiKeyEdit: [keys.editKeySchema, 'Changes of an API key. Only the fields that are sent change.'],
  PostAnalytics: [analytics.postAnalyticsSchema, 'The metrics of a published post.'],
  Metrics: [
    analytics.metricFields,
    'Metrics as the network reported them. One that it does not report is absent.',
  ],
  MetricSums: [
    analytics.sums,
    'Sums of metrics: null when none were read yet. A metric that a network does not report counts as 0.',
  ],
  Delivery: [webhooks.deliverySchema, 'An event on its way to an endpoint.'],
  DeliveryAttempt: [webhooks.attempt, 'One request of a delivery.'],
  LastDelivery: [webhooks.lastDelivery, 'The newest delivery of an endpoint.'],
  TestedDelivery: [
    webhooks.testedDeliverySchema,
    'The delivery of a test event, with the response to it.',
  ],
  ApiError: [errorSchema, 'The body of every error response.'],
  ...optionsOfNetworks,
};

/** Texts with fixed values, by the name of their enum. Generators use the names of an object and its field themselves. */
export const namedEnums: Named<readonly string[]> = {
  Platform: [platforms, 'A network.'],
  PostState: [postStatuses, 'The status of a post.'],
  ChannelStatus: [shownChannelStatuses, 'The status of a post on one channel.'],
  UnpublishStatus: [unpublishStatuses, 'How far the removal of a post from one channel is.'],
  ChannelAccess: [channelAccess, 'Whether a channel can publish.'],
  AuditAction: [auditActions, 'What was done.'],
  ActorType: [actorTypes, 'The kind of an actor.'],
  ChannelErrorCode: [channelErrorCodes, 'Why a channel does not have a post.'],
  ErrorCode: [errorCodes, 'Why a call failed.'],
  EventType: [eventTypes, 'The name of an event.'],
  DeliveryState: [deliveryStatuses, 'The status of a delivery. Only `pending` changes.'],
  DisabledReason: [disabledReasons, 'Why an endpoint is disabled.'],
  RefreshState: [refreshStates, 'Whether the metrics of a channel are read now.'],
};

type HeaderSpecs = Readonly<Record<string, HeaderSpec>>;

/** Headers of every response, described once. */
const everywhere: HeaderSpecs = {
  'X-Request-Id': {
    description:
      'Identifies this call in the logs. An `X-Request-Id` that you sent is kept if it has 1 to 100 letters, digits and `_ . : -`.',
    schema: { type: 'string', pattern: '^[\\w.:\\-]{1,100}$' },
  },
};

/** Headers of every response to an authenticated caller (draft-ietf-httpapi-ratelimit-headers-11). */
const whereCounted: HeaderSpecs = {
  'RateLimit-Policy': {
    description: 'The limits of your API key: `q` calls in each `w` seconds.',
    schema: listOf('q=\\d+;w=\\d+', '"requests";q=120;w=60, "writes";q=60;w=60'),
  },
  RateLimit: {
    description:
      'The state of the limits that counted this call: `r` calls are left for the next `t` seconds.',
    schema: listOf('r=\\d+;t=\\d+', '"requests";r=119;t=60'),
  },
};

function listOf(parameters: string, example: string): object {
  const item = `"[a-z-]+";${parameters}`;
  return { type: 'string', pattern: `^${item}(?:, ${item})*$`, examples: [example] };
}

const retryAfter = {
  'Retry-After': {
    description: 'How many seconds to wait before the next request.',
    schema: { type: 'string', pattern: '^\\d+$', examples: ['2'] },
  },
};

/** Additional headers of an error response. */
const errorHeaders: Readonly<Partial<Record<ErrorCode, HeaderSpecs>>> = {
  unauthorized: {
    'WWW-Authenticate': {
      description: 'How to authenticate.',
      schema: { type: 'string', const: 'Bearer' },
    },
  },
  method_not_allowed: {
    Allow: {
      description: 'The methods that the path supports, separated by commas.',
      schema: { type: 'string', examples: ['HEAD, GET'] },
    },
  },
  rate_limited: retryAfter,
  settle_too_early: retryAfter,
  unavailable: retryAfter,
};

/** Errors before authentication. */
const uncounted: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'method_not_allowed']);
/** Errors before or after authentication. */
const perhapsCounted: ReadonlySet<ErrorCode> = new Set(['internal', 'unavailable']);

/** Headers of a successful response. All of them are always sent. */
export const headersOf = (specs: HeaderSpecs): object => ({
  ...mapValues({ ...everywhere, ...whereCounted }, toReference),
  ...mapValues(specs, asHeader),
});

/** Headers of the response to these error codes, which share a status. */
export const headersOfErrors = (codes: readonly ErrorCode[]): object => ({
  ...mapValues(everywhere, toReference),
  ...(codes.some((code) => uncounted.has(code)) ? {} : countedHeaders(codes)),
  ...Object.assign(
    {},
    ...codes.map((code) =>
      mapValues(errorHeaders[code] ?? {}, codes.length === 1 ? asHeader : asOptional),
    ),
  ),
});

const countedHeaders = (codes: readonly ErrorCode[]): object =>
  codes.some((code) => perhapsCounted.has(code))
    ? mapValues(whereCounted, asOptional)
    : mapValues(whereCounted, toReference);

export const headerComponents = (): object =>
  mapValues({ ...everywhere, ...whereCounted }, asHeader);

const asHeader = (spec: HeaderSpec): object => ({ required: true, ...spec });

const asOptional = (spec: HeaderSpec): object => ({ ...spec, required: false });

const toReference = (_: HeaderSpec, name: string): object => ({
  $ref: `#/components/headers/${name}`,
});

const mapValues = (specs: HeaderSpecs, map: (spec: HeaderSpec, name: string) => object): object =>
  Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, map(spec, name)]));
