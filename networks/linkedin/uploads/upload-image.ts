import { Readable } from 'node:stream';
import type { StreamedBody } from '../../../runtime/egress/egress.ts';
import { answerReader } from '../../answer.ts';
import { fileBytes } from '../../file-bytes.ts';
import type { PartMedia } from '../../network.ts';
import { addressSchema, answerAs, call, putBytes, type Access } from '../client.ts';
import type { Keeper } from './kept-files.ts';
import { statusOf, untilAvailable } from './media-status.ts';
import { putRefusal } from '../refusal.ts';

/** Images are there within seconds. */
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
 * Brings an image to LinkedIn, unless it is there since an earlier try, and waits until a post may use it.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/images-api
 *
 * @param owner Who will post it.
 * @returns its URN.
 */
export async function uploadImage(
  access: Access,
  owner: string,
  file: PartMedia,
  keeper: Keeper,
): Promise<string> {
  const kept = keeper.kept();
  const isThere =
    kept?.kind === 'whole' && (await statusOf(access, 'images', kept.urn, file)) !== null;
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

/** @returns the URN of the image, which LinkedIn may still process. */
export async function bringImage(
  access: Access,
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
