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
import { metricFields, postAnalyticsSchema, sums } from '../analytics/schemas.ts';
import { channelSchema, editChannelSchema } from '../channels/schemas.ts';
import { errorSchema } from '../http/errors.ts';
import type { HeaderSpec } from '../http/route.ts';
import { usedLimitSchema } from '../workspace/routes.ts';
import {
  createWorkspaceSchema,
  editWorkspaceSchema,
  quotasEditSchema,
  quotasSchema,
  workspaceSchema,
} from '../workspaces/schemas.ts';
import { actorSchema, auditEntrySchema } from '../audit/routes.ts';
import { actorTypes, auditActions } from '../../db/audit.ts';
import {
  createdKeySchema,
  createKeySchema,
  editKeySchema,
  keySchema,
  workspaceKeySchema,
} from '../keys/schemas.ts';
import { editMediaSchema, mediaFileSchema, uploadSchema } from '../media/schemas.ts';
import { fileKindSchema, networkSchema, textLimitSchema } from '../networks/schemas.ts';
import { createPostSchema, editPostSchema, threadPart } from '../../services/posts/post-request.ts';
import { postListItemSchema, postTarget, validatedChannelSchema } from '../posts/schemas.ts';
import { optionsOfNetworks } from './fields.ts';
import {
  attempt,
  createdEndpointSchema,
  createEndpointSchema,
  deliverySchema,
  editEndpointSchema,
  endpointSchema,
  lastDelivery,
  testedDeliverySchema,
} from '../webhooks/schemas.ts';

/**
 * Objects that the document defines once. Each name becomes a type in generated clients; any other object is named after
 * its place (`name-schemas.ts`).
 */
export const namedSchemas: Readonly<Record<string, object>> = {
  Channel: channelSchema,
  ChannelEdit: editChannelSchema,
  Network: networkSchema,
  TextLimit: textLimitSchema,
  FileKind: fileKindSchema,
  Post: postSchema,
  PostFile: postFile,
  ChannelResult: channelResultSchema,
  NewPost: createPostSchema,
  ThreadPart: threadPart,
  VideoOptions: videoFields,
  PostEdit: editPostSchema,
  PostListItem: postListItemSchema,
  PostTarget: postTarget,
  ValidatedChannel: validatedChannelSchema,
  ContentFault: contentFault,
  PostWarning: postWarning,
  MediaFile: mediaFileSchema,
  NewMediaFile: uploadSchema,
  MediaFileEdit: editMediaSchema,
  Webhook: endpointSchema,
  CreatedWebhook: createdEndpointSchema,
  NewWebhook: createEndpointSchema,
  WebhookEdit: editEndpointSchema,
  UsedLimit: usedLimitSchema,
  Workspace: workspaceSchema,
  NewWorkspace: createWorkspaceSchema,
  WorkspaceEdit: editWorkspaceSchema,
  WorkspaceQuotas: quotasSchema,
  WorkspaceQuotasEdit: quotasEditSchema,
  AuditEntry: auditEntrySchema,
  AuditActor: actorSchema,
  NewWorkspaceKey: workspaceKeySchema,
  ApiKey: keySchema,
  CreatedApiKey: createdKeySchema,
  NewApiKey: createKeySchema,
  ApiKeyEdit: editKeySchema,
  PostAnalytics: postAnalyticsSchema,
  Metrics: metricFields,
  MetricSums: sums,
  Delivery: deliverySchema,
  DeliveryAttempt: attempt,
  LastDelivery: lastDelivery,
  TestedDelivery: testedDeliverySchema,
  ApiError: errorSchema,
  ...optionsOfNetworks,
};

/** Texts with fixed values. Each becomes an enum of this name wherever these values stand. */
export const namedEnums: Readonly<Record<string, readonly string[]>> = {
  Platform: platforms,
  PostStatus: postStatuses,
  ChannelStatus: shownChannelStatuses,
  UnpublishStatus: unpublishStatuses,
  ChannelState: channelAccess,
  AuditAction: auditActions,
  ActorType: actorTypes,
  ChannelErrorCode: channelErrorCodes,
  ErrorCode: errorCodes,
  EventType: eventTypes,
  DeliveryStatus: deliveryStatuses,
  DisabledReason: disabledReasons,
  RefreshState: refreshStates,
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
