import { ApiKey } from './api-key.ts';
import { Channel } from './channel.ts';
import { DeliveryAttempt } from './delivery-attempt.ts';
import { Delivery } from './delivery.ts';
import { Event } from './event.ts';
import { IdempotencyKey } from './idempotency-key.ts';
import { PostChannel } from './post-channel.ts';
import { Post } from './post.ts';
import { PublishAttempt } from './publish-attempt.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { Workspace } from './workspace.ts';

export const entities = [
  Workspace,
  ApiKey,
  Channel,
  Post,
  PostChannel,
  PublishAttempt,
  IdempotencyKey,
  WebhookEndpoint,
  Event,
  Delivery,
  DeliveryAttempt,
];
