import {
  ChannelGrantSchema,
  ChannelSchema,
  ConnectLinkSchema,
  OauthAppSchema,
} from './channels.ts';
import { MediaFileSchema } from './media.ts';
import { PostChannelSchema, PostPartSchema } from './post-channels.ts';
import { PostMediaSchema, PostSchema } from './posts.ts';
import { WebhookEndpointSchema } from './webhooks.ts';
import { ApiKeySchema, AuditEntrySchema, WorkspaceSchema } from './workspaces.ts';

/** Only statements use the other tables (`db/migrations/baseline.sql`). */
export const entities = [
  WorkspaceSchema,
  ApiKeySchema,
  ChannelSchema,
  ChannelGrantSchema,
  ConnectLinkSchema,
  OauthAppSchema,
  PostSchema,
  PostChannelSchema,
  MediaFileSchema,
  PostMediaSchema,
  PostPartSchema,
  WebhookEndpointSchema,
  AuditEntrySchema,
];
