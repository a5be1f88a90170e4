import { Readable } from 'node:stream';
import type { StreamedBody } from '../../../runtime/egress/egress.ts';
import { answerReader } from '../../answer.ts';
import { fileBytes } from '../../file-bytes.ts';
import type { PartMedia } from '../../network.ts';
import { addressSchema, answerAs, call, putBytes, type LinkedinAccess } from '../client.ts';
import type { Keeper } from './kept-files.ts';
import { mediaStatusOf, untilAvailable } from './media-status.ts';
import { putRefusal } from '../refusal.ts';

/** Images are usually processed within seconds. */
const processingTimeoutMs = 60_000;

const readUpload = answerReader<{
  readonly value: { readonly uploadUrl: string; readonly image: string };
}>({
  type: 'object',
  required: ['value'],
  properties: {
    value: {
      type: 'object',
      required: ['uploadUrl', 'image'],
      properties: {
        uploadUrl: addressSchema,
        image: { type: 'string', pattern: '^urn:li:image:[A-Za-z0-9_-]{1,100}$' },
      },
    },
  },
});

/**
 * Uploads an image to LinkedIn, unless an earlier attempt did, and waits until a post may use it.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/images-api
 *
 * @param owner The URN of the posting account.
 * @returns the image's URN.
 */
export async function uploadImage(
  access: LinkedinAccess,
  owner: string,
  file: PartMedia,
  keeper: Keeper,
): Promise<string> {
  const kept = keeper.kept();
  const isThere =
    kept?.kind === 'whole' && (await mediaStatusOf(access, 'images', kept.urn, file)) !== null;
  const urn = isThere ? kept.urn : await bringImage(access, owner, bodyOf(file), file.name);
  if (!isThere) {
    await keeper.keep({ kind: 'whole', id: file.id, urn });
  }

  await untilAvailable(access, 'images', urn, file, processingTimeoutMs);
  return urn;
}

const bodyOf = (file: PartMedia): StreamedBody => ({
  stream: Readable.from(fileBytes(file)),
  sizeBytes: file.sizeBytes,
});

/** @returns the URN of the image, which LinkedIn may still be processing. */
export async function bringImage(
  access: LinkedinAccess,
  owner: string,
  body: StreamedBody,
  name: string,
): Promise<string> {
  const begun = await call(access, {
    method: 'POST',
    path: '/rest/images?action=initializeUpload',
    body: { initializeUploadRequest: { owner } },
    purpose: 'upload',
  });
  const { uploadUrl, image } = answerAs(access, begun, 'upload', readUpload, name).value;
  const response = await putBytes(access, uploadUrl, body, { withToken: true });
  if (response.status < 200 || response.status > 299) {
    throw putRefusal(response, access, name);
  }
  return image;
}
