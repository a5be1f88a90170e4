import sharp from 'sharp';
import type { Client } from '../../support/client.ts';
import { playableMp4 } from '../../support/mp4.ts';
import { fileNames, type FileName } from '../plan/post-plan.ts';

/** Ids in the media library, by the names of the plan. */
export type MediaIds = Readonly<Record<FileName, string>>;

/** The alt text of a file. */
export const altTextOf = (name: FileName): string => `This is ${name} of the chaos suite.`;

/** In seconds. Long enough for three chunks on YouTube and for LinkedIn's minimum. */
const videoSeconds = 4;

/** Uploads the run's files to the media library. @param url The API's address. */
export async function uploadFiles({ key }: Pick<Client, 'key'>, url: string): Promise<MediaIds> {
  const ids: [FileName, string][] = [];
  for (const [index, name] of fileNames.entries()) {
    const form = new FormData();
    const bytes = name === 'video' ? await playableMp4(videoSeconds) : await picture(index);
    form.append('alt_text', altTextOf(name));
    form.append('file', new Blob([new Uint8Array(bytes)]), name);
    const answer = await fetch(`${url}/api/v1/media`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    if (answer.status !== 201) {
      throw new Error(`The upload of ${name} failed: ${answer.status} ${await answer.text()}`);
    }

    const { media } = (await answer.json()) as { media: { id: string } };
    ids.push([name, media.id]);
  }

  return Object.fromEntries(ids) as MediaIds;
}

/** Noise that differs for each file of the run; at least 20 kB, so that sending takes a while. */
function picture(index: number): Promise<Buffer> {
  const [width, height] = [160, 120];
  let state = index + 1;
  const pixels = new Uint8Array(width * height * 3).map(() => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 16;
  });
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}
