import { newClient, type Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { longGif, longWebp, picture } from '../../support/media-files.ts';
import { linkTo, newFilesOf, noTemporal, rowsOf, upload } from '../../support/media-library.ts';
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

test.serial(
  'files of others are served while one client uploads an endless animation',
  async (t) => {
    const { punctual } = api;
    const [client, hostile] = await Promise.all([newClient(punctual), newClient(punctual)]);
    const bytes = await picture();
    const { body } = await upload(punctual, client, { bytes });
    const before = process.cpuUsage();
    const attack = upload(punctual, hostile as Client, { bytes: await longWebp(100_000) });
    for (let count = 0; count < 20; count += 1) {
      const link = await fetch(linkTo(punctual, body.media.url));
      t.true(bytes.equals(Buffer.from(await link.arrayBuffer())));
    }

    t.is((await upload(punctual, client, { bytes })).status, 201);
    // A fast machine counts the frames before the child's processor time ends, or on a busy one its elapsed time.
    t.regex(
      (await attack).body.error,
      /more than 10000 frames|takes too much time|could not be inspected/v,
    );
    t.is(await rowsOf(punctual, hostile.workspaceId), 0);

    // CPU time of the process that serves the links. Inspecting one animation in it took 17 s.
    const { user, system } = process.cpuUsage(before);
    const seconds = (user + system) / 1_000_000;
    t.log(`${seconds} s of processor time`);
    t.true(seconds < 8, `${seconds} s`);
  },
);
