import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import cliManifest from '../../cli/package.json' with { type: 'json' };
import manifest from '../../package.json' with { type: 'json' };
import { runCommand } from '../../scripts/run-command.ts';
import { beforeTests, sharedApi } from '../support/kit.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = path.join(import.meta.dirname, '../..');
const shared = sharedApi(test);

async function ran(file: string, args: readonly string[], options: object = {}): Promise<string> {
  const { ok, stdout, stderr } = await runCommand(file, args, { cwd: root, ...options });
  if (!ok) {
    throw new Error(`${file} ${args.join(' ')} failed:\n${stdout}\n${stderr}`);
  }

  return stdout;
}

/** The packed package, unpacked beside its dependencies. */
const installed = beforeTests(test, async (scope) => {
  const folder = await temporaryFolder(scope);
  const out = await ran('npm', ['pack', './cli', '--json', '--pack-destination', folder]);
  const [{ filename, files }] = JSON.parse(out.slice(out.indexOf('[\n'))) as [
    { readonly filename: string; readonly files: readonly { readonly path: string }[] },
  ];
  await ran('tar', ['xzf', path.join(folder, filename), '-C', folder]);
  const modules = path.join(folder, 'node_modules');
  for (const name of Object.keys(cliManifest.dependencies)) {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true });
    await symlink(path.join(root, 'node_modules', name), path.join(modules, name));
  }

  return { main: path.join(folder, 'package/dist/main.js'), files };
});

test('the package has what it needs and nothing else, with the packages of the repository', (t) => {
  const own = installed().files.map((one) => one.path);
  const others = own.filter((one) => !one.startsWith('dist/'));
  t.deepEqual(others.toSorted(), ['LICENSE', 'README.md', 'package.json']);
  t.like(manifest.dependencies, cliManifest.dependencies);
});

test('the packed command calls the API and serves assistants; the operator’s commands are named, and not in it', async (t) => {
  const { main } = installed();
  const { key } = await shared.newClient('Packed');
  const env = { ...process.env, PUNCTUAL_API_KEY: key, PUNCTUAL_URL: shared.punctual.url };
  const words = ['whoami', '--jq', '.workspace.name'];
  t.is(await ran(process.execPath, [main, ...words], { env }), 'Packed\n');
  const asked = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  };
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: asked })}\n`;
  const told = await ran(process.execPath, [main, 'mcp'], { env, input });
  t.is(JSON.parse(told).result.serverInfo.name, 'punctual');
  const { stderr } = await runCommand(process.execPath, [main, 'admin', 'workspace', 'list']);
  t.regex(stderr, /npm run admin/v);
});

test('--version takes at most 120 ms of processor time', async (t) => {
  const { main } = installed();
  const times: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    const code = `TIMEFORMAT='%U %S'; time '${process.execPath}' '${main}' --version`;
    const { stdout, stderr } = await runCommand('bash', ['--norc', '-c', code]);
    t.is(stdout.trim(), cliManifest.version);
    const [user = NaN, system = NaN] = stderr.trim().split(' ').map(Number);
    times.push((user + system) * 1000);
  }

  t.true(Math.min(...times) <= 120, `${times.join(', ')} ms`);
});
