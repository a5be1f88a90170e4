import type { ErrorCode } from '../../domain/errors.ts';
import { channelResultSchema, postSchema } from '../../domain/post-view.ts';
import { postAnalyticsSchema } from '../analytics/schemas.ts';
import { channelSchema, editChannelSchema } from '../channels/schemas.ts';
import { errorSchema } from '../http/errors.ts';
import type { Examples, HeaderSpec } from '../http/route.ts';
import { createdKeySchema, createKeySchema, editKeySchema, keySchema } from '../keys/schemas.ts';
import { editMediaSchema, mediaFileSchema, uploadSchema } from '../media/schemas.ts';
import { fileKindSchema, networkSchema, textLimitSchema } from '../networks/schemas.ts';
import {
  createPostSchema,
  editPostSchema,
  postListItemSchema,
  validatedChannelSchema,
  validatePostSchema,
} from '../posts/schemas.ts';
import {
  createdEndpointSchema,
  createEndpointSchema,
  deliverySchema,
  editEndpointSchema,
  endpointSchema,
  testedDeliverySchema,
} from '../webhooks/schemas.ts';

/** Schemas that the document defines once. Each name becomes a type in generated clients. */
const named: Readonly<Record<string, object>> = {
  Channel: channelSchema,
  ChannelEdit: editChannelSchema,
  Network: networkSchema,
  TextLimit: textLimitSchema,
  FileKind: fileKindSchema,
  Post: postSchema,
  ChannelResult: channelResultSchema,
  NewPost: createPostSchema,
  PostEdit: editPostSchema,
  PostListItem: postListItemSchema,
  PostToValidate: validatePostSchema,
  ValidatedChannel: validatedChannelSchema,
  MediaFile: mediaFileSchema,
  NewMediaFile: uploadSchema,
  MediaFileEdit: editMediaSchema,
  Webhook: endpointSchema,
  CreatedWebhook: createdEndpointSchema,
  NewWebhook: createEndpointSchema,
  WebhookEdit: editEndpointSchema,
  ApiKey: keySchema,
  CreatedApiKey: createdKeySchema,
  NewApiKey: createKeySchema,
  ApiKeyEdit: editKeySchema,
  PostAnalytics: postAnalyticsSchema,
  Delivery: deliverySchema,
  TestedDelivery: testedDeliverySchema,
  Error: errorSchema,
};

const names = new Map<unknown, string>(
  Object.entries(named).map(([name, schema]) => [schema, name]),
);

/** Replaces each named part of a schema by a reference. Parts are recognised by identity. */
export function refer(schema: unknown): unknown {
  const name = names.get(schema);
  return name === undefined ? referParts(schema) : { $ref: `#/components/schemas/${name}` };
}

function referParts(schema: unknown): unknown {
  if (Array.isArray(schema)) {
    return schema.map(refer);
  }

  if (schema === null || typeof schema !== 'object') {
    return schema;
  }

  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, refer(part)]));
}

/** The definitions of the named schemas. */
export const schemaComponents = (): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, referParts(schema)]));

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
  ...Object.assign({}, ...codes.map((code) => mapValues(errorHeaders[code] ?? {}, asHeader))),
});

const countedHeaders = (codes: readonly ErrorCode[]): object =>
  codes.some((code) => perhapsCounted.has(code))
    ? mapValues(whereCounted, (spec) => ({ ...spec, required: false }))
    : mapValues(whereCounted, toReference);

export const headerComponents = (): object =>
  mapValues({ ...everywhere, ...whereCounted }, asHeader);

const asHeader = (spec: HeaderSpec): object => ({ required: true, ...spec });

const toReference = (_: HeaderSpec, name: string): object => ({
  $ref: `#/components/headers/${name}`,
});

const mapValues = (specs: HeaderSpecs, map: (spec: HeaderSpec, name: string) => object): object =>
  Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, map(spec, name)]));

/** A JSON body as a Content map. */
export const jsonContent = (schema: unknown, examples: Examples): object => ({
  'application/json': { schema: refer(schema), examples },
});
