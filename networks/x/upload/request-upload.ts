import { answerReader } from '../../answer.ts';
import type { PartMedia } from '../../network.ts';
import type { NetworkRequest } from '../../send-network-request.ts';
import type { TokenAccess } from '../../access-token.ts';
import { call, idSchema, isSuccess, readAs } from '../client.ts';
import { refusal } from '../refusal.ts';
import type { UploadAnswer } from '../wire.ts';
import type { KeptPlace } from './kept-files.ts';

/** The upload of one file. */
export type Upload = {
  readonly access: TokenAccess;
  readonly file: PartMedia;
  readonly place: KeptPlace;
  readonly signal: AbortSignal;
  /** Whether an earlier attempt began it; X may then have deleted it. */
  readonly isOld: boolean;
};

/** X no longer knows an upload that an earlier attempt began. */
export class UploadGone extends Error {
  override readonly name = 'UploadGone';
}

/**
 * Sends one request about a file. Creates no post.
 *
 * @throws UploadGone when X refuses an upload that an earlier attempt began; NetworkError otherwise.
 */
export async function requestUpload<T>(
  { access, file, isOld }: Upload,
  request: Omit<NetworkRequest, 'purpose'>,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await call(access, { ...request, purpose: 'upload' });
  if (isSuccess(response)) {
    return readAs(response, 'upload', read);
  }

  if (isOld && [400, 404, 410].includes(response.status)) {
    throw new UploadGone();
  }

  const { accessToken } = access;
  throw refusal(response, { purpose: 'upload', accessToken, fileName: file.name });
}

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
