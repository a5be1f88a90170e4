import sharp from 'sharp';
import type { Client } from '../../support/client.ts';
import { playableMp4 } from '../../support/mp4.ts';
import { fileNames, type FileName } from '../plan/post-plan.ts';

/** In the media library, by the name that plans give a file. */
export type MediaIds = Readonly<Record<FileName, string>>;

/** What is said of a file for those who do not see it. */
export const altTextOf = (name: FileName): string => `This is ${name} of the chaos suite.`;

/** YouTube takes it in three chunks, and LinkedIn none that is shorter. In seconds. */
const videoSeconds = 4;

/** Puts the run's files into the media library. @param url Of the API. */
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
      throw new Error(`${name} was not taken: ${answer.status} ${await answer.text()}`);
    }

    const { media } = (await answer.json()) as { media: { id: string } };
    ids.push([name, media.id]);
  }

  return Object.fromEntries(ids) as MediaIds;
}

/** Noise that no other file of the run has; 20 kB and more, so that it takes a while to be sent. */
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
