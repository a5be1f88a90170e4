import { fileURLToPath } from 'node:url';
import { createInspector } from '../../../runtime/media/inspector.ts';
import { sharedApi } from '../../support/kit.ts';
import { newFilesOf, noTemporal, rowsOf, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { beginUpload, head, tail, write } from '../media/support/raw-upload.ts';

const test = needs('postgres');
const program = fileURLToPath(new URL('../../support/stand-in-probe.ts', import.meta.url));
const timeoutMs = 300_000;
const impatient = sharedApi(test, {
  temporalEnv: noTemporal,
  media: { inspector: createInspector({ program, timeoutMs, waitMs: 1000 }) },
});
const patient = sharedApi(test, {
  temporalEnv: noTemporal,
  media: { inspector: createInspector({ program, timeoutMs, waitMs: timeoutMs }) },
});

const [hang, answer] = [Buffer.from('hang'), Buffer.from('answer')];

test('while inspections of one workspace hang, others are served, and a full queue is a 503', async (t) => {
  const { punctual } = impatient;
  const [client, hostile] = [await impatient.newClient(), await impatient.newClient()];
  const files = await newFilesOf(punctual);
  const stuck = beginUpload(t, punctual, hostile);
  await write(stuck, Buffer.concat([head, hang, tail]));
  stuck.end();
  await poll(files, ({ length }) => length === 1);
  const replies = Promise.all(
    Array.from({ length: 30 }, () => upload(punctual, hostile, { bytes: answer })),
  );

  t.is((await upload(punctual, client, { bytes: answer })).status, 201);
  for (const { status, headers, body } of await replies) {
    t.is(status, 503);
    t.like(body, { code: 'unavailable' });
    t.regex(headers.get('retry-after') ?? '', /^\d+$/v);
  }

  t.is(await rowsOf(punctual, hostile.workspaceId), 0);
  stuck.destroy();
  await poll(files, ({ length }) => length === 1); // The accepted one.
});

test('a client that hangs up frees its place in the queue, and leaves no file', async (t) => {
  const { punctual } = patient;
  const client = await patient.newClient();
  const files = await newFilesOf(punctual);
  const ahead = Array.from({ length: 5 }, () => beginUpload(t, punctual, client));
  for (const request of ahead) {
    await write(request, Buffer.concat([head, hang, tail]));
    request.end();
  }
  await poll(files, ({ length }) => length === 5);
  const last = upload(punctual, client, { bytes: answer });
  for (const request of ahead) {
    request.destroy();
  }

  t.is((await last).status, 201);
  await poll(files, ({ length }) => length === 1);
  t.is(await rowsOf(punctual, client.workspaceId), 1);
});
