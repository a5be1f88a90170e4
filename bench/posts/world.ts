import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { connectBluesky } from '../../networks/bluesky/connect.ts';
import { connectMastodon } from '../../networks/mastodon/connect.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import { parseAllowList } from '../../runtime/egress/addresses.ts';
import { createSealer, type Sealer } from '../../runtime/secrets.ts';
import { startApp } from '../../scripts/parts/app.ts';
import { respondsAt, untilReady, type ProcessPart, type Stage } from '../../scripts/parts/part.ts';
import { freePort } from '../../scripts/ports.ts';
import { count, type Run } from '../runner/bench.ts';
import { findServer, root, startDatabase } from '../runner/processes.ts';
import { postmasterPid } from '../runner/processor-time.ts';
import type { SandboxAccount } from './seed.ts';

export type Options = {
  /** Numbers of posts due at once, and of channels for each: every pair is measured. */
  readonly posts: readonly number[];
  readonly channels: readonly number[];
  /** Measurements of each; undefined: as many as time allows. */
  readonly rounds: number | undefined;
  /** Measures only these, for a closer look; then there is nothing to compare. */
  readonly contenders: readonly string[];
  /** Gives the peer as many posts as the others, however long it takes. */
  readonly wholePeer: boolean;
  /** A folder for Node's CPU profiles of workers. */
  readonly profile: string | undefined;
};

/** @throws TypeError for an unknown option. @throws RangeError for an invalid number. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      posts: { type: 'string', default: '300,2000' },
      channels: { type: 'string', default: '1,5' },
      rounds: { type: 'string' },
      only: { type: 'string', default: 'bare,punctual,peer' },
      'whole-peer': { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  });
  return {
    posts: values.posts.split(',').map(count),
    channels: values.channels.split(',').map(count),
    rounds: values.rounds === undefined ? undefined : count(values.rounds),
    contenders: values.only.split(','),
    wholePeer: values['whole-peer'],
    profile: values.profile,
  };
}

/** Shared by all runs. */
export type World = {
  readonly folder: string;
  readonly stage: Stage;
  readonly options: Options;
  /** The program whose dev server runs the workflows. */
  readonly temporal: string;
  readonly databaseUrl: string;
  readonly postgresPid: number;
  readonly orm: Orm;
  readonly secretKey: string;
  readonly sealer: Sealer;
  readonly sandboxes: readonly ProcessPart[];
  readonly accounts: readonly SandboxAccount[];
  /** Lets the worker reach the sandboxes. */
  readonly egressAllow: string;
};

/** Three sandboxes have six accounts, so that a post can have five channels of a workspace. */
const sandboxCount = 3;

/** Starts PostgreSQL, and sandboxes with an account on each of their networks. */
export async function makeWorld({ folder, stage, options }: Run<Options>): Promise<World> {
  const temporal = await findServer(stage);
  const databaseUrl = await startDatabase(folder, stage);
  const orm = createOrm(databaseUrl, { queryTimeoutMs: 120_000 });
  await migrate(databaseUrl);
  const ports = [];
  const sandboxes = [];
  const accounts = [];
  for (let number = 0; number < sandboxCount; number += 1) {
    const port = await freePort();
    ports.push(port);
    sandboxes.push(await startSandbox(folder, stage, port));
    accounts.push(...(await connectTo(port)));
  }

  const secretKey = randomBytes(32).toString('hex');
  return {
    folder,
    stage,
    options,
    temporal,
    databaseUrl,
    postgresPid: await postmasterPid(orm),
    orm,
    secretKey,
    sealer: createSealer(secretKey),
    sandboxes,
    accounts,
    egressAllow: ports.map((port) => `127.0.0.1/32:${port}`).join(','),
  };
}

async function startSandbox(folder: string, stage: Stage, port: number): Promise<ProcessPart> {
  const env = { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: String(port) };
  const logFile = path.join(folder, `sandbox-${port}.log`);
  const plan = { name: 'sandbox', main: 'sandbox/main.ts', env, logFile, rank: 1, graceMs: 5000 };
  const sandbox = await startApp(plan, root, stage);
  await untilReady(sandbox, () => respondsAt(`http://127.0.0.1:${port}/`), 30_000, stage.signal);
  return sandbox;
}

/** Connects the accounts once; each channel of the bench gets a copy. */
async function connectTo(port: number): Promise<SandboxAccount[]> {
  const url = `http://127.0.0.1:${port}`;
  const egress = createEgress({ allow: parseAllowList(`127.0.0.1/32:${port}`) });
  try {
    const onBluesky = { identifier: 'demo.sandbox.test', appPassword: 'demo' };
    return [
      {
        platform: 'mastodon',
        account: await connectMastodon(egress, { baseUrl: url, accessToken: 'demo' }),
      },
      {
        platform: 'bluesky',
        account: await connectBluesky(egress, { baseUrl: url, ...onBluesky }),
      },
    ];
  } finally {
    await egress.close();
  }
}
