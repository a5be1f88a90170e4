import { execFileSync } from 'node:child_process';
import type { ExecutionContext } from 'ava';
import { picture, video } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { libraryProcess } from './support/library-process.ts';
import { filesOf, upload } from './support/library.ts';
import { answerTo, beginUpload, head, tail, write } from './support/raw-upload.ts';

const test = needs('postgres');

const megabyte = 1024 * 1024;
const piece = Buffer.alloc(megabyte);

/** Resident memory of a process in MB. */
const residentOf = (pid: number | undefined): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;

/** An MP4 box that holds so many bytes of nothing: the rest of the file. */
function freeBox(bytes: number): Buffer {
  const box = Buffer.alloc(8);
  box.writeUInt32BE(bytes, 0);
  box.write('free', 4);
  return box;
}

/** Uploads a file of exactly 200 MB, which begins with these bytes. */
async function uploadLarge(
  t: ExecutionContext,
  { api, client }: Awaited<ReturnType<typeof libraryProcess>>,
  beginning: Buffer,
) {
  const request = beginUpload(t, api, client);
  const answer = answerTo(request);
  await write(request, head);
  await write(request, beginning);
  await write(request, piece.subarray(beginning.length % megabyte));
  await write(request, piece, 199);
  request.end(tail);
  return answer;
}

test('ten files of 200 MB leave the memory of the process as it was', async (t) => {
  t.timeout(170_000);
  const world = await libraryProcess(t);
  const { api, client, mediaDir } = world;
  const [still, moving] = [await picture('png'), await video('mp4')];
  const large = Buffer.concat([moving, freeBox(200 * megabyte - moving.length)]);
  await upload(api, client, { bytes: still });
  await upload(api, client, { bytes: moving });
  const [before, noted] = [residentOf(api.child.pid), [] as number[]];
  const watch = setInterval(() => noted.push(residentOf(api.child.pid)), 100);
  t.teardown(() => clearInterval(watch));

  for (let count = 0; count < 10; count += 1) {
    const { status, body } = await uploadLarge(t, world, count % 2 === 0 ? still : large);
    t.is(status, 201, JSON.stringify(body));
    t.is(body.media.size_bytes, 200 * megabyte);
    await client.delete(`/media/${body.media.id}`);
  }

  clearInterval(watch);
  const growth = Math.max(...noted) - before;
  t.log(`from ${before.toFixed()} MB by ${growth.toFixed()} MB at most`);
  t.true(growth < 100, `The process grew by ${growth.toFixed()} MB.`);
  t.is((await filesOf({ mediaDir })).length, 2);
});
