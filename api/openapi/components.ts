import { postAnalyticsSchema } from '../analytics/schemas.ts';
import { channelSchema } from '../channels/schemas.ts';
import { errorSchema } from '../http/shared-schemas.ts';
import { mediaFileSchema, uploadSchema } from '../media/schemas.ts';
import { channelResultSchema, postSchema } from '../../domain/post-view.ts';
import {
  createPostSchema,
  editPostSchema,
  postSummarySchema,
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

/** Schemas that the document holds once. What stands here under a name becomes a type in generated clients. */
const named: Readonly<Record<string, object>> = {
  Channel: channelSchema,
  Post: postSchema,
  ChannelResult: channelResultSchema,
  NewPost: createPostSchema,
  PostEdit: editPostSchema,
  PostSummary: postSummarySchema,
  PostToValidate: validatePostSchema,
  ValidatedChannel: validatedChannelSchema,
  MediaFile: mediaFileSchema,
  NewMediaFile: uploadSchema,
  Webhook: endpointSchema,
  CreatedWebhook: createdEndpointSchema,
  NewWebhook: createEndpointSchema,
  WebhookEdit: editEndpointSchema,
  PostAnalytics: postAnalyticsSchema,
  Delivery: deliverySchema,
  TestedDelivery: testedDeliverySchema,
  Error: errorSchema,
};

const names = new Map<unknown, string>(
  Object.entries(named).map(([name, schema]) => [schema, name]),
);

/** The schema with a reference in the place of each part that has a name. Parts are told by identity. */
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

/** Each named schema, written out. */
export const schemaComponents = (): object =>
  Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, referParts(schema)]));
