import { ApiKey } from './api-key.ts';
import { ChannelGrant } from './channel-grant.ts';
import { Channel } from './channel.ts';
import { ConnectLink } from './connect-link.ts';
import { DeliveryAttempt } from './delivery-attempt.ts';
import { Delivery } from './delivery.ts';
import { EndpointPlace } from './endpoint-place.ts';
import { Event } from './event.ts';
import { IdempotencyKey } from './idempotency-key.ts';
import { Installation } from './installation.ts';
import { MediaFile } from './media-file.ts';
import { MetricDay } from './metric-day.ts';
import { MetricReads } from './metric-reads.ts';
import { NetworkPark } from './network-park.ts';
import { NetworkUse } from './network-use.ts';
import { OauthApp } from './oauth-app.ts';
import { PostChannel } from './post-channel.ts';
import { PostMedia } from './post-media.ts';
import { Post } from './post.ts';
import { PostMetrics } from './post-metrics.ts';
import { PostPart } from './post-part.ts';
import { QuotaShare } from './quota-share.ts';
import { RateLimit } from './rate-limit.ts';
import { ServerCircuit } from './server-circuit.ts';
import { ServerPlace } from './server-place.ts';
import { SweepFind } from './sweep-find.ts';
import { SweepPosition } from './sweep-position.ts';
import { UnsettledFile } from './unsettled-file.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { Workspace } from './workspace.ts';

export const entities = [
  Installation,
  Workspace,
  ApiKey,
  Channel,
  ChannelGrant,
  ConnectLink,
  OauthApp,
  Post,
  PostChannel,
  MediaFile,
  PostMedia,
  PostPart,
  PostMetrics,
  MetricDay,
  MetricReads,
  IdempotencyKey,
  WebhookEndpoint,
  EndpointPlace,
  Event,
  Delivery,
  DeliveryAttempt,
  QuotaShare,
  RateLimit,
  NetworkPark,
  NetworkUse,
  ServerPlace,
  ServerCircuit,
  SweepFind,
  SweepPosition,
  UnsettledFile,
];
