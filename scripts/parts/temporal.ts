import { fileURLToPath } from 'node:url';
import { freePort } from '../ports.ts';
import { respondsAt, startPart, untilReady, type ProcessPart, type Stage } from './part.ts';
import { innerUiAddress, openUi } from './temporal-ui.ts';

export type TemporalPlan = {
  /** The `temporal` program. */
  readonly program: string;
  readonly namespace: string;
  /** `http` serves the same API as JSON; only this script uses it, to see that the server is ready. */
  readonly ports: { readonly grpc: number; readonly http: number; readonly ui?: number };
  /** File for its state; in memory when left out. */
  readonly stateFile?: string;
  /**
   * SQLite's journal mode, `wal` by default, which writes and syncs less per commit and is as durable. The dev server's
   * own default is `delete`.
   */
  readonly journal?: 'wal' | 'delete';
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly rank: number;
};

/** In milliseconds. It takes 0.2 s on an idle machine. */
const readyWithinMs = 60_000;

/** Without it, Temporal's tools read the file in the user's home. */
const noProfiles = fileURLToPath(new URL('no-profiles.toml', import.meta.url));

/** Temporal's dynamic config. */
const settings = [
  // Both are off by default. They enable fairness between the `fairnessKey`s of a queue.
  'matching.useNewMatcher=true',
  'matching.enableFairness=true',
  // Fairness is per partition, and a worker with few polls may wait at one while tasks are in another. So tasks go into
  // one partition instead of four. All four are still read, as an older state file may have tasks in them.
  'matching.numTaskqueueWritePartitions=1',
  // A worker gets a webhook's first activity task in the response to its first workflow task, without another queue
  // round trip.
  'system.enableActivityEagerExecution=true',
  // Answers the polls of a worker that shuts down. Otherwise the worker cancels them, and a task that Temporal
  // dispatches to one of them at that moment is lost for 20 s.
  'frontend.enableCancelWorkerPollsOnShutdown=true',
];

/**
 * The only `Host` that the HTTP API accepts. The API cannot be switched off and does not check the origin of requests;
 * no web page can have this host, and no name resolves to it.
 */
const onlyHost = 'punctual-start.invalid';

/** Disables Temporal's version check, which also reports to its makers. */
const versionCheckSetting = 'TEMPORAL_VERSION_CHECK_DISABLED';

/** Search attributes, the same as in `workflows/search-attributes.ts`; a test compares them. */
const searchAttributes = [
  'WorkspaceId=Keyword',
  'Networks=KeywordList',
  'ErrorCodes=KeywordList',
  'Outcome=Keyword',
  'DueAt=Datetime',
  'Handles=KeywordList',
  'ExternalId=Keyword',
];

/** Starts Temporal's dev server on the loopback and waits until workflows can be started. */
export async function startTemporal(plan: TemporalPlan, stage: Stage): Promise<ProcessPart> {
  const { program, namespace, ports, stateFile, journal = 'wal', logFile, env, rank } = plan;
  const command = [program, 'server', 'start-dev', '--ip', '127.0.0.1', '--namespace', namespace];
  command.push('--port', String(ports.grpc), '--http-port', String(ports.http));
  const ui = { address: innerUiAddress(), port: await freePort() };
  const innerUi = ['--ui-ip', ui.address, '--ui-port', String(ui.port)];
  command.push(...(ports.ui ? innerUi : ['--headless']));
  const state = ['--db-filename', stateFile ?? '', '--sqlite-pragma', `journal_mode=${journal}`];
  command.push(...(stateFile ? state : []));
  const all = [...settings, `frontend.httpAllowedHosts=["${onlyHost}"]`];
  command.push(...all.flatMap((setting) => ['--dynamic-config-value', setting]));
  command.push(...searchAttributes.flatMap((attribute) => ['--search-attribute', attribute]));
  command.push('--log-format', 'json', '--log-level', 'warn');
  const part = await startPart(
    {
      name: 'Temporal',
      command,
      env: serverEnvironment(env),
      logFile,
      rank,
      graceMs: 15_000,
      complaint,
    },
    stage,
  );
  // This workflow does not exist. The 404 shows that every service behind the API works.
  const nowhere = `http://127.0.0.1:${ports.http}/api/v1/namespaces/${namespace}/workflows/none`;
  await untilReady(part, () => respondsAt(nowhere, 404, onlyHost), readyWithinMs, stage.signal);
  void part.ended.then((how) => stage.onEnd?.(part, how));
  if (ports.ui) {
    const front = await openUi(ports.ui, ui);
    void part.ended.then(() => front.close());
  }

  return part;
}

/** The environment of our own server: no version check, none of our secrets. */
function serverEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { SECRET_KEY: _secret, DATABASE_URL: _database, ...others } = withoutTemporal(env);
  return { ...others, [versionCheckSetting]: '1' };
}

/**
 * Removes settings for another Temporal server, such as a certificate or a profile, from the environment of our own
 * server and its clients.
 */
export function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(others), TEMPORAL_CONFIG_FILE: noProfiles };
}

/** Lines that are not JSON are the list of its addresses, or its last output in a crash, which is shown then. */
function complaint(line: string): string | undefined {
  try {
    const { level, msg, error } = JSON.parse(line) as Record<string, unknown>;
    return level === 'ERROR' ? [msg, error].filter(Boolean).join(': ') : undefined;
  } catch {
    return undefined;
  }
}
