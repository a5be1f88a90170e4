import { fileURLToPath } from 'node:url';
import { freePort } from '../ports.ts';
import { answers, startPart, untilReady, type Part, type Stage } from './part.ts';
import { innerUiAddress, openUi } from './temporal-ui.ts';

export type TemporalPlan = {
  /** The `temporal` program. */
  readonly program: string;
  readonly namespace: string;
  /** `http` serves the same API as JSON, to us alone, which is how we see that it is up. */
  readonly ports: { readonly grpc: number; readonly http: number; readonly ui?: number };
  /** Keeps its state in this file; in memory when left out. */
  readonly stateFile?: string;
  /**
   * How SQLite keeps that file whole: by `wal` when left out, which writes and syncs less for each commit and loses as
   * little. By `delete` the dev server comes.
   */
  readonly journal?: 'wal' | 'delete';
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly rank: number;
};

/** Milliseconds. It takes 0.2 s on an idle machine. */
const readyWithinMs = 60_000;

/** Without it, Temporal's tools would read the file in the user's home. */
const noProfiles = fileURLToPath(new URL('no-profiles.toml', import.meta.url));

/** Temporal's own settings. */
const settings = [
  // With these two, which are off unless they are set, a queue gives each `fairnessKey` its turn.
  'matching.useNewMatcher=true',
  'matching.enableFairness=true',
  // Each partition of a queue does so for itself, and a worker with few polls waits at one while work lies in another:
  // so tasks go into one, not four. All four are still read, as an older state file may have tasks in them.
  'matching.numTaskqueueWritePartitions=1',
  // A webhook's first request is handed out along with its workflow's first task, not by another round through a queue.
  'system.enableActivityEagerExecution=true',
  // Answers the polls of a worker that stops. Otherwise the worker breaks them off, and a task that Temporal hands to one of
  // them at that moment is lost for 20 s.
  'frontend.enableCancelWorkerPollsOnShutdown=true',
];

/**
 * The one host by whose name the HTTP API is to be asked. It takes a page's requests without a look at where they come
 * from, and cannot be switched off; no browser has a page of this host, nor can any name lead to it.
 */
const onlyHost = 'punctual-start.invalid';

/** Set, it keeps Temporal from asking its makers whether there is a newer version, and telling of itself. */
const noNews = 'TEMPORAL_VERSION_CHECK_DISABLED';

/** What people search for: the same as in `workflows/search-attributes.ts`, as its test sees to. */
const searchAttributes = [
  'WorkspaceId=Keyword',
  'Networks=KeywordList',
  'ErrorCodes=KeywordList',
  'Outcome=Keyword',
];

/** Starts Temporal's dev server on the loopback and waits until workflows can be started. */
export async function startTemporal(plan: TemporalPlan, stage: Stage): Promise<Part> {
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
  // There is no workflow of this name: to say so, every service behind the API must work.
  const nowhere = `http://127.0.0.1:${ports.http}/api/v1/namespaces/${namespace}/workflows/none`;
  await untilReady(part, () => answers(nowhere, 404, onlyHost), readyWithinMs, stage.signal);
  void part.ended.then((how) => stage.onEnd?.(part, how));
  if (ports.ui) {
    const front = await openUi(ports.ui, ui);
    void part.ended.then(() => front.close());
  }

  return part;
}

/** Of a server of ours: it looks for no newer version, and knows none of our secrets. */
function serverEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { SECRET_KEY: _secret, DATABASE_URL: _database, ...others } = withoutTemporal(env);
  return { ...others, [noNews]: '1' };
}

/**
 * The environment for a server of our own, and for those who use it: what a person has set for another Temporal, such
 * as a certificate or a profile, must not reach it.
 */
export function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(others), TEMPORAL_CONFIG_FILE: noProfiles };
}

/** What is not JSON is the list of its addresses, or what it says as it dies, which is shown then. */
function complaint(line: string): string | undefined {
  try {
    const { level, msg, error } = JSON.parse(line) as Record<string, unknown>;
    return level === 'ERROR' ? [msg, error].filter(Boolean).join(': ') : undefined;
  } catch {
    return undefined;
  }
}
