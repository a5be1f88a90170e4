import type { Schemas } from '@xdevplatform/xdk';
import { answerReader } from '../answer.ts';
import type { NetworkRequest, TokenAccess } from '../http.ts';
import type { PartMedia } from '../network.ts';
import { UploadGone } from '../uploads/resumable.ts';
import { answerOf, call, idSchema, refusal, type Answer, type Wire } from './client.ts';

/**
 * Sends one request about a file, a `POST` unless it names another method. Creates no post.
 *
 * @throws UploadGone when X may not know the upload; NetworkError otherwise.
 */
export async function requestUpload<T>(
  access: TokenAccess,
  { name: fileName }: PartMedia,
  request: Omit<NetworkRequest, 'purpose' | 'method'> & Partial<Pick<NetworkRequest, 'method'>>,
  read: (value: unknown) => T | null,
): Promise<T> {
  const asked = { method: 'POST', ...request, purpose: 'upload' } as const;
  const response = await call(access, asked);
  const refused = { ...asked, ...access, fileName };
  if ([400, 404, 410].includes(response.status)) {
    throw new UploadGone(refusal(response, refused));
  }
  return answerOf(response, refused, read);
}

type ProcessingInfo = NonNullable<
  Wire<Schemas.GetMediaUploadStatusResponseData>['processing_info']
> & {
  /** Why it failed. Missing in X's document. */
  readonly error?: { readonly name?: string; readonly message?: string };
};

/** The response to an upload in one request, and to each step of an upload in segments. */
export type UploadAnswer = Answer<
  Pick<Wire<Schemas.GetMediaUploadStatusResponseData>, 'id' | 'expires_after_secs'> & {
    readonly processing_info?: ProcessingInfo;
  }
>;

export const readUpload = answerReader<UploadAnswer>({
  type: 'object',
  required: ['data'],
  properties: {
    data: {
      type: 'object',
      required: ['id'],
      properties: {
        id: idSchema,
        expires_after_secs: { type: 'number', minimum: 0 },
        processing_info: {
          type: 'object',
          properties: {
            state: { type: 'string' },
            check_after_secs: { type: 'number', minimum: 0 },
            error: {
              type: 'object',
              properties: { name: { type: 'string' }, message: { type: 'string' } },
            },
          },
        },
      },
    },
  },
});
