import { sharedApi } from '../../support/kit.ts';
import { longGif, longWebp } from '../../support/media-files.ts';
import { newFilesOf, noTemporal, rowsOf, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

const tooMany = {
  status: 400,
  body: { code: 'invalid_media', error: 'The animation has more than 10000 frames.' },
} as const;

test.serial('an animation of too many frames is refused, and no file is left', async (t) => {
  const { punctual } = api;
  const [client, files] = [await api.newClient(), await newFilesOf(punctual)];
  for (const bytes of [await longWebp(10_001), longGif(10_001)]) {
    t.like(await upload(punctual, client, { bytes }), tooMany);
  }

  t.deepEqual(await files(), []);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

test.serial('an animation with the maximum number of frames is accepted', async (t) => {
  const client = await api.newClient();
  for (const bytes of [await longWebp(10_000), longGif(10_000)]) {
    const { status, body } = await upload(api.punctual, client, { bytes });
    t.is(status, 201, JSON.stringify(body));
    t.like(body.media, { width: 1, height: 1, duration_ms: bytes[0] === 71 ? 1_000_000 : 100_000 });
  }
});
