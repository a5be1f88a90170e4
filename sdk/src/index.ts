export { Punctual } from './client.ts';
export { ConnectionError, PunctualError } from './errors.ts';
export type { List } from './lists.ts';
export type { CallOptions, ClientOptions } from './request.ts';
export type {
  Answer,
  ApiErrorDetail,
  Body,
  Channel,
  ErrorCode,
  MediaFile,
  NewPost,
  OperationId,
  Post,
  Query,
  Schemas,
  WebhookEvent,
} from './types.ts';
export type { UploadFields, UploadSource } from './uploads.ts';
export type { WaitOptions } from './wait-for.ts';
export { verifyWebhook, WebhookError } from './webhooks.ts';
