import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../scripts/run-command.ts';
import { env } from '../support/env.ts';
import { samplesIn } from '../support/contract.ts';
import { sharedApi } from '../support/kit.ts';
import { noTemporal } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { storeChannel } from '../support/seed.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('postgres', 'python-generator');
const api = sharedApi(test, { temporalEnv: noTemporal });

test('the commands and the program of the Python page schedule a post, and each Python sample of the reference runs', async (t) => {
  const page = await readFile(new URL('../../docs/guides/python.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/^```(?:sh|python)\n(?<text>.*?)^```$/gmsv)];
  const [commands = '', program = ''] = blocks.map(({ groups }) => groups?.['text'] ?? '');
  const [install, download, generate = ''] = commands.trim().split('\n');
  t.is(install, 'pip install openapi-python-client');
  t.is(download, 'curl -o openapi.json http://127.0.0.1:3000/openapi.json');

  const { punctual } = api;
  const { workspaceId, key, get } = await api.newClient();
  await storeChannel(punctual, workspaceId);
  await storeChannel(punctual, workspaceId, { platform: 'youtube' });
  const cwd = await temporaryFolder(t);
  const document = await (await fetch(`${punctual.url}/openapi.json`)).text();
  await writeFile(path.join(cwd, 'openapi.json'), document);
  await writeFile(path.join(cwd, 'first.py'), program);
  // Without formatting, which would take most of the time.
  await writeFile(path.join(cwd, 'config.yml'), 'post_hooks: []\n');
  const run = async (args: readonly string[], more: object = {}): Promise<string> => {
    const settings = { PUNCTUAL_URL: punctual.url, PUNCTUAL_API_KEY: key, ...more };
    const options = { cwd, env: { ...process.env, ...settings }, timeoutMs: 120_000 };
    const result = await runCommand(env('PUNCTUAL_TEST_PYTHON_GENERATOR'), args, options);
    t.true(result.ok, result.stderr);
    return result.stdout;
  };
  const [, ...options] = generate.split(' ');
  await run(['-m', 'openapi_python_client', ...options, '--config', 'config.yml']);
  t.is(await run(['first.py']), 'scheduled\n');
  t.is((await get('/posts')).body.posts[0].scheduled_at, '2027-06-01T07:00:00.000Z');

  // Each sends its request, which a wrong key makes harmless.
  const samples = samplesIn('Python');
  await writeFile(path.join(cwd, 'photo.jpg'), '');
  await writeFile(path.join(cwd, 'samples.py'), samples.join('\nprint(answer.code)\n'));
  const answers = await run(['samples.py'], { PUNCTUAL_API_KEY: 'wrong' });
  t.is(answers, 'unauthorized\n'.repeat(samples.length - 1));
});
