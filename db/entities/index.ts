import type { InferKyselyDB } from '@mikro-orm/postgresql';
import {
  ChannelGrantSchema,
  ChannelSchema,
  ConnectLinkSchema,
  OauthAppSchema,
} from './channels.ts';
import { MediaFileSchema } from './media.ts';
import { MetricDaySchema, MetricReadsSchema, PostMetricsSchema } from './metrics.ts';
import { InstallationSchema, NetworkUseSchema } from './operations.ts';
import { PostChannelSchema, PostPartSchema } from './post-channels.ts';
import { IdempotencyKeySchema, PostMediaSchema, PostSchema, PostSearchSchema } from './posts.ts';
import {
  DeliveryAttemptSchema,
  DeliverySchema,
  EventSchema,
  WebhookEndpointSchema,
} from './webhooks.ts';
import {
  ApiKeySchema,
  AuditEntrySchema,
  OperatorKeySchema,
  WorkspaceSchema,
} from './workspaces.ts';

export const entities = [
  InstallationSchema,
  WorkspaceSchema,
  ApiKeySchema,
  OperatorKeySchema,
  ChannelSchema,
  ChannelGrantSchema,
  ConnectLinkSchema,
  OauthAppSchema,
  PostSchema,
  PostChannelSchema,
  MediaFileSchema,
  PostMediaSchema,
  PostPartSchema,
  PostSearchSchema,
  PostMetricsSchema,
  MetricDaySchema,
  MetricReadsSchema,
  IdempotencyKeySchema,
  WebhookEndpointSchema,
  EventSchema,
  DeliverySchema,
  DeliveryAttemptSchema,
  AuditEntrySchema,
  NetworkUseSchema,
];

/** Table types, so that Kysely checks names and types of columns. */
export type Database = InferKyselyDB<(typeof entities)[number]>;
